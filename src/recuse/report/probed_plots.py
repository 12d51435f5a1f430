"""The plots of a probe's tables: one dot a template by its gap, one dot a name by its mean."""

from __future__ import annotations

from recuse.report.html_plots import names_figure, templates_figure
from recuse.report.probed import ProbeResult

Key = tuple[str, str]  # first column and caption of a table


def table_plots(result: ProbeResult) -> dict[Key, str]:
    """HTML by table; a table that has none is left out."""
    gaps: dict[str, dict[str, float]] = {}
    for row in result.tables["per_template"]:
        if row["gap"] is not None:
            gaps.setdefault(f"{row['metric']}: {row['a']} (a) minus {row['b']} (b)", {})[row["template_id"]] = row[
                "gap"
            ]
    means: dict[str, list[tuple[str, str, float]]] = {}
    outlying: dict[str, set[str]] = {}
    for row in result.tables["per_name"]:
        if row["mean"] is not None:
            means.setdefault(row["metric"], []).append((row["group"], row["name"], row["mean"]))
            if row["outlying"]:
                outlying.setdefault(row["metric"], set()).add(row["name"])
    found: dict[Key, str] = {}
    for i, (caption, by_template) in enumerate(gaps.items()):
        found["Template", caption] = templates_figure(by_template, name=f"templates{i}", title=caption)
    for i, (metric, rows) in enumerate(means.items()):
        marked = frozenset(outlying.get(metric, ()))
        found["Name", metric] = names_figure(rows, name=f"names{i}", title=metric, outlying=marked)
    return found
