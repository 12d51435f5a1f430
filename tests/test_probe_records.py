"""Records of a probe: what is read back is what was written, and every fault is one sentence with its place."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from recuse.errors import InputError, RecuseError, UsageError
from recuse.probes.records import FORMS, read_records, records_bytes, write_records


def rows(templates: int = 3, names: int = 2, seeds: int = 2) -> list[dict[str, Any]]:
    return [
        {"template_id": f"t{t}", "group": g, "name": f"{g}{k}", "seed": s, "approved": (t + k) % 2, "score": t + 0.5}
        for t in range(templates)
        for g in ("a", "b")
        for k in range(names)
        for s in range(seeds)
    ]


def jsonl(path: Path, content: Sequence[Mapping[str, Any]]) -> Path:
    file = path / "records.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in content), encoding="utf-8")
    return file


def changed(at: int, **values: Any) -> list[dict[str, Any]]:
    """The rows with one of them changed; a value of ... takes the key away."""
    content = rows()
    content[at] = {k: v for k, v in {**content[at], **values}.items() if v is not ...}
    return content


def said(path: Path, metric: str | None = "approved") -> str:
    """The one sentence (and its hint) that a faulty file gives."""
    with pytest.raises(RecuseError) as caught:
        read_records(path, metric=metric)
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_back_what_was_written(tmp_path: Path, form: str) -> None:
    content = rows()
    content[1] |= {"approved": None, "approved_reason": "refused", "reply": 'No.\r"quoted", \n and \ud800 half'}
    content[2] |= {"reply": "ünïcödé", "logprobs": [["Yes", -0.25]]}
    found = read_records(write_records(tmp_path / f"r{form}", content), metric="approved")
    assert found.template_id == [row["template_id"] for row in content]
    assert found.group == [row["group"] for row in content]
    assert found.name == [row["name"] for row in content]
    assert found.seed == [str(row["seed"]) for row in content]
    assert found.values("approved") == [row["approved"] for row in content]
    assert found.values("score") == [row["score"] for row in content]
    assert found.metrics == ("approved", "score")
    assert found.column("reply")[1:3] == ['No.\r"quoted", \n and ? half', "ünïcödé"]
    nested = found.column("logprobs")[2]
    assert (nested if form == ".jsonl" else json.loads(nested)) == [["Yes", -0.25]]


def test_a_failed_extraction_is_told_from_zero_in_every_spelling(tmp_path: Path) -> None:
    file = tmp_path / "r.csv"
    file.write_text("template_id,group,m\nt1,a,0\nt2,a,\nt3,a,null\nt4,a,NaN\nt5,a,True\nt6,a,-1.5e1\n")
    assert read_records(file).values("m") == [0.0, None, None, None, 1.0, -15.0]


def test_a_parquet_of_another_program_with_nan_for_empty_is_read(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"template_id": [1, 2], "group": ["a", "a"], "m": [0.5, None]})
    table.to_parquet(tmp_path / "r.parquet")
    found = read_records(tmp_path / "r.parquet", metric="m")
    assert (found.template_id, found.values("m")) == (["1", "2"], [0.5, None])


def test_a_run_folder_is_read_by_its_records(tmp_path: Path) -> None:
    (tmp_path / "records.parquet").write_bytes(records_bytes(rows()))
    assert len(read_records(tmp_path)) == 24
    assert pq.read_table(tmp_path / "records.parquet").num_rows == 24


def test_rows_without_names_and_seeds_are_read(tmp_path: Path) -> None:
    content = [{"template_id": t, "group": g, "m": 1} for t in (1, 2) for g in "ab"]
    found = read_records(jsonl(tmp_path, content))
    assert found.name == found.seed == [""] * 4
    assert found.template_id == ["1", "1", "2", "2"]


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    file = write_records(tmp_path / "r.parquet", rows())
    before = file.read_bytes()
    with pytest.raises(UsageError, match="'m' cannot be one of Parquet"):
        write_records(file, [{"m": 1}, {"m": "no"}])
    with pytest.raises(UsageError, match="no rows"):
        write_records(file, [])
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["r.parquet"]


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"'\.txt'"):
        write_records(tmp_path / "r.txt", rows())


@pytest.mark.parametrize("key", ["template_id", "group"])
def test_a_missing_column_is_named(tmp_path: Path, key: str) -> None:
    content = [{k: v for k, v in row.items() if k != key} for row in rows()]
    assert f"field '{key}': missing column. It has: " in said(jsonl(tmp_path, content))


def test_a_missing_metric_names_those_that_are_there(tmp_path: Path) -> None:
    assert "field 'aproved': missing column. Columns of numbers: approved, score." in said(
        jsonl(tmp_path, rows()), "aproved"
    )


def test_a_key_column_is_no_metric(tmp_path: Path) -> None:
    assert "'seed' is no metric. Columns of numbers: approved, score." in said(jsonl(tmp_path, rows()), "seed")


def test_a_metric_that_is_empty_throughout_is_refused(tmp_path: Path) -> None:
    content = [row | {"approved": None} for row in rows()]
    assert "field 'approved': the column is empty in all rows." in said(jsonl(tmp_path, content))


@pytest.mark.parametrize("value", ["yes", "1_000", "٣", [1], "inf", {"score": 1}, 10**400])
def test_what_is_no_number_is_named_with_row_and_field(tmp_path: Path, value: object) -> None:
    text = said(jsonl(tmp_path, changed(4, approved=value)))
    assert "row 5, field 'approved': " in text
    assert "is not a number" in text
    assert len(text) < 300


def test_a_row_that_lacks_a_column_is_named(tmp_path: Path) -> None:
    assert "row 3, field 'approved': the row lacks this column" in said(jsonl(tmp_path, changed(2, approved=...)))


def test_a_column_that_some_rows_lack_is_refused_only_where_it_is_asked_for(tmp_path: Path) -> None:
    path = jsonl(tmp_path, changed(2, error="timeout"))
    found = read_records(path, metric="approved")
    assert "error" not in found.columns
    for ask in (found.column, found.values):
        with pytest.raises(InputError, match="row 1, field 'error': the row lacks this column"):
            ask("error")
    assert "row 4, field 'seed': the row lacks this column" in said(jsonl(tmp_path, changed(3, seed=...)))


def test_an_array_reads_like_lines(tmp_path: Path) -> None:
    array = tmp_path / "records.json"
    array.write_text(json.dumps(rows()))
    one, two = read_records(array, metric="approved"), read_records(jsonl(tmp_path, rows()), metric="approved")
    assert one.columns == two.columns


@pytest.mark.parametrize("value", [10**200, -1e300])
def test_a_number_whose_square_is_none_is_too_large(tmp_path: Path, value: float) -> None:
    text = said(jsonl(tmp_path, changed(4, approved=value)))
    assert "row 5, field 'approved': " in text
    assert "is too large a number" in text
    assert len(text) < 300


@pytest.mark.parametrize("value", ["", None, "  "])
def test_an_empty_group_is_named(tmp_path: Path, value: object) -> None:
    assert "row 1, field 'group': empty" in said(jsonl(tmp_path, changed(0, group=value)))


def test_rows_that_stand_twice_are_named_with_both_places(tmp_path: Path) -> None:
    text = said(jsonl(tmp_path, [*rows(), rows()[3]]))
    assert "row 25, field 'template_id': template_id 't0', group 'a', name 'a1', seed '1' stands in row 4 too" in text


def test_copies_for_want_of_a_seed_say_so(tmp_path: Path) -> None:
    content = [{k: v for k, v in row.items() if k != "seed"} for row in rows()]
    text = said(jsonl(tmp_path, content))
    assert "row 2" in text
    assert "There is no column seed that could tell them apart." in text


def test_a_name_in_two_groups_is_refused_whatever_its_case(tmp_path: Path) -> None:
    text = said(jsonl(tmp_path, changed(10, name="B0")))
    assert "field 'name': the name " in text
    assert "in the group 'b' and in 'a'" in text or "in the group 'a' and in 'b'" in text


@pytest.mark.parametrize("key", ["stratum", "batch"])
def test_a_template_in_two_strata_is_refused(tmp_path: Path, key: str) -> None:
    content = [row | {key: "clear"} for row in rows()]
    content[7][key] = "borderline"
    assert f"row 8, field '{key}': the template 't0' stands in 'clear' and in 'borderline'" in said(
        jsonl(tmp_path, content)
    )


def test_files_that_are_none_say_so(tmp_path: Path) -> None:
    assert "no such file" in said(tmp_path / "none.jsonl")
    assert "no records.parquet in this folder" in said(tmp_path)
    torn = tmp_path / "torn.jsonl"
    torn.write_text(json.dumps(rows()[0]) + '\n{"template_id": "t1", "gro')
    assert "row 2" in said(torn)
    empty = tmp_path / "empty.csv"
    empty.write_text("template_id,group\n")
    assert "no rows" in said(empty)


def test_every_fault_is_an_input_error_of_this_file(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_records(jsonl(tmp_path, changed(4, approved="perhaps")), metric="approved")
    assert (caught.value.row, caught.value.field) == (5, "approved")
    assert str(caught.value.path).endswith("records.jsonl")
