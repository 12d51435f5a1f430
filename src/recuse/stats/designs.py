"""Templates, names and seeds for a paired gap, before a run: what a gap needs, and what a design can find."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from recuse.stats.inputs import HUGE, Array, number
from recuse.stats.planning import MOST, UNREACHABLE, check_power, smallest, whole
from recuse.stats.root import decreasing_root

_MOST_EACH = 200  # names, and seeds, where they are solved for
_FIXED = "noncentral t, template as the unit"
_CROSSED = "noncentral t, templates and names as crossed samples"


@dataclass(frozen=True, slots=True)
class Design:
    """A design for one paired gap; what could not be solved for is None, and `reason` says why."""

    gap: float  # that it finds with `power`
    templates: int | None
    names: int | None  # of each group, in every template
    seeds: int | None  # repeats of each name
    method: str
    level: float
    power: float | None = None
    calls: int | None = None  # templates * 2 names * seeds
    cost: float | None = None
    reason: str | None = None


def design_for_gap(
    gap: float,
    *,
    sd_template: float,
    sd_name: float = 0.0,
    sd_shared: float = 0.0,
    sd_seed: float = 0.0,
    templates: int | None = None,
    names: int | None = 1,
    seeds: int | None = 1,
    cost_call: float = 1.0,
    cost_template: float = 0.0,
    level: float = 0.95,
    power: float = 0.8,
) -> Design:
    """The cheapest design that finds a mean gap of `gap` with `power` (two-sided); None is solved for, the rest given.

    A template is decided for `names` names in either group, `seeds` times each; the cost is templates * (2 names seeds
    `cost_call` + `cost_template`). Of designs that cost the same, the one with fewer names, then fewer seeds. Names and
    seeds are sought up to 200, templates up to ten million.

    Standard deviations are those of a single decision's parts: `sd_template` of the gap between templates (their level
    cancels), `sd_name` of a name's own effect within a template, `sd_seed` between seeds (sqrt(p (1 - p)) for yes or
    no), `sd_shared` of a name's effect that all templates share. The mean gap then has the variance

        (sd_template^2 + 2 sd_name^2 / names + 2 sd_seed^2 / (names seeds)) / templates + 2 sd_shared^2 / names.

    With sd_shared = 0 names are taken as given and the test is that of `paired_gap` over templates; power is that of
    the noncentral t distribution (Johnson & Welch 1940, Biometrika 31:362), exact for normal gaps. Otherwise the test
    is `across_names`, with 2 (names - 1) degrees of freedom at most; power is approximate, and too high where what
    names share is small beside the rest and names are few. `power_paired_gap` checks designs for decisions of yes or
    no. Raises ValueError for a gap of 0, no positive standard deviation, or nothing to solve for.
    """
    power, parts = check_power(level, power), _Parts.of(sd_template, sd_name, sd_shared, sd_seed)
    gap = number(gap, "the gap to find")
    if abs(gap) < 1 / HUGE:
        raise ValueError(f"the gap to find must be a number other than 0, got {gap}.")
    cost_call, cost_template = number(cost_call, "the cost of a call"), number(cost_template, "the cost of a template")
    if not (cost_call > 0 and cost_template >= 0):
        raise ValueError(f"costs must not be negative, and that of a call positive, got {cost_call}, {cost_template}.")
    templates, names, seeds = (
        count if count is None else whole(**{what: count})[0]
        for what, count in (("templates", templates), ("names", names), ("seeds", seeds))
    )
    if None not in (templates, names, seeds):
        raise ValueError("templates, names and seeds are all given; leave one None, or ask detectable_gap.")
    if templates == 1 or (parts.shared and names == 1):
        raise ValueError("one template, or one name where names share an effect, says nothing about others.")
    method, size = _CROSSED if parts.shared else _FIXED, abs(gap)
    n, s, least = _candidates(parts, size, templates, names, seeds, level, power)
    per_template = 2 * n * s * cost_call + cost_template
    best: tuple[float, int, int, int] | None = None
    for place in np.lexsort((s, n, least * per_template)).tolist():
        if best is not None and least[place] * per_template[place] > best[0]:
            break
        k, r = int(n[place]), int(s[place])
        if templates is None:
            found = smallest(partial(parts.finds, size, k, r, level, power), int(least[place]))
        else:
            found = templates if parts.finds(size, k, r, level, power, templates) else None
        if found is not None:
            option = (found * float(per_template[place]), k, r, found)
            best = option if best is None else min(best, option)
    if best is None:
        reason = UNREACHABLE if templates is None else f"too few templates, even with {_MOST_EACH} of what is open"
        most = _MOST_EACH if names is None else names
        if parts.shared and not parts.lasting(most) * _shift(level, power) < size:
            reason = "more names are needed: what templates share of a name's effect hides the gap"
        return Design(gap, templates, names, seeds, method, level, reason=reason)
    cost, k, r, found = best
    return Design(gap, found, k, r, method, level, parts.power(size, found, k, r, level), 2 * found * k * r, cost)


def detectable_gap(
    templates: int,
    *,
    sd_template: float,
    sd_name: float = 0.0,
    sd_shared: float = 0.0,
    sd_seed: float = 0.0,
    names: int = 1,
    seeds: int = 1,
    level: float = 0.95,
    power: float = 0.8,
) -> Design:
    """The smallest mean gap that this design finds with `power`: the inverse of `design_for_gap`, in its terms.

    The gap is 0 where power is at most 1 - level. Raises ValueError for fewer than two templates, or one name where
    names share an effect.
    """
    power, parts = check_power(level, power), _Parts.of(sd_template, sd_name, sd_shared, sd_seed)
    templates, names, seeds = whole(templates=templates, names=names, seeds=seeds)
    if templates < 2 or (parts.shared and names < 2):
        raise ValueError(
            f"one template (or name, where sd_shared > 0) says nothing of others; got {templates}, {names}."
        )
    df = parts.df(templates, names)
    # In standard errors; with one degree of freedom the t distribution has its heaviest tails.
    top = 4 * float(stdtrit(df, (1 + level) / 2)) + 4 * abs(float(stdtrit(df, power)))
    errors = decreasing_root(lambda d: power - _t_power(d, df, level), 0.0, top, xtol=1e-9, ftol=1e-10)
    gap = errors * parts.error(templates, names, seeds)
    calls = 2 * templates * names * seeds
    method = _CROSSED if parts.shared else _FIXED
    return Design(gap, templates, names, seeds, method, level, _t_power(errors, df, level), calls, float(calls))


@dataclass(frozen=True, slots=True)
class _Parts:
    """Standard deviations of a decision's parts."""

    template: float
    name: float
    shared: float
    seed: float

    @classmethod
    def of(cls, *sds: float) -> _Parts:
        read = [number(sd, "a standard deviation") for sd in sds]
        if min(read) < 0 or max(read) < 1 / HUGE:
            raise ValueError("standard deviations must be finite and not negative, and one of them positive.")
        return cls(*read)

    def lasting(self, names: int) -> float:
        """The standard error that no number of templates takes away."""
        return self.shared * math.sqrt(2 / names)

    def error(self, templates: int, names: int, seeds: int) -> float:
        within = math.hypot(self.template, self.name * math.sqrt(2 / names), self.seed * math.sqrt(2 / (names * seeds)))
        return math.hypot(within / math.sqrt(templates), self.lasting(names))

    def df(self, templates: int, names: int) -> int:
        return min(templates - 1, 2 * (names - 1)) if self.shared else templates - 1

    def finds(self, gap: float, names: int, seeds: int, level: float, power: float, templates: int) -> bool:
        return self.power(gap, templates, names, seeds, level) >= power

    def power(self, gap: float, templates: int, names: int, seeds: int, level: float) -> float:
        error = self.error(templates, names, seeds)
        return _t_power(gap / error, self.df(templates, names), level) if gap < 1e6 * error else 1.0


def _candidates(
    parts: _Parts, gap: float, templates: int | None, names: int | None, seeds: int | None, level: float, power: float
) -> tuple[Array, Array, Array]:
    """Names and seeds that may do, with the templates given or the fewest that would do if the variance were known."""
    first = 2 if parts.shared else 1
    n, s = np.meshgrid(
        np.arange(first, _MOST_EACH + 1.0) if names is None else [float(names)],
        np.arange(1.0, _MOST_EACH + 1) if seeds is None else [float(seeds)],
    )
    n, s, shift = n.ravel(), s.ravel(), _shift(level, power)
    template, name, shared, seed = (
        min(sd / gap, 1e100) for sd in (parts.template, parts.name, parts.shared, parts.seed)
    )
    room = shift**-2 - 2 * shared**2 / n
    within = template**2 + 2 * name**2 / n + 2 * seed**2 / (n * s)
    fewest = np.full_like(n, np.inf)
    fewest[room > 0] = np.maximum(np.ceil(within[room > 0] / room[room > 0] * (1 - 1e-9)), 2)
    kept = fewest <= (MOST if templates is None else templates)
    least = fewest[kept] if templates is None else np.full(int(kept.sum()), float(templates))
    return n[kept], s[kept], least


def _shift(level: float, power: float) -> float:
    """Standard errors between zero and a gap that a test with known variance finds with this power."""
    critical = float(ndtri((1 + level) / 2))

    def missing(shift: float) -> float:
        return power - float(ndtr(shift - critical) + ndtr(-shift - critical))

    return (
        max(1e-6, decreasing_root(missing, 0.0, critical + 40.0, xtol=1e-9, ftol=1e-12)) if missing(0.0) > 0 else 1e-6
    )


def _t_power(shift: float, df: int, level: float) -> float:
    """Power of the two-sided t-test for a mean `shift` standard errors from zero.

    The normal probability, averaged over the sample's standard deviation on a log scale (scipy's noncentral t gives
    NaN for some values with one degree of freedom).
    """
    critical, reach = float(stdtrit(df, (1 + level) / 2)), 12 / math.sqrt(2 * df)
    log_sd = np.linspace(-reach - 40 / df, reach, 2001)
    sd = np.exp(log_sd)
    density = np.exp(df * (log_sd + (1 - sd**2) / 2))
    return float((density * (ndtr(shift - critical * sd) + ndtr(-shift - critical * sd))).sum() / density.sum())
