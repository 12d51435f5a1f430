"""How often the judge prefers the worse answer. A tie is half an error."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recuse import stats
from recuse.audits.measure import NO_GOLD, Measure, share, share_of, unmeasured
from recuse.audits.table import AB, BA, Bools, Floats, Ints, PerPair, Table
from recuse.types import Finding

_TITLES = {
    "accuracy.error_rate": "Error rate, both orders averaged",
    "accuracy.error_rate:AB": "Error rate, better answer first",
    "accuracy.error_rate:BA": "Error rate, better answer second",
    "accuracy.order_gap": "Error with the better answer second minus first",
    "accuracy.average": "Right verdicts, a missing one counted as wrong (LLMBar's average)",
    "accuracy.pooled": "Accuracy by summed verdicts (JudgeBench's rule)",
    "accuracy.consistent": "Right in both orders",
    "accuracy.order_averaged": "Right by log odds averaged over both orders",
}
_ONE_ORDER = "Error rate, one order only: position is not cancelled"
_ALONE = "Error rate"


def accuracy(table: Table, *, level: float) -> list[Measure]:
    """Error rate over both orders, by order, the gap between orders, and other forms of accuracy.

    Sources: the average is LLMBar's (Zeng et al. 2023, arXiv 2310.07641). The pooled rule is JudgeBench's (Tan et al.
    2024, arXiv 2410.12784): over all verdicts on a pair, right +1, wrong -1, else 0; right when the sum is positive.
    """
    if not table.gold.any():
        return [unmeasured(id, title, NO_GOLD) for id, title in _TITLES.items()]
    title = _TITLES["accuracy.error_rate"]
    if not table.both.any():
        title = _ALONE if (table.order == 2).all() else _ONE_ORDER
    error = share("accuracy.error_rate", title, table.per_pair(table.error), level=level)
    if table.both.any():
        error = error.noting(one_order_only=int((table.gold & ~table.both).sum()))
    forms = [form(table, level) for form in (_order_gap, _average, _pooled, _consistent, _order_averaged)]
    return [error, *_by_order(table, level), *forms]


def _by_order(table: Table, level: float) -> list[Measure]:
    measures = []
    for order, name in ((AB, "AB"), (BA, "BA")):
        id = f"accuracy.error_rate:{name}"
        per = table.per_pair(table.error, order=order)
        measure = (
            share(id, _TITLES[id], per, level=level) if len(per.value) else unmeasured(id, _TITLES[id], why(table))
        )
        rate = measure.finding.estimate
        if rate is not None and not 0.05 <= rate <= 0.95:
            measure = measure.noting(uninformative="within 5 points of floor or ceiling: little room to move")
        measures.append(measure)
    return measures


def _order_gap(table: Table, level: float) -> Measure:
    id = "accuracy.order_gap"
    kept = ~table.missing & table.gold[table.pair]
    (ab, in_ab), (ba, in_ba) = (table.mean_in(order, table.error, kept) for order in (AB, BA))
    return gap(id, _TITLES[id], ba - ab, in_ab & in_ba, table, level=level)


def gap(id: str, title: str, gaps: Floats, known: Bools, table: Table, *, level: float) -> Measure:
    """A mean of per-pair gaps in [-1, 1] over the pairs where `known`, with a sign-flip p by group."""
    if not known.any():
        return unmeasured(id, title, why(table))
    gaps, groups = gaps[known], table.groups(known)
    found = stats.clustered_mean(gaps, groups=groups, bounds=(-1.0, 1.0), level=level)
    p = stats.sign_flip_test(np.bincount(groups, weights=gaps)).pvalue
    method = f"{found.method}; p: sign flips of groups"
    return Measure(Finding(id, title, found.estimate, found.interval, found.n, found.groups, p, method))


def _average(table: Table, level: float) -> Measure:
    per = table.per_pair(1.0 - table.error)
    counted = PerPair(per.low, np.ones(len(per.low), dtype=bool), per.high, per.low, per.groups)
    return share("accuracy.average", _TITLES["accuracy.average"], counted, level=level)


def _pooled(table: Table, level: float) -> Measure:
    id = "accuracy.pooled"
    if table.missing[table.gold[table.pair]].all():
        return unmeasured(id, _TITLES[id], "no verdict at all")
    signs = 1.0 - 2.0 * table.error

    def right(missing: float) -> Floats:
        sums = np.bincount(table.pair, weights=np.where(table.missing, missing, signs), minlength=table.n)
        hits: Floats = (sums > 0).astype(float)[table.gold]
        return hits

    everyone = np.ones(int(table.gold.sum()), dtype=bool)
    per = PerPair(right(0.0), everyone, right(1.0), right(-1.0), table.groups(table.gold))
    return share(id, _TITLES[id], per, level=level)


def _consistent(table: Table, level: float) -> Measure:
    id = "accuracy.consistent"
    ab, ba, pair = graded_matches(table)
    if not len(pair):
        return unmeasured(id, _TITLES[id], why(table))
    right = [(~table.missing[rows]) & (table.error[rows] == 0) for rows in (ab, ba)]
    could = [table.missing[rows] | (table.error[rows] == 0) for rows in (ab, ba)]
    return agreement(id, _TITLES[id], table, pair, right[0] & right[1], could[0] & could[1], (ab, ba), level)


def agreement(
    id: str, title: str, table: Table, pair: Ints, hits: Bools, could: Bools, rows: tuple[Ints, Ints], level: float
) -> Measure:
    """A share of matched verdicts, by pair; a missing verdict is no hit, and `could` says where it might be one."""
    if table.missing[np.concatenate(rows)].all():
        return unmeasured(id, title, "no verdict at all")
    values, groups = mean_by_pair(table, pair, hits)
    high, _ = mean_by_pair(table, pair, could)
    return share_of(id, title, values, groups, level=level, high=high)


def _order_averaged(table: Table, level: float) -> Measure:
    """What the judge knows once its position preference is cancelled: the sign of the mean log odds of a pair."""
    id = "accuracy.order_averaged"
    kept = table.has_logit & table.gold[table.pair]
    (ab, in_ab), (ba, in_ba) = (table.mean_in(order, table.logit, kept) for order in (AB, BA))
    known = in_ab & in_ba
    if not known.any():
        return unmeasured(id, _TITLES[id], "no log-probabilities in both orders")
    right = (np.sign((ab + ba)[known]) + 1.0) / 2.0
    measure = share_of(id, _TITLES[id], right, table.groups(known), level=level)
    return measure.noting(bounded=int((table.bounded & kept).sum()), without_logits=int((~known & table.both).sum()))


def three_way(right: Sequence[bool], missing: Sequence[bool], groups: Sequence[str], *, level: float) -> Measure:
    """Agreement with a gold that may be a tie, over rows of recorded verdicts; a missing verdict is wrong."""
    values, gone = np.array(right, dtype=float), np.array(missing, dtype=bool)
    codes = np.unique(np.array(groups), return_inverse=True)[1].astype(np.int64)
    title = "Agreement with a gold that may be a tie"
    return share_of("accuracy.three_way", title, values, codes, level=level, high=np.where(gone, 1.0, values))


def graded_matches(table: Table) -> tuple[Ints, Ints, Ints]:
    ab, ba, pair = table.matched
    kept = table.gold[pair]
    return ab[kept], ba[kept], pair[kept]


def mean_by_pair(table: Table, pair: Ints, hits: Bools) -> tuple[Floats, Ints]:
    count = np.bincount(pair, minlength=table.n)
    sums = np.bincount(pair, weights=hits.astype(float), minlength=table.n)
    kept = count > 0
    return sums[kept] / count[kept], table.groups(kept)


def why(table: Table) -> str:
    """Why nothing can be said about the orders."""
    if (table.order == 2).all():
        return "each answer was judged alone, or the order shown is not recorded"
    if not table.both.any():
        return "no pair was asked in both orders"
    return "no pair has a verdict in both orders"
