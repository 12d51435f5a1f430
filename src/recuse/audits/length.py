"""Does the longer answer win beyond what gold accounts for? Stratified by which one is longer, never a correlation."""

from __future__ import annotations

import numpy as np

from recuse import stats
from recuse.audits.measure import NO_GOLD, Measure, Side, difference, unmeasured
from recuse.audits.table import Bools, Floats, PerPair, Table
from recuse.types import Finding

_ID, _TITLE = "length.effect", "Error rate where the wrong answer is longer minus where it is shorter"
_SLOPE, _SLOPE_TITLE = "length.slope", "Log odds for the better answer per doubling of its length ratio"
_BOUNDS = (0.0, 1.0)  # of an error rate; few errors on one of the sides then widen the interval
_ENOUGH = 15  # pairs with an error, and as many without, from which on the comparison within domains has an interval


def length(table: Table, *, level: float) -> list[Measure]:
    """The gap in error rate between pairs whose wrong answer is longer and pairs whose right answer is longer.

    0: length does not matter beyond gold; 0.2: the judge errs 20 points more often when the wrong answer is longer.
    Within domains where there are several, since a hard domain with long wrong answers would pose as a length bias. It
    stays observational: difficulty may go with length inside a domain too. Beside it, the slope of a logistic model of
    "prefers the better answer" on the log2 length ratio, cluster-robust.
    """
    if not table.gold.any():
        return [unmeasured(_ID, _TITLE, NO_GOLD), unmeasured(_SLOPE, _SLOPE_TITLE, NO_GOLD)]
    chosen, rejected = (side[table.gold] for side in table.lengths)
    known = (chosen >= 0) & (rejected >= 0)
    if not known.any():
        reason = "the lengths of the answers are not known"
        return [unmeasured(_ID, _TITLE, reason), unmeasured(_SLOPE, _SLOPE_TITLE, reason)]
    per = table.per_pair(table.error)
    differs = known & (chosen != rejected)
    kept, longer = per.where(differs), (rejected > chosen)[differs]
    domains = np.array([name or "" for name in table.domain_of])[table.gold][differs]
    effect = _effect(kept, longer, domains, level).noting(
        error_wrong_longer=_rate(kept, longer),
        error_right_longer=_rate(kept, ~longer),
        equal_length=int((known & ~differs).sum()),
        unknown_length=int((~known).sum()),
    )
    return [effect, _slope(per.where(known), chosen[known], rejected[known], level)]


def _effect(per: PerPair, longer: Bools, domains: np.ndarray, level: float) -> Measure:
    rows = per.answered
    if rows.any() and len(set(domains.tolist())) > 1:
        wrong = float(per.value[rows].sum())
        if min(wrong, rows.sum() - wrong) >= _ENOUGH:
            measure = _within_domains(per, longer, domains, level)
            if measure is not None:
                return measure
    return difference(_ID, _TITLE, per, longer, level=level)


def _within_domains(per: PerPair, longer: Bools, domains: np.ndarray, level: float) -> Measure | None:
    def of(values: Floats, rows: Bools) -> stats.Estimate:
        return stats.stratified_difference(
            values[rows], longer[rows], strata=domains[rows], groups=per.groups[rows], bounds=_BOUNDS, level=level
        )

    everything = np.ones(len(longer), dtype=bool)
    low_values, high_values = np.where(longer, per.low, per.high), np.where(longer, per.high, per.low)
    found, low, high = of(per.value, per.answered), of(low_values, everything), of(high_values, everything)
    if found.estimate is None or found.interval is None or low.interval is None or high.interval is None:
        return None

    def beyond(bound: float, side: Side) -> float:
        favourable = low_values if side == "greater" else high_values
        return stats.test_stratified_bound(
            favourable, longer, bound, strata=domains, groups=per.groups, bounds=_BOUNDS, alternative=side
        )

    limits = (min(low.interval[0], found.interval[0]), max(high.interval[1], found.interval[1]))
    finding = Finding(
        _ID, _TITLE, found.estimate, found.interval, found.n, found.groups, None, found.method, bounds=limits
    )
    return Measure(finding, beyond, (low, high))


def _rate(per: PerPair, mask: Bools) -> float | None:
    rows = mask & per.answered
    return float(per.value[rows].mean()) if rows.any() else None


def _slope(per: PerPair, chosen: Floats, rejected: Floats, level: float) -> Measure:
    ratio = np.log2(np.maximum(chosen, 1.0) / np.maximum(rejected, 1.0))
    rows = per.answered
    fit = stats.logistic(1.0 - per.value[rows], ratio[rows], groups=per.groups[rows], level=level)
    if fit.reason is not None:
        return unmeasured(_SLOPE, _SLOPE_TITLE, fit.reason)
    slope = fit.coefficients[1]
    return Measure(
        Finding(_SLOPE, _SLOPE_TITLE, slope.estimate, slope.interval, slope.n, slope.groups, slope.pvalue, slope.method)
    )
