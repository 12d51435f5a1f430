"""The mean of unbounded values: by hand, against scipy and statsmodels, and its coverage."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats as scipy_stats

from recuse.stats import mean_interval


def test_three_groups_by_hand() -> None:
    # mean 2; residual sums -2, 0, 2 over 6 values: variance 8 / 36 * 3 / 2 = 1 / 3; t(2, 0.975) = 4.302653
    found = mean_interval([1.0, 1.0, 2.0, 2.0, 3.0, 3.0], groups=[0, 0, 1, 1, 2, 2])
    assert found.estimate == 2.0
    assert found.interval == pytest.approx((2 - 4.302652729911 * 3**-0.5, 2 + 4.302652729911 * 3**-0.5))


def test_single_values_give_the_one_sample_t_test() -> None:
    x = np.random.default_rng(1).normal(0.3, 1.0, 25)
    found, theirs = mean_interval(x), scipy_stats.ttest_1samp(x, 0.0)
    assert found.interval == pytest.approx(tuple(theirs.confidence_interval()))
    assert found.pvalue == pytest.approx(theirs.pvalue)


def test_groups_agree_with_cluster_robust_regression_on_a_constant() -> None:
    rng = np.random.default_rng(2)
    groups = rng.integers(0, 12, 80)
    x = rng.normal(size=80) + rng.normal(size=12)[groups]
    theirs = sm.OLS(x, np.ones(80)).fit(
        cov_type="cluster", cov_kwds={"groups": groups, "use_correction": True, "df_correction": True}, use_t=True
    )
    assert mean_interval(x, groups=groups).interval == pytest.approx(tuple(theirs.conf_int()[0]), rel=1e-6)


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(30), 3)
    hits = 0
    for _ in range(1000):
        x = rng.normal(size=90) + rng.normal(size=30)[groups]
        low, high = mean_interval(x, groups=groups).interval or (0.0, 0.0)
        hits += low <= 0.0 <= high
    assert 0.932 <= hits / 1000 <= 0.968  # 99 % Monte-Carlo interval around 0.95


@pytest.mark.parametrize(
    ("values", "reason"), [([], "no observations"), ([1.0], "one group"), ([2.0, 2.0], "no scatter")]
)
def test_what_has_no_interval_says_why(values: list[float], reason: str) -> None:
    found = mean_interval(values)
    assert found.interval is None
    assert reason in (found.reason or "")


def test_tiny_huge_and_equal_values_are_told_apart_by_their_own_size() -> None:
    x = np.random.default_rng(4).normal(1.0, 1.0, 30)
    low, high = mean_interval(x).interval
    for scale in (1e-13, 1e-300, 1e149):
        found = mean_interval(x * scale)
        assert found.interval == pytest.approx((low * scale, high * scale), rel=1e-9)
        assert found.pvalue == pytest.approx(mean_interval(x).pvalue, rel=1e-9)
    for equal in (0.1, 1e-200, 1e150, 0.0):
        assert mean_interval([equal] * 7).estimate == equal
        assert mean_interval([equal] * 7).reason == "no scatter between groups"
    with pytest.raises(ValueError, match="masked"):
        mean_interval(np.ma.array([1.0, 2.0], mask=[0, 1]))
