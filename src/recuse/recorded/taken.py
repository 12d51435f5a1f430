"""Verdicts taken out of other tools' result files, as rows of one form.

A row is a verdict on two answers A and B, A being the one that the file names first:

pair, group, judge, repeat, domain, chars_a, chars_b, text, format    as in the plain form
order      "AB" or "BA"; null where each answer was graded alone, or where the tool does not say which stood first
verdict    the answer preferred, by its place as shown; by its name where `order` is null; null with a `reason`
grades     the grades of A and B, where each was graded alone
gold       the better answer, "A", "B", "tie" or null

A pass or fail of one answer alone is no preference: it counts where the file grades two answers to one question.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from recuse.recorded.entry import Entry, Gold, by_score, decided, reread
from recuse.recorded.plain import default_spec
from recuse.recorded.rows import Row
from recuse.types import Outcome, Reason, Verdict
from recuse.verdict.spec import Spec

_ORDER: Mapping[str, bool | None] = {"AB": False, "BA": True, "null": None}
_ANSWER: Mapping[str, Outcome | None] = {"A": "A", "B": "B", "tie": "tie", "null": None}
_GOLD: Mapping[str, Gold | None] = {"A": "A", "B": "B", "tie": "tie", "null": None}
_REASONS: Mapping[str, Reason] = {"null": "no_verdict", **{reason: reason for reason in get_args(Reason)}}


@dataclass
class Taken:
    """What a file held; `notes` say what was left out."""

    rows: list[tuple[int, dict[str, Any]]]  # number in the file, values
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Graded:
    """One answer's grade. `key`: what it is held against another answer by; `row`: further columns."""

    number: int
    key: tuple[str, ...]
    answer: str
    grade: float | None
    right: bool | None  # whether it is the better answer, where the file says so
    row: Mapping[str, Any]
    reason: Reason | None = None
    text: str = ""


class Orders:
    """Which of a pair's answers is A: the one shown first where the pair is met first."""

    def __init__(self) -> None:
        self._first: dict[tuple[str, ...], str] = {}

    def of(self, pair: tuple[str, ...], first: str, second: str) -> str:
        """The order of a pair's two answers, as AB or BA."""
        key = (*pair, *sorted((first, second)))
        return "AB" if self._first.setdefault(key, first) == first else "BA"


def paired(graded: Iterable[Graded]) -> tuple[list[tuple[int, dict[str, Any]]], int]:
    """A row for every two answers of one key, and the number of graded answers that have no second."""
    together: dict[tuple[str, ...], list[Graded]] = defaultdict(list)
    for one in graded:
        together[one.key].append(one)
    rows, alone = [], 0
    for both in together.values():
        if len(both) != 2 or both[0].answer == both[1].answer:
            alone += len(both)
            continue
        a, b = both
        known = a.right is not None and b.right is not None
        rows.append((b.number, {
            **a.row, "order": None, "grades": [a.grade, b.grade], "reason": a.reason or b.reason,
            "gold": (("tie" if a.right == b.right else "A" if a.right else "B") if known else None),
            "chars_a": len(a.answer), "chars_b": len(b.answer), "text": f"A: {a.text}\nB: {b.text}",
        }))  # fmt: skip
    return rows, alone


def left_alone(count: int) -> list[str]:
    """The sentence on graded answers that have no second answer to the same question."""
    if not count:
        return []
    return [
        f"Left out: {count:,} grades of an answer without a second answer to its question, which are no preference."
    ]


def grade_of(value: Any) -> float | None:
    """A finite number; None for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def table(value: Any) -> Mapping[str, Any]:
    """A JSON object; empty for what is none."""
    return value if isinstance(value, Mapping) else {}


def truth(value: Any) -> bool | None:
    """Whether an answer is the better one, as people write it in metadata."""
    if isinstance(value, str):
        return {"true": True, "chosen": True, "false": False, "rejected": False}.get(value.casefold())
    return value if isinstance(value, bool) else None


def taken_entry(row: Row) -> Entry:
    grades = row.get("grades")
    if grades is not None:
        recorded = by_score(*grades)
        if recorded.outcome is None and row.get("reason"):
            recorded = Verdict(reason=row.choice("reason", _REASONS), why=recorded.why)
    else:
        recorded = decided(row.choice("verdict", _ANSWER), reason=row.choice("reason", _REASONS))
    format = row.get("format")
    return Entry(
        row=row,
        pair=row.word("pair"),
        group=row.word("group"),
        swapped=row.choice("order", _ORDER),
        gold=row.choice("gold", _GOLD),
        recorded=recorded,
        reread=reread(row.text("text"), _spec(format), finish=row.get("finish") or "stop") if format else None,
        repeat=row.whole("repeat", default=0),
        domain=row.text("domain"),
        chars=(row.get("chars_a"), row.get("chars_b")) if row.get("chars_a") is not None else None,
    )


def _spec(format: Any) -> Spec:
    """A name of a format, or one with its labels as [name, first, second, tie]."""
    return Spec(*format) if isinstance(format, list) else default_spec(format)
