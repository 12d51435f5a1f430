"""Deal biases over pairs, so that each bias gets as many pairs as any other, give or take one."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from recuse.types import Pair


def deal(pairs: Sequence[Pair], biases: Sequence[str], *, seed: int, turn: int) -> dict[str, tuple[Pair, ...]]:
    """The pairs of each bias in one round.

    Pairs are put in an order that a hash of the seed decides; the biases take turns along it, beginning one place
    further in every round (`turn`), so that over the rounds a pair meets different biases.
    """
    if not biases:
        return {}
    order = sorted(pairs, key=lambda pair: (rank(seed, pair.id), pair.id))
    ring = sorted(biases, key=lambda bias: (rank(seed, bias), bias))
    hands: dict[str, list[Pair]] = {bias: [] for bias in biases}
    for place, pair in enumerate(order):
        hands[ring[(place + turn) % len(ring)]].append(pair)
    return {bias: tuple(hand) for bias, hand in hands.items()}


def rank(seed: int, name: str) -> bytes:
    """A place in an order that nothing but the seed and the name decides."""
    return hashlib.sha256(f"deal:{seed}:{name}".encode("utf-8", "surrogatepass")).digest()
