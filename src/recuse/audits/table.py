"""Judgements as columns, and the per-pair values that all findings are computed from. The unit is the group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from recuse.columns import BOUNDED, FRESH, HAS_LOGIT, HAS_OUTSIDE, ORDERS, PREFERS, Judgements, as_arrow
from recuse.types import Judgement

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

_ERROR = np.array([{"chosen": 0.0, "rejected": 1.0, "tie": 0.5, None: 0.0}[preference] for preference in PREFERS])
AB, BA = ORDERS.index("AB"), ORDERS.index("BA")


@dataclass(frozen=True)
class PerPair:
    """One value a pair. `value` is the mean over what was answered; `answered` says where that is the whole of it, in
    every order that was asked; `high` and `low` replace every missing verdict by the largest and the smallest value it
    could have had."""

    value: Floats
    answered: Bools
    high: Floats
    low: Floats
    groups: Ints

    def where(self, mask: Bools) -> PerPair:
        return PerPair(self.value[mask], self.answered[mask], self.high[mask], self.low[mask], self.groups[mask])


@dataclass(frozen=True)
class Table:
    """One row a judgement. `error`: 1 wrong, 0 right, 0.5 tie (0 where missing). `order`: 0 chosen first (AB), 1 the
    rejected one first (BA), 2 one answer at a time. Without gold, "chosen" stands for the source's answer A."""

    pair: Ints  # index into `pairs`
    order: Ints
    repeat: Ints
    error: Floats
    missing: Bools
    tie: Bools
    fresh: Bools
    bounded: Bools
    reasons: Sequence[str | None]
    logit: Floats  # 0 where there is none
    has_logit: Bools
    outside: Floats
    has_outside: Bools
    pairs: Sequence[str]
    group_of: Ints  # by pair
    gold: Bools  # by pair: whether it is known which answer is better
    domain_of: Sequence[str | None]  # by pair
    lengths: tuple[Floats, Floats]  # characters of the chosen and the rejected answer, by pair; -1 where unknown
    deterministic: bool = False  # greedy decoding: a repeated call would return the same reply

    @classmethod
    def build(
        cls,
        judgements: Sequence[Judgement],
        *,
        without_gold: Sequence[Judgement] = (),
        domains: Mapping[str, str | None] | None = None,
        lengths: Mapping[str, tuple[int, int]] | None = None,
        deterministic: bool = False,
    ) -> Table:
        """Columns of `judgements` and of those on pairs `without_gold`, which count for all but errors.

        Pairs and groups are numbered in the order in which they first come.
        """
        rows = Judgements.of([*judgements, *without_gold] if without_gold else judgements)
        names, first, place = np.unique(rows.column("pair"), return_index=True, return_inverse=True)
        graded = np.unique(rows.column("pair")[: len(judgements)]).size
        came = np.argsort(first)
        number = np.empty_like(came)
        number[came] = np.arange(came.size)
        pairs = [rows.pairs.texts[i] for i in names[came].tolist()]
        prefers = rows.column("prefers")
        sides = np.fromiter(chain.from_iterable((lengths or {}).get(pair, (-1, -1)) for pair in pairs), dtype=float)
        return cls(
            pair=number[place].astype(np.int64),
            order=rows.column("order").astype(np.int64),
            repeat=rows.column("repeat").astype(np.int64),
            error=_ERROR[prefers],
            missing=prefers == PREFERS.index(None),
            tie=prefers == PREFERS.index("tie"),
            fresh=rows.marked(FRESH),
            bounded=rows.marked(BOUNDED),
            reasons=[rows.reasons.texts[i] for i in rows.column("reason").tolist()],
            logit=rows.column("logit").copy(),
            has_logit=rows.marked(HAS_LOGIT),
            outside=rows.column("outside").copy(),
            has_outside=rows.marked(HAS_OUTSIDE),
            pairs=pairs,
            group_of=_numbered(rows.groups[pair] for pair in pairs),
            gold=np.arange(len(pairs)) < graded,
            domain_of=[(domains or {}).get(pair) for pair in pairs],
            lengths=(sides[0::2].copy(), sides[1::2].copy()),
            deterministic=deterministic,
        )

    @property
    def n(self) -> int:
        return len(self.pairs)

    def groups(self, kept: Bools) -> Ints:
        """The groups of the pairs that are kept; of all pairs no copy, since the measures hold on to them."""
        return self.group_of if kept.all() else self.group_of[kept]

    @cached_property
    def first(self) -> Floats:
        """By row: 1 prefers the answer shown first, 0 the second, 0.5 a tie."""
        return np.where(self.order == AB, 1.0 - self.error, self.error)

    def rows(self, order: int) -> Bools:
        rows: Bools = self.order == order
        return rows

    @cached_property
    def both(self) -> Bools:
        """By pair: asked in both orders (whether or not an answer came)."""
        asked = np.zeros((2, self.n), dtype=bool)
        for order in (AB, BA):
            asked[order, self.pair[self.rows(order)]] = True
        both: Bools = asked[AB] & asked[BA]
        return both

    def mean_in(self, order: int, values: Floats, kept: Bools) -> tuple[Floats, Bools]:
        """By pair: the mean of `values` over the kept rows of one order (0 without any), and whether there is any."""
        rows = kept & self.rows(order)
        count = np.bincount(self.pair[rows], minlength=self.n)
        sums = np.bincount(self.pair[rows], weights=values[rows], minlength=self.n)
        return np.divide(sums, count, out=np.zeros(self.n), where=count > 0), count > 0

    def mean_by_order(self, values: Floats, kept: Bools | None = None) -> tuple[Floats, Ints]:
        """By pair: the mean over each order's kept rows, averaged over the orders that have any; and how many have."""
        kept = np.ones(len(values), dtype=bool) if kept is None else kept
        total, orders = np.zeros(self.n), np.zeros(self.n, dtype=np.int64)
        for order in range(3):
            mean, some = self.mean_in(order, values, kept)
            total, orders = total + mean, orders + some
        return np.divide(total, orders, out=np.zeros(self.n), where=orders > 0), orders

    def per_pair(self, values: Floats, *, order: int | None = None, graded: bool = True) -> PerPair:
        """`values` in [0, 1] by pair: the mean over each order's repeats, then over the orders (or of one `order`).

        A pair that lacks every verdict in one of the two orders is not `answered`, since a mean over the other alone
        would not cancel position; in `high` and `low` that order may be anything. That goes for an order that was never
        asked too, where other pairs were asked in both.
        """
        kept = np.ones(len(values), dtype=bool) if order is None else self.rows(order)
        if graded:
            kept = kept & self.gold[self.pair]
        mean, answered = self.mean_by_order(values, kept & ~self.missing)
        upper, lower, asked = mean, mean, answered
        if (kept & self.missing).any():
            upper, asked = self.mean_by_order(np.where(self.missing, 1.0, values), kept)
            lower, _ = self.mean_by_order(np.where(self.missing, 0.0, values), kept)
        half, whole = asked == 1, answered == asked
        if order is None and self.both.any():
            whole = answered == 2
            if half.any():
                upper, lower = np.where(half, (upper + 1.0) / 2.0, upper), np.where(half, lower / 2.0, lower)
        found, some = PerPair(mean, whole, upper, lower, self.group_of), asked > 0
        return found if some.all() else found.where(some)

    @cached_property
    def matched(self) -> tuple[Ints, Ints, Ints]:
        """Row numbers in AB and in BA, and the pair: the first repeat of one order with the first of the other, etc."""
        keys: list[Ints] = []
        places: list[Ints] = []
        width = int(self.repeat.max(initial=0)) + len(self.pair) + 1
        for order in (AB, BA):
            rows = np.flatnonzero(self.rows(order))
            rows = rows[np.lexsort((self.repeat[rows], self.pair[rows]))]
            pairs = self.pair[rows]
            starts = np.flatnonzero(np.r_[True, pairs[1:] != pairs[:-1]]) if len(pairs) else np.zeros(0, dtype=np.int64)
            rank = np.arange(len(pairs)) - np.repeat(starts, np.diff(np.r_[starts, len(pairs)]))
            keys.append(pairs * width + rank)
            places.append(rows)
        _, left, right = np.intersect1d(keys[AB], keys[BA], assume_unique=True, return_indices=True)
        ab, ba = places[AB][left], places[BA][right]
        return ab, ba, self.pair[ab]


def _numbered(texts: Iterable[str]) -> Ints:
    """The number of each text, in the order in which the texts first come."""
    encoded = as_arrow(texts).combine_chunks().dictionary_encode()
    numbers: Ints = encoded.indices.to_numpy().astype(np.int64)
    return numbers
