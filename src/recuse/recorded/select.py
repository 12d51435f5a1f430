"""Choose the rows of one judge in one setting."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from recuse.errors import UsageError
from recuse.recorded.rows import Row, as_text

_SHOWN = 12  # values or keys that an error lists


def parse_where(where: Mapping[str, str] | Sequence[str]) -> dict[str, tuple[str, ...]]:
    """`key=value` conditions by key. A key given twice selects rows with either value; keys are joined by "and"."""
    if isinstance(where, Mapping):
        return {key: (value,) for key, value in where.items()}
    chosen: dict[str, tuple[str, ...]] = {}
    for condition in where:
        key, equals, value = condition.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"--where {condition!r} is not key=value.", hint="Write for instance --where judge=NAME.")
        chosen[key.strip()] = (*chosen.get(key.strip(), ()), value.strip())
    return chosen


def select(rows: Sequence[Row], where: Mapping[str, Collection[str]], *, judge: str) -> list[Row]:
    """Rows whose fields, compared as strings, have one of the wanted values. `judge` also names the judge column.

    Raises UsageError for a key that no row has and for conditions that leave no row, listing what there is.
    """
    kept = list(rows)
    for key, wanted in where.items():
        names = {key, judge} if key == "judge" else {key}
        if not any(name in row.values for row in rows for name in names):
            known = sorted({name for row in rows for name in row.values})
            raise UsageError(f"--where {key}: no row has this key.", hint=f"There are: {', '.join(known)}.")
        matching = [row for row in kept if any(as_text(row.get(name)) in wanted for name in names)]
        if not matching:
            found = values(kept, judge if key == "judge" else key)
            raise UsageError(f"--where {key}={'|'.join(wanted)} leaves no row.", hint=f"Found: {_listed(found)}.")
        kept = matching
    return kept


def only(rows: Sequence[Row], column: str) -> str | None:
    """The one value of `column` in the rows, None where no row has it. Raises UsageError where there are several."""
    found = values([row for row in rows if column in row.values], column)
    if len(found) > 1:
        raise UsageError(
            f"{rows[0].path}: the rows hold {len(found)} values of {column!r}, and an audit is of one.",
            hint=f"Choose it with --where {column}=VALUE: {_listed(found)}.",
        )
    return found[0] if found else None


def values(rows: Sequence[Row], column: str) -> list[str]:
    return sorted({as_text(row.get(column)) for row in rows})


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
