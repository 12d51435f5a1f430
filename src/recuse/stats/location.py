"""Mean of unbounded values that come in groups."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from recuse.stats.inputs import Groups, encode
from recuse.stats.results import Estimate, check_level

_METHOD = "clustered t"


def mean_interval(values: ArrayLike, *, groups: Groups | None = None, level: float = 0.95) -> Estimate:
    """Mean over all values, its t interval with the group as the unit (CR1 variance, G-1 degrees of freedom), and the
    two-sided p-value of a mean of 0.

    With one value a group it is the one-sample t interval. Fewer than two groups, or no scatter between them, give an
    estimate without an interval and the reason. Raises ValueError for values that are not finite.
    """
    check_level(level)
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or not np.isfinite(x).all():
        raise ValueError("values must be one-dimensional and finite.")
    if not x.size:
        return Estimate(None, None, 0, 0, _METHOD, level, reason="no observations")
    codes = np.arange(x.size) if groups is None else encode(groups, x.size)
    total, mean = int(codes.max()) + 1, float(x.mean())
    residuals = np.bincount(codes, weights=x - mean)
    variance = float(residuals @ residuals) / x.size**2 * (total / (total - 1) if total > 1 else 0.0)
    if total < 2 or variance <= (1e-12 * max(1.0, abs(mean))) ** 2:
        reason = "one group" if total < 2 else "no scatter between groups"
        return Estimate(mean, None, x.size, total, _METHOD, level, reason=reason)
    error = math.sqrt(variance)
    reach = float(stdtrit(total - 1, (1 + level) / 2)) * error
    pvalue = 2 * float(stdtr(total - 1, -abs(mean) / error))
    return Estimate(mean, (mean - reach, mean + reach), x.size, total, _METHOD, level, pvalue)
