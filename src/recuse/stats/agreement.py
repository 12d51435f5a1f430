"""Agreement of two raters on the same units: confusion table, Cohen's kappa, Gwet's AC1.

What is undefined is None with the reason; one constant rater gives kappa 0 by the formula and is flagged. A pair with a
rating missing (None, NaN, masked) is left out and counted in `missing`; what such pairs could change is in
`recuse.stats.completions`. The intervals: `recuse.stats.chance`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recuse.stats.chance import (
    Agreement,
    Array,
    Codes,
    Disagreement,
    Metric,
    as_list,
    corrected,
    distances,
    place_labels,
    renumbered,
)
from recuse.stats.inputs import Groups
from recuse.stats.results import Arrays, check_level

Ratings = Sequence[Hashable] | NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class ConfusionTable(Arrays):
    """How often the first rater gave the row's label and the second the column's."""

    labels: tuple[Hashable, ...]
    counts: NDArray[np.int64]
    missing: int  # pairs left out because a rating is missing

    @property
    def n(self) -> int:
        return int(self.counts.sum())


def confusion_table(first: Ratings, second: Ratings, *, labels: Sequence[Hashable] | None = None) -> ConfusionTable:
    """Counts of label pairs (labels, labels), rows the first rater's, as scikit-learn has them.

    first, second: one label a pair (n,), in the same order. `labels` fixes their order and adds those that do not
    occur. Raises ValueError for lengths that differ and for a rating that is not among the labels.
    """
    pairs = _Pairs.of(first, second, None, labels)
    size = len(pairs.labels)
    counts = np.bincount(pairs.first * size + pairs.second, minlength=size * size).reshape(size, size)
    return ConfusionTable(tuple(pairs.labels), counts.astype(np.int64), pairs.missing)


def cohen_kappa(
    first: Ratings,
    second: Ratings,
    *,
    weights: Metric = None,
    groups: Groups | None = None,
    labels: Sequence[Hashable] | None = None,
    level: float = 0.95,
) -> Agreement:
    """Cohen's (1960) kappa, or his weighted one (1968), with an interval in which the group is the unit.

    first, second: one label a pair (n,), in the same order; groups: what each pair belongs to. scikit-learn has the
    estimate, statsmodels the large-sample interval that is adjusted here. Weights go by the labels' values where all
    are numbers (a rating of 3 that nobody gave still lies between 2 and 4; scikit-learn goes by place), else by their
    place in `labels`, which text then needs. Measured coverage of the 95 % interval (`recuse.stats.chance` says how it
    is made): 0.96 to 0.99 at 50 pairs with a label at 0.9; at least 0.93 from 20 pairs on with two to five labels, and
    in groups; 0.88 at 20 pairs with ten labels.

    Both raters constant on one label: None (0/0). One constant rater: 0, flagged. Raises ValueError for lengths that
    differ, a rating that is not among the labels, and labels without an order, or infinite ones, under weights.
    """
    check_level(level)
    if weights not in (None, "linear", "quadratic"):
        raise ValueError(f"weights must be linear, quadratic or None, got {weights!r}.")
    pairs = _Pairs.of(first, second, groups, labels)
    method = f"Cohen's kappa{f' ({weights} weights)' if weights else ''}, adjusted large-sample interval"
    apart = distances(pairs.labels, weights, ordered=labels is not None)
    zero = ", so that kappa is 0 by the formula"
    return pairs.agreement(apart, apart, method, level, pooled=False, constant=zero, undefined="")


def gwet_ac1(
    first: Ratings,
    second: Ratings,
    *,
    groups: Groups | None = None,
    labels: Sequence[Hashable] | None = None,
    level: float = 0.95,
) -> Agreement:
    """Gwet's (2008, Br J Math Stat Psychol 61:29) AC1: its chance agreement is low where one label is rare, so that
    prevalence does not press it to 0. None of scipy, statsmodels and scikit-learn has it.

    first, second: one label a pair (n,). Interval, groups and missing ratings as in `cohen_kappa`. Constant raters are
    flagged; where only one label is known, AC1 is None (it needs the number of labels that could have been given: pass
    `labels`). Raises ValueError for lengths that differ and a rating that is not among the labels.
    """
    check_level(level)
    pairs = _Pairs.of(first, second, groups, labels)
    size = len(pairs.labels)
    # 1 - sum of p (1 - p) / (size - 1) as a form in the shares p, which sum to 1. With one label there is no such form.
    chance = (size - 2 + np.eye(size)) / (size - 1) if size > 1 else np.zeros((size, size))
    method, more = "Gwet's AC1, adjusted large-sample interval", ", the only label known: pass all that could be given"
    return pairs.agreement(1 - np.eye(size), chance, method, level, pooled=True, constant="", undefined=more)


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Pairs with both ratings, as places among the labels."""

    labels: list[Hashable]
    first: Codes
    second: Codes
    groups: Codes | None
    missing: int

    @classmethod
    def of(cls, first: Ratings, second: Ratings, groups: Groups | None, labels: Sequence[Hashable] | None) -> _Pairs:
        raters = [as_list(first), as_list(second)]
        if len(raters[0]) != len(raters[1]):
            counts = " and ".join(str(len(rater)) for rater in raters)
            raise ValueError(f"the raters gave {counts} ratings; each unit needs one of both.")
        order, (a, b) = place_labels(raters, labels)
        kept = (a >= 0) & (b >= 0)
        return cls(order, a[kept], b[kept], renumbered(groups, kept), int(a.size - kept.sum()))

    @property
    def both(self) -> tuple[Codes, Codes]:
        return self.first, self.second

    def constants(self) -> str | None:
        """Who gave one label only, in words."""
        raters = zip(("first", "second"), self.both, strict=True)
        only = [(name, self.labels[codes[0]]) for name, codes in raters if codes.size and (codes == codes[0]).all()]
        if len(only) == 2 and only[0][1] == only[1][1]:
            return f"both raters gave only {only[0][1]!r}"
        return " and ".join(f"the {name} rater gave only {label!r}" for name, label in only) or None

    def agreement(
        self, apart: Array, chance: Array, method: str, level: float, *, pooled: bool, constant: str, undefined: str
    ) -> Agreement:
        """1 - D/E; `pooled` takes the labels' shares of both raters together for chance.

        `constant` and `undefined` end the sentence that names a constant rater.
        """
        units = None
        if self.first.size:
            first, second = (np.bincount(codes, minlength=len(self.labels)).astype(np.float64) for codes in self.both)
            if pooled:
                first = second = first + second
            units = Disagreement(
                units=apart[self.first, self.second],
                sizes=np.ones(self.first.size),
                first=first,
                second=second,
                weights=apart,
                chance=chance,
                scores=lambda rows, columns: rows[self.first] + columns[self.second],
            )
        only = self.constants()
        return corrected(
            units,
            self.groups,
            method,
            level,
            labels=self.labels,
            missing=self.missing,
            constant=only and only + constant,
            undefined=only + undefined if only else "no pair has both ratings",
        )
