"""`recuse audit --names`: the judge sees blinded texts, or nothing is asked."""

from __future__ import annotations

import json
import sqlite3
import zlib
from pathlib import Path

import pytest

from recuse.blinding.pairs import Blinds
from recuse.cli import run
from recuse.discovery.config import DiscoverConfig, plan_discovery
from recuse.discovery.split import PARTS
from recuse.discovery.transfer import transfer_config
from recuse.export.heldout import parts_of
from recuse.pairs import load_pairs
from recuse.plan import AuditConfig
from recuse.run import RunFolder

ROWS = [
    {"prompt": "Is Anna Weber fit for the job?", "chosen": "Mrs Weber is; she has run two shops.",
     "rejected": "Anna is young.", "who": ["Anna Weber"], "id": "x1"},
    {"prompt": "Is Paul Brandt fit for the job?", "chosen": "Mr Brandt is; he has run two shops.",
     "rejected": "Paul is young, and went to St Hilda's.", "who": ["Paul Brandt"], "id": "x2"},
]  # fmt: skip


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def test_what_the_judge_is_shown_names_nobody_and_ids_stay(source: Path) -> None:
    before = load_pairs(source)
    shown, said = Blinds(names="who").blinded(before)
    first, second = shown
    assert first.prompt == second.prompt == "Is [PERSON_1] fit for the job?"
    assert first.chosen == second.chosen == "[TITLE] [PERSON_1] is; [PRONOUN] has run two shops."
    assert [p.id for p in shown] == [p.id for p in before]
    assert "2 pairs blinded" in said[0]
    assert "6 names" in said[0]


def test_what_blinding_makes_one_question_is_one_group_and_other_groups_stay(tmp_path: Path) -> None:
    rows = [
        {"prompt": "Is Anna Weber fit?", "who": ["Anna Weber"], "topic": "a"},
        {"prompt": "Is Paul Brandt fit?", "who": ["Paul Brandt"], "topic": "b"},
        {"prompt": "Is  [PERSON_1] FIT?", "who": [], "topic": "c"},  # by nobody's change, and yet the same question now
        {"prompt": "Is it warm?", "who": [], "topic": "d"},
        {"prompt": "Is it warm?", "who": [], "topic": "e"},  # apart by the user's wish: blinding changed nothing here
        {"prompt": "Who is Anna Weber?", "who": ["Anna Weber"], "topic": "a"},  # joined by its group
    ]
    path = tmp_path / "groups.jsonl"
    texts = [{**row, "chosen": f"yes {i}", "rejected": f"no {i}"} for i, row in enumerate(rows)]
    path.write_text("".join(json.dumps(row) + "\n" for row in texts))
    shown, said = Blinds(names="who").blinded(load_pairs(path, group="topic"))
    assert [p.group for p in shown] == ["a", "a", "a", "d", "e", "a"]
    assert shown.groups == 3 == len(set(shown.column("group")))
    assert said[-1] == ("2 groups were joined to others, since their questions are the same once blinded: 3 are left.")
    backwards = tmp_path / "backwards.jsonl"
    backwards.write_text("".join(json.dumps(row) + "\n" for row in texts[::-1]))
    again = Blinds(names="who").blinded(load_pairs(backwards, group="topic"))[0]
    assert [p.group for p in again] == [p.group for p in shown][::-1]


def test_the_hash_follows_the_names_so_that_a_resume_is_the_same_run(source: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text("".join(json.dumps({**row, "who": []}) + "\n" for row in ROWS))
    one, two = load_pairs(source), load_pairs(other)
    assert one.hash == two.hash
    assert Blinds(names="who").blinded(one)[0].hash != Blinds(names="who").blinded(two)[0].hash


def test_no_request_and_no_report_of_a_blinded_run_holds_a_name(source: Path, tmp_path: Path) -> None:
    signals = tmp_path / "signals.toml"
    signals.write_text('[school]\nwords = ["St Hilda\'s"]\n')
    out = tmp_path / "run"
    code = run(["audit", "--judge", "fake/skill=3", "--pairs", str(source), "--names", "who",
                "--signals", str(signals), "--out", str(out), "--quiet"])  # fmt: skip
    assert code in (0, 1, 3)
    told = (out / "report.md").read_text() + (out / "report.html").read_text() + (out / "findings.json").read_text()
    with sqlite3.connect(out / "ledger.sqlite") as ledger:
        for table in [row[0] for row in ledger.execute("select name from sqlite_master where type = 'table'")]:
            for row in ledger.execute(f"select * from {table}"):
                told += " ".join(_plain(cell) for cell in row)
    assert "[PERSON_1]" in told
    assert not [secret for secret in ("Anna", "Weber", "Paul", "Brandt", "Hilda") if secret in told]
    assert "pairs blinded" in told


def _plain(cell: object) -> str:
    if not isinstance(cell, bytes):
        return str(cell)
    try:
        return zlib.decompress(cell).decode()
    except zlib.error:
        return cell.decode(errors="replace")


def test_two_answers_that_become_one_text_are_told(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps({"prompt": "Who?", "chosen": "She won.", "rejected": "He won.", "who": ""}))
    shown, said = Blinds(names="who").blinded(load_pairs(path))
    assert shown[0].chosen == shown[0].rejected == "[PRONOUN] won."
    assert said[1].startswith("In 1 pairs the two answers are one text")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--names", "nobody"], "The pairs have no column 'nobody'"),
        (["--names", "prompt"], "The pairs have no column 'prompt'"),
        (["--names", "bad"], "name 1 is"),
        (["--names", "number"], "this is no list of names"),
        (["--names-file", "missing.txt"], "missing.txt"),
    ],
)
def test_names_that_cannot_be_used_are_one_sentence_and_nothing_is_asked(
    tmp_path: Path, options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps({**ROWS[0], "bad": ["she"], "number": 7}) + "\n")
    out = tmp_path / "run"
    assert run(["audit", "--judge", "fake/skill=3", "--pairs", str(path), *options, "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1
    assert not out.exists()


def test_a_discovery_searches_blinded_pairs_and_a_transfer_blinds_them_again(source: Path, tmp_path: Path) -> None:
    rows = [{**row, "prompt": f"{row['prompt']} ({i})"} for i in range(30) for row in ROWS]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    judge = AuditConfig("fake/skill=3", str(source), blinds=Blinds.of("who", None, None), out=tmp_path / "run")
    plan = plan_discovery(DiscoverConfig(judge, "fake/teacher=1"))
    try:
        shown = [pair for part in PARTS for pair in getattr(plan.splits, part)]
        assert len(shown) == 60
        home = {pair.prompt: part for part in PARTS for pair in getattr(plan.splits, part)}
        assert len(home) == 30  # two pairs of the source ask each, and both lie in one part
        assert all(home[pair.prompt] == part for part in PARTS for pair in getattr(plan.splits, part))
        texts = " ".join(f"{pair.prompt} {pair.chosen} {pair.rejected}" for pair in shown)
        assert not [name for name in ("Anna", "Weber", "Paul", "Brandt") if name in texts]
        table, ids = plan.run_table(), {part: [pair.id for pair in getattr(plan.splits, part)] for part in PARTS}
    finally:
        plan.audit.close()
    assert table["blinded"] == {"names": "who"}
    with RunFolder(tmp_path / "run", table):
        pass
    dealt = parts_of(tmp_path / "run")
    assert {part: [pair.id for pair in getattr(dealt, part)] for part in PARTS} == ids
    assert "Anna Weber" in str(dealt.discovery[0].prompt) or "Paul Brandt" in str(dealt.discovery[0].prompt)
    again = transfer_config(tmp_path / "run", AuditConfig("fake/skill=1", ""))
    assert again.judge.blinds == Blinds(names="who")
