"""Intervals for k of n independent units, and the exact test on discordant pairs."""

from __future__ import annotations

import math

from scipy.special import bdtr, betaincinv, ndtri

from recuse.stats.results import Estimate, TestResult, check_level


def wilson_interval(k: float, n: int, *, level: float = 0.95) -> Estimate:
    """Score interval for k of n (Wilson 1927). k may be fractional, where ties count half.

    With n = 0 the estimate is None. Raises ValueError unless 0 <= k <= n.
    """
    if empty := _check(k, n, level, "Wilson score"):
        return empty
    p, c = k / n, float(ndtri((1 + level) / 2)) ** 2 / n
    return Estimate(p, wilson_limits(p, c), n, n, "Wilson score", level)


def wilson_limits(p: float, c: float) -> tuple[float, float]:
    """Both score limits for the share p, where c is the squared critical value over the (effective) sample size."""
    root = math.sqrt(c * p * (1 - p) + c * c / 4)
    # The textbook form (p + c/2 - root) / (1 + c) cancels when p is tiny; this one is the same number.
    low = p * p / (p + c / 2 + root) if p > 0 else 0.0
    high = 1 - (1 - p) ** 2 / (1 - p + c / 2 + root) if p < 1 else 1.0
    return low, high


def clopper_pearson(k: float, n: int, *, level: float = 0.95) -> Estimate:
    """Exact interval for k of n (Clopper & Pearson 1934): never under-covers, wider than needed on average.

    With n = 0 the estimate is None. Raises ValueError unless 0 <= k <= n.
    """
    if empty := _check(k, n, level, "Clopper-Pearson"):
        return empty
    tail = (1 - level) / 2
    low = float(betaincinv(k, n - k + 1, tail)) if k > 0 else 0.0
    high = float(betaincinv(k + 1, n - k, 1 - tail)) if k < n else 1.0
    return Estimate(k / n, (low, high), n, n, "Clopper-Pearson", level)


def mcnemar_exact(b: int, c: int) -> TestResult:
    """Two-sided exact McNemar test: b pairs changed one way and c the other; p doubles the smaller binomial tail.

    The estimate is (b - c) / (b + c). Without discordant pairs it is 0 and p is 1.
    """
    if b != int(b) or c != int(c) or b < 0 or c < 0:
        raise ValueError(f"discordant counts must be whole and not negative, got {b} and {c}.")
    n = int(b + c)
    p = min(1.0, 2 * float(bdtr(min(b, c), n, 0.5))) if n else 1.0
    return TestResult((b - c) / n if n else 0.0, p, n, n, "exact McNemar (binomial)")


def _check(k: float, n: int, level: float, method: str) -> Estimate | None:
    check_level(level)
    if not 0 <= k <= n:
        raise ValueError(f"k must lie between 0 and n, got k = {k} and n = {n}.")
    return None if n else Estimate(None, None, 0, 0, method, level, reason="no observations")
