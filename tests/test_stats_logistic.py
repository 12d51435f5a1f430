"""Logistic regression with cluster-robust errors: by hand, against statsmodels, coverage, separation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from recuse import stats


def clustered_data(rng: np.random.Generator, n: int, beta: tuple[float, float]):
    groups = np.repeat(np.arange(n), rng.integers(1, 6, size=n))[:n]
    x = 0.7 * rng.normal(size=n) + 0.7 * rng.normal(size=n)[groups]
    draw = np.where(rng.random(n) < 0.5, rng.random(n)[groups], rng.random(n))
    return (draw < 1 / (1 + np.exp(-beta[0] - beta[1] * x))).astype(float), x, groups


def test_a_two_by_two_table_by_hand() -> None:
    # 30 of 40 where x is 1, 10 of 40 where it is 0: log odds ratio log 9, variance 4/30 + ... with the factor n/(n-k).
    y, x = [1] * 30 + [0] * 10 + [1] * 10 + [0] * 30, [1] * 40 + [0] * 40
    fit = stats.logistic(y, x)
    assert [c.estimate for c in fit.coefficients] == pytest.approx([-math.log(3), math.log(9)])
    error = math.sqrt((2 / 30 + 2 / 10) * 80 / 78)
    t = 1.9904502  # t(79) at 0.975
    assert fit.coefficients[1].interval == pytest.approx((math.log(9) - t * error, math.log(9) + t * error), abs=1e-5)


@pytest.mark.parametrize("halves", [False, True])
def test_agrees_with_statsmodels(halves: bool) -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(1)
    y, x, groups = clustered_data(rng, 400, (-0.5, 0.4))
    if halves:
        y = np.where(rng.random(400) < 0.3, 0.5, y)
    two, offset = np.column_stack((x, rng.normal(size=400) * 3000)), rng.normal(size=400) * 0.2
    model = sm.GLM(y, sm.add_constant(two), family=sm.families.Binomial(), offset=offset)
    reference = model.fit(cov_type="cluster", cov_kwds={"groups": groups}, tol=1e-12, maxiter=100)
    fit = stats.logistic(y, two, groups=groups, offset=offset)
    assert fit.groups == groups.max() + 1
    assert [c.estimate for c in fit.coefficients] == pytest.approx(reference.params, rel=1e-6)
    from scipy.stats import t

    width = t.ppf(0.975, fit.groups - 1) * reference.bse
    for coefficient, middle, half in zip(fit.coefficients, reference.params, width, strict=True):
        assert coefficient.interval == pytest.approx((middle - half, middle + half), rel=1e-5)


def test_without_intercept_only_the_columns_are_fitted() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(2)
    y, x, _ = clustered_data(rng, 300, (0.0, 0.8))
    reference = sm.GLM(y, x, family=sm.families.Binomial()).fit(cov_type="cluster", cov_kwds={"groups": np.arange(300)})
    fit = stats.logistic(y, x, intercept=False)
    assert len(fit.coefficients) == 1
    assert fit.coefficients[0].estimate == pytest.approx(reference.params[0], rel=1e-6)
    from scipy.stats import t

    expected = 2 * t.sf(abs(reference.params[0] / reference.bse[0]), 299)
    assert fit.coefficients[0].pvalue == pytest.approx(expected, rel=1e-5)


def test_coverage_is_95_percent_with_correlated_groups() -> None:
    rng, truth, runs, covered = np.random.default_rng(3), (-0.5, 0.4), 1000, np.zeros(2)
    for _ in range(runs):
        y, x, groups = clustered_data(rng, 300, truth)
        fit = stats.logistic(y, x, groups=groups)
        covered += [c.interval[0] <= b <= c.interval[1] for c, b in zip(fit.coefficients, truth, strict=True)]
    for count in covered:
        low, high = stats.clopper_pearson(int(count), runs, level=0.99).interval
        assert low <= 0.95 <= high


def test_separation_is_found_exactly_where_a_linear_programme_finds_it() -> None:
    from scipy.optimize import linprog

    rng, seen = np.random.default_rng(4), {True: 0, False: 0}
    for _ in range(150):
        n = int(rng.integers(5, 14))
        x = rng.normal(size=n) if rng.random() < 0.5 else rng.integers(0, 3, size=n).astype(float)
        y = rng.integers(0, 2, size=n).astype(float)
        if np.ptp(x) == 0:
            continue
        design = np.column_stack((np.ones(n), x)) * np.where(y == 1, 1, -1)[:, None]
        # Konis: separated when some direction has no negative margin and a positive sum of margins.
        best = linprog(-design.sum(axis=0), A_ub=-design, b_ub=np.zeros(n), bounds=[(-1, 1)] * 2)
        separated = -best.fun > 1e-9
        assert (stats.logistic(y, x).reason == "separation") == separated
        seen[separated] += 1
    assert min(seen.values()) > 15


def test_degenerate_input_has_its_stated_answer() -> None:
    def reason(*args: object, **kwargs: object) -> str | None:
        fit = stats.logistic(*args, **kwargs)
        assert all(c.estimate is None and c.reason == fit.reason for c in fit.coefficients)
        return fit.reason

    x = np.arange(10.0)
    assert reason([1] * 10, x) == "separation"
    assert reason([0, 1] * 5, np.ones(10)) == "collinear columns"
    assert reason([0, 1] * 5, np.zeros(10)) == "collinear columns"
    assert reason([0, 1] * 5, x, groups=[0, 1] * 5) == "too few groups"
    assert reason([0.5] * 10, x) == "no scatter between groups"
    assert reason([], []) == "too few groups"
    with pytest.raises(ValueError, match="not between"):
        stats.logistic([0, 2], [1, 2])
    with pytest.raises(ValueError, match="same n"):
        stats.logistic([0, 1], [1, 2, 3])
    with pytest.raises(ValueError, match="finite"):
        stats.logistic([0, 1], [1, float("inf")])


@pytest.mark.parametrize(
    ("y", "x", "message"),
    [
        ([0, None, 1], [1, 2, 3], "y must be numbers"),
        (np.ma.masked_array([0.0, 1.0, 1.0], mask=[0, 1, 0]), [1, 2, 3], "masked"),
        ([0, 1, 1], np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 1, 0]), "masked"),
        ([0, 1, 1], ["1", "2", "3"], "column 0 of x must be numbers"),
        ([0, 1, 1], [[1, 2], [3, 1e200], [5, 6]], "column 1 of x must be finite"),
        ([0, 1, 1], [1e-320, 2e-320, 0.0], "other units"),
        ([0, 1, 1], np.zeros((3, 1, 1)), "one dimension or two"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_sentence(y: object, x: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        stats.logistic(y, x)


def test_the_size_of_a_column_changes_its_coefficient_alone() -> None:
    y, x, groups = clustered_data(np.random.default_rng(5), 200, (0.2, 0.5))
    plain = stats.logistic(y, x, groups=groups).coefficients[1]
    for size in (1e-140, 1e140):
        scaled = stats.logistic(y, x * size, groups=groups).coefficients[1]
        assert scaled.estimate * size == pytest.approx(plain.estimate)
        assert scaled.pvalue == pytest.approx(plain.pvalue)
