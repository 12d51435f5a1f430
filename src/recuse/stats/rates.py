"""Rates of two groups against each other: ratio and difference, also where observations come in clusters."""

from __future__ import annotations

import math
from dataclasses import replace

from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from recuse.stats.difference import _checked, _Sides, _split, clustered_difference
from recuse.stats.inputs import HUGE, Groups
from recuse.stats.proportions import counted, pooled_z
from recuse.stats.results import Estimate, check_level
from recuse.stats.root import decreasing_root

_EMPTY = "no observations in one of the groups"
_NO_RATIO = "the reference rate is 0: there is no ratio"
_FAR = 60.0  # the log of a ratio that no counts reach


def impact_ratio(k: float, n: int, k_ref: float, n_ref: int, *, level: float = 0.95) -> Estimate:
    """The rate k/n over the reference rate k_ref/n_ref, with the score interval and the p-value of equal rates.

    The interval inverts the score test of a given ratio (Koopman 1984, Biometrics 40:513). It is chosen over MOVER-R
    and the log interval because it excludes 1 exactly when the pooled z-test, whose p stands beside it, rejects; and
    because rates of 0 and 1 keep their scatter: 0 of 10 against 5 of 10 gives 0 to 0.61. A reference rate of 0 has no
    ratio: None, and so has an empty group. k may be fractional. statsmodels has this interval, but not at rates of 1.
    Raises ValueError unless 0 <= k <= n, with n whole.
    """
    k, n, k_ref, n_ref = *counted(k, n), *counted(k_ref, n_ref, "_ref")
    check_level(level)
    name, total = "score interval of the ratio (Koopman)", n + n_ref
    if not n or not n_ref:
        return Estimate(None, None, total, total, name, level, reason=_EMPTY)
    if k_ref < n_ref / HUGE:
        return Estimate(None, None, total, total, name, level, reason=_NO_RATIO)
    z = float(ndtri((1 + level) / 2))

    def limit(target: float) -> float:
        log = decreasing_root(
            lambda x: _score(k, n, k_ref, n_ref, math.exp(x)) - target, -_FAR, _FAR, xtol=1e-12, ftol=1e-10
        )
        return math.exp(log)

    interval = (limit(z) if k else 0.0, limit(-z))
    pvalue = 2 * float(ndtr(-abs(pooled_z(k, n, k_ref, n_ref))))
    # Over a common denominator, so that whole counts give the number next to the true ratio.
    return Estimate(k * n_ref / (n * k_ref), interval, total, total, name, level, pvalue)


def clustered_impact_ratio(
    values: ArrayLike, exposed: ArrayLike, *, groups: Groups | None = None, level: float = 0.95
) -> Estimate:
    """Rate of the exposed over that of the others, where clusters are the units; which may have members on both sides.

    values: numbers from 0 to 1, one an observation; exposed: true or false for each; groups: the cluster of each. The
    limits are MOVER-R's (Donner & Zou 2012, Stat Methods Med Res 21:347, with the correlation of both rates): the
    ratios r for which the interval of `risk_difference`, taken of the rate minus r times the other, holds 0. So they
    exclude 1 exactly when its p, which stands beside them, is under 1 - level; and no yes in 10 clusters keeps its
    scatter. No library is known to have them. Measured coverage of the 95 % interval at rates of
    0.4 and 0.5, correlated within clusters: 0.95 and 0.96 with 60 clusters a side of four or 60 shared ones, 0.95 and
    over with 30 of three, and nearly 1 with ten, where few clusters differ.

    An empty side, and a reference rate of 0, give None; one cluster on the reference side gives no interval. Raises
    ValueError for values outside 0 to 1, missing ones, and lengths that differ.
    """
    found = risk_difference(values, exposed, groups=groups, level=level)
    name = f"MOVER-R of {found.method.removeprefix('MOVER of ')}"
    if found.estimate is None:
        return replace(found, method=name)
    sides = _split(*_checked(values, exposed, groups, (0.0, 1.0)))
    if sides.second.mean < 1 / HUGE:
        return replace(found, estimate=None, interval=None, pvalue=None, method=name, reason=_NO_RATIO)
    low, high = _mover_ratio(sides, (1 - level) / 2)
    estimate = sides.first.mean / sides.second.mean
    if not math.isfinite(high):
        reason = "one cluster on the reference side: the ratio has no upper limit"
        return replace(found, estimate=estimate, interval=None, method=name, reason=reason)
    return replace(found, estimate=estimate, interval=(low, high), method=name)


def risk_difference(
    values: ArrayLike, exposed: ArrayLike, *, groups: Groups | None = None, level: float = 0.95
) -> Estimate:
    """Rate (mean of values from 0 to 1) of the exposed minus that of the others, where clusters are the units.

    `clustered_difference` by another name: values, exposed (true or false) and groups have one entry an observation,
    clusters may have members on both sides, and the two-sided p-value of no difference inverts the interval. An empty
    side gives None and the reason. Raises ValueError for values outside 0 to 1, missing ones, and lengths that differ.
    """
    return clustered_difference(values, exposed, groups=groups, level=level)


def _score(k: float, n: int, k_ref: float, n_ref: int, ratio: float) -> float:
    """Standardised difference k/n - ratio * k_ref/n_ref under the likeliest rates that have this ratio; falls in it."""
    # The smaller root of a q**2 - b q + c = 0, written so that nothing cancels.
    a, b, c = (n + n_ref) * ratio, (n + k_ref) * ratio + n_ref + k, k + k_ref
    q = 2 * c / (b + math.sqrt(max(0.0, b * b - 4 * a * c)))
    p = min(1.0, ratio * q)
    variance = p * (1 - p) / n + ratio * ratio * q * max(0.0, 1 - q) / n_ref
    difference = k / n - ratio * k_ref / n_ref
    return difference / math.sqrt(variance) if variance > 0 else 0.0


def _mover_ratio(sides: _Sides, tail: float) -> tuple[float, float]:
    """Where the squared distance (p - ratio q)^2 equals what MOVER allows: a root of a ratio^2 - 2 b ratio + c = 0."""
    own, ref, r = sides.first, sides.second, sides.correlation
    p, q = own.mean, ref.mean

    def roots(own_reach: float, ref_reach: float) -> tuple[float, float, float]:
        a, b, c = q * q - ref_reach**2, p * q - r * own_reach * ref_reach, p * p - own_reach**2
        return a, b + math.sqrt(max(0.0, b * b - a * c)), c

    _, root, c = roots(p - own.lower(tail), ref.upper(tail) - q)
    low = max(0.0, c / root) if root > 0 else 0.0
    a, root, _ = roots(own.upper(tail) - p, q - ref.lower(tail))
    return low, root / a if a > 0 else math.inf
