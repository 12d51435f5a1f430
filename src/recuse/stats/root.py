"""One root of a decreasing function, for limits that have no closed form."""

from __future__ import annotations

from collections.abc import Callable


def decreasing_root(f: Callable[[float], float], low: float, high: float, *, xtol: float, ftol: float) -> float:
    """Where f, which decreases from f(low) > 0 to f(high) <= 0, crosses zero; low or high if it does not.

    False position with the Illinois rule: some eight evaluations where f is nearly straight. (scipy's brentq needs
    `scipy.optimize`, whose import costs more than all the roots of an audit.)
    """
    at_low, at_high = float(f(low)), float(f(high))  # numpy's small floats would never reach `xtol`
    if at_low <= 0:
        return low
    if at_high > 0:
        return high
    side = 0
    while high - low > xtol:
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        # An end that is far off the scale says nothing about the slope.
        if not low < middle < high or max(at_low, -at_high) > 30:
            middle = (low + high) / 2
        value = float(f(middle))
        if abs(value) <= ftol:
            return middle
        # Halve the weight of an end that stays put, or the other end creeps.
        if value > 0:
            low, at_low, at_high, side = middle, value, at_high / (2 if side > 0 else 1), 1
        else:
            high, at_high, at_low, side = middle, value, at_low / (2 if side < 0 else 1), -1
    return (low + high) / 2
