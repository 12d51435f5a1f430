"""The whole command on real text: no known name and no listed pronoun is left, and few ordinary words go."""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recuse.blinding.mapfile import joined, read_map
from recuse.blinding.residual import residual
from recuse.cli import run

pytestmark = pytest.mark.data
# Written down here by hand, apart from the package's own list.
PRONOUN = re.compile(r"\b(?:he|him|his|himself|she|her|hers|herself)\b", re.IGNORECASE)
WORD = re.compile(r"\w+")


def blinded(folder: Path, rows: list[dict[str, Any]]) -> Iterator[tuple[str, str, list[tuple[int, int, str]]]]:
    """Each row's original, its blinded text, and what was replaced, by place in the original and kind."""
    source, out = folder / "in.jsonl", folder / "out.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run(["blind", str(source), "--text", "text", "--names", "names", "--out", str(out)]) == 0
    header, lines = read_map(folder / "out.map.jsonl")
    found = joined(out, lines, columns=header.columns)
    for row, (_, texts, line) in zip(rows, found, strict=True):
        assert line.unblinded(texts) == {"text": row["text"]}
        shift, places = 0, []
        for span in line.spans:
            start = span.start + shift
            places.append((start, start + len(span.original), span.kind))
            shift += len(span.original) - (span.end - span.start)
        yield row["text"], texts["text"], places


def test_biographies_lose_their_marked_names_and_pronouns(data_dir: Path, tmp_path: Path) -> None:
    with (data_dir / "gap/gap-development.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    given = [{"text": row["Text"], "names": [row["A"], row["B"]]} for row in rows]
    left = 0
    for row, (text, result, places) in zip(rows, blinded(tmp_path, given), strict=True):
        left += len(PRONOUN.findall(result))
        for mark in ("Pronoun", "A", "B"):
            start = int(row[f"{mark}-offset"])
            end = start + len(row[mark])
            assert text[start:end] == row[mark]
            for word in re.finditer(r"[^\W\d_]{2,}", text[start:end]):  # the numeral of "Mary I" names nobody
                assert any(a <= start + word.start() and start + word.end() <= b for a, b, _ in places), row["ID"]
    assert left == 0
    assert len(rows) >= 1000


def test_exact_spans_are_covered_and_ordinary_words_stay(data_dir: Path, tmp_path: Path) -> None:
    with gzip.open(data_dir / "presidio_synth/synth_dataset_v2.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    persons = [[s for s in row["spans"] if s["entity_type"] == "PERSON"] for row in rows]
    given = [
        {"text": row["full_text"], "names": [s["entity_value"] for s in own]}
        for row, own in zip(rows, persons, strict=True)
    ]
    ordinary = lost = 0
    for row, own, (text, result, places) in zip(rows, persons, blinded(tmp_path, given), strict=True):
        assert not PRONOUN.search(result)
        for span in own:
            for word in WORD.finditer(text, span["start_position"], span["end_position"]):
                assert any(a <= word.start() and word.end() <= b for a, b, _ in places)
        marked = [(s["start_position"], s["end_position"]) for s in row["spans"]]
        taken = [(a, b) for a, b, kind in places if kind == "person"]
        for word in WORD.finditer(text):
            if not any(a < word.end() and word.start() < b for a, b in marked):
                ordinary += 1
                lost += any(a < word.end() and word.start() < b for a, b in taken)
    assert ordinary > 10_000
    assert lost / ordinary < 0.005


RESUMES = (
    "{first} {last} managed a shop in Chicago for four years; before that {he} sold shoes.",
    "Dear team, I write for {last}, {first}. {His} computer skills are strong and {he} trained {himself}.",
    "{Title} {last} ({F}. {last}) was employee of the month twice. Please call {him}: {first}'s phone is 555-0102.",
    "**{first}** led a team of six. {first} speaks Spanish. References from {first}'s last employer praise {him}.",
)
FORMS = {
    "male": {"he": "he", "him": "him", "His": "His", "himself": "himself", "Title": "Mr."},
    "female": {"he": "she", "him": "her", "His": "Her", "himself": "herself", "Title": "Ms."},
}


def test_resumes_that_differ_in_the_name_alone_become_one(data_dir: Path, tmp_path: Path) -> None:
    with (data_dir / "bertrand_mullainathan/resume.csv").open(encoding="utf-8", newline="") as file:
        people = sorted({(row["firstname"], row["sex"], row["race"]) for row in csv.DictReader(file)})
    assert len(people) == 36
    last = {"black": "Washington", "white": "O'Brien"}
    rows = [
        {
            "text": template.format(first=first, last=last[race], F=first[0], **FORMS[sex]),
            "names": [f"{first} {last[race]}"],
            "race": race,
            "unit": number,
        }
        for (number, template), (first, sex, race) in itertools.product(enumerate(RESUMES), people)
    ]
    found = list(blinded(tmp_path, rows))
    for number in range(len(RESUMES)):
        assert len({result for row, (_, result, _) in zip(rows, found, strict=True) if row["unit"] == number}) == 1
    labels, units = [row["race"] for row in rows], [row["names"][0] for row in rows]
    (before,) = residual([text for text, _, _ in found], labels, units=units)
    (after,) = residual([result for _, result, _ in found], labels, units=units)
    assert before.outcome == "warn"
    assert {"washington", "baker"} & {word.word for word in before.words}
    assert after.auc.estimate == 0.5
    assert after.words == ()
