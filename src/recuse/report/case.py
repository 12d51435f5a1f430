"""One case of an audit: a pair in one arm, what the judge said of it in each order, and what that amounts to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["wrong", "flips", "none", "tie", "right", "steady"]

# What becomes of a pair, the worst first: the order in which cases are shown.
OUTCOMES: Mapping[Outcome, str] = {
    "wrong": "Wrong in both orders",
    "flips": "Flips with the order",
    "none": "Without a verdict",
    "tie": "With a tie",
    "right": "Right in both orders",
    "steady": "Same answer in both orders",
}
_ALONE = {"wrong": "Wrong", "right": "Right", "steady": "Answer A or answer B"}
ORDERS: Mapping[str, str] = {"AB": "Better answer first", "BA": "Worse answer first", "-": "Each answer alone"}
_PLACES: Mapping[str, str] = {"AB": "Answer A first", "BA": "Answer B first"}  # where nobody knows the better one
UNTOUCHED = "original"


@dataclass(frozen=True, slots=True)
class Said:
    """What the judge said once. `replies` are its words: one, two where it saw each answer alone (of the better answer
    first), none where they are not kept."""

    order: str  # "AB": the better answer first, "BA": the worse one first, "-": each alone
    says: str  # "chosen", "rejected", "tie" or "none (REASON)"
    repeat: int = 0
    p: float | None = None  # probability that it gives the better answer
    replies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """A pair in one arm. Texts are None where they are not kept. `gold` false: nobody knows which answer is better, and
    `chosen` stands for the source's answer A. In an arm other than the untouched answers, `rejected` is the answer as
    it was changed, `untouched` the answer before, and `before` what the judge said of that, by order."""

    pair: str
    arm: str = UNTOUCHED
    domain: str | None = None
    question: str | None = None
    chosen: str | None = None
    rejected: str | None = None
    untouched: str | None = None
    said: tuple[Said, ...] = ()
    before: Mapping[str, str] | None = None
    gold: bool = True

    @property
    def outcome(self) -> Outcome:
        return outcome_of({s.order: s.says for s in self.said if s.repeat == 0}.values(), gold=self.gold)

    @property
    def label(self) -> str:
        """The outcome in words."""
        alone = {s.order for s in self.said} == {"-"}
        return _ALONE.get(self.outcome, OUTCOMES[self.outcome]) if alone else OUTCOMES[self.outcome]

    def order(self, order: str) -> str:
        """An order in words."""
        return ORDERS[order] if self.gold else _PLACES.get(order, ORDERS[order])

    @property
    def turned(self) -> bool:
        """Right untouched in every order, wrong in every order of this arm."""
        return self.outcome == "wrong" and set((self.before or {}).values()) == {"chosen"}


def outcome_of(says: Iterable[str], *, gold: bool = True) -> Outcome:
    """What the verdicts of both orders amount to."""
    found = set(says)
    if not found or any(said not in ("chosen", "rejected", "tie") for said in found):
        return "none"
    if found == {"chosen", "rejected"}:
        return "flips"
    if "tie" in found:
        return "tie"
    if not gold:
        return "steady"
    return "wrong" if found == {"rejected"} else "right"


def examples(cases: Iterable[Case], *, most: int = 12) -> list[Case]:
    """Up to `most` of the untouched pairs: up to half of them wrong in both orders, then those that flip with the
    order, then those without a verdict."""
    untouched = [case for case in cases if case.arm == UNTOUCHED]
    wrong, flips, none = ([c for c in untouched if c.outcome == kind] for kind in ("wrong", "flips", "none"))
    return [*wrong[: most // 2], *flips, *none][:most]
