"""Tests of a mean beside the plain sign flip: of its t statistic, and of a minimum that needs no symmetry."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recuse.stats import dirichlet, signflip
from recuse.stats.bootstrap import BootstrapEstimate, sample_interval, studentised
from recuse.stats.clustered import FEW, RANGE, WILSON, Units, squared
from recuse.stats.inputs import HUGE, Bounds, Groups, checked_bounds, number, numbers
from recuse.stats.resample import resampled_means
from recuse.stats.results import (
    Alternative,
    OneSided,
    TestResult,
    check_alternative,
    check_level,
    check_resampling,
)
from recuse.stats.sample import Sample, sample
from recuse.stats.sequential import confidence_sequence, e_value

Array = NDArray[np.float64]

Method = Literal["fixed sample", "confidence sequence"]
METHODS = ("fixed sample", "confidence sequence")
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

    `gaps` and `sizes` have shape (units,). Without `sizes`, or with equal ones, it is the plain test in other words:
    flips leave the sum of squares alone, so that t rises with the sum and both give the same p, to the last digit. It
    therefore shares the plain test's assumption, and is no remedy where symmetry fails;
    `minimum_effect_test(gaps, minimum=0, bounds=...)` is. With unequal sizes large and small units weigh differently in
    the error, and the p-values differ a little.

    Exact where `sign_flip_test` is (unequal sizes: up to 20 non-zero units), otherwise `resamples` random flips with
    p = (hits + 1) / (resamples + 1). Raises ValueError for gaps that are not finite or sizes that are not
    positive (1e-150 at least).
    """
    check_resampling(resamples, seed)
    g = numbers(gaps, "gaps")
    n = np.ones_like(g) if sizes is None else numbers(sizes, "sizes")
    if n.shape != g.shape or not (n >= 1 / HUGE).all():
        raise ValueError("sizes must be one positive number for each gap.")
    mean = float(g.sum() / n.sum()) if g.size else None
    if not g.any() or np.ptp(n) == 0:
        plain = signflip.sign_flip_test(g, alternative=alternative, seed=seed, resamples=resamples)
        return replace(plain, estimate=mean, method=f"studentised {plain.method}")
    check_alternative(alternative, ("two-sided", "greater", "less"))
    g, n = g / np.abs(g).max(), n / n.mean()
    gg, nn = squared(g), squared(n)
    active = g != 0
    columns = np.column_stack((g, g * n))[active]

    def t(sums: Array, products: Array) -> Array:
        """t / sqrt(t**2 + G), which rises with t and stays finite where nothing scatters."""
        share = sums / g.size
        spread = gg - 2 * share * products + share**2 * nn + sums * share
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
    *,
    minimum: float,
    groups: Groups | None = None,
    bounds: Bounds | None = None,
    alternative: OneSided = "greater",
    method: Method = "fixed sample",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    keep: bool = False,
) -> BootstrapEstimate:
    """One-sided test of "the mean is greater (less) than `minimum`", inverting limits; nothing is shifted and flipped.

    `values` has shape (n,), `groups` one label for each; `minimum` is in the values' unit. For a fixed sample with
    `bounds` it is the Dirichlet bound whatever the values are: it reckons with rare values that the sample does not
    show, and no distribution within the bounds is known to break its level (Gaffke 2005). Without bounds it is the
    studentised bootstrap, or the wider of t and the Dirichlet bound where few units differ (see
    `recuse.stats.bootstrap`). These are approximate, and rare large values break them: the level of 0.05 is 0.15 for
    "less" with lognormal values (sigma 1.5, n = 40), and 0.05 with exponential ones (n = 40 and 150).

    "confidence sequence" is for samples that may be extended after a look: level and interval hold at any stopping time
    (`recuse.stats.sequential`: Waudby-Smith & Ramdas 2024). It needs bounds and the order of collection, a minimum
    strictly between the bounds, and weighs group means alike, so that the estimate is their mean.

    `interval` is two-sided at `level` and lies wholly on the claimed side of the minimum exactly when
    p < (1 - level) / 2 (but for the last digit of the resampling or of the sequence's grid). `keep` adds the resampled
    means where there are any. p is None with a reason where there are no limits. Raises ValueError as `bootstrap_mean`
    does, and for a minimum that is not a number of ordinary size.
    """
    check_level(level)
    check_alternative(alternative)
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}.")
    check_resampling(resamples, seed)
    minimum = number(minimum, "the minimum")
    if method == "confidence sequence":
        return _anytime(values, minimum, groups, bounds, alternative, level)
    data = sample(values, groups=groups, bounds=bounds)
    if data is None:
        return BootstrapEstimate(None, None, 0, 0, "minimum effect", level, reason="no observations")
    p = sample_pvalues(data, minimum, resamples=resamples, seed=seed)
    if units := _bounded(data):
        alpha = (1 - level) / 2
        low, high = data.restored(units.lower(alpha)), data.restored(units.upper(alpha))
        interval = min(low, data.estimate), max(high, data.estimate)
        found = BootstrapEstimate(data.estimate, interval, data.n, data.groups, BOUND, level)
    else:
        found = sample_interval(data, level=level, resamples=resamples, seed=seed, keep=keep)
    return found if p is None else replace(found, pvalue=p[alternative])


def _anytime(
    values: ArrayLike,
    minimum: float,
    groups: Groups | None,
    bounds: Bounds | None,
    alternative: OneSided,
    level: float,
) -> BootstrapEstimate:
    if bounds is None:
        raise ValueError("a confidence sequence needs the bounds between which values lie.")
    bounds = checked_bounds(bounds)
    found = confidence_sequence(values, groups=groups, bounds=bounds, level=level)
    evidence = e_value(values, null_mean=minimum, alternative=alternative, groups=groups, bounds=bounds)
    p = None if found.estimate is None else evidence.pvalue
    return BootstrapEstimate(
        found.estimate, found.interval, found.n, found.groups, found.method, level, p, found.reason
    )


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
