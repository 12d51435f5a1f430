"""A table of outcomes with tags, as a product's log or a probe leaves it: one row a case.

    {"id": "c17", "dialect": "north", "age": "over 60", "approved": 1, "truth": 1, "day": "2026-01-26"}

An outcome is 0 or 1, true or false, or a label of which one is the positive one. An empty cell, null, NaN and the words
null, none and nan are failures: no outcome could be read. They are kept and counted, never taken for a 0.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

from recuse.errors import InputError, UsageError
from recuse.probes.records import file_of
from recuse.recorded.rows import Row, as_text, read_rows

_MISSING = ("", "null", "none", "nan")
_MOST_VALUES = 200  # of one tag: more are ids
_SHOWN = 8

Values = tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Columns of equal length, one entry a row; what was not asked for is None."""

    path: str
    outcome: str  # the column
    positive: str | None  # the label that counts as 1, where outcomes are labels
    labels: Mapping[str, int]  # outcomes as written, and how often
    values: Values  # 1, 0, or None for a failure
    tags: Mapping[str, tuple[str, ...]]
    gold: Values | None = None
    cluster: tuple[str, ...] | None = None
    same: tuple[str, ...] | None = None  # rows that share it differ in nothing but the tags
    prompt: tuple[str, ...] | None = None
    when: tuple[datetime, ...] | None = None  # without a zone: as written, or UTC where a zone was written
    notes: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.values)

    def found(self, rows: Iterable[int]) -> list[float]:
        """The outcomes of those of these rows that have one."""
        return [value for i in rows if (value := self.values[i]) is not None]


def read_outcomes(
    path: Path | str,
    *,
    outcome: str,
    by: Sequence[str],
    positive: str | None = None,
    gold: str | None = None,
    cluster: str | None = None,
    same: str | None = None,
    when: str | None = None,
) -> Outcomes:
    """Read JSONL, JSON, CSV, TSV (each also .gz) or Parquet, or the records of a probe run's folder; columns by name.

    Raises UsageError for columns named twice or none to cut by, and InputError, with file, row and field, for an empty
    table, an unknown column, a row without its tag, cluster or time, an outcome that is none, and a tag with a single
    value or with more than 200.
    """
    _check_names(outcome, by, gold)
    path = file_of(path)
    rows, _ = read_rows(path)
    named = {"outcome": outcome, "gold": gold, "cluster": cluster, "same": same, "when": when}
    known = list(dict.fromkeys(key for row in rows for key in row.values))
    for column in [*by, *(name for name in named.values() if name is not None)]:
        if column not in known:
            raise InputError("no such column", path=path, field=column, hint=f"There are: {', '.join(known)}.")
    tags = {tag: tuple(_needed(row, tag, "tag") for row in rows) for tag in by}
    for tag, words in tags.items():
        _check_tag(tag, words, path)
    values = _outcomes(rows, outcome, positive)
    if all(value is None for value in values):
        raise InputError(
            "no row has an outcome", path=path, field=outcome, hint="A column of failures measures nothing."
        )
    return Outcomes(
        str(path), outcome, positive, Counter(_written(row, outcome) for row in rows), values, tags,
        gold=None if gold is None else _gold(rows, gold, positive),
        cluster=None if cluster is None else tuple(_needed(row, cluster, "cluster") for row in rows),
        same=None if same is None else tuple(_needed(row, same, "set of counterfactuals") for row in rows),
        prompt=tuple(row.text("prompt") or "" for row in rows) if "prompt" in known else None,
        when=None if when is None else tuple(_time(row, when) for row in rows),
        notes=tuple(note for tag, words in tags.items() for note in _spelt_twice(tag, words)),
    )  # fmt: skip


def _check_names(outcome: str, by: Sequence[str], gold: str | None) -> None:
    if not by:
        raise UsageError("No tag to cut by.", hint="Name a column with --by, or several with commas.")
    if twice := [tag for tag in by if list(by).count(tag) > 1]:
        raise UsageError(f"The tag {twice[0]!r} is named twice.", hint="Name each tag once.")
    for column in (outcome, gold):
        if column in by:
            raise UsageError(f"{column!r} is both a tag and an outcome.", hint="Cut by another column.")


def _written(row: Row, column: str) -> str:
    """A cell as text; "" where it is missing."""
    value = row.get(column)
    if value is None:
        return ""
    text = (row.text(column) or "").strip()
    return "" if text.casefold() in _MISSING else text


def _needed(row: Row, column: str, what: str) -> str:
    text = _written(row, column)
    if not text:
        raise row.fail(
            f"the {what} is missing", field=column,
            hint="Give every row one; 'unknown' is a value like any other." if what == "tag" else "Give every row one.",
        )  # fmt: skip
    return text


def _check_tag(tag: str, column: Sequence[str], path: Path | str) -> None:
    found = set(column)
    if len(found) == 1:
        raise InputError(
            f"all {len(column):,} rows have {tag} = {column[0]!r}, and one slice has nothing to be compared with",
            path=path, field=tag, hint="Name another tag, or add the other rows.",
        )  # fmt: skip
    if len(found) > _MOST_VALUES:
        raise InputError(
            f"{len(found):,} values in {len(column):,} rows are no slices", path=path, field=tag,
            hint=f"Sort them into at most {_MOST_VALUES} classes.",
        )  # fmt: skip


def _spelt_twice(tag: str, column: Sequence[str]) -> list[str]:
    spelt: dict[str, list[str]] = {}
    for value in dict.fromkeys(column):
        spelt.setdefault(" ".join(value.casefold().split()), []).append(value)
    return [
        f"The slices {' and '.join(repr(value) for value in values)} of {tag} differ in case or blanks only."
        for values in spelt.values()
        if len(values) > 1
    ]


def _outcomes(rows: Sequence[Row], column: str, positive: str | None) -> Values:
    if positive is None:
        return tuple(_binary(row, column) for row in rows)
    wanted = positive.strip().casefold()
    written = [_written(row, column) for row in rows]
    if wanted not in (text.casefold() for text in written):
        found = list(dict.fromkeys(text for text in written if text))
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise InputError(
            f"no row has the outcome {positive!r} that --positive names", path=rows[0].path, field=column,
            hint=f"There are: {', '.join(found[:_SHOWN])}{more}.",
        )  # fmt: skip
    return tuple(float(text.casefold() == wanted) if text else None for text in written)


def _binary(row: Row, column: str) -> float | None:
    text = _written(row, column)
    if not text:
        return None
    value = row.get(column)
    if text.casefold() in ("true", "false"):
        return float(text.casefold() == "true")
    try:
        number = float(value) if isinstance(value, int | float | Decimal) else float(text if text.isascii() else "nan")
    except (ValueError, OverflowError):
        number = math.nan
    if number not in (0.0, 1.0):
        shown = text if len(text) <= 40 else text[:40] + "…"
        raise row.fail(
            f"the outcome {shown!r} is neither 0 nor 1, nor true or false", field=column,
            hint="Where outcomes are labels, name the one that counts with --positive.",
        )  # fmt: skip
    return number


def _gold(rows: Sequence[Row], column: str, positive: str | None) -> Values:
    """Labels where --positive is one of them, else 0 and 1."""
    wanted = (positive or "").strip().casefold()
    labelled = positive is not None and any(_written(row, column).casefold() == wanted for row in rows)
    return _outcomes(rows, column, positive if labelled else None)


def _time(row: Row, column: str) -> datetime:
    value: Any = row.get(column)
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time())
    if isinstance(value, datetime):
        found = value
    else:
        try:
            found = datetime.fromisoformat(_needed(row, column, "time"))
        except ValueError:
            raise row.fail(
                f"{as_text(value)!r:.60} is no date", field=column, hint="Write ISO 8601, such as 2026-01-26."
            ) from None
    return found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found
