"""Does the place of an answer decide? Measured on pairs that were asked in both orders, then cancelled elsewhere."""

from __future__ import annotations

import numpy as np

from recuse import stats
from recuse.audits.accuracy import mean_by_pair, single_view
from recuse.audits.measure import Measure, share, share_of, unmeasured
from recuse.audits.table import Table
from recuse.types import Finding

_TITLES = {
    "position.first_rate": "Share preferring the answer shown first",
    "position.consistency": "Same outcome in both orders",
    "position.logit_shift": "Log odds that being shown first adds",
}


def position(table: Table, *, level: float) -> list[Measure]:
    """Share preferring the first answer (1/2 without a position effect), consistency, and the shift in log odds.

    The p-value of the share is a sign-flip test on group sums of (first minus second) over both orders; pairs that
    keep their outcome contribute 0. With one pair a group it is the exact McNemar test on discordant pairs.
    """
    if not len(table.matched()[2]):
        return [unmeasured(id, title, single_view(table)) for id, title in _TITLES.items()]
    return [_first_rate(table, level), _consistency(table, level), _logit_shift(table, level)]


def _first_rate(table: Table, level: float) -> Measure:
    per = table.per_pair(table.first, rows=(table.order < 2) & table.both[table.pair])
    ab, ba, pair = table.matched()
    answered = ~(table.missing[ab] | table.missing[ba])
    # In half units, so that ties stay on the lattice: each repeat of a pair gives a whole number in [-2, 2].
    leaning = np.rint(2.0 * (table.first[ab] + table.first[ba] - 1.0)) * answered
    sums = np.bincount(table.group_of[pair], weights=leaning)
    test = stats.sign_flip_test(sums)
    measure = share("position.first_rate", _TITLES["position.first_rate"], per, level=level, p=test.pvalue)
    return measure.noting(
        always_first=int((answered & (leaning == 2)).sum()),
        always_second=int((answered & (leaning == -2)).sum()),
        pairs_in_both_orders=int(answered.sum()),
        test=test.method,
    )


def _consistency(table: Table, level: float) -> Measure:
    ab, ba, pair = table.matched()
    missing = table.missing[ab] | table.missing[ba]
    same = (table.error[ab] == table.error[ba]) & ~missing
    values, groups = mean_by_pair(table, pair, same)
    high, _ = mean_by_pair(table, pair, same | missing)
    id = "position.consistency"
    return share_of(id, _TITLES[id], values, groups, level=level, high=high)


def _logit_shift(table: Table, level: float) -> Measure:
    """Half the sum of log odds for the first answer over both orders, as a mean over pairs."""
    id = "position.logit_shift"
    ab, ba, pair = table.matched()
    usable = table.has_logit[ab] & table.has_logit[ba]
    if not usable.any():
        return unmeasured(id, _TITLES[id], "no log-probabilities")
    # `logit` favours the chosen answer: it stands first in AB and second in BA.
    shift = 0.5 * (table.logit[ab] - table.logit[ba])[usable]
    groups = table.group_of[pair[usable]]
    found = stats.mean_interval(shift, groups=groups, level=level)
    return Measure(
        Finding(
            id,
            _TITLES[id],
            found.estimate,
            found.interval,
            found.n,
            found.groups,
            found.pvalue,
            found.method,
            found.reason,
        )
    )
