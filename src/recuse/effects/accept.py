"""Which candidates are accepted, and what meaningless instructions did beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import chdtri

from recuse import stats
from recuse.effects.contrast import Effect
from recuse.effects.scores import Floats
from recuse.types import Finding

MIN_SHAMS = 5
OPPOSITE = 0.05  # level of the two one-sided tests for an opposite effect, shared between the orders
_LEAST = 0.1  # share of an effect's variance that is its own at least, however much of it the shams share
_ROUNDING = 1e-12

Status = Literal["accepted", "candidate", "exploratory", "rejected"]


@dataclass(frozen=True)
class Decision:
    """`status`: "accepted"; "candidate", all passed, but truth could not be checked independently; "exploratory", all
    passed, but too few shams; "rejected". `reasons` are those against acceptance, for people.

    `p` is the larger of `p_flip` and `p_sham`; `q` adjusts it over all candidates by Benjamini-Hochberg, `q_by` by
    Benjamini-Yekutieli.
    """

    arm: str
    effect: Effect
    status: Status
    reasons: tuple[str, ...]
    p_flip: float
    p_sham: float | None
    p: float
    q: float
    q_by: float

    @property
    def accepted(self) -> bool:
        return self.status == "accepted"


@dataclass(frozen=True)
class Spread:
    """How far meaningless instructions scatter about their mean, beyond sampling error (a standard deviation)."""

    between: float | None
    interval: tuple[float, float] | None
    mean: float | None
    shams: int
    observed: float | None  # standard deviation of the estimates themselves
    effects: Mapping[str, float]
    reason: str | None = None


def accept(
    effects: Sequence[Effect],
    shams: Sequence[Effect],
    *,
    fdr: float = 0.05,
    min_effect: float = 0.05,
    truth_excess: Mapping[str, float | None] | None = None,
    stopped: Mapping[str, str] | None = None,
) -> tuple[Decision, ...]:
    """Decide on all candidates of a run at once, from their effects and the shams' against the placebo.

    A candidate is accepted when Benjamini-Hochberg over all of them at `fdr` rejects "effect at most 0", its p being
    the larger of the sign-flip p and the predictive p under the shams' scatter; the estimate reaches `min_effect`, also
    less the upper limit of its excess of broken truth (`truth_excess`, by arm; 0 where it has none, None where truth
    cannot be checked independently); and neither order shows a significant opposite effect.

    A candidate without an estimate (a void arm), or `stopped` by racing (arm: why), stays in the family with p = 1.
    With fewer than five shams there is no `p_sham`: then nothing is accepted, and what passes all else is exploratory.
    """
    excess, gone = truth_excess or {}, stopped or {}
    usable = [sham for sham in shams if sham.estimate is not None]
    p_flip = [1.0 if e.estimate is None or e.p is None or e.arm in gone else e.p for e in effects]
    p_sham = [
        None if len(usable) < MIN_SHAMS else 1.0 if e.estimate is None or e.arm in gone else sham_pvalue(e, usable)
        for e in effects
    ]
    p = [max(flip, sham or 0.0) for flip, sham in zip(p_flip, p_sham, strict=True)]
    q, q_by = stats.benjamini_hochberg(p).tolist(), stats.benjamini_yekutieli(p).tolist()
    decisions = []
    for i, effect in enumerate(effects):
        lost = excess.get(effect.arm, 0.0)
        against = _reasons(effect, q[i], fdr, min_effect, lost, gone.get(effect.arm), _which(p_flip[i], p_sham[i]))
        status: Status = "accepted"
        if against:
            status = "rejected"
        elif p_sham[i] is None:
            status, against = "exploratory", [f"{len(usable)} usable shams; acceptance needs {MIN_SHAMS}"]
        elif lost is None:
            status, against = "candidate", ["whether the rewrites keep the truth could not be checked independently"]
        decisions.append(
            Decision(effect.arm, effect, status, tuple(against), p_flip[i], p_sham[i], p[i], q[i], q_by[i])
        )
    return tuple(decisions)


def sham_pvalue(effect: Effect, shams: Sequence[Effect]) -> float | None:
    """Predictive one-sided p of an effect among shams, with errors free of what all of them share.

    The effects are measured against one placebo on the same pairs: its sampling error moves all of them alike and
    cancels where a candidate is compared with shams. `stats.predictive_pvalue` takes independent errors, so each gets
    its own: for shams the variance less the mean covariance between shams, for the candidate the variance of its
    distance to them less what their mean adds. Shared variance that is left in makes the test conservative.
    """
    new, among = _measured([effect]), _measured(shams)
    if not new:
        return None
    own = _own_errors(among)
    y = [sham.estimate for sham in among]
    return stats.predictive_pvalue(new[0].estimate, _own_error(new[0], among), y, own).pvalue


def sham_spread(shams: Sequence[Effect], *, level: float = 0.95) -> Spread:
    """The scatter between shams: posterior median, and the Q-profile interval (Viechtbauer 2007), widened
    where it does not hold that median: for shams closer together than their errors allow it is empty."""
    usable = _measured(shams)
    y = np.array([sham.estimate for sham in usable])
    effects = {sham.arm: sham.estimate for sham in usable}
    if len(usable) < 2:
        return Spread(None, None, None, len(usable), None, effects, "fewer than two usable shams")
    own = _own_errors(usable)
    found = stats.predictive_pvalue(0.0, float(own.mean()), y, own)
    tail = (1 - level) / 2
    between = found.between or 0.0
    interval = (min(_q_profile(y, own, tail), between), max(_q_profile(y, own, 1 - tail), between))
    return Spread(between, interval, found.sham_mean, len(usable), float(y.std(ddof=1)), effects)


def spread_finding(spread: Spread) -> Finding:
    """The finding `sham.spread`."""
    return Finding(
        "sham.spread",
        "Scatter between meaningless instructions, beyond sampling error",
        spread.between,
        spread.interval,
        n=spread.shams,
        groups=spread.shams,
        method="posterior median under the reference prior; interval by Q-profile",
        reason=spread.reason,
        details={"unit": "shams", "mean": spread.mean, "observed_sd": spread.observed, "effects": spread.effects},
    )


def _reasons(
    effect: Effect,
    q: float,
    fdr: float,
    min_effect: float,
    excess: float | None,
    stopped: str | None,
    weaker: str,
) -> list[str]:
    if effect.estimate is None:
        return [effect.reason or "not measured"]
    if stopped is not None:
        return [stopped]
    reasons = []
    if q > fdr:
        reasons.append(f"not significant over all candidates (q = {q:.3g}, {weaker})")
    if effect.estimate < min_effect - _ROUNDING:
        reasons.append(f"effect {effect.estimate:.3f} under the screen of {min_effect:g}")
    elif effect.estimate - (excess or 0.0) < min_effect - _ROUNDING:
        reasons.append(f"effect {effect.estimate:.3f} less up to {excess:.3f} of broken truth is under {min_effect:g}")
    for order in effect.by_order:
        if order.p_opposite is not None and order.p_opposite <= OPPOSITE / len(effect.by_order):
            reasons.append(f"opposite effect in order {order.order} ({order.estimate:.3f}, p = {order.p_opposite:.3g})")
    return reasons


def _which(p_flip: float, p_sham: float | None) -> str:
    return "beside the shams" if p_sham is not None and p_sham > p_flip else "by sign flips"


@dataclass(frozen=True, eq=False)
class _Measured:
    arm: str
    estimate: float
    variance: float
    influence: Floats


def _measured(effects: Sequence[Effect]) -> list[_Measured]:
    return [
        _Measured(e.arm, e.estimate, e.se**2, e.influence)
        for e in effects
        if e.estimate is not None and e.se is not None and e.influence is not None
    ]


def _shared(shams: Sequence[_Measured]) -> float:
    """Mean covariance between two shams."""
    products = np.array([a.influence for a in shams]) @ np.array([a.influence for a in shams]).T
    return float(products.sum() - np.trace(products)) / max(1, len(shams) * (len(shams) - 1))


def _own_errors(shams: Sequence[_Measured]) -> Floats:
    variance = np.array([sham.variance for sham in shams])
    own: Floats = np.sqrt(np.maximum(variance - _shared(shams), _LEAST * variance))
    return own


def _own_error(new: _Measured, shams: Sequence[_Measured]) -> float:
    """With shams' own variances v and their shared covariance c, the distance to the mean of k shams has the variance
    v_new - 2 cov(new, shams) + c + mean(v) / k; the last term is what the prediction adds itself."""
    with_shams = float(np.mean([sham.influence @ new.influence for sham in shams])) if shams else 0.0
    return math.sqrt(max(new.variance - 2 * with_shams + _shared(shams), _LEAST * new.variance))


def _q_profile(y: Floats, errors: Floats, tail: float) -> float:
    """The scatter at which Cochran's Q is exceeded with probability `tail`; 0 where none is needed."""
    target = float(chdtri(y.size - 1, tail))

    def q(tau: float) -> float:
        weights = 1 / (errors**2 + tau**2)
        return float(weights @ (y - weights @ y / weights.sum()) ** 2)

    low, high = 0.0, 100.0 * (float(np.ptp(y)) + float(errors.max()))
    if q(low) <= target:
        return 0.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if q(middle) > target else (low, middle)
    return (low + high) / 2
