"""Whatever text a pair holds, it comes back from each file format as it was."""

from __future__ import annotations

import csv
import gzip
import json
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from recuse.pairs import load_pairs

HOSTILE = st.sampled_from(
    ["\x00", "\r", "\n", "\r\n", '"', '""', ",", "\t", "\u202e", "\u2028", "\ufeff", "'", "\\", "{{question}}", "\x1a",
     "\n\nHuman:", "é", "e\u0301", "🙂", "\u200b"]
)  # fmt: skip
TEXT = st.lists(st.one_of(HOSTILE, st.text(st.characters(exclude_categories=["Cs"]), max_size=8)), max_size=8).map(
    "".join
)
FILLED = TEXT.filter(lambda text: text.strip() != "")
ROW = st.tuples(FILLED, FILLED, FILLED).filter(lambda row: row[1] != row[2])
ROWS = st.lists(ROW, min_size=1, max_size=6, unique=True)
NAMES = ("prompt", "chosen", "rejected")


def write(path: Path, rows: list[tuple[str, str, str]]) -> None:
    records = [dict(zip(NAMES, row, strict=True)) for row in rows]
    if path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(records), path)
    elif path.suffix in {".csv", ".tsv"}:
        with path.open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, NAMES, delimiter="\t" if path.suffix == ".tsv" else ",")
            table.writeheader()
            table.writerows(records)
    else:
        ascii_only = path.name.endswith(".gz")
        content = "".join(json.dumps(record, ensure_ascii=ascii_only) + "\n" for record in records).encode()
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_hostile_text_round_trips_through_every_format(rows: list[tuple[str, str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        hashes = set()
        for name in ("a.jsonl", "a.jsonl.gz", "a.csv", "a.tsv", "a.parquet"):
            path = Path(folder) / name
            write(path, rows)
            found = load_pairs(path)
            assert [(p.prompt, p.chosen, p.rejected) for p in found] == rows, name
            hashes.add(found.hash)
        assert len(hashes) == 1
