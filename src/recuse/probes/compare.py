"""Two sets of records of one plan, such as the bare model and the deployed chain: has the gap between groups moved?

Two gaps, each with its own interval, say little about their difference: both contain the scatter between the same
templates. Rows are matched, so that it cancels.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from recuse import stats
from recuse.counterfactual.plan import LEAST_NAMES
from recuse.errors import InputError
from recuse.probes.analyse import Analysis, Bounds, Gap, analyse
from recuse.probes.records import KEYS, Records

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Moved:
    """One template; None where a group has no matched values."""

    template_id: str
    old: float | None
    new: float | None
    difference: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """New minus old.

    change    of the gap a minus b, over rows with a value in both: its interval and p have the template as the unit.
              As a `PairedGap` of the differences row by row; with bounds, `careful` has every completion
    failures  change of the failure gap, over all matched rows
    level_a   change of the metric's mean in group a, which a change of the gap is made of; level_b likewise
    """

    old: Analysis
    new: Analysis
    change: Gap
    failures: stats.PairedGap
    level_a: stats.Estimate
    level_b: stats.Estimate
    matched: int  # rows of the two groups in both
    only_old: int
    only_new: int
    per_template: tuple[Moved, ...]  # the largest changes first
    notes: tuple[str, ...]


def compare(
    old: Records,
    new: Records,
    *,
    metric: str,
    groups: tuple[str, str],
    bounds: Bounds | None = None,
    least_names: int = LEAST_NAMES,
    level: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """How the gap of a metric between two groups differs, row by row of the same template, group, name and seed.

    Rows of one set only are counted and left out. Raises InputError as `analyse` does for either, for sets without a
    row in common, and for a row whose prompt differs from the other's.
    """
    a, b = groups
    sides = [
        analyse(one, metric=metric, groups=groups, bounds=bounds, least_names=least_names, level=level, seed=seed)
        for one in (old, new)
    ]
    before, after = (_by_key(one, metric, groups) for one in (old, new))
    both = sorted(before.keys() & after.keys())
    if not both:
        raise InputError(
            f"no row has a counterpart in {old.path}", path=new.path, field=KEYS[0],
            hint=f"Rows are matched by {', '.join(KEYS)}: compare records of one plan.",
        )  # fmt: skip
    _check_prompts(old, new, groups)
    ends = bounds or (sides[0].bounds if sides[0].bounds == sides[1].bounds else None)
    span = ends and (ends[0] - ends[1], ends[1] - ends[0])
    changed = [_minus(after[key], before[key]) for key in both]
    failed = [float(after[key] is None) - float(before[key] is None) for key in both]

    def gap(values: Sequence[float | None], bounds: Bounds | None) -> stats.PairedGap:
        return stats.paired_gap(
            np.array(values, dtype=object), template=[key[0] for key in both], group=[key[1] for key in both], a=a,
            b=b, name=[key[2] for key in both] if all(key[2] for key in both) else None, bounds=bounds, level=level,
            seed=seed,
        )  # fmt: skip

    change = Gap(gap(changed, None), gap(changed, span) if span else None)
    failures = gap(failed, (-1.0, 1.0))
    levels = [
        stats.bootstrap_mean(
            [x for x, key in zip(changed, both, strict=True) if x is not None and key[1] == group],
            groups=[key[0] for x, key in zip(changed, both, strict=True) if x is not None and key[1] == group],
            bounds=span,
            level=level,
            seed=seed,
        )
        for group in groups
    ]
    alone = len(before) - len(both), len(after) - len(both)
    notes = _notes(sides, change.found, failures, alone, level)
    return Comparison(
        sides[0], sides[1], change, failures, levels[0], levels[1], len(both), *alone,
        _moved(change.found, before, after, both, groups), notes,
    )  # fmt: skip


def _by_key(records: Records, metric: str, groups: tuple[str, str]) -> dict[Key, float | None]:
    values = records.values(metric)
    columns = (records.template_id, records.group, records.name, records.seed)
    keyed = zip(*columns, values, strict=True)
    return {(t, g, n, s): value for t, g, n, s, value in keyed if g in groups}


def _check_prompts(old: Records, new: Records, groups: tuple[str, str]) -> None:
    """Where both tell what was sent, it has to be the same: else it is not the chain that is compared."""
    if "prompt" not in old.columns or "prompt" not in new.columns:
        return
    sent: list[Mapping[Key, tuple[int, object]]] = []
    for one in (old, new):
        columns = (one.template_id, one.group, one.name, one.seed)
        rows = zip(*columns, one.number, one.columns["prompt"], strict=True)
        sent.append({(t, g, n, s): (number, prompt) for t, g, n, s, number, prompt in rows if g in groups})
    for key, (number, prompt) in sent[1].items():
        there = sent[0].get(key)
        if there is not None and there[1] != prompt:
            raise InputError(
                f"the prompt is not that of row {there[0]} in {old.path}", path=new.path, row=number, field="prompt",
                hint="Compare records of one plan.",
            )  # fmt: skip


def _minus(after: float | None, before: float | None) -> float | None:
    return None if after is None or before is None else after - before


def _moved(
    change: stats.PairedGap,
    before: Mapping[Key, float | None],
    after: Mapping[Key, float | None],
    both: Sequence[Key],
    groups: tuple[str, str],
) -> tuple[Moved, ...]:
    kept = [key for key in both if before[key] is not None and after[key] is not None]
    old, new = (_gaps(of, kept, groups) for of in (before, after))
    rows = [Moved(str(t.template), old.get(t.template), new.get(t.template), t.gap) for t in change.templates]
    return tuple(
        sorted(rows, key=lambda row: (row.difference is None, -abs(row.difference or 0.0), row.template_id))
    )  # fmt: skip


def _gaps(values: Mapping[Key, float | None], kept: Sequence[Key], groups: tuple[str, str]) -> dict[Hashable, float]:
    """The gap of each template over the rows that have a value in both sets."""
    sides: dict[str, tuple[list[float], list[float]]] = {}
    for key in kept:
        value = values[key]
        assert value is not None
        sides.setdefault(key[0], ([], []))[key[1] == groups[1]].append(value)
    return {
        template: math.fsum(first) / len(first) - math.fsum(second) / len(second)
        for template, (first, second) in sides.items()
        if first and second
    }


def _notes(
    sides: Sequence[Analysis], change: stats.PairedGap, failures: stats.PairedGap, alone: tuple[int, int], level: float
) -> tuple[str, ...]:
    notes = []
    if change.estimate is None:
        notes.append(f"The change was not measured: {change.reason}.")
    if any(alone):
        notes.append(f"{alone[0]:,} rows are in the old records only and {alone[1]:,} in the new ones only: left out.")
    if missing := change.missing_a + change.missing_b:
        notes.append(f"{missing:,} matched rows lack a value in one set or both; the change is of the others.")
    if failures.pvalue is not None and failures.pvalue <= 1 - level and failures.estimate:
        notes.append(
            f"The gap in missing values moved by {failures.estimate:+.3f} (p {failures.pvalue:.3g}): "
            "a change of its own."
        )
    found = [side.gap.found.pvalue for side in sides]
    if None not in found and change.pvalue is not None and change.pvalue > 1 - level:
        proven = [p is not None and p <= 1 - level for p in found]
        if proven[0] != proven[1]:
            notes.append(
                "Only one of the two gaps is proven, and still their difference is not: that one is significant and "
                "the other is not says nothing about a change."
            )
    return tuple(notes)
