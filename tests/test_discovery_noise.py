"""The noise floor: how often a judge says something else of the same text."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
from planted import near
from world import world_pairs

from recuse.asks import Design
from recuse.backends import open_backend
from recuse.discovery.noise import ask_again, noise_finding
from recuse.judge import Answered
from recuse.lab.bench import Bench, Lab
from recuse.perturb.arms import Rewrite
from recuse.prompts import load_prompt
from recuse.types import Call, Judgement, Sampling


def test_two_of_eight_verdicts_differ_by_hand_and_the_group_is_the_unit() -> None:
    def verdict(pair: str, order: str, prefers: str, logit: float | None = None) -> Judgement:
        return Judgement(pair, pair, order, prefers, "placebo", logit=logit)  # type: ignore[arg-type]

    both = [
        (verdict(pair, order, "chosen", 0.5), verdict(pair, order, said, 0.5 if said == "chosen" else -0.25))
        for pair, order, said in [
            ("a", "AB", "chosen"), ("a", "BA", "rejected"), ("b", "AB", "chosen"), ("b", "BA", "chosen"),
            ("c", "AB", "chosen"), ("c", "BA", "chosen"), ("d", "AB", "rejected"), ("d", "BA", "chosen"),
        ]
    ]  # fmt: skip
    found = noise_finding(both)
    assert (found.estimate, found.n, found.groups) == (0.25, 8, 4)
    assert found.details["largest_change_of_log_odds"] == 0.75
    assert noise_finding([]).reason == "nothing was judged twice"


@pytest.mark.parametrize("skill", [0.0, 1.0, 2.0])
def test_a_judge_that_draws_its_verdicts_differs_from_itself_as_often_as_two_draws_do(skill: float) -> None:
    backend = open_backend(f"fake/skill={skill},seed=4")

    def ask(role, asks, phase):  # type: ignore[no-untyped-def]
        replies = {r.key: r for r in backend.generate([Call(str(i), a, {}) for i, a in enumerate(asks)])}
        return [Answered(a, replies[str(i)], True) for i, a in enumerate(asks)]

    pairs = tuple(world_pairs(2000, seed=1))
    bench = Bench("validation", pairs, {"placebo": {p.id: Rewrite(p.id, "placebo", p.rejected) for p in pairs}})
    design = Design(load_prompt("pairwise/label"), Sampling())
    lab = Lab(SimpleNamespace(ask=ask), design, Sampling(), None, None)  # type: ignore[arg-type]
    lab.judge(bench, ["placebo"])
    found = noise_finding(ask_again(lab, bench, seed=0))
    p = 1 / (1 + math.exp(-skill))
    assert found.n == 400
    assert found.groups == 200
    assert near(found.estimate or 0.0, 2 * p * (1 - p), 400)
