"""The report of a probe as one self-contained HTML page: the gaps first, then templates and names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recuse import assets
from recuse.report import probed, svg, text
from recuse.report.html_parts import bullets, copyable, figure, findings_table, folded, head, page, safe, section, table
from recuse.report.probed import Block, ProbeResult
from recuse.report.probed_plots import Key, table_plots
from recuse.types import Finding


def probed_html(result: ProbeResult) -> str:
    """The whole page. Text from a model or from data is escaped; the page's policy forbids all loading and all scripts
    but its own."""
    plots = table_plots(result)
    sections = [
        head("Probe of a model", "recuse" if result.found else "inconclusive", result.headline, probed.facts(result)),
        *(
            _family(heading, family, f"family{i}", result.level)
            for i, (heading, family) in enumerate(result.families.items())
        ),
        *(section(one.heading, f"tables{i}", _block(one, plots)) for i, one in enumerate(probed.blocks(result))),
        section("Where the gap is largest", "examples", "\n".join(_example(e) for e in result.tables["examples"])),
        section("Notes", "notes", bullets(result.notes)),
        section("Configuration", "config", copyable(text.toml(result.config), "configuration")),
    ]
    style = "".join(assets.data(name).read_text("utf-8") for name in ("report.css", "discovered.css"))
    script = assets.data("report.js").read_text("utf-8")
    return page(f"Probe of {result.model}", "\n".join(part for part in sections if part), style=style, script=script)


def _family(heading: str, findings: Sequence[Finding], name: str, level: float) -> str:
    rows = findings_table(heading, findings, level)
    if findings[0].id.startswith("probe.names:"):  # no intervals to see
        return section(heading, name, rows)
    shares = findings[0].id.startswith(("probe.flip_rate:", "probe.noise:"))
    scale = None if shares else svg.effect_scale(findings)
    plot = svg.forest(findings, name=f"{name}-plot", title=heading, scale=scale)
    legend = f"Mark: estimate. Bar: {text.intervals(level)}. Thin line: limits over all completions of missing values."
    return section(heading, name, f"{figure(plot, legend)}\n{rows}")


def _block(shown: Block, plots: Mapping[Key, str]) -> str:
    tables = [
        (
            safe(caption),
            plots.get((shown.columns[0], caption), "")
            + table(caption, shown.columns, [[safe(cell) for cell in row] for row in rows], stacked=True),
        )
        for caption, rows in shown.tables.items()
    ]
    if not shown.captioned:
        return tables[0][1]
    return "\n".join(folded(*one, unfolded=i == 0) for i, one in enumerate(tables))


def _example(example: Mapping[str, object]) -> str:
    rows = "\n".join(f"<dt>{safe(label)}</dt><dd>{safe(shown)}</dd>" for label, shown in probed.example_rows(example))
    return f"<article>\n<h3>{safe(example['template'])}</h3>\n<dl>\n{rows}\n</dl>\n</article>"
