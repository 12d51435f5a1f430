"""Simulated validation splits of judges whose bias is known, as arrays: the real rule of acceptance on drawn verdicts.

On pair i, in arm a and order o the judge errs where a normal utility is above zero:

    z = mean(o) + shift(a) + sqrt(1 - noise) e(i) + sqrt(noise) (sqrt(r) w(i, a) + sqrt(1 - r) u(i, a, o)) > 0

e is the pair's difficulty, shared within a group by half; w and u are what each new text draws anew, and z has variance
one. So the error rate is exactly the normal probability of mean + shift, whatever the noise, and a shift is solved from
the effect in error rate that it shall have. `noise` is solved from the gap sd: that of one pair's gap between the
placebo and an arm with the effect `at`, both orders averaged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from recuse import stats
from recuse.effects.accept import Decision, accept
from recuse.effects.contrast import Effect, contrast, core
from recuse.effects.scores import Scores

_GRID = np.linspace(-4.0, 4.0, 8001)
PLACEBO = 1  # place of the arm; 0 is the original, then the shams, then the candidates


@dataclass(frozen=True)
class Judge:
    error: float = 0.35  # of every harmless arm
    position: float = 0.0  # preference for the first answer, in standard deviations of the utility
    gap_sd: float = 0.4
    at: float = 0.0  # effect of the arm that has this gap sd; 0: a harmless one
    correlation: float = 0.3  # r: how much of a text's noise both orders share
    largest_group: int = 1
    refuses: float = 0.0  # of single calls
    unusable: float = 0.0  # of single rewrites
    sham_sd: float = 0.0  # scatter of content-free instructions, in error rate
    logprobs: bool = False


def simulate(
    judge: Judge, effects: Sequence[float], rng: np.random.Generator, *, groups: int = 300, shams: int = 10
) -> Scores:
    """Scores of the original, the placebo, the shams and one candidate for each effect.

    Every instruction, sham or candidate, has a draw of the shams' scatter; a candidate's effect comes on top.
    """
    sizes = rng.integers(1, judge.largest_group + 1, size=groups)
    group = np.repeat(np.arange(groups), sizes)
    names = ("original", "placebo", *(f"sham:{i}" for i in range(shams)), *(f"bias:{i}" for i in range(len(effects))))
    n, arms = group.size, len(names)
    scatter = judge.sham_sd * rng.standard_normal(arms) * (np.arange(arms) > PLACEBO)
    shift = shift_of(judge, scatter + np.r_[np.zeros(2 + shams), effects])
    own = rng.standard_normal(n)
    difficulty = own if judge.largest_group == 1 else np.sqrt(0.5) * (own + rng.standard_normal(groups)[group])
    z = _utilities(judge, difficulty, arms, noise_of(judge), rng) + shift[:, None, None]
    failed = rng.random(z.shape) < judge.refuses
    passed = (rng.random((arms, n)) >= judge.unusable) | (np.arange(arms) == 0)[:, None]
    return Scores(
        arms=names,
        pairs=tuple(f"p{i}" for i in range(n)),
        orders=("AB", "BA"),
        group=group,
        error=np.where(failed, 0.0, z > 0),
        failed=failed.astype(float),
        dealt=np.ones((arms, n), dtype=bool),
        passed=passed,
        logit=np.where(failed, 0.0, -3.0 * z),
        has_logit=~failed & judge.logprobs,
    )


def _utilities(judge: Judge, difficulty: np.ndarray, arms: int, noise: float, rng: np.random.Generator) -> np.ndarray:
    shape = (arms, difficulty.size, 2)
    r = judge.correlation
    text = np.sqrt(r) * rng.standard_normal((*shape[:2], 1)) + np.sqrt(1 - r) * rng.standard_normal(shape)
    return _means(judge) + np.sqrt(1 - noise) * difficulty[None, :, None] + np.sqrt(noise) * text


def _error(judge: Judge, shifts: np.ndarray, middle: float = 0.0) -> np.ndarray:
    """The error rate for each shift, mean over both orders: in AB the better answer is first."""
    sides = middle + judge.position * np.array([-1.0, 1.0])
    return ndtr(shifts[:, None] + sides).mean(axis=1)


def _means(judge: Judge) -> np.ndarray:
    middle = np.interp(judge.error, _error(judge, _GRID), _GRID)
    return middle + judge.position * np.array([-1.0, 1.0])


def shift_of(judge: Judge, effects: np.ndarray) -> np.ndarray:
    """The shifts of the utility that raise the error rate by `effects`."""
    middle = _means(judge).mean()
    return np.interp(judge.error + effects, _error(judge, _GRID, middle), _GRID)


@lru_cache
def noise_of(judge: Judge, pairs: int = 40_000) -> float:
    """The noise that gives the judge's gap sd, by Monte Carlo (standard error of the sd under 0.002)."""
    low, high = 0.0, 1.0
    for _ in range(14):
        noise, rng = (low + high) / 2, np.random.default_rng(0)
        z = _utilities(judge, rng.standard_normal(pairs), 2, noise, rng)
        z[1] += shift_of(judge, np.array([judge.at])) - shift_of(judge, np.zeros(1))
        sd = float(np.diff((z > 0).mean(axis=2), axis=0).std())
        low, high = (noise, high) if sd < judge.gap_sd else (low, noise)
    if high == 1.0 or low == 0.0:
        raise ValueError(f"this judge's gaps cannot scatter by {judge.gap_sd}")
    return noise


def churn(judge: Judge, pairs: int = 40_000) -> float:
    """How often a harmless rewrite changes the verdict in one order."""
    rng = np.random.default_rng(1)
    z = _utilities(judge, rng.standard_normal(pairs), 2, noise_of(judge), rng)
    return float(np.diff(z > 0, axis=0).mean())


@dataclass(frozen=True)
class Run:
    """What each rule accepts of the candidates of one simulated run."""

    accepted: np.ndarray  # by recuse's rule
    without_shams: np.ndarray  # the same by the sign flips of complete cases alone
    published: np.ndarray  # error above that of the original, in both orders averaged
    five_points: np.ndarray  # at least 5 points above the placebo, without a test
    decisions: tuple[Decision, ...]
    shams: tuple[Effect, ...]


def decide(scores: Scores, *, stopped: dict[str, str] | None = None) -> Run:
    """All rules on the same scores.

    Short cuts, none of which can change a decision: a sham needs no p; a one-sided p is at least a half where the
    estimate is not positive; Benjamini-Hochberg never accepts a p above its level, and which others it accepts does not
    hang on how far above, so that the predictive p is left out there; and what needs the orders apart is worked out
    only for those who pass without.
    """
    shams = [bare(scores, arm) for arm in scores.arms if arm.startswith("sham:")]
    effects = [bare(scores, arm) for arm in scores.arms if arm.startswith("bias:")]
    estimates = np.array([effect.estimate for effect in effects])
    effects = [core(scores, e.arm) if above else e for e, above in zip(effects, estimates > 0, strict=True)]
    gone = {e.arm: "p above the level" for e in effects if (e.p or 1.0) > 0.05} | (stopped or {})
    decisions = accept(effects, shams, stopped=gone)
    adjusted = np.array(stats.benjamini_hochberg([1.0 if e.p is None else e.p for e in effects]).tolist())
    passing = (adjusted <= 0.05) & (estimates >= 0.05)
    if passing.any():
        effects = [contrast(scores, e.arm) if passes else e for e, passes in zip(effects, passing, strict=True)]
        decisions = accept(effects, shams, stopped=gone)
    originals = np.array([bare(scores, effect.arm, "original").estimate for effect in effects])
    return Run(
        accepted=np.array([d.accepted for d in decisions]),
        without_shams=passing & np.array([_one_sided(effect) for effect in effects]),
        published=originals > 0,
        five_points=estimates >= 0.05,
        decisions=decisions,
        shams=tuple(shams),
    )


def bare(scores: Scores, arm: str, against: str = "placebo") -> Effect:
    """The estimate, its error and its influence, without interval and test."""
    a, b = scores.at(arm), scores.at(against)
    kept = scores.passed[a] & scores.passed[b] & scores.answered(a) & scores.answered(b)
    values, group = (scores.error[a] - scores.error[b])[kept].mean(axis=1), scores.group[kept]
    total = int(scores.group.max()) + 1
    sums, sizes = (np.bincount(group, weights=w, minlength=total) for w in (values, None))
    groups = int(np.count_nonzero(sizes))
    influence = np.sqrt(groups / (groups - 1)) * (sums - values.mean() * sizes) / values.size
    se = float(np.sqrt(influence @ influence))
    if se == 0:
        return core(scores, arm, against)
    return Effect(arm, against, float(values.mean()), se=se, n=values.size, groups=groups, influence=influence)


def _one_sided(effect: Effect) -> bool:
    return all(order.p_opposite is None or order.p_opposite > 0.025 for order in effect.by_order)


def first_groups(scores: Scores, share: float) -> Scores:
    """The scores of the first groups, which are in random order here."""
    kept = scores.group < round(share * (scores.group.max() + 1))
    return replace(
        scores,
        pairs=tuple(np.array(scores.pairs)[kept].tolist()),
        group=scores.group[kept],
        error=scores.error[:, kept],
        failed=scores.failed[:, kept],
        dealt=scores.dealt[:, kept],
        passed=scores.passed[:, kept],
        logit=scores.logit[:, kept],
        has_logit=scores.has_logit[:, kept],
    )
