"""How much more data would settle a question."""

from __future__ import annotations

import math

from recuse.stats.inputs import checked_interval, number, whole


def pairs_needed(
    estimate: float,
    interval: tuple[float, float],
    n: int,
    low: float | None,
    high: float | None,
    *,
    max_factor: float = 1000.0,
) -> int | None:
    """About how many pairs would put the interval wholly inside, or wholly outside, the tolerance [low, high].

    Takes the estimate as it stands and lets both arms of the interval shrink as 1 / sqrt(n); a bound of None is no
    bound. Returns n where the interval decides already, and None where more than `max_factor` times n would be
    needed: the estimate is too near a bound to be decided. A planning figure, not an inference: the next sample
    moves the estimate. Raises ValueError for what is no number, and n that is not whole and positive.
    """
    estimate, n = number(estimate, "the estimate"), whole(n, "n", least=1)
    interval = checked_interval(interval)
    bottom = -math.inf if low is None else number(low, "low", most=math.inf)
    top = math.inf if high is None else number(high, "high", most=math.inf)
    max_factor = number(max_factor, "max_factor")
    below, above = estimate - interval[0], interval[1] - estimate
    if estimate > top:
        shrink = _shrink(estimate - top, below)
    elif estimate < bottom:
        shrink = _shrink(bottom - estimate, above)
    else:
        shrink = min(_shrink(estimate - bottom, below), _shrink(top - estimate, above))
    if shrink >= 1:
        return n
    if shrink <= 0 or shrink**-2 > max_factor:
        return None
    return math.ceil(n / shrink**2)


def _shrink(room: float, arm: float) -> float:
    """The factor by which an arm of the interval must shrink to fit in the room."""
    return math.inf if arm <= 0 else room / arm
