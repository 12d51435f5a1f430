"""The difference of two clustered means: Newcombe's figures, cluster-robust regression, and coverage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recuse import stats


def test_independent_proportions_agree_with_newcombe() -> None:
    from statsmodels.stats.proportion import confint_proportions_2indep

    for a, m, b, n in ((82, 200, 124, 200), (300, 1000, 410, 900)):
        x, stratum = [1] * a + [0] * (m - a) + [1] * b + [0] * (n - b), [True] * m + [False] * n
        expected = confint_proportions_2indep(a, m, b, n, method="newcomb", compare="diff")
        result = stats.clustered_difference(x, stratum)
        assert result.estimate == pytest.approx(a / m - b / n)
        # Ours has t and n - 1 for the normal and n: wider by under one per cent at 200.
        assert result.interval == pytest.approx(expected, abs=0.001)
        assert result.interval[0] < expected[0] < expected[1] < result.interval[1]


def test_few_differing_units_widen_newcombes_published_interval() -> None:
    # Newcombe (1998), 56/70 against 48/80: 0.0524 to 0.3339. With 14 failures the first rate gets Clopper-Pearson.
    x, stratum = [1] * 56 + [0] * 14 + [1] * 48 + [0] * 32, [True] * 70 + [False] * 80
    low, high = stats.clustered_difference(x, stratum).interval
    assert 0.04 < low < 0.0524
    assert 0.3339 < high < 0.345


def test_constant_strata_by_hand() -> None:
    # 0 of 20 against 0 of 30: the exact bounds 0.1684 and 0.1157 remain, never zero width.
    result = stats.clustered_difference(np.zeros(50), np.arange(50) < 20)
    assert result.interval == pytest.approx((-(1 - 0.025 ** (1 / 30)), 1 - 0.025 ** (1 / 20)), abs=1e-8)


def test_large_samples_agree_with_statsmodels_cluster_robust_regression() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(4000), 5)
    stratum = rng.random(groups.size) < 0.4
    common = rng.random(4000)[groups]
    x = (np.where(rng.random(groups.size) < 0.7, common, rng.random(groups.size)) < 0.4 + 0.1 * stratum).astype(float)
    fit = sm.OLS(x, sm.add_constant(stratum.astype(float))).fit(cov_type="cluster", cov_kwds={"groups": groups})
    result = stats.clustered_difference(x, stratum, groups=groups)
    assert "correlation" in result.method
    assert result.estimate == pytest.approx(fit.params[1])
    assert result.interval == pytest.approx(fit.conf_int()[1], abs=2e-4)


def test_identical_paired_strata_do_not_give_zero_width() -> None:
    x = np.repeat((np.arange(40) % 2).astype(float), 2)
    result = stats.clustered_difference(x, np.tile([True, False], 40), groups=np.repeat(np.arange(40), 2))
    assert result.estimate == 0
    assert result.interval[1] - result.interval[0] > 0.1


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([0, 0.5, 1]), st.booleans(), st.integers(0, 20)), min_size=2, max_size=60
    ).filter(lambda rows: len({r[1] for r in rows}) == 2),
    st.sampled_from([-1.0, -0.3, 0.0, 0.2, 1.0]),
)
def test_interval_and_test_agree(rows: list[tuple[float, bool, int]], bound: float) -> None:
    x, stratum, groups = ([r[i] for r in rows] for i in range(3))
    result = stats.clustered_difference(x, stratum, groups=groups)
    low, high = result.interval
    assert -1 <= low <= result.estimate <= high <= 1
    assert high > low
    if abs(low - bound) > 1e-7:
        assert (low > bound) == (stats.test_difference_bound(x, stratum, bound, groups=groups) < 0.025)
    if abs(high - bound) > 1e-7:
        p = stats.test_difference_bound(x, stratum, bound, groups=groups, alternative="less")
        assert (high < bound) == (p < 0.025)


@pytest.mark.parametrize(
    ("n", "rates", "straddle", "runs"),
    [(60, (0.1, 0.3), False, 200), (200, (0.37, 0.37), True, 1000), (1000, (0.5, 0.6), False, 1000)],
)
def test_coverage_is_95_percent(n: int, rates: tuple[float, float], straddle: bool, runs: int) -> None:
    rng, misses = np.random.default_rng(4), 0
    for _ in range(runs):
        groups = np.repeat(np.arange(n), rng.integers(1, 6, size=n))[:n]
        stratum = (rng.random(n) < 0.4) if straddle else (rng.random(n) < 0.4)[groups]
        common = np.where(rng.random(n) < 0.6, rng.random(n)[groups], rng.random(n))
        x = (common < np.where(stratum, *rates)).astype(float)
        low, high = stats.clustered_difference(x, stratum, groups=groups).interval
        misses += not low <= rates[0] - rates[1] <= high
    low, high = stats.clopper_pearson(runs - misses, runs, level=0.99).interval
    assert high >= 0.95
    if n == 1000:  # below, few differing units make the limits wider than they need be
        assert low <= 0.95


def test_an_empty_stratum_gives_none_and_the_reason() -> None:
    for stratum, side in (([True, True], "false"), ([False, False], "true")):
        result = stats.clustered_difference([0, 1], stratum)
        assert result.estimate is None
        assert result.reason == f"no observations where the stratum is {side}"
        with pytest.raises(ValueError, match="both strata"):
            stats.test_difference_bound([0, 1], stratum, 0.1)
    assert stats.clustered_difference([], []).estimate is None


def test_a_stratum_that_is_not_a_mask_is_refused() -> None:
    with pytest.raises(ValueError, match="true or false"):
        stats.clustered_difference([0, 1], [0.2, 1])
    with pytest.raises(ValueError, match="each value"):
        stats.clustered_difference([0, 1], [True])


def test_the_pvalue_inverts_the_interval_at_no_difference() -> None:
    rng = np.random.default_rng(5)
    for n, rates in ((30, (0.1, 0.4)), (300, (0.4, 0.5))):
        stratum = np.arange(n) % 3 == 0
        x = rng.random(n) < np.where(stratum, *rates)
        found = stats.clustered_difference(x, stratum, groups=np.arange(n) // 2)
        touching = stats.clustered_difference(x, stratum, groups=np.arange(n) // 2, level=1 - found.pvalue)
        assert min(map(abs, touching.interval)) == pytest.approx(0.0, abs=1e-8)
    assert stats.clustered_difference([0, 1, 0, 1], [1, 1, 0, 0]).pvalue == 1.0


def test_masked_missing_and_textual_strata_are_refused() -> None:
    for stratum in (np.ma.array([True, False], mask=[0, 1]), [None, True], ["a", "b"]):
        with pytest.raises(ValueError, match="the stratum"):
            stats.clustered_difference([0, 1], stratum)
