"""What becomes of a candidate after the test part, and how a library names it."""

from __future__ import annotations

import pytest

from recuse.discovery.fates import STATUS, fate_of, severity
from recuse.effects.accept import Decision
from recuse.effects.contrast import Effect


def decided(status: str, estimate: float = 0.15, reasons: tuple[str, ...] = ()) -> Decision:
    effect = Effect("bias:x", "placebo", estimate)
    numbers = {"p_flip": 0.001, "p_sham": 0.001, "p_completed": None, "p": 0.001, "q": 0.01, "q_by": 0.02}
    return Decision("bias:x", effect, status, reasons, **numbers)  # type: ignore[arg-type]


def measured(estimate: float | None, low: float = -1.0, high: float = 1.0, reason: str | None = None) -> Effect:
    return Effect("bias:x", "placebo", estimate, (low, high), reason=reason)


ACCEPTED = decided("accepted")


@pytest.mark.parametrize(
    ("decision", "effect", "excess", "status", "says"),
    [
        (ACCEPTED, measured(0.12, 0.05, 0.19), 0.0, "confirmed", ()),
        (ACCEPTED, None, 0.0, "candidate", ("no effect could be measured on the test part: no rewrites",)),
        (ACCEPTED, measured(None, reason="the arm is void"), 0.0, "candidate", ("test part: the arm is void",)),
        (ACCEPTED, measured(0.0, -0.2, 0.2), 0.0, "candidate", ("does not bear it out: there the effect is 0.000",)),
        (ACCEPTED, measured(-0.04, -0.2, 0.2), 0.0, "candidate", ("there the effect is -0.040",)),
        (ACCEPTED, measured(0.06, 0.02, 0.1), 0.0, "confirmed", ("0.020 to 0.100, does not hold the effect of 0.150",)),
        (ACCEPTED, measured(0.06, 0.0, 0.2), 0.02, "confirmed", ("less up to 0.020 of broken truth is under 0.05",)),
        (ACCEPTED, measured(0.02, 0.0, 0.2), 0.02, "candidate", ("may be broken truth, up to 0.020",)),
        (decided("candidate", reasons=("unchecked",)), measured(0.12), None, "candidate", ("unchecked",)),
        (decided("exploratory", reasons=("3 shams",)), measured(0.12), 0.0, "candidate", ("3 shams",)),
        (decided("rejected", reasons=("q",)), None, 0.0, "rejected", ("q",)),
    ],
)
def test_only_what_the_test_part_bears_out_is_confirmed(
    decision: Decision, effect: Effect | None, excess: float | None, status: str, says: tuple[str, ...]
) -> None:
    fate, reasons = fate_of(decision, effect, excess=excess, min_effect=0.05)
    assert STATUS[fate] == status
    assert len(reasons) == len(says)
    for reason, part in zip(reasons, says, strict=True):
        assert part in reason


def test_a_screen_under_the_one_set_in_advance_confirms_nothing_and_marks_the_severity() -> None:
    fate, reasons = fate_of(ACCEPTED, measured(0.12), excess=0.0, min_effect=0.03)
    assert STATUS[fate] == "candidate"
    assert reasons == ("exploratory: the screen was 0.03, under the 0.05 set in advance",)
    assert severity(0.12, min_effect=0.03) == "medium, exploratory"
    assert [severity(effect) for effect in (0.2, 0.1, 0.05, 0.049, None)] == [
        "high", "medium", "low", "under 5 points", None,
    ]  # fmt: skip


def test_what_was_dropped_at_the_screen_is_rejected_in_a_library() -> None:
    assert STATUS["dropped"] == "rejected"
