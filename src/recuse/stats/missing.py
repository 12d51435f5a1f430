"""Missing values as a result of their own: how often, in which group more, and what they could hide."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recuse.stats.clustered import clustered_mean
from recuse.stats.difference import clustered_difference, test_difference_bound
from recuse.stats.inputs import Array, Bounds, Groups, checked_bounds, encode, labelled, marks, number, numbers, within
from recuse.stats.results import Estimate, OneSided, check_level

Mask = NDArray[np.bool_]
Labels = Sequence[Hashable] | NDArray[np.generic]

_SIDES: tuple[OneSided, OneSided] = ("greater", "less")


@dataclass(frozen=True, slots=True)
class FailureGap(Estimate):
    """The failure rate of group a minus that of group b; `estimate` is None where a group has no rows."""

    rate_a: float | None = None
    rate_b: float | None = None
    n_a: int = 0
    n_b: int = 0


@dataclass(frozen=True, slots=True)
class MissingBounds(Estimate):
    """What a statistic could be for any values in place of the missing ones.

    `estimate` is that of the values that are there, `n` their number; `interval` runs from the lower limit of the least
    completion to the upper limit of the greatest, and `pvalue` is the largest over the completions.
    """

    low: float | None = None  # the least that any completion gives
    high: float | None = None
    missing: int = 0


def failure_gap(
    missing: ArrayLike, *, group: Labels, a: Hashable, b: Hashable, cluster: Groups | None = None, level: float = 0.95
) -> FailureGap:
    """Share of missing rows in group a minus the share in group b, by `clustered_difference` with clusters as units.

    `missing`: true where a row has no value. Rows of other groups are left out. p is two-sided and inverts the
    interval. Raises ValueError for lengths that differ or a mask that is not true or false.
    """
    check_level(level)
    mask = marks(missing, None, "missing")
    first, second = in_groups(group, mask.size, a, b)
    clusters = np.arange(mask.size) if cluster is None else encode(cluster, mask.size)
    return failure_gap_of(mask, first, second, clusters, a=a, b=b, level=level)


def failure_gap_of(
    mask: Mask, first: Mask, second: Mask, clusters: NDArray[np.intp], *, a: object, b: object, level: float
) -> FailureGap:
    """The same for the rows where `first` (group a) or `second` (group b) is true."""
    rows = first | second
    x, side, units = mask[rows].astype(np.float64), first[rows], clusters[rows]
    found = clustered_difference(x, side, groups=units, level=level)
    rates = tuple(float(x[s].mean()) if s.any() else None for s in (side, ~side))
    p, reason = None, found.reason
    if found.estimate is None:
        reason = f"no rows in group {b if side.any() else a!r}"
    else:
        above, below = (test_difference_bound(x, side, 0.0, groups=units, alternative=s) for s in _SIDES)
        p = min(1.0, 2 * min(above, below))
    return FailureGap(
        found.estimate, found.interval, found.n, found.groups, found.method, level, p, reason,
        rates[0], rates[1], int(side.sum()), int((~side).sum()),
    )  # fmt: skip


def missing_bounds(
    values: ArrayLike,
    *,
    bounds: Bounds,
    missing: ArrayLike | None = None,
    groups: Groups | None = None,
    level: float = 0.95,
) -> MissingBounds:
    """The mean over all completions of the missing values, worst and best, with the hull of their intervals.

    Missing are None, masked entries and rows where `missing` is true. Intervals are those of `clustered_mean`, with
    every row counted. Worst-case bounds are Manski's (1990, AER 80(2):319). Raises ValueError for NaN that is not
    marked missing, values outside the bounds and lengths that differ.
    """
    x, gone = split_missing(values, missing)
    codes = None if groups is None else encode(groups, x.size)

    def mean(filled: Array, rows: Mask) -> Estimate:
        return clustered_mean(filled, groups=None if codes is None else codes[rows], bounds=bounds, level=level)

    return completion_bounds(x, mean, bounds=bounds, missing=gone)


def completion_bounds(
    values: ArrayLike,
    statistic: Callable[[Array, Mask], Estimate],
    *,
    bounds: Bounds,
    missing: ArrayLike | None = None,
    rises: ArrayLike | None = None,
    null: float = 0.0,
) -> MissingBounds:
    """Worst-case bounds under missing values for any statistic that rises or falls with each single value.

    `statistic(values, rows)` gets the values of the rows that it shall use, and the mask (n,) that picks these rows
    from other columns; it is called with the rows that are there, and twice with all rows: missing values put to the
    bounds so that it is least, and greatest. `rises`: true for each row whose value raises it, false where it falls
    (default: it rises with all). For a difference of rates, say:

        def gap(v, rows):
            return risk_difference(v, exposed[rows], groups=question[rows])

        completion_bounds(values, gap, bounds=(0, 1), rises=exposed)

    and likewise for `stratified_difference` (rises where exposed), the ratio of two rates, or a mean. Kappa is not of
    this kind: what a rating does to it depends on the others. The least and the greatest estimate are sharp (Manski
    1990, AER 80(2):319; Horowitz & Manski 2000, JASA 95:77). The limits around them are those of these two
    completions, and hold the whole range (an interval for the truth alone would be a little narrower: Imbens & Manski
    2004, Econometrica 72:1845). `pvalue` is 1 where some completion gives `null`, else the larger of the two, if the
    statistic has one. Where a completion has no estimate, there is no bound on that side, and `reason` says why.
    Raises ValueError for NaN that is not marked missing, values outside the bounds and lengths that differ.
    """
    low, high = checked_bounds(bounds)
    null = number(null, "the null value")
    x, gone = split_missing(values, missing)
    within(np.where(gone, low, x), (low, high))
    up = np.ones(x.size, dtype=np.bool_) if rises is None else marks(rises, x.size, "rises")
    seen = statistic(x[~gone], ~gone)
    if gone.any():
        least, most = (
            statistic(np.where(gone, np.where(up, first, second), x), np.ones_like(gone))
            for first, second in ((low, high), (high, low))
        )
    else:
        least = most = seen
    told = (least, most) if seen.estimate is not None else (seen, least, most)
    reasons = dict.fromkeys(found.reason for found in told if found.reason)
    methods = " and ".join(dict.fromkeys((least.method, most.method)))
    return MissingBounds(
        seen.estimate,
        (least.interval[0], most.interval[1]) if least.interval and most.interval else None,
        int((~gone).sum()),
        least.groups,
        f"all completions; {methods}",
        seen.level,
        _largest(least, most, null),
        "; ".join(reasons) or None,
        low=least.estimate,
        high=most.estimate,
        missing=int(gone.sum()),
    )


def _largest(least: Estimate, most: Estimate, null: float) -> float | None:
    """The larger p-value of two completions, 1 where the null value lies between them."""
    if least.estimate is None or most.estimate is None or least.pvalue is None or most.pvalue is None:
        return None
    return 1.0 if least.estimate <= null <= most.estimate and least != most else max(least.pvalue, most.pvalue)


def split_missing(values: ArrayLike, missing: ArrayLike | None) -> tuple[Array, Mask]:
    """Values as floats, 0 where missing, and where that is: None, masked entries, and where `missing` is true."""
    if isinstance(values, (list, tuple)):
        values = cast(ArrayLike, [None if x is np.ma.masked else x for x in values])  # numpy would make it NaN
    try:
        raw = np.asarray(np.ma.getdata(values) if np.ma.isMaskedArray(values) else values)
    except ValueError:
        raise ValueError("values must be one-dimensional, got lists of unequal length.") from None
    if raw.ndim != 1:
        raise ValueError(f"values must be one-dimensional, got shape {raw.shape}.")
    gone = np.ma.getmaskarray(values).copy() if np.ma.isMaskedArray(values) else np.zeros(raw.size, dtype=np.bool_)
    if raw.dtype == np.object_:
        gone |= np.fromiter((value is None for value in raw), dtype=np.bool_, count=raw.size)
    if missing is not None:
        gone |= marks(missing, raw.size, "missing")
    filled = raw.copy()
    filled[gone] = 0
    if raw.dtype.kind == "f" and np.isnan(filled).any():
        raise ValueError(f"value nan at place {int(np.isnan(filled).argmax())}; give None for a missing value.")
    return numbers(filled), gone


def in_groups(group: Labels, n: int, a: Hashable, b: Hashable) -> tuple[Mask, Mask]:
    """Which rows are of group a, and which of group b."""
    labels = labelled(group, n, "groups")
    if a == b:
        raise ValueError(f"a and b must be different groups, got {a!r} twice.")
    first = np.fromiter((label == a for label in labels), dtype=np.bool_, count=n)
    second = np.fromiter((label == b for label in labels), dtype=np.bool_, count=n)
    return first, second
