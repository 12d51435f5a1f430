"""Retest flips, missing verdicts, ties, and the probability mass that the labels do not hold."""

from __future__ import annotations

from collections import Counter

import numpy as np

from recuse import stats
from recuse.audits.measure import Measure, share, share_of, unmeasured
from recuse.audits.table import PerPair, Table
from recuse.types import Finding


def stability(table: Table, *, level: float) -> list[Measure]:
    """Chance that two fresh calls on the same pair in the same order disagree: the noise floor of every flip."""
    id, title = "stability.flip_rate", "Two fresh calls disagree"
    if table.deterministic:
        return [unmeasured(id, title, "deterministic: greedy decoding repeats itself, so a repeat says nothing")]
    usable = table.fresh & ~table.missing
    cell = table.pair * 3 + table.order
    counts = [np.bincount(cell[usable & (table.error == value)], minlength=3 * table.n) for value in (0.0, 0.5, 1.0)]
    total = np.sum(counts, axis=0)
    several = total >= 2
    if not several.any():
        cached = not table.fresh.all()
        return [
            unmeasured(
                id, title, "the repeats came from the cache" if cached else "no pair was asked twice in the same order"
            )
        ]
    agreeing = np.sum([c * (c - 1) for c in counts], axis=0)[several] / (total * (total - 1))[several]
    pair = np.flatnonzero(several) // 3
    cells = np.bincount(pair, minlength=table.n)
    sums = np.bincount(pair, weights=1.0 - agreeing, minlength=table.n)
    kept = cells > 0
    return [share_of(id, title, sums[kept] / cells[kept], table.group_of[kept], level=level)]


def failures(table: Table, *, level: float) -> list[Measure]:
    """Share of asks without a verdict, by reason, and the gap between the orders."""
    missing = table.missing.astype(float)
    mean, asked = table.mean_by_order(missing)
    values = mean[asked]
    measure = share_of("failures.rate", "Asks without a verdict", values, table.group_of[asked], level=level)
    reasons = Counter(reason for reason, gone in zip(table.reasons, table.missing, strict=True) if gone)
    measures = [
        measure.noting(reasons=dict(sorted(reasons.items(), key=str)), asks=len(missing), missing=int(missing.sum()))
    ]
    ab, ba, pair = table.matched()
    if len(pair) and table.missing.any():
        gaps = missing[ba] - missing[ab]
        found = stats.clustered_mean(gaps, groups=table.group_of[pair], bounds=(-1.0, 1.0), level=level)
        p = stats.sign_flip_test(np.bincount(table.group_of[pair], weights=gaps)).pvalue
        title = "Failures with the better answer second minus first"
        measures.append(
            Measure(
                Finding(
                    "failures.order_gap", title, found.estimate, found.interval, found.n, found.groups, p, found.method
                )
            )
        )
    return measures


def ties(table: Table, *, level: float) -> list[Measure]:
    return [share("ties.rate", "Ties among the verdicts", table.per_pair(table.tie.astype(float)), level=level)]


def outside(table: Table, *, level: float) -> list[Measure]:
    """Mean probability mass that the first token puts on anything but a label."""
    id, title = "labels.outside_mass", "Probability mass outside the labels"
    rows = table.has_outside
    if not rows.any():
        return [unmeasured(id, title, "no log-probabilities")]
    count = np.bincount(table.pair[rows], minlength=table.n)
    sums = np.bincount(table.pair[rows], weights=table.outside[rows], minlength=table.n)
    kept = count > 0
    values = np.clip(sums[kept] / count[kept], 0.0, 1.0)
    everyone = np.ones(len(values), dtype=bool)
    return [share(id, title, PerPair(values, everyone, values, values, table.group_of[kept]), level=level)]
