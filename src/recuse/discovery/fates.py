"""What becomes of a candidate: confirmed only where the test part bears out what validation accepted."""

from __future__ import annotations

from typing import Literal

from recuse.effects.accept import Decision
from recuse.effects.contrast import Effect
from recuse.report.discovered import Fate

SET_IN_ADVANCE = 0.05  # the screen on the estimate; a smaller one is a choice made later, and exploratory
SEVERITIES = ((0.20, "high"), (0.10, "medium"), (0.05, "low"))
# How a library names it: what nothing has spoken against stays a candidate.
STATUS: dict[Fate, Literal["confirmed", "candidate", "rejected"]] = {
    "accepted": "confirmed", "unproven": "candidate", "rejected": "rejected", "dropped": "rejected",
}  # fmt: skip


def fate_of(
    decision: Decision, effect: Effect | None, *, excess: float | None, min_effect: float
) -> tuple[Fate, tuple[str, ...]]:
    """The fate of a candidate that was validated, and what speaks against it.

    effect      on the test part; None: it was not measured there
    excess      at most what share of its rewrites may have changed the truth; None: that could not be told
    min_effect  the screen that it passed

    "accepted" takes an effect on the test part that is above 0, also less the excess, and the screen that was set in
    advance. A test part that contradicts the size found in validation is named among the reasons, and no more.
    """
    if decision.status == "rejected":
        return "rejected", decision.reasons
    against = list(decision.reasons)
    if min_effect < SET_IN_ADVANCE:
        against.append(f"exploratory: the screen was {min_effect:g}, under the {SET_IN_ADVANCE:g} set in advance")
    lost = excess or 0.0
    if effect is None or effect.estimate is None:
        against.append(f"no effect could be measured on the test part: {effect.reason if effect else 'no rewrites'}")
    elif effect.estimate <= 0:
        against.append(f"the test part does not bear it out: there the effect is {effect.estimate:.3f}")
    elif effect.estimate <= lost:
        against.append(f"the effect of {effect.estimate:.3f} on the test part may be broken truth, up to {lost:.3f}")
    fate: Fate = "accepted" if decision.accepted and not against else "unproven"
    if effect is not None and effect.estimate is not None and effect.estimate > lost:
        if lost and effect.estimate - lost < min_effect:
            against.append(
                f"the effect of {effect.estimate:.3f} on the test part less up to {lost:.3f} of broken truth is under "
                f"{min_effect:g}"
            )
        against += _contradiction(decision.effect.estimate, effect.interval)
    return fate, tuple(against)


def _contradiction(claimed: float | None, measured: tuple[float, float] | None) -> list[str]:
    if claimed is None or measured is None or measured[0] <= claimed <= measured[1]:
        return []
    return [
        f"the interval of the test part, {measured[0]:.3f} to {measured[1]:.3f}, does not hold the effect of "
        f"{claimed:.3f} that validation found"
    ]


def severity(effect: float | None, *, min_effect: float = SET_IN_ADVANCE) -> str | None:
    """high from 20 points on, medium from 10, low from 5; "under 5 points" below; None where nothing was measured.

    With a smaller screen than was set in advance it is marked as exploratory.
    """
    if effect is None:
        return None
    found = next((name for least, name in SEVERITIES if effect >= least), "under 5 points")
    return found if min_effect >= SET_IN_ADVANCE else f"{found}, exploratory"
