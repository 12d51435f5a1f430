"""Worst-case bounds of kappa and of the ratio of rates: against all completions one by one, and by hand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from recuse import stats


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_kappa_bounds_are_the_least_and_greatest_of_all_completions(weights: str | None) -> None:
    rng, compared = np.random.default_rng(1), 0
    while compared < 40:
        size, n = int(rng.integers(2, 4)), int(rng.integers(3, 7))
        ratings = rng.integers(0, size, (2, n)).astype(object)
        gaps = rng.choice(2 * n, size=rng.integers(1, 5), replace=False)
        ratings[gaps // n, gaps % n] = None
        labels = list(range(size))
        kappas = []
        for filling in product(labels, repeat=gaps.size):
            filled = ratings.copy()
            filled[gaps // n, gaps % n] = filling
            kappas.append(stats.cohen_kappa(*filled, labels=labels, weights=weights).estimate)
        defined = [kappa for kappa in kappas if kappa is not None]
        if not defined:
            continue
        compared += 1
        result = stats.kappa_bounds(*ratings, labels=labels, weights=weights)
        assert (result.low, result.high) == pytest.approx((min(defined), max(defined)), abs=1e-12)
        assert result.estimate == stats.cohen_kappa(*ratings, labels=labels, weights=weights).estimate


def test_kappa_bounds_by_hand() -> None:
    # A-A, B-B, A-?: the answer A gives full agreement, B leaves 2 of 3, expected 4/9, so (2/3 - 4/9) / (5/9) = 0.4.
    result = stats.kappa_bounds(["A", "B", "A"], ["A", "B", None])
    assert (result.low, result.high) == pytest.approx((0.4, 1.0))
    assert (result.estimate, result.n, result.missing, result.groups) == (1, 2, 1, 3)
    least, most = (stats.cohen_kappa(["A", "B", "A"], ["A", "B", last]) for last in "BA")
    assert result.interval == (least.interval[0], most.interval[1])
    grouped = stats.kappa_bounds(["A", "B", "A"], ["A", "B", None], groups=["q", "r", "r"])
    assert (grouped.low, grouped.groups) == (result.low, 2)


def test_kappa_bounds_without_gaps_are_kappa_itself() -> None:
    pairs = ["A", "B", "A", "B"], ["A", "B", "B", "B"]
    result, kappa = stats.kappa_bounds(*pairs), stats.cohen_kappa(*pairs)
    assert (result.low, result.high, result.interval) == (kappa.estimate, kappa.estimate, kappa.interval)
    constant = stats.kappa_bounds(["A", "A"], ["A", "A"])
    assert (constant.low, constant.high) == (None, None)
    assert "both raters gave only 'A'" in constant.reason


def test_kappa_bounds_that_cannot_be_had_are_none_with_the_reason() -> None:
    for pair in ((["A", None], ["A", "A"]), ([None], [None])):
        result = stats.kappa_bounds(*pair)
        assert (result.low, result.high, result.interval) == (None, None, None)
        assert "fewer than two labels" in result.reason
    rng = np.random.default_rng(2)
    ratings = rng.integers(0, 9, (2, 400)).astype(object)
    ratings[rng.random(ratings.shape) < 0.3] = None
    assert "too many ways" in stats.kappa_bounds(*ratings).reason
    complete = rng.integers(0, 9, 400)
    assert stats.kappa_bounds(complete, ratings[1]).low < 0 < stats.kappa_bounds(complete, ratings[1]).high


def test_refusals_can_hide_the_disagreement_of_a_perfect_judge() -> None:
    # A judge that is right wherever it answers and refuses 40 %: among the answers kappa is 1, with all of them lost
    # 1 - 0.4 / 0.5 (the labels are even, and so is what the worst completion makes of them).
    truth = ["A", "B"] * 50
    judge = [label if i % 10 < 6 else None for i, label in enumerate(truth)]
    result = stats.kappa_bounds(truth, judge)
    assert (result.estimate, result.missing) == (1, 40)
    assert (result.low, result.high) == pytest.approx((0.2, 1.0))


def test_ratio_bounds_by_hand() -> None:
    # Exposed 1, 0, ?, 1 and others 0, 1, 1, ?: least 2/4 over 3/4, greatest 3/4 over 2/4.
    values, exposed = [1, 0, None, 1, 0, 1, 1, None], [1, 1, 1, 1, 0, 0, 0, 0]
    result = stats.impact_ratio_bounds(values, exposed)
    assert (result.low, result.high, result.estimate) == pytest.approx((2 / 3, 3 / 2, 1.0))
    assert (result.n, result.missing, result.pvalue) == (6, 2, 1.0)
    least, most = (
        stats.clustered_impact_ratio([1, 0, a, 1, 0, 1, 1, b], exposed).interval for a, b in ((0, 1), (1, 0))
    )
    assert result.interval == (least[0], most[1])


def test_ratio_bounds_hold_every_completion() -> None:
    rng = np.random.default_rng(3)
    groups, exposed = np.repeat(np.arange(8), 2), np.tile([True, False], 8)
    values = (rng.random(16) < 0.6).astype(object)
    values[[1, 4, 10]] = None
    result = stats.impact_ratio_bounds(values, exposed, groups=groups)
    ratios = []
    for filling in product((0, 1), repeat=3):
        filled = values.copy()
        filled[[1, 4, 10]] = filling
        ratios.append(stats.clustered_impact_ratio(filled, exposed, groups=groups).estimate)
    assert (result.low, result.high) == pytest.approx((min(ratios), max(ratios)))


def test_a_reference_rate_that_may_be_0_leaves_the_ratio_without_an_upper_bound() -> None:
    result = stats.impact_ratio_bounds([1, 0, 0, None], [1, 1, 0, 0])
    assert (result.low, result.high, result.interval) == (0.5 / 0.5, None, None)
    assert result.reason == "the reference rate is 0: there is no ratio"
    with pytest.raises(ValueError, match="2 values and 1 "):
        stats.impact_ratio_bounds([1, 0], [1])
