"""Live records week by week: rates by slice, and alarms that stay valid however often one looks.

Whoever tests every week finds a gap sooner or later. Here each slice bets, case by case, against "its rate is at least
FLOOR times that of all other slices": cases of the slice and of the others are matched within the week in order of
time (the longer side averaged in pieces), and each match is a value in [-FLOOR, 1] whose mean is not negative while
that holds, whatever the level of the rates does from week to week. The wealth reaches 1 / alpha with probability alpha
at most over the whole run (Ville; Waudby-Smith & Ramdas 2024, see `recuse.stats.sequential`). Cases must be independent
given the past, or come in clusters that do not return in later weeks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

from recuse import stats
from recuse.probes.outcomes import Outcomes
from recuse.probes.slices import ALPHA, FLOOR, members, name_of
from recuse.stats import Estimate

_LARGEST_LOG = 700.0  # of a float

KINDS = {
    "under_floor": f"its rate is under {FLOOR:g} times the rate of the other slices",
    "lower": "its rate is under the rate of the other slices",
    "answers_less": "it fails more often than the other slices",
}


@dataclass(frozen=True, slots=True)
class Week:
    week: str  # ISO 8601, such as 2026-W05
    monday: str
    slices: Mapping[str, Estimate]  # rate with Wilson's interval and n
    failures: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Alarm:
    """`kind` of KINDS. `e` is the largest e-value so far; `p` is corrected for all slices and kinds of the cut."""

    slice: str
    kind: str
    e: float
    p: float
    since: str | None  # the week in which the alarm was raised; None: no alarm
    matches: int  # that were bet on


def weekly(table: Outcomes, by: Sequence[str], *, level: float = 0.95) -> tuple[tuple[Week, ...], tuple[Alarm, ...]]:
    """Weeks in order and, for each slice by `by` and each kind, its alarm; nothing where the table has no times."""
    if table.when is None:
        return (), ()
    slices = {name_of(by, values): own for values, own in members(table, by).items()}
    weeks: dict[str, list[int]] = {}
    for place in sorted(range(len(table)), key=table.when.__getitem__):
        weeks.setdefault(_week(table, place), []).append(place)
    shown = tuple(_shown(table, slices, week, rows, level) for week, rows in weeks.items())
    kinds = [kind for kind in KINDS if kind != "answers_less" or None in table.values]
    alarms = [
        _alarm(table, name, set(own), kind, weeks, tests=len(slices) * len(kinds))
        for name, own in slices.items()
        for kind in kinds
    ]
    return shown, tuple(sorted(alarms, key=lambda alarm: alarm.p))


def _week(table: Outcomes, place: int) -> str:
    assert table.when is not None
    year, week, _ = table.when[place].isocalendar()
    return f"{year}-W{week:02}"


def _shown(table: Outcomes, slices: Mapping[str, list[int]], week: str, rows: Sequence[int], level: float) -> Week:
    kept, rates, failures = set(rows), {}, {}
    for name, own in slices.items():
        now = [i for i in own if i in kept]
        found = table.found(now)
        rates[name] = stats.wilson_interval(sum(found), len(found), level=level)
        failures[name] = len(now) - len(found)
    return Week(week, date.fromisoformat(f"{week}-1").isoformat(), rates, failures)


def _alarm(
    table: Outcomes, name: str, own: set[int], kind: str, weeks: Mapping[str, list[int]], *, tests: int
) -> Alarm:
    floor = FLOOR if kind == "under_floor" else 1.0
    units: list[float] = []
    ends: list[int] = []  # matches up to the end of each week
    for rows in weeks.values():
        mine, others = (_cases(table, [i for i in rows if (i in own) == inside], kind) for inside in (True, False))
        units += [a - floor * b for a, b in _matched(mine, others)]
        ends.append(len(units))
    found = stats.e_value(units, null_mean=0.0, alternative="less", bounds=(-floor, 1.0))
    wealth = found.running.tolist()
    reached = next((place for place, log in enumerate(wealth) if log >= math.log(tests / ALPHA)), None)
    since = None if reached is None else next(week for week, end in zip(weeks, ends, strict=True) if reached < end)
    peak = math.exp(min(max([0.0, *wealth]), _LARGEST_LOG))
    return Alarm(name, kind, peak, min(1.0, tests * found.pvalue), since, found.n)


def _cases(table: Outcomes, rows: Sequence[int], kind: str) -> list[float]:
    """Outcomes in order of time, or 1 for an outcome and 0 for a failure; a cluster enters once a week: its mean."""
    values = [(i, float(table.values[i] is not None) if kind == "answers_less" else table.values[i]) for i in rows]
    found = [(i, value) for i, value in values if value is not None]
    if table.cluster is None:
        return [value for _, value in found]
    together: dict[str, list[float]] = {}
    for i, value in found:
        together.setdefault(table.cluster[i], []).append(value)
    return [sum(own) / len(own) for own in together.values()]


def _matched(first: Sequence[float], second: Sequence[float]) -> list[tuple[float, float]]:
    """As many matches as the shorter side has cases; the longer one is cut into as many pieces, each its mean."""
    n = min(len(first), len(second))
    return list(zip(_pieces(first, n), _pieces(second, n), strict=True)) if n else []


def _pieces(values: Sequence[float], n: int) -> list[float]:
    ends = [place * len(values) // n for place in range(n + 1)]
    return [sum(values[a:b]) / (b - a) for a, b in pairwise(ends)]
