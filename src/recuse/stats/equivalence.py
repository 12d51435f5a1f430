"""The rule that turns an interval and a tolerance into an outcome."""

from __future__ import annotations

import math
from typing import Literal

from recuse.stats.inputs import checked_interval, number

Outcome = Literal["pass", "fail", "warn"]


def equivalence(interval: tuple[float, float] | None, *, low: float | None, high: float | None) -> Outcome:
    """Pass: the interval lies inside the tolerance [low, high]. Fail: wholly outside. Warn: it straddles an end.

    None for an end is no end; an interval that could not be had is a warning. An interval that contains zero but
    reaches past the tolerance warns: not significant is not equal. With an interval at level 1 - 2 alpha, "pass" is
    the two one-sided tests procedure at alpha (Schuirmann 1987, J. Pharmacokin. Biopharm. 15:657). Raises ValueError
    for ends or limits that are no numbers, or in the wrong order.
    """
    if low is None and high is None:
        raise ValueError("a tolerance needs at least one end.")
    bottom, top = (
        end if given is None else number(given, what, most=math.inf)
        for end, given, what in ((-math.inf, low, "low"), (math.inf, high, "high"))
    )
    if not bottom <= top:
        raise ValueError(f"the tolerance must run from low to high, got {low} to {high}.")
    if interval is None:
        return "warn"
    least, most = checked_interval(interval)
    if bottom <= least and most <= top:
        return "pass"
    return "fail" if most < bottom or least > top else "warn"
