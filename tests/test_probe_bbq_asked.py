"""BBQ asked of a model: what a run keeps, how it goes on, and what is told of a model that looks at places only."""

from __future__ import annotations

import json
import sys
import threading
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from bbq_world import four, lines

from recuse.cli import run as cli
from recuse.errors import ConfigMismatch, InputError, Interrupted, UsageError
from recuse.probes.bbq_run import BbqConfig, chosen_by, prepare, run_bbq
from recuse.prompts import load_prompt
from recuse.types import Reply

MODEL = '''
import pathlib

def stereotyped(messages):
    """The old one forgets, the young one remembers; refuses one passage, counts its calls."""
    with pathlib.Path(__file__).with_suffix(".log").open("a") as log:
        log.write("x")
    text = messages[-1]["content"]
    wanted = "Ann" if "Who forgets?" in text else "Bea"
    if "Ann forgot" in text and wanted == "Bea":
        return {"text": "I'm sorry, I can't help with that.", "finish": "stop"}
    return next(line[0] for line in text.splitlines() if line[1:] == f": {wanted}")
'''


@pytest.fixture
def world(tmp_path, monkeypatch):
    (tmp_path / "bbq_planted_model.py").write_text(MODEL)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "bbq_planted_model", raising=False)
    made = [
        {**row, "example_id": 4 * i + j, "question_index": str(i)} for i in range(5) for j, row in enumerate(four())
    ]
    return lines(tmp_path / "Age.jsonl", made)


def calls(world: Path) -> int:
    log = world.parent / "bbq_planted_model.log"
    return len(log.read_text()) if log.exists() else 0


def test_a_model_is_asked_once_and_scored_and_the_same_command_asks_nothing_again(world, tmp_path, capsys):
    out = tmp_path / "run"
    command = [
        "probe",
        "bbq",
        str(world),
        "--model",
        "python/bbq_planted_model:stereotyped",
        "--out",
        str(out),
        "--json",
    ]
    assert cli(command) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["s_amb"], found["s_dis"]) == (1.0, 1.0)
    assert found["unparsed"]["disambig"] == {"n": 5, "of": 10, "rate": 0.5}
    assert found["unparsed_reasons"] == {"refused": 5}
    assert found["failure_gap"]["neg_minus_nonneg"] == pytest.approx(-0.5)
    asked = calls(world)  # questions that come out alike are one call
    assert 0 < asked <= 20
    assert cli(command) == 0
    again = json.loads(capsys.readouterr().out)
    assert calls(world) == asked
    assert {**again, "usage": None} == {**found, "usage": None}


def test_a_run_keeps_prompt_reply_and_order_of_every_row_and_its_records_score_the_same(world, tmp_path, capsys):
    import pyarrow.parquet as pq

    out = tmp_path / "run"
    quiz = prepare(BbqConfig((world,), "python/bbq_planted_model:stereotyped", out))
    result, folder = run_bbq(quiz)
    quiz.close()
    kept = pq.read_table(folder / "records.parquet").to_pylist()
    assert len(kept) == 20
    for row in kept:
        order = [int(place) for place in row["order"]]
        shown = [f"{label}: {('Ann', 'Bea', 'Not known')[place]}" for label, place in zip("ABC", order, strict=True)]
        assert "\n".join(shown) in row["prompt"]
        assert row["answer"] is None or row["reply"] in "ABC"
    findings = json.loads((folder / "findings.json").read_text())
    assert findings == json.loads(json.dumps(result))
    assert (findings["schema"], findings["kind"]) == (1, "probe")
    assert {"bbq.s_dis", "bbq.s_amb:Age", "bbq.unparsed"} <= {one["id"] for one in findings["findings"]}
    assert findings["config"]["prompt_hash"] == load_prompt("probe/bbq", kinds=("probe",)).hash
    before = calls(world)
    assert cli(["probe", "bbq", str(out), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    scores = findings["tables"]["bbq"]
    assert {key: again[key] for key in scores} == scores
    assert calls(world) == before


def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path, world):
    made = [
        {**row, "example_id": 4 * i + j, "question_index": str(i), "context": f"{row['context']} Visit {i}."}
        for i in range(4)
        for j, row in enumerate(four())
    ]
    path, stop = lines(tmp_path / "Age2.jsonl", made), threading.Event()
    config = BbqConfig((path,), "python/bbq_planted_model:stereotyped", tmp_path / "run")
    quiz = prepare(config)
    with pytest.raises(Interrupted):
        run_bbq(quiz, watch=lambda phase, done, total, cost: stop.set() if done >= 5 else None, stop=stop)
    quiz.close()
    asked = calls(world)
    assert 5 <= asked < 16
    quiz = prepare(config)
    result, _ = run_bbq(quiz)
    quiz.close()
    assert calls(world) == 16
    assert (result["usage"]["calls"], result["usage"]["from_ledger"]) == (16 - asked, asked)
    assert result["tables"]["bbq"]["n"]["s_amb"] == 8


def test_another_seed_is_another_run(world, tmp_path):
    model = "python/bbq_planted_model:stereotyped"
    for seed in (0, 1):
        quiz = prepare(BbqConfig((world,), model, tmp_path / "run", seed=seed))
        if seed == 0:
            run_bbq(quiz)
        else:
            with pytest.raises(ConfigMismatch, match="seed: 0 there, 1 now"):
                run_bbq(quiz)
        quiz.close()


def test_a_model_that_only_looks_at_places_scores_zero_and_is_told_of(tmp_path, capsys):
    """The two questions on one passage share their order, so a place is the same person in both."""
    made = [
        {**row, "example_id": 4 * i + j, "question_index": str(i), "context": f"{row['context']} Visit {i}."}
        for i in range(30)
        for j, row in enumerate(four())
    ]
    path = lines(tmp_path / "Age.jsonl", made)
    command = ["probe", "bbq", str(path), "--model", "fake/always=A", "--out", str(tmp_path / "run"), "--json"]
    assert cli(command) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["s_amb"], found["s_dis"]) == (0.0, 0.0)
    assert found["letters"] == {"A": 1.0, "B": 0.0, "C": 0.0}
    assert any("chooses a place" in note for note in found["notes"])
    assert 0.1 < found["accuracy_disambig"] < 0.6  # a third, but for chance


def test_a_limit_keeps_whole_question_groups_and_a_dry_run_asks_nothing(world, tmp_path, capsys):
    quiz = prepare(BbqConfig((world,), "python/bbq_planted_model:stereotyped", limit=6))
    quiz.close()
    sizes: dict[str, int] = defaultdict(int)
    for one in quiz.asked:
        sizes[one.question_index] += 1
    assert sorted(sizes.values()) == [4, 4]
    command = ["probe", "bbq", str(world), "--model", "python/bbq_planted_model:stereotyped", "--dry-run", "--json"]
    assert cli(command) == 0
    assert json.loads(capsys.readouterr().out)["calls"] == 20
    assert calls(world) == 0


def test_the_most_probable_letter_is_the_choice_and_a_dead_heat_is_left_to_the_text():
    prompt = load_prompt("probe/bbq", kinds=("probe",))
    sure = Reply("k", "C", logprobs=(("A", -2.0), (" B", -3.0), ("C", -0.3)))
    assert chosen_by(sure, prompt).place == 2
    shares = chosen_by(sure, prompt).shares or ()
    weights = np.exp([-2.0, -3.0, -0.3])
    assert shares == pytest.approx(tuple(weights / weights.sum()))
    heat = Reply("k", "B", logprobs=(("B", -0.8), ("A", -0.8), ("C", -3.0)))
    assert chosen_by(heat, prompt).place == 1
    assert chosen_by(Reply("k", "D"), prompt).place is None
    assert chosen_by(Reply("k", "D"), prompt).reason == "no_verdict"


def test_a_prompt_of_another_kind_or_without_the_holes_is_refused(world, tmp_path):
    with pytest.raises(UsageError, match="is a listwise prompt"):
        prepare(BbqConfig((world,), "fake/always=A", prompt="listwise/label"))
    own = tmp_path / "own.md"
    own.write_text('+++\nid="o"\nversion=1\nkind="probe"\nformat="label"\nsource="t"\n+++\n@user\n{{question}}\n')
    with pytest.raises(InputError, match="not one of BBQ"):
        prepare(BbqConfig((world,), "fake/always=A", prompt=str(own)))
