"""The loaded pairs: a read-only sequence with what a report says about their source."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from recuse import assets
from recuse.errors import UsageError
from recuse.pairs.store import Store, Writer
from recuse.prompts import canonical
from recuse.types import Message, Pair

if TYPE_CHECKING:
    import numpy as np

_COLUMNS = ("id", "chosen", "rejected", "group", "domain", "reference", "gold", "row")
_SHARED = ("group", "domain", "gold")


class PairSet:
    """Pairs in the order of their source; each Pair is built when it is asked for, from a file mapped into memory.

    source, preset  what was read, and as which form ("columns" for a column map)
    hash            16 hex digits over the sorted (id, group) digests: the same for any order of the same pairs
    groups          number of groups
    domains         pairs by domain, without those that have none
    balance         rows of the *source*, before any limit, whose better answer stood first ("A"), second ("B"), or at
                    no known place ("unknown")
    notes           sentences for the report: what was left out and why, and what the reader of a result should know
    """

    def __init__(
        self,
        store: Store,
        index: np.ndarray,  # positions in the store, increasing
        *,
        source: str,
        preset: str,
        hash: str,
        groups: int,
        balance: Mapping[str, int],
        notes: list[str],
    ) -> None:
        self._store, self._index = store, index
        self.source, self.preset, self.hash, self.groups = source, preset, hash, groups
        self.balance, self.notes = balance, notes

    def __len__(self) -> int:
        return len(self._index)

    def __getitem__(self, position: int) -> Pair:
        return _pair(self._store.row(int(self._index[position])))

    def __iter__(self) -> Iterator[Pair]:
        for row in self._store.rows(self._index):
            yield _pair(row)

    @property
    def domains(self) -> dict[str, int]:
        import pyarrow.compute as pc

        counted = pc.value_counts(self._take("domain").drop_null()).to_pylist()
        return {item["values"]: item["counts"] for item in sorted(counted, key=lambda item: item["values"])}

    def lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Characters of the chosen and of the rejected answers, int64, in the order of the pairs."""
        import numpy as np
        import pyarrow.compute as pc

        def measured(name: str) -> np.ndarray:
            parts = [pc.utf8_length(batch.column(name)).to_numpy() for batch in self._store.batches]
            found: np.ndarray = np.concatenate(parts)[self._index].astype(np.int64)
            return found

        return measured("chosen"), measured("rejected")

    def column(self, name: str) -> np.ndarray:
        """One value a pair, as an array of objects (None where it is absent).

        `name` is a field of Pair that holds text, "row" (the row of the source) or a key of Pair.meta. Raises
        UsageError for another name.
        """
        return self._as_array(self._values(name) if name in _COLUMNS else self._meta(name))

    def value(self, name: str, position: int) -> Any:
        """A field of one pair ("id", "group" and the like), read from the mapped file."""
        return self._store.value(name, int(self._index[position]))

    def of_source(self, name: str) -> np.ndarray:
        """The same where the user names a column of the file: its own `id` or `row` comes before ours."""
        if name not in _COLUMNS:
            return self.column(name)
        return self._as_array(self._meta(name, else_=self._values(name)))

    def _values(self, name: str) -> list[Any]:
        """A column's values; equal ones of the few texts that many pairs share are one object."""
        found = self._take(name)
        if name not in _SHARED:
            return found.to_pylist()  # type: ignore[no-any-return]
        encoded = found.combine_chunks().dictionary_encode()
        texts = encoded.dictionary.to_pylist()
        return [None if i is None else texts[i] for i in encoded.indices.to_pylist()]

    def _meta(self, name: str, *, else_: list[Any] | None = None) -> list[Any]:
        metas = [json.loads(meta) for meta in self._take("meta").to_pylist()]
        if any(name in meta for meta in metas):
            return [meta.get(name) for meta in metas]
        if else_ is None:
            known = ", ".join([*_COLUMNS, *sorted(set().union(*metas))])
            raise UsageError(f"The pairs have no column {name!r}.", hint=f"They have: {known}.")
        return else_

    def _as_array(self, values: list[Any]) -> np.ndarray:
        import numpy as np

        found = np.empty(len(values), dtype=object)
        found[:] = values
        return found

    def changed(self, change: Callable[[Pair], Pair], *, by: str) -> PairSet:
        """The same pairs with the prompt, the answers, the reference and the group that `change` gives each; the rest
        stays, ids above all, so that results find back to their source. A group that changes becomes another one of the
        set, for all of its pairs. `by` names the change and goes into the hash, as do the new texts.
        """
        import numpy as np

        writer, read, gone = Writer(), hashlib.sha256(), set[str]()
        for row in self._store.rows(self._index):
            pair = change(_pair(row))
            talk = None if isinstance(pair.prompt, str) else [asdict(message) for message in pair.prompt]
            texts = {"chosen": pair.chosen, "rejected": pair.rejected, "reference": pair.reference}
            written = {**row, **texts, "prompt": json.dumps(talk) if talk else pair.prompt, "group": pair.group}
            if pair.group != row["group"]:
                gone.add(row["group"])
            read.update(canonical([row["id"], written["prompt"], *texts.values()]).encode())
            writer.add(written)
        store = writer.finish()
        hash = assets.digest(f"{self.hash} {by} {read.hexdigest()}".encode())
        return PairSet(
            store, np.arange(len(store)), source=self.source, preset=self.preset, hash=hash,
            groups=self.groups - len(gone), balance=self.balance, notes=list(self.notes),
        )  # fmt: skip

    def close(self) -> None:
        """Give the mapped file back. The pairs are gone afterwards; this also happens when the set is collected."""
        self._store.close()
        self._index = self._index[:0]

    def _take(self, name: str) -> Any:
        import pyarrow as pa

        return pa.chunked_array([batch.column(name) for batch in self._store.batches]).take(pa.array(self._index))


def _pair(row: Mapping[str, Any]) -> Pair:
    prompt = row["prompt"]
    if row["conversation"]:
        prompt = tuple(Message(**message) for message in json.loads(prompt))
    return Pair(
        id=row["id"],
        prompt=prompt,
        chosen=row["chosen"],
        rejected=row["rejected"],
        group=row["group"],
        domain=row["domain"],
        reference=row["reference"],
        gold=row["gold"],
        meta=json.loads(row["meta"]),
    )


class Digests:
    """128-bit digests of many values in 16 bytes each."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def add(self, digest: bytes) -> None:
        self._bytes += digest[:16]

    def array(self) -> np.ndarray:
        """Shape (n, 2), unsigned 64-bit, big end first, so that numeric order is the order of the bytes."""
        import numpy as np

        return np.frombuffer(bytes(self._bytes), dtype=">u8").reshape(-1, 2)


def classes(digests: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number the distinct digests in their own order: (number of each row, first row of each number)."""
    import numpy as np

    order = np.lexsort((digests[:, 1], digests[:, 0]))  # stable, so that the first of equals is the first row
    ordered = digests[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    codes = np.empty(len(order), dtype=np.int64)
    codes[order] = np.cumsum(new) - 1
    return codes, order[new]


def sample(groups: np.ndarray, *, limit: int, seed: int) -> np.ndarray:
    """Mask of a seeded sample of whole groups, `limit` rows at most, yet one group at least.

    Groups are taken in the order of a hash of seed, limit and group until the next would pass the limit. The choice
    depends on nothing else: not on order, chunks or the texts of other columns. Samples of two limits are not nested,
    so that the larger one is no extension of a sample that was looked at. Since the limit is never passed, groups that
    are large beside it come a little too rarely.
    """
    import numpy as np

    codes, firsts = classes(groups)
    keys = [hashlib.sha256(b"%d:%d:" % (seed, limit) + groups[i].tobytes()).digest()[:8] for i in firsts]
    order = np.argsort(np.frombuffer(b"".join(keys), dtype=">u8"), kind="stable")
    sizes = np.cumsum(np.bincount(codes)[order])
    taken = max(1, int(np.searchsorted(sizes, limit, side="right")))
    chosen = np.zeros(len(firsts), dtype=bool)
    chosen[order[:taken]] = True
    mask: np.ndarray = chosen[codes]
    return mask


def set_hash(ids: np.ndarray, groups: np.ndarray) -> str:
    import numpy as np

    both = np.hstack((ids, groups))
    return assets.digest(both[np.lexsort(both.T[::-1])].tobytes())
