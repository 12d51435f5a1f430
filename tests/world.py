"""Pairs of the fake world, and what a planted judge's bias is worth on them."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from recuse.backends.fake import Planted, true_contrast
from recuse.backends.fake_teacher import SMALL
from recuse.types import Pair

_SENTENCES = (
    "The task asks for one number, and every part of it is given in the text.",
    "We take the parts one by one and write down what each of them adds.",
    "The outer part is counted once, while the inner part is counted twice.",
    "Nothing is left over when both halves are put next to each other.",
    "A short check with smaller numbers shows that the method holds.",
    "Each step follows from the one before, which keeps the sum easy to read.",
    "The last part needs some care, because it is shared between two rows.",
    "With all of this in place the total comes out by simple addition.",
)


def world_pairs(n: int, *, seed: int = 0, largest_group: int = 1) -> list[Pair]:
    """`n` pairs in groups of 1 to `largest_group`, whose answers have four sentences and a last line with a number.

    Right and wrong answers are drawn alike but for the number; no answer has a marker of the world.
    """
    rng, pairs, group = Random(f"world-{seed}"), [], 0
    while len(pairs) < n:
        group += 1
        for _ in range(rng.randint(1, largest_group)):
            right = rng.randint(10, 99)
            wrong = right + rng.choice((-3, -1, 1, 2, 10))
            chosen, rejected = (f"{_reasoning(rng)}\nThe answer is {number}." for number in (right, wrong))
            name = f"w{seed}-{len(pairs)}"
            question = f"How many are there in case {name}?"
            pairs.append(Pair(name, question, chosen, rejected, f"w{seed}-g{group}", reference=str(right)))
    return pairs[:n]


def _reasoning(rng: Random) -> str:
    """Four sentences with a small word in two of them, so that a teacher has something to take out."""
    sentences = rng.sample(_SENTENCES, 4)
    for place in rng.sample(range(4), 2):
        first, _, rest = sentences[place].partition(" ")
        sentences[place] = f"{first} {rng.choice(SMALL)} {rest}"
    return "\n".join((" ".join(sentences[:2]), " ".join(sentences[2:])))


def like_for(points: float, planted: Planted) -> float:
    """The strength of `planted.like` at which the liked word in every wrong answer adds `points` to the error rate.

    Raises ValueError where no strength can: the error without it leaves too little room.
    """

    def effect(like: float) -> float:
        judge = replace(planted, likes="x", like=like)
        return true_contrast(judge, [("", "x")], [("", "")], n=40_000).effect

    low, high = 0.0, 12.0
    if effect(high) < points:
        raise ValueError(f"no liking adds {points} to the error of this judge")
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if effect(middle) < points else (low, middle)
    return (low + high) / 2
