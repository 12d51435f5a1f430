"""Arms: versions of the rejected answers that a judge sees, and what became of each rewrite."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from recuse.library import Bias
from recuse.perturb.code import code_of
from recuse.types import Pair

ArmKind = Literal["original", "placebo", "sham", "bias"]
Fault = Literal[
    "refused",  # the teacher declined
    "empty",  # no text came, or none where the prompt wants it
    "error",  # the provider rejected the request, or the reply was cut by the token limit
    "unchanged",
    "length",  # outside the rule after every try
    "answer_changed",  # the final answer is another one: the rejected answer is no longer the same wrong one
    "repaired",  # the rejected answer became right
    "named",  # the text speaks of the bias
    "leftover",  # the text speaks of its own rewriting
    "unmatched",  # the arm that sets its length has no usable rewrite of this pair
    "mislabelled",  # the pair's own tests do not bear out its labels: the chosen code fails, or the rejected passes
    "unverified",  # no check could tell whether the final answer is the same
]


@dataclass(frozen=True, slots=True)
class Arm:
    """One version of all rejected answers: by a teacher's `instruction`, or by a rule-based `edit`, or as they are.

    An edit with `match` is cut to the length that the arm of that id gave to the same pair: a meaningless edit of the
    same size.
    """

    id: str  # "original", "placebo", "placebo2", "sham:3", "bias:authority", "placebo:authority"
    kind: ArmKind
    bias: str | None = None  # Bias.id
    instruction: str | None = None
    edit: str | None = None
    match: str | None = None
    changes_length: bool = False
    names: tuple[str, ...] = ()  # words by which a rewrite would name the bias


ORIGINAL = Arm("original", "original")


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The rejected answer of one pair in one arm. `text` None: no usable rewrite, for the reasons in `faults`."""

    pair: str  # Pair.id
    arm: str
    text: str | None
    faults: tuple[Fault, ...] = ()
    attempts: int = 1  # requests made
    before: int = 0  # characters
    after: int = 0
    checked: str = ""  # how the final answer was compared: "letter", "number", "code", "exact", "verifier", "rule"


def variants(pairs: Iterable[Pair], rewrites: Mapping[str, Rewrite]) -> Iterator[Pair]:
    """The pairs with their rejected answer as rewritten, by pair id; pairs without a usable rewrite are left out.

    A variant keeps the id of its pair: it is the same pair in another arm.
    """
    for pair in pairs:
        found = rewrites.get(pair.id)
        if found is not None and found.text is not None:
            yield replace(pair, rejected=found.text)


def suited(bias: Bias, pairs: Sequence[Pair]) -> Sequence[Pair]:
    """The pairs that a bias can go into: all, or for one about code those whose rejected answer is code."""
    return [pair for pair in pairs if code_of(pair.rejected) is not None] if bias.code else pairs
