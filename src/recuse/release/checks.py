"""One decision on one band, from the numbers that a run folder holds: estimate, interval, bounds.

Pass: the interval and the bounds over all completions of missing replies lie wholly inside the band. With intervals at
95 % a metric that is truly at an end of its band passes in at most 2.5 % of runs (two one-sided tests: Schuirmann 1987,
J. Pharmacokin. Biopharm. 15:657). Every check has to pass, so that nothing needs correction there.

Fail: wholly outside, missing replies completed in the system's favour, after Holm over all checks that can fail. A run
folder has no data to test again. So p is read off the interval as normal theory has it: the distance from the estimate
to the band in half widths of the side that faces it. For one check p < 1 - level is "the whole interval is outside".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Literal

from recuse.release.tolerances import Limits

Decision = Literal["pass", "fail", "inconclusive"]
Rule = Literal["band", "change", "worst_slice"]
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Value:
    """What was measured: a finding of the run, or its change against the baseline."""

    estimate: float | None
    interval: tuple[float, float] | None
    bounds: tuple[float, float] | None
    level: float
    n: int
    reason: str | None = None  # why there is no estimate, or no interval
    doubt: str | None = None  # why it may not be believed, so that it neither passes nor fails
    method: str = ""

    @property
    def reach(self) -> tuple[float, float] | None:
        """The interval over all completions of missing replies."""
        if self.interval is None or self.bounds is None:
            return self.interval
        return min(self.interval[0], self.bounds[0]), max(self.interval[1], self.bounds[1])


@dataclass(frozen=True, slots=True)
class Check:
    """A value, its band, and what follows; `why` says it in words."""

    id: str
    rule: Rule
    title: str
    value: Value
    band: Limits
    outcome: Decision = "inconclusive"
    why: str = ""
    p: float | None = None  # that the value lies outside, after Holm
    can_fail: bool = True


def p_outside(value: Value, band: Limits) -> float:
    """Two-sided p-value that the value lies outside `band`; 1 where nothing says so."""
    low, high = band
    p = 1.0
    if value.estimate is None or value.interval is None or value.reach is None or value.doubt is not None:
        return p
    if high is not None:
        p = min(p, _beyond(value.reach[0] - high, value.estimate - value.interval[0], value.level))
    if low is not None:
        p = min(p, _beyond(low - value.reach[1], value.interval[1] - value.estimate, value.level))
    return p


def _beyond(distance: float, half: float, level: float) -> float:
    """`distance` from the end of the band to the nearer limit, positive outside; `half` from there to the estimate."""
    if half <= 0.0:
        return 0.0 if distance > 0.0 else 1.0
    score = _NORMAL.inv_cdf((1.0 + level) / 2.0) * (distance + half) / half
    return min(1.0, 2.0 * _NORMAL.cdf(-score))


def decide(check: Check, *, adjusted: float, alpha: float) -> Check:
    """`check` with its outcome. `adjusted` is Holm's p over all checks that can fail, 1 for one that cannot."""
    value, (low, high) = check.value, (_or(check.band[0], -math.inf), _or(check.band[1], math.inf))
    if value.estimate is None:
        return replace(check, why=f"not measured: {value.reason or 'the run gives no reason'}")
    if value.doubt is not None:
        return replace(check, why=f"in doubt: {value.doubt}")
    if value.interval is None or value.reach is None:
        return replace(check, why=f"without an interval: {value.reason or 'the run gives no reason'}")
    if low <= value.reach[0] and value.reach[1] <= high:
        return replace(check, outcome="pass", why="the whole interval lies inside the band", p=adjusted)
    if check.can_fail and adjusted < alpha:
        return replace(check, outcome="fail", why="the whole interval lies outside the band", p=adjusted)
    return replace(check, why=_between(check, low, high, alpha), p=adjusted if check.can_fail else None)


def _between(check: Check, low: float, high: float, alpha: float) -> str:
    """What stands in the way of a decision."""
    assert check.value.interval is not None
    near, far = check.value.interval
    if low <= near and far <= high:
        return "the interval lies inside the band, and missing replies could take it out"
    if low <= far and near <= high:
        return "the interval reaches over an end of the band: more data would narrow it"
    if not check.can_fail:
        return "outside the band, and by the tolerances it prevents a pass only"
    if p_outside(check.value, check.band) < alpha:
        return "outside the band, but not after Holm over all checks"
    return "outside the band, and missing replies could take it back"


def _or(limit: float | None, otherwise: float) -> float:
    return otherwise if limit is None else limit


def said_band(band: Limits) -> str:
    low, high = band
    if low is not None and high is not None:
        return f"{low:g} to {high:g}"
    return f"at least {low:g}" if high is None else f"at most {high:g}"
