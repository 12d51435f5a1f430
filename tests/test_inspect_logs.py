"""Inspect's eval logs read as recorded verdicts, written by the real package with its mock model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import inspect_world as world
import pytest

from recuse.errors import InputError
from recuse.recorded import Recorded, load_recorded

pytest.importorskip("inspect_ai", reason="needs inspect-ai: pip install 'recuse[inspect]'")

# What Inspect warns of in its own code (a deprecated argument, a log that its exit has not closed) is not ours.
pytestmark = [
    pytest.mark.engine,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def judging(
    folder: Path, replies: list[str], *, format: str = "eval", epochs: int = 1, named: bool = False
) -> Recorded:
    """A task whose samples are pairs of answers, each in both orders; the good answer is the better one."""
    from inspect_ai import Task, task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.scorer import choice
    from inspect_ai.solver import multiple_choice

    def sample(pair: int, swapped: bool) -> Sample:
        answers = [f"good {pair}", f"bad {pair}"]
        meta = {"pair": f"p{pair}", "order": "BA" if swapped else "AB", "domain": "law"} if named else {}
        return Sample(
            input=f"Question {pair}?", choices=answers[::-1] if swapped else answers, target="B" if swapped else "A",
            id=f"{pair}{swapped}", metadata=meta,
        )  # fmt: skip

    @task
    def judge() -> Task:
        dataset = MemoryDataset([sample(pair, swapped) for pair in range(2) for swapped in (False, True)])
        return Task(dataset=dataset, solver=multiple_choice(), scorer=choice(), epochs=epochs)

    return load_recorded(world.evaluate(judge(), replies, folder, format=format).location)


def told(found: Recorded) -> list[tuple[str, str | None, str | None]]:
    return [(j.order, j.prefers, j.reason) for j in (*found.judgements, *found.without_gold)]


@pytest.mark.parametrize("format", ["eval", "json"])
@pytest.mark.parametrize("named", [True, False])
def test_a_task_of_judging_is_read_by_place(tmp_path: Path, format: str, named: bool) -> None:
    replies = ["Hm.\nANSWER: A", "ANSWER: A", "ANSWER: B", "I cannot decide."]
    found = judging(tmp_path, replies, format=format, named=named)
    assert (found.preset, found.judge) == ("inspect", "mockllm/model")
    assert told(found) == [
        ("AB", "chosen", None), ("BA", "rejected", None), ("AB", "rejected", None), ("BA", None, "no_verdict"),
    ]  # fmt: skip
    assert len({j.pair for j in found.judgements}) == len({j.group for j in found.judgements}) == 2
    assert set(found.domains.values()) == ({"law"} if named else set())
    assert found.differ == 0
    assert "Hm.\nANSWER: A" in found.words.values()


def test_epochs_are_repeats(tmp_path: Path) -> None:
    found = judging(tmp_path, ["ANSWER: A"] * 8, epochs=2)
    assert sorted((j.order, j.repeat) for j in found.judgements) == sorted(
        (order, repeat) for order in ("AB", "BA") for repeat in (0, 1) for _ in range(2)
    )


def graded(folder: Path, grades: list[str], answers: list[str], metadata: list[dict[str, Any]], *, pair: bool) -> Path:
    from inspect_ai import Task, task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.scorer import match, model_graded_qa
    from inspect_ai.solver import generate

    @task
    def answering() -> Task:
        dataset = [
            Sample(input="2 + 2?" if pair else f"{n}?", target="4", id=n, metadata=meta)
            for n, meta in enumerate(metadata)
        ]
        grader = model_graded_qa(model=world.model(grades, "mockllm/grader"))
        return Task(dataset=MemoryDataset(dataset), solver=generate(), scorer=[grader, match()])

    return Path(world.evaluate(answering(), answers, folder).location)


def test_two_graded_answers_to_one_input_are_a_pair(tmp_path: Path) -> None:
    log = graded(tmp_path, ["GRADE: C", "GRADE: I"], ["5", "4"], [{"gold": False}, {"gold": True}], pair=True)
    found = load_recorded(log)
    assert (found.judge, dict(found.settings)) == ("mockllm/grader", {"task": "answering", "scorer": "model_graded_qa"})
    assert told(found) == [("-", "rejected", None)]
    assert any(note.startswith("Left out: 2 scores that compare texts") for note in found.notes)


def test_a_grade_that_was_not_found_is_no_verdict(tmp_path: Path) -> None:
    log = graded(tmp_path, ["I cannot say.", "GRADE: I"], ["5", "4"], [{"gold": False}, {"gold": True}], pair=True)
    assert told(load_recorded(log)) == [("-", None, "no_verdict")]


def test_a_log_of_single_grades_says_why_it_cannot_be_audited(tmp_path: Path) -> None:
    log = graded(tmp_path, ["GRADE: C", "GRADE: I"], ["5", "4"], [{}, {}], pair=False)
    with pytest.raises(InputError, match=r"no verdict on a pair of answers .*Left out: 2 grades"):
        load_recorded(log)


def test_a_broken_log_and_one_without_samples_are_named(tmp_path: Path) -> None:
    from inspect_ai.log import read_eval_log, write_eval_log

    (tmp_path / "torn.eval").write_bytes(b"PK\x03\x04 torn")
    with pytest.raises(InputError, match=r"torn\.eval: Inspect cannot read this log"):
        load_recorded(tmp_path / "torn.eval")
    log = read_eval_log(str(graded(tmp_path, ["GRADE: C"], ["4"], [{}], pair=False)))
    log.samples = None
    write_eval_log(log, str(tmp_path / "header.json"))
    with pytest.raises(InputError, match="no samples"):
        load_recorded(tmp_path / "header.json")
