"""An audited judge scores in Inspect as it was audited, in both orders, and keeps why it gave no verdict."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import Any

import inspect_world as world
import pytest
import tomli_w

from recuse import assets
from recuse.errors import ConfigMismatch, InputError, UsageError

pytest.importorskip("inspect_ai", reason="needs inspect-ai: pip install 'recuse[inspect]'")

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.solver import generate

from recuse.inspect import judge_scorer
from recuse.prompts import load_prompt
from recuse.recorded import load_recorded

# What Inspect warns of in its own code (a deprecated argument, a log that its exit has not closed) is not ours.
pytestmark = [
    pytest.mark.engine,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return world.audit(tmp_path_factory.mktemp("fair"), prompt="pairwise/label_tie")


@pytest.fixture(scope="module")
def recused(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return world.audit(tmp_path_factory.mktemp("first"), "python/inspect_world:first")


def samples(*baselines: str, **metadata: Any) -> MemoryDataset:
    return MemoryDataset([
        Sample(input=f"Question {n}?", target=baseline, id=n, metadata=metadata) for n, baseline in enumerate(baselines)
    ])  # fmt: skip


def scored(run: Path, dataset: MemoryDataset, replies: list[str], logs: Path, **options: Any) -> Any:
    @task
    def helpful() -> Task:
        return Task(dataset=dataset, solver=generate(), scorer=judge_scorer(str(run), **options))

    return world.evaluate(helpful(), replies, logs)


def test_an_answer_wins_loses_or_ties_in_both_orders(audited: Path, tmp_path: Path) -> None:
    log = scored(audited, samples("bad x", "good x", "plain x"), ["good 1", "plain 2", "plain 3"], tmp_path)
    scores = [sample.scores["judge_scorer"] for sample in log.samples]
    assert [score.value for score in scores] == [1.0, 0.0, 0.5]
    assert log.results.scores[0].metrics["mean"].value == pytest.approx(0.5)
    kept = scores[0].metadata["recuse"]
    assert [(v["order"], v["verdict"], v["text"]) for v in kept["verdicts"]] == [("AB", "A", "A"), ("BA", "B", "B")]
    assert kept["judge"] == world.AUDITED
    assert (kept["audit"]["outcome"], kept["audit"]["engine_changed"]) == ("fit", [])


def test_a_judge_that_the_audit_recuses_does_not_score_unless_told_to(recused: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"recuses this judge: .*despite_audit=True"):
        judge_scorer(str(recused))
    log = scored(recused, samples("bad"), ["good"], tmp_path, despite_audit=True)
    score = log.samples[0].scores["judge_scorer"]
    assert score.value == 0.5  # the first place wins both times: neither answer does
    assert score.metadata["recuse"]["audit"]["outcome"] == "recuse"


def test_a_sample_without_a_verdict_is_not_scored_and_keeps_the_reason(audited: Path, tmp_path: Path) -> None:
    log = scored(audited, samples("bad x", "bad y"), ["a good secret", "good 2"], tmp_path)
    refused, won = (sample.scores["judge_scorer"] for sample in log.samples)
    assert math.isnan(refused.value)
    assert refused.reason == "grader_failed"
    assert "AB: refused, BA: refused" in refused.explanation
    assert {v["reason"] for v in refused.metadata["recuse"]["verdicts"]} == {"refused"}
    assert won.value == 1.0
    assert log.results.scores[0].metrics["mean"].value == 1.0  # never counted as a loss


def test_the_baseline_may_stand_in_the_metadata_and_must_be_there(audited: Path, tmp_path: Path) -> None:
    dataset = samples("", baseline="bad one")
    assert (
        scored(audited, dataset, ["good"], tmp_path, baseline="baseline").samples[0].scores["judge_scorer"].value == 1
    )
    none = scored(audited, samples("bad"), ["good"], tmp_path, baseline="absent").samples[0].scores["judge_scorer"]
    assert math.isnan(none.value)
    assert none.explanation == "The sample has no absent."


def test_a_judge_that_grades_one_answer_gives_its_grade(tmp_path: Path) -> None:
    run = world.audit(tmp_path, "python/inspect_world:grade", prompt="pointwise/score", pairs=60)
    log = scored(run, samples("unused", "unused"), ["good", "bad"], tmp_path / "logs", despite_audit=True)
    assert [sample.scores["judge_scorer"].value for sample in log.samples] == [9.0, 2.0]


def test_the_log_is_a_file_of_recorded_verdicts(audited: Path, tmp_path: Path) -> None:
    log = scored(audited, samples("bad x", "good x", gold="A"), ["good 1", "plain secret"], tmp_path)
    found = load_recorded(log.location)
    assert (found.preset, found.judge, dict(found.settings)) == (
        "inspect", world.AUDITED, {"task": "helpful", "scorer": "judge_scorer"},
    )  # fmt: skip
    told = [(j.pair, j.order, j.prefers, j.reason) for j in found.judgements]
    assert told == [
        ("0/1", "AB", "chosen", None), ("0/1", "BA", "chosen", None), ("1/1", "AB", None, "refused"),
        ("1/1", "BA", None, "refused"),
    ]  # fmt: skip
    assert found.differ == 0
    assert found.lengths["0/1"] == (len("good 1"), len("bad x"))


def test_what_is_no_audit_of_this_judge_is_refused(audited: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no finished audit is here"):
        judge_scorer(str(tmp_path))
    with pytest.raises(ConfigMismatch, match=r"pairwise/json is not the one of the audit"):
        judge_scorer(str(audited), prompt="pairwise/json")
    (tmp_path / "findings.json").write_text('{"kind": "probe", "headline": ""}')
    with pytest.raises(InputError, match="no audit of a judge that can be asked"):
        judge_scorer(str(tmp_path))


def hardened(folder: Path, **more: Any) -> Path:
    """A judge's folder as `recuse harden` writes it, of the fair judge with a prompt that may say tie."""
    prompt = load_prompt("pairwise/label_tie")
    judge = {
        "judge": world.AUDITED, "prompt": "prompt.md", "prompt_hash": prompt.hash, "temperature": 0.0, "max_tokens": 16,
    }  # fmt: skip
    evidence = {"run": "harden-1", "variant": "tied", "primary": "position.consistency"}
    content = {"schema": 1, "judge": judge, "evidence": evidence}
    folder.mkdir(exist_ok=True)
    (folder / "prompt.md").write_bytes((assets.folder("prompts") / "pairwise/label_tie.md").read_bytes())
    (folder / "judge.toml").write_text(tomli_w.dumps(content | more))
    return folder


def test_a_hardened_judge_scores_as_the_same_judge_audited(audited: Path, tmp_path: Path) -> None:
    folder = hardened(tmp_path / "judge")
    dataset, replies = samples("bad x", "good x", "plain x", "bad"), ["good 1", "plain 2", "plain 3", "a good secret"]
    own, same = (scored(run, dataset, replies, tmp_path / "logs") for run in (folder, audited))
    for mine, theirs in zip(own.samples, same.samples, strict=True):
        a, b = (sample.scores["judge_scorer"] for sample in (mine, theirs))
        assert a.value == b.value or (math.isnan(a.value) and math.isnan(b.value))
        assert a.metadata["recuse"]["verdicts"] == b.metadata["recuse"]["verdicts"]
    said = own.samples[0].scores["judge_scorer"].metadata["recuse"]["audit"]
    assert (said["outcome"], said["engine_changed"]) == (None, None)
    assert said["headline"] == (
        "Not audited by itself: as tied it won the comparison harden-1 in position.consistency."
    )


def test_a_hardened_judge_that_cannot_score_says_why(tmp_path: Path) -> None:
    folder = hardened(tmp_path / "judge")
    with pytest.raises(UsageError, match="has its prompt beside it"):
        judge_scorer(str(folder), prompt="pairwise/json")
    rule = {"kind": "both orders", "judges": [world.AUDITED], "apply": "Ask twice."}
    with pytest.raises(UsageError, match=r"rule over several calls.*Ask twice\."):
        judge_scorer(str(hardened(tmp_path / "rule", rule=rule)))
    (folder / "prompt.md").write_text((folder / "prompt.md").read_text().replace("answer", "reply", 1))
    with pytest.raises(InputError, match="is not the prompt that was tested"):
        judge_scorer(str(folder))
    settings = tomllib.loads((tmp_path / "rule/judge.toml").read_text())["judge"]
    with pytest.raises(UsageError, match="examined on blinded texts"):
        judge_scorer(str(hardened(tmp_path / "blind", judge=settings | {"names": "people"})))
