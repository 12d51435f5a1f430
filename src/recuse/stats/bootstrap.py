"""Bootstrap interval of a mean of values in groups, and what stands in for it where resampling would lie.

Groups are drawn with replacement; the mean is pair-weighted, a ratio of sums. Resampling can only show what the sample
holds. Hence, by what the data are, and named in `method`:

- at least `clustered.FEW_UNITS` units differ from the median one (effectively: see `clustered.effective_units`): the
  bootstrap asked for. "auto" is the studentised one. With `bounds` its limits are at least as far out as the exact
  bound would be if all units were equal, and the method says "widened for values unseen" where that sets one.
- fewer, with `bounds`: the limits of `clustered_mean` (the Dirichlet bound, on single 0/1 values Clopper-Pearson; the
  exact bound where all are equal; the whole range for one group).
- fewer, without bounds: the wider of Student's t and the Dirichlet bound on the range that reaches as far on both sides
  of the median unit as the farthest one does. No interval is valid for every unbounded distribution (Bahadur & Savage
  1956): t fails for rare large values, the Dirichlet bound for values beyond those seen, seldom both. Measured: 0.96
  for exponential values at n = 40 (t alone 0.93), 0.98 for normal ones at n = 24, but 0.87 for lognormal ones with
  sigma 1.5 at n = 40 (t alone 0.80).
- all units equal or one group, without bounds: no interval, and the reason.

Percentile and BCa as in Efron & Tibshirani (1993, chapters 13 and 14); scipy.stats.bootstrap has both, but neither
groups nor blocks. Studentised as in Davison & Hinkley (1997, section 5.2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from recuse.stats.clustered import UNSEEN, WILSON, squared
from recuse.stats.inputs import Bounds, Groups
from recuse.stats.resample import resampled_means
from recuse.stats.results import Estimate, check_level, check_resampling
from recuse.stats.sample import Sample, sample

Array = NDArray[np.float64]
Method = Literal["auto", "percentile", "bca", "studentised"]
METHODS = ("auto", "percentile", "bca", "studentised")
HULL = "wider of t and Dirichlet bound within the reach of the units (few units differ, no bounds)"


@dataclass(frozen=True, slots=True)
class BootstrapEstimate(Estimate):
    """An estimate with the resampled means (read-only) where they were asked for and resampling was sound."""

    distribution: Array | None = field(default=None, compare=False, repr=False)


def bootstrap_mean(
    values: ArrayLike,
    *,
    groups: Groups | None = None,
    bounds: Bounds | None = None,
    level: float = 0.95,
    method: Method = "auto",
    resamples: int = 10_000,
    seed: int = 0,
    keep: bool = False,
) -> BootstrapEstimate:
    """Mean over all values with a bootstrap interval over groups; without `groups` each value is a unit.

    `values` has shape (n,), `groups` one label for each. `bounds`: between which values lie. They make few differing
    units decidable, and the interval is cut off at them.
    `keep` adds the distribution of the resampled means, shape (resamples,). Without values the estimate is None.
    The interval never has width zero. Raises ValueError for values outside the bounds or not finite, lengths that
    differ, or an unknown method.
    """
    check_level(level)
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}.")
    check_resampling(resamples, seed)
    data = sample(values, groups=groups, bounds=bounds)
    if data is None:
        return BootstrapEstimate(None, None, 0, 0, "bootstrap", level, reason="no observations")
    return sample_interval(data, level=level, method=method, resamples=resamples, seed=seed, keep=keep)


def sample_interval(
    data: Sample, *, level: float, method: Method = "auto", resamples: int = 10_000, seed: int = 0, keep: bool = False
) -> BootstrapEstimate:
    """The same for a sample that is not empty."""
    check_resampling(resamples, seed)
    alpha, kept = (1 - level) / 2, None
    low: float
    high: float
    if data.no_limits:
        return BootstrapEstimate(data.estimate, None, data.n, data.groups, "bootstrap", level, reason=data.no_limits)
    if data.units.method != WILSON:
        low, high, label = data.units.lower(alpha), data.units.upper(alpha), data.units.method
        if not data.bounded:
            mean, reach, label = data.units.mean, data.t_reach(alpha), HULL
            low, high = min(low, mean - reach), max(high, mean + reach)
    else:
        shifts, errors = resampled_means(data.sums, data.sizes, resamples=resamples, rng=np.random.default_rng(seed))
        name = "studentised" if method == "auto" else method
        below, above = _INTERVALS[name](data, shifts, errors, alpha)
        low, high, label = data.units.mean + below, data.units.mean + above, f"{name} bootstrap ({resamples} resamples)"
        if data.bounded:
            unseen = 1 - data.units.flipped().unseen_upper(alpha), data.units.unseen_upper(alpha)
            label += UNSEEN if unseen[0] < low or unseen[1] > high else ""
            low, high = max(min(low, unseen[0]), 0.0), min(max(high, unseen[1]), 1.0)
        if keep:
            kept = data.estimate + data.width * shifts
            kept.flags.writeable = False
    interval = (min(data.restored(low), data.estimate), max(data.restored(high), data.estimate))
    return BootstrapEstimate(data.estimate, interval, data.n, data.groups, label, level, distribution=kept)


def studentised(shifts: Array, errors: Array) -> Array:
    """The resampled t statistics; a resample without scatter lies as far out as its shift has a sign."""
    tiny = 1e-15
    return shifts / np.maximum(errors, tiny)


def _percentile(data: Sample, shifts: Array, errors: Array, alpha: float) -> tuple[float, float]:
    low, high = np.quantile(shifts, [alpha, 1 - alpha])
    return float(low), float(high)


def _studentised(data: Sample, shifts: Array, errors: Array, alpha: float) -> tuple[float, float]:
    low, high = np.quantile(studentised(shifts, errors), [1 - alpha, alpha])
    error = data.error * math.sqrt((data.groups - 1) / data.groups)  # as the resampled ones are
    return float(-low * error), float(-high * error)


def _bca(data: Sample, shifts: Array, errors: Array, alpha: float) -> tuple[float, float]:
    # Ties count half: on a lattice many resampled means equal the observed one.
    below = (np.count_nonzero(shifts < -1e-12) + np.count_nonzero(shifts <= 1e-12)) / 2 / shifts.size
    bias = float(ndtri(np.clip(below, 0.5 / shifts.size, 1 - 0.5 / shifts.size)))
    left_out = data.residuals / (data.sizes.sum() - data.sizes)  # minus the change of the mean without the unit
    pull = left_out - left_out.mean()
    acceleration = float((pull**3).sum()) / (6 * squared(pull) ** 1.5)
    z = bias + ndtri(np.array([alpha, 1 - alpha]))
    low, high = np.quantile(shifts, ndtr(bias + z / (1 - acceleration * z)))
    return float(low), float(high)


_INTERVALS = {"percentile": _percentile, "bca": _bca, "studentised": _studentised}
