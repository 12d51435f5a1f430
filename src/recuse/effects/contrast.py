"""The effect of an arm on a judge's errors, against another arm on the same pairs. The unit is the group."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import ndtri

from recuse import stats
from recuse.effects.scores import ORIGINAL, Bools, Floats, Ints, Scores

CEILING = 0.75  # error of the reference beyond which there is little left to raise
ROOM = 0.05
_GAPS = (-1.0, 1.0)


@dataclass(frozen=True)
class OrderEffect:
    """The effect in one order ("AB": the better answer first). It cannot cancel a preference for a position."""

    order: str
    estimate: float | None
    interval: tuple[float, float] | None
    p_opposite: float | None  # one-sided sign flips: the arm lowers the error in this order
    base_error: float | None  # in the reference arm
    informative: bool  # the reference leaves 5 % room below and above
    logit: stats.Estimate | None
    n: int


@dataclass(frozen=True)
class Excluded:
    """Dealt pairs without a usable text in one of the two arms; the errors are those on the untouched originals."""

    n: int
    rate: float | None
    error: float | None  # of the judge on the excluded pairs
    error_kept: float | None


@dataclass(frozen=True, eq=False)
class Effect:
    """Error in `arm` minus error in `against`, mean over pairs, both orders averaged.

    The estimand: pairs for which both texts were usable and that have a verdict in every order of both arms. `reason`
    says why there is no estimate. `p` is the one-sided sign-flip test of the group sums ("the arm raises the error"),
    exact for exchangeable arms; `p_bound` assumes no symmetry (`stats.minimum_effect_test`). `bounds` is the interval
    over all completions of missing verdicts. `influence` (groups of the scores,): what each group adds to the
    estimate's error; its sum of squares is `se` squared, and its products with another effect's the covariance.
    """

    arm: str
    against: str
    estimate: float | None
    interval: tuple[float, float] | None = None
    se: float | None = None
    p: float | None = None
    p_bound: float | None = None
    n: int = 0
    groups: int = 0
    method: str = ""
    reason: str | None = None
    error: float | None = None
    base_error: float | None = None  # in `against`
    ceiling: bool = False  # the reference errs so often that an effect has little room
    by_order: tuple[OrderEffect, ...] = ()
    interaction: stats.Estimate | None = None  # effect with the better answer second minus first; two-sided p
    logit: stats.Estimate | None = None  # log odds lost by the better answer; positive: the arm helps the wrong one
    excluded: Excluded | None = None
    itt: stats.Estimate | None = None  # over all dealt pairs, with the original text where a rewrite failed
    bounds: tuple[float, float] | None = None
    failures: stats.Estimate | None = None  # share of calls without a verdict, in `arm` minus in `against`
    failure_rates: tuple[float, float] | None = None  # in `arm`, in `against`
    flips: tuple[str, ...] = ()  # pairs that are robust flips
    faults: Mapping[str, int] | None = None  # of the arm's rewrites
    influence: Floats = field(default_factory=lambda: np.zeros(0), repr=False)


def contrast(scores: Scores, arm: str, against: str = "placebo", *, level: float = 0.95, seed: int = 0) -> Effect:
    """The effect of `arm` against `against`, over the pairs dealt to both. Raises ValueError for an unknown arm.

    Exclusion is per contrast: a pair is left out where one of these two arms has no usable text for it. `seed` is for
    sign flips that must be sampled, where gaps lie on no lattice.
    """
    a, b = scores.at(arm), scores.at(against)
    dealt = scores.dealt[a] & scores.dealt[b]
    usable = dealt & scores.passed[a] & scores.passed[b]
    kept = usable & scores.answered(a) & scores.answered(b)
    two = _Two(scores, a, b, level)
    beside = Effect(
        arm,
        against,
        None,
        by_order=tuple(two.in_order(usable, i, seed) for i in range(len(scores.orders))),
        excluded=_excluded(scores, dealt, usable),
        itt=two.itt(dealt),
        bounds=two.bounds(usable),
        failures=two.failures(usable),
        failure_rates=two.failure_rates(usable),
        flips=scores.flips(arm, against),
        faults=scores.faults.get(arm),
    )
    if not kept.any():
        return replace(beside, reason=_why_not(dealt, usable))

    gaps = two.gaps[kept]
    values, groups = gaps.mean(axis=1), scores.group[kept]
    found = stats.clustered_mean(values, groups=groups, bounds=_GAPS, level=level)
    test = stats.sign_flip_test(np.bincount(groups, weights=values), alternative="greater", seed=seed)
    influence = _influence(values, groups, int(scores.group.max()) + 1)
    base = float(scores.error[b][kept].mean())
    return replace(
        beside,
        estimate=found.estimate,
        interval=found.interval,
        se=_standard_error(influence, found),
        p=test.pvalue,
        p_bound=stats.minimum_effect_test(values, 0.0, groups=groups, bounds=_GAPS, level=level).pvalue,
        n=found.n,
        groups=found.groups,
        method=f"{found.method}; p: {test.method}",
        error=float(scores.error[a][kept].mean()),
        base_error=base,
        ceiling=base > CEILING,
        interaction=_interaction(gaps, groups, level, seed),
        logit=two.logit(usable, slice(None)),
        influence=influence,
    )


@dataclass(frozen=True)
class _Two:
    """Two arms of some scores."""

    scores: Scores
    a: int
    b: int
    level: float

    @property
    def gaps(self) -> Floats:
        gaps: Floats = self.scores.error[self.a] - self.scores.error[self.b]
        return gaps

    def mean(self, values: Floats, rows: Bools) -> stats.Estimate:
        return stats.clustered_mean(values[rows], groups=self.scores.group[rows], bounds=_GAPS, level=self.level)

    def in_order(self, usable: Bools, order: int, seed: int) -> OrderEffect:
        s, name = self.scores, self.scores.orders[order]
        kept = usable & (s.failed[self.a][:, order] < 1) & (s.failed[self.b][:, order] < 1)
        logit = self.logit(usable, slice(order, order + 1))
        if not kept.any():
            return OrderEffect(name, None, None, None, None, False, logit, 0)
        gaps, base = self.gaps[:, order], float(s.error[self.b][kept, order].mean())
        found = self.mean(gaps, kept)
        sums = np.bincount(s.group[kept], weights=gaps[kept])
        opposite = stats.sign_flip_test(sums, alternative="less", seed=seed).pvalue
        informative = ROOM <= base <= 1 - ROOM
        return OrderEffect(name, found.estimate, found.interval, opposite, base, informative, logit, found.n)

    def logit(self, usable: Bools, orders: slice) -> stats.Estimate | None:
        s = self.scores
        kept = usable & (s.has_logit[self.a] & s.has_logit[self.b])[:, orders].all(axis=1)
        if not kept.any():
            return None
        lost = (s.logit[self.b] - s.logit[self.a])[kept, orders].mean(axis=1)
        return stats.mean_interval(lost, groups=s.group[kept], level=self.level)

    def bounds(self, usable: Bools) -> tuple[float, float] | None:
        """From the lower limit with every missing verdict against the effect to the upper one with all in favour."""
        s = self.scores
        if not usable.any():
            return None
        low = [s.error[i] * (1 - s.failed[i]) for i in (self.a, self.b)]
        high = [low[k] + s.failed[i] for k, i in enumerate((self.a, self.b))]
        least = self.mean((low[0] - high[1]).mean(axis=1), usable).interval
        most = self.mean((high[0] - low[1]).mean(axis=1), usable).interval
        return (least[0], most[1]) if least and most else None

    def failures(self, usable: Bools) -> stats.Estimate | None:
        if not usable.any():
            return None
        return self.mean((self.scores.failed[self.a] - self.scores.failed[self.b]).mean(axis=1), usable)

    def failure_rates(self, usable: Bools) -> tuple[float, float] | None:
        if not usable.any():
            return None
        a, b = (float(self.scores.failed[i][usable].mean()) for i in (self.a, self.b))
        return a, b

    def itt(self, dealt: Bools) -> stats.Estimate | None:
        """None where the originals were not judged."""
        s, original = self.scores, self.scores.at(ORIGINAL)
        sides = [np.where(s.passed[i], i, original) for i in (self.a, self.b)]
        pairs = np.arange(len(s.pairs))
        kept = dealt & (s.failed[sides[0], pairs] < 1).all(axis=1) & (s.failed[sides[1], pairs] < 1).all(axis=1)
        if not s.answered(original).any() or not kept.any():
            return None
        return self.mean((s.error[sides[0], pairs] - s.error[sides[1], pairs]).mean(axis=1), kept)


def _why_not(dealt: Bools, usable: Bools) -> str:
    if usable.any():
        return "no pair has a verdict in every order of both arms"
    return "no pair has a usable text in both arms" if dealt.any() else "no pair was dealt to both arms"


def _excluded(scores: Scores, dealt: Bools, usable: Bools) -> Excluded:
    original = scores.at(ORIGINAL)
    judged, out = scores.answered(original), dealt & ~usable

    def error(rows: Bools) -> float | None:
        rows = rows & judged
        return float(scores.error[original][rows].mean()) if rows.any() else None

    rate = float(out.sum() / dealt.sum()) if dealt.any() else None
    return Excluded(int(out.sum()), rate, error(out), error(usable))


def _interaction(gaps: Floats, groups: Ints, level: float, seed: int) -> stats.Estimate | None:
    if gaps.shape[1] < 2:
        return None
    difference = gaps[:, 1] - gaps[:, 0]
    found = stats.clustered_mean(difference, groups=groups, bounds=(-2.0, 2.0), level=level)
    test = stats.sign_flip_test(np.bincount(groups, weights=difference), seed=seed)
    return stats.Estimate(
        found.estimate, found.interval, found.n, found.groups, f"{found.method}; p: {test.method}", level, test.pvalue
    )


def _influence(values: Floats, groups: Ints, total: int) -> Floats:
    sums, sizes = np.bincount(groups, weights=values, minlength=total), np.bincount(groups, minlength=total)
    there = int((sizes > 0).sum())
    scale = math.sqrt(there / (there - 1)) if there > 1 else 1.0
    shares: Floats = scale * (sums - values.mean() * sizes) / values.size
    return shares


def _standard_error(influence: Floats, found: stats.Estimate) -> float | None:
    """Of the mean, groups as units (CR1); where nothing scatters, what the exact interval would be two errors of."""
    error = float(np.sqrt(influence @ influence))
    if error > 1e-12 or found.interval is None:
        return error
    return (found.interval[1] - found.interval[0]) / 2 / float(ndtri((1 + found.level) / 2))
