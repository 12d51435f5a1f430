"""How much to collect before a run: the power of a probe, pairs for a rate (gaps: `designs`, kappa: `labels`).

Planning figures rest on guesses of the truth; each function says which. `level` is that of the two-sided interval
(0.95), `power` the probability that it will decide. `recuse.stats.power` looks back from data already there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from scipy.special import bdtrc, ndtr, ndtri

from recuse.stats.inputs import number
from recuse.stats.proportions import clopper_pearson, wilson_limits
from recuse.stats.results import Estimate, check_level, check_seed
from recuse.stats.signflip import sign_flip_test

MOST = 10_000_000
_EXACT = 1_000_000  # 16 MB an array
UNREACHABLE = "more than ten million are needed"


@dataclass(frozen=True, slots=True)
class Plan:
    """The units needed: the smallest number that reaches the aim, or None with the reason."""

    n: int | None
    method: str
    power: float | None = None  # with n units, where a power was asked for
    half_width: float | None = None  # with n units, where a half width was asked for
    reason: str | None = None


def power_paired_gap(
    rate_a: float,
    rate_b: float,
    *,
    templates: int,
    names: int = 1,
    seeds: int = 1,
    sd_template: float = 0.0,
    sd_gap: float = 0.0,
    sd_name: float = 0.0,
    level: float = 0.95,
    runs: int = 1000,
    seed: int = 0,
) -> Estimate:
    """Share of simulated probes in which the sign-flip test by template finds the gap between two rates of yes.

    The interval is the Monte-Carlo error (Clopper-Pearson over `runs`). Standard deviations are on the probit scale,
    where a single decision has 1: between templates (both groups alike), of the gap between templates, and between
    names within a template and group. The mean rates over all templates stay `rate_a` and `rate_b`. Equal rates give
    the level of the test. Raises ValueError for rates outside [0, 1], or counts under 1.
    """
    check_level(level)
    rate_a, rate_b = fraction(rate_a, "rate_a", ends=True), fraction(rate_b, "rate_b", ends=True)
    templates, names, seeds, runs = whole(templates=templates, names=names, seeds=seeds, runs=runs)
    if templates * names > MOST:
        raise ValueError(f"templates * names must be at most ten million, got {templates} * {names}.")
    sd_template, sd_gap, sd_name = (number(sd, "a standard deviation") for sd in (sd_template, sd_gap, sd_name))
    if min(sd_template, sd_gap, sd_name) < 0:
        raise ValueError("standard deviations must be finite and at least 0.")
    check_seed(seed)
    rng, found = np.random.default_rng(seed), 0
    # Averaged over a normal shift of standard deviation s, ndtr(z + shift) is ndtr(z / sqrt(1 + s^2)).
    spread = math.sqrt(1 + sd_template**2 + sd_gap**2 / 2 + sd_name**2)
    centre = spread * ndtri(np.array([rate_a, rate_b]))[:, None, None]
    for _ in range(runs):
        own = rng.normal(0, sd_gap / math.sqrt(2), size=(2, templates, 1)) if sd_gap else 0.0
        shift = own + rng.normal(0, sd_template, size=(1, templates, 1)) + rng.normal(0, sd_name, (2, templates, names))
        yes = rng.binomial(seeds, ndtr(centre + shift)).sum(axis=2)
        found += sign_flip_test(yes[0] - yes[1], resamples=10_000).pvalue <= 1 - level
    method = f"simulated power of the sign-flip test by template ({runs} runs)"
    return Estimate(found / runs, clopper_pearson(found, runs).interval, runs, runs, method)


def pairs_for_rate(
    rate: float,
    *,
    half_width: float | None = None,
    bound: float | None = None,
    level: float = 0.95,
    power: float = 0.8,
) -> Plan:
    """Independent pairs needed to know a rate to `half_width`, or to put its Wilson interval clear of `bound`.

    `half_width` is that of the Wilson interval when the observed rate is `rate`. With `bound` the power is the exact
    binomial one, and stays at or above what was asked for every larger number. For groups of m pairs with intraclass
    correlation r, take 1 + (m - 1) r times as many. Raises ValueError unless exactly one aim is given, and for values
    outside their range.
    """
    power, rate = check_power(level, power), fraction(rate, "the rate", ends=True)
    z = float(ndtri((1 + level) / 2))
    check_aim(half_width, bound)
    if half_width is not None:
        return half_width_plan(lambda n: wilson_limits(rate, z * z / n), half_width, "Wilson score")
    method = "Wilson score, exact binomial power"
    bound = fraction(0.0 if bound is None else bound, "the bound")
    if rate == bound:
        return Plan(None, method, reason="the rate is at the bound")
    p, b = (rate, bound) if rate > bound else (1 - rate, 1 - bound)
    root = (z * math.sqrt(b * (1 - b)) + max(0.0, float(ndtri(power))) * math.sqrt(p * (1 - p))) / (p - b)
    if root > math.sqrt(_EXACT):
        return Plan(None, method, reason="more than a million are needed")
    # Power is a saw-tooth in n; the teeth are low beyond twice the normal approximation.
    n = np.arange(1, math.ceil(2 * root**2) + 40)
    needed = np.floor(n * b + z * np.sqrt(n * b * (1 - b)) + 1e-9) + 1  # successes that put the interval above b
    reached = np.where(needed <= n, bdtrc(np.minimum(needed, n) - 1, n, p), 0.0)
    short = np.flatnonzero(reached < power)
    place = int(short[-1]) + 1 if short.size else 0
    return Plan(int(n[place]), method, power=float(reached[place]))


def whole(**counts: int) -> tuple[int, ...]:
    """The counts as Python's own; raises ValueError unless each is whole, at least 1 and at most ten million."""
    for what, count in counts.items():
        if not isinstance(count, Integral) or not 1 <= count <= MOST:
            raise ValueError(f"{what} must be a whole number from 1 to ten million, got {count!r:.40}.")
    return tuple(int(count) for count in counts.values())


def check_power(level: float, power: float) -> float:
    """The power as Python's own; raises ValueError unless both lie between 0 and 1."""
    check_level(level)
    return fraction(power, "power")


def fraction(value: float, what: str, *, ends: bool = False) -> float:
    """A number between 0 and 1, which it may be with `ends`."""
    read = number(value, what)
    if not 0 <= read <= 1 or (read in (0, 1) and not ends):
        raise ValueError(f"{what} must lie {'' if ends else 'strictly '}between 0 and 1, got {read}.")
    return read


def check_aim(half_width: float | None, bound: float | None) -> None:
    if (half_width is None) == (bound is None):
        raise ValueError("state one aim: a half width, or a value that the interval shall clear.")
    if half_width is not None and number(half_width, "the half width") <= 0:
        raise ValueError(f"the half width must be positive, got {half_width}.")


def smallest(enough: Callable[[int], bool], first: int) -> int | None:
    """The smallest n from `first` on that is enough, where every larger one is too."""
    high = first
    while not enough(high):
        if high >= MOST:
            return None
        high = min(2 * high, MOST)
    low = max(first, high // 2) if high < MOST else first
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return high


def half_width_plan(limits: Callable[[int], tuple[float, float]], aim: float, method: str, *, first: int = 1) -> Plan:
    """The fewest units, from `first` on, whose limits are at most 2 * `aim` apart."""

    def half_width(n: int) -> float:
        low, high = limits(n)
        return (high - low) / 2

    n = smallest(lambda n: half_width(n) <= aim, first)
    return Plan(None, method, reason=UNREACHABLE) if n is None else Plan(n, method, half_width=half_width(n))
