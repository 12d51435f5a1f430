"""Mean of unbounded values that come in groups."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from recuse.stats.clustered import ROUNDING, mean_of, squared
from recuse.stats.inputs import Array, Groups, encode, numbers
from recuse.stats.results import Estimate, check_level

_METHOD = "clustered t"


def mean_interval(values: ArrayLike, *, groups: Groups | None = None, level: float = 0.95) -> Estimate:
    """Mean over all values, its t interval with the group as the unit, and the two-sided p-value of a mean of 0.

    `values` has shape (n,), `groups` one label for each. The variance is that of the sums of residuals by group, times
    G / (G - 1) (CR1 without regressors: Liang & Zeger 1986; Cameron & Miller 2015), with G - 1 degrees of freedom. With
    one value a group it is the one-sample t interval. It trusts the scatter that it sees: with normal values it covers
    0.95, with lognormal ones (sigma 1.5, n = 40) 0.80, and rare large values that have not shown are outside of it;
    give `bootstrap_mean` or `minimum_effect_test` the bounds where there are any.

    Fewer than two groups, or no scatter between them (to twelve digits of the largest value), give an estimate without
    an interval and the reason. Raises ValueError for values that are not finite, and for lengths that differ.
    """
    check_level(level)
    x = numbers(values)
    if not x.size:
        return Estimate(None, None, 0, 0, _METHOD, level, reason="no observations")
    codes = np.arange(x.size) if groups is None else encode(groups, x.size)
    total, mean = int(codes.max()) + 1, mean_of(x)
    if total < 2:
        return Estimate(mean, None, x.size, total, _METHOD, level, reason="one group")
    top = float(np.abs(x).max()) or 1.0  # so that the squares of neither huge nor tiny values leave the range of floats
    residuals: Array = np.bincount(codes, weights=(x - mean) / top).astype(np.float64)
    if (np.abs(residuals) <= ROUNDING * np.bincount(codes)).all():
        return Estimate(mean, None, x.size, total, _METHOD, level, reason="no scatter between groups")
    error = math.sqrt(squared(residuals) * total / (total - 1)) / x.size
    reach = float(stdtrit(total - 1, (1 + level) / 2)) * error * top
    pvalue = 2 * float(stdtr(total - 1, -abs(mean / top) / error))
    return Estimate(mean, (mean - reach, mean + reach), x.size, total, _METHOD, level, pvalue)
