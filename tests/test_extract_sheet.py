"""Language variants: lost facts are named, and the sheet for native speakers runs no formula and comes back whole."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recuse.cli import run
from recuse.errors import InputError, UsageError
from recuse.probes.sheet import COLUMNS, Variant, check_variants, neutral, read_sheet, sample, sheet_bytes, told

BASE = "The loan of EUR 20,000 runs until 2 March 2026. You may object within 14 days."
GERMAN = "Der Kredit über 20.000 € läuft bis zum 2. März 2026. Einspruch ist binnen 14 Tagen möglich."
ITEMS = [["object", "Einspruch", "opponer"]]


def rows_of(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(content.decode("utf-8-sig").splitlines(keepends=True)))


def test_a_faithful_variant_keeps_all_and_a_free_one_is_told_what_it_lost() -> None:
    free = "Der Kredit über 25.000 € läuft bis zum 2. März 2026."
    faithful, lossy = check_variants(
        [Variant("t", "de", BASE, GERMAN), Variant("t", "de", BASE, free)], checklist=ITEMS
    )
    assert faithful.sound
    assert faithful.facts.share == faithful.items.share == 1.0
    assert [str(fact) for fact in lossy.facts.lost] == ["20000 eur", "14"]
    assert [str(fact) for fact in lossy.items.lost] == ["object"]
    assert lossy.added == ("25000 eur",)
    assert not lossy.sound
    with pytest.raises(UsageError, match="no word"):
        check_variants([], checklist=[["…"]])


def test_the_sample_has_every_faulty_variant_and_does_not_depend_on_other_languages() -> None:
    sound = [Variant(f"t{i}", "de", BASE, GERMAN) for i in range(30)]
    faulty = [Variant(f"x{i}", "de", BASE, "Kein Betrag.") for i in range(3)]
    spanish = [Variant(f"s{i}", "es", "Hello", "Hola") for i in range(5)]
    chosen = [one.variant for one in sample(check_variants([*sound, *faulty]), per_language=10, seed=4)]
    assert len(chosen) == 10
    assert set(faulty) <= set(chosen)
    both = [one.variant for one in sample(check_variants([*spanish, *sound, *faulty]), per_language=10, seed=4)]
    assert [one for one in both if one.language == "de"] == chosen
    assert sum(one.language == "es" for one in both) == 5
    assert len(sample(check_variants(faulty), per_language=1)) == 3
    with pytest.raises(UsageError, match="0 samples"):
        sample([], per_language=0)


@pytest.mark.parametrize("cell", [
    "=1+1", "+49 30 123", "-1", "@SUM(A1)", "\t=1", "\r=1", " =HYPERLINK(1)", "\n=cmd|'/c calc'!A0", "＝1+1", "'=1",
    "- a list",
])  # fmt: skip
def test_cells_that_begin_like_a_formula_are_neutralised(cell: str) -> None:
    assert neutral(cell) == f"'{cell}"
    (row,) = rows_of(sheet_bytes(check_variants([Variant(cell, cell, cell, cell)])))
    assert {row[key] for key in COLUMNS[:4]} == {f"'{cell}"}


@given(st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=20))
def test_no_cell_begins_like_a_formula_and_every_text_comes_back(cell: str) -> None:
    written = neutral(cell)
    assert written.lstrip()[:1] not in tuple("=+-@＝＋－＠")
    assert written[:1] not in ("\t", "\r") or not written.strip()
    assert told(written) == cell


def test_plain_cells_stay_as_they_are() -> None:
    assert [neutral(cell) for cell in ("a=b", "1-2", "", "  ", "Anna")] == ["a=b", "1-2", "", "  ", "Anna"]


def filled(tmp_path: Path, answers: list[tuple[str, str, str]]) -> Path:
    variants = check_variants([Variant(f"t{i}", language, BASE, GERMAN) for i, (language, *_) in enumerate(answers)])
    rows = rows_of(sheet_bytes(variants))
    for row, (_, same, natural) in zip(rows, answers, strict=True):
        row["same_meaning"], row["natural"] = same, natural
    path = tmp_path / "sheet.csv"
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_what_speakers_wrote_is_read_by_language(tmp_path: Path) -> None:
    answers = [("de", "Yes", "5"), ("de", "yes", "4"), ("de", "NO", "1"), ("de", "", ""), ("es", "", "")]
    german, spanish = read_sheet(filled(tmp_path, answers))
    assert (german.language, german.same.estimate, german.same.n, german.unread) == ("de", pytest.approx(2 / 3), 3, 1)
    assert german.same.interval == pytest.approx((0.2077, 0.9385), abs=1e-4)  # Wilson for 2 of 3
    assert german.natural == pytest.approx(10 / 3)
    assert (spanish.same.estimate, spanish.natural, spanish.unread) == (None, None, 1)


@pytest.mark.parametrize(("same", "natural", "field"), [("perhaps", "3", "same_meaning"), ("yes", "6", "natural")])
def test_answers_off_the_scale_are_named_with_row_and_field(
    tmp_path: Path, same: str, natural: str, field: str
) -> None:
    with pytest.raises(InputError, match=rf"sheet\.csv, row \d+, field '{field}'"):
        read_sheet(filled(tmp_path, [("de", "yes", "3"), ("de", same, natural)]))


def test_a_sheet_without_its_columns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text("template_id;language\nt;de\n", encoding="utf-8")
    with pytest.raises(InputError, match="language"):
        read_sheet(path)


def test_the_command_writes_a_sheet_and_reads_it_when_it_comes_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    variants, sheet = tmp_path / "variants.jsonl", tmp_path / "sheet.csv"
    free = "Der Kredit über 25.000 € läuft bis zum 2. März 2026."
    rows = [{"template_id": f"t{i}", "language": "de", "base": BASE, "text": GERMAN if i else free} for i in range(6)]
    variants.write_text("".join(json.dumps(row) + "\n" for row in rows))
    items = ["--item", "object|Einspruch|opponer"]
    assert run(["probe", "sheet", str(variants), "--out", str(sheet), *items, "--per-language", "3", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["variants"], told["sampled"]) == (6, 3)
    assert told["faulty"] == [
        {"template_id": "t0", "language": "de", "faults": "lost 20000 eur, lost 14, lost object, added 25000 eur"}
    ]
    cells = rows_of(sheet.read_bytes())
    for cell, answer in zip(cells, ("no", "yes", ""), strict=True):
        cell["same_meaning"], cell["natural"] = answer, "4" if answer else ""
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(cells)
    assert run(["probe", "sheet", str(sheet)]) == 0
    assert capsys.readouterr().out == "de: same meaning in 0.500 [0.09, 0.91] of 2, natural 4.0 of 5, 1 unread\n"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"template_id": "t1", "language": "de", "base": "x"}, "'text'"),
        (
            {"template_id": "t0", "language": "de", "base": "x", "text": "y"},
            "of 't0' stands in row 1 too",
        ),
    ],
)
def test_variants_that_cannot_be_used_are_one_sentence(
    row: dict[str, str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"template_id": "t0", "language": "de", "base": "x", "text": "y"}, row]
    (tmp_path / "v.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    assert run(["probe", "sheet", str(tmp_path / "v.jsonl"), "--out", str(tmp_path / "s.csv")]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not (tmp_path / "s.csv").exists()
