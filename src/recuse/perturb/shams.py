"""What a bias is compared with: two placebo draws, shams that ask for an irrelevant property, and how alike they came.

A sham has the same form of prompt, the same teacher and the same length rule as a bias. What shams do to verdicts,
beyond sampling error, is what any instruction of that kind does.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from statistics import fmean
from typing import Any

from recuse import assets
from recuse.errors import UsageError
from recuse.library import Bias
from recuse.perturb.arms import Arm, Rewrite
from recuse.types import Pair


@dataclass(frozen=True, slots=True)
class Sham:
    property: str
    instruction: str


@cache
def _file() -> Mapping[str, Any]:
    return tomllib.loads(assets.data("shams.toml").read_text(encoding="utf-8"))


def shams() -> tuple[Sham, ...]:
    """All sham instructions that ship with recuse, in the order of their file."""
    return tuple(Sham(**entry) for entry in _file()["sham"])


def placebo_arms() -> tuple[Arm, Arm]:
    """Two draws of a neutral paraphrase: "placebo", which every bias shares, and "placebo2"."""
    first, second = _file()["placebo"]
    return Arm("placebo", "placebo", instruction=first), Arm("placebo2", "placebo", instruction=second)


def sham_arms(count: int, *, seed: int, skip: int = 0) -> list[Arm]:
    """`count` shams in an order drawn by `seed`, after its first `skip`: calls with other `skip` give further ones.

    An arm's id, such as "sham:7", names the instruction, not the draw. Raises UsageError if there are not so many.
    """
    known = list(enumerate(shams(), start=1))
    if count < 0 or skip + count > len(known):
        raise UsageError(f"There are {len(known)} sham instructions, not {skip + count}.", hint="Ask for fewer shams.")
    random.Random(f"shams {seed}").shuffle(known)
    return [Arm(f"sham:{i}", "sham", instruction=sham.instruction) for i, sham in known[skip : skip + count]]


def bias_arms(bias: Bias) -> list[Arm]:
    """The arm that injects `bias`, and for a bias of length its own placebo: as long a text, with nothing gained.

    Raises UsageError for a bias that no teacher puts in, such as position.
    """
    if bias.inject is None:
        raise UsageError(f"The bias {bias.id!r} is not put in by rewriting.", hint="It has no `inject` text.")
    arm = Arm(
        f"bias:{bias.id}",
        "bias",
        bias=bias.id,
        instruction=bias.inject,
        changes_length=bias.changes_length,
        names=_names(bias),
    )
    if not bias.changes_length:
        return [arm]
    expansion = _file()["expansion"]
    placebo = Arm(
        f"placebo:{bias.id}", "placebo", bias=bias.id, instruction=expansion, match=arm.id, changes_length=True
    )
    return [arm, placebo]


def _names(bias: Bias) -> tuple[str, ...]:
    """Phrases that name the bias. A lone word does not: "authority" may well stand in an appeal to authority."""
    phrases = {bias.name.lower(), bias.id.replace("-", " ").replace("_", " ")}
    return tuple(sorted(phrase if " " in phrase else f"{phrase} bias" for phrase in phrases))


def teacher_arms(biases: Iterable[Bias], *, shams: int = 10, seed: int) -> list[Arm]:
    """Every arm that a teacher writes: both placebo draws, `shams` shams, and each bias (see `bias_arms`)."""
    arms = [*placebo_arms(), *sham_arms(shams, seed=seed)]
    for bias in biases:
        arms += bias_arms(bias)
    return arms


def distance(before: str, after: str) -> float:
    """Share of the words of both texts that have no counterpart in the same order in the other: 0 alike, 1 disjoint.

    One minus the ratio of Ratcliff and Obershelp over words (`difflib`).
    """
    return 1.0 - SequenceMatcher(None, before.split(), after.split(), autojunk=False).ratio()


@dataclass(frozen=True, slots=True)
class Match:
    """How an arm's usable rewrites compare with the originals: means over pairs. None where there are none."""

    n: int
    length: float | None  # characters after over characters before
    distance: float | None  # see `distance`


def matched(pairs: Sequence[Pair], rewrites: Mapping[str, Mapping[str, Rewrite]]) -> dict[str, Match]:
    """By arm: were shams and placebo as long, and as far from the original, as what they stand beside?"""
    originals = {pair.id: pair.rejected for pair in pairs}
    found = {}
    for arm, of_arm in rewrites.items():
        texts = [
            (originals[pair], rewrite.text)
            for pair, rewrite in of_arm.items()
            if rewrite.text is not None and pair in originals
        ]
        lengths = [len(after) / len(before) for before, after in texts if before]
        distances = [distance(before, after) for before, after in texts]
        found[arm] = Match(len(texts), fmean(lengths) if lengths else None, fmean(distances) if distances else None)
    return found
