"""How often comparisons of slices cry wolf: the four-fifths alarm and the worst-slice gate, exactly.

Both look at the lowest and the highest count among equally large slices only. With F the distribution of a count, all
of them lie from a to b with probability prod(F(b) - F(a - 1)); its step in b is the chance that the highest is b and
none is under a. Beside each highest count, the lowest counts that ring are those under a threshold, so a sum over the
highest is enough: no simulation, and no table of pairs of counts. No library has these figures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, ndtri

from recuse.stats.inputs import finite, whole
from recuse.stats.results import check_level

Array = NDArray[np.float64]

_NEGLIGIBLE = 1e-17
_MOST = 10**9  # cases a slice: some 300,000 counts matter then, and it takes seconds


@dataclass(frozen=True, slots=True)
class AlarmRate:
    """How probable an alarm is, exactly, for `slices` slices of `n` cases each."""

    estimate: float
    n: int
    slices: int
    rate: float  # the true one of every slice
    true_ratio: float | None  # one slice has this times the rate; None: no gap, so that every alarm is false
    ratio: float  # of the lowest rate to the highest, under which it rings
    method: str
    level: float | None = None  # of the z-test that must reject too; None: no test


@dataclass(frozen=True, slots=True)
class AlarmTable:
    """The probability of an alarm by cases a slice (rows) and number of slices (columns)."""

    sizes: tuple[int, ...]
    slices: tuple[int, ...]
    rows: tuple[tuple[AlarmRate, ...], ...]

    @property
    def estimates(self) -> tuple[tuple[float, ...], ...]:
        return tuple(tuple(cell.estimate for cell in row) for row in self.rows)


def four_fifths_false_alarms(
    n: int, *, slices: int, rate: float, true_ratio: float | None = None, ratio: float = 0.8
) -> AlarmRate:
    """Probability that the lowest of `slices` rates, each over `n` cases, is under `ratio` times the highest.

    All slices have the true rate `rate`, so that every alarm is false; with `true_ratio` one of them has `true_ratio *
    rate` instead, and one minus the result is how often that gap is missed. Two slices of 30 at 0.4: 0.47. If every
    count is 0 there is no alarm. Raises ValueError for fewer than two slices, an n that is not whole or outside 1 to
    10^9, and rates or ratios out of range.
    """
    return _chance(n, slices, rate, true_ratio, ratio, None)


def worst_slice_blocking(
    n: int, *, slices: int, rate: float, true_ratio: float | None = None, ratio: float = 0.8, level: float = 0.95
) -> AlarmRate:
    """Probability that a gate blocks on its worst slice: the alarm of `four_fifths_false_alarms`, and a pooled
    two-proportion z-test of the two slices with p < 1 - level (two-sided, not corrected for the choice of the slices).

    Eight slices of 300 with no real gap: 0.114 at rate 0.5, 0.505 at rate 0.3; a real 0.7 gap at rate 0.5 is caught
    with probability 0.996. Raises ValueError as `four_fifths_false_alarms` does.
    """
    check_level(level)
    return _chance(n, slices, rate, true_ratio, ratio, level)


def alarm_table(
    sizes: Sequence[int],
    *,
    slices: Sequence[int],
    rate: float,
    true_ratio: float | None = None,
    ratio: float = 0.8,
    level: float | None = None,
) -> AlarmTable:
    """`four_fifths_false_alarms` for each number of cases a slice and each number of slices, in one call.

    With `level`, `worst_slice_blocking` at that level. Raises ValueError as these do, and for empty sizes or slices.
    """
    if not all(hasattr(axis, "__len__") and len(axis) for axis in (sizes, slices)):
        raise ValueError("a table of alarms needs at least one number of cases and one number of slices.")
    if level is not None:
        check_level(level)
    rows = tuple(tuple(_chance(n, many, rate, true_ratio, ratio, level) for many in slices) for n in sizes)
    return AlarmTable(tuple(cell[0].n for cell in rows), tuple(cell.slices for cell in rows[0]), rows)


def _chance(n: int, slices: int, rate: float, true_ratio: float | None, ratio: float, level: float | None) -> AlarmRate:
    n, slices = whole(n, "the cases of a slice", least=1), whole(slices, "the number of slices", least=2)
    if n > _MOST:
        raise ValueError(f"a slice may have at most a thousand million cases, got {n}.")
    rate, ratio = finite(rate, "the rate"), finite(ratio, "the ratio")
    other = rate if true_ratio is None else rate * finite(true_ratio, "the true ratio")
    if not (0 <= rate <= 1 and 0 <= other <= 1 and 0 < ratio <= 1):
        raise ValueError(f"rates and the ratio must lie between 0 and 1, got {rate}, {other} and {ratio}.")

    def rings(low: Array, high: Array) -> NDArray[np.bool_]:
        alarm: NDArray[np.bool_] = low < ratio * high - 1e-9  # a ratio of exactly four fifths is none, but for rounding
        if level is not None:
            pooled = (low + high) / (2 * n)
            error = np.sqrt(2 * n * pooled * (1 - pooled))
            alarm = alarm & (high - low > float(ndtri((1 + level) / 2)) * error)
        return alarm

    def between(low: Array, high: Array) -> Array:
        """Probability that all counts lie from `low` to `high`."""
        chance = np.ones(high.size)
        for p, many in ((rate, slices - 1), (other, 1)):
            chance *= np.maximum(_up_to(high, n, p) - _up_to(low - 1, n, p), 0.0) ** many
        return chance

    # Counts outside both binomials' reach have no probability and are not gone through.
    high = np.union1d(_reach(n, rate), _reach(n, other))
    quiet = _threshold(rings, high)
    highest_is = between(np.zeros_like(high), high) - between(np.zeros_like(high), high - 1)
    without_alarm = between(quiet, high) - between(quiet, high - 1)
    estimate = min(1.0, max(0.0, float((highest_is - without_alarm).sum())))
    method = f"exact, {'four-fifths alarm' if level is None else 'four-fifths alarm and pooled z-test'}"
    return AlarmRate(estimate, n, slices, rate, true_ratio, ratio, method, level)


def _threshold(rings: Callable[[Array, Array], NDArray[np.bool_]], high: Array) -> Array:
    """The smallest count that does not ring beside each highest one: smaller ones ring, larger ones do not.

    That holds for z too: its square grows as the lower of two counts falls.
    """
    low, top = np.zeros_like(high), high.copy()
    while (low < top).any():
        middle = np.floor((low + top) / 2)
        loud = rings(middle, high)
        low, top = np.where(loud & (low < top), middle + 1, low), np.where(loud, top, middle)
    return low


def _up_to(counts: Array, n: int, p: float) -> Array:
    # scipy's bdtr is the same, but wrong in the first digit at 10^8 cases.
    inside = (counts >= 0) & (counts < n)
    k = np.where(inside, counts, 0.0)
    return np.where(inside, betainc(n - k, k + 1, 1 - p), counts >= n)


def _reach(n: int, p: float) -> Array:
    """The counts outside which a binomial has less than 1e-17 on either side (Hoeffding's bound)."""
    reach = math.sqrt(n * math.log(1 / _NEGLIGIBLE) / 2) + 1
    return np.arange(max(0, math.floor(n * p - reach)), min(n, math.ceil(n * p + reach)) + 1, dtype=np.float64)
