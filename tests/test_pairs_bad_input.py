"""Bad input gives one sentence that names the file, the row and the field, and never a pair."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from recuse.errors import InputError
from recuse.pairs import load_pairs

GOOD = [{"prompt": f"q{i}", "chosen": f"right {i}", "rejected": f"wrong {i}"} for i in range(3)]
AB = {"prompt": "q", "a": "one", "b": "two", "label": 1}
AB_COLUMNS = {"prompt": "prompt", "a": "a", "b": "b", "label": "label"}


def refused(path: Path, **options: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        load_pairs(path, **options)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return caught.value


def lines(path: Path, *rows: object) -> Path:
    path.write_bytes(b"\n".join(r if isinstance(r, bytes) else json.dumps(r).encode() for r in rows) + b"\n")
    return path


FAULTS: dict[str, tuple[object, str | None, str]] = {
    "empty text": ({**GOOD[0], "chosen": " \n"}, "chosen", "empty"),
    "null": ({**GOOD[0], "rejected": None}, "rejected", "empty"),
    "missing field": ({"prompt": "q", "chosen": "x"}, "rejected", "missing"),
    "missing prompt": ({"chosen": "x", "rejected": "y"}, "prompt", "no prompt"),
    "equal answers": ({"prompt": "q", "chosen": "same", "rejected": "same"}, None, "equal"),
    "number": ({**GOOD[0], "chosen": 7}, "chosen", "a number"),
    "list": ({**GOOD[0], "prompt": {"a": 1}}, "prompt", "an object"),
    "no role": ({**GOOD[0], "prompt": [{"content": "x"}]}, "prompt", "role"),
    "odd role": ({**GOOD[0], "prompt": [{"role": "tool", "content": "x"}]}, "prompt", "tool"),
    "list as role": ({**GOOD[0], "prompt": [{"role": ["user"], "content": "x"}]}, "prompt", "is not system"),
    "parts": ({**GOOD[0], "prompt": [{"role": "user", "content": [1]}]}, "prompt", "a list"),
    "no messages": ({**GOOD[0], "prompt": []}, "prompt", "empty"),
    "duplicate": (GOOD[1], None, "row 3"),
    "torn": (b'{"prompt": "q", "chosen": "x', None, "whole JSON"),
    "nested": (b"[" * 200_000, None, "whole JSON"),
    "array": ([1, 2], None, "not a JSON object"),
    "broken UTF-8": (b'{"prompt": "q\xff", "chosen": "x", "rejected": "y"}', None, "byte 14"),
    "half a surrogate": (b'{"prompt": "q", "chosen": "\\ud800", "rejected": "y"}', "chosen", "surrogate"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_row_is_named_and_can_be_skipped(tmp_path: Path, fault: str) -> None:
    row, field, said = FAULTS[fault]
    path = lines(tmp_path / "pairs.jsonl", GOOD[0], b"", GOOD[1], row, GOOD[2])
    error = refused(path)
    assert (error.row, error.field) == (4, field)
    assert said in str(error)
    found = load_pairs(path, on_bad="skip")
    assert [p.prompt for p in found] == ["q0", "q1", "q2"]
    (note,) = found.notes
    assert note.startswith("1 row was skipped")
    assert "(row 4)" in note


@pytest.mark.parametrize("value", [3, 0, "C", "", None, True, 1.5, "A>>B", "first"])
def test_a_label_outside_the_menu_is_named(tmp_path: Path, value: object) -> None:
    error = refused(lines(tmp_path / "p.jsonl", AB, {**AB, "label": value}), columns=AB_COLUMNS)
    assert (error.row, error.field) == (2, "label")


@pytest.mark.parametrize(
    ("value", "chosen"),
    [(1, "one"), ("1", "one"), (1.0, "one"), ("A", "one"), ("A>B", "one"), ("model_a", "one"),
     (2, "two"), ("2", "two"), (" b ", "two"), ("B>A", "two"), ("model_b", "two")],
)  # fmt: skip
def test_the_menu_of_labels(tmp_path: Path, value: object, chosen: str) -> None:
    (pair,) = load_pairs(lines(tmp_path / "p.jsonl", {**AB, "label": value}), columns=AB_COLUMNS)
    assert pair.chosen == chosen


def test_ties_are_left_out_and_counted(tmp_path: Path) -> None:
    rows = [AB, {**AB, "label": "tie"}, {**AB, "label": "tie (bothbad)"}]
    found = load_pairs(lines(tmp_path / "p.jsonl", *rows), columns=AB_COLUMNS)
    assert len(found) == 1
    assert found.notes == [
        "2 rows were left out: a tie names no better answer.",
        "The better answer stood first in 1 of 1 row of the source.",
    ]
    error = refused(lines(tmp_path / "t.jsonl", *rows[1:]), columns=AB_COLUMNS)
    assert "2 rows were left out" in str(error)


def test_unknown_columns_are_listed_briefly_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    message = str(refused(lines(path, {"text": "x", "score": 1})))
    for name in ("(text, score)", "--column prompt=NAME", "chosen and rejected", "a, b and label"):
        assert name in message
    message = str(refused(lines(path, {f"column_{i}": i for i in range(300)})))
    assert "column_0, column_1" in message
    assert len(message.replace(str(path), "")) <= 250


@pytest.mark.parametrize(
    ("name", "delimiter", "advice"),
    [("a.csv", ";", "Save it with commas"), ("a.csv", "\t", "Name it .tsv"), ("a.tsv", ",", "Name it .csv")],
)
def test_a_table_with_another_delimiter_is_told_apart(tmp_path: Path, name: str, delimiter: str, advice: str) -> None:
    path = tmp_path / name
    rows = [["prompt", "chosen", "rejected"], ["q", "x, or so", "y"]]
    path.write_text("".join(delimiter.join(row) + "\n" for row in rows))
    assert advice in str(refused(path))


def test_a_preset_that_does_not_fit_names_the_missing_column(tmp_path: Path) -> None:
    error = refused(lines(tmp_path / "p.jsonl", GOOD[0]), preset="llmbar")
    assert error.field == "input"
    assert "prompt, chosen, rejected" in str(error)


def test_directory_missing_file_and_unknown_ending(tmp_path: Path) -> None:
    assert "directory" in str(refused(tmp_path))
    assert "no such file" in str(refused(tmp_path / "absent.jsonl"))
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    assert "no regular file" in str(refused(pipe))
    other = tmp_path / "pairs.xlsx"
    other.write_bytes(b"x")
    assert ".parquet" in str(refused(other))


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.jsonl", b""), ("b.jsonl", b"\n\n"), ("c.csv", b""), ("d.csv", b"prompt,chosen,rejected\n"), ("e.json", b"[]"),
     ("f.json", b""), ("g.jsonl.gz", gzip.compress(b"", mtime=0))],
)  # fmt: skip
def test_a_file_without_rows_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert "no rows" in str(refused(path))


def test_a_parquet_file_without_rows_is_refused(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"prompt": pa.array([], pa.string())}), path)
    assert "no rows" in str(refused(path))


def test_what_is_no_parquet_and_no_gzip(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"prompt,chosen\n" * 30)
    assert "Parquet" in str(refused(path))
    plain = lines(tmp_path / "a.jsonl.gz", GOOD[0])
    assert "not sound gzip" in str(refused(plain))
    cut = tmp_path / "b.jsonl.gz"
    cut.write_bytes(gzip.compress(b"".join(json.dumps(row).encode() + b"\n" for row in GOOD))[:-12])
    assert "cut" in str(refused(cut))


def test_broken_utf8_in_parquet_names_the_row(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    broken = pa.array([b"right 0", b"r\xff", b"right 2"], pa.binary()).view(pa.string())
    columns = {"prompt": ["a", "b", "c"], "chosen": broken, "rejected": ["x", "y", "z"]}
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table(columns), path)
    assert refused(path).row == 2
    assert [p.prompt for p in load_pairs(path, on_bad="skip")] == ["a", "c"]


def test_rows_of_a_csv_count_as_in_a_spreadsheet(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'prompt,chosen,rejected\n"two\nlines",x,y\nq,"right\xff",z\nshort,row\nlast,right,wrong\n')
    error = refused(path)
    assert (error.row, error.field) == (3, "chosen")
    found = load_pairs(path, on_bad="skip")
    assert found.column("row").tolist() == [2, 5]
    assert found.notes == [
        "1 row was skipped as faulty: broken UTF-8 (row 3).",
        "1 row was skipped as faulty: wrong number of fields (row 4).",
    ]


def test_a_csv_whose_quotes_do_not_close_or_whose_header_repeats(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'prompt,chosen,rejected\nq,x,y\nq,"x,y\n')
    error = refused(path)
    assert error.row == 3
    assert "quoting" in str(error)
    path.write_bytes(b"prompt,chosen,chosen\nq,x,y\n")
    assert refused(path).field == "chosen"


def test_json_that_is_cut_or_no_array(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(json.dumps(GOOD, indent=1).encode()[:-5])
    assert "whole JSON" in str(refused(path))
    for value in ({"rows": GOOD, "version": 1}, {"prompt": ["q"], "chosen": ["x"], "rejected": ["y"]}, "text"):
        path.write_bytes(json.dumps(value).encode())
        assert "array" in str(refused(path))
    path.write_bytes(b'["\xff"]')
    assert "UTF-8" in str(refused(path))
