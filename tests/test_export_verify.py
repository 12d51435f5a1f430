"""`recuse export verify`: what people say of the sample, and sheets that are not as they were sent."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from export_world import better_worse, record_of, recuse, rows_of, source, tree

from recuse.export.sheet import COLUMNS, cells, neutral, plain

JUDGE = "fake/skill=1.2,likes=study,like=3,seed=1"
Sheet = list[dict[str, str]]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported")
    pairs = source(folder, 150)
    rows = [json.loads(line) for line in pairs.read_text().splitlines()]
    for row in rows[::2]:  # answers that a spreadsheet would run
        row["chosen"], row["rejected"] = (
            f'=HYPERLINK("http://x.example","{row[name]}")' for name in ("chosen", "rejected")
        )
        row["prompt"] = "@SUM(1+1) " + row["prompt"]
    pairs.write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = recuse(
        "export", pairs, "--judge", JUDGE, "--bias", "authority,self-praise,citation",
        "--out", folder / "set", "--work", folder / "work",
    )  # fmt: skip
    assert said.code == 0, said.err
    return folder / "set"


@pytest.fixture
def made(exported: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(exported, tmp_path / "set"))


def sheet_of(folder: Path) -> Sheet:
    text = (folder / "verification.csv").read_bytes().decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text)))


def filled(folder: Path, name: str, label: Callable[[int], str], *, rows: Sheet | None = None) -> Path:
    rows = sheet_of(folder) if rows is None else rows
    path = folder.parent / f"{name}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        for i, row in enumerate(rows):
            writer.writerow({**row, "label": label(i)})
    return path


def kept(i: int) -> str:
    return "kept"


# What goes out


def test_the_sheet_shows_what_was_rewritten_and_neither_bias_nor_verdicts(made: Path) -> None:
    by_id = {row["id"]: row for row in rows_of(made)}
    sheet = sheet_of(made)
    assert [row["row"] for row in sheet] == record_of(made)["sample"]
    assert list(sheet[0]) == [*COLUMNS, "label", "annotator"]
    for row in sheet:
        better, worse = better_worse(by_id[row["row"]])
        shown = (row["better_answer"], row["wrong_answer_before"], row["wrong_answer_after"])
        meant = (better, by_id[row["row"]]["original_wrong_answer"], worse)
        assert tuple(plain(cell) for cell in shown) == tuple(plain(cell) for cell in meant)


def test_no_cell_of_the_sheet_is_a_formula(made: Path) -> None:
    every = [cell for row in sheet_of(made) for cell in row.values()]
    assert any(cell.startswith("'=HYPERLINK") for cell in every)
    assert not any(cell.lstrip().startswith(("=", "+", "-", "@")) for cell in every)


@pytest.mark.parametrize(
    "cell", ["=1+1", "+1", "-1", "@x", "\tx", "\r=1", " =1", "\n=1", "＝1", "'quoted", "plain", ""]
)
def test_a_neutralised_cell_is_no_formula_and_reads_as_it_was(cell: str) -> None:
    assert not neutral(cell).lstrip(" \n").startswith(("=", "+", "-", "@", "\t", "\r", "＝"))
    assert plain(neutral(cell)) == " ".join(cell.split())


# What comes back


def test_two_people_who_find_the_truth_kept_make_the_set_ready(made: Path) -> None:
    said = recuse("export", "verify", made, filled(made, "ann", kept), filled(made, "bob", kept))
    assert (said.code, said.err) == (0, "")
    assert "Ready for release" in said.out
    record, n = record_of(made), len(sheet_of(made))
    assert record["release"]["ready"] is True
    assert record["verification"]["kept"]["share"] == 1.0
    assert record["verification"]["agreement"]["fleiss_kappa"] is None  # all labels alike: 0/0
    assert (record["verification"]["people"], record["verification"]["rows"]) == (2, n)
    marks = [row["verified"] for row in rows_of(made)]
    assert marks.count("kept") == n == len(marks) - marks.count(None)
    assert "Release: **ready**" in (made / "README.md").read_text()


def test_kappa_and_the_share_are_those_of_statsmodels_and_of_a_count(made: Path) -> None:
    from statsmodels.stats.inter_rater import fleiss_kappa

    n = len(sheet_of(made))
    says: dict[str, Callable[[int], str]] = {
        "ann": lambda i: "broken" if i % 7 == 0 else "kept",
        "bob": lambda i: "broken" if i % 5 == 0 else "kept",
        "eve": lambda i: "unsure" if i % 6 == 0 else "kept",
    }
    said = recuse("export", "verify", made, *(filled(made, name, label) for name, label in says.items()), "--json")
    counts = [
        [sum(label(i) == menu for label in says.values()) for menu in ("kept", "broken", "unsure")] for i in range(n)
    ]
    assert said.json["agreement"]["fleiss_kappa"] == pytest.approx(fleiss_kappa(counts))
    low, high = said.json["agreement"]["interval"]
    assert low < said.json["agreement"]["fleiss_kappa"] < high
    share = sum(k > b for k, b, _ in counts) / n
    assert said.json["kept"]["share"] == pytest.approx(share)
    assert said.json["kept"]["interval"][0] < share < said.json["kept"]["interval"][1]
    disputed = [row["id"] for row in rows_of(made) if row["verified"] == "disputed"]
    assert len(disputed) == sum(k == b for k, b, _ in counts)


def test_a_share_under_the_target_blocks_the_release_and_a_new_look_may_lift_it(made: Path) -> None:
    n = len(sheet_of(made))
    bad = -(-n // 10) + 1
    sheets = [filled(made, name, lambda i: "broken" if i < bad else "kept") for name in ("ann", "bob")]
    said = recuse("export", "verify", made, *sheets)
    assert said.code == 1
    assert "Release blocked" in said.out
    assert "under the target of 90%" in record_of(made)["release"]["why"]
    assert len(record_of(made)["verification"]["not_kept"]) == bad
    assert "> **Not ready for release:**" in (made / "README.md").read_text()
    again = recuse("export", "verify", made, filled(made, "ann", kept), filled(made, "bob", kept))
    assert again.code == 0
    assert [s["step"] for s in record_of(made)["funnel"]].count("verified") == 1


def test_one_person_alone_releases_nothing(made: Path) -> None:
    said = recuse("export", "verify", made, filled(made, "ann", kept))
    assert said.code == 1
    assert "only one person has looked" in said.out


def test_one_sheet_may_hold_several_people_by_name(made: Path) -> None:
    rows = [{**row, "annotator": who} for who in ("ann", "bob") for row in sheet_of(made)]
    said = recuse("export", "verify", made, filled(made, "all", kept, rows=rows), "--json")
    assert (said.code, said.json["people"]) == (0, 2)


def test_label_studio_takes_the_tasks_and_its_export_comes_back(made: Path) -> None:
    tasks = json.loads((made / "verification.labelstudio.json").read_text())
    by_id = {row["id"]: row for row in rows_of(made)}
    assert [task["data"] for task in tasks] == [cells(by_id[id]) for id in record_of(made)["sample"]]
    name = "label"
    assert f'<Choices name="{name}"' in (made / "verification.labelstudio.xml").read_text()
    for i, task in enumerate(tasks):
        task["id"] = i
        task["annotations"] = [
            {"completed_by": who, "was_cancelled": False,
             "result": [{"from_name": name, "type": "choices", "value": {"choices": ["kept"]}}]}
            for who in (3, 4)
        ]  # fmt: skip
    path = made.parent / "project-1.json"
    path.write_text(json.dumps(tasks))
    said = recuse("export", "verify", made, path, "--json")
    assert (said.code, said.json["people"], said.json["kept"]["share"]) == (0, 2, 1.0)


def test_line_ends_and_the_apostrophes_that_a_program_took_off_are_no_alteration(made: Path) -> None:
    rows = [
        {name: cell.removeprefix("'").replace("\n", "\r\n") + " " for name, cell in row.items()}
        for row in sheet_of(made)
    ]
    said = recuse("export", "verify", made, filled(made, "ann", kept, rows=rows), filled(made, "bob", kept))
    assert said.code == 0, said.err


# What is refused, with nothing written


def refused(made: Path, *sheets: Path) -> str:
    before = tree(made)
    said = recuse("export", "verify", made, *sheets)
    assert said.code == 2
    assert said.err.count("\n") == 1
    assert tree(made) == before
    return said.err


def changed(rows: Sheet, i: int, **cells: str) -> Sheet:
    return [{**row, **cells} if j == i else row for j, row in enumerate(rows)]


def test_a_missing_row_is_named(made: Path) -> None:
    rows = sheet_of(made)
    said = refused(made, filled(made, "ann", kept), filled(made, "bob", kept, rows=rows[:-1]))
    assert f"bob.csv: the row {rows[-1]['row']} is missing. Label every row of the sample." in said


def test_an_altered_text_is_named_by_row_and_column(made: Path) -> None:
    rows = changed(sheet_of(made), 2, wrong_answer_after="Something else.")
    said = refused(made, filled(made, "ann", kept, rows=rows))
    assert "ann.csv, row 4, field 'wrong_answer_after': the text is not as it was sent." in said


def test_a_row_that_was_never_sent_is_named(made: Path) -> None:
    rows = changed(sheet_of(made), 0, row="0123456789abcdef")
    assert "row 2, field 'row': '0123456789abcdef' is no row of the sample." in refused(
        made, filled(made, "a", kept, rows=rows)
    )


@pytest.mark.parametrize(("label", "said"), [("fine", "'fine' is no label"), ("", "there is no label")])
def test_a_label_outside_the_menu_is_named(made: Path, label: str, said: str) -> None:
    err = refused(made, filled(made, "ann", lambda i: label if i == 1 else "kept"))
    assert f"row 3, field 'label': {said} (kept, broken, unsure). Write one of them." in err


def test_two_labels_of_one_person_for_one_row_are_named(made: Path) -> None:
    rows = [{**row, "annotator": "ann"} for row in sheet_of(made)]
    n = len(rows)
    err = refused(made, filled(made, "all", lambda i: "broken" if i == n else "kept", rows=rows + rows[:1]))
    assert f"row {n + 2}: 'ann' has labelled this row kept before." in err


def test_a_set_that_was_changed_since_is_refused(made: Path) -> None:
    file = made / "benchmark.jsonl"
    file.write_text(file.read_text().replace('"label": "A"', '"label": "B"', 1))
    assert "is not as it was exported. Export it again." in refused(made, filled(made, "ann", kept))


def test_a_folder_that_is_no_set_is_refused(tmp_path: Path, made: Path) -> None:
    said: Any = recuse("export", "verify", tmp_path, filled(made, "ann", kept))
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert "holds no benchmark" in said.err
