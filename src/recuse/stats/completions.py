"""Worst-case bounds under missing data for kappa and for the ratio of two rates: over all completions.

Means, differences and whatever rises or falls with each single value: `recuse.stats.missing`. No library is known to
have the bounds of kappa.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import ArrayLike

from recuse.stats.agreement import Ratings, cohen_kappa
from recuse.stats.chance import Array, Codes, Metric, as_list, distances, place_labels
from recuse.stats.inputs import Groups, encode, marks
from recuse.stats.missing import Mask, MissingBounds, completion_bounds, split_missing
from recuse.stats.rates import clustered_impact_ratio
from recuse.stats.results import Estimate

_MOST = 4_000_000  # entries of the table of ways that is gone through at once
_EXACT = 1e-12  # a gain in D over E a pair that is rounding


def impact_ratio_bounds(
    values: ArrayLike,
    exposed: ArrayLike,
    *,
    missing: ArrayLike | None = None,
    groups: Groups | None = None,
    level: float = 0.95,
) -> MissingBounds:
    """`clustered_impact_ratio` over all completions of the missing values (None, masked, or where `missing` is true).

    It is least where every missing value is 0 among the exposed and 1 among the others, and greatest the other way
    round (Manski 1990, AER 80(2):319). A side on which the reference rate becomes 0 has no bound: None with the reason.
    `exposed` may not be missing. p is 1 where a ratio of 1 is among the completions, else the larger of both. Raises
    ValueError as that function does, and for NaN that is not marked missing.
    """
    x, gone = split_missing(values, missing)
    side = marks(exposed, x.size, "exposed")
    codes = None if groups is None else encode(groups, x.size)

    def ratio(filled: Array, rows: Mask) -> Estimate:
        own = None if codes is None else codes[rows]
        return clustered_impact_ratio(filled, side[rows], groups=own, level=level)

    return completion_bounds(x, ratio, bounds=(0.0, 1.0), missing=gone, rises=side, null=1.0)


def kappa_bounds(
    first: Ratings,
    second: Ratings,
    *,
    weights: Metric = None,
    groups: Groups | None = None,
    labels: Sequence[Hashable] | None = None,
    level: float = 0.95,
) -> MissingBounds:
    """The least and the greatest `cohen_kappa` that any labels in place of the missing ratings give, both exactly.

    Missing ratings may be any of `labels` (default: those that occur), also where both raters have none. Completions
    on which kappa is undefined are left out; where that is all, or a table of more than four million ways would have to
    be gone through (both raters have gaps, and there are many labels or many pairs without any rating), both bounds
    are None with the reason. `n` counts the pairs with both ratings, of which `estimate` is, `missing` the others. The
    interval runs from the lower limit of the least completion to the upper limit of the greatest. Raises ValueError as
    `cohen_kappa` does.

    How: kappa is 1 - D/E, and with one rater's labels known D and E are linear in the other's. So for every way to fill
    one rater's gaps (pairs with the same other label go together, since the best value is convex in their shares), the
    other's follow from a linear-fractional programme, solved by Dinkelbach's steps (1967, Management Science 13:492).
    """
    seen = cohen_kappa(first, second, weights=weights, groups=groups, labels=labels, level=level)
    order, (a, b) = place_labels([as_list(first), as_list(second)], labels)
    method = f"all completions; {seen.method}"

    def result(ends: Sequence[Estimate], reason: str | None) -> MissingBounds:
        limits = [end.interval for end in ends if end.interval]
        reason = reason or (seen.reason if seen.estimate is None else None)
        units = ends[0].groups if ends else a.size if groups is None else len(set(encode(groups, a.size).tolist()))
        return MissingBounds(
            seen.estimate, (limits[0][0], limits[1][1]) if len(limits) == 2 else None, seen.n, units, method, level,
            reason=reason, missing=seen.missing,
            low=ends[0].estimate if ends else None, high=ends[1].estimate if ends else None,
        )  # fmt: skip

    if not seen.missing:
        return result([seen, seen], seen.reason)
    if len(order) < 2:
        return result([], "undefined (0/0): fewer than two labels are known; pass all that could be given")
    completed = _extremes(a, b, distances(order, weights, ordered=labels is not None))
    if completed is None:
        return result([], "both raters have gaps, and there are too many ways to fill them")
    ends = [
        cohen_kappa(*([order[i] for i in x] for x in pair), weights=weights, groups=groups, labels=order, level=level)
        for pair in completed
    ]
    return result(ends, ends[0].reason or ends[1].reason)


def _extremes(a: Codes, b: Codes, apart: Array) -> list[tuple[Codes, Codes]] | None:
    """The completions of least and of greatest kappa; -1 is missing. None where there are too many ways."""
    size = len(apart)
    gaps = [np.bincount(known[(other < 0) & (known >= 0)], minlength=size) for known, other in ((a, b), (b, a))]
    neither = int(((a < 0) & (b < 0)).sum())
    turned = _ways(gaps[1], neither) < _ways(gaps[0], neither)
    if min(_ways(gap, neither) for gap in gaps) * size**2 > _MOST:
        return None
    x, y = (b, a) if turned else (a, b)
    fill = _Fill.of(x, y, apart, gaps[turned], neither)
    worst, ratio = fill.search(1, 0.0, None)
    best, _ = fill.search(-1, ratio, worst)
    found = [fill.completed(*worst), fill.completed(*best)]
    return [(y, x) for x, y in found] if turned else found


def _ways(gaps: Codes, neither: int) -> int:
    """How many ways there are to fill one rater's gaps: a label for each kind of pair, and counts for the rest."""
    size = gaps.size
    return int(size ** int((gaps > 0).sum())) * math.comb(neither + size - 1, size - 1)


@dataclass(frozen=True, slots=True)
class _Fill:
    """All ways to fill y's gaps, one a row; x's follow."""

    x: Codes
    y: Codes
    apart: Array
    to: Codes  # (ways, labels): what y's gaps beside each label of x become
    spare: Codes  # (ways, labels): how many of the pairs without any rating get each label from y

    @classmethod
    def of(cls, x: Codes, y: Codes, apart: Array, gaps: Codes, neither: int) -> _Fill:
        size = len(apart)
        choices = np.array(list(product(*(range(size if gap else 1) for gap in gaps))), dtype=np.intp)
        # Stars and bars: where the size - 1 bars stand among the pairs.
        bars = np.array(list(combinations(range(neither + size - 1), size - 1)), dtype=np.intp)
        counts = np.diff(bars, axis=1, prepend=-1, append=neither + size - 1) - 1
        return cls(x, y, apart, np.repeat(choices, len(counts), axis=0), np.tile(counts, (len(choices), 1)))

    def search(self, sign: int, ratio: float, best: tuple[int, Codes] | None) -> tuple[tuple[int, Codes], float]:
        """The way and x's labels beside each of y's for which D/E is largest (smallest for -1), and that D/E.

        Starts from a `ratio` that the way `best` reaches; without one from 0, which is under the largest.
        """
        size, n, apart = len(self.apart), self.x.size, self.apart
        x_known, y_known = self.x >= 0, self.y >= 0
        both = x_known & y_known
        table = np.bincount(self.x[both] * size + self.y[both], minlength=size * size).reshape(size, size)
        x_alone, y_alone = (
            np.bincount(codes[alone], minlength=size)
            for codes, alone in ((self.x, x_known & ~y_known), (self.y, y_known & ~x_known))
        )
        filled = x_alone * np.eye(size)[self.to].swapaxes(1, 2)  # (ways, label of y, label of x)
        open_pairs = y_alone + self.spare
        y_totals = table.sum(axis=0) + open_pairs + filled.sum(axis=2)
        costs = y_totals @ apart / n  # (ways, label of x): what one more such label adds to E
        fixed = float((table * apart).sum()) + (filled * apart).sum(axis=(1, 2))
        expected = costs @ (table.sum(axis=1) + x_alone)
        while True:
            picks = (sign * (apart - ratio * costs[:, :, None])).argmax(axis=1)
            observed = fixed + (open_pairs * apart[picks, np.arange(size)]).sum(axis=1)
            chance = expected + (open_pairs * np.take_along_axis(costs, picks, axis=1)).sum(axis=1)
            gain = sign * (observed - ratio * chance)
            way = int(gain.argmax())
            if best is not None and gain[way] <= _EXACT * n:
                return best, ratio
            best, ratio = (way, picks[way]), float(observed[way] / chance[way])

    def completed(self, way: int, picks: Codes) -> tuple[Codes, Codes]:
        x, y = self.x.copy(), self.y.copy()
        neither = (x < 0) & (y < 0)
        y[(x >= 0) & (y < 0)] = self.to[way][x[(x >= 0) & (y < 0)]]
        y[neither] = np.repeat(np.arange(len(self.apart)), self.spare[way])
        x[x < 0] = picks[y[x < 0]]
        return x, y
