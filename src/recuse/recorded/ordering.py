"""Checks over all rows of a file: one answer key a pair, one verdict a pair, order and repeat."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from recuse.recorded.entry import Entry


def check(entries: Sequence[Entry]) -> None:
    """Raise InputError where a pair has two golds, groups or domains, or two verdicts in one order and repeat."""
    seen: dict[tuple[str, bool | None, int], Entry] = {}
    first: dict[str, Entry] = {}
    for entry in entries:
        key = (entry.pair, entry.swapped, entry.repeat)
        if key in seen:
            raise entry.row.fail(
                f"pair {entry.pair!r} has this order and repeat in row {seen[key].row.number} already",
                hint="Number repeated calls in a column repeat, or select rows with --where.",
            )
        seen[key] = entry
        other = first.setdefault(entry.pair, entry)
        for field in ("gold", "group", "domain"):
            here, there = getattr(entry, field), getattr(other, field)
            if here != there:
                message = f"{here!r} here and {there!r} in row {other.row.number}, of one pair {entry.pair!r}"
                raise entry.row.fail(message, field=field, hint="A pair has one, in the source's own order.")


def renumber(entries: Sequence[Entry]) -> tuple[list[Entry], list[str]]:
    """Number repeats within each order where the order was drawn anew for every repeat, so that the two orders match.

    Such a source asks repeat 0 in one order and repeat 1 in the other, and no repeat in both. Calls of one pair in one
    order are exchangeable, so any pairing of the orders will do; this one follows the source's numbers.
    """
    orders: dict[tuple[str, int], set[bool | None]] = defaultdict(set)
    for entry in entries:
        orders[entry.pair, entry.repeat].add(entry.swapped)
    both = {entry.swapped for entry in entries} >= {False, True}
    if not both or any(len(found) > 1 for found in orders.values()):
        return list(entries), []
    numbers: dict[tuple[str, bool | None], list[int]] = defaultdict(list)
    for entry in entries:
        numbers[entry.pair, entry.swapped].append(entry.repeat)
    ranks = {key: {repeat: rank for rank, repeat in enumerate(sorted(found))} for key, found in numbers.items()}
    changed = [replace(entry, repeat=ranks[entry.pair, entry.swapped][entry.repeat]) for entry in entries]
    if all(new.repeat == old.repeat for new, old in zip(changed, entries, strict=True)):
        return list(entries), []
    return changed, ["No repeat was asked in both orders: repeats are numbered anew within each order."]
