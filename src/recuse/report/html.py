"""The report as one self-contained HTML page: nothing loaded, fit for a phone, a keyboard, the dark and paper.

Its one script filters the cases and copies the configuration; all else is there without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from recuse import assets
from recuse.report import html_plots as plots
from recuse.report import svg, text
from recuse.report.detail import Detail, details_of
from recuse.report.discovered_words import sham_range
from recuse.report.html_cases import cases_section
from recuse.report.html_parts import bullets, copyable, figure, findings_table, head, page, safe, section, table
from recuse.report.result import AuditResult
from recuse.types import Finding

_EFFECTS = ("bias.", "swap.", "self_preference.")


def html(result: AuditResult) -> str:
    """The whole page. Text from a model or from data is escaped; the page's policy forbids all loading and all scripts
    but its own."""
    sections = [
        _head(result),
        _decided(result.primaries, result.level),
        section("Position", "position", plots.position_plot(result.findings, name="position-plot")),
        section(
            "Other findings", "others", findings_table("Measures without a tolerance", result.others, result.level)
        ),
        *(
            _family(result, heading, family, f"family{i}")
            for i, (heading, family) in enumerate(result.families.items())
        ),
        *(_detail(detail, f"detail{i}") for i, detail in enumerate(details_of(result.findings))),
        _reasons(result),
        section("Notes", "notes", bullets(result.notes)),
        section("Cases", "cases", cases_section(result)),
        section("Configuration", "config", copyable(text.toml(result.config), "configuration")),
        section(f"Gate: {result.gate_name}", "gate", copyable(text.toml(result.gate), "gate")),
    ]
    body = "\n".join(part for part in sections if part)
    style, script = (assets.data(f"report.{kind}").read_text("utf-8") for kind in ("css", "js"))
    return page(f"{result.outcome.capitalize()}: {result.judge}", body, style=style, script=script)


def _head(result: AuditResult) -> str:
    facts = {
        "Judge": result.judge,
        "Pairs": result.pairs,
        "Prompt": result.prompt,
        "Gate": result.gate_name,
        "Looks at the data": result.looks,
        "Usage": text.usage_line(result.usage),
    }
    return head("Audit of a judge", result.outcome, text.outcome_line(result), facts)


def _decided(findings: Sequence[Finding], level: float) -> str:
    if not findings:
        return section("What decided it", "decided", "<p>No primary measure was declared.</p>")
    legend = (
        "Mark: estimate (circle fit, square recuse, hollow circle inconclusive). "
        f"Bar: {text.intervals(level)}. Thin line: limits over all completions of missing verdicts. Band: tolerance."
    )
    plot = svg.forest(findings, name="forest", title="Primary measures against their tolerances")
    rows = findings_table("Primary measures with their tolerances", findings, level)
    return section("What decided it", "decided", f"{figure(plot, legend)}\n{rows}")


def _family(result: AuditResult, heading: str, findings: Sequence[Finding], name: str) -> str:
    # Effects lie around zero: one scale for all of them, with its zero line.
    scale = svg.effect_scale(findings) if findings[0].id.startswith(_EFFECTS) else None
    rows = findings_table(heading, findings, result.level)
    if findings[0].id.endswith(".effect"):
        return section(heading, name, f"{_biases(result, heading, findings, name)}\n{rows}")
    plot = figure(svg.forest(findings, name=f"{name}-plot", title=heading, scale=scale), "")
    return section(heading, name, f"{plot}\n{rows}")


def _biases(result: AuditResult, heading: str, findings: Sequence[Finding], name: str) -> str:
    """Effects with what meaningless changes did beside them: the second placebo as a row, the shams as a band."""
    shams = sham_range(result) if all(f.tolerance is None for f in findings) else None
    placebo = [f for f in result.findings if f.id == "placebo.second" and f.estimate is not None]
    shown = [replace(f, tolerance=shams) if shams else f for f in (*findings, *placebo)]
    plot = svg.forest(
        shown, name=f"{name}-plot", title=heading, scale=svg.effect_scale(shown),
        band="where meaningless changes fell:" if shams else "tolerance",
    )  # fmt: skip
    legend = plots.legend_of(result.level, "where meaningless changes (shams) fell" if shams else "")
    return f"{figure(plot, legend)}\n{plots.bias_plot(findings, name=f'{name}-errors')}"


def _detail(detail: Detail, name: str) -> str:
    rows = table(detail.title, detail.head, [[safe(cell) for cell in row] for row in detail.rows], stacked=True)
    return section(detail.title, name, f"{plots.detail_plot(detail, name=f'{name}-plot')}\n{rows}")


def _reasons(result: AuditResult) -> str:
    rows = [(safe(reason), count) for reason, count in text.reason_rows(result)]
    shown = table("Asks without a verdict", ("Reason", "Asks"), rows, stacked=True) if rows else ""
    return section("Failures by reason", "reasons", shown)
