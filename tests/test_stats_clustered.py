"""The clustered mean: by hand, against other libraries, and the coverage that it promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recuse import stats
from recuse.stats import dirichlet

Array = np.ndarray


def simulated(rng: np.random.Generator, n: int, p: float, *, halves: bool, sizes: tuple[int, ...], icc: float):
    """n values with mean p in groups of the given sizes; within a group each is the group's own draw or a fresh one."""
    groups = np.repeat(np.arange(n), rng.choice(sizes, size=n))[:n]
    columns = []
    for _ in range(2 if halves else 1):
        common, own, shared = rng.random(n)[groups], rng.random(n), rng.random(n) < np.sqrt(icc)
        columns.append(np.where(shared, common, own) < p)
    return np.mean(columns, axis=0), groups


def test_all_equal_values_by_hand() -> None:
    # 0 of 40: (1 - u)^40 = 0.025, u = 0.0881. At a half, each of the at most 8.81 % of units moves it by a half.
    u = 1 - 0.025 ** (1 / 40)
    assert stats.clustered_mean(np.zeros(40)).interval == pytest.approx((0.0, u), abs=1e-9)
    assert stats.clustered_mean(np.ones(40)).interval == pytest.approx((1 - u, 1.0), abs=1e-9)
    assert stats.clustered_mean(np.full(40, 0.5)).interval == pytest.approx((0.5 - u / 2, 0.5 + u / 2), abs=1e-9)
    assert stats.clustered_mean(np.zeros(40)).interval[1] <= 0.0882


def test_all_equal_values_in_groups_count_the_groups() -> None:
    result = stats.clustered_mean(np.zeros(100), groups=np.repeat(np.arange(40), [3] * 20 + [2] * 20))
    assert result.interval == pytest.approx(stats.clopper_pearson(0, 40).interval, abs=1e-9)
    assert (result.n, result.groups) == (100, 40)


def test_wilson_branch_by_hand() -> None:
    # 40 ones of 100 single values: variance 0.24/99; t(99) at 0.975 is 1.984217; c = t^2 / 99.
    result = stats.clustered_mean([1] * 40 + [0] * 60)
    c = 1.9842169515**2 / 99
    centre, half = (0.4 + c / 2) / (1 + c), np.sqrt(c * 0.24 + c * c / 4) / (1 + c)
    assert result.method == "clustered Wilson"
    assert result.interval == pytest.approx((centre - half, centre + half), abs=1e-9)


def test_few_single_zero_one_values_give_clopper_pearson() -> None:
    for k, n in ((1, 40), (5, 200), (14, 1000), (197, 200), (7, 15)):
        result = stats.clustered_mean([1] * k + [0] * (n - k))
        assert result.method.startswith("Dirichlet")
        assert result.interval == pytest.approx(stats.clopper_pearson(k, n).interval, abs=1e-9)


def test_bound_on_few_single_values_is_the_binomial_test_however_small() -> None:
    from scipy.stats import binomtest

    for k, n, bound in ((3, 40, 0.2), (0, 300, 0.3), (14, 5000, 0.2)):
        x = [1] * k + [0] * (n - k)
        for alternative in ("less", "greater"):
            expected = binomtest(k, n, bound, alternative=alternative).pvalue
            got = stats.test_bound(x, bound, alternative=alternative)
            assert got == pytest.approx(expected, rel=1e-8, abs=1e-300)


def test_dirichlet_tail_agrees_with_sampled_weights() -> None:
    kinds = dirichlet.Kinds(np.array([0, 1, 1.5, 2, 3]), np.array([1, 1, 2, 2, 5.0]), np.array([10, 3, 2, 2, 1.0]))
    size = kinds.counts @ kinds.sizes**2 / (kinds.counts @ kinds.sizes)
    weights = np.random.default_rng(5).gamma(np.append(kinds.counts, 1), size=(400_000, 6))
    means = (weights @ np.append(kinds.sums, size)) / (weights @ np.append(kinds.sizes, size))
    for bound in (0.3, 0.4, 0.5, 0.6, 0.7):
        share = np.mean(means > bound)
        assert dirichlet.upper_tail(kinds, bound) == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / 4e5))


def test_variance_agrees_with_statsmodels_cluster_robust_regression() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(0)
    x, groups = simulated(rng, 1500, 0.4, halves=True, sizes=(3,), icc=0.5)
    fit = sm.OLS(x, np.ones(x.size)).fit(cov_type="cluster", cov_kwds={"groups": groups})
    # Equal groups: the leave-one-group-out variance is G/(G-1) times the plain sandwich; statsmodels adds n-1 over n-1.
    p, t = x.mean(), 1.9647293909  # t(499) at 0.975
    c = t**2 * fit.bse[0] ** 2 / (p * (1 - p))
    centre, half = (p + c / 2) / (1 + c), np.sqrt(c * p * (1 - p) + c * c / 4) / (1 + c)
    assert stats.clustered_mean(x, groups=groups).interval == pytest.approx((centre - half, centre + half), abs=1e-6)


def test_doubling_every_observation_within_its_group_changes_nothing() -> None:
    rng = np.random.default_rng(1)
    x, groups = simulated(rng, 300, 0.3, halves=True, sizes=(1, 2, 3), icc=0.3)
    once, twice = stats.clustered_mean(x, groups=groups), stats.clustered_mean(np.tile(x, 2), groups=np.tile(groups, 2))
    assert twice.interval == pytest.approx(once.interval, abs=1e-12)


def test_text_groups_unsorted_rows_and_other_bounds_change_nothing_else() -> None:
    rng = np.random.default_rng(2)
    x, groups = simulated(rng, 200, 0.3, halves=True, sizes=(1, 2, 3), icc=0.3)
    plain = stats.clustered_mean(x, groups=groups)
    order = rng.permutation(200)
    shuffled = stats.clustered_mean(x[order], groups=[f"g{g}" for g in groups[order]])
    scaled = stats.clustered_mean(2 * x - 1, groups=groups, bounds=(-1, 1))
    assert shuffled.interval == pytest.approx(plain.interval, abs=1e-12)
    assert scaled.interval == pytest.approx([2 * v - 1 for v in plain.interval], abs=1e-12)


@settings(max_examples=60, deadline=None)
@example(rows=[(0, 0), (0, 0), (0, 0), (0, 1), (1, 1)], level=0.8)  # a weight that rounding left of zero
@given(
    st.lists(st.tuples(st.sampled_from([0, 0.5, 1]), st.integers(0, 25)), min_size=1, max_size=60),
    st.sampled_from([0.8, 0.95]),
)
def test_interval_and_test_agree_and_one_minus_mirrors(rows: list[tuple[float, int]], level: float) -> None:
    x, groups = np.array([r[0] for r in rows]), [r[1] for r in rows]
    result = stats.clustered_mean(x, groups=groups, level=level)
    low, high = result.interval
    assert 0 <= low <= result.estimate <= high <= 1
    assert high - low > 0
    mirrored = stats.clustered_mean(1 - x, groups=groups, level=level).interval
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-8)
    for bound in (0.0, 0.1, 0.5, 0.77, 1.0):
        if abs(bound - low) > 1e-9:
            assert (low > bound) == (stats.test_bound(x, bound, groups=groups) < (1 - level) / 2)
        if abs(bound - high) > 1e-9:
            assert (high < bound) == (stats.test_bound(x, bound, groups=groups, alternative="less") < (1 - level) / 2)


SINGLE, UNEQUAL = (1,), (1, 2, 3, 4, 5)


@pytest.mark.parametrize(
    ("n", "p", "halves", "sizes", "icc"),
    [
        (40, 0.02, False, SINGLE, 0),
        (40, 0.37, True, SINGLE, 0),
        (60, 0.1, True, SINGLE, 0),
        (60, 0.5, False, SINGLE, 0),
        (60, 0.37, False, UNEQUAL, 0.3),
        (200, 0.02, False, SINGLE, 0),
        (200, 0.1, False, UNEQUAL, 1.0),
        (1000, 0.02, False, UNEQUAL, 0.3),
        # From here on the promise is exact: neither under nor over 95 %.
        (200, 0.37, False, SINGLE, 0),
        (200, 0.5, True, SINGLE, 0),
        (200, 0.37, True, UNEQUAL, 0.3),
        (1000, 0.1, False, UNEQUAL, 0.3),
        (1000, 0.37, True, UNEQUAL, 1.0),
        (1000, 0.5, False, SINGLE, 0),
    ],
)
def test_coverage_is_95_percent(n: int, p: float, halves: bool, sizes: tuple[int, ...], icc: float) -> None:
    rng, runs, misses = np.random.default_rng(n), 1000, 0
    for _ in range(runs):
        x, groups = simulated(rng, n, p, halves=halves, sizes=sizes, icc=icc)
        known = None if sizes == SINGLE else groups
        misses += any(stats.test_bound(x, p, groups=known, alternative=a) < 0.025 for a in ("greater", "less"))
    low, high = stats.clopper_pearson(runs - misses, runs, level=0.99).interval
    assert high >= 0.95
    if n >= 200 and p >= 0.1 and not (n == 200 and icc == 1):
        assert low <= 0.95


def test_a_judge_that_is_nearly_always_consistent_keeps_its_coverage() -> None:
    # Share that prefers the first answer: a half for a consistent pair, else 0 or 1. Normal theory fails here.
    rng, n, misses = np.random.default_rng(9), 60, 0
    truth = 0.5 + 0.05 * 0.5 * 0.8
    for _ in range(1000):
        x = np.where(rng.random(n) < 0.05, np.where(rng.random(n) < 0.9, 1.0, 0.0), 0.5)
        misses += any(stats.test_bound(x, truth, alternative=a) < 0.025 for a in ("greater", "less"))
    assert misses <= 50 + 2.6 * np.sqrt(1000 * 0.05 * 0.95)


def test_degenerate_input_has_its_stated_answer() -> None:
    assert stats.clustered_mean([]).estimate is None
    assert stats.clustered_mean([]).reason == "no observations"
    one = stats.clustered_mean([0, 1, 1], groups=["a", "a", "a"])
    assert (one.interval, one.method) == ((0.0, 1.0), "range (one group)")
    assert stats.test_bound([0, 1, 1], 0.1, groups=["a", "a", "a"]) == 1
    # Every group has one of each: all unit means are a half, so the exact bound on differing units holds.
    halves = stats.clustered_mean([0, 1] * 20, groups=np.repeat(np.arange(20), 2))
    assert halves.interval == pytest.approx(stats.clustered_mean([0.5] * 20).interval, abs=1e-9)


@pytest.mark.parametrize("bad", [[0.2, float("nan")], [0.2, 1.5], [[0.1], [0.2]]])
def test_values_that_cannot_be_are_refused(bad: list[float]) -> None:
    with pytest.raises(ValueError, match=r"between|finite|one-dimensional"):
        stats.clustered_mean(bad)


def test_a_group_for_each_value_is_required() -> None:
    with pytest.raises(ValueError, match="2 values and 3 groups"):
        stats.clustered_mean([0, 1], groups=["a", "b", "c"])


def noisy(rng: np.random.Generator, n: int, rare: float, sd: float) -> Array:
    """0.05, or -0.95 for the rare share, with noise around both; the mean is 0.05 - rare."""
    return np.clip(np.where(rng.random(n) < rare, -0.95, 0.05) + rng.normal(0, sd, n), -1, 1)


@pytest.mark.parametrize("sd", [0.01, 0.1])
def test_noise_does_not_hide_rare_values(sd: float) -> None:
    # Without the guard 0.87: in one sample of 40 out of 8 no rare value shows, and the noise passes for all scatter.
    rng, runs, hits, plain = np.random.default_rng(8), 500, 0, 0
    for _ in range(runs):
        x = noisy(rng, 40, 0.05, sd)
        low, high = stats.clustered_mean(x, bounds=(-1, 1)).interval
        hits += low <= 0.0 <= high
        low, high = stats.mean_interval(x).interval
        plain += low <= 0.0 <= high
    assert hits / runs >= 0.95
    assert plain / runs < 0.9


def test_coverage_is_95_percent_where_many_units_differ_beside_noise() -> None:
    rng, runs = np.random.default_rng(9), 1000
    found = [stats.clustered_mean(noisy(rng, 300, 0.15, 0.05), bounds=(-1, 1)) for _ in range(runs)]
    assert all(r.method == "clustered Wilson" for r in found)
    hits = sum(r.interval[0] <= -0.1 <= r.interval[1] for r in found)
    assert 0.93 <= hits / runs <= 0.97


def test_narrow_values_are_widened_by_the_exact_bound_on_the_unseen_by_hand() -> None:
    x = 0.5 + 0.001 * (np.arange(40) - 19.5) / 20
    found, u = stats.clustered_mean(x), 1 - 0.025 ** (1 / 40)
    assert found.method == "clustered Wilson, widened for values unseen"
    assert found.interval == pytest.approx((0.5 - u / 2, 0.5 + u / 2), abs=1e-9)
    assert stats.test_bound(x, 0.5 + u / 2, alternative="less") == pytest.approx(0.025, rel=1e-6)
    assert stats.clustered_mean(x, null=0.5 + u / 2).pvalue == pytest.approx(0.05, rel=1e-6)


def test_the_pvalue_of_a_null_is_scipys_where_few_zero_one_values_differ() -> None:
    from scipy.stats import binomtest

    tails = [binomtest(3, 40, 0.2, alternative=a).pvalue for a in ("less", "greater")]
    assert stats.clustered_mean([1] * 3 + [0] * 37, null=0.2).pvalue == pytest.approx(2 * min(tails), rel=1e-8)
    assert stats.clustered_mean([0, 1] * 20, null=0.5).pvalue == 1.0
    assert stats.clustered_mean([0, 1]).pvalue is None


def test_many_distinct_units_on_a_grid_give_nearly_the_limits_of_all() -> None:
    rng = np.random.default_rng(10)
    sizes = rng.choice([1.0, 2.0, 5.0], size=1500)
    sums = rng.beta(0.3, 4, size=1500) * sizes
    few = dirichlet.kinds(sums, sizes)
    every = dirichlet.Kinds(sums, sizes, np.ones(1500))
    assert few.counts.size < 600
    assert few.counts @ few.sums / (few.counts @ few.sizes) == pytest.approx(sums.sum() / sizes.sum(), rel=1e-9)
    mean = sums.sum() / sizes.sum()
    near, exact = dirichlet.upper_limit(few, 0.025), dirichlet.upper_limit(every, 0.025)
    assert 0 <= near - exact <= 0.001 * (exact - mean)


def test_rounding_never_leaves_the_bounds_or_the_values() -> None:
    for value, bounds in ((0.3, (0.1, 0.8)), (0.8, (0.1, 0.8)), (2.0, (0.0, 2.0)), (1.7, (-0.1, 1.9))):
        found = stats.clustered_mean([value] * 7, bounds=bounds)
        assert found.estimate == value
        assert bounds[0] <= found.interval[0] <= value <= found.interval[1] <= bounds[1]
