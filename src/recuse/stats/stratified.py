"""Difference of two means within strata, so that what distinguishes the strata cannot pose as the difference."""

# ruff: noqa: PT028  (`test_stratified_bound` is a statistical test, not a test case)

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from recuse.stats.clustered import ROUNDING, squared
from recuse.stats.inputs import Array, Codes, Groups, encode, marks, number, numbers
from recuse.stats.results import Estimate, OneSided, check_alternative, check_level

_METHOD = "within strata (Mantel-Haenszel weights), clustered t"


def stratified_difference(
    values: ArrayLike, exposed: ArrayLike, *, strata: Groups, groups: Groups | None = None, level: float = 0.95
) -> Estimate:
    """Mean of `values` where `exposed` minus the mean elsewhere, within strata, weighted by n1 * n0 / (n1 + n0), its
    interval and the two-sided p-value of no difference.

    `values` and `exposed` have shape (n,), `strata` and `groups` one label for each. The weights are those of Mantel
    and Haenszel's risk difference (Greenland & Robins 1985), and of least squares with an effect a stratum; strata of
    one kind only carry no weight. The variance takes whole groups, times G / (G - 1) (CR1: Liang & Zeger 1986), the
    interval Student's t with G - 1 degrees of freedom.

    Without a stratum that has both kinds the estimate is None; with one group, or no scatter between groups, there is
    no interval; the reason says which. Raises ValueError for values that are not finite, lengths that differ, missing
    labels, and `exposed` that is not true or false.
    """
    check_level(level)
    fit = _fit(values, exposed, strata, groups)
    if fit.reason is not None or fit.estimate is None:
        return Estimate(fit.estimate, None, fit.n, fit.groups, _METHOD, level, reason=fit.reason)
    reach = float(stdtrit(fit.groups - 1, (1 + level) / 2)) * fit.error
    interval = (fit.estimate - reach, fit.estimate + reach)
    p = 2 * float(stdtr(fit.groups - 1, -abs(fit.estimate / fit.error)))
    return Estimate(fit.estimate, interval, fit.n, fit.groups, _METHOD, level, p)


def test_stratified_bound(
    values: ArrayLike,
    exposed: ArrayLike,
    bound: float,
    *,
    strata: Groups,
    groups: Groups | None = None,
    alternative: OneSided = "greater",
) -> float:
    """One-sided p-value that inverts the interval of `stratified_difference`; 1 where that has none.

    Raises ValueError as that function does, and for a bound that is not a finite number.
    """
    check_alternative(alternative)
    bound = number(bound, "the bound")
    fit = _fit(values, exposed, strata, groups)
    if fit.reason is not None or fit.estimate is None:
        return 1.0
    t = (fit.estimate - bound) / fit.error
    return float(stdtr(fit.groups - 1, -t if alternative == "greater" else t))


@dataclass(frozen=True, slots=True)
class _Fit:
    n: int
    groups: int
    estimate: float | None = None
    error: float = 0.0  # positive where there is no reason
    reason: str | None = None


def _fit(values: ArrayLike, exposed: ArrayLike, strata: Groups, groups: Groups | None) -> _Fit:
    y = numbers(values)
    x = marks(exposed, y.size, "exposed").astype(np.float64)
    top = float(np.abs(y).max(initial=0.0)) or 1.0  # so that no square leaves the range of floats
    y = y / top
    codes = encode(strata, y.size, "strata")
    units = np.arange(y.size) if groups is None else encode(groups, y.size)
    total = int(units.max(initial=-1)) + 1
    within = x - _means(x, codes)
    weight = squared(within)
    if weight <= 0.0:
        return _Fit(y.size, total, reason="no stratum has both kinds")
    centred = y - _means(y, codes)
    estimate = float((within * centred).sum()) / weight
    if total < 2:
        return _Fit(y.size, total, top * estimate, reason="one group")
    pulls: Array = np.bincount(units, weights=within * (centred - estimate * within)).astype(np.float64)
    if (np.abs(pulls) <= ROUNDING * np.bincount(units)).all():
        return _Fit(y.size, total, top * estimate, reason="no scatter between groups")
    error = math.sqrt(squared(pulls) * total / (total - 1)) / weight
    return _Fit(y.size, total, top * estimate, top * error)


def _means(values: Array, codes: Codes) -> Array:
    """The mean of each value's stratum."""
    means: Array = (np.bincount(codes, weights=values) / np.bincount(codes))[codes]
    return means
