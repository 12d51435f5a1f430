"""The report as one self-contained HTML page: no script, nothing loaded, fit for a phone, the dark and paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from recuse import assets
from recuse.report import svg, text
from recuse.report.detail import details_of
from recuse.report.html_parts import block, bullets, figure, findings_table, head, page, safe, section, table
from recuse.report.result import AuditResult
from recuse.types import Finding

_EFFECTS = ("bias.", "swap.", "self_preference.")


def html(result: AuditResult) -> str:
    """The whole page. Text from a model or from data is escaped; the page's policy forbids scripts and any loading."""
    sections = [
        _head(result),
        _decided(result.primaries, result.level),
        _others(result.others, result.level),
        *(
            _family(heading, family, f"family{i}", result.level)
            for i, (heading, family) in enumerate(result.families.items())
        ),
        *(
            section(t.title, f"detail{i}", table(t.title, t.head, [[safe(cell) for cell in row] for row in t.rows]))
            for i, t in enumerate(details_of(result.findings))
        ),
        _reasons(result),
        section("Notes", "notes", bullets(result.notes)),
        section("Cases", "cases", "\n".join(_case(case) for case in result.cases)),
        section("Configuration", "config", block(text.toml(result.config), "configuration")),
        section(f"Gate: {result.gate_name}", "gate", block(text.toml(result.gate), "gate")),
    ]
    body = "\n".join(part for part in sections if part)
    style = assets.data("report.css").read_text("utf-8")
    return page(f"{result.outcome.capitalize()}: {result.judge}", body, style=style)


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


def _others(findings: Sequence[Finding], level: float) -> str:
    return section("Other findings", "others", findings_table("Measures without a tolerance", findings, level))


def _family(heading: str, findings: Sequence[Finding], name: str, level: float) -> str:
    # Effects lie around zero: one scale for all of them, with its zero line.
    scale = svg.effect_scale(findings) if findings[0].id.startswith(_EFFECTS) else None
    plot = figure(svg.forest(findings, name=f"{name}-plot", title=heading, scale=scale), "")
    return section(heading, name, f"{plot}\n{findings_table(heading, findings, level)}")


def _reasons(result: AuditResult) -> str:
    rows = [(safe(reason), count) for reason, count in text.reason_rows(result)]
    shown = table("Asks without a verdict", ("Reason", "Asks"), rows) if rows else ""
    return section("Failures by reason", "reasons", shown)


def _case(case: Mapping[str, Any]) -> str:
    rows = "\n".join(f"<dt>{label}</dt><dd>{safe(content)}</dd>" for label, content in text.case_rows(case))
    return f"<article>\n<h3>{safe(text.case_name(case))}</h3>\n<dl>\n{rows}\n</dl>\n</article>"
