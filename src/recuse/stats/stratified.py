"""Difference of two means within strata, so that what distinguishes the strata cannot pose as the difference."""

# ruff: noqa: PT028  (`test_stratified_bound` is a statistical test, not a test case)

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from recuse.stats.inputs import Array, Groups, encode
from recuse.stats.results import Estimate, OneSided, check_alternative, check_level

_METHOD = "within strata (Mantel-Haenszel weights), clustered t"


def stratified_difference(
    values: ArrayLike, exposed: ArrayLike, *, strata: Groups, groups: Groups | None = None, level: float = 0.95
) -> Estimate:
    """Mean of `values` where `exposed` minus the mean elsewhere, within strata, weighted by n1 * n0 / (n1 + n0).

    Those are the weights of Mantel and Haenszel's risk difference (Greenland & Robins 1985), and of least squares with
    an effect a stratum; strata of one kind only carry no weight. The variance takes whole groups (CR1), the interval
    Student's t with G - 1 degrees of freedom. Without a stratum that has both kinds, with fewer than two groups or
    without scatter between them the estimate is None and the reason says which.
    """
    check_level(level)
    fit = _fit(values, exposed, strata, groups)
    if fit.reason is not None:
        return Estimate(None, None, fit.n, fit.groups, _METHOD, level, reason=fit.reason)
    reach = float(stdtrit(fit.groups - 1, (1 + level) / 2)) * fit.error
    interval = (fit.estimate - reach, fit.estimate + reach)
    return Estimate(fit.estimate, interval, fit.n, fit.groups, _METHOD, level)


def test_stratified_bound(
    values: ArrayLike,
    exposed: ArrayLike,
    bound: float,
    *,
    strata: Groups,
    groups: Groups | None = None,
    alternative: OneSided = "greater",
) -> float:
    """One-sided p-value that inverts the interval of `stratified_difference`; 1 where that has no estimate."""
    check_alternative(alternative)
    fit = _fit(values, exposed, strata, groups)
    if fit.reason is not None:
        return 1.0
    t = (fit.estimate - bound) / fit.error
    return float(stdtr(fit.groups - 1, -t if alternative == "greater" else t))


@dataclass(frozen=True, slots=True)
class _Fit:
    n: int
    groups: int
    estimate: float = 0.0
    error: float = 0.0
    reason: str | None = None


def _fit(values: ArrayLike, exposed: ArrayLike, strata: Groups, groups: Groups | None) -> _Fit:
    y, marks = np.asarray(values, dtype=np.float64), np.asarray(exposed)
    if marks.dtype != bool and not (marks.size == 0 or (marks.dtype.kind in "iu" and np.isin(marks, (0, 1)).all())):
        raise ValueError("exposed must hold true or false (or 1 and 0) for each value.")
    x = marks.astype(np.float64)
    if y.ndim != 1 or x.shape != y.shape or not np.isfinite(y).all():
        raise ValueError("values and exposed must be one-dimensional, of one length, and values finite.")
    codes = encode(strata, y.size)
    units = np.arange(y.size) if groups is None else encode(groups, y.size)
    total = int(units.max(initial=-1)) + 1
    within = x - _means(x, codes)
    weight = float(within @ within)
    if weight <= 0.0:
        return _Fit(y.size, total, reason="no stratum has both kinds")
    if total < 2:
        return _Fit(y.size, total, reason="one group")
    centred = y - _means(y, codes)
    estimate = float(within @ centred) / weight
    influence = np.bincount(units, weights=within * (centred - estimate * within)) / weight
    error = math.sqrt(float(influence @ influence) * total / (total - 1))
    if error <= 1e-12:
        return _Fit(y.size, total, reason="no scatter between groups")
    return _Fit(y.size, total, estimate, error)


def _means(values: Array, codes: np.ndarray) -> Array:
    """The mean of each value's stratum."""
    means: Array = (np.bincount(codes, weights=values) / np.bincount(codes))[codes]
    return means
