"""False alarms among slices: the known figures, enumeration, simulation."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from recuse import stats


def test_the_known_figures() -> None:
    assert stats.four_fifths_false_alarms(30, slices=2, rate=0.4).estimate == pytest.approx(0.47, abs=0.005)
    assert 1 - stats.four_fifths_false_alarms(30, slices=2, rate=0.4, true_ratio=0.7).estimate == pytest.approx(
        0.3, abs=0.02
    )
    # Published from simulation: 0.115, 0.505, 0.996.
    assert stats.worst_slice_blocking(300, slices=8, rate=0.5).estimate == pytest.approx(0.115, abs=0.002)
    assert stats.worst_slice_blocking(300, slices=8, rate=0.3).estimate == pytest.approx(0.505, abs=0.002)
    assert stats.worst_slice_blocking(300, slices=8, rate=0.5, true_ratio=0.7).estimate == pytest.approx(
        0.996, abs=0.002
    )


@pytest.mark.parametrize(("n", "rate", "true_ratio"), [(30, 0.4, None), (30, 0.4, 0.7), (7, 0.9, 0.5), (12, 0.1, 1.5)])
def test_two_slices_agree_with_enumeration(n: int, rate: float, true_ratio: float | None) -> None:
    from scipy.stats import binom
    from statsmodels.stats.proportion import proportions_ztest

    first, second = binom.pmf(np.arange(n + 1), n, rate), binom.pmf(np.arange(n + 1), n, rate * (true_ratio or 1))
    alarms = blocks = 0.0
    for a in range(n + 1):
        for b in range(n + 1):
            if 5 * min(a, b) < 4 * max(a, b):
                alarms += first[a] * second[b]
                if proportions_ztest([a, b], [n, n])[1] < 0.05:
                    blocks += first[a] * second[b]
    assert stats.four_fifths_false_alarms(n, slices=2, rate=rate, true_ratio=true_ratio).estimate == pytest.approx(
        alarms, abs=1e-12
    )
    assert stats.worst_slice_blocking(n, slices=2, rate=rate, true_ratio=true_ratio).estimate == pytest.approx(
        blocks, abs=1e-12
    )


@pytest.mark.parametrize(("n", "slices", "rate", "true_ratio"), [(40, 5, 0.4, None), (100, 8, 0.6, 0.8)])
def test_more_slices_agree_with_simulation(n: int, slices: int, rate: float, true_ratio: float | None) -> None:
    rates = np.full(slices, rate)
    rates[0] *= true_ratio or 1
    counts = np.random.default_rng(0).binomial(n, rates, size=(100_000, slices))
    low, high = counts.min(axis=1), counts.max(axis=1)
    pooled = (low + high) / (2 * n)
    z = (high - low) / n / np.sqrt(pooled * (1 - pooled) * 2 / n)
    alarm = 5 * low < 4 * high
    for got, simulated in (
        (stats.four_fifths_false_alarms(n, slices=slices, rate=rate, true_ratio=true_ratio).estimate, alarm),
        (
            stats.worst_slice_blocking(n, slices=slices, rate=rate, true_ratio=true_ratio).estimate,
            alarm & (z > 1.959964),
        ),
    ):
        share = simulated.mean()
        assert got == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / 1e5))


def test_degenerate_input_has_its_stated_answer() -> None:
    for chance in (stats.four_fifths_false_alarms, stats.worst_slice_blocking):
        assert chance(30, slices=4, rate=0.0).estimate == 0
        assert chance(30, slices=4, rate=1.0).estimate == 0
    assert stats.four_fifths_false_alarms(1, slices=2, rate=0.5).estimate == pytest.approx(
        0.5
    )  # 0 against 1, either way
    assert stats.four_fifths_false_alarms(5, slices=2, rate=1.0, true_ratio=0.0).estimate == pytest.approx(1.0)
    assert stats.worst_slice_blocking(20_000, slices=8, rate=0.5).estimate == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("n", "slices", "rate", "true_ratio", "match"),
    [
        (0, 2, 0.5, None, "at least 1"),
        (30.5, 2, 0.5, None, "whole number"),
        (float("inf"), 2, 0.5, None, "finite"),
        (5, 1, 0.5, None, "at least 2"),
        (5, 2.5, 0.5, None, "whole number"),
        (5, 2, 0.9, 1.2, "between 0 and 1"),
        (5, 2, float("nan"), None, "finite"),
        (5, 2, "half", None, "finite number"),
        (10**10, 2, 0.5, None, "thousand million"),
    ],
)
def test_what_cannot_be_is_refused(n: float, slices: float, rate: float, true_ratio: float | None, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        stats.worst_slice_blocking(n, slices=slices, rate=rate, true_ratio=true_ratio)  # type: ignore[arg-type]


def test_a_table_holds_the_single_figures() -> None:
    table = stats.alarm_table([30, np.int64(100)], slices=(2, 8), rate=0.4)
    assert (table.sizes, table.slices) == ((30, 100), (2, 8))
    for row, n in zip(table.rows, (30, 100), strict=True):
        for cell, slices in zip(row, (2, 8), strict=True):
            assert cell == stats.four_fifths_false_alarms(n, slices=slices, rate=0.4)
    assert table.estimates[0][0] == pytest.approx(0.47, abs=0.005)
    gate = stats.alarm_table([300], slices=[8], rate=0.5, true_ratio=0.7, level=0.95)
    assert gate.estimates[0][0] == pytest.approx(0.996, abs=0.002)
    assert (gate.rows[0][0].level, gate.rows[0][0].true_ratio) == (0.95, 0.7)
    with pytest.raises(ValueError, match="at least one"):
        stats.alarm_table([], slices=[2], rate=0.4)


def test_a_million_cases_agree_with_the_normal_limit_in_little_memory() -> None:
    # Two slices at 0.5 and 0.4: the lower rings with probability P(low - 0.8 high < 0), nearly normal at this size.
    from scipy.stats import norm

    n, rate, other = 1_000_000, 0.5, 0.4005
    mean = other - 0.8 * rate
    sd = np.sqrt((other * (1 - other) + 0.64 * rate * (1 - rate)) / n)
    tracemalloc.start()
    got = stats.four_fifths_false_alarms(n, slices=2, rate=rate, true_ratio=other / rate).estimate
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert got == pytest.approx(norm.cdf(-mean / sd), abs=2e-3)
    assert peak < 10e6
