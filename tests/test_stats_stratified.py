"""A difference within strata: by hand, against least squares, and its coverage under confounding."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats as scipy_stats

from recuse import stats


def test_mantel_haenszel_weights_by_hand() -> None:
    # stratum a: 3 of 4 against 1 of 4 (difference 0.5, weight 2); b: 1 of 2 against 0 of 6 (0.5 and 1.5)... and c alone
    y = [1, 1, 1, 0, 1, 0, 0, 0] + [1, 0] + [0] * 6 + [1]
    x = [1] * 4 + [0] * 4 + [1] * 2 + [0] * 6 + [1]
    strata = ["a"] * 8 + ["b"] * 8 + ["c"]
    found = stats.stratified_difference(y, x, strata=strata)
    assert found.estimate == pytest.approx((2.0 * 0.5 + 1.5 * 0.5) / 3.5)
    y[8] = 0  # now nothing in b: 0.5 and 0
    assert stats.stratified_difference(y, x, strata=strata).estimate == pytest.approx(2.0 * 0.5 / 3.5)


def test_it_is_least_squares_with_an_effect_a_stratum_and_clustered_errors() -> None:
    rng = np.random.default_rng(1)
    strata, groups = rng.integers(0, 4, 200), rng.integers(0, 50, 200)
    x, y = rng.integers(0, 2, 200), rng.random(200)
    design = np.column_stack([x, *(strata == s for s in range(4))]).astype(float)
    theirs = sm.OLS(y, design).fit(cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False})
    found = stats.stratified_difference(y, x, strata=strata, groups=groups)
    assert found.estimate == pytest.approx(theirs.params[0])
    count = len(set(groups.tolist()))
    error = (found.interval[1] - found.interval[0]) / 2 / scipy_stats.t.ppf(0.975, count - 1)
    assert error == pytest.approx(theirs.bse[0] * (count / (count - 1)) ** 0.5)


def test_the_test_inverts_the_interval() -> None:
    rng = np.random.default_rng(2)
    y, x, strata = rng.random(60), rng.integers(0, 2, 60), rng.integers(0, 3, 60)
    low, high = stats.stratified_difference(y, x, strata=strata).interval
    assert stats.test_stratified_bound(y, x, low, strata=strata) == pytest.approx(0.025)
    assert stats.test_stratified_bound(y, x, high, strata=strata, alternative="less") == pytest.approx(0.025)


def test_confounding_by_stratum_does_not_move_it_and_the_interval_covers() -> None:
    rng, hits = np.random.default_rng(3), 0
    for _ in range(1000):
        strata = rng.integers(0, 2, 120)
        x = rng.random(120) < np.where(strata, 0.8, 0.2)
        y = (rng.random(120) < np.where(strata, 0.5, 0.2)).astype(float)
        low, high = stats.stratified_difference(y, x, strata=strata).interval
        hits += low <= 0.0 <= high
    assert 0.932 <= hits / 1000 <= 0.968


@pytest.mark.parametrize(
    ("y", "x", "strata", "reason"),
    [
        ([1.0, 0.0], [1, 1], [0, 0], "both kinds"),
        ([1.0, 0.0], [1, 0], [0, 1], "both kinds"),
        ([], [], [], "both kinds"),
    ],
)
def test_what_cannot_be_compared_says_why(y: list[float], x: list[int], strata: list[int], reason: str) -> None:
    found = stats.stratified_difference(y, x, strata=strata)
    assert found.estimate is None
    assert reason in (found.reason or "")


def test_an_estimate_without_scatter_is_kept_without_an_interval() -> None:
    for y, expected in (([0.5] * 4, 0.0), ([3e-13, 1e-13] * 2, 2e-13), ([0.1, 0.3] * 2, -0.2)):
        found = stats.stratified_difference(y, [1, 0, 1, 0], strata=[0, 0, 1, 1])
        assert found.estimate == pytest.approx(expected, rel=1e-9)
        assert (found.interval, found.pvalue, found.reason) == (None, None, "no scatter between groups")
    alone = stats.stratified_difference([1.0, 0.0], [1, 0], strata=[0, 0], groups=["x", "x"])
    assert (alone.estimate, alone.interval, alone.reason) == (1.0, None, "one group")


def test_the_pvalue_of_no_difference_is_that_of_both_sides_and_scale_changes_nothing() -> None:
    rng = np.random.default_rng(4)
    y, x, strata = rng.random(60), rng.integers(0, 2, 60), rng.integers(0, 3, 60)
    found = stats.stratified_difference(y, x, strata=strata)
    sides = [stats.test_stratified_bound(y, x, 0.0, strata=strata, alternative=a) for a in ("greater", "less")]
    assert found.pvalue == pytest.approx(2 * min(sides))
    for scale in (1e-13, 1e-300, 1e149):
        other = stats.stratified_difference(y * scale, x, strata=strata)
        assert other.interval == pytest.approx(tuple(scale * limit for limit in found.interval), rel=1e-9)
        assert other.pvalue == pytest.approx(found.pvalue, rel=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": np.ma.array([0.1, 0.2], mask=[0, 1])}, "masked"),
        ({"exposed": np.ma.array([1, 0], mask=[0, 1])}, "masked"),
        ({"exposed": ["yes", "no"]}, "true or false"),
        ({"strata": [1.0, float("nan")]}, "strata has NaN"),
        ({"groups": ["a", None]}, "None"),
    ],
)
def test_what_cannot_be_read_is_refused(change: dict, message: str) -> None:
    given = {"values": [0.1, 0.2], "exposed": [1, 0], "strata": [0, 0], "groups": None} | change
    with pytest.raises(ValueError, match=message):
        stats.stratified_difference(given["values"], given["exposed"], strata=given["strata"], groups=given["groups"])


def test_few_ones_on_a_small_side_are_covered_once_the_bounds_are_known() -> None:
    # Ones at 0.1 among the 15 % exposed, at 0.05 elsewhere. Without bounds, the interval lies below the truth in one
    # sample of three: no one shows among the exposed, and the scatter of the others is all that there is.
    rng, missed, trusting, runs = np.random.default_rng(5), 0, 0, 60
    for _ in range(runs):
        x, strata = rng.random(60) < 0.15, rng.integers(0, 2, 60)
        y = (rng.random(60) < np.where(x, 0.1, 0.05)).astype(float)
        below = [
            stats.test_stratified_bound(y, x, 0.05, strata=strata, bounds=bounds, alternative="less")
            for bounds in (None, (0, 1))
        ]
        trusting += below[0] < 0.025
        missed += below[1] < 0.025
    assert trusting / runs > 0.15
    assert stats.clopper_pearson(missed, runs, level=0.99).interval[0] <= 0.025


def test_one_stratum_with_few_ones_is_at_least_the_difference_of_two_clustered_means() -> None:
    y, x = [1.0] + [0.0] * 9 + [1.0] * 6 + [0.0] * 44, [True] * 10 + [False] * 50
    found = stats.stratified_difference(y, x, strata=[0] * 60, bounds=(0, 1))
    trusting = stats.stratified_difference(y, x, strata=[0] * 60)
    mover = stats.clustered_difference(y, x)
    assert found.estimate == pytest.approx(mover.estimate)
    lows, highs = zip(trusting.interval, mover.interval, strict=True)
    assert found.interval == pytest.approx((min(lows), max(highs)), abs=1e-9)
    assert found.pvalue == pytest.approx(max(trusting.pvalue, mover.pvalue), rel=1e-6)
    assert "widened to MOVER" in found.method
    # In other units it is the same in those units.
    other = stats.stratified_difference(np.array(y) * 6 - 2, x, strata=[0] * 60, bounds=(-2, 4))
    assert other.interval == pytest.approx([6 * limit for limit in found.interval], abs=1e-8)


def test_bounds_change_nothing_where_many_units_differ_on_both_sides() -> None:
    rng = np.random.default_rng(6)
    y, x, strata = (rng.random(400) < 0.3) * 1.0, rng.random(400) < 0.4, rng.integers(0, 4, 400)
    assert stats.stratified_difference(y, x, strata=strata, bounds=(0, 1)) == stats.stratified_difference(
        y, x, strata=strata
    )


def test_values_without_scatter_get_the_exact_bounds_of_both_sides() -> None:
    x = [True] * 20 + [False] * 30
    found = stats.stratified_difference([0.0] * 50, x, strata=[0] * 50, bounds=(0, 1))
    ends = [stats.clopper_pearson(0, n).interval[1] for n in (30, 20)]
    assert (found.estimate, found.pvalue) == (0.0, 1.0)
    assert found.interval == pytest.approx((-ends[0], ends[1]), abs=1e-9)
    assert stats.test_stratified_bound([0.0] * 50, x, ends[1], strata=[0] * 50, bounds=(0, 1), alternative="less") == (
        pytest.approx(0.025, rel=1e-6)
    )
    with pytest.raises(ValueError, match="not between"):
        stats.stratified_difference([0.0, 2.0], [1, 0], strata=[0, 0], bounds=(0, 1))
