"""The sign-flip test: by hand, against scipy, McNemar and brute force, and its level."""

from __future__ import annotations

import math
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recuse import stats
from recuse.stats import lattice, signflip


def test_by_hand() -> None:
    # Gaps 1, 2, -0.5: sums of random signs are 3.5, 2.5, 1.5, 0.5 and their negatives; 2.5 or more: 2 of 8.
    result = stats.sign_flip_test([1, 2, -0.5], alternative="greater")
    assert result.method == "exact sign-flip (lattice); exact for exchangeable arms; tests symmetry"
    assert (result.statistic, result.pvalue) == pytest.approx((2.5 / 3, 2 / 8))
    assert stats.sign_flip_test([1, 2, -0.5]).pvalue == pytest.approx(4 / 8)
    assert stats.sign_flip_test([1, 2, -0.5], alternative="less").pvalue == pytest.approx(7 / 8)


@pytest.mark.parametrize(("b", "c"), [(5, 1), (1, 5), (3, 3), (40, 60), (9000, 11000)])
def test_equal_gaps_give_the_exact_mcnemar_test(b: int, c: int) -> None:
    gaps = np.r_[np.full(b, 0.25), np.full(c, -0.25), np.zeros(7)]
    result = stats.sign_flip_test(gaps)
    assert result.method.startswith("exact sign-flip (lattice)")
    assert result.pvalue == pytest.approx(stats.mcnemar_exact(b, c).pvalue, rel=1e-9)
    assert (result.n, result.nonzero) == (b + c + 7, b + c)


def test_tiny_tails_keep_their_relative_accuracy() -> None:
    # 990 of 1000 positive: the tail as a fraction of whole numbers, about 1e-278.
    tail = sum(math.comb(1000, k) for k in range(990, 1001))
    exact = float(Fraction(tail, 2**1000))
    gaps = np.r_[np.ones(990), -np.ones(10)] * 0.5
    assert stats.sign_flip_test(gaps, alternative="greater").pvalue == pytest.approx(exact, rel=1e-9)


def whole_number_tail(steps: np.ndarray, most: int) -> float:
    """P(sum of the negative gaps <= most) from the number of sign patterns that give each sum, in whole numbers."""
    counts = [1]
    for step in np.abs(steps).tolist():
        longer = [0] * (len(counts) + step)
        for place, count in enumerate(counts):
            longer[place] += count
            longer[place + step] += count
        counts = longer
    return float(Fraction(sum(counts[: most + 1]), 2 ** len(steps)))


@pytest.mark.parametrize("more", [0, 3, 6])
def test_mixed_lattice_agrees_with_whole_number_arithmetic(more: int) -> None:
    steps = np.random.default_rng(1).integers(-5, 6 + more, size=400)
    most = int(-steps[steps < 0].sum())
    exact = whole_number_tail(steps, most)
    got = stats.sign_flip_test(steps / 12, alternative="greater")
    assert got.method.startswith("exact sign-flip (lattice)")
    assert more == 0 or exact < 1e-10
    assert got.pvalue == pytest.approx(exact, rel=1e-11)
    units = lattice.Lattice.of(steps[steps != 0])
    assert units.convolved(most) == pytest.approx(exact, rel=1e-11)
    assert units.inverted(most) == pytest.approx(exact, rel=1e-11)


@pytest.mark.parametrize(
    "kind", ["twelfths", "even and one odd", "one large", "few", "all alike", "nearly all positive"]
)
def test_convolving_and_inverting_agree(kind: str) -> None:
    rng = np.random.default_rng(7)
    steps = {
        "twelfths": rng.integers(-60, 64, size=5000),
        "even and one odd": np.r_[2 * rng.integers(-20, 22, size=500), 1],
        "one large": np.r_[rng.integers(-2, 4, size=500), -5000],
        "few": rng.integers(-300, 301, size=12),
        "all alike": np.where(rng.random(20_000) < 0.48, -1, 1),
        "nearly all positive": np.r_[rng.integers(1, 9, size=300), -2, -3],
    }[kind]
    most = int(-steps[steps < 0].sum())
    units = lattice.Lattice.of(steps[steps != 0])
    for limit in (1, most // 7, most // 2, min(most, int(np.abs(steps).sum()) // 2)):
        assert units.inverted(limit) == pytest.approx(units.convolved(limit), rel=1e-11)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(-6, 6), min_size=1, max_size=11),
    st.sampled_from([1.0, 0.5, 1 / 12, 1e-8, 1e149, 1e-310]),
    st.sampled_from(["two-sided", "greater", "less"]),
)
def test_lattice_agrees_with_brute_force(steps: list[int], unit: float, alternative: str) -> None:
    patterns = 2 * ((np.arange(2 ** len(steps))[:, None] >> np.arange(len(steps))) & 1) - 1
    sums, observed = patterns @ np.abs(steps), sum(steps)
    hits = {
        "two-sided": np.abs(sums) >= abs(observed),
        "greater": sums >= observed,
        "less": sums <= observed,
    }[alternative]
    got = stats.sign_flip_test(np.array(steps) * unit, alternative=alternative)
    assert got.pvalue == pytest.approx(hits.mean(), rel=1e-10)


def test_general_gaps_agree_with_scipy_in_full_and_by_sampling() -> None:
    from scipy.stats import permutation_test

    rng = np.random.default_rng(2)
    few = rng.normal(0.3, 1, size=12)
    for alternative in ("two-sided", "greater", "less"):
        reference = permutation_test(
            (few,), np.mean, permutation_type="samples", n_resamples=np.inf, alternative=alternative, vectorized=False
        )
        got = stats.sign_flip_test(few, alternative=alternative)
        assert got.method.startswith("exact sign-flip (enumeration)")
        assert got.pvalue == pytest.approx(reference.pvalue, rel=1e-12)
    many = rng.normal(0.1, 1, size=150)
    got = stats.sign_flip_test(many, seed=4)
    assert got.method.startswith("sampled sign-flip (100000 resamples)")
    exact = 2 * _normal_tail(many)
    assert got.pvalue == pytest.approx(exact, abs=0.006)
    assert got == stats.sign_flip_test(many, seed=4)


def _normal_tail(gaps: np.ndarray) -> float:
    return 0.5 * math.erfc(abs(gaps.sum()) / math.sqrt(2 * (gaps @ gaps)))


def test_sampling_agrees_with_the_lattice_on_the_same_gaps() -> None:
    gaps = np.random.default_rng(3).choice([-1, -0.5, 0.5, 1, 1.5], size=101)
    exact = stats.sign_flip_test(gaps, alternative="greater").pvalue
    rng = np.random.default_rng(0)
    sampled = signflip._sampled_tail(gaps, rng, 50_000, both=False)
    assert sampled == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 50_000))


def test_rounding_neither_splits_ties_nor_makes_a_lattice() -> None:
    # 0.1 + 0.2 and 0.3 differ in the last bit; so do sums of thirds.
    assert stats.sign_flip_test([0.1 + 0.2, 0.3, -0.3]).pvalue == stats.sign_flip_test([1, 1, -1]).pvalue
    assert stats.sign_flip_test([1 / 3, 2 / 3, -(1 / 3 + 1e-17)]).method.startswith("exact sign-flip (lattice)")
    assert stats.sign_flip_test([0.1 + 0.2 - 0.3, 1.0]).nonzero == 1
    assert lattice.lattice_steps(np.random.default_rng(0).random(50)) is None
    assert lattice.lattice_steps(np.array([1.0, math.pi])) is None
    assert lattice.lattice_steps(np.array([0.75, -0.5, 0.25])).tolist() == [3, -2, 1]


def test_level_is_held_with_ties_and_unequal_groups() -> None:
    rng, rejected, runs = np.random.default_rng(6), 0, 2000
    for _ in range(runs):
        size = rng.integers(1, 6, size=40)
        gaps = rng.choice([-1, 1], size=40) * rng.binomial(size, 0.3)
        rejected += stats.sign_flip_test(gaps).pvalue <= 0.05
    assert stats.clopper_pearson(rejected, runs, level=0.99).interval[0] <= 0.05


def test_twenty_thousand_units_in_twelfths_take_milliseconds() -> None:
    gaps = np.random.default_rng(8).integers(-60, 62, size=20_000) / 12
    best = math.inf
    for _ in range(5):
        start = time.process_time()
        assert stats.sign_flip_test(gaps).method.startswith("exact sign-flip (lattice)")
        best = min(best, time.process_time() - start)
    assert best < 0.05  # 4 ms on a free core


def test_degenerate_input_has_its_stated_answer() -> None:
    none = stats.sign_flip_test([])
    assert (none.estimate, none.interval, none.pvalue, none.n, none.groups, none.reason) == (
        None, None, 1, 0, 0, "no gaps",
    )  # fmt: skip
    zeros = stats.sign_flip_test([0, 0, 0])
    assert (zeros.estimate, zeros.pvalue, zeros.groups, zeros.nonzero) == (0, 1, 3, 0)
    assert stats.sign_flip_test([5]).pvalue == 1
    assert stats.sign_flip_test([5], alternative="greater").pvalue == 0.5
    assert stats.sign_flip_test(np.array([2, 1], dtype=np.int8)).pvalue == 0.5
    with pytest.raises(ValueError, match="finite"):
        stats.sign_flip_test([1, float("nan")])
    with pytest.raises(ValueError, match="alternative"):
        stats.sign_flip_test([1], alternative="both")  # type: ignore[arg-type]
