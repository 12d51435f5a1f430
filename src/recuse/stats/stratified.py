"""Difference of two means within strata, so that what distinguishes the strata cannot pose as the difference."""

# ruff: noqa: PT028  (`test_stratified_bound` is a statistical test, not a test case)

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr, stdtrit

from recuse.stats.clustered import ROUNDING, WILSON, squared, summarise_units
from recuse.stats.difference import _correlation, _p_greater, _Sides
from recuse.stats.inputs import Array, Bounds, Codes, Groups, checked_bounds, encode, marks, number, numbers, within
from recuse.stats.results import Estimate, OneSided, check_alternative, check_level

_METHOD = "within strata (Mantel-Haenszel weights), clustered t"


def stratified_difference(
    values: ArrayLike,
    exposed: ArrayLike,
    *,
    strata: Groups,
    groups: Groups | None = None,
    bounds: Bounds | None = None,
    level: float = 0.95,
) -> Estimate:
    """Mean of `values` where `exposed` minus the mean elsewhere, within strata, weighted by n1 * n0 / (n1 + n0), its
    interval and the two-sided p-value of no difference.

    `values` and `exposed` have shape (n,), `strata` and `groups` one label for each. The weights are those of Mantel
    and Haenszel's risk difference (Greenland & Robins 1985), and of least squares with an effect a stratum; strata of
    one kind only carry no weight. The variance takes whole groups, times G / (G - 1) (CR1: Liang & Zeger 1986), the
    interval Student's t with G - 1 degrees of freedom.

    That interval trusts the scatter that it sees. With rare values on a small side it must not: among 40 to 300 values,
    15 % of them exposed, where ones have a rate of 0.02 to 0.1 and twice that among the exposed, it covers 0.56 to
    0.95. With `bounds`, between which values lie, it is therefore no narrower than MOVER's of the two weighted means
    (`recuse.stats.difference`) where fewer than 15 units differ on one of the sides; that covers 0.96 to 1.00 there,
    and makes an interval where nothing scatters too.

    Without a stratum that has both kinds the estimate is None; with one group, or without bounds no scatter between
    groups, there is no interval; the reason says which. Raises ValueError for values that are not finite or outside the
    bounds, lengths that differ, missing labels, and `exposed` that is not true or false.
    """
    check_level(level)
    fit = _fit(values, exposed, strata, groups, bounds)
    if isinstance(fit, Estimate):
        return replace(fit, level=level)
    p = min(1.0, 2 * fit.pvalue(0.0, "greater" if fit.estimate > 0 else "less"))
    return Estimate(fit.estimate, fit.limits((1 - level) / 2), fit.n, fit.groups, fit.method, level, p)


def test_stratified_bound(
    values: ArrayLike,
    exposed: ArrayLike,
    bound: float,
    *,
    strata: Groups,
    groups: Groups | None = None,
    bounds: Bounds | None = None,
    alternative: OneSided = "greater",
) -> float:
    """One-sided p-value that inverts the interval of `stratified_difference`; 1 where that has none.

    Raises ValueError as that function does, and for a bound that is not a finite number.
    """
    check_alternative(alternative)
    bound = number(bound, "the bound")
    fit = _fit(values, exposed, strata, groups, bounds)
    return 1.0 if isinstance(fit, Estimate) else fit.pvalue(bound, alternative)


@dataclass(frozen=True, slots=True)
class _Fit:
    n: int
    groups: int
    estimate: float
    error: float  # 0 only beside `few`
    few: _Sides | None  # the two weighted means, where few units differ on a side and there are bounds
    width: float  # between the bounds

    @property
    def method(self) -> str:
        return f"{_METHOD}, widened to {self.few.method}" if self.few else _METHOD

    def limits(self, alpha: float) -> tuple[float, float]:
        reach = float(stdtrit(self.groups - 1, 1 - alpha)) * self.error
        low, high = self.estimate - reach, self.estimate + reach
        if self.few is None:
            return low, high
        low, high = min(low, self.width * self.few.lower(alpha)), max(high, self.width * self.few.upper(alpha))
        return max(low, -self.width), min(high, self.width)

    def pvalue(self, bound: float, alternative: OneSided) -> float:
        """One-sided: the larger of both where there are two intervals."""
        sign = 1.0 if alternative == "greater" else -1.0
        distance = sign * (self.estimate - bound)
        if self.error:
            p = float(stdtr(self.groups - 1, -distance / self.error))
        else:
            p = 0.0 if distance > 0 else 1.0
        if self.few is None:
            return p
        ahead = self.few if sign > 0 else self.few.swapped()
        return max(p, _p_greater(ahead, sign * bound / self.width))


def _fit(
    values: ArrayLike, exposed: ArrayLike, strata: Groups, groups: Groups | None, bounds: Bounds | None
) -> _Fit | Estimate:
    """What the limits need, or the result where there are none."""
    raw = numbers(values)
    mask = marks(exposed, raw.size, "exposed")
    low, high = (0.0, 1.0) if bounds is None else checked_bounds(bounds)
    if bounds is not None:
        within(raw, (low, high))
    top = float(np.abs(raw).max(initial=0.0)) or 1.0  # so that no square leaves the range of floats
    x, y = mask.astype(np.float64), raw / top
    codes = encode(strata, raw.size, "strata")
    units = np.arange(raw.size) if groups is None else encode(groups, raw.size)
    total = int(units.max(initial=-1)) + 1
    nothing = Estimate(None, None, raw.size, total, _METHOD, reason="no stratum has both kinds")
    lean = x - _means(x, codes)
    weight = squared(lean)
    if weight <= 0.0:
        return nothing
    centred = y - _means(y, codes)
    estimate = float((lean * centred).sum()) / weight
    if total < 2:
        return replace(nothing, estimate=top * estimate, reason="one group")
    few = None if bounds is None else _few((raw - low) / (high - low), mask, np.abs(lean), units, total)
    pulls: Array = np.bincount(units, weights=lean * (centred - estimate * lean)).astype(np.float64)
    still = bool((np.abs(pulls) <= ROUNDING * np.bincount(units)).all())
    if still and few is None:
        return replace(nothing, estimate=top * estimate, reason="no scatter between groups")
    error = 0.0 if still else top * math.sqrt(squared(pulls) * total / (total - 1)) / weight
    return _Fit(raw.size, total, top * estimate, error, few, high - low)


def _few(x: Array, mask: NDArray[np.bool_], weight: Array, units: Codes, total: int) -> _Sides | None:
    """The two means of values in [0, 1] whose difference is the estimate, if fewer than 15 units differ on a side."""
    sides = [side & (weight > 0) for side in (mask, ~mask)]
    sums, sizes = (
        np.array([np.bincount(units[side], column[side], total) for side in sides]) for column in (weight * x, weight)
    )
    first, second = (
        summarise_units(own[size > 0], size[size > 0], equal=bool(np.ptp(x[side]) < ROUNDING))
        for own, size, side in zip(sums, sizes, sides, strict=True)
    )
    usual = {first.method, second.method} == {WILSON}
    return None if usual else _Sides(first, second, _correlation(first, second, sums, sizes))


def _means(values: Array, codes: Codes) -> Array:
    """The mean of each value's stratum."""
    means: Array = (np.bincount(codes, weights=values) / np.bincount(codes))[codes]
    return means
