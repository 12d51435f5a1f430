"""How often the judge prefers the worse answer. A tie is half an error."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recuse import stats
from recuse.audits.measure import NO_GOLD, Measure, share, share_of, unmeasured
from recuse.audits.table import PerPair, Table
from recuse.types import Finding

_TITLES = {
    "accuracy.error_rate": "Error rate, both orders averaged",
    "accuracy.average": "Right verdicts, a missing one counted as wrong (LLMBar's average)",
    "accuracy.pooled": "Accuracy by summed verdicts (JudgeBench's rule)",
    "accuracy.consistent": "Right in both orders",
    "accuracy.order_averaged": "Right by log odds averaged over both orders",
}


def accuracy(table: Table, *, level: float) -> list[Measure]:
    """Error rate over both orders, by order, the gap between orders, and other forms of accuracy.

    Sources: the average is LLMBar's (Zeng et al. 2023, arXiv 2310.07641). The pooled rule is JudgeBench's (Tan et al.
    2024, arXiv 2410.12784): over all verdicts on a pair, right +1, wrong -1, else 0; right when the sum is positive.
    """
    if not table.gold:
        return [unmeasured(id, title, NO_GOLD) for id, title in _TITLES.items()]
    error = share("accuracy.error_rate", _TITLES["accuracy.error_rate"], table.per_pair(table.error), level=level)
    forms = [form(table, level) for form in (_average, _pooled, _consistent, _order_averaged)]
    return [error, *_by_order(table, level), *forms]


def _by_order(table: Table, level: float) -> list[Measure]:
    if not table.both.any():
        return []
    names = ("AB", "BA")
    where = ("better answer first", "better answer second")
    measures = [
        share(
            f"accuracy.error_rate:{name}",
            f"Error rate, {text}",
            table.per_pair(table.error, rows=table.rows(i)),
            level=level,
        )
        for i, (name, text) in enumerate(zip(names, where, strict=True))
    ]
    rates = [m.finding.estimate for m in measures]
    for i, rate in enumerate(rates):
        if rate is not None and not 0.05 <= rate <= 0.95:
            measures[i] = measures[i].noting(uninformative="within 5 points of floor or ceiling: little room to move")
    ab, ba, pair = table.matched()
    answered = ~(table.missing[ab] | table.missing[ba])
    gaps = (table.error[ba] - table.error[ab])[answered]
    id, title = "accuracy.order_gap", "Error with the better answer second minus first"
    if not len(gaps):
        return [*measures, unmeasured(id, title, "no pair has a verdict in both orders")]
    groups = table.group_of[pair[answered]]
    found = stats.clustered_mean(gaps, groups=groups, bounds=(-1.0, 1.0), level=level)
    p = stats.sign_flip_test(np.bincount(groups, weights=gaps)).pvalue
    finding = Finding(
        id, title, found.estimate, found.interval, found.n, found.groups, p, f"{found.method}; sign-flip p by group"
    )
    return [*measures, Measure(finding)]


def _average(table: Table, level: float) -> Measure:
    right = np.where(table.missing, 0.0, 1.0 - table.error)
    at_most = np.where(table.missing, 1.0, right)
    everyone = np.ones(table.n, dtype=bool)
    values, high = table.mean_by_order(right)[0], table.mean_by_order(at_most)[0]
    id = "accuracy.average"
    return share(id, _TITLES[id], PerPair(values, everyone, high, values, table.group_of), level=level)


def _pooled(table: Table, level: float) -> Measure:
    signs = np.where(table.missing, 0.0, 1.0 - 2.0 * table.error)
    sums = np.bincount(table.pair, weights=signs, minlength=table.n)
    optimistic = np.bincount(table.pair, weights=np.where(table.missing, 1.0, signs), minlength=table.n)
    right, could_be = (sums > 0).astype(float), (optimistic > 0).astype(float)
    pessimistic = np.bincount(table.pair, weights=np.where(table.missing, -1.0, signs), minlength=table.n)
    per = PerPair(right, np.ones(table.n, dtype=bool), could_be, (pessimistic > 0).astype(float), table.group_of)
    return share("accuracy.pooled", _TITLES["accuracy.pooled"], per, level=level)


def _consistent(table: Table, level: float) -> Measure:
    id = "accuracy.consistent"
    ab, ba, pair = table.matched()
    if not len(pair):
        return unmeasured(id, _TITLES[id], single_view(table))
    right = [(~table.missing[rows]) & (table.error[rows] == 0) for rows in (ab, ba)]
    could = [table.missing[rows] | (table.error[rows] == 0) for rows in (ab, ba)]
    values, groups = mean_by_pair(table, pair, right[0] & right[1])
    high, _ = mean_by_pair(table, pair, could[0] & could[1])
    return share_of(id, _TITLES[id], values, groups, level=level, high=high)


def _order_averaged(table: Table, level: float) -> Measure:
    """What the judge knows once its position preference is cancelled: the sign of the mean log odds of a pair."""
    id = "accuracy.order_averaged"
    ab, ba, pair = table.matched()
    usable = table.has_logit[ab] & table.has_logit[ba]
    if not usable.any():
        return unmeasured(id, _TITLES[id], "no log-probabilities in both orders")
    sums = np.bincount(pair[usable], weights=(table.logit[ab] + table.logit[ba])[usable], minlength=table.n)
    kept = np.bincount(pair[usable], minlength=table.n) > 0
    right = (np.sign(sums[kept]) + 1.0) / 2.0
    return share_of(id, _TITLES[id], right, table.group_of[kept], level=level)


def three_way(right: Sequence[bool], missing: Sequence[bool], groups: Sequence[str], *, level: float) -> Measure:
    """Agreement with a gold that may be a tie, over rows of recorded verdicts; a missing verdict is wrong."""
    values, gone = np.array(right, dtype=float), np.array(missing, dtype=bool)
    codes = np.unique(np.array(groups), return_inverse=True)[1]
    title = "Agreement with a gold that may be a tie"
    return share_of("accuracy.three_way", title, values, codes, level=level, high=np.where(gone, 1.0, values))


def mean_by_pair(table: Table, pair: np.ndarray, hits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    count = np.bincount(pair, minlength=table.n)
    sums = np.bincount(pair, weights=hits.astype(float), minlength=table.n)
    kept = count > 0
    return sums[kept] / count[kept], table.group_of[kept]


def single_view(table: Table) -> str:
    if (table.order == 2).all():
        return "the judge sees one answer at a time"
    return "no pair was asked in both orders"
