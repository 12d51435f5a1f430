"""Intervals for k of n independent units, for the difference of two such rates, and the tests that go with them.

Counts may be numpy's; a k may be fractional where ties count half. scipy has Wilson's and Clopper and Pearson's
intervals too, but its import takes seconds; Newcombe's paired interval is in none of scipy, statsmodels or
scikit-learn.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincinv, ndtr, ndtri

from recuse.stats.inputs import finite, whole
from recuse.stats.results import Alternative, Estimate, TestResult, check_alternative, check_level
from recuse.stats.root import decreasing_root

# Tables up to which Barnard's test is used: at 200 against 200 it takes scipy 0.07 s, at 1,000 against 1,000 9 s.
_UNCONDITIONAL_UP_TO = 40_000


def wilson_interval(k: float, n: int, *, level: float = 0.95) -> Estimate:
    """Score interval for k of n (Wilson 1927, JASA 22:209).

    With n = 0 the estimate is None. Raises ValueError unless 0 <= k <= n, with n whole.
    """
    k, n = counted(k, n)
    if empty := _check(n, level, "Wilson score"):
        return empty
    return Estimate(k / n, wilson_limits(k / n, _critical(level) ** 2 / n), n, n, "Wilson score", level)


def wilson_limits(p: float, c: float) -> tuple[float, float]:
    """Both score limits for the share p, where c is the squared critical value over the (effective) sample size."""
    root = math.sqrt(c * p * (1 - p) + c * c / 4)
    # The textbook form (p + c/2 - root) / (1 + c) cancels when p is tiny; this one is the same number.
    low = p * p / (p + c / 2 + root) if p > 0 else 0.0
    high = 1 - (1 - p) ** 2 / (1 - p + c / 2 + root) if p < 1 else 1.0
    return low, high


def clopper_pearson(k: float, n: int, *, level: float = 0.95) -> Estimate:
    """Exact interval for k of n (Clopper & Pearson 1934, Biometrika 26:404): never under-covers, and is wide for it.

    With n = 0 the estimate is None. Raises ValueError unless 0 <= k <= n, with n whole.
    """
    k, n = counted(k, n)
    if empty := _check(n, level, "Clopper-Pearson"):
        return empty
    tail = (1 - level) / 2
    low = float(betaincinv(k, n - k + 1, tail)) if k > 0 else 0.0
    high = float(betaincinv(k + 1, n - k, 1 - tail)) if k < n else 1.0
    return Estimate(k / n, (low, high), n, n, "Clopper-Pearson", level)


def mcnemar_exact(b: int, c: int, *, level: float = 0.95) -> TestResult:
    """Two-sided exact McNemar test (1947, Psychometrika 12:153): b pairs changed one way and c the other.

    p doubles the smaller binomial tail. The estimate is (b - c) / (b + c), its interval Clopper and Pearson's: it
    excludes 0 exactly when p < 1 - level. Without discordant pairs the estimate is None and p is 1. Raises ValueError
    for counts that are negative or not whole.
    """
    check_level(level)
    b, c = (
        whole(b, "the count of pairs that changed one way"),
        whole(c, "the count of pairs that changed the other way"),
    )
    n, method = b + c, "exact McNemar (binomial)"
    if not n:
        return TestResult(None, 1.0, 0, 0, method, level=level, reason="no discordant pairs")
    low, high = clopper_pearson(b, n, level=level).interval or (0.0, 1.0)
    k = min(b, c)
    p = min(1.0, 2 * float(betainc(n - k, k + 1, 0.5)))  # scipy's bdtr is wrong in the first digit at 10^8
    return TestResult((b - c) / n, p, n, n, method, interval=(2 * low - 1, 2 * high - 1), level=level)


def two_proportion_test(
    k1: float,
    n1: int,
    k2: float,
    n2: int,
    *,
    method: Literal["z", "exact"] = "z",
    alternative: Alternative = "two-sided",
    level: float = 0.95,
) -> Estimate:
    """Difference k1/n1 - k2/n2 of two independent rates, with Newcombe's interval and the p-value of no difference.

    "z" is the score test with the pooled rate (k may be fractional). "exact" holds its level however small n is: up to
    n1 * n2 = 40,000 Barnard's unconditional test on that z, above it Fisher's (scipy's both; whole k). "greater" means
    that the first rate is higher. The interval does not invert the test: near 0.05 the two may disagree about zero.

    Two rates of 0, or two of 1, leave z undefined (0/0): p is 1 for every alternative, as in the exact tests. An empty
    sample gives None. Raises ValueError unless 0 <= k <= n, with n whole.
    """
    k1, n1, k2, n2 = *counted(k1, n1, "1"), *counted(k2, n2, "2")
    check_alternative(alternative, ("two-sided", "greater", "less"))
    if method not in ("z", "exact"):
        raise ValueError(f"method must be z or exact, got {method!r}.")
    if method == "exact" and not (isinstance(k1, int) and isinstance(k2, int)):
        raise ValueError(f"an exact test needs whole counts, got {k1} and {k2}.")
    difference = newcombe_difference(k1, n1, k2, n2, level=level)
    if difference.estimate is None:
        return difference
    if not 0 < k1 + k2 < n1 + n2:
        p, name = 1.0, "no variation, nothing to test"
    elif method == "z":
        z, name = float(pooled_z(k1, n1, k2, n2)), "two-proportion z (pooled)"
        p = float({"two-sided": 2 * ndtr(-abs(z)), "greater": ndtr(-z), "less": ndtr(z)}[alternative])
    else:
        p, name = _exact(int(k1), n1, int(k2), n2, alternative)
    return replace(difference, method=f"{name}, Newcombe interval", pvalue=p)


def pooled_z(k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike) -> NDArray[np.float64]:
    """Difference of two rates over its standard error under a common rate, elementwise; 0 where that rate is 0 or 1.

    Every n must be positive.
    """
    k1, n1, k2, n2 = (np.asarray(x, dtype=np.float64) for x in (k1, n1, k2, n2))
    total = n1 + n2
    yes = k1 + k2
    # Whole numbers up to the last step, so that rates of 0 and 1 give exactly no variance.
    variance = yes * (total - yes) / (total * n1 * n2)
    z: NDArray[np.float64] = (k1 / n1 - k2 / n2) / np.sqrt(np.where(variance > 0, variance, 1.0))
    return np.where(variance > 0, z, 0.0)


def newcombe_difference(k1: float, n1: int, k2: float, n2: int, *, level: float = 0.95) -> Estimate:
    """k1/n1 - k2/n2 of independent samples with the hybrid score interval (Newcombe 1998, Stat Med 17:873, method 10).

    p inverts the interval: it is under 1 - level exactly when the interval excludes 0. An empty sample gives None.
    Raises ValueError unless 0 <= k <= n, with n whole.
    """
    k1, n1, k2, n2 = *counted(k1, n1, "1"), *counted(k2, n2, "2")
    check_level(level)
    method = "Newcombe hybrid score"
    if not n1 or not n2:
        reason = "no observations in one of the samples"
        return Estimate(None, None, n1 + n2, n1 + n2, method, level, reason=reason)
    # Over a common denominator, so that whole counts give the number next to the true difference.
    difference = (k1 * n2 - k2 * n1) / (n1 * n2)
    limits = _square_and_add((k1 / n1, n1), (k2 / n2, n2), difference, 0.0)
    return Estimate(
        difference, limits(_critical(level)), n1 + n2, n1 + n2, method, level, _inverted(limits, difference)
    )


def newcombe_paired(both: int, only_first: int, only_second: int, neither: int, *, level: float = 0.95) -> Estimate:
    """First rate minus second rate on the same units, from how many showed it both times, once, or never.

    The paired hybrid score interval (Newcombe 1998, Stat Med 17:2635, method 10, with its continuity-corrected phi).
    p inverts the interval: it is under 1 - level exactly when the interval excludes 0. At 0.05 its level is at most
    0.070 with 10 units, 0.060 with 20 and 0.054 with 40; `mcnemar_exact` holds it at any number. Without units the
    estimate is None. Raises ValueError for counts that are negative or not whole.
    """
    a, b, c, d = (whole(count, "each count") for count in (both, only_first, only_second, neither))
    check_level(level)
    n, method = a + b + c + d, "Newcombe paired hybrid score"
    if not n:
        return Estimate(None, None, 0, 0, method, level, reason="no observations")
    margins = (a + b) * (c + d) * (a + c) * (b + d)
    cross: float = a * d - b * c
    cross = max(cross - n / 2, 0.0) if cross > 0 else cross
    phi = cross / math.sqrt(margins) if margins else 0.0
    difference = (b - c) / n
    limits = _square_and_add(((a + b) / n, n), ((a + c) / n, n), difference, phi)
    return Estimate(difference, limits(_critical(level)), n, n, method, level, _inverted(limits, difference))


def counted(k: object, n: object, which: str = "") -> tuple[float, int]:
    """k (whole ones as int) and n as Python's numbers; raises ValueError unless 0 <= k <= n, both finite, n whole."""
    yes, size = finite(k, f"k{which}"), whole(n, f"n{which}")
    if not 0 <= yes <= size:
        raise ValueError(f"k{which} must lie between 0 and n{which}, got k{which} = {yes} and n{which} = {size}.")
    return yes, size


_Limits = Callable[[float], tuple[float, float]]


def _square_and_add(first: tuple[float, int], second: tuple[float, int], difference: float, phi: float) -> _Limits:
    """Both limits for the difference as a function of the critical value, from each arm's rate and size."""

    def limits(z: float) -> tuple[float, float]:
        (below1, above1), (below2, above2) = (
            (p - low, high - p) for p, n in (first, second) for low, high in [wilson_limits(p, z * z / n)]
        )
        low = difference - math.sqrt(max(0.0, below1**2 - 2 * phi * below1 * above2 + above2**2))
        high = difference + math.sqrt(max(0.0, above1**2 - 2 * phi * above1 * below2 + below2**2))
        return max(-1.0, low), min(1.0, high)

    return limits


def _inverted(limits: _Limits, difference: float) -> float:
    """The two-sided p at which the nearer limit meets 0."""
    if not difference:
        return 1.0
    side, sign = (0, 1) if difference > 0 else (1, -1)
    z = decreasing_root(lambda z: sign * limits(z)[side], 0.0, 38.0, xtol=1e-10, ftol=1e-13)
    return 2 * float(ndtr(-z))


def _exact(k1: int, n1: int, k2: int, n2: int, alternative: Alternative) -> tuple[float, str]:
    from scipy.stats import barnard_exact, fisher_exact

    unconditional = n1 * n2 <= _UNCONDITIONAL_UP_TO
    name = "Barnard's exact test" if unconditional else "Fisher's exact test"
    table = [[k1, k2], [n1 - k1, n2 - k2]]
    test = barnard_exact if unconditional else fisher_exact
    return min(1.0, float(test(table, alternative=alternative).pvalue)), name


def _critical(level: float) -> float:
    return float(ndtri((1 + level) / 2))


def _check(n: int, level: float, method: str) -> Estimate | None:
    check_level(level)
    return None if n else Estimate(None, None, 0, 0, method, level, reason="no observations")
