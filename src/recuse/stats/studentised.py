"""Tests of a mean beside the plain sign flip: of its t statistic, and of a minimum that needs no symmetry."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recuse.stats import dirichlet, signflip
from recuse.stats.bootstrap import sample_interval, studentised
from recuse.stats.clustered import FEW, RANGE, WILSON, Units
from recuse.stats.inputs import Bounds, Groups
from recuse.stats.resample import resampled_means
from recuse.stats.results import (
    Alternative,
    Estimate,
    OneSided,
    TestResult,
    check_alternative,
    check_level,
    check_resamples,
)
from recuse.stats.sample import Sample, sample

Array = NDArray[np.float64]

BOUND = "Dirichlet bound (any distribution within the bounds)"


def studentised_flip_test(
    gaps: ArrayLike,
    *,
    sizes: ArrayLike | None = None,
    alternative: Alternative = "two-sided",
    resamples: int = 100_000,
    seed: int = 0,
) -> TestResult:
    """Sign-flip test of a zero mean by the t statistic of sum(gaps) / sum(sizes), one gap sum per independent unit.

    Without `sizes`, or with equal ones, it is the plain test in other words: flips leave the sum of squares alone, so
    that t rises with the sum and both give the same p, to the last digit. It therefore shares the plain test's
    assumption, and is no remedy where symmetry fails; `minimum_effect_test(gaps, 0, bounds=...)` is. With unequal
    sizes large and small units weigh differently in the error, and the p-values differ a little.

    Exact where `sign_flip_test` is (unequal sizes: up to 20 non-zero units), otherwise `resamples` random flips with
    p = (hits + 1) / (resamples + 1). Raises ValueError for gaps that are not finite or sizes that are not positive.
    """
    check_resamples(resamples)
    g = np.asarray(gaps, dtype=np.float64)
    n = np.ones_like(g) if sizes is None else np.asarray(sizes, dtype=np.float64)
    if g.ndim != 1 or not np.isfinite(g).all():
        raise ValueError("gaps must be one finite number for each unit.")
    if n.shape != g.shape or not np.isfinite(n).all() or not (n > 0).all():
        raise ValueError("sizes must be one positive number for each gap.")
    mean = float(g.sum() / n.sum()) if g.size else 0.0
    if not g.any() or np.ptp(n) == 0:
        plain = signflip.sign_flip_test(g, alternative=alternative, seed=seed, resamples=resamples)
        return replace(plain, estimate=mean, method=f"studentised {plain.method}")
    check_alternative(alternative, ("two-sided", "greater", "less"))
    g, n = g / np.abs(g).max(), n / n.mean()
    active = g != 0
    columns = np.column_stack((g, g * n))[active]

    def t(sums: Array, products: Array) -> Array:
        """t / sqrt(t**2 + G), which rises with t and stays finite where nothing scatters."""
        share = sums / g.size
        spread = g @ g - 2 * share * products + share**2 * (n @ n) + sums * share
        scaled: Array = sums / np.sqrt(np.maximum(spread, 1e-300))
        return scaled

    sign = {"less": -1.0, "greater": 1.0}.get(alternative, 0.0)
    observed = t(columns[:, :1].sum(axis=0), columns[:, 1:].sum(axis=0))[0]

    def hits(values: Array) -> int:
        reached = sign * values >= sign * observed - 1e-9 if sign else np.abs(values) >= abs(observed) - 1e-9
        return int(np.count_nonzero(reached))

    if len(columns) <= signflip.ENUMERATE_UP_TO:
        p = hits(t(*map(signflip.all_flipped_sums, columns.T))) / 2 ** len(columns)
        kind = "exact sign-flip (enumeration)"
    else:
        blocks = signflip.sampled_flipped_sums(columns, np.random.default_rng(seed), resamples)
        p = (sum(hits(t(*block)) for block in blocks) + 1) / (resamples + 1)
        kind = f"sampled sign-flip ({resamples} resamples)"
    return TestResult(mean, p, g.size, len(columns), f"studentised {kind}; {signflip.ASSUMES}")


def minimum_effect_test(
    values: ArrayLike,
    minimum: float,
    *,
    groups: Groups | None = None,
    bounds: Bounds | None = None,
    alternative: OneSided = "greater",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Estimate:
    """One-sided test of "the mean is greater (less) than `minimum`", inverting limits; nothing is shifted and flipped.

    With `bounds` it is the Dirichlet bound whatever the values are: it reckons with rare values that the sample does
    not show, and no distribution within the bounds is known to break its level (Gaffke 2005). Without bounds it is the
    studentised bootstrap, or the wider of t and the Dirichlet bound where few units differ (see
    `recuse.stats.bootstrap`); these are approximate, and rare large values of one sign break them.

    `interval` is two-sided at `level` and lies wholly on the claimed side of the minimum exactly when
    p < (1 - level) / 2 (with the bootstrap, but for the resampling's last digit). p is None with a reason where there
    are no limits. Raises ValueError as `bootstrap_mean` does.
    """
    check_level(level)
    check_alternative(alternative)
    check_resamples(resamples)
    if not math.isfinite(minimum):
        raise ValueError(f"the minimum must be finite, got {minimum}.")
    data = sample(values, groups=groups, bounds=bounds)
    if data is None:
        return Estimate(None, None, 0, 0, "minimum effect", level, reason="no observations")
    p = sample_pvalues(data, minimum, resamples=resamples, seed=seed)
    if units := _bounded(data):
        alpha = (1 - level) / 2
        interval = (data.restored(units.lower(alpha)), data.restored(units.upper(alpha)))
        found = Estimate(data.estimate, interval, data.n, data.groups, BOUND, level)
    else:
        found = sample_interval(data, level=level, resamples=resamples, seed=seed)
    return found if p is None else replace(found, pvalue=p[alternative])


def sample_pvalues(
    data: Sample, minimum: float, *, resamples: int = 10_000, seed: int = 0
) -> dict[OneSided, float] | None:
    """Both one-sided p-values of a sample that is not empty, or None where there are no limits."""
    if data.no_limits:
        return None
    bound = data.scaled(minimum)
    if data.units.method == WILSON and not data.bounded:
        shifts, errors = resampled_means(data.sums, data.sizes, resamples=resamples, rng=np.random.default_rng(seed))
        t = studentised(shifts, errors)
        observed = (data.units.mean - bound) / (data.error * math.sqrt((data.groups - 1) / data.groups))
        above, below = int(np.count_nonzero(t >= observed - 1e-9)), int(np.count_nonzero(t <= observed + 1e-9))
        return {"greater": (above + 1) / (resamples + 1), "less": (below + 1) / (resamples + 1)}
    units = _bounded(data) or data.units
    greater, less = units.p_greater(bound), units.p_less(bound)
    if data.bounded:
        return {"greater": greater, "less": less}
    p = data.t_pvalue(bound)
    return {"greater": max(greater, p), "less": max(less, 1 - p)}


def _bounded(data: Sample) -> Units | None:
    """The units with the Dirichlet bound, whatever they are; None without bounds or with one unit."""
    if not data.bounded or data.units.method == RANGE:
        return None
    return data.units if data.equal else replace(data.units, method=FEW, kinds=dirichlet.kinds(data.sums, data.sizes))
