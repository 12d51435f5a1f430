"""Judgements as arrays: means over repeats, missing verdicts, unusable texts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from recuse.effects.scores import Scores
from recuse.perturb.arms import Fault, Rewrite
from recuse.types import Judgement, Preference

GROUPS = {"p": "g", "q": "g", "r": "h"}


def said(pair: str, order: str, prefers: Preference | None, arm: str = "original", **more: object) -> Judgement:
    return Judgement(pair, GROUPS[pair], order, prefers, arm, **more)  # type: ignore[arg-type]


def made(arm: str, texts: Mapping[str, str | None], faults: tuple[Fault, ...] = ()) -> dict[str, dict[str, Rewrite]]:
    return {arm: {p: Rewrite(p, arm, text, () if text else faults) for p, text in texts.items()}}


def test_errors_are_means_over_repeats_and_a_tie_is_half_an_error() -> None:
    rows = [
        said("p", "AB", "rejected"),
        said("p", "AB", "tie", repeat=1),
        said("p", "AB", None, repeat=2),
        said("p", "BA", "chosen"),
    ]
    scores = Scores.build(rows, ["p"], GROUPS, {})
    assert scores.error[0, 0].tolist() == [0.75, 0.0]
    assert scores.failed[0, 0] == pytest.approx([1 / 3, 0.0])
    assert scores.answered(0).tolist() == [True]


def test_a_usable_text_that_was_never_judged_is_a_failed_call_and_an_unusable_one_is_not_passed() -> None:
    rewrites = made("bias:x", {"p": "text", "q": None}, faults=("length",))
    scores = Scores.build([said("p", "AB", "chosen", "bias:x")], ["p", "q", "r"], GROUPS, rewrites)
    arm = scores.at("bias:x")
    assert scores.failed[arm, 0].tolist() == [0.0, 1.0]
    assert scores.dealt[arm].tolist() == [True, True, False]
    assert scores.passed[arm].tolist() == [True, False, False]
    assert scores.faults["bias:x"] == {"length": 1}
    assert scores.passed[scores.at("original")].all()


def test_pairs_of_one_group_share_a_code_and_other_splits_are_left_out() -> None:
    rows = [said(p, "AB", "rejected") for p in GROUPS]
    scores = Scores.build(rows, ["r", "p", "q"], GROUPS, {})
    assert scores.group[1] == scores.group[2] != scores.group[0]
    assert Scores.build(rows, ["r"], GROUPS, {}).pairs == ("r",)


def test_the_order_of_judgements_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    rows = [
        said(p, o, "rejected" if rng.random() < 0.5 else "chosen", arm, logit=float(rng.normal()))
        for p in GROUPS
        for o in ("AB", "BA")
        for arm in ("original", "placebo", "bias:x")
    ]
    one = Scores.build(rows, list(GROUPS), GROUPS, {})
    other = Scores.build(rows[::-1], list(GROUPS), GROUPS, {})
    assert one.arms == other.arms == ("bias:x", "original", "placebo")
    for name in ("error", "failed", "logit", "has_logit", "passed", "dealt"):
        assert np.array_equal(getattr(one, name), getattr(other, name))


def test_single_answers_have_one_order_and_do_not_mix_with_comparisons() -> None:
    assert Scores.build([said("p", "-", "chosen")], ["p"], GROUPS, {}).orders == ("-",)
    with pytest.raises(ValueError, match="build them apart"):
        Scores.build([said("p", "-", "chosen"), said("q", "AB", "chosen")], ["p", "q"], GROUPS, {})
    with pytest.raises(ValueError, match="no arm 'bias:y' among original"):
        Scores.build([], ["p"], GROUPS, {}).at("bias:y")


def test_a_robust_flip_is_right_before_and_wrong_after_in_both_orders() -> None:
    rows = [said(p, o, "chosen", "placebo") for p in GROUPS for o in ("AB", "BA")]
    rows += [said("p", o, "rejected", "bias:x") for o in ("AB", "BA")]
    rows += [said("q", "AB", "rejected", "bias:x"), said("q", "BA", "chosen", "bias:x")]
    rows += [said("r", "AB", "rejected", "bias:x"), said("r", "BA", None, "bias:x")]
    assert Scores.build(rows, list(GROUPS), GROUPS, {}).flips("bias:x", "placebo") == ("p",)
