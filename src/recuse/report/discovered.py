"""What the report of a discovery is made from: one frozen record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from recuse.types import Finding

# unproven: passed every test, and something keeps it from being confirmed; dropped: at the screen, before validation
Fate = Literal["accepted", "unproven", "rejected", "dropped"]
FATES: tuple[Fate, ...] = get_args(Fate)


@dataclass(frozen=True)
class Worked:
    """One example: a pair whose verdict turned when its rejected answer was reworded."""

    pair: str
    domain: str | None
    question: str
    chosen: str
    original: str
    rewritten: str
    before: Mapping[str, str]  # order -> what the judge preferred, of the answer as it was
    after: Mapping[str, str]
    words: str | None = None  # the judge's own explanation, where there is one
    origin: str = "test"  # the part of the data, and the other rewriting in which the bias was noticed


@dataclass(frozen=True)
class Found:
    """One candidate: what it says, what became of it and why, and the numbers.

    `findings` are in the order in which they are shown: on the test part first (`bias.<id>.effect`,
    `bias.<id>.vs_original`, `bias.<id>.both_reworded`, and of a judge that gives scores `bias.<id>.score_shift`), then
    on the validation part (`bias.<id>.validation`), then the screen. `reasons` says in sentences why it was not
    accepted, or what there is to say against it all the same.
    """

    id: str
    name: str
    definition: str
    instruction: str
    fate: Fate
    support: int  # cases that named it
    wordings: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    severity: str | None = None
    findings: tuple[Finding, ...] = ()
    examples: tuple[Worked, ...] = ()


@dataclass(frozen=True)
class DiscoverResult:
    """A finished discovery. `findings` are those of the run as a whole; those of each candidate stand with it."""

    judge: str
    teacher: str
    pairs: str
    prompt: str
    headline: str
    candidates: tuple[Found, ...]
    findings: tuple[Finding, ...]
    rounds: tuple[Mapping[str, Any], ...]  # one row of counts a round
    limits: tuple[str, ...]  # what the result does not say
    notes: tuple[str, ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    usage: Mapping[str, Any] = field(default_factory=dict)
    level: float = 0.95
    folder: Path = Path()

    def of(self, fate: Fate) -> tuple[Found, ...]:
        return tuple(c for c in self.candidates if c.fate == fate)
