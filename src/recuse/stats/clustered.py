"""Means of bounded values and their differences, where observations come in groups.

Values of one group (pairs from one question, say) are not independent; the group is the unit. Values may be anything
between the bounds, halves for ties included.

Limits come in three kinds, named in `method`:

- "clustered Wilson": the score interval with the variance of the mean taken from leave-one-group-out means and
  Student's t in place of the normal (Korn & Graubard 1998 put the effective sample size into an exact interval; Dean &
  Pagano 2015 find the score interval better). For single observations it is Wilson's interval but for t. The limits
  are at least as far from the mean as the exact bound would be if all units were equal: scatter that is small against
  the range (a judge's noise around one score) must not hide that up to 3.7 in n units may lie at a bound and not have
  shown. With 15 ones or zeros that changes nothing; where it does, the method says "widened for values unseen".
- "Dirichlet bound (few units differ)": effectively fewer than `FEW_UNITS` units differ from the median one
  (`effective_units`), so that the variance says little (see `recuse.stats.dirichlet`); on single 0/1 values this is
  Clopper-Pearson, and if all are equal it is called "exact bound (all values equal)".
- "range (one group)": one unit says nothing about the scatter between units; the interval is the bounds.

Measured coverage of all three: experiments/coverage/results.md.
"""

# ruff: noqa: PT028  (`test_bound` is a statistical test, not a test case)

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr, stdtrit

from recuse.stats import dirichlet
from recuse.stats.inputs import Array, Bounds, Groups, checked, checked_bounds, number, numbers
from recuse.stats.proportions import wilson_limits
from recuse.stats.results import Estimate, OneSided, check_alternative, check_level

FEW_UNITS = 15
WILSON = "clustered Wilson"
FEW = "Dirichlet bound (few units differ)"
EQUAL = "exact bound (all values equal)"
RANGE = "range (one group)"
UNSEEN = ", widened for values unseen"
ROUNDING = 1e-12  # values that agree in so much of their range, or of the largest, are equal


def clustered_mean(
    values: ArrayLike,
    *,
    groups: Groups | None = None,
    bounds: Bounds = (0.0, 1.0),
    level: float = 0.95,
    null: float | None = None,
) -> Estimate:
    """Mean over all values with an interval in which the group is the unit; without `groups` each value is a unit.

    `values` has shape (n,), `groups` one label for each; the interval is in the values' own unit and lies within
    `bounds`. With `null` the result has the two-sided p-value of "the mean is `null`", under 1 - level exactly where
    the interval excludes it. Without values the estimate is None. Raises ValueError for values outside `bounds`, NaN,
    or lengths that differ. Sources and measured coverage: the module's docstring.
    """
    check_level(level)
    bounds = checked_bounds(bounds)
    x, codes = checked(values, groups, bounds)
    target = None if null is None else scaled(null, bounds)
    if not x.size:
        return Estimate(None, None, 0, 0, "clustered mean", level, reason="no observations")
    units, tail = summarise(x, codes), (1 - level) / 2
    p = None if target is None else min(1.0, 2 * min(units.p_greater(target), units.p_less(target)))
    mean = mean_of(numbers(values))
    low, high = (restored(limit, bounds) for limit in (units.lower(tail), units.upper(tail)))
    return Estimate(mean, (min(low, mean), max(high, mean)), x.size, units.groups, units.label(tail), level, p)


def test_bound(
    values: ArrayLike,
    bound: float,
    *,
    groups: Groups | None = None,
    alternative: OneSided = "greater",
    bounds: Bounds = (0.0, 1.0),
) -> float:
    """One-sided p-value for "the mean is greater (less) than `bound`", by inverting the interval of `clustered_mean`.

    That interval at `level` lies wholly above `bound` exactly when p < (1 - level) / 2 for "greater". `values` has
    shape (n,). Raises ValueError as `clustered_mean` does, without values, and for a bound that is not a finite number.
    """
    check_alternative(alternative)
    bounds = checked_bounds(bounds)
    x, codes = checked(values, groups, bounds)
    target = scaled(bound, bounds)
    if not x.size:
        raise ValueError("no observations to test.")
    units = summarise(x, codes)
    return units.p_greater(target) if alternative == "greater" else units.p_less(target)


@dataclass(frozen=True, slots=True)
class Units:
    """What the limits need to know of grouped values in [0, 1]."""

    mean: float
    groups: int
    method: str
    variance: float = 0.0  # of the mean, for the score interval
    df: float = 0.0
    kinds: dirichlet.Kinds | None = None  # distinct groups, for the Dirichlet bound

    def flipped(self) -> Units:
        """The same for one minus the values."""
        return replace(self, mean=1 - self.mean, kinds=self.kinds and self.kinds.flipped())

    def upper(self, alpha: float) -> float:
        """Upper confidence limit, exceeded by the true mean with probability alpha < 1/2."""
        if self.method == RANGE or self.mean == 1:
            return 1.0
        if self.kinds is None:
            return max(self._score(alpha), self.unseen_upper(alpha))
        return dirichlet.upper_limit(self.kinds, alpha)

    def unseen_upper(self, alpha: float) -> float:
        """The upper limit if all groups had the mean: a share u of them at 1 stays unseen with probability (1-u)^G."""
        return self.mean - (1 - self.mean) * math.expm1(math.log(alpha) / self.groups) if alpha > 0 else 1.0

    def _score(self, alpha: float) -> float:
        t = float(stdtrit(self.df, 1 - alpha))
        return wilson_limits(self.mean, t * t * self.variance / (self.mean * (1 - self.mean)))[1]

    def label(self, alpha: float) -> str:
        """The method, and whether values unseen set a limit at alpha."""
        if self.method != WILSON or all(u._score(alpha) >= u.unseen_upper(alpha) for u in (self, self.flipped())):
            return self.method
        return self.method + UNSEEN

    def p_less(self, bound: float) -> float:
        """One-sided p-value for a mean below `bound`; under alpha exactly when `upper(alpha)` is."""
        if self.method == RANGE or bound <= 0 or self.mean == bound == 1:
            return 1.0 if bound <= 1 else 0.0
        if bound >= 1:
            return 0.0
        if self.kinds is None:
            # The score test: the standard error is the one that the mean would have if the truth were the bound.
            error = math.sqrt(self.variance * bound * (1 - bound) / (self.mean * (1 - self.mean)))
            unseen = ((1 - bound) / (1 - self.mean)) ** self.groups if bound > self.mean else 0.0
            return max(float(stdtr(self.df, (self.mean - bound) / error)), min(0.5, unseen))
        return dirichlet.upper_tail(self.kinds, bound)

    def lower(self, alpha: float) -> float:
        return 1 - self.flipped().upper(alpha)

    def p_greater(self, bound: float) -> float:
        return self.flipped().p_less(1 - bound)


def summarise(x: Array, codes: NDArray[np.intp] | None) -> Units:
    """Choose the kind of limits for values in [0, 1] and collect what it needs."""
    sums: Array = x if codes is None else np.bincount(codes, weights=x).astype(np.float64)
    sizes: Array = np.ones_like(x) if codes is None else np.bincount(codes).astype(np.float64)
    return summarise_units(sums, sizes, equal=bool(np.ptp(x) < ROUNDING))


def summarise_units(sums: Array, sizes: Array, *, equal: bool) -> Units:
    """The same from each unit's sum and size (any positive weight); `equal`: whether all values are."""
    n, groups = float(sizes.sum()), sums.size
    mean = float(sums.sum()) / n
    if groups == 1:
        return Units(mean, 1, RANGE)
    if equal:
        return Units(mean, groups, EQUAL, kinds=dirichlet.kinds(np.full(groups, mean), np.ones(groups)))

    if effective_units(sums / sizes, sizes) < FEW_UNITS:
        return Units(mean, groups, FEW, kinds=dirichlet.kinds(sums, sizes))
    left_out = (sums - mean * sizes) / (n - sizes)  # minus the change of the mean when the group is left out
    return Units(mean, groups, WILSON, variance=(groups - 1) / groups * squared(left_out), df=groups - 1)


def effective_units(means: Array, sizes: Array) -> float:
    """How many units differ from the median one, as far as normal theory may count on them.

    Kish's effective number, so that one large unit is not taken for many; and less where the units that differ are
    smaller than the unit in which a random value lies: then the large ones, which matter most, have yet to be seen
    (coverage was 0.83 instead of 0.95 for a rate of 0.02 in 200 groups of 1 or 20 values, and 0.90 with this).
    Noise around the rest must not pass for units that differ, so the same number of the deviations to the power 1.5
    counts too: large ones weigh more there, k equal ones are still k.
    """
    # The lower and the upper median, and the fewer that differ: so that values and 1 - values are treated alike.
    places = sorted({(means.size - 1) // 2, means.size // 2})
    centres = np.unique(np.partition(means, places)[places])
    return min(_differing(means - centre, sizes) for centre in centres)


def _differing(deviation: Array, sizes: Array) -> float:
    gap = np.abs(deviation) * sizes
    gap[gap < ROUNDING * sizes] = 0.0
    if not gap.any():
        return 0.0
    gap /= gap.max()
    kish, steep = (float(g.sum()) ** 2 / squared(g) for g in (gap, gap * np.sqrt(gap)))
    size = float((gap * sizes).sum() / gap.sum()) / (squared(sizes) / float(sizes.sum()))
    return min(kish * min(1.0, size), steep)


def squared(x: Array) -> float:
    """Sum of squares, without BLAS: its threads made 60 ms of 3 ms at 20,000 values while other work held the cores."""
    return float((x * x).sum())


def mean_of(x: Array, weights: Array | None = None) -> float:
    """The mean, never beyond the values by a rounding."""
    mean = float(x.mean()) if weights is None else float((weights * x).sum() / weights.sum())
    return min(max(mean, float(x.min())), float(x.max()))


def scaled(value: float, bounds: Bounds) -> float:
    """Where a number lies between the bounds, 0 to 1; raises ValueError unless it is a finite one."""
    return (number(value, "the value to test against") - bounds[0]) / (bounds[1] - bounds[0])


def restored(share: float, bounds: Bounds) -> float:
    """The number there, never beyond the bounds by a rounding."""
    return min(max(bounds[0] + (bounds[1] - bounds[0]) * share, bounds[0]), bounds[1])
