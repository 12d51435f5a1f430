"""Rows of a counterfactual design laid out by template (and stratum): means, gaps and weights per cell."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from recuse.stats.inputs import HUGE, Array, Bounds, Codes, checked_bounds, encode, labelled, numbers, within
from recuse.stats.missing import Labels, Mask, split_missing
from recuse.stats.sample import Sample, sample


@dataclass(frozen=True, slots=True)
class TemplateGap:
    """One template (in one stratum, where there are strata); `gap` is None unless both groups have values."""

    template: Hashable
    stratum: Hashable | None
    n_a: int  # rows with a value
    n_b: int
    mean_a: float | None
    mean_b: float | None
    gap: float | None


@dataclass(frozen=True, slots=True)
class NameMean:
    """Plain mean of the rows that bear one name in one group."""

    name: Hashable
    group: Hashable
    n: int  # rows with a value
    missing: int
    mean: float | None


@dataclass(frozen=True, slots=True)
class Rows:
    """Checked rows; `cell` numbers the template, or the template within a stratum."""

    x: Array
    gone: Mask
    weight: Array
    template: Labels
    stratum: Labels | None
    name: Labels | None
    cell: Codes
    bounds: Bounds | None

    @classmethod
    def of(
        cls,
        values: ArrayLike,
        template: Labels,
        name: Labels | None,
        weight: ArrayLike | None,
        stratum: Labels | None,
        missing: ArrayLike | None,
        bounds: Bounds | None,
    ) -> Rows:
        x, gone = split_missing(values, missing)
        n = x.size
        template = listed(template, n, "templates")
        name = None if name is None else listed(name, n, "names")
        stratum = None if stratum is None else listed(stratum, n, "strata")
        w = np.ones(n) if weight is None else numbers(weight, "weight")
        if w.shape != x.shape or not (w >= 1 / HUGE).all():
            raise ValueError(f"weight must be one number for each value, positive and not under {1 / HUGE:g}.")
        if bounds is not None:
            bounds = checked_bounds(bounds)
            within(np.where(gone, bounds[0], x), bounds)
        cell = encode(template, n) if stratum is None else encode(list(zip(template, stratum, strict=True)), n)
        return cls(x, gone, w, template, stratum, name, cell, bounds)


@dataclass(frozen=True, slots=True)
class Cells:
    """The rows of two groups by cell."""

    cell: Codes  # of each row
    side: Mask  # whether the row is of the first group
    weight: Array  # of each row
    labels: tuple[tuple[Hashable, Hashable | None], ...]  # template and stratum of each cell
    template: Codes  # of each cell
    stratum: Codes  # of each cell

    @classmethod
    def of(cls, rows: Rows, kept: Codes, side: Mask) -> Cells:
        _, place, cell = np.unique(rows.cell[kept], return_index=True, return_inverse=True)
        strata: Labels = [None] * rows.x.size if rows.stratum is None else rows.stratum
        labels = tuple((rows.template[row], strata[row]) for row in kept[place].tolist())
        template = encode([label[0] for label in labels], len(labels))
        stratum = (
            np.zeros(len(labels), dtype=np.intp)
            if rows.stratum is None
            else encode([label[1] for label in labels], len(labels))
        )
        return cls(cell.reshape(-1).astype(np.intp), side, rows.weight[kept], labels, template, stratum)

    def gaps(self, x: Array, there: Mask) -> tuple[Array, Mask]:
        """First minus second mean of each cell, and in which cells both exist."""
        (mean_a, n_a), (mean_b, n_b) = self.means(x, there)
        return mean_a - mean_b, (n_a > 0) & (n_b > 0)

    def sample(self, gaps: Array, usable: Mask, bounds: Bounds | None) -> Sample:
        """The gaps of the usable cells, with templates as units and the weights of their strata."""
        g = gaps[usable]
        span = None if bounds is None else (bounds[0] - bounds[1], bounds[1] - bounds[0])
        if span is not None:
            g = np.clip(g, *span)  # a mean may leave the bounds by a rounding
        data = sample(g, groups=self.template[usable], bounds=span, weights=self.shares(usable))
        assert data is not None
        return data

    def template_sums(self, gaps: Array, usable: Mask) -> Array:
        """One weighted sum of gaps for each template with a usable cell."""
        sums = np.bincount(self.template[usable], self.shares(usable) * gaps[usable])
        return np.asarray(sums[np.unique(self.template[usable])], dtype=np.float64)

    def templates_without(self, usable: Mask) -> tuple[Hashable, ...]:
        used = set(self.template[usable].tolist())
        names = {code: label[0] for code, label in zip(self.template.tolist(), self.labels, strict=True)}
        return tuple(name for code, name in names.items() if code not in used)

    def table(self, x: Array, there: Mask) -> tuple[TemplateGap, ...]:
        columns = [column.tolist() for mean_and_count in self.means(x, there) for column in mean_and_count]
        table = []
        for (template, stratum), mean_a, k, mean_b, m in zip(self.labels, *columns, strict=True):
            gap = mean_a - mean_b if k and m else None
            table.append(TemplateGap(template, stratum, k, m, mean_a if k else None, mean_b if m else None, gap))
        return tuple(table)

    def means(self, x: Array, there: Mask) -> list[tuple[Array, Codes]]:
        """For each group the mean in each cell, 0 where it has no values, and the number of values."""
        result, cells = [], len(self.labels)
        for rows in (self.side & there, ~self.side & there):
            cell, w = self.cell[rows], self.weight[rows]
            total, size = np.bincount(cell, w * x[rows], cells), np.bincount(cell, w, cells)
            means = np.divide(total, size, out=np.zeros(cells), where=size > 0)
            result.append((means, np.bincount(cell, minlength=cells)))
        return result

    def shares(self, usable: Mask) -> Array:
        """The weight of each usable cell: its stratum's rows divided among the stratum's usable cells; mean 1."""
        if (self.stratum == 0).all():
            return np.ones(int(usable.sum()))
        rows, stratum = np.bincount(self.stratum[self.cell]), self.stratum[usable]
        shares = rows[stratum] / np.bincount(stratum)[stratum]
        return np.asarray(shares / shares.mean(), dtype=np.float64)


def name_means(rows: Rows, sides: Sequence[tuple[Hashable, Mask]]) -> tuple[NameMean, ...]:
    """One mean for each name in each group, in order of appearance."""
    if rows.name is None:
        return ()
    means = []
    for group, side in sides:
        where = np.flatnonzero(side)
        labels = [rows.name[row] for row in where.tolist()]
        codes, there = encode(labels, len(labels)), ~rows.gone[where]
        counts, n = np.bincount(codes).tolist(), np.bincount(codes, there).astype(int).tolist()
        totals = np.bincount(codes, rows.x[where] * there).tolist()
        for name, count, k, total in zip(dict.fromkeys(labels), counts, n, totals, strict=True):
            means.append(NameMean(name, group, k, count - k, total / k if k else None))
    return tuple(means)


def listed(labels: Labels, n: int, what: str) -> list[Hashable]:
    """The labels by position (a pandas Series would be read by its index), as Python's own values."""
    found = labelled(labels, n, what)
    return found.tolist() if isinstance(found, np.ndarray) else found
