"""Does the longer answer win beyond what gold accounts for? Stratified by which one is longer, never a correlation."""

from __future__ import annotations

import numpy as np

from recuse import stats
from recuse.audits.measure import NO_GOLD, Measure, difference, unmeasured
from recuse.audits.table import PerPair, Table
from recuse.types import Finding

_ID, _TITLE = "length.effect", "Error rate where the wrong answer is longer minus where it is shorter"
_SLOPE, _SLOPE_TITLE = "length.slope", "Log odds for the better answer per doubling of its length ratio"


def length(table: Table, *, level: float) -> list[Measure]:
    """The gap in error rate between pairs whose wrong answer is longer and pairs whose right answer is longer.

    0: length does not matter beyond gold; 0.2: the judge errs 20 points more often when the wrong answer is longer.
    It is observational: pairs whose right answer is longer may be easier for another reason. Beside it, the slope of a
    logistic model of "prefers the better answer" on the log2 length ratio, cluster-robust.
    """
    reason = NO_GOLD if not table.gold else "the lengths of the answers are not known"
    if table.lengths is None or not table.gold:
        return [unmeasured(_ID, _TITLE, reason), unmeasured(_SLOPE, _SLOPE_TITLE, reason)]
    chosen, rejected = table.lengths
    per = table.per_pair(table.error)
    differs = chosen != rejected
    kept = per.where(differs)
    effect = difference(_ID, _TITLE, kept, (rejected > chosen)[differs], level=level)
    longer, shorter = (_rate(kept, mask) for mask in ((rejected > chosen)[differs], (chosen > rejected)[differs]))
    return [
        effect.noting(error_wrong_longer=longer, error_right_longer=shorter, equal_length=int((~differs).sum())),
        _slope(table, per, chosen, rejected, level),
    ]


def _rate(per: PerPair, mask: np.ndarray) -> float | None:
    rows = mask & per.answered
    return float(per.value[rows].mean()) if rows.any() else None


def _slope(table: Table, per: PerPair, chosen: np.ndarray, rejected: np.ndarray, level: float) -> Measure:
    ratio = np.log2(np.maximum(chosen, 1.0) / np.maximum(rejected, 1.0))
    rows = per.answered
    fit = stats.logistic(1.0 - per.value[rows], ratio[rows], groups=per.groups[rows], level=level)
    if fit.reason is not None:
        return unmeasured(_SLOPE, _SLOPE_TITLE, fit.reason)
    slope = fit.coefficients[1]
    return Measure(
        Finding(_SLOPE, _SLOPE_TITLE, slope.estimate, slope.interval, slope.n, slope.groups, slope.pvalue, slope.method)
    )
