"""Grouped values on the scale [0, 1], ready for limits and resampling."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from recuse.stats.clustered import RANGE, ROUNDING, Units, mean_of, squared, summarise_units
from recuse.stats.inputs import Array, Bounds, Codes, Groups, checked, checked_bounds, encode, numbers


@dataclass(frozen=True, slots=True)
class Sample:
    """Sum and size of each unit, the values rescaled to [0, 1].

    0 and 1 are the bounds where they are known. Otherwise they lie as far from the median unit's mean as the farthest
    one does: limits that need bounds then rest on the assumption that no unit lies farther out.
    """

    sums: Array
    sizes: Array  # any positive weights
    units: Units
    n: int  # values
    estimate: float  # their mean, on their own scale
    zero: float  # the value at 0
    width: float
    bounded: bool
    equal: bool

    @property
    def groups(self) -> int:
        return self.sums.size

    @property
    def no_limits(self) -> str | None:
        """Why nothing can be said about the mean beyond its estimate, or None."""
        if self.bounded or not (self.equal or self.units.method == RANGE):
            return None
        return "one group" if self.groups == 1 else "all units are equal and there are no bounds"

    def restored(self, share: float) -> float:
        """The value there; never beyond the bounds by a rounding."""
        value = self.zero + self.width * share
        return min(max(value, self.zero), self.zero + self.width) if self.bounded else value

    def scaled(self, value: float) -> float:
        return (value - self.zero) / self.width

    @property
    def residuals(self) -> Array:
        return self.sums - self.units.mean * self.sizes

    @property
    def error(self) -> float:
        """Standard error of the mean, linearised, groups as units (CR1)."""
        g, e = self.groups, self.residuals
        return math.sqrt(g / (g - 1) * squared(e)) / float(self.sizes.sum())

    def t_reach(self, alpha: float) -> float:
        return float(stdtrit(self.groups - 1, 1 - alpha)) * self.error

    def t_pvalue(self, bound: float) -> float:
        """One-sided p-value of Student's t for a mean above the bound."""
        distance, error = self.units.mean - bound, self.error
        if error == 0:
            return 0.5 if distance == 0 else float(distance < 0)
        return float(stdtr(self.groups - 1, -distance / error))


def sample(
    values: ArrayLike, *, groups: Groups | None = None, bounds: Bounds | None = None, weights: Array | None = None
) -> Sample | None:
    """The sample of some values, or None without any.

    `values` has shape (n,); `weights` are positive, one for each. Raises ValueError for values outside the bounds or
    not finite, and for lengths that differ.
    """
    raw = numbers(values)
    x, codes = checked(raw, groups, bounds) if bounds is not None else _unbounded(raw, groups)
    if not x.size:
        return None
    w = np.ones_like(x) if weights is None else weights
    sums: Array = w * x if codes is None else np.bincount(codes, weights=w * x).astype(np.float64)
    sizes: Array = w if codes is None else np.bincount(codes, weights=w).astype(np.float64)
    if bounds is not None:
        zero, high = checked_bounds(bounds)
        width, equal = high - zero, bool(np.ptp(x) < ROUNDING)
    else:
        shares, zero, width = _centred(sums / sizes)
        sums, equal = shares * sizes, bool(np.ptp(shares) == 0)
    units = summarise_units(sums, sizes, equal=equal)
    return Sample(sums, sizes, units, x.size, mean_of(raw, weights), zero, width, bounds is not None, equal)


def _unbounded(x: Array, groups: Groups | None) -> tuple[Array, Codes | None]:
    return x, None if groups is None else encode(groups, x.size)


def _centred(means: Array) -> tuple[Array, float, float]:
    """Means where the median is 1/2 and the farthest from it 0 or 1; the value at 0, and the width from there to 1."""
    top = float(np.abs(means).max())
    if top == 0:
        return np.full_like(means, 0.5), -0.5, 1.0
    x = means / top  # so that neither huge nor tiny values leave the range of floats
    centre = float(np.median(x))
    reach = float(np.abs(x - centre).max())
    if reach <= ROUNDING:
        return np.full_like(x, 0.5), top * (centre - 0.5), top
    return np.clip((x - centre) / reach / 2 + 0.5, 0.0, 1.0), top * (centre - reach), 2 * top * reach
