"""Retest flips, missing verdicts, ties, and the probability mass that the labels do not hold."""

from __future__ import annotations

from collections import Counter

import numpy as np

from recuse.audits.accuracy import gap
from recuse.audits.measure import Measure, share, share_of, unmeasured
from recuse.audits.table import AB, BA, PerPair, Table


def stability(table: Table, *, level: float) -> list[Measure]:
    """Chance that two fresh calls on the same pair in the same order disagree: the noise floor of every flip.

    A pair in one order whose repeats did not all answer is left out of the estimate and may be anything in the bounds.
    """
    id, title = "stability.flip_rate", "Two fresh calls disagree"
    if table.deterministic:
        return [unmeasured(id, title, "deterministic: greedy decoding repeats itself, so a repeat says nothing")]
    cell, size = table.pair * 3 + table.order, 3 * table.n
    asked = np.bincount(cell[table.fresh], minlength=size)
    answered = table.fresh & ~table.missing
    counts = [np.bincount(cell[answered & (table.error == value)], minlength=size) for value in (0.0, 0.5, 1.0)]
    total = np.sum(counts, axis=0)
    several = asked >= 2
    if not several.any():
        why = "no pair was asked twice in the same order" if table.fresh.all() else "the repeats came from the cache"
        return [unmeasured(id, title, why)]
    pairings = np.maximum(total * (total - 1), 1)
    flips = 1.0 - np.sum([c * (c - 1) for c in counts], axis=0) / pairings
    whole = several & (total == asked)
    columns = [
        _by_pair(table, values, cells)
        for values, cells in (
            (flips, whole),
            (np.where(whole, flips, 1.0), several),
            (np.where(whole, flips, 0.0), several),
        )
    ]
    (value, some), (high, kept), (low, _) = columns
    per = PerPair(value[kept], some[kept], high[kept], low[kept], table.groups(kept))
    return [share(id, title, per, level=level)]


def _by_pair(table: Table, values: np.ndarray, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean by pair of the values of its chosen cells, and whether it has any."""
    pair = np.flatnonzero(cells) // 3
    count = np.bincount(pair, minlength=table.n)
    sums = np.bincount(pair, weights=values[cells], minlength=table.n)
    return np.divide(sums, count, out=np.zeros(table.n), where=count > 0), count > 0


def failures(table: Table, *, level: float) -> list[Measure]:
    """Share of asks without a verdict, by reason, and the gap between the orders."""
    missing, everything = table.missing.astype(float), np.ones(len(table.missing), dtype=bool)
    values, _ = table.mean_by_order(missing)
    measure = share_of("failures.rate", "Asks without a verdict", values, table.group_of, level=level)
    reasons = Counter(reason for reason, gone in zip(table.reasons, table.missing, strict=True) if gone)
    measure = measure.noting(
        reasons=dict(sorted(reasons.items(), key=str)), asks=len(missing), missing=int(missing.sum())
    )
    (ab, in_ab), (ba, in_ba) = (table.mean_in(order, missing, everything) for order in (AB, BA))
    title = "Failures with the better answer second minus first"
    return [measure, gap("failures.order_gap", title, ba - ab, in_ab & in_ba, table, level=level)]


def ties(table: Table, *, level: float) -> list[Measure]:
    per = table.per_pair(table.tie.astype(float), graded=False)
    return [share("ties.rate", "Ties among the verdicts", per, level=level)]


def outside(table: Table, *, level: float) -> list[Measure]:
    """Mean probability mass that the first token puts on anything but a label."""
    id, title = "labels.outside_mass", "Probability mass outside the labels"
    if not table.has_outside.any():
        return [unmeasured(id, title, "no log-probabilities")]
    mean, orders = table.mean_by_order(table.outside, table.has_outside)
    kept = orders > 0
    return [share_of(id, title, np.clip(mean[kept], 0.0, 1.0), table.groups(kept), level=level)]
