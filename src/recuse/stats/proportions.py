"""Intervals for k of n independent units, for the difference of two such rates, and the tests that go with them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, betaincinv, ndtr, ndtri

from recuse.stats.results import Alternative, Estimate, TestResult, check_alternative, check_level, plain

# Tables up to which Barnard's test is used: at 200 against 200 it takes scipy 0.07 s, at 1,000 against 1,000 9 s.
_UNCONDITIONAL_UP_TO = 40_000


def wilson_interval(k: float, n: int, *, level: float = 0.95) -> Estimate:
    """Score interval for k of n (Wilson 1927). k may be fractional, where ties count half.

    With n = 0 the estimate is None. Raises ValueError unless 0 <= k <= n.
    """
    k, size = plain(k, n)
    if empty := _check(k, size, level, "Wilson score"):
        return empty
    p, c = k / size, float(ndtri((1 + level) / 2)) ** 2 / size
    return Estimate(p, wilson_limits(p, c), int(size), int(size), "Wilson score", level)


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
    k, size = plain(k, n)
    if empty := _check(k, size, level, "Clopper-Pearson"):
        return empty
    tail = (1 - level) / 2
    low = float(betaincinv(k, size - k + 1, tail)) if k > 0 else 0.0
    high = float(betaincinv(k + 1, size - k, 1 - tail)) if k < size else 1.0
    return Estimate(k / size, (low, high), int(size), int(size), "Clopper-Pearson", level)


def mcnemar_exact(b: int, c: int) -> TestResult:
    """Two-sided exact McNemar test: b pairs changed one way and c the other; p doubles the smaller binomial tail.

    The estimate is (b - c) / (b + c). Without discordant pairs it is 0 and p is 1.
    """
    counts = plain(b, c)
    if any(count != int(count) or count < 0 for count in counts):
        raise ValueError(f"discordant counts must be whole and not negative, got {b} and {c}.")
    b, c = (int(count) for count in counts)
    n = b + c
    p = min(1.0, 2 * float(bdtr(min(b, c), n, 0.5))) if n else 1.0
    return TestResult((b - c) / n if n else 0.0, p, n, n, "exact McNemar (binomial)")


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
    An empty sample gives None; two rates of 0, or of 1, p = 1. Raises ValueError for impossible counts.
    """
    k1, n1, k2, n2 = plain(k1, n1, k2, n2)  # type: ignore[assignment]
    check_alternative(alternative, ("two-sided", "greater", "less"))
    if method not in ("z", "exact"):
        raise ValueError(f"method must be z or exact, got {method!r}.")
    difference = newcombe_difference(k1, n1, k2, n2, level=level)
    if difference.estimate is None:
        return difference
    if method == "z":
        z, name = float(pooled_z(k1, n1, k2, n2)), "two-proportion z (pooled)"
        tails = {"two-sided": 2 * ndtr(-abs(z)), "greater": ndtr(-z), "less": ndtr(z)}
        p = float(tails[alternative])
    else:
        if k1 != int(k1) or k2 != int(k2):
            raise ValueError(f"an exact test needs whole counts, got {k1} and {k2}.")
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

    An empty sample gives None. Raises ValueError for impossible counts.
    """
    k1, n1, k2, n2 = plain(k1, n1, k2, n2)  # type: ignore[assignment]
    return _square_and_add((k1, n1), (k2, n2), 0.0, n1 + n2, "Newcombe hybrid score", level)


def newcombe_paired(both: int, only_first: int, only_second: int, neither: int, *, level: float = 0.95) -> Estimate:
    """First rate minus second rate on the same units, from how many showed it both times, once, or never.

    The paired hybrid score interval (Newcombe 1998, Stat Med 17:2635, method 10, with its continuity-corrected phi).
    Without units the estimate is None. Raises ValueError for counts that are negative or not whole.
    """
    counts = plain(both, only_first, only_second, neither)
    a, b, c, d = counts
    if any(count != int(count) or count < 0 for count in counts):
        raise ValueError(f"counts must be whole and not negative, got {counts}.")
    n = int(sum(counts))
    margins = (a + b) * (c + d) * (a + c) * (b + d)
    cross: float = a * d - b * c
    cross = max(cross - n / 2, 0.0) if cross > 0 else cross
    phi = cross / math.sqrt(margins) if margins else 0.0
    return _square_and_add((a + b, n), (a + c, n), phi, n, "Newcombe paired hybrid score", level)


def _square_and_add(
    first: tuple[float, int], second: tuple[float, int], phi: float, n: int, method: str, level: float
) -> Estimate:
    arms = []
    for side in (wilson_interval(k, size, level=level) for k, size in (first, second)):
        if side.estimate is None or side.interval is None:
            return Estimate(None, None, n, n, method, level, reason="no observations in one of the samples")
        arms.append((side.estimate, side.estimate - side.interval[0], side.interval[1] - side.estimate))
    (p1, below1, above1), (p2, below2, above2) = arms
    low = p1 - p2 - math.sqrt(max(0.0, below1**2 - 2 * phi * below1 * above2 + above2**2))
    high = p1 - p2 + math.sqrt(max(0.0, above1**2 - 2 * phi * above1 * below2 + below2**2))
    return Estimate(p1 - p2, (max(-1.0, low), min(1.0, high)), n, n, method, level)


def _exact(k1: int, n1: int, k2: int, n2: int, alternative: Alternative) -> tuple[float, str]:
    from scipy.stats import barnard_exact, fisher_exact

    unconditional = n1 * n2 <= _UNCONDITIONAL_UP_TO
    name = "Barnard's exact test" if unconditional else "Fisher's exact test"
    if not 0 < k1 + k2 < n1 + n2:
        return 1.0, name
    table = [[k1, k2], [n1 - k1, n2 - k2]]
    test = barnard_exact if unconditional else fisher_exact
    return min(1.0, float(test(table, alternative=alternative).pvalue)), name


def _check(k: float, n: float, level: float, method: str) -> Estimate | None:
    check_level(level)
    if not 0 <= k <= n:
        raise ValueError(f"k must lie between 0 and n, got k = {k} and n = {n}.")
    return None if n else Estimate(None, None, 0, 0, method, level, reason="no observations")
