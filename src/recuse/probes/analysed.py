"""An analysis as JSON and as lines for a terminal.

    {"templates": int, "gap": number, "interval": [low, high], "p": number, "method": str,
     "failure_gap": number,                      share of rows without a value, first group minus second
     "per_name": [{"name", "group", "n", "missing", "mean", "apart", "p", "p_adjusted", "outlying"}, ...],
     "per_template": [{"template_id", COLUMN..., "gap", "mean_a", "mean_b", "n_a", "n_b", "missing_a", "missing_b"},
                      ...],                      those that drive the gap first
     "metric": str, "groups": [a, b], "n": int, "level": number,
     "worst_interval": [low, high],              the interval over all values that the missing ones could have
     "further_names": {...}, "failures": {...}, "pooled": {...}, "flips": {...}, "by": {COLUMN: [...]}, ...}

Numbers are finite; null where nothing was measured, and "reason" says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from recuse import stats
from recuse.probes.analyse import Analysis, Cut, Gap, TemplateRow
from recuse.report.text import visible

_SHOWN = 8  # templates that are printed


def analysis_json(found: Analysis) -> dict[str, Any]:
    """The result as plain JSON values, see the module."""
    gap = found.gap.found
    return {
        **_gap(found.gap),
        "per_name": [asdict(row) for row in found.per_name],
        "per_template": [_template(row) for row in found.per_template],
        "metric": found.metric,
        "groups": [found.a, found.b],
        "rows": found.rows,
        "level": gap.level,
        "test": gap.test,
        "p_without_symmetry": gap.pvalue_bound,
        "metric_bounds": found.bounds,
        "further_names": gap.across_names and estimate_json(gap.across_names),
        "failures": gap.failures
        and {
            **estimate_json(gap.failures),
            "rate_a": gap.failures.rate_a,
            "rate_b": gap.failures.rate_b,
            "missing_a": gap.missing_a,
            "missing_b": gap.missing_b,
        },
        "pooled": estimate_json(found.pooled),
        "flips": found.flips
        and {
            "rate": estimate_json(found.flips.rate),
            "noise": estimate_json(found.flips.noise),
            "names": estimate_json(found.flips.names),
            "above_noise": estimate_json(found.flips.above_noise),
            "above_names": estimate_json(found.flips.above_names),
            "runs": found.flips.runs,
        },
        "by": {column: [_cut(cut) for cut in cuts] for column, cuts in found.cuts.items()},
        "excluded": [str(template) for template in gap.excluded],
        "notes": list(found.notes),
    }


def estimate_json(found: stats.Estimate) -> dict[str, Any]:
    return {
        "estimate": found.estimate,
        "interval": found.interval,
        "p": found.pvalue,
        "n": found.n,
        "units": found.groups,
        "method": found.method,
        "reason": found.reason,
    }


def _gap(gap: Gap) -> dict[str, Any]:
    shown, careful = gap.shown, gap.careful
    failures = shown.failures
    return {
        "templates": shown.groups,
        "gap": shown.estimate,
        "interval": shown.interval,
        "p": shown.pvalue,
        "method": shown.method,
        "failure_gap": failures and failures.estimate,
        "n": shown.n,
        "worst_interval": careful and careful.worst_interval,
        "reason": shown.reason,
    }


def _cut(cut: Cut) -> dict[str, Any]:
    failures = cut.gap.found.failures
    more = {"p_adjusted": cut.p_adjusted, "failure_p": failures and failures.pvalue}
    return {"value": cut.value, **_gap(cut.gap), **more}


def _template(row: TemplateRow) -> dict[str, Any]:
    found = asdict(row)
    return {"template_id": found.pop("template_id"), **found.pop("labels"), **found}


def lines_of(found: Analysis) -> Iterator[str]:
    """What a terminal shows: the gap, what else could explain it, and where it lies."""
    gap, a, b = found.gap.shown, visible(found.a), visible(found.b)
    yield (
        f"{visible(found.metric)}, {a} minus {b}: {number(gap.estimate)} {within(gap.interval, gap.level)}, "
        f"p {small(gap.pvalue)}, {gap.groups:,} templates, {gap.n:,} replies"
    )
    yield f"  {gap.method}; {gap.test}" if gap.test else f"  {gap.method}"
    careful = found.gap.careful
    if careful is not None and (gap.missing_a or gap.missing_b):
        yield f"  over all values that the missing ones could have: {within(careful.worst_interval, gap.level)}"
    if gap.across_names is not None:
        yield f"  for further names too: {_said(gap.across_names)}"
    if gap.failures is not None:
        yield f"replies without a value, {a} minus {b}: {_said(gap.failures)}"
    yield f"naively pooled, for comparison only: {_said(found.pooled)}"
    if found.flips is not None:
        yield f"decisions that differ between the groups: {_said(found.flips.rate, sign='')}"
        yield f"  when the same input is asked again: {_said(found.flips.noise, sign='')}"
        yield f"  between names of one group: {_said(found.flips.names, sign='')}"
        yield f"  groups above the same input: {_said(found.flips.above_noise)}"
        yield f"  groups above names: {_said(found.flips.above_names)}"
    for column, cuts in found.cuts.items():
        for cut in cuts:
            shown = cut.gap.shown
            yield (
                f"{visible(column)} {visible(cut.value)}: {_said(shown)}, {shown.groups:,} templates, p adjusted "
                f"{small(cut.p_adjusted)}"
            )
    yield from _names(found)
    yield from _templates(found.per_template)
    yield from (visible(note) for note in found.notes)


def _names(found: Analysis) -> Iterator[str]:
    if found.per_name:
        yield "names: mean, apart from the others of the group, adjusted p"
    for row in found.per_name:
        mark = "  outlying" if row.outlying else ""
        yield (
            f"  {visible(row.group)} {visible(row.name)}: {number(row.mean, sign='')}, {number(row.apart)}, "
            f"{small(row.p_adjusted)}{mark}"
        )


def _templates(rows: Sequence[TemplateRow]) -> Iterator[str]:
    yield "templates, by gap"
    for row in rows[:_SHOWN]:
        labels = "".join(f", {visible(value)}" for value in row.labels.values() if value is not None)
        yield f"  {visible(row.template_id)}{labels}: {number(row.gap)}"
    if (more := len(rows) - _SHOWN) > 0:
        yield f"  and {more:,} more (--json has them all)"


def _said(found: stats.Estimate, *, sign: str = "+") -> str:
    if found.estimate is None:
        return f"not measured: {found.reason}"
    p = f", p {small(found.pvalue)}" if found.pvalue is not None else ""
    return f"{number(found.estimate, sign=sign)} {within(found.interval, found.level, sign=sign)}{p}"


def number(value: float | None, *, sign: str = "+") -> str:
    return "none" if value is None else f"{value:{sign}.3f}"


def small(p: float | None) -> str:
    return "none" if p is None else f"{p:.2g}"


def within(interval: tuple[float, float] | None, level: float, *, sign: str = "+") -> str:
    if interval is None:
        return "(no interval)"
    return f"({level:.0%} interval {number(interval[0], sign=sign)} to {number(interval[1], sign=sign)})"
