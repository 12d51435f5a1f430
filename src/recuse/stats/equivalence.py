"""The rule that turns an interval and a tolerance into an outcome."""

from __future__ import annotations

import math
from typing import Literal

from recuse.stats.inputs import number

Outcome = Literal["pass", "fail", "warn"]


def equivalence(interval: tuple[float, float] | None, *, low: float | None, high: float | None) -> Outcome:
    """Pass: the interval lies inside the tolerance [low, high]. Fail: wholly outside. Warn: it straddles an end.

    None for an end is no end; an interval that could not be had is a warning. An interval that contains zero but
    reaches past the tolerance warns: not significant is not equal. With an interval at level 1 - 2 alpha, "pass" is
    the two one-sided tests procedure at alpha (Schuirmann 1987, J. Pharmacokin. Biopharm. 15:657). Raises ValueError
    for ends that are no numbers, or in the wrong order.
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
    if not interval[0] <= interval[1]:
        raise ValueError(f"the interval must run from low to high, got {interval}.")
    if bottom <= interval[0] and interval[1] <= top:
        return "pass"
    return "fail" if interval[1] < bottom or interval[0] > top else "warn"
