"""A comparison as JSON and as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from recuse.probes.analysed import analysis_json, estimate_json, number, small, within
from recuse.probes.compare import Comparison
from recuse.report.text import visible

_SHOWN = 8  # templates that are printed


def comparison_json(found: Comparison) -> dict[str, Any]:
    """{"templates", "gap_old", "gap_new", "difference", "interval", "p", "method", "failure_difference", ...}; new
    minus old, and both analyses whole under "old" and "new"."""
    shown, careful = found.change.shown, found.change.careful
    return {
        "templates": shown.groups,
        "gap_old": found.old.gap.found.estimate,
        "gap_new": found.new.gap.found.estimate,
        "difference": shown.estimate,
        "interval": shown.interval,
        "p": shown.pvalue,
        "method": shown.method,
        "reason": shown.reason,
        "failure_difference": found.failures.estimate,
        "failures": estimate_json(found.failures),
        "metric": found.old.metric,
        "groups": [found.old.a, found.old.b],
        "n": shown.n,
        "worst_interval": careful and careful.worst_interval,
        "further_names": shown.across_names and estimate_json(shown.across_names),
        "level_a": estimate_json(found.level_a),
        "level_b": estimate_json(found.level_b),
        "matched": found.matched,
        "only_old": found.only_old,
        "only_new": found.only_new,
        "per_template": [asdict(row) for row in found.per_template],
        "old": analysis_json(found.old),
        "new": analysis_json(found.new),
        "notes": list(found.notes),
    }


def lines_of(found: Comparison) -> Iterator[str]:
    change, a, b = found.change.shown, visible(found.old.a), visible(found.old.b)
    yield (
        f"{visible(found.old.metric)}, {a} minus {b}, new minus old: {number(change.estimate)} "
        f"{within(change.interval, change.level)}, p {small(change.pvalue)}, {change.groups:,} templates"
    )
    yield f"  {change.method}; {change.test}" if change.test else f"  {change.method}"
    for name, side in (("old", found.old), ("new", found.new)):
        gap = side.gap.shown
        yield f"  {name}: {number(gap.estimate)} {within(gap.interval, gap.level)}, p {small(gap.pvalue)}"
    for group, level in ((a, found.level_a), (b, found.level_b)):
        yield f"  mean of {group}: {number(level.estimate)} {within(level.interval, level.level)}"
    yield (
        f"replies without a value, {a} minus {b}, new minus old: {number(found.failures.estimate)} "
        f"{within(found.failures.interval, found.failures.level)}, p {small(found.failures.pvalue)}"
    )
    yield "templates, by change: old, new, change"
    for row in found.per_template[:_SHOWN]:
        yield f"  {visible(row.template_id)}: {number(row.old)}, {number(row.new)}, {number(row.difference)}"
    if (more := len(found.per_template) - _SHOWN) > 0:
        yield f"  and {more:,} more (--json has them all)"
    yield from (visible(note) for note in found.notes)
