"""Studentised flips and tests of a minimum effect: by hand, against other libraries, and their levels."""

from __future__ import annotations

from itertools import product
from time import process_time

import numpy as np
import pytest
from scipy import stats as scipy_stats

from recuse import stats


def test_without_sizes_the_studentised_flip_is_the_plain_one() -> None:
    # Flips leave the sum of squares alone, so t rises with the sum. Checked here by flipping t itself.
    g = np.random.default_rng(0).normal(0.4, 1, size=10)
    signs = np.array(list(product([1, -1], repeat=10)))
    t = scipy_stats.ttest_1samp(signs * g, 0.0, axis=1).statistic
    for alternative, hits in (("greater", t >= t[0] - 1e-9), ("two-sided", np.abs(t) >= abs(t[0]) - 1e-9)):
        found = stats.studentised_flip_test(g, alternative=alternative)
        assert found.pvalue == pytest.approx(hits.mean(), rel=1e-12)
        assert found.pvalue == stats.sign_flip_test(g, alternative=alternative).pvalue
    assert "exact for exchangeable arms; tests symmetry" in found.method


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
def test_unequal_sizes_agree_with_flipping_the_t_of_a_ratio(alternative: str) -> None:
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 8, size=9)
    sums = np.append(rng.normal(0.5, 1, size=8), 0.0) * sizes
    signs = np.array(list(product([1, -1], repeat=9)))
    flipped = signs * sums
    mean = flipped.sum(axis=1) / sizes.sum()
    t = mean / np.sqrt(((flipped - mean[:, None] * sizes) ** 2).sum(axis=1))
    hits = {"greater": t >= t[0] - 1e-9, "less": t <= t[0] + 1e-9, "two-sided": np.abs(t) >= abs(t[0]) - 1e-9}
    found = stats.studentised_flip_test(sums, sizes=sizes, alternative=alternative)
    assert found.pvalue == pytest.approx(hits[alternative].mean(), rel=1e-12)
    assert found.estimate == pytest.approx(sums.sum() / sizes.sum())
    assert (found.n, found.nonzero) == (9, 8)


def test_sampled_and_enumerated_flips_agree_in_level_under_symmetry() -> None:
    rng, runs, rejected = np.random.default_rng(2), 1000, 0
    for run in range(runs):
        sizes = rng.integers(1, 6, size=30)
        found = stats.studentised_flip_test(rng.normal(size=30) * sizes, sizes=sizes, resamples=499, seed=run)
        rejected += found.pvalue <= 0.05
    assert found.method.startswith("studentised sampled sign-flip (499 resamples)")
    assert stats.clopper_pearson(rejected, runs, level=0.99).interval[0] <= 0.05


def test_levels_for_a_zero_mean_with_rare_large_opposite_flips() -> None:
    # +1/4 with 15 %, -1 with 3.75 %, else 0: mean zero. In a fifth of samples of 40 no large flip shows at all, and no
    # test that knows only the sample can hold its level; the one that knows the bounds does.
    runs = 2000
    u = np.random.default_rng(3).random((runs, 40))
    gaps = np.sort(np.where(u < 0.15, 0.25, np.where(u < 0.1875, -1.0, 0.0)), axis=1)
    rejected = dict.fromkeys(("plain", "studentised flip", "bootstrap t", "bound"), 0)
    for g, times in zip(*np.unique(gaps, axis=0, return_counts=True), strict=True):
        p = {
            "plain": stats.sign_flip_test(g, alternative="greater").pvalue,
            "studentised flip": stats.studentised_flip_test(g, alternative="greater").pvalue,
            "bootstrap t": stats.minimum_effect_test(g, minimum=0.0).pvalue or 1.0,
            "bound": stats.minimum_effect_test(g, minimum=0.0, bounds=(-1, 1)).pvalue,
        }
        for name, value in p.items():
            rejected[name] += int(times) * (value <= 0.05)
    assert 0.15 <= rejected["plain"] / runs <= 0.21
    assert rejected["studentised flip"] == rejected["plain"]
    assert rejected["bootstrap t"] / runs > 0.1
    assert rejected["bound"] / runs <= 0.05


def test_minimum_of_a_rate_is_the_exact_binomial_test() -> None:
    for k, n, minimum in ((30, 40, 0.6), (8, 400, 0.01), (200, 400, 0.45)):
        x = [1] * k + [0] * (n - k)
        for alternative in ("greater", "less"):
            found = stats.minimum_effect_test(x, minimum=minimum, bounds=(0, 1), alternative=alternative)
            exact = scipy_stats.binomtest(k, n, minimum, alternative=alternative).pvalue
            assert found.pvalue == pytest.approx(exact, rel=1e-7)
            assert found.interval == pytest.approx(stats.clopper_pearson(k, n).interval, abs=1e-8)


def test_minimum_without_bounds_is_near_the_t_test_where_values_are_normal() -> None:
    rng = np.random.default_rng(4)
    for n in (8, 200):
        x = rng.normal(0.3, 1, size=n)
        exact = scipy_stats.ttest_1samp(x, 0.1, alternative="greater").pvalue
        found = stats.minimum_effect_test(x, minimum=0.1, resamples=20_000)
        # Under 15 units the Dirichlet bound may be the wider one.
        assert found.pvalue >= exact - 1e-12 if n == 8 else found.pvalue == pytest.approx(exact, abs=0.01)


@pytest.mark.parametrize("bounds", [None, (-1.0, 1.0)])
def test_interval_and_pvalue_say_the_same(bounds: tuple[float, float] | None) -> None:
    rng = np.random.default_rng(5)
    groups = rng.integers(0, 60, size=150)
    x = rng.choice([-1, 0, 1], size=150, p=[0.1, 0.5, 0.4])
    low, high = stats.minimum_effect_test(x, minimum=0.0, groups=groups, bounds=bounds).interval
    for minimum, below in ((low - 0.01, True), (low + 0.01, False)):
        p = stats.minimum_effect_test(x, minimum=minimum, groups=groups, bounds=bounds).pvalue
        assert (p < 0.025) == below
    for minimum, below in ((high + 0.01, True), (high - 0.01, False)):
        p = stats.minimum_effect_test(x, minimum=minimum, groups=groups, bounds=bounds, alternative="less").pvalue
        assert (p < 0.025) == below


def test_level_at_a_minimum_is_held_with_groups() -> None:
    rng, runs, loose, bounded = np.random.default_rng(6), 1000, 0, 0
    for run in range(runs):
        groups = np.repeat(np.arange(60), rng.integers(1, 4, size=60))
        x = rng.choice([-1, 0, 1], size=60, p=[0.2, 0.45, 0.35])[groups] * 1.0
        loose += stats.minimum_effect_test(x, minimum=0.15, groups=groups, resamples=500, seed=run).pvalue <= 0.05
        bounded += stats.minimum_effect_test(x, minimum=0.15, groups=groups, bounds=(-1, 1)).pvalue <= 0.05
    for rejected in (loose, bounded):
        assert stats.clopper_pearson(rejected, runs, level=0.99).interval[0] <= 0.05


def test_degenerate_input_has_its_stated_answer() -> None:
    assert stats.minimum_effect_test([], minimum=0.1).reason == "no observations"
    assert stats.minimum_effect_test([0.2, 0.2], minimum=0.1).pvalue is None
    assert stats.minimum_effect_test([0.2], minimum=0.1, bounds=(0, 1)).pvalue == 1.0
    # 10 of 10 at the upper bound against 0.7: 0.7**10.
    assert stats.minimum_effect_test([1] * 10, minimum=0.7, bounds=(0, 1)).pvalue == pytest.approx(0.7**10)
    assert stats.studentised_flip_test([], sizes=[]).pvalue == 1
    assert stats.studentised_flip_test([0, 0], sizes=[1, 2]).pvalue == 1
    assert stats.studentised_flip_test([1, 2, -0.5], sizes=[2, 2, 2]).pvalue == pytest.approx(4 / 8)
    # Every gap is proportional to its size: no scatter, t infinite, only all-plus and all-minus reach it.
    assert stats.studentised_flip_test([1, 2, 3], sizes=[1, 2, 3]).pvalue == 2 / 8
    with pytest.raises(ValueError, match="sizes"):
        stats.studentised_flip_test([1, 2], sizes=[1, 0])
    with pytest.raises(ValueError, match="finite"):
        stats.studentised_flip_test([1, float("inf")])
    with pytest.raises(ValueError, match="minimum"):
        stats.minimum_effect_test([1, 2], minimum=float("nan"))


def test_a_minimum_tested_at_any_time_is_the_confidence_sequence() -> None:
    x = np.random.default_rng(7).choice([-1.0, 0.0, 1.0], size=300, p=[0.1, 0.4, 0.5])
    found = stats.minimum_effect_test(x, minimum=0.1, bounds=(-1, 1), method="confidence sequence")
    sequence = stats.confidence_sequence(x, bounds=(-1, 1))
    assert (found.estimate, found.interval) == (sequence.estimate, sequence.interval)
    assert found.interval[0] > 0.1
    # Its level under peeking is simulated in test_stats_sequential.py.
    assert found.pvalue == stats.e_value(x, null_mean=0.1, bounds=(-1, 1)).pvalue <= 0.025
    low = found.interval[0]
    for minimum, below in ((low - 0.005, True), (low + 0.005, False)):
        p = stats.minimum_effect_test(x, minimum=minimum, bounds=(-1, 1), method="confidence sequence").pvalue
        assert (p <= 0.025) == below
    with pytest.raises(ValueError, match="needs the bounds"):
        stats.minimum_effect_test(x, minimum=0.1, method="confidence sequence")
    with pytest.raises(ValueError, match="method must be"):
        stats.minimum_effect_test(x, minimum=0.1, method="sequential")
    assert stats.minimum_effect_test([], minimum=0.1, bounds=(0, 1), method="confidence sequence").pvalue is None


def test_many_distinct_bounded_values_are_tested_quickly_and_the_distribution_is_kept() -> None:
    x = np.random.default_rng(9).beta(2, 3, size=20_000)
    start = process_time()
    found = stats.minimum_effect_test(x, minimum=0.39, bounds=(0, 1))
    assert process_time() - start < 2  # 0.2 s on an idle core, 4 s before units were put on a grid
    low, high = stats.clustered_mean(x).interval
    assert found.interval[0] == pytest.approx(low, abs=0.0004)
    assert found.interval[1] == pytest.approx(high, abs=0.0004)
    kept = stats.minimum_effect_test(x[:50], minimum=0.39, resamples=500, keep=True).distribution
    assert kept.shape == (500,)
    assert not kept.flags.writeable


@pytest.mark.parametrize("minimum", [1e151, -1e300, float("inf")])
def test_a_huge_minimum_is_refused_and_a_large_one_decided(minimum: float) -> None:
    with pytest.raises(ValueError, match="minimum must be"):
        stats.minimum_effect_test([0.0, 1.0], minimum=minimum)
    x = np.random.default_rng(11).normal(size=40) * 1e-200
    assert stats.minimum_effect_test(x, minimum=1e140, resamples=100).pvalue == 1.0
    assert stats.minimum_effect_test(x, minimum=-1e140, resamples=100).pvalue == pytest.approx(1 / 101)
