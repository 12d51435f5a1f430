"""The names of a plan against a table of how often and when they were given.

A name that is rare, or of another generation, says more than the group it stands for: a gap between groups of unlike
names may be a gap between ages or between the known and the unheard of. The table is the user's: rows of a name, and a
count, a year or both; several rows of one name (one a year, say) are added up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from recuse.counterfactual.plan import LEAST_NAMES
from recuse.errors import InputError
from recuse.pairs.readers import read_file
from recuse.pairs.rows import BadRow
from recuse.probes.plan import NameTable, ProbePlan


@dataclass(frozen=True, slots=True)
class Known:
    """What the table says of one name."""

    count: float | None
    year: float | None  # weighted by counts where there are some
    group: str | None


@dataclass(frozen=True, slots=True)
class NameAudit:
    rows: tuple[Mapping[str, object], ...] = ()  # group, name, count, year; one a name
    notes: tuple[str, ...] = ()
    matched: bool | None = None  # None: the table says too little


def audited(plan: ProbePlan, path: Path | None = None) -> tuple[ProbePlan, NameAudit]:
    """The plan with the names that are used, and what the table says of them; `path` is that of the plan.

    Where the plan says how many names to `choose`, those are kept that resemble a name of every other group most in
    frequency and era. Raises InputError for a table that cannot be read or sets a name into another group, and where
    too few names are in it to choose from.
    """
    if plan.names is None:
        return plan, NameAudit()
    file = (path.parent if path else Path()) / plan.names.table
    known = read_names(file)
    found = {
        key: {name: seen for name in group.names if (seen := _look_up(name, known)) is not None}
        for key, group in plan.groups.items()
    }
    for key, names in found.items():
        for name, seen in names.items():
            if seen.group in plan.groups and seen.group != key:
                raise InputError(
                    f"the name {name!r} stands in the group {seen.group!r} there and in {key!r} in the plan",
                    path=file, field="group", hint="A name that signals both groups tells them not apart: remove it.",
                )  # fmt: skip
    if plan.names.choose is not None:
        chosen = _choose(found, plan.names.choose, file)
        groups = {key: group.model_copy(update={"names": chosen[key]}) for key, group in plan.groups.items()}
        plan = plan.model_copy(update={"groups": groups})
    return plan, _audit(plan, found, plan.names or NameTable(table=str(file)))


def read_names(path: Path) -> dict[str, Known]:
    """The table by folded name. Raises InputError naming the row and the field."""
    counts: dict[str, list[tuple[float | None, float | None]]] = {}
    groups: dict[str, str] = {}
    for number, row in read_file(path, preset=None):
        if isinstance(row, BadRow):
            raise InputError(str(row), path=path, row=number, field=row.field, hint="Correct the row.")
        if "name" not in row or not {"count", "year"} & row.keys():
            raise InputError("no columns name and count or year", path=path, hint="Name its columns so.")
        name = _folded(str(row["name"]))
        counts.setdefault(name, []).append((_number(row, "count", path, number), _number(row, "year", path, number)))
        group = str(row.get("group") or "")
        if group and groups.setdefault(name, group) != group:
            raise InputError(
                f"the name {row['name']!r} stands in the group {groups[name]!r} too", path=path, row=number,
                field="group", hint="A name that signals both groups tells them not apart: remove it.",
            )  # fmt: skip
    if not counts:
        raise InputError("no rows", path=path, hint="Give a table with the columns name, count and year.")
    return {name: _added_up(rows, groups.get(name)) for name, rows in counts.items()}


def _number(row: Mapping[str, object], field: str, path: Path, number: int) -> float | None:
    value = row.get(field)
    if value is None or value == "":
        return None
    try:
        found = float(str(value))
    except ValueError:
        found = math.nan
    if not math.isfinite(found) or (field == "count" and found <= 0):
        raise InputError(f"{value!r} is no {field}", path=path, row=number, field=field, hint="Give a positive number.")
    return found


def _added_up(rows: Sequence[tuple[float | None, float | None]], group: str | None) -> Known:
    counts = [count for count, _ in rows if count is not None]
    dated = [(1.0 if count is None else count, year) for count, year in rows if year is not None]
    total = sum(weight for weight, _ in dated)
    year = sum(weight * year for weight, year in dated) / total if dated else None
    return Known(sum(counts) if counts else None, year, group)


def _folded(name: str) -> str:
    return " ".join(name.casefold().split())


def _look_up(name: str, known: Mapping[str, Known]) -> Known | None:
    """The name in full, else its first word."""
    folded = _folded(name)
    return known.get(folded) or known.get(folded.split()[0])


def _choose(found: Mapping[str, Mapping[str, Known]], most: int, file: Path) -> dict[str, list[str]]:
    """For each group `most` names: the first group's that have the nearest counterparts in all others, and those."""
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    for key, names in found.items():
        if len(names) < most:
            raise InputError(
                f"{len(names)} names of the group {key!r} are in the table, and {most} are to be chosen", path=file,
                hint="Add names to the group or to the table.",
            )  # fmt: skip
    first, *others = found
    anchors = list(found[first])
    away, partners = np.zeros(len(anchors)), dict[str, dict[int, str]]()
    for key in others:
        candidates = list(found[key])
        cost = np.array([[_apart(found[first][a], found[key][b]) for b in candidates] for a in anchors])
        rows, columns = (side.tolist() for side in linear_sum_assignment(cost))
        taken = np.full(len(anchors), np.inf)  # an anchor without a partner is never kept
        taken[rows] = cost[rows, columns]
        away += taken
        partners[key] = {row: candidates[column] for row, column in zip(rows, columns, strict=True)}
    kept = sorted(np.argsort(away, kind="stable")[:most].tolist())
    chosen = {first: [anchors[row] for row in kept]}
    return chosen | {key: [of[row] for row in kept] for key, of in partners.items()}


def _apart(a: Known, b: Known) -> float:
    """How unlike two names are: a doubled count is as far as ten years. What is not known of one is no difference."""
    doublings = math.log2(a.count / b.count) if a.count and b.count else 0.0
    decades = (a.year - b.year) / 10 if a.year is not None and b.year is not None else 0.0
    return doublings**2 + decades**2


def _audit(plan: ProbePlan, found: Mapping[str, Mapping[str, Known]], rule: NameTable) -> NameAudit:
    rows, notes, apart = [], list[str](), False
    kept = {key: {n: found[key][n] for n in group.names if n in found[key]} for key, group in plan.groups.items()}
    for key, group in plan.groups.items():
        for name in group.names:
            seen = kept[key].get(name)
            rows.append({"group": key, "name": name, "count": seen and seen.count, "year": seen and seen.year})
        if absent := [name for name in group.names if name not in kept[key]]:
            notes.append(f"Not in the table of names, so not matched: {', '.join(absent)} ({key}).")
    for a, b in plan.pairs:
        counts = [[math.log(s.count) for s in kept[key].values() if s.count] for key in (a, b)]
        if all(counts):
            typical = [math.exp(fmean(logs)) for logs in counts]
            ratio = max(typical) / min(typical)
            if ratio > rule.ratio:
                apart = True
                notes.append(
                    f"The names of {a} and {b} are not matched on frequency: typical counts {typical[0]:,.0f} and "
                    f"{typical[1]:,.0f}, {ratio:.1f} times apart."
                )
        years = [[s.year for s in kept[key].values() if s.year is not None] for key in (a, b)]
        if all(years):
            era = [fmean(values) for values in years]
            if abs(era[0] - era[1]) > rule.years:
                apart = True
                notes.append(
                    f"The names of {a} and {b} are not matched on era: typical years {era[0]:.0f} and {era[1]:.0f}."
                )
    complete = all(len(kept[key]) >= LEAST_NAMES for key in kept)
    return NameAudit(tuple(rows), tuple(notes), False if apart else True if complete else None)
