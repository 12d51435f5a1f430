"""What a p-value beside shams is worth to e-LOND, which decides on candidates one by one and counts in e-values.

A p-value becomes the e-value k p^(k - 1), which is valid for every k in (0, 1) that is set in advance (Shafer et al.
2011). k = 0.1 suits what is asked here: e-values of 40 for the first candidate up to some 20,000 for the thirtieth, for
which p of 1.3e-3 to 1.4e-6 are enough; the common k = 0.5 would take 1.6e-4 to 7e-10, a Student quantile of 25 instead
of 10 beside ten shams.
"""

from __future__ import annotations

import math

from recuse.effects.scores import Floats

K = 0.1


def calibrated(p: float) -> float:
    """The e-value of a p-value; infinity for 0."""
    return K * p ** (K - 1) if p > 0 else math.inf


def largest_p(e: Floats) -> Floats:
    """The largest p-values that are worth these e-values."""
    found: Floats = (e / K) ** (1 / (K - 1))
    return found


def needed(place: Floats, before: Floats, *, level: float) -> Floats:
    """The e-value that e-LOND asks of the candidate at a place, from 1 on, when so many before it were accepted."""
    asked: Floats = place * (place + 1) / (level * (before + 1))
    return asked
