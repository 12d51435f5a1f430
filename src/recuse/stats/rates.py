"""Rates of two groups against each other: their ratio, and their difference where observations come in clusters."""

from __future__ import annotations

import math
from dataclasses import replace

from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from recuse.stats.difference import clustered_difference, test_difference_bound
from recuse.stats.inputs import Groups
from recuse.stats.proportions import pooled_z, wilson_interval
from recuse.stats.results import Estimate, plain
from recuse.stats.root import decreasing_root

_FAR = 60.0  # the log of a ratio that no counts reach


def impact_ratio(k: float, n: int, k_ref: float, n_ref: int, *, level: float = 0.95) -> Estimate:
    """The rate k/n over the reference rate k_ref/n_ref, with the score interval and the p-value of equal rates.

    The interval inverts the score test of a given ratio (Koopman 1984, Biometrics 40:513). It is chosen over MOVER-R
    and the log interval because it excludes 1 exactly when the pooled z-test, whose p stands beside it, rejects; and
    because rates of 0 and 1 keep their scatter: 0 of 10 against 5 of 10 gives 0 to 0.61. A reference rate of 0 has no
    ratio: None, and so has an empty group. k may be fractional. Raises ValueError for impossible counts.
    """
    k, n, k_ref, n_ref = plain(k, n, k_ref, n_ref)  # type: ignore[assignment]
    own, ref = (wilson_interval(yes, size, level=level) for yes, size in ((k, n), (k_ref, n_ref)))
    name, total = "score interval of the ratio (Koopman)", n + n_ref
    if own.estimate is None or ref.estimate is None:
        return Estimate(None, None, total, total, name, level, reason="no observations in one of the groups")
    if not k_ref:
        return Estimate(None, None, total, total, name, level, reason="the reference rate is 0: there is no ratio")
    z = float(ndtri((1 + level) / 2))

    def limit(target: float) -> float:
        log = decreasing_root(
            lambda x: _score(k, n, k_ref, n_ref, math.exp(x)) - target, -_FAR, _FAR, xtol=1e-12, ftol=1e-10
        )
        return math.exp(log)

    interval = (limit(z) if k else 0.0, limit(-z))
    pvalue = 2 * float(ndtr(-abs(pooled_z(k, n, k_ref, n_ref))))
    return Estimate(own.estimate / ref.estimate, interval, total, total, name, level, pvalue)


def risk_difference(
    values: ArrayLike, exposed: ArrayLike, *, groups: Groups | None = None, level: float = 0.95
) -> Estimate:
    """Rate (mean of values from 0 to 1) of the exposed minus that of the others, where clusters are the units.

    `clustered_difference` with the two-sided p-value of no difference that inverts its interval; clusters may have
    members on both sides. An empty side gives None and the reason. Raises ValueError as that function does.
    """
    result = clustered_difference(values, exposed, groups=groups, level=level)
    if result.estimate is None:
        return result
    tails = (
        test_difference_bound(values, exposed, 0.0, groups=groups, alternative="greater"),
        test_difference_bound(values, exposed, 0.0, groups=groups, alternative="less"),
    )
    return replace(result, pvalue=min(1.0, 2 * min(tails)))


def _score(k: float, n: int, k_ref: float, n_ref: int, ratio: float) -> float:
    """Standardised difference k/n - ratio * k_ref/n_ref under the likeliest rates that have this ratio; falls in it."""
    # The smaller root of a q**2 - b q + c = 0, written so that nothing cancels.
    a, b, c = (n + n_ref) * ratio, (n + k_ref) * ratio + n_ref + k, k + k_ref
    q = 2 * c / (b + math.sqrt(max(0.0, b * b - 4 * a * c)))
    p = min(1.0, ratio * q)
    variance = p * (1 - p) / n + ratio * ratio * q * max(0.0, 1 - q) / n_ref
    difference = k / n - ratio * k_ref / n_ref
    return difference / math.sqrt(variance) if variance > 0 else 0.0
