"""Three parts that share no group: discovery (mining), validation (opened once), test (the effect that is reported)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from recuse.errors import InputError, UsageError
from recuse.types import Pair

Part = Literal["discovery", "validation", "test"]
PARTS: tuple[Part, ...] = ("discovery", "validation", "test")
FRACTIONS = (0.3, 0.4, 0.3)  # validation decides, so it gets the most


@dataclass(frozen=True)
class Splits:
    """The pairs of each part, in the order in which they were given."""

    discovery: tuple[Pair, ...]
    validation: tuple[Pair, ...]
    test: tuple[Pair, ...]

    def groups(self, part: Part) -> int:
        return len({pair.group for pair in getattr(self, part)})


def split(pairs: Sequence[Pair], *, seed: int = 0, fractions: Sequence[float] = FRACTIONS) -> Splits:
    """Whole groups, dealt by a hash of seed and group: the order of the pairs and their texts change nothing.

    Groups go one after the other to the part that is farthest behind its fraction, so that the sizes are as asked to
    within one group. Raises UsageError for fractions that are not three positive shares of one, or for fewer than three
    groups.
    """
    if len(fractions) != 3 or not all(f > 0 for f in fractions) or abs(sum(fractions) - 1) > 1e-9:
        raise UsageError(f"The parts {tuple(fractions)} are not three positive shares of one.")
    names = sorted({pair.group for pair in pairs}, key=lambda name: (_rank(seed, name), name))
    if len(names) < 3:
        raise UsageError(
            f"The pairs have {len(names)} group{'s' * (len(names) != 1)}, and three parts need three at least.",
            hint="Give more pairs, or another --group column.",
        )
    counts, part_of = [0, 0, 0], {}
    for name in names:
        part = min(range(3), key=lambda i: (counts[i] + 1) / fractions[i])
        counts[part] += 1
        part_of[name] = PARTS[part]
    return by_label(pairs, part_of)


def by_label(pairs: Sequence[Pair], part_of: Mapping[str, Part]) -> Splits:
    """The parts by the label of each group."""
    found: dict[Part, list[Pair]] = {part: [] for part in PARTS}
    for pair in pairs:
        found[part_of[pair.group]].append(pair)
    splits = Splits(*(tuple(found[part]) for part in PARTS))
    check(splits)
    return splits


def from_column(pairs: Sequence[Pair], column: str) -> Splits:
    """The parts as a column of the pairs names them: "discovery", "validation" or "test".

    Raises InputError for another word, for a group in two parts, and for a part without pairs.
    """
    found: dict[Part, list[Pair]] = {part: [] for part in PARTS}
    for pair in pairs:
        label = pair.meta.get(column)
        if label not in PARTS:
            raise InputError(
                f"pair {pair.id} has {label!r} in {column!r}", field=column, hint=f"Write one of: {', '.join(PARTS)}."
            )
        found[label].append(pair)
    splits = Splits(*(tuple(found[part]) for part in PARTS))
    check(splits)
    return splits


def check(splits: Splits) -> None:
    """Raise InputError where a group lies in two parts, or a part is empty."""
    home: dict[str, Part] = {}
    for part in PARTS:
        pairs: tuple[Pair, ...] = getattr(splits, part)
        if not pairs:
            raise InputError(f"no pairs for {part}", hint="Give pairs for discovery, validation and test.")
        for pair in pairs:
            if home.setdefault(pair.group, part) != part:
                raise InputError(
                    f"the group {pair.group!r} lies in {home[pair.group]} and in {part}",
                    hint="Keep pairs that share a question in one part.",
                )


def _rank(seed: int, group: str) -> bytes:
    return hashlib.sha256(f"split:{seed}:{group}".encode("utf-8", "surrogatepass")).digest()
