"""Normalised rows on disk: an Arrow file in the temporary folder, mapped into memory, so that a million pairs cost
little more than their digests. `experiments/bench/pairs_memory.md` has the measurement."""

from __future__ import annotations

import contextlib
import os
import tempfile
import weakref
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recuse.errors import RecuseError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

FIELDS = ("id", "prompt", "chosen", "rejected", "group", "domain", "reference", "gold", "meta")
_ROWS = 1024  # a batch is written after so many rows
_CHARACTERS = 4_000_000  # or after so many characters, whichever comes first


class Writer:
    """Takes rows one by one; `finish` gives the mapped Store. Holds at most one batch."""

    def __init__(self) -> None:
        import pyarrow as pa

        texts = [pa.field(name, pa.string()) for name in FIELDS]
        self._schema = pa.schema([*texts, pa.field("conversation", pa.bool_()), pa.field("row", pa.int64())])
        handle, name = tempfile.mkstemp(prefix="recuse-pairs-", suffix=".arrow")
        os.close(handle)
        self._path = Path(name)
        self._writer = pa.ipc.new_file(name, self._schema)
        self._rows: list[dict[str, Any]] = []
        self._characters = 0
        self._remove = weakref.finalize(self, _delete, self._path)

    def add(self, row: dict[str, Any]) -> None:
        self._rows.append(row)
        self._characters += len(row["prompt"]) + len(row["chosen"]) + len(row["rejected"]) + len(row["meta"])
        if len(self._rows) >= _ROWS or self._characters >= _CHARACTERS:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        try:
            self._writer.write_batch(pa.RecordBatch.from_pylist(self._rows, schema=self._schema))
        except OSError as error:
            raise RecuseError(
                f"The pairs cannot be kept in {self._path.parent} ({error}).",
                hint="Make room, or set TMPDIR to another folder.",
            ) from None
        self._rows, self._characters = [], 0

    def finish(self) -> Store:
        if self._rows:
            self._flush()
        self._writer.close()
        self._remove.detach()
        return Store(self._path)


class Store:
    """Read access by position. The file is removed at once where the system allows that of a mapped file, and
    otherwise on `close` or when the store is collected."""

    def __init__(self, path: Path) -> None:
        import pyarrow as pa

        reader = pa.ipc.open_file(pa.memory_map(str(path)))
        self.batches = [reader.get_batch(i) for i in range(reader.num_record_batches)]
        self._starts = [0]
        for batch in self.batches:
            self._starts.append(self._starts[-1] + batch.num_rows)
        _delete(path)
        self._remove = weakref.finalize(self, _delete, path) if path.exists() else None

    def __len__(self) -> int:
        return self._starts[-1]

    def value(self, name: str, position: int) -> Any:
        batch, offset = self._at(position)
        return batch.column(name)[offset].as_py()

    def row(self, position: int) -> dict[str, Any]:
        batch, offset = self._at(position)
        return {name: batch.column(i)[offset].as_py() for i, name in enumerate(batch.schema.names)}

    def _at(self, position: int) -> tuple[pa.RecordBatch, int]:
        number = bisect_right(self._starts, position) - 1
        return self.batches[number], position - self._starts[number]

    def rows(self, positions: np.ndarray) -> Iterator[dict[str, Any]]:
        """Rows at increasing positions, a batch at a time: four times as fast as one by one."""
        for start, batch in zip(self._starts, self.batches, strict=False):
            low, high = positions.searchsorted([start, start + batch.num_rows])
            if high - low < batch.num_rows:
                batch = batch.take(positions[low:high] - start)
            yield from batch.to_pylist()

    def close(self) -> None:
        self.batches, self._starts = [], [0]
        if self._remove is not None:
            self._remove()


def _delete(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)
