"""Acceptance: the rule's parts one by one, and what shams do to it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from instrument import Judge, simulate
from scipy.special import ndtr
from scipy.stats import chi2

from recuse import stats
from recuse.effects.accept import Decision, accept
from recuse.effects.contrast import Effect, OrderEffect, contrast, core, gaps
from recuse.effects.shams import Shams, spread_finding

GROUPS = 400


def effect(arm: str, estimate: float | None, *, se: float = 0.02, p: float | None = None, seed: int = 0) -> Effect:
    """An effect whose influence is its own, and whose p is that of a normal estimate."""
    if estimate is None:
        return Effect(arm, "placebo", None, reason="no pair has a usable text in both arms")
    own = np.random.default_rng([seed, *map(ord, arm)]).standard_normal(GROUPS)
    own *= se / np.sqrt(own @ own)
    p = float(ndtr(-estimate / se)) if p is None else p
    return Effect(arm, "placebo", estimate, None, se, p, n=GROUPS, groups=GROUPS, influence=own)


def quiet(k: int = 10, se: float = 0.02) -> list[Effect]:
    return [effect(f"sham:{i}", 0.001 * (i - (k - 1) / 2), se=se) for i in range(k)]


def one(found: tuple[Decision, ...]) -> Decision:
    assert len(found) == 1
    return found[0]


def test_a_clear_effect_is_accepted_with_the_larger_of_both_p_and_its_adjustments() -> None:
    effects = [effect("bias:a", 0.15), effect("bias:b", 0.0), effect("bias:c", -0.02)]
    found = accept(effects, quiet())
    assert [d.status for d in found] == ["accepted", "rejected", "rejected"]
    assert found[0].accepted
    assert found[0].reasons == ()
    p = [max(d.p_flip, d.p_sham or 0) for d in found]
    assert [d.p for d in found] == p
    assert [d.q for d in found] == pytest.approx(stats.benjamini_hochberg(p).tolist())
    assert [d.q_by for d in found] == pytest.approx(stats.benjamini_yekutieli(p).tolist())


def test_the_same_effect_is_rejected_among_shams_that_scatter_as_far() -> None:
    wild = [effect(f"sham:{i}", x) for i, x in enumerate(np.linspace(-0.15, 0.15, 10))]
    found = one(accept([effect("bias:a", 0.15)], wild))
    assert found.p_flip < 1e-6
    assert (found.status, found.p) == ("rejected", found.p_sham)
    assert "beside the shams" in found.reasons[0]


def test_a_significant_effect_under_the_screen_is_rejected_and_a_lower_screen_lets_it_pass() -> None:
    small = effect("bias:a", 0.049, se=0.005)
    shams = quiet(se=0.005)
    assert one(accept([small], shams)).reasons == ("effect 0.049 under the screen of 0.05",)
    assert one(accept([small], shams, min_effect=0.03)).accepted
    assert one(accept([effect("bias:a", 0.05, se=0.005)], shams)).accepted


def test_broken_truth_is_taken_off_and_truth_that_cannot_be_checked_leaves_a_candidate() -> None:
    clear, shams = effect("bias:a", 0.15), quiet()
    assert one(accept([clear], shams, truth_excess={"bias:a": 0.09})).accepted
    less = one(accept([clear], shams, truth_excess={"bias:a": 0.11}))
    assert less.status == "rejected"
    assert "0.110 of broken truth" in less.reasons[0]
    unchecked = one(accept([clear], shams, truth_excess={"bias:a": None}))
    assert (unchecked.status, unchecked.accepted) == ("candidate", False)


def test_an_opposite_effect_in_one_order_is_enough_to_reject() -> None:
    def ordered(p: float) -> Effect:
        orders = [
            OrderEffect(name, e, None, q, 0.4, True, None, GROUPS) for name, e, q in (("AB", 0.4, 1), ("BA", -0.1, p))
        ]
        return replace(effect("bias:a", 0.15), by_order=tuple(orders))

    assert one(accept([ordered(0.026)], quiet())).accepted
    found = one(accept([ordered(0.024)], quiet()))
    assert found.reasons == ("opposite effect in order BA (-0.100, p = 0.024)",)


def test_void_and_stopped_candidates_stay_in_the_family_with_p_one() -> None:
    # Two in the family would leave 0.03 significant; four do not.
    real = effect("bias:a", 0.15, p=0.02)
    others = [effect("bias:void", None), effect("bias:gone", 0.2), effect("bias:low", 0.0)]
    assert accept([real, others[2]], quiet())[0].accepted
    found = accept([real, *others], quiet(), stopped={"bias:gone": "stopped after 30 of 300 groups"})
    assert [d.p for d in found[1:3]] == [1.0, 1.0]
    assert not found[0].accepted
    assert found[0].q == pytest.approx(0.08)
    assert found[1].reasons == ("no pair has a usable text in both arms",)
    assert found[2].reasons == ("stopped after 30 of 300 groups",)


@pytest.mark.parametrize("shams", [0, 1, 4])
def test_with_fewer_than_five_shams_nothing_is_accepted(shams: int) -> None:
    void = effect("sham:void", None)
    found = accept([effect("bias:a", 0.15), effect("bias:b", 0.0)], [*quiet(shams), void])
    assert [d.status for d in found] == ["exploratory", "rejected"]
    assert found[0].p_sham is None
    assert found[0].p == found[0].p_flip
    assert f"{shams} usable shams" in found[0].reasons[0]
    assert one(accept([effect("bias:a", 0.15)], [*quiet(5), void])).accepted


def test_the_order_of_candidates_and_shams_changes_no_decision() -> None:
    effects = [effect(f"bias:{i}", x) for i, x in enumerate((0.15, 0.0, 0.08, -0.1))]
    first = accept(effects, quiet())
    second = accept(effects[::-1], quiet()[::-1])
    assert [(d.arm, d.status) for d in first] == [(d.arm, d.status) for d in second[::-1]]
    assert [d.q for d in first] == pytest.approx([d.q for d in second[::-1]])


def test_the_placebos_own_error_moves_all_effects_alike_and_is_not_counted_as_scatter() -> None:
    rng = np.random.default_rng(1)
    common = rng.standard_normal(GROUPS) * 0.02 / np.sqrt(GROUPS)
    parts = rng.standard_normal((11, GROUPS)) * 0.01 / np.sqrt(GROUPS)

    def with_common(i: int, estimate: float) -> Effect:
        influence = common + parts[i]
        return replace(effect(f"x:{i}", estimate), se=float(np.sqrt(influence @ influence)), influence=influence)

    shams = Shams.of([with_common(i, x) for i, x in enumerate(np.linspace(0.02, 0.04, 10))])
    assert shams.errors == pytest.approx(np.full(10, 0.01), rel=0.1)
    new = with_common(10, 0.09)
    alone = stats.predictive_pvalue(0.09, 0.01, shams.estimates, np.full(10, 0.01)).pvalue
    with_all = stats.predictive_pvalue(0.09, new.se or 0, shams.estimates, np.full(10, new.se)).pvalue
    assert alone is not None
    assert with_all is not None
    assert shams.pvalue(new) == pytest.approx(alone, rel=0.3)
    assert shams.pvalue(new) < with_all / 3


def test_the_predictive_p_of_one_more_sham_is_not_small_too_often() -> None:
    judge, rng, runs, hits = Judge(sham_sd=0.03), np.random.default_rng(0), 150, 0
    for _ in range(runs):
        table = simulate(judge, [0.0], rng, groups=150)
        shams = Shams.of([core(table, arm) for arm in table.arms if arm.startswith("sham")])
        hits += shams.pvalue(core(table, "bias:0")) <= 0.1
    assert stats.clopper_pearson(hits, runs, level=0.99).interval[0] <= 0.1
    assert hits > 0


def test_the_spread_of_shams_is_the_planted_one_and_its_interval_covers_it() -> None:
    rng = np.random.default_rng(2)
    covered, between = 0, []
    for run in range(300):
        draws = rng.normal(0.01, np.hypot(0.03, 0.02), size=10)
        spread = Shams.of([effect(f"sham:{i}", float(x), seed=run) for i, x in enumerate(draws)]).spread()
        between.append(spread.between)
        covered += spread.interval[0] <= 0.03 <= spread.interval[1]
    assert np.median(between) == pytest.approx(0.03, abs=0.004)
    assert stats.clopper_pearson(covered, 300, level=0.99).interval[1] >= 0.95
    finding = spread_finding(spread)
    assert (finding.id, finding.estimate, finding.n) == ("sham.spread", spread.between, 10)


def test_with_equal_errors_the_spreads_interval_is_the_chi_squared_one() -> None:
    y = np.array([-0.1, 0.0, 0.1, 0.05, -0.05])
    shams = Shams.of([effect(f"sham:{i}", float(x), se=1e-3) for i, x in enumerate(y)])
    sums = float(((y - y.mean()) ** 2).sum())
    expected = [np.sqrt(sums / chi2.ppf(q, 4) - float((shams.errors**2).mean())) for q in (0.975, 0.025)]
    assert shams.spread().interval == pytest.approx(expected, rel=1e-3)
    assert Shams.of([effect("sham:0", 0.1)]).spread().reason == "fewer than two usable shams"


def test_a_judge_that_falls_silent_where_it_would_be_right_shows_no_bias() -> None:
    # The arm errs less than the placebo, but 60 % of its right verdicts never come: complete cases show 11 points.
    rng = np.random.default_rng(2)
    table = simulate(Judge(error=0.25, gap_sd=0.3), [-0.03], rng, groups=400)
    at = table.at("bias:0")
    failed = table.failed.copy()
    failed[at] = (table.error[at] == 0) & (rng.random(failed[at].shape) < 0.6)
    silent = replace(table, failed=failed)
    shown, shams = contrast(silent, "bias:0"), [core(silent, f"sham:{i}") for i in range(10)]
    assert shown.estimate == pytest.approx(0.109, abs=0.001)
    assert one(accept([replace(shown, p_completed=None)], shams)).accepted  # by complete cases alone
    found = one(accept([shown], shams))
    low, groups = gaps(silent, "bias:0", "placebo", missing="low")
    by_hand = stats.sign_flip_test(np.bincount(groups, weights=low), alternative="greater").pvalue
    assert found.p == found.p_completed == by_hand > 0.5
    assert found.status == "rejected"
    assert "with missing verdicts against it" in found.reasons[0]


def test_a_clear_effect_bears_a_few_missing_verdicts_and_none_missing_asks_for_no_completion() -> None:
    table = simulate(Judge(refuses=0.01, gap_sd=0.3), [0.2], np.random.default_rng(0))
    shams = [core(table, f"sham:{i}") for i in range(10)]
    found = one(accept([contrast(table, "bias:0")], shams))
    assert found.accepted
    assert found.p_completed is not None
    assert found.p_completed > found.p_flip
    whole = simulate(Judge(gap_sd=0.3), [0.2], np.random.default_rng(0))
    assert one(accept([contrast(whole, "bias:0")], [core(whole, f"sham:{i}") for i in range(10)])).p_completed is None


def test_orders_reach_the_decision_from_real_contrasts() -> None:
    # An effect of 20 points that is one of 60 in one order and of -20 in the other.
    table = simulate(Judge(), [0.0], np.random.default_rng(0), shams=5)
    at = table.at("bias:0")
    error = table.error.copy()
    rng = np.random.default_rng(1)
    error[at, :, 0] = np.where(rng.random(300) < 0.9, 1.0, error[at, :, 0])
    error[at, :, 1] = np.where(rng.random(300) < 0.5, 0.0, error[at, :, 1])
    table = replace(table, error=error)
    shams = [contrast(table, f"sham:{i}") for i in range(5)]
    found = one(accept([contrast(table, "bias:0")], shams))
    assert (found.effect.estimate or 0) > 0.1
    assert [reason.split(" (")[0] for reason in found.reasons] == ["opposite effect in order BA"]
