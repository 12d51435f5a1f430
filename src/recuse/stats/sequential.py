"""Evidence that stays valid however often one looks: confidence sequences, e-values, and false discoveries among them.

Someone bets against "the mean is m", at odds that are fair if it is, and can only lose what was staked. Should the
wealth ever reach 40 times the start, m is rejected at 1/40: under the null hypothesis that happens with probability
at most 1/40 over the whole, unlimited run (Ville's inequality). The confidence sequence holds the means that have not
been rejected (Waudby-Smith & Ramdas 2024, "Estimating means of bounded random variables by betting").

The wager: an equal share of the stake on each of `BETS`, constant fractions of what may be lost at most (the
diversified form in their paper; the universal portfolio of Cover 1991 with a few points). Wealth then depends neither
on the order of the values nor on a guess of the variance. Its half widths were 0.6 to
1.0 times those of the paper's plug-in wager at 20,000 units, 0.75 to 1.03 at 1,000, 0.98 to 1.14 at 40; some 1.5 times
those of an interval for a fixed n. Means lay outside at any of 1,000 looks in at most 2.4 % of runs.

What must hold: units come in an order that says nothing of their values (shuffle a file before a run that may be
stopped), and each has the same mean whatever came before. A drifting mean breaks the promise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recuse.stats.inputs import Bounds, Groups, checked, checked_bounds, number, numbers, whole
from recuse.stats.multiplicity import Rejections
from recuse.stats.results import Alternative, Arrays, Estimate, check_alternative, check_level

Array = NDArray[np.float64]

BETS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.6, 0.9)
_CELLS = 10_000  # means tried across the range; limits are rounded outwards to them
_BLOCK = 100  # units at once, 8 MB for all means
_LARGEST_LOG = 700.0
_LEAST_MEAN = 1e-300  # of the range; one over it must stay a float


@dataclass(frozen=True, slots=True, eq=False)
class ConfidenceSequence(Arrays, Estimate):
    """An interval after each unit; `interval` is the last. All of them hold the mean with probability `level`.

    `lower` and `upper` have one entry a unit and are read-only. There is no p-value: nothing is tested; see `e_value`.
    """

    lower: Array = field(default_factory=lambda: np.empty(0))
    upper: Array = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True, slots=True, eq=False)
class EValue(Arrays):
    """Evidence against a null hypothesis: expected to be at most 1 under it, at any stopping time.

    `estimate` is the mean, as in `confidence_sequence`, which has the interval too. `value` is exp(`log`), cut at
    exp(700); `running`, read-only, holds the log after each unit. `pvalue`, one over the largest value so far, is valid
    at any stopping time too.
    """

    estimate: float | None
    null_mean: float
    value: float
    log: float
    pvalue: float
    running: Array
    n: int  # observations
    groups: int  # independent units
    method: str
    reason: str | None = None


def confidence_sequence(
    values: ArrayLike,
    *,
    groups: Groups | None = None,
    largest_group: int | None = None,
    bounds: Bounds = (0.0, 1.0),
    level: float = 0.95,
) -> ConfidenceSequence:
    """Running intervals for the mean of bounded values in the order of collection, valid at any stopping time.

    values: (n,), in any unit of measurement; groups: n labels. With `groups` the unit is a group, in order of first
    appearance; it counts when it is complete, and `lower` and `upper` have one entry a group. A group enters with its
    mean, so that unequal groups weigh the same and the estimate is the mean of group means. With `largest_group`, a
    size fixed before the data that no group exceeds, it enters with its sum and the estimate is the mean of all values;
    the price is as if smaller groups were filled up.

    Intervals are nested: each is the intersection of those before. Should that become empty, which has probability
    1 - level at most while the mean is constant, the last interval stays and `reason` says so. Without values the
    estimate is None. Raises ValueError for values outside `bounds`, masked, missing or no numbers, for groups without
    a value, lengths that differ, or a larger group.
    """
    check_level(level)
    bounds = checked_bounds(bounds)
    n, sums, sizes = _units(values, groups, largest_group, bounds)
    method = f"confidence sequence by betting ({_weighting(groups, largest_group)})"
    if not n:
        return ConfidenceSequence(None, None, 0, 0, method, level, reason="no observations")
    limit = 2 / (1 - level)
    lower, upper = _lower(sums, sizes, limit), 1 - _lower(sizes - sums, sizes, limit)
    reason = None
    if (crossed := lower > upper - 0.5 / _CELLS).any():
        first = int(crossed.argmax())
        lower[first:], upper[first:] = (lower[first - 1], upper[first - 1]) if first else (0.0, 1.0)
        reason = f"no mean agrees with all values from unit {first + 1} on: the mean drifts, or a rare event"
    width = bounds[1] - bounds[0]
    lower, upper = bounds[0] + width * lower, bounds[0] + width * upper
    interval = (float(lower[-1]), float(upper[-1]))
    return ConfidenceSequence(
        _mean(sums, sizes, bounds), interval, n, sums.size, method, level, reason=reason, lower=lower, upper=upper
    )


def e_value(
    values: ArrayLike,
    *,
    null_mean: float,
    alternative: Alternative = "greater",
    groups: Groups | None = None,
    largest_group: int | None = None,
    bounds: Bounds = (0.0, 1.0),
) -> EValue:
    """Wealth of a bet against "the mean is at most `null_mean`" ("less": at least; "two-sided": equal to).

    With a minimum for `null_mean` it is the test of a minimum effect that may be looked at any time. The same bets as
    in `confidence_sequence`, whose interval lies wholly above `null_mean` exactly when the p-value for "greater" is at
    most (1 - level) / 2 (but for the rounding of its limits). "two-sided" averages both sides. Without values it is 1
    and the estimate None. Values and groups as in `confidence_sequence`. Raises ValueError as it does, and for a null
    mean that is not strictly between the bounds or within 1e-300 of their distance from the lower one.
    """
    check_alternative(alternative, ("two-sided", "greater", "less"))
    bounds = checked_bounds(bounds)
    n, sums, sizes = _units(values, groups, largest_group, bounds)
    null = number(null_mean, "the null mean")
    m = (null - bounds[0]) / (bounds[1] - bounds[0])
    if not _LEAST_MEAN < m < 1:
        raise ValueError(f"the null mean must lie strictly between {bounds[0]} and {bounds[1]}, got {null_mean}.")
    if alternative == "greater":
        running = _log_wealth(sums, sizes, m)
    else:
        running = _log_wealth(sizes - sums, sizes, 1 - m)
        if alternative == "two-sided":
            running = np.logaddexp(running, _log_wealth(sums, sizes, m)) - math.log(2)
    method = f"betting e-value ({_weighting(groups, largest_group)})"
    if not n:
        return EValue(None, null, 1.0, 0.0, 1.0, running, 0, 0, method, reason="no observations")
    last, peak = float(running[-1]), float(running.max())
    return EValue(
        _mean(sums, sizes, bounds), null, math.exp(min(last, _LARGEST_LOG)), last, math.exp(-max(peak, 0.0)), running,
        n, sums.size, method,
    )  # fmt: skip


def e_benjamini_hochberg(e_values: ArrayLike, *, level: float = 0.05) -> Rejections:
    """Which hypotheses to reject, the false discovery rate being at most `level` under any dependence.

    e_values: (m,), infinity allowed. Rejects the k largest, for the largest k of which each is at least
    m / (k * level) (Wang & Ramdas 2022, JRSS B 84:822). Raises ValueError for an e-value that is negative, NaN, masked,
    missing or no number.
    """
    e = _checked_e(e_values, level)
    ranked = np.sort(e)[::-1]
    passing = np.flatnonzero(ranked * level >= e.size / np.arange(1, e.size + 1))
    rejected = e >= ranked[passing[-1]] if passing.size else np.zeros(e.size, dtype=np.bool_)
    return Rejections(rejected, "e-BH", level)


def e_lond(e_values: ArrayLike, *, level: float = 0.05) -> Rejections:
    """Which hypotheses of a stream to reject, each decided when it comes; later ones change nothing.

    e_values: (m,), infinity allowed. The t-th is rejected when its e-value is at least 1 / (level * g(t) * (rejections
    so far + 1)), where g(t) = 1 / (t (t + 1)) sums to one. The false discovery rate is at most `level` at every time,
    under any dependence (Xu & Ramdas 2024, "Online multiple testing with e-values"). Put the hypotheses that matter
    most first. Raises ValueError as `e_benjamini_hochberg` does.
    """
    e = _checked_e(e_values, level)
    rejected, count = np.zeros(e.size, dtype=np.bool_), 0
    for place, value in enumerate(e.tolist()):
        rejected[place] = value * level * (count + 1) >= (place + 1) * (place + 2)
        count += int(rejected[place])
    return Rejections(rejected, "e-LOND", level)


def _checked_e(e_values: ArrayLike, level: float) -> Array:
    check_level(level)
    e = numbers(e_values, "e-values", largest=math.inf)
    if (e < 0).any():
        raise ValueError(f"e-values must not be negative, got {e.min()}.")
    return e


def _mean(sums: Array, sizes: Array, bounds: Bounds) -> float:
    return float(bounds[0] + (bounds[1] - bounds[0]) * (sums.sum() / sizes.sum()))


def _weighting(groups: Groups | None, largest_group: int | None) -> str:
    if groups is None:
        return "single values"
    return "group means" if largest_group is None else f"group sums, at most {largest_group} values each"


def _units(
    values: ArrayLike, groups: Groups | None, largest_group: int | None, bounds: Bounds
) -> tuple[int, Array, Array]:
    """The number of values, and for each unit its sum in [0, size] and its size in (0, 1]."""
    x, codes = checked(values, groups, bounds)
    if largest_group is not None:
        largest_group = whole(largest_group, "largest_group", least=1)
        if groups is None:
            raise ValueError("largest_group needs groups.")
    if codes is None or not x.size:
        return x.size, x, np.ones_like(x)
    # In order of first appearance, whatever the labels.
    _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
    codes = np.argsort(np.argsort(first))[codes]
    sums, counts = np.bincount(codes, weights=x), np.bincount(codes)
    if largest_group is None:
        return x.size, sums / counts, np.ones(counts.size)
    if counts.max() > largest_group:
        raise ValueError(f"a group has {counts.max()} values, more than largest_group = {largest_group}.")
    return x.size, sums / largest_group, counts / largest_group


def _log_wealth(sums: Array, sizes: Array, m: float) -> Array:
    """Log of the wealth after each unit, from bets that the mean exceeds m."""
    gains = np.outer(BETS, sums / m - sizes)
    wealth: Array = np.logaddexp.reduce(np.cumsum(np.log1p(gains), axis=1), axis=0) - math.log(len(BETS))
    return wealth


def _lower(sums: Array, sizes: Array, limit: float) -> Array:
    """Running lower limits: after each unit, the largest mean tried against which the wealth has reached `limit`."""
    means = np.arange(1, _CELLS) / _CELLS
    # A larger mean makes every gain smaller, so the means that are ever rejected are the smallest ones.
    rejected, not_rejected = 0, means.size
    while rejected < not_rejected:
        middle = (rejected + not_rejected) // 2
        if _rejected_at(sums, sizes, means[[middle]], limit)[0] < sums.size:
            rejected = middle + 1
        else:
            not_rejected = middle
    lower = np.zeros(sums.size)
    np.maximum.at(lower, _rejected_at(sums, sizes, means[:rejected], limit), means[:rejected])
    return np.maximum.accumulate(lower)


def _rejected_at(sums: Array, sizes: Array, means: Array, limit: float) -> NDArray[np.intp]:
    """For each mean, the place of the unit at which the wealth reaches the limit, or the number of units if never."""
    places = np.full(means.size, sums.size, dtype=np.intp)
    waiting, wealth = np.arange(means.size), np.full((len(BETS), means.size), 1 / len(BETS))
    # Wealth may grow beyond every number after it has reached the limit, within a block.
    with np.errstate(over="ignore"):
        for start in range(0, sums.size, _BLOCK):
            block = slice(start, start + _BLOCK)
            gains = sums[block] / means[waiting, None] - sizes[block]
            total = np.zeros_like(gains)
            for place, bet in enumerate(BETS):
                path = 1 + bet * gains
                path[:, 0] *= wealth[place]
                np.cumprod(path, axis=1, out=path)
                wealth[place] = path[:, -1]
                total += path
            reached = total >= limit
            done = reached.any(axis=1)
            places[waiting[done]] = start + reached[done].argmax(axis=1)
            waiting, wealth = waiting[~done], wealth[:, ~done]
            if not waiting.size:
                break
    return places
