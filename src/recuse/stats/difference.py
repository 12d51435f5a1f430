"""The difference between two clustered means, whose strata may share groups.

The limits of both means (see `recuse.stats.clustered`) are combined by MOVER, the method of variance estimates
recovery (Newcombe 1998, method 10; Zou & Donner 2008), so that a stratum without scatter keeps its exact bound. Where
groups have values in both strata, the covariance of the two means, from leave-one-group-out means, enters as their
correlation. A positive one, which narrows the interval, is used only if at least `FEW_UNITS` shared groups differ in
their own difference; otherwise pairs that happen to agree would give an interval of no width.
"""

# ruff: noqa: PT028  (`test_difference_bound` is a statistical test, not a test case)

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from recuse.stats.clustered import FEW_UNITS, RANGE, WILSON, Units, effective_units, mean_of, squared, summarise
from recuse.stats.inputs import Array, Bounds, Codes, Groups, checked, checked_bounds, marks, number, numbers
from recuse.stats.results import Estimate, OneSided, check_alternative, check_level
from recuse.stats.root import decreasing_root


def clustered_difference(
    values: ArrayLike,
    stratum: ArrayLike,
    *,
    groups: Groups | None = None,
    bounds: Bounds = (0.0, 1.0),
    level: float = 0.95,
) -> Estimate:
    """Mean of the values where `stratum` is true minus the mean where it is false, its interval, and the two-sided
    p-value of no difference, under 1 - level exactly where the interval excludes 0.

    `values`, `stratum` and `groups` have shape (n,); the interval is in the values' own unit. `groups` of the result
    counts those of both strata. An empty stratum gives the estimate None. Raises ValueError for values outside
    `bounds`, NaN, lengths that differ, or a stratum that is not true or false. Sources: the module's docstring.
    """
    check_level(level)
    bounds = checked_bounds(bounds)
    x, codes, mask = _checked(values, stratum, groups, bounds)
    total = int(codes.max()) + 1 if x.size else 0
    if not mask.any() or mask.all():
        side = "false" if mask.all() and x.size else "true"
        reason = f"no observations where the stratum is {side}"
        return Estimate(None, None, x.size, total, "MOVER", level, reason=reason)
    sides, tail, width = _split(x, codes, mask), (1 - level) / 2, bounds[1] - bounds[0]
    raw = numbers(values)
    difference = mean_of(raw[mask]) - mean_of(raw[~mask])
    interval = (min(width * sides.lower(tail), difference), max(width * sides.upper(tail), difference))
    ahead = sides if sides.difference > 0 else sides.swapped()
    p = min(1.0, 2 * _p_greater(ahead, 0.0))
    return Estimate(difference, interval, x.size, total, sides.method, level, p)


def test_difference_bound(
    values: ArrayLike,
    stratum: ArrayLike,
    bound: float,
    *,
    groups: Groups | None = None,
    alternative: OneSided = "greater",
    bounds: Bounds = (0.0, 1.0),
) -> float:
    """One-sided p-value for "the difference is greater (less) than `bound`", inverting `clustered_difference`.

    That interval at `level` lies wholly above `bound` exactly when p < (1 - level) / 2 for "greater". Raises
    ValueError as `clustered_difference` does, for an empty stratum, and for a bound that is not a finite number.
    """
    check_alternative(alternative)
    bounds, target = checked_bounds(bounds), number(bound, "the bound")
    x, codes, mask = _checked(values, stratum, groups, bounds)
    if not mask.any() or mask.all():
        raise ValueError("a difference needs observations in both strata.")
    sides, scaled = _split(x, codes, mask), target / (bounds[1] - bounds[0])
    return _p_greater(sides, scaled) if alternative == "greater" else _p_greater(sides.swapped(), -scaled)


@dataclass(frozen=True, slots=True)
class _Sides:
    first: Units
    second: Units
    correlation: float  # of the two means

    @property
    def difference(self) -> float:
        return self.first.mean - self.second.mean

    @property
    def method(self) -> str:
        kinds = dict.fromkeys((self.first.method, self.second.method))
        shared = f", correlation {self.correlation:.2f} from shared groups" if self.correlation else ""
        return f"MOVER of {' and '.join(kinds)}{shared}"

    def swapped(self) -> _Sides:
        return _Sides(self.second, self.first, self.correlation)

    def lower(self, alpha: float) -> float:
        below = self.first.mean - self.first.lower(alpha)
        above = self.second.upper(alpha) - self.second.mean
        squared = below * below + above * above - 2 * self.correlation * below * above
        return max(-1.0, self.difference - math.sqrt(max(squared, 0.0)))

    def upper(self, alpha: float) -> float:
        return -self.swapped().lower(alpha)


def _p_greater(sides: _Sides, bound: float) -> float:
    """The alpha at which `lower(alpha)` meets the bound; at least 1/2 for a bound at or above the difference."""
    if bound < -1 or bound >= 1:
        return float(bound >= 1)
    if bound >= sides.difference:
        return 1.0 if bound == sides.difference == 1 else max(0.5, 1 - _opposite(sides, bound))
    # On the normal scale, from alpha = 1/2 to 3e-316, the limit is nearly straight.
    if sides.lower(float(ndtr(-38.0))) > bound:
        return 0.0
    z = decreasing_root(lambda z: sides.lower(float(ndtr(-z))) - bound, 0.0, 38.0, xtol=1e-10, ftol=1e-12)
    return float(ndtr(-z))


def _opposite(sides: _Sides, bound: float) -> float:
    return _p_greater(sides.swapped(), -bound) if bound > sides.difference else 0.5


def _split(x: Array, codes: Codes, mask: NDArray[np.bool_]) -> _Sides:
    first, second = (summarise(x[side], np.unique(codes[side], return_inverse=True)[1]) for side in (mask, ~mask))
    groups = int(codes.max()) + 1
    sums, sizes = (
        np.array([np.bincount(codes[side], w, groups) for side, w in ((mask, weights[mask]), (~mask, weights[~mask]))])
        for weights in (x, np.ones(x.size))
    )
    return _Sides(first, second, _correlation(first, second, sums, sizes))


def _correlation(first: Units, second: Units, sums: Array, sizes: Array) -> float:
    """Of the two means, from each group's sum and size in both strata, of shape (2, groups)."""
    shared = (sizes > 0).all(axis=0)
    if not shared.any() or RANGE in (first.method, second.method):
        return 0.0
    means = np.array([[first.mean], [second.mean]])
    left_out = (sums - means * sizes) / (sizes.sum(axis=1, keepdims=True) - sizes)
    spread = math.sqrt(squared(left_out[0]) * squared(left_out[1]))
    r = float((left_out[0] * left_out[1]).sum()) / spread if spread > 0 else 0.0
    if r > 0:
        own = sums[0, shared] / sizes[0, shared] - sums[1, shared] / sizes[1, shared]
        usual = {first.method, second.method} == {WILSON}
        if not usual or effective_units(own, sizes[:, shared].sum(axis=0)) < FEW_UNITS:
            return 0.0
    return max(-1.0, min(1.0, r))


def _checked(
    values: ArrayLike, stratum: ArrayLike, groups: Groups | None, bounds: Bounds
) -> tuple[Array, Codes, NDArray[np.bool_]]:
    x, codes = checked(values, groups, bounds)
    return x, np.arange(x.size) if codes is None else codes, marks(stratum, x.size, "the stratum")
