"""Does the place of an answer decide? Measured on pairs that were asked in both orders, then cancelled elsewhere."""

from __future__ import annotations

import numpy as np

from recuse import stats
from recuse.audits.accuracy import agreement, why
from recuse.audits.measure import Measure, difference, share, unmeasured
from recuse.audits.table import AB, BA, PerPair, Table
from recuse.types import Finding

_TITLES = {
    "position.first_rate": "Share preferring the answer shown first",
    "position.consistency": "Same outcome in both orders",
    "position.logit_shift": "Log odds that being shown first adds",
    "position.by_difficulty": "Same place preferred in both orders, closest third of pairs minus clearest third",
}
_THIRDS = ("close", "middle", "clear")


def position(table: Table, *, level: float) -> list[Measure]:
    """Share preferring the first answer (1/2 without a position effect), consistency, the shift in log odds, and how
    much more the place decides where the judge sees little between the answers.

    The p-value of the share is a sign-flip test on group sums of (first minus second) over both orders; pairs that
    keep their outcome contribute 0. With one pair a group it is the exact McNemar test on discordant pairs. It is not
    the inversion of the interval, and may differ from it near the edge.
    """
    if not table.both.any():
        return [unmeasured(id, title, why(table)) for id, title in _TITLES.items()]
    return [part(table, level) for part in (_first_rate, _consistency, _logit_shift, _by_difficulty)]


def _first_rate(table: Table, level: float) -> Measure:
    per = table.per_pair(table.first, graded=False)
    (ab, in_ab), (ba, in_ba) = (table.mean_in(order, table.first, ~table.missing) for order in (AB, BA))
    known = in_ab & in_ba
    leaning = (ab + ba - 1.0)[known]  # 1: first in both orders, -1: second in both, 0: the same answer
    id = "position.first_rate"
    if not known.any():
        return unmeasured(id, _TITLES[id], why(table))
    test = stats.sign_flip_test(np.bincount(table.group_of[known], weights=leaning))
    measure = share(id, _TITLES[id], per, level=level, p=test.pvalue)
    return measure.noting(
        always_first=int((leaning == 1.0).sum()),
        always_second=int((leaning == -1.0).sum()),
        decided_by_place=float((np.abs(leaning) == 1.0).mean()),
        test=test.method,
    )


def _consistency(table: Table, level: float) -> Measure:
    id = "position.consistency"
    ab, ba, pair = table.matched
    missing = table.missing[ab] | table.missing[ba]
    same = (table.error[ab] == table.error[ba]) & ~missing
    return agreement(id, _TITLES[id], table, pair, same, same | missing, (ab, ba), level)


def _logit_shift(table: Table, level: float) -> Measure:
    """Half the sum of log odds for the first answer over both orders, as a mean over pairs."""
    id = "position.logit_shift"
    (ab, in_ab), (ba, in_ba) = (table.mean_in(order, table.logit, table.has_logit) for order in (AB, BA))
    known = in_ab & in_ba
    if not known.any():
        return unmeasured(id, _TITLES[id], "no log-probabilities in both orders")
    shift = 0.5 * (ab - ba)[known]  # `logit` favours the chosen answer, which stands first in AB and second in BA
    found = stats.mean_interval(shift, groups=table.group_of[known], level=level)
    finding = Finding(
        id, _TITLES[id], found.estimate, found.interval, found.n, found.groups, found.pvalue, found.method, found.reason
    )
    # A label that the provider does not list enters at a bound, which pulls the mean to 0; the median hardly moves.
    bounded = int((table.bounded & table.has_logit & table.both[table.pair]).sum())
    return Measure(finding).noting(
        median=float(np.median(shift)), bounded=bounded, without_logits=int((table.both & ~known).sum())
    )


def _by_difficulty(table: Table, level: float) -> Measure:
    """Pairs in thirds by the gap that the judge itself sees: |log odds| for the better answer, both orders averaged.

    A pair whose verdict stays with the place, not with the answer, counts 1; over all pairs the share says how many
    verdicts the place decides. The gap is measured with the noise of the same two calls, so the thirds are the judge's
    own view of difficulty and none of gold.
    """
    id = "position.by_difficulty"
    (ab, in_ab), (ba, in_ba) = (table.mean_in(order, table.logit, table.has_logit) for order in (AB, BA))
    (first, one), (second, two) = (table.mean_in(order, table.first, ~table.missing) for order in (AB, BA))
    known = in_ab & in_ba & one & two
    if known.sum() < len(_THIRDS):
        return unmeasured(id, _TITLES[id], "no three pairs with log-probabilities in both orders")
    gap, leaning = np.abs(ab + ba)[known] / 2.0, (first + second - 1.0)[known]
    place = np.empty(gap.size, dtype=np.int64)
    place[np.argsort(gap, kind="stable")] = np.arange(gap.size) * len(_THIRDS) // gap.size
    by_place, groups = (np.abs(leaning) == 1.0).astype(float), table.group_of[known]
    rows = [
        {
            "third": name,
            "pairs": int((place == i).sum()),
            "gap": float(np.median(gap[place == i])),
            "by_place": float(by_place[place == i].mean()),
            "first_rate": float((leaning[place == i].mean() + 1.0) / 2.0),
        }
        for i, name in enumerate(_THIRDS)
    ]
    ends = place != 1
    kept = by_place[ends]
    per = PerPair(kept, np.ones(kept.size, dtype=bool), kept, kept, groups[ends])
    return difference(id, _TITLES[id], per, place[ends] == 0, level=level, thirds=rows)
