"""Judgements as columns, and the per-pair values that all findings are computed from. The unit is the group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recuse.types import Judgement

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

_ERROR = {"chosen": 0.0, "rejected": 1.0, "tie": 0.5, None: 0.0}
_ORDERS = {"AB": 0, "BA": 1, "-": 2}


@dataclass(frozen=True)
class PerPair:
    """One value a pair. `value` is the mean over what was answered (0 where nothing was, see `answered`); `high` and
    `low` replace every missing verdict by the largest and the smallest value it could have had."""

    value: Floats
    answered: Bools
    high: Floats
    low: Floats
    groups: Ints

    def where(self, mask: Bools) -> PerPair:
        return PerPair(self.value[mask], self.answered[mask], self.high[mask], self.low[mask], self.groups[mask])


@dataclass(frozen=True)
class Table:
    """One row a judgement. `error`: 1 wrong, 0 right, 0.5 tie (0 where missing). `first`: 1 prefers the answer shown
    first, 0 the second, 0.5 tie. `order`: 0 chosen first, 1 rejected first, 2 one answer at a time."""

    pair: Ints  # index into `pairs`
    order: Ints
    repeat: Ints
    error: Floats
    missing: Bools
    tie: Bools
    fresh: Bools
    reasons: Sequence[str | None]
    logit: Floats
    has_logit: Bools
    outside: Floats
    has_outside: Bools
    pairs: Sequence[str]
    group_of: Ints  # by pair
    domain_of: Sequence[str | None]  # by pair
    lengths: tuple[Floats, Floats] | None  # characters of the chosen and the rejected answer, by pair
    deterministic: bool = False  # greedy decoding: a repeated call would return the same reply
    gold: bool = True  # whether it is known which answer is better

    @classmethod
    def build(
        cls,
        judgements: Sequence[Judgement],
        *,
        domains: Mapping[str, str | None] | None = None,
        lengths: Mapping[str, tuple[int, int]] | None = None,
        deterministic: bool = False,
        gold: bool = True,
    ) -> Table:
        """Columns of `judgements`; `lengths` are used when they cover every pair."""
        pairs: dict[str, int] = {}
        group_codes: dict[str, int] = {}
        group_of: list[int] = []
        for j in judgements:
            if j.pair not in pairs:
                pairs[j.pair] = len(pairs)
                group_of.append(group_codes.setdefault(j.group, len(group_codes)))
        known = lengths is not None and all(pair in lengths for pair in pairs)
        sides = np.array([lengths[pair] for pair in pairs], dtype=float).reshape(-1, 2) if known and lengths else None
        return cls(
            pair=np.array([pairs[j.pair] for j in judgements], dtype=np.int64),
            order=np.array([_ORDERS[j.order] for j in judgements], dtype=np.int64),
            repeat=np.array([j.repeat for j in judgements], dtype=np.int64),
            error=np.array([_ERROR[j.prefers] for j in judgements], dtype=float),
            missing=np.array([j.prefers is None for j in judgements], dtype=bool),
            tie=np.array([j.prefers == "tie" for j in judgements], dtype=bool),
            fresh=np.array([j.fresh for j in judgements], dtype=bool),
            reasons=[j.reason for j in judgements],
            logit=np.array([j.logit or 0.0 for j in judgements], dtype=float),
            has_logit=np.array([j.logit is not None for j in judgements], dtype=bool),
            outside=np.array([j.outside or 0.0 for j in judgements], dtype=float),
            has_outside=np.array([j.outside is not None for j in judgements], dtype=bool),
            pairs=list(pairs),
            group_of=np.array(group_of, dtype=np.int64),
            domain_of=[(domains or {}).get(pair) for pair in pairs],
            lengths=(sides[:, 0], sides[:, 1]) if sides is not None else None,
            deterministic=deterministic,
            gold=gold,
        )

    @property
    def n(self) -> int:
        return len(self.pairs)

    @cached_property
    def first(self) -> Floats:
        return np.where(self.order == 0, 1.0 - self.error, self.error)

    def rows(self, order: int) -> Bools:
        rows: Bools = self.order == order
        return rows

    @cached_property
    def both(self) -> Bools:
        """By pair: asked in both orders (whether or not an answer came)."""
        asked = np.zeros((2, self.n), dtype=bool)
        for order in (0, 1):
            asked[order, self.pair[self.rows(order)]] = True
        both: Bools = asked[0] & asked[1]
        return both

    def per_pair(self, values: Floats, *, low: float = 0.0, high: float = 1.0, rows: Bools | None = None) -> PerPair:
        """Mean of `values` by pair: over the repeats of each order, then over the orders, so that an order that
        answered more often weighs no more. Missing verdicts count `high` and `low` in the fields of those names."""
        kept = np.ones(len(values), dtype=bool) if rows is None else rows
        filled = [np.where(self.missing, missing, values) for missing in (0.0, high, low)]
        weights = [kept & ~self.missing, kept, kept]
        (mean, answered), (upper, asked), (lower, _) = (
            self.mean_by_order(v, w) for v, w in zip(filled, weights, strict=True)
        )
        return PerPair(mean[asked], answered[asked], upper[asked], lower[asked], self.group_of[asked])

    def mean_by_order(self, values: Floats, kept: Bools | None = None) -> tuple[Floats, Bools]:
        """By pair: the mean over each order's kept rows, averaged over the orders that have any; whether any has."""
        kept = np.ones(len(values), dtype=bool) if kept is None else kept
        total, orders = np.zeros(self.n), np.zeros(self.n)
        for order in range(3):
            rows = kept & self.rows(order)
            if not rows.any():
                continue
            count = np.bincount(self.pair[rows], minlength=self.n)
            sums = np.bincount(self.pair[rows], weights=values[rows], minlength=self.n)
            total += np.divide(sums, count, out=np.zeros(self.n), where=count > 0)
            orders += count > 0
        return np.divide(total, orders, out=np.zeros(self.n), where=orders > 0), orders > 0

    def matched(self) -> tuple[Ints, Ints, Ints]:
        """Row numbers (AB, BA) and pair of every repeat that was asked in both orders."""
        rows: list[dict[tuple[int, int], int]] = [{}, {}]
        for i in np.flatnonzero(self.order < 2):
            rows[self.order[i]][int(self.pair[i]), int(self.repeat[i])] = int(i)
        keys = [key for key in rows[0] if key in rows[1]]
        triples = [(rows[0][key], rows[1][key], key[0]) for key in keys]
        columns: NDArray[Any] = np.array(triples, dtype=np.int64).reshape(-1, 3)
        return columns[:, 0], columns[:, 1], columns[:, 2]
