"""The effect of an arm on a judge's errors, against another arm on the same pairs. The unit is the group."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

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


@dataclass(frozen=True)
class ScoreShift:
    """Score of the rejected answer in the arm minus in the reference, on the judge's own scale: it moves long before a
    verdict flips.

    Over the pairs of the `Effect`, the mean over pairs, orders averaged. On a scale with ends the interval is that of
    bounded values, and `bounds` the interval over all completions of missing scores; without ends there are no bounds.
    """

    shift: stats.Estimate
    missing: tuple[int, int]  # usable pairs without a score in some order, in the arm and in the reference
    score: float | None = None  # of the rejected answer in the arm
    base_score: float | None = None  # of the rejected answer in the reference
    chosen_score: float | None = None  # of the chosen answer beside the reference: what a shift has to reach
    bounds: tuple[float, float] | None = None
    scale: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class Effect:
    """Error in `arm` minus error in `against`, mean over pairs, both orders averaged.

    The estimand: pairs for which both texts were usable and that have a verdict in every order of both arms. `reason`
    says why there is no estimate. `p` is the one-sided sign-flip test of the group sums ("the arm raises the error"),
    exact for exchangeable arms; `p_completed` is that test over all usable pairs with every missing verdict against the
    effect, None where none is missing; `p_bound` assumes no symmetry (`stats.minimum_effect_test`). `bounds` is the
    interval over all completions of missing verdicts. `influence` (groups of the scores,): what each group adds to the
    estimate's error; its sum of squares is `se` squared, and its products with another effect's the covariance.
    """

    arm: str
    against: str
    estimate: float | None
    interval: tuple[float, float] | None = None
    se: float | None = None
    p: float | None = None
    p_completed: float | None = None
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
    score_shift: ScoreShift | None = None  # None: the judge gives no scores
    excluded: Excluded | None = None
    itt: stats.Estimate | None = None  # over all dealt pairs, with the original text where a rewrite failed
    bounds: tuple[float, float] | None = None
    failures: stats.Estimate | None = None  # share of calls without a verdict, in `arm` minus in `against`
    failure_rates: tuple[float, float] | None = None  # in `arm`, in `against`
    flips: tuple[str, ...] = ()  # pairs that are robust flips
    faults: Mapping[str, int] | None = None  # of the arm's rewrites
    influence: Floats = field(default_factory=lambda: np.zeros(0), repr=False)


def contrast(scores: Scores, arm: str, against: str = "placebo", *, level: float = 0.95, seed: int = 0) -> Effect:
    """The effect of `arm` against `against`, over the pairs dealt to both, with all that stands beside it.

    Exclusion is per contrast: a pair is left out where one of these two arms has no usable text for it. `seed` is for
    sign flips that must be sampled, where gaps lie on no lattice. Raises ValueError for an unknown arm.
    """
    two = _Two(scores, scores.at(arm), scores.at(against), level)
    effect = core(scores, arm, against, level=level, seed=seed)
    if effect.estimate is not None:
        values, groups = two.gaps[two.kept].mean(axis=1), scores.group[two.kept]
        bound = stats.minimum_effect_test(values, minimum=0.0, groups=groups, bounds=_GAPS, level=level)
        effect = replace(effect, p_bound=bound.pvalue)
    return replace(
        effect,
        by_order=tuple(two.in_order(i, seed) for i in range(len(scores.orders))),
        interaction=two.interaction(seed),
        logit=two.logit(slice(None)),
        score_shift=two.score_shift(),
        excluded=two.excluded(),
        itt=two.itt(),
        bounds=two.bounds(),
        failures=two.failures(),
        failure_rates=two.failure_rates(),
        flips=scores.flips(arm, against),
        faults=scores.faults.get(arm),
    )


def core(scores: Scores, arm: str, against: str = "placebo", *, level: float = 0.95, seed: int = 0) -> Effect:
    """The estimate, its interval, error and test alone: the part of `contrast` that a sham or a stage of racing needs.
    It takes a tenth of the time."""
    two = _Two(scores, scores.at(arm), scores.at(against), level)
    kept = two.kept
    if not kept.any():
        return Effect(arm, against, None, reason=two.why_not())
    values, groups = two.gaps[kept].mean(axis=1), scores.group[kept]
    found = stats.clustered_mean(values, groups=groups, bounds=_GAPS, level=level)
    test = _raised(values, groups, seed)
    influence = _influence(values, groups, int(scores.group.max()) + 1)
    base = float(scores.error[two.b][kept].mean())
    return Effect(
        arm,
        against,
        found.estimate,
        found.interval,
        _standard_error(influence, found),
        test.pvalue,
        two.p_completed(seed),
        n=found.n,
        groups=found.groups,
        method=f"{found.method}; p: {test.method}",
        error=float(scores.error[two.a][kept].mean()),
        base_error=base,
        ceiling=base > CEILING,
        influence=influence,
    )


def gaps(scores: Scores, arm: str, against: str, *, missing: Literal["low", "high"]) -> tuple[Floats, Ints]:
    """Error in `arm` minus error in `against`, one value a pair that both arms have a usable text of, and the groups.

    Missing verdicts make the gap as low, or as high, as they can.
    """
    two = _Two(scores, scores.at(arm), scores.at(against), 0.95)
    low, high = two.completed
    return (low if missing == "low" else high)[two.usable], scores.group[two.usable]


@dataclass(frozen=True, eq=False)
class _Two:
    """Two arms of some scores, by their places."""

    scores: Scores
    a: int
    b: int
    level: float

    @cached_property
    def dealt(self) -> Bools:
        dealt: Bools = self.scores.dealt[self.a] & self.scores.dealt[self.b]
        return dealt

    @cached_property
    def usable(self) -> Bools:
        usable: Bools = self.dealt & self.scores.passed[self.a] & self.scores.passed[self.b]
        return usable

    @cached_property
    def kept(self) -> Bools:
        return self.usable & self.scores.answered(self.a) & self.scores.answered(self.b)

    @cached_property
    def gaps(self) -> Floats:
        gaps: Floats = self.scores.error[self.a] - self.scores.error[self.b]
        return gaps

    def why_not(self) -> str:
        if self.usable.any():
            return "no pair has a verdict in every order of both arms"
        return "no pair has a usable text in both arms" if self.dealt.any() else "no pair was dealt to both arms"

    def mean(self, values: Floats, rows: Bools) -> stats.Estimate | None:
        if not rows.any():
            return None
        return stats.clustered_mean(values[rows], groups=self.scores.group[rows], bounds=_GAPS, level=self.level)

    def in_order(self, order: int, seed: int) -> OrderEffect:
        s, name = self.scores, self.scores.orders[order]
        kept = self.usable & (s.failed[self.a][:, order] < 1) & (s.failed[self.b][:, order] < 1)
        logit, gaps = self.logit(slice(order, order + 1)), self.gaps[:, order]
        found = self.mean(gaps, kept)
        if found is None:
            return OrderEffect(name, None, None, None, None, False, logit, 0)
        base = float(s.error[self.b][kept, order].mean())
        sums = np.bincount(s.group[kept], weights=gaps[kept])
        opposite = stats.sign_flip_test(sums, alternative="less", seed=seed).pvalue
        informative = ROOM <= base <= 1 - ROOM
        return OrderEffect(name, found.estimate, found.interval, opposite, base, informative, logit, found.n)

    def interaction(self, seed: int) -> stats.Estimate | None:
        if len(self.scores.orders) < 2 or not self.kept.any():
            return None
        difference, groups = np.diff(self.gaps[self.kept], axis=1)[:, 0], self.scores.group[self.kept]
        found = stats.clustered_mean(difference, groups=groups, bounds=(-2.0, 2.0), level=self.level)
        test = stats.sign_flip_test(np.bincount(groups, weights=difference), seed=seed)
        return replace(found, method=f"{found.method}; p: {test.method}", pvalue=test.pvalue)

    def logit(self, orders: slice) -> stats.Estimate | None:
        s = self.scores
        kept = self.usable & (s.has_logit[self.a] & s.has_logit[self.b])[:, orders].all(axis=1)
        if not kept.any():
            return None
        lost = (s.logit[self.b] - s.logit[self.a])[kept, orders].mean(axis=1)
        return stats.mean_interval(lost, groups=s.group[kept], level=self.level)

    def score_shift(self) -> ScoreShift | None:
        s = self.scores
        if s.score is None:
            return None
        points = s.score.mean(axis=2)
        (arm, reference), chosen = points[[self.a, self.b], :, 1], points[self.b, :, 0]
        a, b = (int((self.usable & ~s.answered(i)).sum()) for i in (self.a, self.b))
        bounds = None
        if s.scale is not None and self.usable.any():
            least, most = (
                self.moved(values, self.usable).interval for values in self.completed_shift(s.score, s.scale)
            )
            bounds = (least[0], most[1]) if least and most else None
        if not self.kept.any():
            nothing = stats.Estimate(None, None, 0, 0, "", self.level, reason=self.why_not())
            return ScoreShift(nothing, (a, b), bounds=bounds, scale=s.scale)
        return ScoreShift(
            self.moved(arm - reference, self.kept),
            (a, b),
            score=float(arm[self.kept].mean()),
            base_score=float(reference[self.kept].mean()),
            chosen_score=float(chosen[self.kept].mean()),
            bounds=bounds,
            scale=s.scale,
        )

    def moved(self, values: Floats, rows: Bools) -> stats.Estimate:
        """The mean of differences of scores, with an interval that knows the ends of the scale where it has any."""
        values, groups, scale = values[rows], self.scores.group[rows], self.scores.scale
        if scale is None:
            return stats.mean_interval(values, groups=groups, level=self.level)
        most = scale[1] - scale[0]
        inside = np.clip(values, -most, most)  # a mean over repeats may lie a rounding beyond
        return stats.clustered_mean(inside, groups=groups, bounds=(-most, most), level=self.level)

    def completed_shift(self, score: Floats, scale: tuple[float, float]) -> tuple[Floats, Floats]:
        """By pair: the shift with every missing score against it, and with every one in its favour."""
        failed = self.scores.failed[[self.a, self.b]]
        given = score[[self.a, self.b], :, :, 1] * (1 - failed)
        low, high = given + failed * scale[0], given + failed * scale[1]
        return (low[0] - high[1]).mean(axis=1), (high[0] - low[1]).mean(axis=1)

    @cached_property
    def completed(self) -> tuple[Floats, Floats]:
        """By pair: the gap with every missing verdict against the effect, and with every one in its favour."""
        s = self.scores
        low = [s.error[i] * (1 - s.failed[i]) for i in (self.a, self.b)]
        high = [low[k] + s.failed[i] for k, i in enumerate((self.a, self.b))]
        return (low[0] - high[1]).mean(axis=1), (high[0] - low[1]).mean(axis=1)

    def p_completed(self, seed: int) -> float | None:
        if not self.scores.failed[[self.a, self.b]][:, self.usable].any():
            return None
        return _raised(self.completed[0][self.usable], self.scores.group[self.usable], seed).pvalue

    def bounds(self) -> tuple[float, float] | None:
        """From the lower limit with every missing verdict against the effect to the upper one with all in favour."""
        least, most = (self.mean(values, self.usable) for values in self.completed)
        if least is None or most is None or least.interval is None or most.interval is None:
            return None
        return least.interval[0], most.interval[1]

    def failures(self) -> stats.Estimate | None:
        return self.mean((self.scores.failed[self.a] - self.scores.failed[self.b]).mean(axis=1), self.usable)

    def failure_rates(self) -> tuple[float, float] | None:
        if not self.usable.any():
            return None
        a, b = (float(self.scores.failed[i][self.usable].mean()) for i in (self.a, self.b))
        return a, b

    def itt(self) -> stats.Estimate | None:
        """None where the originals were not judged."""
        s, original = self.scores, self.scores.at(ORIGINAL)
        if not s.answered(original).any():
            return None
        a, b = (np.where(s.passed[i], i, original) for i in (self.a, self.b))
        pairs = np.arange(len(s.pairs))
        kept = self.dealt & (s.failed[a, pairs] < 1).all(axis=1) & (s.failed[b, pairs] < 1).all(axis=1)
        return self.mean((s.error[a, pairs] - s.error[b, pairs]).mean(axis=1), kept)

    def excluded(self) -> Excluded:
        s, original = self.scores, self.scores.at(ORIGINAL)
        judged, out = s.answered(original), self.dealt & ~self.usable

        def error(rows: Bools) -> float | None:
            rows = rows & judged
            return float(s.error[original][rows].mean()) if rows.any() else None

        rate = float(out.sum() / self.dealt.sum()) if self.dealt.any() else None
        return Excluded(int(out.sum()), rate, error(out), error(self.usable))


def _raised(values: Floats, groups: Ints, seed: int) -> stats.TestResult:
    """The one-sided sign-flip test of the group sums."""
    return stats.sign_flip_test(np.bincount(groups, weights=values), alternative="greater", seed=seed)


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
