"""What an audit has seen stays out of a training set by its texts too, where they can be had; else the set says so."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from recuse.cli import run
from recuse.export.preference_plan import PreferenceConfig
from recuse.export.preferences import Preferred, preferences
from recuse.pairs import load_pairs

ANSWER = "It rises in the hills above the old town, runs by the two mills and the tannery, and ends in the lake"


def rows(n: int, *, left: str, right: str, asked: str) -> Iterator[dict[str, str]]:
    for i, pair in enumerate(list(load_pairs("demo"))[:n]):
        yield {asked: str(pair.prompt), left: f"{ANSWER} of {i}." if i == 0 else pair.chosen, right: pair.rejected}


@pytest.fixture
def audit(tmp_path: Path) -> Path:
    """Of 20 pairs whose columns the user named."""
    source = tmp_path / "seen.jsonl"
    named = rows(20, left="good", right="bad", asked="asks")
    source.write_text("".join(json.dumps(row) + "\n" for row in named), encoding="utf-8")
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()) as err:
        code = run(["audit", "--judge", "fake/skill=1", "--pairs", str(source), "--column", "prompt=asks", "--column",
                    "chosen=good", "--column", "rejected=bad", "--out", str(tmp_path / "run"), "-q"])  # fmt: skip
    assert code in (0, 1, 3), err.getvalue()
    return tmp_path / "run"


def export(audit: Path) -> Preferred:
    """Of those pairs with quotation marks about each question, another with an answer of theirs, and others."""
    every = list(load_pairs("demo"))
    mine = [
        {"prompt": f"“{p.prompt}”" if i < 20 else str(p.prompt), "chosen": f"{p.chosen} ({i})",
         "rejected": f"{p.rejected} ({i})"}
        for i, p in enumerate(every)
    ]  # fmt: skip
    mine.append({"prompt": "Where does the brook go?", "chosen": f"{ANSWER}!", "rejected": "Nowhere."})
    source = audit.parent / "mine.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in mine), encoding="utf-8")
    return preferences(
        PreferenceConfig(str(source), audit.parent / "set", biases=("authority",), not_from=(audit,), test=0)
    )


def test_what_an_audit_nearly_saw_stays_out_by_the_texts_that_it_kept(audit: Path) -> None:
    (audit.parent / "seen.jsonl").unlink()
    done = export(audit)
    (left,) = done.record["left_out"]
    asked = {row["prompt"].strip() for row in pq.read_table(audit.parent / "set/standard-train.parquet").to_pylist()}
    assert not [question for question in asked if "“" in question or "brook" in question]
    assert (left["same"], left["unread"]) == (0, 0)
    assert left["near"] >= 21
    assert not [note for note in done.record["notes"] if "could not be read" in note]


def test_an_audit_that_kept_no_texts_is_read_again_where_its_file_is_as_it_was(audit: Path) -> None:
    source = audit.parent / "seen.jsonl"
    plain = rows(20, left="chosen", right="rejected", asked="prompt")
    source.write_text("".join(json.dumps(row) + "\n" for row in plain), encoding="utf-8")  # the same pairs, no columns
    (audit / "run.toml").write_text((audit / "run.toml").read_text().replace('preset = "columns"\n', ""))
    (audit / "cases.parquet").unlink()
    (left,) = export(audit).record["left_out"]
    assert (left["near"] >= 21, left["unread"]) == (True, 0)


def test_an_audit_whose_texts_are_gone_says_that_nothing_near_it_was_found(audit: Path) -> None:
    (audit.parent / "seen.jsonl").unlink()
    (audit / "cases.parquet").unlink()
    done = export(audit)
    (left,) = done.record["left_out"]
    assert (left["near"], left["unread"]) == (0, 20)
    said = (
        "The texts of 20 pairs of run could not be read again: of those the pairs themselves and their groups were "
        "left out, and nothing that is nearly the same."
    )
    assert said in done.record["notes"]
    assert "The texts of 20 pairs of run" in (audit.parent / "set/README.md").read_text()


def test_a_question_in_other_marks_never_stands_in_the_other_part(tmp_path: Path) -> None:
    source = tmp_path / "twice.jsonl"
    twice = [
        {"prompt": asked.format(p.prompt), "chosen": f"{p.chosen} {asked}", "rejected": f"{p.rejected} {asked}"}
        for p in load_pairs("demo")
        for asked in ("{}", "“{}” -")
    ]
    source.write_text("".join(json.dumps(row) + "\n" for row in twice), encoding="utf-8")
    preferences(PreferenceConfig(str(source), tmp_path / "set", biases=("authority",), test=0.5, mix=0.5))
    words = [
        {" ".join(re.findall(r"\w+", row["prompt"].lower())) for row in pq.read_table(file).to_pylist()}
        for file in (tmp_path / "set/standard-train.parquet", tmp_path / "set/standard-test.parquet")
    ]
    assert min(map(len, words)) > 10
    assert not words[0] & words[1]
