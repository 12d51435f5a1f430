"""The tables of a probe's report: templates, names, replies without a value, and replies where the gap is largest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from recuse.probes.measuring import Measuring
from recuse.probes.reading import Row
from recuse.probes.words import group_words, words_of_records

_EXAMPLES = 3
_WORDS = 50
Table = list[dict[str, Any]]


def tables_of(measuring: Measuring, names: Sequence[Mapping[str, object]]) -> dict[str, Table]:
    return {
        "per_template": _templates(measuring),
        "per_name": _names(measuring),
        "reasons": _reasons(measuring),
        "words": _words(measuring),
        "examples": _examples(measuring),
        "names": [dict(row) for row in names],
    }


def _templates(measuring: Measuring) -> Table:
    return [
        {"metric": metric, "a": a, "b": b, **asdict(row)}
        for (metric, a, b), one in measuring.analyses.items()
        for row in one.per_template
    ]


def _names(measuring: Measuring) -> Table:
    return [{"metric": metric, **asdict(row)} for (metric, _), row in measuring.names.items()]


def _reasons(measuring: Measuring) -> Table:
    """Why replies gave no value, by metric and group."""
    table: Table = []
    for metric in measuring.metrics:
        total = Counter(row["group"] for row in measuring.rows)
        missing = [row for row in measuring.rows if row[metric] is None]
        counts = Counter((row["group"], row[f"{metric}_reason"] or "no reason given") for row in missing)
        for (group, reason), count in sorted(counts.items()):
            table.append({"metric": metric, "group": group, "reason": reason, "replies": count, "of": total[group]})
    return table


def _words(measuring: Measuring) -> Table:
    """Words of the replies that one group gets more often than another, and the next ones by p."""
    table: Table = []
    for a, b in measuring.plan.pairs:
        sides = {side: any(row["reply"].strip() for row in measuring.rows if row["group"] == side) for side in (a, b)}
        if all(sides.values()):
            found = words_of_records(measuring.records, a=a, b=b, leave_out=group_words(measuring.plan))
            table += [{"a": a, "b": b, "tested": len(found.rows), **asdict(row)} for row in found.rows[:_WORDS]]
    return table


def _examples(measuring: Measuring) -> Table:
    """For the first metric and pair of groups: a reply of either, in the templates with the largest gaps."""
    if not measuring.analyses:
        return []
    (metric, a, b), one = next(iter(measuring.analyses.items()))
    largest = sorted((row for row in one.per_template if row.gap), key=lambda row: -abs(row.gap or 0.0))[:_EXAMPLES]
    table: Table = []
    for template in largest:
        rows = [row for row in measuring.rows if row["template_id"] == template.template_id]
        sides = [_typical(rows, metric, group, mean) for group, mean in ((a, template.mean_a), (b, template.mean_b))]
        table.append({
            "template": template.template_id,
            "prompt": sides[0]["prompt"],
            "replies": [{key: side[key] for key in ("group", "name", "reply")} for side in sides],
        })  # fmt: skip
    return table


def _typical(rows: Sequence[Row], metric: str, group: str, mean: float | None) -> Row:
    """The reply whose value lies nearest to the group's mean in this template."""
    there = [row for row in rows if row["group"] == group and row[metric] is not None]
    return min(there, key=lambda row: abs(row[metric] - (mean or 0.0)))
