"""The error rates of an export cover the truth: simulated judges whose true effects are known, missing verdicts too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from planted import DESIGN, PROMPT
from world import world_pairs

from recuse.asks import make_asks
from recuse.backends import open_backend
from recuse.backends.fake import parse_planted, true_contrast
from recuse.effects.scores import Scores
from recuse.export.rates import Rates, original_rate, picked_by_others, rates
from recuse.export.select import Item
from recuse.export.variants import Variants, edited
from recuse.judge import Answered
from recuse.judgements import judgements
from recuse.perturb.arms import ORIGINAL, Arm, Rewrite
from recuse.types import Call, Judgement, Pair

ARMS = (
    Arm("bias:authority", "bias", bias="authority", edit="authority"),
    Arm("bias:authority:2", "bias", bias="authority", edit="authority"),
    Arm("bias:self-praise", "bias", bias="self-praise", edit="self_praise"),
)
JUDGE = "skill=1,likes=study,like=1.5,question_sd=0.8"


def judged(judge: str, pairs: list[Pair], made: Variants) -> Scores:
    shown = [(ORIGINAL.id, pair) for pair in pairs]
    for arm, of_arm in made.usable.items():
        shown += [(arm, replace(pair, rejected=of_arm[pair.id].text)) for pair in pairs if pair.id in of_arm]
    asks = [ask for arm, pair in shown for ask in make_asks([pair], DESIGN, arm=arm)]
    calls = [Call(str(i), ask, {}) for i, ask in enumerate(asks)]
    answered = (Answered(asks[int(reply.key)], reply, fresh=True) for reply in open_backend(judge).generate(calls))
    groups = {pair.id: pair.group for pair in pairs}
    return Scores.build(judgements(answered, PROMPT.spec, groups), list(groups), groups, made.usable)


def measured(judge: str, pairs: list[Pair]) -> tuple[Rates, Variants]:
    made = edited(pairs, ARMS, seed=0)
    rows = [(arm, pair.id) for pair in pairs for arm in made.usable if pair.id in made.usable[arm]]
    return rates(judged(judge, pairs, made), rows, judge=judge, basis="unfiltered", id="j"), made


@pytest.mark.parametrize("more", ["", ",refuse_ba=0.1"], ids=["complete", "refusals in one order"])
def test_the_planted_difference_lies_in_the_interval_as_often_as_it_says(more: str) -> None:
    """99 % Monte-Carlo interval around 0.95 in 80 exports: at least 70. Rows are clustered in pairs and questions."""
    every = world_pairs(2000, seed=77, largest_group=3)
    made = edited(every, ARMS, seed=0)
    texts = [
        ((pair.chosen, of_arm[pair.id].text or ""), (pair.chosen, pair.rejected))
        for pair in every
        for of_arm in made.usable.values()
        if pair.id in of_arm
    ]
    truth = true_contrast(parse_planted(JUDGE), [a for a, _ in texts], [b for _, b in texts], n=100_000)
    hits = {"difference": 0, "after": 0, "before": 0}
    for run in range(80):
        pairs = world_pairs(40, seed=run, largest_group=3)
        found, _ = measured(f"fake/{JUDGE}{more},seed={run}", pairs)
        for name, value in (("difference", truth.effect), ("after", truth.error), ("before", truth.against)):
            low, high = getattr(found, name).interval
            hits[name] += low <= value <= high
    assert min(hits.values()) >= 70, hits


def by_hand(errors: dict[tuple[str, str], tuple[float | None, float | None]], pairs: list[str]) -> Scores:
    found = []
    for (arm, pair), both in errors.items():
        for order, error in zip(("AB", "BA"), both, strict=True):
            prefers = None if error is None else {0.0: "chosen", 1.0: "rejected", 0.5: "tie"}[error]
            reason = "refused" if error is None else None
            found.append(Judgement(pair, pair, order, prefers, arm, reason=reason))  # type: ignore[arg-type]
    arms = {arm for arm, _ in errors if arm != ORIGINAL.id}
    made = {arm: {p: Rewrite(p, arm, "text") for a, p in errors if a == arm} for arm in arms}
    return Scores.build(found, pairs, {pair: pair for pair in pairs}, made)


def test_rates_are_means_over_rows_each_beside_the_original_of_its_pair() -> None:
    scores = by_hand(
        {
            ("original", "p"): (0.0, 1.0), ("original", "q"): (0.0, 0.0),
            ("bias:x", "p"): (1.0, 1.0), ("bias:x", "q"): (0.5, 0.0), ("bias:y", "p"): (0.0, 1.0),
        },
        ["p", "q"],
    )  # fmt: skip
    found = rates(scores, [("bias:x", "p"), ("bias:y", "p"), ("bias:x", "q")], judge="j", basis="selecting", id="j")
    assert found.after.estimate == pytest.approx((1.0 + 0.5 + 0.25) / 3)
    assert found.before.estimate == pytest.approx((0.5 + 0.5 + 0.0) / 3)
    assert found.difference.estimate == pytest.approx((0.5 + 0.0 + 0.25) / 3)
    assert (found.difference.n, found.difference.groups) == (3, 2)
    assert original_rate(scores, judge="j", id="j").estimate == pytest.approx(0.25)


def test_a_missing_verdict_is_in_no_estimate_and_in_the_bounds() -> None:
    rng = np.random.default_rng(0)
    pairs = [f"p{i}" for i in range(60)]
    errors = {}
    for pair in pairs:
        errors["original", pair] = (0.0, float(rng.integers(2)))
        errors["bias:x", pair] = (float(rng.integers(2)), 1.0)
    whole = rates(by_hand(errors, pairs), [("bias:x", p) for p in pairs], judge="j", basis="afresh", id="j")
    assert whole.difference.bounds == whole.difference.interval
    errors["bias:x", "p7"] = (None, 1.0)
    holed = rates(by_hand(errors, pairs), [("bias:x", p) for p in pairs], judge="j", basis="afresh", id="j")
    assert holed.difference.n == 59
    assert holed.after.details["no_verdict"] == pytest.approx(1 / 120)
    low, high = holed.difference.bounds
    assert low < holed.difference.interval[1]
    for said in (0.0, 1.0):
        errors["bias:x", "p7"] = (said, 1.0)
        filled = rates(by_hand(errors, pairs), [("bias:x", p) for p in pairs], judge="j", basis="afresh", id="j")
        assert low - 1e-12 <= filled.difference.interval[0]
        assert filled.difference.interval[1] <= high + 1e-12


def test_what_the_others_picked_does_not_ask_the_judge_itself() -> None:
    pair = world_pairs(1)[0]
    fooled = {"a": {0}, "b": {1, 2}, "c": {0, 2}, "d": {0, 1, 2}, "e": set()}
    items = [Item(pair, arm, "x", Rewrite(pair.id, arm, "text"), frozenset(judges)) for arm, judges in fooled.items()]
    assert [arm for arm, _ in picked_by_others(items, 0, least=1)] == ["b", "c", "d"]
    assert [arm for arm, _ in picked_by_others(items, 0, least=2)] == ["b", "d"]
    assert [arm for arm, _ in picked_by_others(items, 2, least=1)] == ["a", "b", "c", "d"]
