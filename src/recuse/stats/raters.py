"""Agreement of many raters whose identity does not matter: Fleiss' kappa and Krippendorff's alpha.

A row holds the ratings of one unit, in any order; None, NaN and masked entries are missing. Units with fewer than two
ratings say nothing of agreement: they are left out and counted in `missing`. The intervals: `recuse.stats.chance`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recuse.stats.chance import (
    Agreement,
    Array,
    Disagreement,
    as_list,
    checked_labels,
    corrected,
    distances,
    place_labels,
    renumbered,
    scaled_distances,
)
from recuse.stats.inputs import MOST, Groups, numbers
from recuse.stats.results import check_level

Table = Sequence[Sequence[Hashable]] | NDArray[Any]


def fleiss_kappa(
    ratings: Table,
    *,
    counts: bool = False,
    labels: Sequence[Hashable] | None = None,
    groups: Groups | None = None,
    level: float = 0.95,
) -> Agreement:
    """Fleiss' (1971) kappa of the rows' labels, or with `counts` of rows that say how often each label was given.

    ratings: (units, raters), rows of any length; with `counts` (units, labels). Units may have unlike numbers of
    ratings; each weighs the same (with equal numbers it is Fleiss' own, which statsmodels has without an interval). All
    ratings on one label: None (0/0). `groups` name what each row belongs to. Raises ValueError for a rating that is
    not among the labels and for counts that are missing, negative, infinite or not whole.
    """
    check_level(level)
    order, table = _counted(cast(ArrayLike, ratings), labels) if counts else _tabulated(ratings, labels)
    kept = table.sum(axis=1) >= 2
    table = table[kept]
    units = None
    if table.size:
        given = table.sum(axis=1)
        shares = table / given[:, None]
        apart = distances(order, None, ordered=False)
        units = Disagreement(
            units=1 - (table * (table - 1)).sum(axis=1) / (given * (given - 1)),
            sizes=np.ones(len(table)),
            first=shares.mean(axis=0),
            second=shares.mean(axis=0),
            weights=apart,
            chance=apart,
            scores=lambda rows, columns: shares @ (rows + columns),
        )
    method = "Fleiss' kappa, adjusted large-sample interval"
    return _result(units, groups, kept, method, level, order)


def krippendorff_alpha(
    ratings: Table,
    *,
    metric: Literal["nominal", "ordinal", "interval"] = "nominal",
    labels: Sequence[Hashable] | None = None,
    groups: Groups | None = None,
    level: float = 0.95,
) -> Agreement:
    """Krippendorff's alpha (Content Analysis, 3rd ed., 2013, ch. 12): any number of raters, any ratings missing.

    ratings: (units, raters), rows of any length (the krippendorff package has raters in rows, and no interval).
    "ordinal" goes by midranks among all ratings, in the order of `labels`, or of the values where all are numbers;
    "interval" by values, or by places in `labels`. The ordinal interval takes the ranks as known. All ratings equal:
    None (0/0). Raises ValueError for a rating that is not among the labels, and for text or infinite labels under a
    metric that needs an order.
    """
    check_level(level)
    if metric not in ("nominal", "ordinal", "interval"):
        raise ValueError(f"metric must be nominal, ordinal or interval, got {metric!r}.")
    order, table = _tabulated(ratings, labels)
    apart = distances(order, None if metric == "nominal" else "quadratic", ordered=labels is not None)
    kept = table.sum(axis=1) >= 2
    table = table[kept]
    units = None
    if table.size:
        given, totals = table.sum(axis=1), table.sum(axis=0)
        if metric == "ordinal":
            apart = scaled_distances(np.cumsum(totals) - totals / 2, "quadratic")
        shares, n = table / given[:, None], float(given.sum())
        units = Disagreement(
            units=((table @ apart) * table).sum(axis=1) / (given * (given - 1)),
            sizes=given,
            first=totals,
            second=totals,
            weights=apart,
            chance=apart,
            scores=lambda rows, columns: shares @ (rows + columns),
            correction=n / (n - 1),
        )
    method = f"Krippendorff's alpha ({metric}), adjusted large-sample interval"
    return _result(units, groups, kept, method, level, order)


def _result(
    units: Disagreement | None,
    groups: Groups | None,
    kept: NDArray[np.bool_],
    method: str,
    level: float,
    labels: list[Hashable],
) -> Agreement:
    only = next((label for label, share in zip(labels, units.first, strict=True) if share), None) if units else None
    return corrected(
        units,
        renumbered(groups, kept),
        method,
        level,
        labels=labels,
        missing=int(kept.size - kept.sum()),
        undefined="no unit has two ratings" if units is None else f"every rating is {only!r}",
    )


def _tabulated(ratings: Table, labels: Sequence[Hashable] | None) -> tuple[list[Hashable], Array]:
    """The labels and how often each was given to each unit."""
    if not hasattr(ratings, "__len__"):
        raise ValueError(f"ratings must be a table, one row a unit, got {ratings!r:.40}.")
    rows = [as_list(row) for row in ratings]
    order, codes = place_labels([[rating for row in rows for rating in row]], labels)
    unit = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    given = codes[0] >= 0
    cells = unit[given] * len(order) + codes[0][given]
    table = np.bincount(cells, minlength=len(rows) * len(order)).reshape(len(rows), len(order))
    return order, table.astype(np.float64)


def _counted(counts: ArrayLike, labels: Sequence[Hashable] | None) -> tuple[list[Hashable], Array]:
    try:
        table: NDArray[Any] = numbers(np.ravel(counts), "counts").reshape(np.shape(counts))
    except ValueError as error:
        raise ValueError(f"counts must be whole numbers in rows of equal length: {error}") from None
    if table.ndim != 2 or not ((table >= 0) & (table <= MOST) & (table == np.round(table))).all():
        raise ValueError("counts must be whole numbers, not negative, in rows of equal length.")
    order: list[Hashable] = list(range(table.shape[1])) if labels is None else checked_labels(labels)
    if len(order) != table.shape[1]:
        raise ValueError(f"there are {table.shape[1]} columns of counts and {len(order)} labels.")
    return order, table
