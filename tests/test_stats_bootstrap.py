"""The bootstrap of a mean: by hand, against scipy, its coverage, and what stands in for it."""

from __future__ import annotations

import tracemalloc
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recuse import stats
from recuse.stats import resample


def covers(low_and_high: tuple[float, float] | None, truth: float) -> bool:
    return low_and_high is not None and low_and_high[0] <= truth <= low_and_high[1]


def test_resampled_ratios_and_errors_by_hand() -> None:
    # Three units (sum, size): all 27 resamples written out; their shares must come out within Monte-Carlo error.
    sums, sizes = np.array([0.0, 1.0, 3.0]), np.array([1.0, 2.0, 3.0])
    exact = {}
    for drawn in product(range(3), repeat=3):
        s, n = sums[list(drawn)], sizes[list(drawn)]
        shift = s.sum() / n.sum() - 4 / 6
        error = np.sqrt(((s - n * s.sum() / n.sum()) ** 2).sum()) / n.sum()
        key = (round(float(shift), 9), round(float(error), 6))
        exact[key] = exact.get(key, 0) + 1 / 27
    shifts, errors = resample.resampled_means(sums, sizes, resamples=20_000, rng=np.random.default_rng(0))
    seen = {}
    for key in zip(np.round(shifts, 9).tolist(), np.round(errors, 6).tolist(), strict=True):
        seen[key] = seen.get(key, 0) + 1 / 20_000
    assert {(k[0] + 0.0, k[1] + 0.0) for k in seen} == {(k[0] + 0.0, k[1] + 0.0) for k in exact}
    for key, share in exact.items():
        assert seen[key] == pytest.approx(share, abs=4 * np.sqrt(share / 20_000))


def test_percentile_interval_of_a_rate_is_the_binomial_quantile() -> None:
    from scipy.stats import binom

    x = np.r_[np.ones(400), np.zeros(600)]
    found = stats.bootstrap_mean(x, method="percentile", resamples=100_000)
    assert found.method == "percentile bootstrap (100000 resamples)"
    assert found.interval == pytest.approx(binom.ppf([0.025, 0.975], 1000, 0.4) / 1000, abs=0.0011)


@pytest.mark.parametrize("method", ["percentile", "bca"])
@pytest.mark.parametrize("lattice", [False, True])
def test_single_values_agree_with_scipy(method: str, lattice: bool) -> None:
    from scipy.stats import bootstrap

    rng = np.random.default_rng(1)
    x = rng.choice([0, 1, 3.0], size=300, p=[0.6, 0.3, 0.1]) if lattice else rng.exponential(size=150)
    kind = {"percentile": "percentile", "bca": "BCa"}[method]
    theirs = bootstrap((x,), np.mean, n_resamples=40_000, method=kind, batch=1000, rng=np.random.default_rng(2))
    found = stats.bootstrap_mean(x, method=method, resamples=40_000)  # type: ignore[arg-type]
    width = found.interval[1] - found.interval[0]
    assert found.interval == pytest.approx(tuple(theirs.confidence_interval), abs=0.02 * width)
    assert found.estimate == pytest.approx(x.mean())


def test_groups_agree_with_scipy_on_the_ratio_of_sums() -> None:
    from scipy.stats import bootstrap

    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(80), rng.integers(1, 8, size=80))
    x = rng.normal(size=80)[groups] + rng.normal(size=groups.size)
    sums, sizes = np.bincount(groups, x), np.bincount(groups)
    theirs = bootstrap(
        (sums, sizes), lambda s, n, axis: s.sum(axis=axis) / n.sum(axis=axis), paired=True, n_resamples=30_000,
        method="percentile", batch=1000, rng=np.random.default_rng(4),
    )  # fmt: skip
    found = stats.bootstrap_mean(x, groups=groups, method="percentile", resamples=30_000)
    assert found.interval == pytest.approx(tuple(theirs.confidence_interval), abs=0.02)
    # The studentised one is near the t interval where nothing is skewed.
    t = stats.mean_interval(x, groups=groups).interval
    assert stats.bootstrap_mean(x, groups=groups).interval == pytest.approx(t, abs=0.03)


def test_counts_by_kind_and_counts_by_unit_are_the_same_bootstrap() -> None:
    rng = np.random.default_rng(5)
    sums, sizes = rng.choice([0.0, 0.5, 1.0], size=200), rng.choice([1.0, 2.0], size=200)
    by_kind = resample.resampled_means(sums, sizes, resamples=20_000, rng=rng)
    by_unit = resample.resampled_means(sums + rng.random(200) * 1e-7, sizes, resamples=20_000, rng=rng)
    for kind, unit in zip(by_kind, by_unit, strict=True):
        assert np.quantile(kind, [0.1, 0.5, 0.9]) == pytest.approx(np.quantile(unit, [0.1, 0.5, 0.9]), abs=1.2e-3)


def flips(n: int, down: float, up: float, runs: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).choice([-1.0, 0.0, 1.0], size=(runs, n), p=[down, 1 - down - up, up])


@pytest.mark.parametrize(("n", "down", "up"), [(60, 0.2, 0.3), (200, 0.05, 0.1), (120, 0.35, 0.35)])
def test_coverage_is_95_percent_where_fifteen_units_differ(n: int, down: float, up: float) -> None:
    runs = 1000
    hits = sum(
        covers(stats.bootstrap_mean(x, bounds=(-1, 1), resamples=1000, seed=i).interval, up - down)
        for i, x in enumerate(flips(n, down, up, runs, n))
    )
    assert stats.clopper_pearson(hits, runs, level=0.99).interval[1] >= 0.95
    assert 0.93 <= hits / runs <= 0.97


def test_coverage_is_95_percent_for_skewed_values_in_unequal_groups() -> None:
    rng, runs, hits = np.random.default_rng(7), 1000, 0
    for run in range(runs):
        groups = np.repeat(np.arange(80), rng.integers(1, 4, size=80))
        x = rng.gamma(2.0, size=80)[groups] + rng.normal(size=groups.size)
        hits += covers(stats.bootstrap_mean(x, groups=groups, resamples=1000, seed=run).interval, 2.0)
    assert stats.clopper_pearson(hits, runs, level=0.99).interval[1] >= 0.95
    assert hits / runs <= 0.97


def test_rare_flips_keep_their_coverage_where_the_percentile_loses_it() -> None:
    # 2 % flips of 40: the plain percentile bootstrap covered 0.54. The interval depends on the number of flips only.
    runs, rng = 2000, np.random.default_rng(8)
    flipped, times = np.unique(rng.binomial(40, 0.02, size=runs), return_counts=True)
    plain, ours, without_bounds, undecided = 0, 0, 0, 0
    for k, count in zip(flipped.tolist(), times.tolist(), strict=True):
        x = np.r_[np.ones(k), np.zeros(40 - k)]
        shifts, _ = resample.resampled_means(x, np.ones(40), resamples=20_000, rng=rng)
        low, high = np.quantile(x.mean() + shifts, [0.025, 0.975])
        plain += count * (low <= 0.02 <= high)
        found, loose = stats.bootstrap_mean(x, bounds=(0, 1), method="percentile"), stats.bootstrap_mean(x)
        assert "bootstrap" not in found.method
        ours += count * covers(found.interval, 0.02)
        undecided += count * (loose.interval is None)
        without_bounds += count * covers(loose.interval, 0.02)
    assert plain / runs == pytest.approx(0.55, abs=0.04)
    assert ours / runs >= 0.95
    assert without_bounds / (runs - undecided) >= 0.95
    assert undecided == times[flipped == 0].sum()


@pytest.mark.parametrize("n", [4, 10])
def test_few_unbounded_units_cover_as_students_t_does(n: int) -> None:
    runs = 1000
    draws = np.random.default_rng(n).normal(size=(runs, n))
    hits = sum(covers(stats.bootstrap_mean(x).interval, 0.0) for x in draws)
    assert stats.clopper_pearson(hits, runs, level=0.99).interval[1] >= 0.95


def test_all_equal_values_and_single_groups_have_their_stated_answer() -> None:
    forty = stats.bootstrap_mean(np.zeros(40), bounds=(0, 1))
    assert forty.interval == pytest.approx((0.0, 1 - 0.025 ** (1 / 40)), abs=1e-9)  # at most 8.8 %
    assert forty.method == "exact bound (all values equal)"
    for equal in ([0.1] * 7, [3], [1e150] * 4, [-1e-150] * 3):
        found = stats.bootstrap_mean(equal)
        assert found.interval is None
        assert found.estimate == pytest.approx(equal[0], rel=1e-12)
    assert stats.bootstrap_mean([2, 2]).reason == "all units are equal and there are no bounds"
    assert stats.bootstrap_mean([1, 2], groups=["x", "x"]).reason == "one group"
    assert stats.bootstrap_mean([0, 1], groups=["x", "x"], bounds=(0, 1)).interval == (0.0, 1.0)
    assert stats.bootstrap_mean([0, 1] * 3, groups=list("aabbcc")).interval is None  # no scatter between groups
    assert stats.bootstrap_mean([]).reason == "no observations"


def test_huge_tiny_and_shifted_values_scale_the_interval() -> None:
    x = np.random.default_rng(9).normal(size=60)
    low, high = stats.bootstrap_mean(x).interval
    for scale in (1e149, 1e-300, -1e-5):
        expected = sorted((low * scale, high * scale))
        if scale > 0:
            assert stats.bootstrap_mean(x * scale).interval == pytest.approx(expected, rel=1e-6)
        else:
            assert stats.bootstrap_mean(x * scale).interval == pytest.approx(expected, rel=0.05)
    assert stats.bootstrap_mean(x + 1e6).interval == pytest.approx((low + 1e6, high + 1e6), abs=1e-6)
    assert stats.bootstrap_mean(np.arange(40, dtype=np.int8)).estimate == 19.5


def test_row_order_changes_nothing_and_the_distribution_is_kept_on_request() -> None:
    rng = np.random.default_rng(10)
    x, groups = rng.integers(0, 9, size=300) / 8, rng.integers(0, 70, size=300)
    found = stats.bootstrap_mean(x, groups=groups, keep=True)
    order = rng.permutation(300)
    names = [f"g{g}" for g in groups[order]]
    assert stats.bootstrap_mean(x[order], groups=names).interval == pytest.approx(found.interval, abs=1e-12)
    assert found.distribution.shape == (10_000,)
    assert found.distribution.mean() == pytest.approx(x.mean(), abs=0.002)
    assert stats.bootstrap_mean(x, groups=groups).distribution is None
    assert found == stats.bootstrap_mean(x, groups=groups)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([0, 0.5, 1]), st.integers(0, 30)), min_size=1, max_size=80),
    st.sampled_from(["percentile", "bca", "studentised"]),
    st.booleans(),
)
def test_no_interval_has_zero_width_or_misses_its_estimate(rows: list, method: str, bounded: bool) -> None:
    found = stats.bootstrap_mean(
        [r[0] for r in rows], groups=[r[1] for r in rows], bounds=(0, 1) if bounded else None, method=method,
        resamples=200,
    )  # fmt: skip
    if found.interval is None:
        assert not bounded
        assert found.reason
    else:
        low, high = found.interval
        assert low < high
        assert low - 1e-9 <= found.estimate <= high + 1e-9


@pytest.mark.parametrize("lattice", [False, True])
def test_twenty_thousand_units_stay_far_under_150_megabytes(lattice: bool) -> None:
    rng = np.random.default_rng(0)
    x = rng.choice([-1, -0.5, 0, 0.5, 1], size=20_000) if lattice else rng.normal(size=20_000)
    tracemalloc.start()
    stats.bootstrap_mean(x, resamples=10_000 if lattice else 1000, keep=True)
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    assert peak < 30


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"values": [0.5, float("nan")]}, "finite"),
        ({"values": [1.7e308, -1.7e308] * 20}, "at most 1e"),
        ({"values": [0.5, 2], "bounds": (0, 1)}, "not between"),
        ({"values": [1, 2], "groups": ["a"]}, "2 values and 1 groups"),
        ({"values": [1, 2], "method": "basic"}, "method must be"),
        ({"values": [1, 2], "level": 1.0}, "level"),
        ({"values": [1, 2], "resamples": 0}, "resamples"),
    ],
)
def test_wrong_input_is_refused(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        stats.bootstrap_mean(**arguments)
