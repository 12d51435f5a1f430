"""How often comparisons of slices cry wolf: the four-fifths alarm and the worst-slice gate, exactly.

Both look at the lowest and the highest count among equally large slices only. With F the distribution of a count, all
of them lie from a to b with probability prod(F(b) - F(a - 1)), and differences of that give the joint distribution of
lowest and highest: no simulation is needed, for any number of slices.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, ndtri

from recuse.stats.results import check_level

Array = NDArray[np.float64]

_NEGLIGIBLE = 1e-17


def four_fifths_false_alarms(
    n: int, slices: int, rate: float, *, true_ratio: float | None = None, ratio: float = 0.8
) -> float:
    """Probability that the lowest of `slices` rates, each over `n` cases, is under `ratio` times the highest.

    All slices have the true rate `rate`, so that every alarm is false; with `true_ratio` one of them has `true_ratio *
    rate` instead, and one minus the result is how often that gap is missed. Two slices of 30 at 0.4: 0.47. If every
    count is 0 there is no alarm. Raises ValueError for fewer than two slices, n < 1, or a rate or ratio out of range.
    """
    low, high, probability = _extremes(n, slices, rate, true_ratio, ratio)
    return _share(probability, _under(low, high, ratio))


def worst_slice_blocking(
    n: int, slices: int, rate: float, *, true_ratio: float | None = None, ratio: float = 0.8, level: float = 0.95
) -> float:
    """Probability that a gate blocks on its worst slice: the alarm of `four_fifths_false_alarms`, and a pooled
    two-proportion z-test of the two slices with p < 1 - level (two-sided, not corrected for the choice of the slices).

    Eight slices of 300 with no real gap: 0.114 at rate 0.5, 0.505 at rate 0.3; a real 0.7 gap at rate 0.5 is caught
    with probability 0.996. Raises ValueError as `four_fifths_false_alarms` does.
    """
    check_level(level)
    low, high, probability = _extremes(n, slices, rate, true_ratio, ratio)
    pooled = (low + high) / (2 * n)
    error = np.sqrt(2 * n * pooled * (1 - pooled))
    significant = high - low > float(ndtri((1 + level) / 2)) * error
    return _share(probability, _under(low, high, ratio) & significant)


def _under(low: Array, high: Array, ratio: float) -> NDArray[np.bool_]:
    return low < ratio * high - 1e-9  # a ratio of exactly four fifths is none, whatever rounding says


def _share(probability: Array, where: NDArray[np.bool_]) -> float:
    return min(1.0, max(0.0, float(probability[where].sum())))


def _extremes(n: int, slices: int, rate: float, true_ratio: float | None, ratio: float) -> tuple[Array, Array, Array]:
    """Lowest counts (a column), highest counts (a row), and the probability of each combination."""
    other = rate if true_ratio is None else rate * true_ratio
    if n < 1 or n != int(n) or slices < 2 or slices != int(slices):
        raise ValueError(f"two or more slices of one or more cases are needed, got {slices} slices of {n}.")
    if not (0 <= rate <= 1 and 0 <= other <= 1 and 0 < ratio <= 1):
        raise ValueError(f"rates and the ratio must lie between 0 and 1, got {rate}, {other} and {ratio}.")
    lines = [_spread(n, p) for p in (rate, other)]
    counts = np.arange(min(line[0] for line in lines), max(line[1] for line in lines) + 1, dtype=np.float64)
    up_to_rate, up_to_other = (np.r_[0.0, bdtr(counts, n, p)] for p in (rate, other))
    within = np.ones((counts.size + 1, counts.size + 1))  # [a, b]: all counts from the a-th to before the b-th
    for up_to, power in ((up_to_rate, slices - 1), (up_to_other, 1)):
        within *= np.maximum(up_to[None, :] - up_to[:, None], 0.0) ** power
    probability = within[:-1, 1:] - within[1:, 1:] - within[:-1, :-1] + within[1:, :-1]
    return counts[:, None], counts[None, :], np.triu(probability)


def _spread(n: int, p: float) -> tuple[int, int]:
    """The counts outside which a binomial has less than 1e-17 on either side (Hoeffding's bound)."""
    reach = math.sqrt(n * math.log(1 / _NEGLIGIBLE) / 2) + 1
    return max(0, math.floor(n * p - reach)), min(n, math.ceil(n * p + reach))
