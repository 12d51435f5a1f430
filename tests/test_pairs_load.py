"""What a loaded set of pairs promises: identity, groups, samples, notes, and a file that does not stay behind."""

from __future__ import annotations

import gzip
import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recuse.errors import InputError, UsageError
from recuse.pairs import load_pairs
from recuse.types import Message

QUESTION = {"prompt": "Which is the longest river of Chile?", "chosen": "The Loa.", "rejected": "The Maipo, I think."}


def jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def numbered(n: int, *, per_question: int = 1) -> list[dict[str, Any]]:
    return [
        {"prompt": f"Question {i // per_question}", "chosen": f"yes {i}", "rejected": f"no, {i}", "domain": "ab"[i % 2]}
        for i in range(n)
    ]


def test_the_id_is_a_hash_of_the_content_that_anyone_can_compute(tmp_path: Path) -> None:
    (pair,) = load_pairs(jsonl(tmp_path / "a.jsonl", [QUESTION]))
    written = (
        '{"chosen":"The Loa.","prompt":"Which is the longest river of Chile?","reference":null,'
        '"rejected":"The Maipo, I think."}'
    )
    assert pair.id == hashlib.sha256(written.encode()).hexdigest()[:20]


def test_a_reference_changes_the_id_and_a_domain_does_not(tmp_path: Path) -> None:
    ids = {
        name: load_pairs(jsonl(tmp_path / f"{name}.jsonl", [{**QUESTION, **more}]))[0].id
        for name, more in {"bare": {}, "domain": {"domain": "rivers"}, "reference": {"reference": "The Loa"}}.items()
    }
    assert ids["bare"] == ids["domain"] != ids["reference"]


def test_pairs_come_in_the_order_of_the_file_with_all_their_fields(tmp_path: Path) -> None:
    rows = [{**row, "reference": f"r{i}", "source_id": i, "weight": 0.5} for i, row in enumerate(numbered(2500))]
    found = load_pairs(jsonl(tmp_path / "a.jsonl", rows))
    assert len(found) == 2500
    assert [(p.prompt, p.chosen, p.rejected, p.domain, p.reference) for p in found] == [
        (r["prompt"], r["chosen"], r["rejected"], r["domain"], r["reference"]) for r in rows
    ]
    assert found[1700].meta == {"source_id": 1700, "weight": 0.5}
    assert found[-1] == found[2499]
    with pytest.raises(IndexError):
        found[2500]


def test_the_same_pairs_have_the_same_hash_in_any_order_and_any_format(tmp_path: Path) -> None:
    rows = numbered(50, per_question=3)
    one = load_pairs(jsonl(tmp_path / "a.jsonl", rows))
    packed = tmp_path / "b.jsonl.gz"
    packed.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in reversed(rows)).encode()))
    array = tmp_path / "c.json"
    array.write_text(json.dumps(rows[25:] + rows[:25]), encoding="utf-8")
    assert one.hash == load_pairs(packed).hash == load_pairs(array).hash
    assert load_pairs(jsonl(tmp_path / "d.jsonl", rows[:-1])).hash != one.hash
    assert load_pairs(tmp_path / "a.jsonl", group="domain").hash != one.hash, "other groups are another experiment"


def test_questions_that_differ_in_case_blanks_and_width_are_one_group(tmp_path: Path) -> None:
    prompts = ["What  is\nthe Straße?", "what is the STRASSE?", "Ｗｈａｔ is the strasse?", "What is the street?"]
    rows = [{**QUESTION, "prompt": prompt, "chosen": f"a {i}"} for i, prompt in enumerate(prompts)]
    found = load_pairs(jsonl(tmp_path / "a.jsonl", rows))
    groups = [pair.group for pair in found]
    assert groups[0] == groups[1] == groups[2] != groups[3]
    assert found.groups == 2
    assert "Questions repeat: 4 pairs form 2 groups." in found.notes


def test_a_group_column_overrides_the_question(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", [{**row, "topic": i // 4} for i, row in enumerate(numbered(12))])
    found = load_pairs(path, group="topic")
    assert [pair.group for pair in found] == ["0"] * 4 + ["1"] * 4 + ["2"] * 4
    assert found.groups == 3
    with pytest.raises(InputError, match=r"'subject'.*prompt, chosen, rejected, domain, topic"):
        load_pairs(path, group="subject")


def test_a_limit_draws_whole_groups_and_never_more_pairs(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", numbered(600, per_question=3))
    found = load_pairs(path, limit=100, seed=1)
    assert len(found) == 99
    counts = {group: sum(p.group == group for p in found) for group in {p.group for p in found}}
    assert set(counts.values()) == {3}
    assert found.groups == len(counts) == 33
    assert any("99 of 600 pairs" in note and "seed 1" in note for note in found.notes)


def test_a_sample_depends_on_seed_and_content_but_not_on_the_order_of_the_file(tmp_path: Path) -> None:
    rows = numbered(400, per_question=2)
    forward, backward = jsonl(tmp_path / "a.jsonl", rows), jsonl(tmp_path / "b.jsonl", rows[::-1])
    first = {p.id for p in load_pairs(forward, limit=60, seed=7)}
    assert first == {p.id for p in load_pairs(backward, limit=60, seed=7)}
    assert first != {p.id for p in load_pairs(forward, limit=60, seed=8)}


def test_every_group_is_drawn_equally_often(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", numbered(20))
    drawn = np.array(
        [np.isin(range(20), load_pairs(path, limit=5, seed=s).column("row").astype(int) - 1) for s in range(400)]
    )
    share = drawn.mean(axis=0)
    assert drawn.sum(axis=1).tolist() == [5] * 400
    assert np.all(np.abs(share - 0.25) < 4.5 * np.sqrt(0.25 * 0.75 / 400)), share


def test_a_first_group_above_the_limit_is_taken_whole(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", numbered(30, per_question=30))
    assert len(load_pairs(path, limit=4)) == 30


def test_lengths_are_characters_and_columns_come_in_the_order_of_the_pairs(tmp_path: Path) -> None:
    rows = [{**row, "chosen": "é🙂" * (i + 1), "tag": f"t{i}"} for i, row in enumerate(numbered(30))]
    found = load_pairs(jsonl(tmp_path / "a.jsonl", rows), limit=12, seed=3)
    chosen, rejected = found.lengths()
    assert chosen.tolist() == [len(p.chosen) for p in found]
    assert rejected.tolist() == [len(p.rejected) for p in found]
    assert found.column("tag").tolist() == [p.meta["tag"] for p in found]
    assert found.column("id").tolist() == [p.id for p in found]
    assert found.column("gold").tolist() == [None] * 12
    assert found.domains == {d: sum(p.domain == d for p in found) for d in ("a", "b")}
    with pytest.raises(UsageError, match=r"'colour'.*tag"):
        found.column("colour")


def test_how_often_the_better_answer_stood_first_is_said(tmp_path: Path) -> None:
    rows = [{"q": f"q{i}", "x": f"yes {i}", "y": f"no {i}", "better": "A"} for i in range(1200)]
    columns = {"prompt": "q", "a": "x", "b": "y", "label": "better"}
    found = load_pairs(jsonl(tmp_path / "a.jsonl", rows), columns=columns, limit=10)
    assert found.balance == {"A": 1200, "B": 0, "unknown": 0}
    assert "The better answer stood first in 1,200 of 1,200 rows of the source." in found.notes
    mixed = load_pairs(jsonl(tmp_path / "b.jsonl", [*rows[:3], {**rows[3], "better": "B"}]), columns=columns)
    assert mixed.balance == {"A": 3, "B": 1, "unknown": 0}
    assert mixed.notes == ["The better answer stood first in 3 of 4 rows of the source."]
    assert (mixed[3].chosen, mixed[3].rejected, mixed[3].gold) == ("no 3", "yes 3", "B")


def test_pairs_that_stand_both_ways_round_are_counted_once_each(tmp_path: Path) -> None:
    def row(question: str, chosen: str, rejected: str, **more: str) -> dict[str, str]:
        return {"prompt": question, "chosen": chosen, "rejected": rejected, **more}

    rows = [
        row("Why?", "x", "y"),
        row("How?", "x", "y"),
        row("How?", "y", "x"),
        row("how ?", "y", "x"),  # another question: the blank is new
        row("HOW?", "y", "x"),  # the same question again
        row("Why?", "x", "z"),
        row("why?", "x", "y"),  # no contradiction to row 1
    ]
    found = load_pairs(jsonl(tmp_path / "a.jsonl", rows))
    assert found.notes[0] == (
        "1 pair stands in the source both ways round, chosen and rejected exchanged (rows 2 and 3): no judge is right "
        "on both."
    )
    more = [*rows, row("Why?", "z", "x", topic="t")]
    note = load_pairs(jsonl(tmp_path / "b.jsonl", more), limit=1).notes[0]
    assert note.startswith("2 pairs stand in the source both ways round")
    assert "(first: rows 2 and 3)" in note
    assert not any("both ways" in note for note in load_pairs(jsonl(tmp_path / "c.jsonl", rows[:2])).notes)


def test_the_demo_loads_and_is_clean() -> None:
    found = load_pairs("demo")
    assert len(found) >= 50
    assert found.notes == []
    assert len(found.domains) >= 4


def test_conversations_survive_the_temporary_file(tmp_path: Path) -> None:
    talk = [{"role": "system", "content": "Be \x00 brief."}, {"role": "user", "content": '"Hi"\n'}]
    (pair,) = load_pairs(jsonl(tmp_path / "a.jsonl", [{**QUESTION, "prompt": talk}]))
    assert pair.prompt == (Message("system", "Be \x00 brief."), Message("user", '"Hi"\n'))


def test_nothing_stays_in_the_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    found = load_pairs(jsonl(tmp_path / "a.jsonl", numbered(3000)))
    assert found[2999].chosen == "yes 2999"
    with pytest.raises(InputError):
        load_pairs(jsonl(tmp_path / "b.jsonl", [*numbered(3000), {**QUESTION, "chosen": ""}]))
    found.close()
    assert list(scratch.iterdir()) == []
    assert len(found) == 0


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"preset": "judge-bench"}, "judgebench"),
        ({"preset": "judge-bench", "columns": {"domain": "kind"}}, "judgebench"),
        ({"preset": "llmbar", "columns": {"prompt": "p"}}, "preset and a column map of 'prompt' exclude each other"),
        ({"columns": {"a": "chosen", "rejected": "rejected"}}, "'rejected' and 'a', which exclude"),
        ({"columns": {"a": "chosen", "b": "rejected"}}, "lacks 'label'"),
        ({"columns": {"topic": "t"}}, "knows no 'topic'"),
        ({"columns": {"prompt": "prompt", "chosen": "chosen", "rejected": "rejected", "topic": "t"}}, "topic"),
        ({"limit": 0}, "limit"),
        ({"on_bad": "ignore"}, "on_bad"),
    ],
)
def test_wrong_options_are_named(tmp_path: Path, options: dict[str, Any], named: str) -> None:
    with pytest.raises(UsageError, match=named):
        load_pairs(jsonl(tmp_path / "a.jsonl", [QUESTION]), **options)
