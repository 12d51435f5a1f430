"""Outcomes by slice against the best slice: rates, the four-fifths alarm, the worst-slice rule, and failures apart.

The four-fifths ratio is an alarm and neither a test nor law: the rule of thumb stands in 29 CFR 1607.4(D), whose
rescission was planned for November 2026. So ratio and p never go without n, and every cut says how often its rules
would ring if there were no gap at all. A failure is no outcome: rates are those of the rows that have one, and who
fails more often is a figure of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from recuse import stats
from recuse.errors import InputError, UsageError
from recuse.probes.outcomes import Outcomes
from recuse.stats import FailureGap, SliceRate
from recuse.stats.inputs import encode
from recuse.stats.missing import failure_gap_of

FLOOR, SMALLEST, ALPHA = 0.8, 100, 0.05
_MOST = 1_000  # slices of one cut
_TIMES = 100_000  # cases a slice beyond which the chance of a false alarm takes a second, and is next to none


@dataclass(frozen=True, slots=True)
class Clustered:
    """The same figures where clusters, not rows, are the independent units."""

    interval: tuple[float, float] | None
    ratio_interval: tuple[float, float] | None
    p: float | None
    clusters: int  # of this slice
    method: str


@dataclass(frozen=True, slots=True)
class Slice:
    name: str  # TAG=VALUE, for an intersection TAG=VALUE,TAG=VALUE
    tags: Mapping[str, str]
    rates: SliceRate  # of the rows with an outcome, which are its n
    rows: int
    failures: int
    failure_gap: FailureGap  # share of failures here minus the share in all other rows of the cut
    p_corrected: float | None  # for having looked at every pair of slices of the cut
    ratio_bounds: tuple[float, float] | None  # interval of the ratio over all outcomes that the failures could have had
    clustered: Clustered | None
    flag: Literal["review", "ok"]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Chance:
    """How often the rules ring without any gap: slices of `n` cases (the harmonic mean) at the pooled rate."""

    n: int
    rate: float
    worst_slice: float
    four_fifths: float


@dataclass(frozen=True, slots=True)
class Cut:
    """All slices by one tag, or by two, the worst first."""

    by: tuple[str, ...]
    slices: tuple[Slice, ...]
    best: str | None  # the slice that the others are compared with; None where every rate is 0
    blocks: bool  # the worst-slice rule
    blocking: tuple[str, ...]  # the slices for which it does
    blocking_clustered: tuple[str, ...] | None  # with the clustered p
    chance: Chance | None


def cut_all(table: Outcomes, *, expected: Sequence[str] = (), level: float = 0.95) -> tuple[Cut, ...]:
    """A cut by each tag, then one by each two tags.

    `expected` names slices (TAG=VALUE) that must have rows. Raises UsageError for one that has none and InputError for
    a cut of more than a thousand slices, or slices that would bear one name.
    """
    _check_expected(table, expected)
    tags = tuple(table.tags)
    return tuple(cut(table, by, level=level) for by in [*((tag,) for tag in tags), *combinations(tags, 2)])


def members(table: Outcomes, by: Sequence[str]) -> dict[tuple[str, ...], list[int]]:
    """The rows of each slice, by the values of its tags, in order of first appearance."""
    found: dict[tuple[str, ...], list[int]] = {}
    for place, values in enumerate(zip(*(table.tags[tag] for tag in by), strict=True)):
        found.setdefault(values, []).append(place)
    return found


def name_of(by: Sequence[str], values: Sequence[str]) -> str:
    return ",".join(f"{tag}={value}" for tag, value in zip(by, values, strict=True))


def cut(table: Outcomes, by: tuple[str, ...], *, level: float = 0.95) -> Cut:
    """The slices by these tags. Raises InputError as `cut_all` does."""
    rows = {name_of(by, values): own for values, own in members(table, by).items()}
    tags = {name_of(by, values): dict(zip(by, values, strict=True)) for values in members(table, by)}
    if len(rows) > _MOST or len(rows) < len(members(table, by)):
        what = f"{len(rows):,} slices are too many" if len(rows) > _MOST else "two slices would bear one name"
        raise InputError(what, path=table.path, field=",".join(by), hint="Name other tags, or their values otherwise.")
    answered = {name: [i for i in own if table.values[i] is not None] for name, own in rows.items()}
    counts = {name: (sum(table.found(own)), len(own)) for name, own in answered.items()}
    rates = stats.slice_table(counts, level=level, floor=FLOOR, smallest=SMALLEST)
    best = next((rate.name for rate in rates if rate.ratio is not None and rate.ratio_interval is None), None)
    gaps = _failure_gaps(table, rows, level)
    slices = tuple(_slice(table, rate, tags[rate.name], rows, best, gaps[rate.name], level) for rate in rates)
    k, n = zip(*counts.values(), strict=True)
    return Cut(
        by, slices, best,
        bool(stats.worst_slice_rule(k, n, floor=FLOOR, alpha=ALPHA, smallest=SMALLEST)),
        tuple(s.name for s in slices if _low(s.rates) and (s.rates.pvalue or 0.0) < ALPHA),
        None if table.cluster is None else tuple(
            s.name for s in slices if _low(s.rates) and s.clustered and s.clustered.p is not None
            and s.clustered.p < ALPHA
        ),
        _chance(list(counts.values())),
    )  # fmt: skip


def _slice(
    table: Outcomes, rates: SliceRate, tags: Mapping[str, str], rows: Mapping[str, list[int]], best: str | None,
    gap: FailureGap, level: float,
) -> Slice:  # fmt: skip
    own = rows[rates.name]
    failures = sum(table.values[i] is None for i in own)
    reasons = rates.reasons
    if (gap.estimate or 0.0) > 0 and gap.pvalue is not None and gap.pvalue * len(rows) < ALPHA:
        reasons += ("more failures than elsewhere",)
    compared = None if best in (None, rates.name) else [*own, *rows[str(best)]]
    bounds = None
    if compared and any(table.values[i] is None for i in compared):
        side = [i < len(own) for i in range(len(compared))]
        bounds = stats.impact_ratio_bounds(
            [table.values[i] or 0.0 for i in compared],
            side,
            missing=[table.values[i] is None for i in compared],
            groups=_clusters(table, compared),
            level=level,
        ).interval
    pairs = len(rows) * (len(rows) - 1) // 2
    return Slice(
        rates.name, tags, rates, len(own), failures, gap,
        None if rates.pvalue is None else min(1.0, rates.pvalue * pairs),
        bounds,
        None if table.cluster is None else _clustered(table, own, compared, level),
        "review" if reasons else "ok",
        reasons,
    )  # fmt: skip


def _failure_gaps(table: Outcomes, rows: Mapping[str, list[int]], level: float) -> dict[str, FailureGap]:
    """Each slice against all other rows; on arrays made once, since there may be hundreds of slices."""
    mask = np.array([value is None for value in table.values])
    clusters = np.arange(mask.size) if table.cluster is None else encode(table.cluster, mask.size)
    found = {}
    for name, own in rows.items():
        inside = np.zeros_like(mask)
        inside[own] = True
        found[name] = failure_gap_of(mask, inside, ~inside, clusters, a=name, b="the rest", level=level)
    return found


def _clustered(table: Outcomes, own: Sequence[int], compared: Sequence[int] | None, level: float) -> Clustered:
    kept = [i for i in own if table.values[i] is not None]
    mean = stats.clustered_mean(table.found(kept), groups=_clusters(table, kept), level=level)
    if compared is None:
        return Clustered(mean.interval, None, None, mean.groups, mean.method)
    inside, both = set(own), [i for i in compared if table.values[i] is not None]
    ratio = stats.clustered_impact_ratio(
        table.found(both),
        [i in inside for i in both], groups=_clusters(table, both), level=level,
    )  # fmt: skip
    return Clustered(mean.interval, ratio.interval, ratio.pvalue, mean.groups, f"{mean.method}; {ratio.method}")


def _clusters(table: Outcomes, rows: Sequence[int]) -> list[str] | None:
    return None if table.cluster is None else [table.cluster[i] for i in rows]


def _low(rate: SliceRate) -> bool:
    return any(reason.startswith("ratio under") for reason in rate.reasons)


def _chance(counts: Sequence[tuple[float, int]]) -> Chance | None:
    sizes = [n for _, n in counts if n]
    if len(sizes) < 2:
        return None
    n = max(1, min(_TIMES, round(len(sizes) / sum(1 / size for size in sizes))))
    rate = sum(k for k, _ in counts) / sum(sizes)
    blocked = stats.worst_slice_blocking(n, slices=len(sizes), rate=rate, ratio=FLOOR, level=1 - ALPHA)
    rung = stats.four_fifths_false_alarms(n, slices=len(sizes), rate=rate, ratio=FLOOR)
    return Chance(n, rate, blocked.estimate, rung.estimate)


def _check_expected(table: Outcomes, expected: Sequence[str]) -> None:
    for item in expected:
        # A tag may have an equals sign in its name.
        tag = next((tag for tag in table.tags if item.startswith(f"{tag}=")), None)
        if tag is None:
            raise UsageError(f"--expect {item!r} is not TAG=VALUE of a tag in --by.", hint="For example dialect=north.")
        if item[len(tag) + 1 :] not in table.tags[tag]:
            found = ", ".join(dict.fromkeys(table.tags[tag]))
            raise UsageError(f"{table.path}: no row has {item}, which --expect names.", hint=f"There are: {found}.")
