"""A run against an earlier one: whether the two may be compared at all, and by how much each metric has changed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from recuse.release.checks import Value
from recuse.release.read import RunRead
from recuse.types import Finding

_ROUNDING = 1e-9
# Keys of [run] that do not say how replies came about: paths (hashes of the content stand beside them), replies that
# were recorded elsewhere, and which part of a plan was asked.
_NO_SETTING = {"pairs", "plan", "records", "records_hash", "verdicts", "verdicts_hash", "batch", "batches", "subset"}
_TEMPLATES = "templates"  # one key each, and a hash: those of one run only are no change of the others


def differing(now: RunRead, before: RunRead) -> tuple[str, ...]:
    """Why the two may not be compared: each key of the configuration that differs, with both values; empty if none."""
    if now.kind != before.kind:
        return (f"kind ({before.kind} before, {now.kind} now)",)
    if unknown := [run.folder for run in (now, before) if not run.config]:
        return (f"configuration (not told: {unknown[0]} has no run.toml)",)
    old, new = before.config, now.config
    both = sorted(old.keys() | new.keys())
    found = [_said(key, old.get(key), new.get(key)) for key in both if _counts(key, old, new) and _other(key, old, new)]
    if now.versions != before.versions:
        found.append(_said("model version", ", ".join(before.versions) or None, ", ".join(now.versions) or None))
    return tuple(found)


def _counts(key: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    top = key.split(".")[0]
    if top == _TEMPLATES:
        return key in old and key in new
    return top not in _NO_SETTING


def _other(key: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    return bool(old.get(key) != new.get(key))


def _said(key: str, before: object, now: object) -> str:
    return f"{key} ({_short(before)} before, {_short(now)} now)"


def _short(value: object) -> str:
    text = "unset" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def change(now: RunRead, before: RunRead, id: str) -> Value:
    """The finding `id`, now minus before: paired by template where both runs tell its templates, else by intervals.

    The interval of two independent estimates is Zou and Donner's (2008, Stat. Med. 27:1693): the squared distances from
    each estimate to the limits that matter, added. On the same pairs or templates the two are not independent, and as
    a rule it is then too wide, never the other way round unless the runs err in opposite directions.
    """
    new, old = now.findings[id], before.findings.get(id)
    n, level = new.n, min(now.level, before.level)
    if old is None:
        return Value(None, None, None, level, n, reason="the baseline does not have it")
    for one, which in ((new, "the run"), (old, "the baseline")):
        if one.estimate is None:
            return Value(None, None, None, level, n, reason=f"not measured in {which}: {one.reason}")
        if (doubt := doubt_of(one)) is not None:
            return Value(new.estimate, None, None, level, n, doubt=f"in {which}: {doubt}")
    if (paired := _paired(now, before, id, level)) is not None:
        return paired
    if _asked(now) != _asked(before):
        reason = "the two runs hold different templates, and cannot be paired by them"
        if by_template(now, id) and by_template(before, id):
            reason = "the two runs hold different templates, and the change does not differ between those of both"
        return Value(None, None, None, level, n, reason=reason)
    return _independent(new, old, level)


def doubt_of(finding: Finding) -> str | None:
    """Why an estimate may not be believed, as the run has it."""
    suspect = finding.details.get("suspect") or finding.details.get("withheld")
    return None if not suspect else suspect if isinstance(suspect, str) else "the run marks it as suspect"


def _asked(run: RunRead) -> set[str]:
    return {key for key in run.config if key.split(".")[0] in (_TEMPLATES, "subset", "batch", "batches")}


def _paired(now: RunRead, before: RunRead, id: str, level: float) -> Value | None:
    """Over the templates of both runs; None unless the estimates are the plain means of their templates."""
    from recuse.stats import mean_interval

    tables = []
    for run in (now, before):
        table = by_template(run, id)
        if not table or abs(math.fsum(table.values()) / len(table) - (run.findings[id].estimate or 0.0)) > _ROUNDING:
            return None
        tables.append(table)
    shared = sorted(tables[0].keys() & tables[1].keys())
    found = mean_interval([tables[0][key] - tables[1][key] for key in shared], level=level)
    if found.interval is None:
        return None
    method = f"paired by template, {found.method}, {len(shared)} templates in both"
    bounds = _completed(found.interval, now.findings[id], before.findings[id])
    return Value(found.estimate, found.interval, bounds, level, found.n, method=method)


def by_template(run: RunRead, id: str) -> dict[str, float]:
    """The gap in each template of a finding `probe.gap:METRIC:A/B`, where the run tells it."""
    rows = run.tables.get("per_template")
    found: dict[str, float] = {}
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, Mapping) and f"probe.gap:{row.get('metric')}:{row.get('a')}/{row.get('b')}" == id:
            gap, template = row.get("gap"), str(row.get("template_id"))
            if isinstance(gap, int | float) and math.isfinite(gap) and template not in found:
                found[template] = float(gap)
    return found


def _independent(new: Finding, old: Finding, level: float) -> Value:
    assert new.estimate is not None
    assert old.estimate is not None
    gap = new.estimate - old.estimate
    if new.interval is None or old.interval is None:
        which = new if new.interval is None else old
        return Value(gap, None, None, level, new.n, reason=which.reason or "one of the two has no interval")
    low = gap - math.hypot(new.estimate - new.interval[0], old.interval[1] - old.estimate)
    high = gap + math.hypot(new.interval[1] - new.estimate, old.estimate - old.interval[0])
    bounds = _completed((low, high), new, old)
    return Value(gap, (low, high), bounds, level, new.n, method="two independent intervals")


def _completed(interval: tuple[float, float], new: Finding, old: Finding) -> tuple[float, float] | None:
    """The interval moved by as much as completing the missing replies moves the intervals of the two runs."""
    if new.bounds is None and old.bounds is None:
        return None
    (new_down, new_up), (old_down, old_up) = _moves(new), _moves(old)
    return interval[0] - new_down - old_up, interval[1] + new_up + old_down


def _moves(finding: Finding) -> tuple[float, float]:
    if finding.bounds is None or finding.interval is None:
        return 0.0, 0.0
    (low, high), (bottom, top) = finding.interval, finding.bounds
    return max(0.0, low - bottom), max(0.0, top - high)
