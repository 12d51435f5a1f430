"""How many items two raters must label to know their kappa."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from recuse.stats.agreement import cohen_kappa
from recuse.stats.inputs import number
from recuse.stats.planning import MOST, UNREACHABLE, Plan, check_aim, check_power, fraction, half_width_plan
from recuse.stats.results import check_seed
from recuse.stats.root import decreasing_root

Array = NDArray[np.float64]

_STUDIES = 2000  # simulated: power to within 0.02
_SIMULATED = 5000  # items; beyond, large-sample theory is right to a per cent
_THEORY = "kappa, large-sample variance"
_SIMULATION = f"kappa, interval of cohen_kappa in {_STUDIES} simulated studies"


def labels_for_kappa(
    kappa: float,
    *,
    prevalence: float,
    half_width: float | None = None,
    threshold: float | None = None,
    level: float = 0.95,
    power: float = 0.8,
    seed: int = 0,
) -> Plan:
    """Items that two raters must both label (yes or no) to know kappa to `half_width`, or clear of `threshold`.

    Both raters say yes with probability `prevalence`. The start is a closed form from the large-sample variance (Bloch
    & Kraemer 1989) of a score interval: that of the limit, not of the estimate (Donner & Eliasziw 1992), or small
    samples are promised 0.80 power where they have 0.69 to 0.77. For a threshold it is ((z_level sd(threshold) +
    z_power sd(kappa)) / (kappa - threshold))^2. Up to 5,000 items it is then raised until, in 2,000 simulated studies,
    the interval of `cohen_kappa` clears the threshold as often as `power` says, or has the half width in the median.
    Raises ValueError unless exactly one aim is given, and for values that are impossible at the prevalence.
    """
    power, prevalence, kappa = check_power(level, power), fraction(prevalence, "the prevalence"), number(kappa, "kappa")
    check_aim(half_width, threshold)
    check_seed(seed)
    threshold = None if threshold is None else number(threshold, "the threshold")
    lowest = -min(prevalence, 1 - prevalence) / max(prevalence, 1 - prevalence)
    for value in (kappa, threshold):
        if value is not None and not lowest <= value <= 1:
            raise ValueError(f"kappa lies between {lowest:.3g} and 1 at this prevalence, got {value}.")
    z, cut = float(ndtri((1 + level) / 2)), 0.0 if threshold is None else threshold
    if half_width is not None:
        # One item has no kappa.
        plan = half_width_plan(
            lambda n: _limits(kappa, prevalence, z / math.sqrt(n), lowest), half_width, _THEORY, first=2
        )
    else:
        plan = _threshold_plan(kappa, cut, prevalence, z, power)
    if plan.n is None or plan.n > _SIMULATED:
        return plan
    n = plan.n
    while True:
        low, high = _simulated_limits(n, kappa, prevalence, level, seed)
        if half_width is not None:
            width = float(np.median(high - low)) / 2
            plan, enough = replace(plan, n=n, method=_SIMULATION, half_width=width), width <= half_width
        else:
            share = float(np.mean(low > cut if kappa > cut else high < cut))
            plan, enough = replace(plan, n=n, method=_SIMULATION, power=share), share >= power
        if enough:
            return plan
        n += max(1, n // 40)


def _threshold_plan(kappa: float, threshold: float, prevalence: float, z: float, power: float) -> Plan:
    if kappa == threshold:
        return Plan(None, _THEORY, reason="kappa is at the threshold")
    far, here, there = abs(kappa - threshold), _sd(kappa, prevalence), _sd(threshold, prevalence)
    root = max(0.0, z * there + float(ndtri(power)) * here) / far
    if root > math.sqrt(MOST):
        return Plan(None, _THEORY, reason=UNREACHABLE)
    n = max(2, math.ceil(root**2))
    return Plan(n, _THEORY, power=float(ndtr((far * math.sqrt(n) - z * there) / here)) if here > 0 else 1.0)


def _sd(kappa: float, prevalence: float) -> float:
    """Large-sample standard deviation of kappa times sqrt(n), for raters with the same prevalence."""
    spread = kappa * (2 - kappa) / (2 * prevalence * (1 - prevalence))
    return math.sqrt(max((1 - kappa) * ((1 - kappa) * (1 - 2 * kappa) + spread), 0.0))


def _limits(kappa: float, prevalence: float, z: float, lowest: float) -> tuple[float, float]:
    """Score limits when the observed kappa is `kappa`; z is the critical value over sqrt(n)."""

    def excess(limit: float) -> float:
        return abs(kappa - limit) - z * _sd(limit, prevalence)

    low = decreasing_root(excess, lowest, kappa, xtol=1e-10, ftol=1e-12) if excess(lowest) > 0 else lowest
    return low, decreasing_root(lambda limit: -excess(limit), kappa, 1.0, xtol=1e-10, ftol=1e-12)


def _simulated_limits(n: int, kappa: float, prevalence: float, level: float, seed: int) -> tuple[Array, Array]:
    """Limits of kappa in simulated studies of n items; minus and plus one where it is undefined."""
    off = (1 - kappa) * prevalence * (1 - prevalence)
    cells = np.maximum([prevalence - off, off, off, 1 - prevalence - off], 0.0)
    drawn = np.random.default_rng(seed).multinomial(n, cells / cells.sum(), size=_STUDIES)
    tables, times = np.unique(drawn, axis=0, return_counts=True)
    limits = np.empty((len(tables), 2))
    for place, table in enumerate(tables):
        first, second = np.repeat([1, 1, 0, 0], table), np.repeat([1, 0, 1, 0], table)
        limits[place] = cohen_kappa(first, second, level=level).interval or (-1.0, 1.0)
    return np.repeat(limits[:, 0], times), np.repeat(limits[:, 1], times)
