"""Which candidates of a run are accepted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from recuse import stats
from recuse.effects.contrast import Effect
from recuse.effects.shams import Shams

MIN_SHAMS = 5
OPPOSITE = 0.05  # level of the two one-sided tests for an opposite effect, shared between the orders
_ROUNDING = 1e-12
UNCHECKED = "whether the rewrites keep the truth could not be checked independently"

Status = Literal["accepted", "candidate", "exploratory", "rejected"]


@dataclass(frozen=True)
class Decision:
    """`status`: "accepted"; "candidate", all passed, but truth could not be checked independently; "exploratory", all
    passed, but too few shams; "rejected". `reasons` are those against acceptance, for people.

    `p` is the largest of `p_flip`, `p_sham` and, where verdicts are missing, `p_completed`: the flip p with each of
    them against the effect, since a judge that falls silent where it would have been right shows no bias. `q` adjusts
    `p` over all candidates by Benjamini-Hochberg, `q_by` by Benjamini-Yekutieli.
    """

    arm: str
    effect: Effect
    status: Status
    reasons: tuple[str, ...]
    p_flip: float
    p_sham: float | None
    p_completed: float | None
    p: float
    q: float
    q_by: float

    @property
    def accepted(self) -> bool:
        return self.status == "accepted"


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
    the largest of the sign-flip p, the predictive p under the shams' scatter and, where verdicts are missing, the
    sign-flip p with all of them against the effect; the estimate reaches `min_effect`, also
    less the upper limit of its excess of broken truth (`truth_excess`, by arm; 0 where it has none, None where truth
    cannot be checked independently); and neither order shows a significant opposite effect.

    A candidate without an estimate (a void arm), or `stopped` by racing (arm: why), stays in the family with p = 1.
    With fewer than five shams there is no `p_sham`: then nothing is accepted, and what passes all else is exploratory.
    """
    excess, gone = truth_excess or {}, stopped or {}
    null = Shams.of(shams)
    p_flip = [1.0 if e.estimate is None or e.p is None or e.arm in gone else e.p for e in effects]
    p_sham = [
        None if null.n < MIN_SHAMS else 1.0 if e.estimate is None or e.arm in gone else null.pvalue(e) for e in effects
    ]
    p_completed = [None if e.estimate is None or e.arm in gone else e.p_completed for e in effects]
    p = [max(flip, sham or 0.0, done or 0.0) for flip, sham, done in zip(p_flip, p_sham, p_completed, strict=True)]
    q, q_by = stats.benjamini_hochberg(p).tolist(), stats.benjamini_yekutieli(p).tolist()
    decisions = []
    for i, effect in enumerate(effects):
        lost = excess.get(effect.arm, 0.0)
        which = _which(p_flip[i], p_sham[i], p_completed[i])
        against = _reasons(effect, q[i], fdr, min_effect, lost, gone.get(effect.arm), which)
        status: Status = "accepted"
        if against:
            status = "rejected"
        elif p_sham[i] is None:
            status, against = "exploratory", [f"{null.n} usable shams; acceptance needs {MIN_SHAMS}"]
        elif lost is None:
            status, against = "candidate", [UNCHECKED]
        shown = (p_flip[i], p_sham[i], p_completed[i], p[i], q[i], q_by[i])
        decisions.append(Decision(effect.arm, effect, status, tuple(against), *shown))
    return tuple(decisions)


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


def _which(p_flip: float, p_sham: float | None, p_completed: float | None) -> str:
    """The test that is the weakest evidence."""
    tests = {"by sign flips": p_flip, "beside the shams": p_sham, "with missing verdicts against it": p_completed}
    return max(tests, key=lambda how: tests[how] or 0.0)
