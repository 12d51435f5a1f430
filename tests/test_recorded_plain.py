"""The plain form of recorded verdicts: what each spelling means, and what is refused with which sentence."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recuse.errors import InputError, UsageError
from recuse.recorded import Recorded, load_recorded
from recuse.types import Judgement
from recuse.verdict.spec import Spec


def write(folder: Path, rows: list[dict[str, Any]], name: str = "verdicts.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def load(folder: Path, *rows: dict[str, Any], **options: Any) -> Recorded:
    return load_recorded(write(folder, list(rows)), **options)


def one(folder: Path, **row: Any) -> Judgement:
    [judgement] = load(folder, {"pair": "p", "order": "AB", **row}).judgements
    return judgement


@pytest.mark.parametrize(
    ("order", "verdict", "gold", "expected"),
    [  # worked out by hand: who stood first, who was preferred, was that the better one
        ("AB", "A", "A", ("AB", "chosen")),
        ("AB", "B", "A", ("AB", "rejected")),
        ("BA", "A", "A", ("BA", "rejected")),
        ("BA", "B", "A", ("BA", "chosen")),
        ("AB", "A", "B", ("BA", "rejected")),
        ("AB", "B", "B", ("BA", "chosen")),
        ("BA", "A", "B", ("AB", "chosen")),
        ("BA", "B", "B", ("AB", "rejected")),
        ("BA", "tie", "B", ("AB", "tie")),
    ],
)
def test_order_verdict_and_gold_say_which_answer_won(
    tmp_path: Path, order: str, verdict: str, gold: str, expected: tuple[str, str]
) -> None:
    judgement = one(tmp_path, order=order, verdict=verdict, gold=gold)
    assert (judgement.order, judgement.prefers) == expected


@pytest.mark.parametrize("order", ["BA", "ba", "swapped", True, "true", 1, "1"])
@pytest.mark.parametrize("verdict", ["A", "a", 1, "1", "first", "A>B", "A>>B"])
def test_spellings_of_a_swapped_pair_and_of_the_first_answer_are_equal(
    tmp_path: Path, order: Any, verdict: Any
) -> None:
    assert one(tmp_path, order=order, verdict=verdict, gold="A") == Judgement("p", "p", "BA", "rejected")


@pytest.mark.parametrize("verdict", ["tie", "Tie", "C", "c", "A=B", "a=b"])
def test_spellings_of_a_tie_are_equal(tmp_path: Path, verdict: str) -> None:
    assert one(tmp_path, verdict=verdict, gold="A").prefers == "tie"


def test_an_empty_verdict_is_kept_as_none_with_its_reason(tmp_path: Path) -> None:
    judgement = one(tmp_path, verdict=None, gold="A")
    assert (judgement.prefers, judgement.reason) == (None, "no_verdict")


def test_jsonl_csv_gzip_array_and_parquet_hold_the_same(tmp_path: Path) -> None:
    rows = [
        {"pair": "p", "order": "AB", "verdict": "A", "gold": "A", "repeat": 0},
        {"pair": "p", "order": "BA", "verdict": "A", "gold": "A", "repeat": 0},
        {"pair": "p", "order": "BA", "verdict": "tie", "gold": "A", "repeat": 1},
    ]
    lines = write(tmp_path, rows)
    zipped = tmp_path / "verdicts.jsonl.gz"
    zipped.write_bytes(gzip.compress(lines.read_bytes()))
    array = tmp_path / "verdicts.json"
    array.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    table = tmp_path / "verdicts.csv"
    body = "\n".join(",".join(str(value) for value in row.values()) for row in rows)
    table.write_text(f"\ufeffpair,order,verdict,gold,repeat\n{body}\n", encoding="utf-8")
    columns = tmp_path / "verdicts.parquet"
    pq.write_table(pa.Table.from_pylist(rows), columns)
    expected = [
        Judgement("p", "p", "AB", "chosen"),
        Judgement("p", "p", "BA", "rejected"),
        Judgement("p", "p", "BA", "tie", repeat=1),
    ]
    for path in (lines, zipped, array, table, columns):
        assert load_recorded(path).judgements == expected, path


def test_text_is_read_again_and_rows_that_differ_from_their_decision_are_counted(tmp_path: Path) -> None:
    rows = [
        {"pair": "p", "order": "AB", "gold": "A", "text": "The first is right. [[A]]", "verdict": "B"},
        {"pair": "p", "order": "BA", "gold": "A", "text": "The second is right. [[B]]", "verdict": "B"},
        {"pair": "q", "order": "AB", "gold": "A", "text": "I had rather not say", "verdict": "A"},
    ]
    again = load(tmp_path, *rows)
    taken = load(tmp_path, *rows, reading="recorded")
    assert [j.prefers for j in again.judgements] == ["chosen", "chosen", None]
    assert [j.prefers for j in taken.judgements] == ["rejected", "chosen", "chosen"]
    assert again.other == taken.judgements
    assert taken.other == again.judgements
    assert (again.differ, again.contradict) == (2, 1)
    assert [(e.row, e.recorded, e.reread) for e in again.examples] == [(1, "B", "A"), (3, "A", None)]


def test_a_row_with_one_reading_keeps_it_and_the_notes_count_it(tmp_path: Path) -> None:
    rows = [
        {"pair": "p", "order": "AB", "gold": "A", "text": "[[B]]"},
        {"pair": "q", "order": "AB", "gold": "A", "verdict": "A"},
    ]
    for reading in ("reread", "recorded"):
        found = load(tmp_path, *rows, reading=reading)
        assert [j.prefers for j in found.judgements] == ["rejected", "chosen"]
        assert found.other is None
        assert any(note.startswith("1 of 2 rows") for note in found.notes)


def test_the_text_is_read_in_the_format_of_the_row_or_of_the_call(tmp_path: Path) -> None:
    row = {"pair": "p", "order": "AB", "gold": "A", "text": "2"}
    assert load(tmp_path, {**row, "format": "number"}).judgements[0].prefers == "rejected"
    assert load(tmp_path, row, text_format="number").judgements[0].prefers == "rejected"
    assert load(tmp_path, row, text_format=Spec("number", "2", "1")).judgements[0].prefers == "chosen"
    assert load(tmp_path, row).judgements[0].reason == "no_verdict"


def test_without_gold_chosen_stands_for_answer_a_and_the_file_says_so(tmp_path: Path) -> None:
    found = load(tmp_path, {"pair": "p", "order": "AB", "verdict": "A"}, {"pair": "p", "order": "BA", "verdict": "A"})
    assert not found.gold
    assert [(j.order, j.prefers) for j in found.judgements] == [("AB", "chosen"), ("BA", "rejected")]


def test_pairs_without_a_better_answer_are_set_apart_and_counted(tmp_path: Path) -> None:
    rows = [
        {"pair": "p", "order": "AB", "verdict": "A", "gold": "A"},
        {"pair": "q", "order": "AB", "verdict": "tie", "gold": "tie"},
        {"pair": "r", "order": "AB", "verdict": None, "gold": "tie"},
        {"pair": "s", "order": "AB", "verdict": "B", "gold": None},
    ]
    found = load(tmp_path, *rows)
    assert [j.pair for j in found.judgements] == ["p"]
    assert [j.pair for j in found.without_gold] == ["q", "r", "s"]
    assert any(note.startswith("3 rows have no better answer") for note in found.notes)
    # p and q agree with their gold, r has no verdict, s has no gold
    assert [(row.right, row.missing) for row in found.three_way] == [(True, False), (True, False), (False, True)]


def test_group_domain_and_lengths_follow_the_pair(tmp_path: Path) -> None:
    row = {"order": "AB", "verdict": "A", "group": "g", "domain": "maths", "chars_a": 10, "chars_b": 30}
    found = load(tmp_path, {**row, "pair": "p", "gold": "A"}, {**row, "pair": "q", "gold": "B"})
    assert {j.group for j in found.judgements} == {"g"}
    assert found.domains == {"p": "maths", "q": "maths"}
    assert found.lengths == {"p": (10, 30), "q": (30, 10)}  # chosen, rejected


def test_rows_without_lengths_are_told_which_columns_would_measure_them(tmp_path: Path) -> None:
    lengths = {"chars_a": 10, "chars_b": 30}
    rows = [{**GOOD, **lengths}, {**GOOD, "pair": "q"}, {**GOOD, "pair": "r", "chars_a": 10}]

    def told(*rows: dict[str, Any]) -> list[str]:
        return [note for note in load(tmp_path, *rows).notes if "chars_a" in note]

    [note] = told(*rows)
    assert note.startswith("2 of 3 rows have no chars_a and chars_b: with these columns")
    assert told(rows[0]) == []
    [note] = told(rows[1])
    assert note.startswith("1 of 1 rows has no")
    outputs = {"pair_id": "p", "label": "A>B", "order": "original", "text": "[[A>B]]", "decision": "A>B", "judge": "x"}
    assert told(outputs) == []  # a published form has the columns that it has


def test_repeats_whose_order_was_drawn_each_time_are_numbered_within_their_order(tmp_path: Path) -> None:
    orders = ["AB", "BA", "BA", "AB", "BA"]
    rows = [{"pair": "p", "order": o, "verdict": "A", "gold": "A", "repeat": i} for i, o in enumerate(orders)]
    found = load(tmp_path, *rows)
    assert [(j.order, j.repeat) for j in found.judgements] == [("AB", 0), ("BA", 0), ("BA", 1), ("AB", 1), ("BA", 2)]
    kept = load(tmp_path, *rows, {"pair": "p", "order": "BA", "verdict": "A", "gold": "A", "repeat": 0})
    assert [j.repeat for j in kept.judgements] == [0, 1, 2, 3, 4, 0]


def test_where_selects_rows_by_values_compared_as_text(tmp_path: Path) -> None:
    rows = [
        {"pair": str(i), "order": "AB", "verdict": "A", "gold": "A", "judge": judge, "hot": hot, "level": level}
        for i, (judge, hot, level) in enumerate([("x", True, 1), ("x", False, 1.0), ("y", True, 2), ("x", True, 3)])
    ]

    def pairs(*where: str) -> list[str]:
        return [j.pair for j in load(tmp_path, *rows, where=where).judgements]

    assert pairs("judge=x") == ["0", "1", "3"]
    assert pairs("judge=x", "hot=true") == ["0", "3"]
    assert pairs("judge=x", "level=1") == ["0", "1"]
    assert pairs("judge=x", "level=1", "level=3") == ["0", "1", "3"]  # either value
    assert [j.pair for j in load(tmp_path, *rows, where={"judge": "y"}).judgements] == ["2"]


GOOD = {"pair": "p", "order": "AB", "verdict": "A", "gold": "A"}


@pytest.mark.parametrize(
    ("where", "rows", "says"),
    [
        (["judge"], [GOOD], "not key=value"),
        (["colour=red"], [GOOD], "There are: gold, order, pair, verdict"),
        (["pair=x"], [GOOD, {**GOOD, "pair": "q"}], "Found: p, q"),
        ([], [{**GOOD, "judge": "x"}, {**GOOD, "judge": "y"}], "--where judge=VALUE: x, y"),
    ],
)
def test_a_choice_that_selects_none_or_several_judges_lists_what_there_is(
    tmp_path: Path, where: list[str], rows: list[dict[str, Any]], says: str
) -> None:
    with pytest.raises(UsageError) as error:
        load(tmp_path, *rows, where=where)
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("second", "says"),
    [
        ({}, "row 2: pair 'p' has this order and repeat in row 1"),
        ({"order": "BA", "gold": "B"}, "row 2, field 'gold': 'B' here and 'A' in row 1"),
        ({"order": "BA", "gold": None}, "row 2, field 'gold': None here and 'A' in row 1"),
        ({"order": "BA", "group": "other"}, "row 2, field 'group'"),
        ({"order": "CA"}, "row 2, field 'order': 'CA' is none of AB, BA, original, swapped"),
        ({"pair": " "}, "row 2, field 'pair': empty"),
        ({"pair": "\ud800"}, "row 2, field 'pair': half of a surrogate pair"),
        ({"verdict": "Left", "pair": "q"}, "row 2, field 'verdict': 'Left' is none of A, 1, first, A>B, A>>B, B, 2"),
        ({"gold": "C", "pair": "q"}, "row 2, field 'gold': 'C' is none of A, B, tie, null"),
        ({"repeat": -1}, "row 2, field 'repeat': '-1' is not a whole number"),
        ({"chars_a": 1.5, "chars_b": 2}, "row 2, field 'chars_a': '1.5' is not a whole number"),
        ({"text": "[[A]]", "format": "smoke"}, "row 2, field 'format': There is no verdict format 'smoke'"),
    ],
)
def test_a_bad_row_is_named_with_its_field(tmp_path: Path, second: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError) as error:
        load(tmp_path, GOOD, {**GOOD, **second})
    assert says in str(error.value)
    assert str(tmp_path) in str(error.value)


def test_a_row_with_neither_text_nor_verdict_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="row 1: neither a text nor a verdict"):
        load(tmp_path, {"pair": "p", "order": "AB", "gold": "A"})


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.jsonl", b"", "no rows"),
        ("b.csv", b"pair,order,verdict\n", "no rows"),
        ("c.jsonl", b'{"pair": "p", "order": "AB"', "row 1: the line is not whole JSON"),
        ("d.jsonl", b'{"pair": "p"}\n\n[1]\n', "row 3: the line is not a JSON object"),
        ("e.jsonl", b'{"pair": "p"}\n{"pair": "\xff"}\n', "row 2: byte 11 of the line is not UTF-8"),
        ("f.csv", b"pair,order,verdict\np,AB\n", "row 2: 2 fields stand under 3"),
        ("g.parquet", b"PAR1", "not sound Parquet"),
        ("h.txt", b"[[A]]", "the ending '.txt' is not known"),
    ],
)
def test_a_file_that_is_no_table_is_refused_with_the_row(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        load_recorded(path)
    assert says in str(error.value)
    assert name in str(error.value)


def test_a_folder_a_missing_file_and_unknown_columns_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="directory"):
        load_recorded(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        load_recorded(tmp_path / "none.jsonl")
    with pytest.raises(UsageError, match="those of no known form"):
        load(tmp_path, {"question": "?", "answer": "!"})
    with pytest.raises(UsageError, match="needs the column 'decision'"):
        load(tmp_path, GOOD, format="judgebench-outputs")
    with pytest.raises(UsageError, match="no form 'smoke'"):
        load(tmp_path, GOOD, format="smoke")
    with pytest.raises(UsageError, match="no verdict format 'smoke'"):
        load(tmp_path, GOOD, text_format="smoke")


def test_the_hash_names_the_file_as_it_is(tmp_path: Path) -> None:
    first = load(tmp_path, GOOD).hash
    assert load(tmp_path, GOOD).hash == first
    assert load(tmp_path, {**GOOD, "verdict": "B"}).hash != first
