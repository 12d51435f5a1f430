"""What asks of a kind may take, before any is made: guesses from characters, three to a token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recuse.perturb.teacher import TRIES
from recuse.prompts import transcript
from recuse.types import Pair

TOLD = 300  # tokens of instruction in what a teacher is asked
_SAID = 60  # tokens of a verifier's reply


@dataclass(frozen=True)
class Work:
    """Asks of one kind, with the mean tokens of one."""

    calls: int
    tokens_in: float
    tokens_out: float


def total(parts: Mapping[str, Work]) -> tuple[int, int, int]:
    """Calls, tokens in and tokens out of all kinds together."""
    every = parts.values()
    return (
        sum(part.calls for part in every),
        round(sum(part.calls * part.tokens_in for part in every)),
        round(sum(part.calls * part.tokens_out for part in every)),
    )


def rewriting(sample: Sequence[Pair], rewrites: int, *, verify: bool) -> dict[str, Work]:
    """So many rewrites of answers like those of `sample`, each tried and verified as often as may be, short of arms
    that are written a second time because they broke the truth."""
    question, answer = lengths(sample)
    return {
        "rewrites": Work(TRIES * rewrites, TOLD + question + answer, answer),
        "verifying": Work(rewrites if verify else 0, TOLD + question + 3 * answer, _SAID),
    }


def lengths(sample: Sequence[Pair]) -> tuple[float, float]:
    """Mean tokens of a question and of a rejected answer."""
    return mean([len(transcript(p.prompt)) / 3 for p in sample]), mean([len(p.rejected) / 3 for p in sample])


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
