"""Memory and time of loading many pairs. Usage: python pairs_memory.py [PAIRS] [jsonl|parquet|csv] [LIMIT]

Writes a file of short pairs (about 300 characters each, two pairs to a question) into a temporary folder, loads it in
this process and prints resident memory: `anon` is what the process owns, `file` is the mapped Arrow file, which the
system may drop at any time.
"""

from __future__ import annotations

import csv
import json
import random
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

WORDS = ("river", "stone", "lamp", "copper", "winter", "quiet", "orbit", "garden", "signal", "paper", "velvet")


def main(pairs: int, form: str, limit: int | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"pairs.{form}"
        write(path, form, pairs)
        size = path.stat().st_size / 2**20
        from recuse.pairs import load_pairs

        load_pairs("demo")  # imports
        before, peak = resident(), Peak()
        with peak:
            start = time.perf_counter()
            found = load_pairs(path, limit=limit)
            loaded = time.perf_counter() - start
        after = resident()
        start = time.perf_counter()
        characters = sum(len(pair.chosen) for pair in found)
        walked = time.perf_counter() - start
        assert characters == found.lengths()[0].sum()
        print(f"{form}: {pairs:,} pairs, {size:,.0f} MiB on disk; {len(found):,} pairs kept in {found.groups:,} groups")
        print(f"load {loaded:.1f} s ({pairs / loaded:,.0f} a second), one walk over the kept {walked:.1f} s")
        for name, (anon, file) in {"before": before, "peak": peak.found, "after": after, "walked": resident()}.items():
            print(f"{name:>7}: anon {anon:6.0f} MiB, file {file:6.0f} MiB")


def write(path: Path, form: str, pairs: int) -> None:
    if form == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema = pa.schema([(name, pa.string()) for name in ("prompt", "chosen", "rejected", "domain")])
        with pq.ParquetWriter(path, schema) as writer:
            batch: list[dict[str, str]] = []
            for row in rows(pairs):
                batch.append(row)
                if len(batch) == 50_000:
                    writer.write_table(pa.Table.from_pylist(batch, schema=schema))
                    batch = []
            writer.write_table(pa.Table.from_pylist(batch, schema=schema))
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        if form == "csv":
            table = csv.DictWriter(file, ["prompt", "chosen", "rejected", "domain"])
            table.writeheader()
            table.writerows(rows(pairs))
        else:
            file.writelines(json.dumps(row) + "\n" for row in rows(pairs))


def rows(pairs: int) -> Iterator[dict[str, str]]:
    rng = random.Random(1)
    for i in range(pairs):
        text = " ".join(rng.choices(WORDS, k=15))
        yield {
            "prompt": f"Question {i // 2}: which of these words comes first in the alphabet, and why is that so?",
            "chosen": f"Answer {i}: {text}",
            "rejected": f"Answer {i}: {text[::-1]}",
            "domain": WORDS[i % 7],
        }


def resident() -> tuple[float, float]:
    """MiB of anonymous and of file-backed resident memory of this process."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return tuple(int(status[name].split()[0]) / 1024 for name in ("RssAnon", "RssFile"))  # type: ignore[return-value]


class Peak:
    """The largest values seen every 20 ms."""

    def __enter__(self) -> Peak:
        self.found, self._stop = resident(), threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.02):
            self.found = tuple(map(max, self.found, resident()))  # type: ignore[assignment]


if __name__ == "__main__":
    given = sys.argv[1:]
    main(int(given[0]) if given else 1_000_000, given[1] if len(given) > 1 else "jsonl",
         int(given[2]) if len(given) > 2 else None)  # fmt: skip
