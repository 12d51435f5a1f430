"""Train and test by families, and how many untouched pairs stand beside the rewritten ones."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from recuse.discovery.deal import rank
from recuse.errors import UsageError
from recuse.export.dealing import Dealt
from recuse.types import Pair

Item = TypeVar("Item")


def for_test(names: Iterable[str], *, share: float, seed: int) -> frozenset[str]:
    """The families of the test part: `share` of them, rounded, but one at least and never all; none for a share of 0.

    A hash of seed and name decides, so that the order changes nothing. Raises UsageError where there are too few.
    """
    every = sorted(set(names), key=lambda name: (rank(seed, f"test {name}"), name))
    if share == 0:
        return frozenset()
    if len(every) < 2:
        raise UsageError(
            f"{len(every)} group of questions is left, and train and test need one each.", hint="Give --test 0."
        )
    return frozenset(every[: min(len(every) - 1, max(1, _rounded(share * len(every))))])


def amounts(rewritten: int, untouched: int, *, mix: float) -> tuple[int, int]:
    """How many of each are taken so that `mix` of all are untouched: as many as there are of what is scarce.

    mix  from 0 up to, not including, 1
    """
    wanted = rewritten * mix / (1 - mix)
    if wanted <= untouched:
        return rewritten, _rounded(wanted)
    return _rounded(untouched * (1 - mix) / mix), untouched


def _rounded(value: float) -> int:
    return math.floor(value + 0.5 + 1e-9)


def mixed(
    rewritten: Sequence[Dealt], untouched: Sequence[Pair], *, mix: float, seed: int
) -> tuple[list[Dealt], list[Pair]]:
    """What goes into one part. Where rewritten ones are left over, biases keep their balance; of the untouched pairs
    those come first that have no rewritten version."""
    n, m = amounts(len(rewritten), len(untouched), mix=mix)
    used = {dealt.pair.id for dealt in rewritten}
    plain = sorted(untouched, key=lambda pair: (pair.id in used, rank(seed, f"untouched {pair.id}"), pair.id))
    return evenly(rewritten, of=lambda d: d.arm.id, by=lambda d: (rank(seed, d.pair.id), d.pair.id))[:n], plain[:m]


def evenly(
    items: Sequence[Item], *, of: Callable[[Item], str], by: Callable[[Item], tuple[bytes, Hashable]]
) -> list[Item]:
    """The items so that any head of the list holds as many of each kind as there can be, give or take one."""
    kinds: dict[str, list[Item]] = defaultdict(list)
    for item in sorted(items, key=by):
        kinds[of(item)].append(item)
    placed = [(i, kind, item) for kind, members in kinds.items() for i, item in enumerate(members)]
    return [item for _, _, item in sorted(placed, key=lambda p: p[:2])]
