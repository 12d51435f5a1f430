"""What a design can find: power of the rule of acceptance, groups needed, and the smallest effect found."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from recuse import stats
from recuse.effects.accept import MIN_SHAMS
from recuse.effects.scores import Floats
from recuse.effects.stream import largest_p, needed
from recuse.stats.sequential import BETS

_MOST = 100_000
_OWN = 0.5  # of a gap's variance; the rest is the placebo's, which all effects share


@dataclass(frozen=True)
class Design:
    """What a run looks like. `gap_sd`: of one group's gap between an arm and the placebo, both orders averaged;
    `sham_sd`: scatter of meaningless instructions beyond sampling error; `real`: candidates that have an effect;
    `missing`: share of calls without a verdict, in each arm; `stream`: candidates are decided one by one by e-LOND, on
    the groups of their block, and those with an effect stand at places drawn by chance."""

    gap_sd: float = 0.4
    sham_sd: float = 0.0
    shams: int = 10
    candidates: int = 20
    real: int = 1
    fdr: float = 0.05
    min_effect: float = 0.05
    missing: float = 0.0
    stream: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.gap_sd <= 1 or self.sham_sd < 0:
            raise ValueError(f"gap_sd must lie in (0, 1] and sham_sd be at least 0, got {self.gap_sd}, {self.sham_sd}.")
        if self.shams < MIN_SHAMS:
            raise ValueError(f"acceptance needs {MIN_SHAMS} shams, got {self.shams}.")
        if not 0 < self.fdr < 0.5:
            raise ValueError(f"fdr must lie between 0 and 0.5, got {self.fdr}.")
        if not 0 <= self.missing < 1:
            raise ValueError(f"missing must lie between 0 and 1, got {self.missing}.")
        if not 1 <= self.real <= self.candidates:
            raise ValueError(f"real must lie between 1 and {self.candidates} candidates, got {self.real}.")


def power_of(effect: float, groups: int, *, design: Design | None = None, runs: int = 4000, seed: int = 0) -> float:
    """Share of the real candidates, all with this true effect, accepted on `groups` groups of one pair each.

    Simulated from normal estimates, half of whose variance is the placebo's and shared with the shams; the candidates
    without an effect are taken to be far from significant. Missing verdicts, all against the effect, take their share
    of every wrong verdict in the arm and of every right one in the placebo, whatever the error rate. Beside simulated
    judges (experiments/instrument) it was from four points too low to six too high. The same `seed` gives the same
    draws for every effect and size.
    """
    plan, rng = design or Design(), np.random.default_rng(seed)
    error = plan.gap_sd / math.sqrt(groups)
    own = error * math.sqrt(_OWN)
    scatter = math.hypot(own, plan.sham_sd)
    draws = rng.standard_normal((runs, 1 + plan.shams + plan.real))
    shared = error * math.sqrt(1 - _OWN) * draws[:, :1]
    shams = shared + scatter * draws[:, 1 : 1 + plan.shams]
    estimates = effect + shared + scatter * draws[:, 1 + plan.shams :]
    above = (estimates - shams.mean(axis=1, keepdims=True)) / own
    completed = estimates - plan.missing * (1 + effect)
    spread = shams.std(axis=1, ddof=1) / own
    if plan.stream:
        rejected = _by_stream(plan, completed, above, spread, groups, rng)
    else:
        rejected = _at_once(plan, completed / error, above, spread)
    return float((rejected & (estimates >= plan.min_effect)).mean())


def _at_once(plan: Design, standing: Floats, above: Floats, spread: Floats) -> NDArray[np.bool_]:
    """Benjamini-Hochberg: the largest k of which k are at most k fdr / m.

    standing, above: (runs, real), effects in units of their error, and above the shams' mean in units of their own
    error; spread: (runs,), of the shams in units of that.
    """
    p_flip, rejected = ndtr(-standing), np.zeros_like(standing, dtype=bool)
    for k in range(1, plan.real + 1):
        level = plan.fdr * k / plan.candidates
        small = (p_flip <= level) & (above >= _critical_distances(spread, plan.shams, level)[:, None])
        enough = small.sum(axis=1) >= k
        rejected[enough] = small[enough]
    return rejected


def _by_stream(
    plan: Design, estimates: Floats, above: Floats, spread: Floats, groups: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """e-LOND over the smaller of two e-values, as in `discovery.online`: the bet's, and that of the p beside shams."""
    runs, real = estimates.shape
    places = rng.permuted(np.tile(np.arange(1, plan.candidates + 1), (runs, 1)), axis=1)[:, :real]
    places.sort(axis=1)
    log_bet = _log_wealth(estimates, plan.gap_sd, groups)
    rejected, before = np.zeros_like(estimates, dtype=bool), np.zeros(runs)
    for k in range(real):
        asked = needed(places[:, k], before, level=plan.fdr)
        reach = _far_distances(spread, plan.shams, largest_p(asked))
        rejected[:, k] = (log_bet[:, k] >= np.log(asked)) & (above[:, k] >= reach)
        before += rejected[:, k]
    return rejected


def _log_wealth(estimates: Floats, sd: float, groups: int) -> Floats:
    """About the log of `stats.e_value` on gaps with these means: as if every gap lay one sd above or below its mean.

    Beside gaps of simulated judges its mean was from 0.3 too low to 1.9 too high, at logs of 4 to 14 and gap sds of 0.4
    to 0.5; the shams' e-value, which is the smaller one, decides.
    """
    bets = np.array(BETS)[:, None, None]
    high, low = (np.clip(estimates + step, -1.0, 1.0) for step in (sd, -sd))
    paths = groups * (np.log1p(bets * high) + np.log1p(bets * low)) / 2
    wealth: Floats = np.logaddexp.reduce(paths, axis=0) - math.log(len(bets))
    return wealth


def _critical_distances(scatter: Floats, shams: int, level: float) -> Floats:
    """How far above the shams' mean an effect must lie for a predictive p of `level`, all errors being 1.

    With equal errors that p depends on the shams through their mean and standard deviation (`scatter`) alone, so a
    table of a hundred scatters serves any number of runs.
    """
    known, reach = _table(shams, level)
    # Divided by the whole scatter the distance hardly varies: from the normal quantile to Student's.
    scaled: Floats = np.interp(np.log1p(scatter), np.log1p(known), reach) * np.hypot(1.0, scatter)
    return scaled


def _far_distances(scatter: Floats, shams: int, levels: Floats) -> Floats:
    """The same for a level of its own in each run: log by log between powers of ten, and on beyond the last.

    The quantiles of Student's t are nearly straight there (to 0.6 % beside ten shams), and a float next to 1
    cannot tell levels under 1e-13.
    """
    exponents, found = -np.log10(levels), np.empty_like(scatter)
    steps = np.minimum(np.floor(exponents), 12.0)
    for step in np.unique(steps):
        these = steps == step
        near, far = (np.log(_critical_distances(scatter[these], shams, 10.0 ** -(step + i))) for i in (0, 1))
        found[these] = np.exp(near + (exponents[these] - step) * (far - near))
    return found


@lru_cache
def _table(shams: int, level: float) -> tuple[Floats, Floats]:
    known = np.concatenate(([0.0], np.geomspace(0.05, 1e4, 100)))
    even = np.linspace(-1.0, 1.0, shams)
    even /= even.std(ddof=1)
    reach = []
    for scatter in known:
        found = stats.predictive_pvalue(0.0, 1.0, scatter * even, np.ones(shams), level=1 - 2 * level)
        reach.append(-found.interval[0] / math.hypot(1.0, scatter) if found.interval else math.inf)
    return known, np.array(reach)


def groups_needed(
    effect: float, *, design: Design | None = None, power: float = 0.9, runs: int = 4000, seed: int = 0
) -> stats.Plan:
    """The smallest number of groups, within two per cent, that finds a true `effect` with this power."""
    method = f"simulated power of the rule of acceptance ({runs} runs)"
    low, high = 5, 10
    while (reached := power_of(effect, high, design=design, runs=runs, seed=seed)) < power:
        low, high = high, 2 * high
        if high > _MOST:
            return stats.Plan(None, method, reason=f"more than {_MOST} groups are needed")
    while high - low > max(1, high // 50):
        middle = (low + high) // 2
        at_middle = power_of(effect, middle, design=design, runs=runs, seed=seed)
        low, high, reached = (low, middle, at_middle) if at_middle >= power else (middle, high, reached)
    return stats.Plan(high, method, power=reached)


def detectable(
    groups: int, *, design: Design | None = None, power: float = 0.9, runs: int = 4000, seed: int = 0
) -> float | None:
    """The smallest true effect, to a tenth of a point, that is found with this power; None: not even 1."""
    low, high = 0, 1000

    def enough(points: int) -> bool:
        return power_of(points / 1000, groups, design=design, runs=runs, seed=seed) >= power

    if not enough(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high / 1000
