"""The report as one self-contained HTML page: no script, nothing loaded, fit for a phone, the dark and paper."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from recuse import assets
from recuse.report import svg, text
from recuse.report.result import AuditResult
from recuse.types import Finding

# How the cells of a column may break; those of other columns don't.
_KINDS = {
    "With missing verdicts": "bounds",
    "Other reading": "bounds",
    "Method": "words",
    "Remark": "words",
}
_COMMA = re.compile(r", (?=-?[\d.]+\])")  # inside an interval


def html(result: AuditResult) -> str:
    """The whole page. Text from a model or from data is escaped; the page's policy forbids scripts and any loading."""
    style = assets.data("report.css").read_text("utf-8")
    sections = [
        _head(result),
        _decided(result.primaries, result.level),
        _others(result.others, result.level),
        *(
            _family(heading, family, f"family{i}", result.level)
            for i, (heading, family) in enumerate(result.families.items())
        ),
        _reasons(result),
        _section("Notes", "notes", _list(result.notes)),
        _section("Cases", "cases", "\n".join(_case(case) for case in result.cases)),
        _section("Configuration", "config", _block(text.toml(result.config), "configuration")),
        _section(f"Gate: {result.gate_name}", "gate", _block(text.toml(result.gate), "gate")),
    ]
    body = "\n".join(section for section in sections if section)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_policy(style)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{_safe(f"{result.outcome.capitalize()}: {result.judge}", 120)}</title>
<style>{style}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""


def _policy(style: str) -> str:
    """Everything is forbidden except this one style sheet, by its hash."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def _safe(content: object, limit: int = text.LONGEST) -> str:
    return escape(text.visible(content, limit=limit))


def _head(result: AuditResult) -> str:
    facts = {
        "Judge": result.judge,
        "Pairs": result.pairs,
        "Prompt": result.prompt,
        "Gate": result.gate_name,
        "Looks at the data": result.looks,
        "Usage": text.usage_line(result.usage),
    }
    told = "\n".join(f"<div><dt>{name}</dt><dd>{_safe(value)}</dd></div>" for name, value in facts.items() if value)
    return f"""<header>
<h1>Audit of a judge</h1>
<p class="outcome {result.outcome}"><strong>{_safe(text.outcome_line(result))}</strong></p>
<dl class="facts">
{told}
</dl>
</header>"""


def _section(heading: str, name: str, body: str) -> str:
    if not body:
        return ""
    return f'<section aria-labelledby="{name}">\n<h2 id="{name}">{_safe(heading)}</h2>\n{body}\n</section>'


def _decided(findings: Sequence[Finding], level: float) -> str:
    if not findings:
        return _section("What decided it", "decided", "<p>No primary measure was declared.</p>")
    legend = (
        "Mark: estimate (circle fit, square recuse, hollow circle inconclusive). "
        f"Bar: {text.intervals(level)}. Thin line: limits over all completions of missing verdicts. Band: tolerance."
    )
    plot = svg.forest(findings, name="forest", title="Primary measures against their tolerances")
    table = _findings("Primary measures with their tolerances", findings, level)
    return _section("What decided it", "decided", f"{_figure(plot, legend)}\n{table}")


def _others(findings: Sequence[Finding], level: float) -> str:
    return _section("Other findings", "others", _findings("Measures without a tolerance", findings, level))


def _family(heading: str, findings: Sequence[Finding], name: str, level: float) -> str:
    plot = _figure(svg.forest(findings, name=f"{name}-plot", title=heading), "")
    return _section(heading, name, f"{plot}\n{_findings(heading, findings, level)}")


def _findings(caption: str, findings: Sequence[Finding], level: float) -> str:
    if not findings:
        return ""
    told = [(f, text.cells(f, level=level)) for f in findings]
    head = ["Measure", *told[0][1]]
    rows = [[_name(f), *(_content(column, cell) for column, cell in row.items())] for f, row in told]
    return _table(caption, head, rows)


def _content(column: str, content: str) -> str:
    safe = _safe(content)
    return f'<span class="badge {safe}">{safe}</span>' if column == "Outcome" and content else safe


def _reasons(result: AuditResult) -> str:
    rows = [(_safe(reason), count) for reason, count in text.reason_rows(result)]
    table = _table("Asks without a verdict", ("Reason", "Asks"), rows) if rows else ""
    return _section("Failures by reason", "reasons", table)


def _figure(plot: str, legend: str) -> str:
    caption = f"\n<figcaption>{legend}</figcaption>" if legend else ""
    return f"<figure>\n{plot}{caption}\n</figure>"


def _name(finding: Finding) -> str:
    return f"{_safe(finding.title)} <code>{_safe(finding.id)}</code>"


def _table(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Cells are HTML already. A column that is empty in every row is left out. The box scrolls on narrow screens."""
    kept = [i for i in range(len(head)) if any(row[i] for row in rows)]
    top = "".join(f'<th scope="col">{head[i]}</th>' for i in kept)
    lines = [
        f'<tr><th scope="row">{row[kept[0]]}</th>' + "".join(_cell(head[i], row[i]) for i in kept[1:]) + "</tr>"
        for row in rows
    ]
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{_safe(caption)}">\n<table>\n'
        f"<caption>{_safe(caption)}</caption>\n<thead><tr>{top}</tr></thead>\n<tbody>\n"
        + "\n".join(lines)
        + "\n</tbody>\n</table>\n</div>"
    )


def _cell(column: str, content: str) -> str:
    kind = "estimate" if column.startswith("Estimate") else _KINDS.get(column, "short")
    if kind != "words":
        content = _COMMA.sub(",&nbsp;", content)
    return f'<td class="{kind}">{content}</td>'


def _list(items: Sequence[str]) -> str:
    return "<ul>\n" + "\n".join(f"<li>{_safe(item)}</li>" for item in items) + "\n</ul>" if items else ""


def _case(case: Mapping[str, Any]) -> str:
    rows = "\n".join(f"<dt>{label}</dt><dd>{_safe(content)}</dd>" for label, content in text.case_rows(case))
    return f"<article>\n<h3>{_safe(text.case_name(case))}</h3>\n<dl>\n{rows}\n</dl>\n</article>"


def _block(content: str, what: str) -> str:
    if not content:
        return ""
    return f'<pre tabindex="0" aria-label="{what}"><code>{escape(content)}</code></pre>'
