"""Holm, Benjamini-Hochberg and the planning figure."""

from __future__ import annotations

import numpy as np
import pytest

from recuse import stats


def test_adjustments_by_hand() -> None:
    assert stats.holm([0.01, 0.04, 0.03]).pvalues == pytest.approx([0.03, 0.06, 0.06])
    assert stats.benjamini_hochberg([0.01, 0.04, 0.03]).pvalues == pytest.approx([0.03, 0.04, 0.04])
    # Yekutieli: Hochberg's times 1 + 1/2 + 1/3.
    assert stats.benjamini_yekutieli([0.01, 0.04, 0.03]).pvalues == pytest.approx([0.055, 0.22 / 3, 0.22 / 3])
    assert stats.holm([0.6, 0.9]).pvalues.tolist() == [1.0, 1.0]
    assert stats.benjamini_yekutieli([]).pvalues.size == 0
    assert stats.holm([]).pvalues.size == 0


def test_adjustments_agree_with_statsmodels() -> None:
    from statsmodels.stats.multitest import multipletests

    rng = np.random.default_rng(0)
    for size in (1, 2, 7, 50):
        p = np.round(rng.random(size) ** 3, 2)  # with ties
        assert stats.holm(p).pvalues == pytest.approx(multipletests(p, method="holm")[1])
        assert stats.benjamini_hochberg(p).pvalues == pytest.approx(multipletests(p, method="fdr_bh")[1])
        assert stats.benjamini_yekutieli(p).pvalues == pytest.approx(multipletests(p, method="fdr_by")[1])


def test_family_error_and_false_discovery_rate_are_held() -> None:
    rng, runs = np.random.default_rng(1), 4000
    p = rng.random((runs, 10))
    p[:, :4] **= 8  # four real effects
    false_holm = np.array([stats.holm(row).rejected[4:].any() for row in p])
    rejected = np.array([stats.benjamini_hochberg(row).rejected for row in p])
    rate = (rejected[:, 4:].sum(axis=1) / np.maximum(rejected.sum(axis=1), 1)).mean()
    assert stats.clopper_pearson(int(false_holm.sum()), runs, level=0.99).interval[0] <= 0.05
    assert rate == pytest.approx(0.05 * 6 / 10, abs=0.01)  # BH's rate is the level times the share of true nulls


def false_discovery_rates(p: np.ndarray, real: int) -> dict[str, tuple[float, float]]:
    """For runs in rows with `real` true effects in front: mean share of false rejections, and its standard error."""
    found = {}
    for adjust in (stats.benjamini_hochberg, stats.benjamini_yekutieli):
        rejected = np.array([adjust(row).rejected for row in p])
        share = rejected[:, real:].sum(axis=1) / np.maximum(rejected.sum(axis=1), 1)
        found[adjust.__name__] = float(share.mean()), float(share.std() / np.sqrt(len(p)))
    return found


@pytest.mark.parametrize("both_sides", [False, True])
def test_false_discovery_rate_is_held_with_a_shared_placebo_arm(both_sides: bool) -> None:
    # 20 arms, 5 of them real, each against the same placebo arm: all differences have correlation 1/2.
    from scipy.special import ndtr

    rng, runs, real = np.random.default_rng(2), 2000, 5
    arms = rng.normal(size=(runs, 20))
    arms[:, :real] += 3
    z = (arms - rng.normal(size=(runs, 1))) / np.sqrt(2)
    found = false_discovery_rates(2 * ndtr(-np.abs(z)) if both_sides else ndtr(-z), real)
    mean, error = found["benjamini_hochberg"]
    assert mean - 2.576 * error <= 0.05
    assert found["benjamini_yekutieli"][0] < mean / 2


def test_hochbergs_rate_breaks_under_opposed_effects_and_yekutielis_does_not() -> None:
    # The distribution for which the factor is needed: one uniform value sets off the whole family step by step.
    rng, runs, size = np.random.default_rng(4), 4000, 20
    # With chance 0.05 * (1 + 1/2 + ... + 1/20) exactly j of the p-values, each step j/20 * 0.05, lie at or under it.
    steps = np.arange(1, size + 1)
    j = rng.choice(np.arange(size + 1), size=runs, p=np.r_[1 - 0.05 * (1 / steps).sum(), 0.05 / steps])
    p = 0.05 + 0.95 * rng.random((runs, size))
    for row, count in zip(p, j, strict=True):
        row[rng.choice(size, count, replace=False)] = (count - rng.random()) / size * 0.05
    found = false_discovery_rates(p, 0)
    mean, error = found["benjamini_hochberg"]
    assert mean - 2.576 * error > 0.05
    mean, error = found["benjamini_yekutieli"]
    assert mean - 2.576 * error <= 0.05


def test_what_is_rejected_at_a_level_agrees_with_statsmodels_and_cannot_be_altered() -> None:
    from statsmodels.stats.multitest import multipletests

    p = np.random.default_rng(6).random(30) ** 4
    names = {"holm": stats.holm, "fdr_bh": stats.benjamini_hochberg, "fdr_by": stats.benjamini_yekutieli}
    for name, adjust in names.items():
        found = adjust(p, level=0.2)
        assert found.rejected.tolist() == multipletests(p, alpha=0.2, method=name)[0].tolist()
        assert (found.n, found.level) == (30, 0.2)
        assert 0 < found.rejected.sum() < 30
    assert found.method == "Benjamini-Yekutieli"
    assert found == stats.benjamini_yekutieli(p.tolist(), level=0.2)
    assert found != stats.benjamini_yekutieli(p, level=0.1)
    assert found != stats.benjamini_hochberg(p, level=0.2)
    assert np.array_equal(np.asarray(found), found.pvalues)
    with pytest.raises(ValueError, match="read-only"):
        found.pvalues[0] = 0.0
    plan = stats.planned_adjustment([0.04, 0.03, 0.9], [True, False, False])
    assert plan.rejected.tolist() == [True, False, False]  # 0.03 * 2 is too much
    assert plan.method == "primaries as declared, the others Benjamini-Hochberg"


@pytest.mark.parametrize("bad", [[0.1, float("nan")], [-0.1], [1.2]])
def test_what_is_no_pvalue_is_refused(bad: list[float]) -> None:
    for adjust in (stats.holm, stats.benjamini_hochberg, stats.benjamini_yekutieli):
        with pytest.raises(ValueError, match="p-value"):
            adjust(bad)


def test_pairs_needed_by_hand() -> None:
    # Half width 0.1 at n = 100 and 0.05 of room: four times the pairs.
    assert stats.pairs_needed(0.2, (0.1, 0.3), 100, None, 0.25) == 400
    assert stats.pairs_needed(0.3, (0.2, 0.4), 100, None, 0.25) == 400
    assert stats.pairs_needed(0.5, (0.4, 0.6), 100, 0.45, 0.6) == 400
    assert stats.pairs_needed(0.1, (0.05, 0.15), 100, 0.2, None) == 100
    assert stats.pairs_needed(0.25, (0.2, 0.3), 100, None, 0.25) is None
    assert stats.pairs_needed(0.251, (0.2, 0.3), 100, None, 0.25) is None
    assert stats.pairs_needed(0.251, (0.201, 0.3), 100, None, 0.25, max_factor=1e4) == pytest.approx(250_000, abs=1)
    assert stats.pairs_needed(0.0, (0.0, 0.09), 40, 0.0, 0.05) == pytest.approx(130, abs=1)


def test_the_pairs_needed_do_decide_about_half_the_time() -> None:
    # True rate as estimated: the interval's far end then lies inside with probability a half.
    estimate, n = 0.2, 100
    needed = stats.pairs_needed(estimate, stats.wilson_interval(20, 100).interval, n, None, 0.25)
    k = np.random.default_rng(2).binomial(needed, estimate, size=2000)
    inside = np.mean([stats.wilson_interval(int(v), needed).interval[1] <= 0.25 for v in k])
    assert 0.35 < inside < 0.7


def test_declared_primaries_are_not_corrected_against_exploration() -> None:
    p, primary = [0.04, 0.01, 0.02, 0.9], [True, False, False, False]
    # The others by hand: 0.01 * 3 / 1, 0.02 * 3 / 2, 0.9
    assert stats.planned_adjustment(p, primary).pvalues.tolist() == pytest.approx([0.04, 0.03, 0.03, 0.9])
    assert stats.planned_adjustment(p, primary, method="holm").pvalues.tolist() == pytest.approx(
        [0.04, 0.03, 0.04, 0.9]
    )
    assert stats.planned_adjustment(p, [True] * 4).pvalues.tolist() == p


def test_exploration_cannot_cost_a_primary_its_level() -> None:
    rng = np.random.default_rng(5)
    rejected = sum(stats.planned_adjustment(rng.random(21), [True] + [False] * 20).rejected[0] for _ in range(2000))
    low, high = stats.clopper_pearson(rejected, 2000, level=0.99).interval
    assert low <= 0.05 <= high


@pytest.mark.parametrize("call", [([0.1], [True, False], "bh"), ([0.1], [True], "bonferroni"), ([1.1], [True], "bh")])
def test_a_plan_that_does_not_fit_is_refused(call: tuple[list[float], list[bool], str]) -> None:
    p, primary, method = call
    with pytest.raises(ValueError):
        stats.planned_adjustment(p, primary, method=method)
