"""Missing values as a result of their own: how often, in which group more, and what they could hide."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recuse.stats.clustered import clustered_mean
from recuse.stats.difference import clustered_difference, test_difference_bound
from recuse.stats.inputs import Groups, encode
from recuse.stats.results import Estimate, OneSided, check_level

Array = NDArray[np.float64]
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
class MissingBounds:
    """What a mean could be for any values in place of the missing ones."""

    estimate: float | None  # over the values that are there
    low: float | None  # every missing value at the lower bound
    high: float | None
    interval: tuple[float, float] | None  # from the lower limit of the low completion to the upper of the high one
    n: int  # values that are there
    missing: int
    groups: int
    method: str
    level: float
    reason: str | None = None


def failure_gap(
    missing: ArrayLike, *, group: Labels, a: Hashable, b: Hashable, cluster: Groups | None = None, level: float = 0.95
) -> FailureGap:
    """Share of missing rows in group a minus the share in group b, by `clustered_difference` with clusters as units.

    `missing`: true where a row has no value. Rows of other groups are left out. p is two-sided and inverts the
    interval. Raises ValueError for lengths that differ or a mask that is not true or false.
    """
    check_level(level)
    mask = _mask(missing)
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
    missing: ArrayLike | None = None,
    *,
    bounds: tuple[float, float],
    groups: Groups | None = None,
    level: float = 0.95,
) -> MissingBounds:
    """The mean over all completions of the missing values, worst and best, with the hull of their intervals.

    Missing are None, masked entries and rows where `missing` is true. Intervals are those of `clustered_mean`, with
    every row counted. Raises ValueError for NaN that is not marked missing, values outside the bounds and lengths that
    differ.
    """
    x, gone = split_missing(values, missing)
    seen = clustered_mean(x[~gone], groups=None if groups is None else encode(groups, x.size)[~gone], bounds=bounds)
    completed = [clustered_mean(np.where(gone, end, x), groups=groups, bounds=bounds, level=level) for end in bounds]
    low, high = completed
    interval = (low.interval[0], high.interval[1]) if low.interval and high.interval else None
    method = low.method if low.method == high.method else f"{low.method} and {high.method}"
    return MissingBounds(
        seen.estimate, low.estimate, high.estimate, interval, int((~gone).sum()), int(gone.sum()), low.groups,
        f"all completions; {method}", level, low.reason,
    )  # fmt: skip


def split_missing(values: ArrayLike, missing: ArrayLike | None) -> tuple[Array, Mask]:
    """Values as floats, 0 where missing, and where that is: None, masked entries, and where `missing` is true."""
    masked = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    raw = np.asarray(np.ma.getdata(values) if masked is not None else values)
    if raw.ndim != 1:
        raise ValueError(f"values must be one-dimensional, got shape {raw.shape}.")
    gone: Mask = np.zeros(raw.size, dtype=np.bool_) if masked is None else masked.copy()
    if raw.dtype == np.object_:
        gone |= np.fromiter((value is None for value in raw), dtype=np.bool_, count=raw.size)
    if missing is not None:
        mask = _mask(missing)
        if mask.shape != raw.shape:
            raise ValueError(f"there are {raw.size} values and {mask.size} entries in the mask of missing ones.")
        gone |= mask
    x = np.where(gone, 0.0, raw).astype(np.float64)
    wrong = ~np.isfinite(x)
    if wrong.any():
        place = int(wrong.argmax())
        raise ValueError(f"value {x[place]} at place {place} is not a finite number; give None for a missing value.")
    return x, gone


def in_groups(group: Labels, n: int, a: Hashable, b: Hashable) -> tuple[Mask, Mask]:
    """Which rows are of group a, and which of group b."""
    if len(group) != n:
        raise ValueError(f"there are {n} values and {len(group)} groups; each value needs one group.")
    if a == b:
        raise ValueError(f"a and b must be different groups, got {a!r} twice.")
    first = np.fromiter((label == a for label in group), dtype=np.bool_, count=n)
    second = np.fromiter((label == b for label in group), dtype=np.bool_, count=n)
    return first, second


def _mask(missing: ArrayLike) -> Mask:
    mask = np.asarray(missing)
    if mask.ndim != 1 or (mask.dtype != np.bool_ and not np.isin(mask, (0, 1)).all()):
        raise ValueError("missing must be one-dimensional and true or false for each row.")
    return mask.astype(np.bool_)
