"""The predictive p among shams: Student's prediction, numerical integration, and its level."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recuse import stats


def student(effect: float, shams: np.ndarray) -> float:
    from scipy.stats import t

    k = shams.size
    return float(t.sf((effect - shams.mean()) / (shams.std(ddof=1) * math.sqrt(1 + 1 / k)), k - 1))


def test_with_negligible_errors_it_is_students_prediction() -> None:
    rng = np.random.default_rng(0)
    for k in (2, 5, 10, 20):
        shams = rng.normal(0.02, 0.03, size=k)
        for effect in (-0.05, 0.05, 0.1, 3.0):
            result = stats.predictive_pvalue(effect, 1e-7, shams, np.full(k, 1e-7))
            assert result.pvalue == pytest.approx(student(effect, shams), rel=1e-3)
            assert result.sham_mean == pytest.approx(shams.mean())


def test_unequal_errors_agree_with_numerical_integration() -> None:
    from scipy.integrate import quad
    from scipy.stats import norm

    y, s = np.array([0.01, -0.03, 0.06, 0.0, 0.02]), np.array([0.02, 0.03, 0.05, 0.02, 0.01])

    def density(tau: float) -> float:
        v = s**2 + tau**2
        mean, total = (y / v).sum() / (1 / v).sum(), (1 / v).sum()
        return float(
            np.prod(norm.pdf(y, mean, np.sqrt(v)) * 0.1) / math.sqrt(total) * tau * math.sqrt((1 / v**2).sum())
        )

    def above(tau: float) -> float:
        v = s**2 + tau**2
        mean, total = (y / v).sum() / (1 / v).sum(), (1 / v).sum()
        return density(tau) * float(norm.sf(0.08, mean, math.sqrt(tau**2 + 0.02**2 + 1 / total)))

    cuts = [0, 0.005, 0.02, 0.05, 0.2, 1, 10]
    whole, tail = (sum(quad(f, a, b, epsabs=1e-14)[0] for a, b in itertools.pairwise(cuts)) for f in (density, above))
    assert stats.predictive_pvalue(0.08, 0.02, y, s).pvalue == pytest.approx(tail / whole, rel=1e-4)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-3, 3), min_size=2, max_size=20).filter(lambda y: max(y) - min(y) > 0.01), st.floats(0.05, 5))
def test_with_equal_errors_it_is_never_below_students_prediction(shams: list[float], above: float) -> None:
    # Student's prediction is exact for every tau there, so a p-value at or above it holds its level.
    y = np.array(shams)
    effect = float(y.mean()) + above
    assert stats.predictive_pvalue(effect, 1.0, y, np.ones(y.size)).pvalue >= student(effect, y) * (1 - 1e-4)


@pytest.mark.parametrize(("k", "tau", "new"), [(5, 1.0, 0.5), (5, 3.0, 1.0), (10, 3.0, 2.0), (20, 1.0, 0.5)])
def test_level_is_held_with_unequal_errors(k: int, tau: float, new: float) -> None:
    rng, runs = np.random.default_rng(k), 1000
    hits = 0
    for _ in range(runs):
        s = np.exp(rng.uniform(np.log(0.5), np.log(2), size=k))
        shams, effect = 0.3 + rng.normal(0, np.hypot(tau, s)), 0.3 + rng.normal(0, np.hypot(tau, new))
        hits += stats.predictive_pvalue(effect, new, shams, s).pvalue <= 0.05
    assert stats.clopper_pearson(hits, runs, level=0.99).interval[0] <= 0.05
    assert hits > 0


def test_an_effect_far_beyond_the_shams_is_found_and_one_among_them_is_not() -> None:
    shams = np.random.default_rng(1).normal(0.1, 0.03, size=10)
    assert stats.predictive_pvalue(0.4, 0.03, shams, np.full(10, 0.03)).pvalue < 0.001
    # Against zero 0.1 +- 0.03 would be significant; among these shams it is what any instruction does.
    assert stats.predictive_pvalue(0.1, 0.03, shams, np.full(10, 0.03)).pvalue > 0.3


def test_sides_shift_and_scale() -> None:
    y, s = np.array([0.1, 0.3, -0.2, 0.0]), np.array([0.1, 0.2, 0.1, 0.3])
    greater = stats.predictive_pvalue(0.6, 0.1, y, s)
    assert stats.predictive_pvalue(-0.6, 0.1, -y, s, alternative="less").pvalue == pytest.approx(greater.pvalue)
    assert stats.predictive_pvalue(0.6, 0.1, y, s, alternative="two-sided").pvalue == pytest.approx(2 * greater.pvalue)
    assert stats.predictive_pvalue(0.6, 0.1, y, s, alternative="less").pvalue == pytest.approx(1 - greater.pvalue)
    for unit, shift in ((1e-150, 0.0), (1e150, 0.0), (1.0, -5.0)):
        moved = stats.predictive_pvalue(0.6 * unit + shift, 0.1 * unit, y * unit + shift, s * unit)
        assert moved.pvalue == pytest.approx(greater.pvalue, rel=1e-9)
        assert moved.between == pytest.approx(greater.between * unit, rel=1e-9)


def test_the_interval_is_students_and_agrees_with_the_p_value() -> None:
    from scipy.stats import t

    rng = np.random.default_rng(2)
    shams = rng.normal(0.02, 0.03, size=8)
    found = stats.predictive_pvalue(0.1, 1e-7, shams, np.full(8, 1e-7), level=0.9)
    reach = t.ppf(0.95, 7) * shams.std(ddof=1) * math.sqrt(1 + 1 / 8)
    excess = 0.1 - shams.mean()
    assert (found.n, found.groups, found.level) == (8, 8, 0.9)
    assert (found.estimate, *found.interval) == pytest.approx((excess, excess - reach, excess + reach), rel=1e-3)
    # An effect at either end of it has a one-sided p of 0.05.
    s = np.exp(rng.normal(size=8)) / 30
    found = stats.predictive_pvalue(0.3, 0.02, shams, s, level=0.9)
    low, high = (0.3 - end for end in found.interval)
    assert stats.predictive_pvalue(low, 0.02, shams, s).pvalue == pytest.approx(0.05, rel=1e-6)
    assert stats.predictive_pvalue(high, 0.02, shams, s, alternative="less").pvalue == pytest.approx(0.05, rel=1e-6)


def test_degenerate_input_has_its_stated_answer() -> None:
    for shams in ([], [0.1]):
        result = stats.predictive_pvalue(0.2, 0.1, shams, [0.1] * len(shams))
        assert (result.pvalue, result.reason) == (None, "fewer than two shams")
    equal = stats.predictive_pvalue(0.0, 0.1, [0.0] * 5, [0.1] * 5)
    assert equal.pvalue == pytest.approx(0.5)
    assert 0 < stats.predictive_pvalue(0.5, 0.1, [0, 0, 0], [1e-30, 0.1, 0.1]).pvalue < 1
    for bad in (0.0, -1.0):
        with pytest.raises(ValueError, match="positive"):
            stats.predictive_pvalue(0.1, bad, [0, 0.1], [0.1, 0.1])
        with pytest.raises(ValueError, match="positive"):
            stats.predictive_pvalue(0.1, 0.1, [0, 0.1], [0.1, bad])
    for bad in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="finite"):
            stats.predictive_pvalue(0.1, bad, [0, 0.1], [0.1, 0.1])
        with pytest.raises(ValueError, match="finite"):
            stats.predictive_pvalue(0.1, 0.1, [0, 0.1], [0.1, bad])
    # Numbers far apart: the shams scatter by nothing beside one, by everything beside the other.
    assert stats.predictive_pvalue(1e150, 1e-150, [0, 1e-150], [1e-150, 1e-150]).pvalue < 1e-9
    assert stats.predictive_pvalue(1.0, 1e150, [0, 1e-150], [1e-150, 1e-150]).pvalue == pytest.approx(0.5)
    with pytest.raises(ValueError, match="finite"):
        stats.predictive_pvalue(float("nan"), 0.1, [0, 0.1], [0.1, 0.1])
    with pytest.raises(ValueError, match="one standard error for each"):
        stats.predictive_pvalue(0.1, 0.1, [0, 0.1], [0.1])
