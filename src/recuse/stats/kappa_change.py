"""How much kappa with the same reference has changed between two sets of ratings of the same units."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from recuse.stats.agreement import Ratings
from recuse.stats.chance import as_list, place_labels
from recuse.stats.inputs import Groups, encode
from recuse.stats.results import Estimate, check_level

_METHOD = "difference of two kappas, leave-one-group-out (jackknife), Student's t"


def kappa_change(
    before: Ratings,
    after: Ratings,
    reference: Ratings,
    *,
    groups: Groups | None = None,
    labels: Sequence[Hashable] | None = None,
    level: float = 0.95,
) -> Estimate:
    """Cohen's kappa of `after` with `reference` minus that of `before`, paired, on units with all three ratings.

    before, after, reference: one label a unit (n,), in the same order; groups: what each unit belongs to. The interval
    is from leave-one-group-out differences (Efron & Tibshirani 1993, chapter 11), whose pairing takes out what both
    share. Measured coverage of the 95 % interval: 0.95 to 0.96 at 60 units, 0.95 to 0.97 at 200 (1,000 samples each,
    also in groups of two). Where no rating changed the difference is 0 and there is no interval, since nothing says how
    many would on other units. Raises ValueError for lengths that differ and a rating that is not among the labels.
    """
    check_level(level)
    raters = [as_list(before), as_list(after), as_list(reference)]
    if len({len(rater) for rater in raters}) > 1:
        raise ValueError(f"the raters gave {', '.join(str(len(rater)) for rater in raters)} ratings.")
    order, codes = place_labels(raters, labels)
    kept = np.all([c >= 0 for c in codes], axis=0)
    n, size = int(kept.sum()), len(order)
    units = np.arange(kept.size) if groups is None else encode(groups, kept.size)
    if not n:
        return Estimate(None, None, 0, 0, _METHOD, level, reason="no unit has all three ratings")
    unit = np.unique(units[kept], return_inverse=True)[1].reshape(-1)
    count = int(unit.max()) + 1
    old, new, known = (c[kept] for c in codes)
    tables = [
        np.bincount((unit * size + first) * size + known, minlength=count * size * size).reshape(count, size, size)
        for first in (old, new)
    ]
    whole = [_kappas(table.sum(axis=0)[None]) for table in tables]
    if whole[0] is None or whole[1] is None:
        return Estimate(None, None, n, count, _METHOD, level, reason="undefined (0/0): both raters gave one label only")
    estimate = float(whole[1][0] - whole[0][0])
    if (old == new).all():
        return Estimate(0.0, None, n, count, _METHOD, level, reason="no rating changed")
    without = [_kappas(table.sum(axis=0)[None] - table) for table in tables]
    if count < 2 or without[0] is None or without[1] is None:
        return Estimate(estimate, None, n, count, _METHOD, level, reason="too few groups for an interval")
    gaps = without[1] - without[0]
    error = float(np.sqrt((count - 1) / count * ((gaps - gaps.mean()) ** 2).sum()))
    reach = float(stdtrit(count - 1, (1 + level) / 2)) * error
    return Estimate(estimate, (max(estimate - reach, -2.0), min(estimate + reach, 2.0)), n, count, _METHOD, level)


def _kappas(tables: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """Kappa of each table (tables, labels, labels); None where any is undefined."""
    total = tables.sum(axis=(1, 2)).astype(np.float64)
    observed = np.trace(tables, axis1=1, axis2=2) * total
    expected = (tables.sum(axis=2) * tables.sum(axis=1)).sum(axis=1)
    room = total**2 - expected
    if (room <= 0).any():
        return None
    kappas: NDArray[np.float64] = (observed - expected) / room
    return kappas
