"""The report as Markdown (GitHub flavour): the outcome first, then what decided it, then everything else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from recuse.report import text
from recuse.report.result import AuditResult
from recuse.types import Finding

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "$": "&#36;", "`": "&#96;"}
_INTERVAL = r"\[-?[\d.]+, -?[\d.]+\](?![(\[:])"  # ours, and harmless: left readable
_ACTIVE = re.compile(rf"{_INTERVAL}|[&<>|$`\\*_\[\]~]|(?<=[a-zA-Z]):(?=//)|(?<=[wW]{{3}})\.|^[-+#=:]")
_NUMBERED = re.compile(r"^(\d{1,9})([.)])(?=\s|$)")
_PLAIN = re.compile(r"[\w.,:;=@+/-]+")


def markdown(result: AuditResult) -> str:
    """The report as Markdown text. Model text is escaped: it opens no markup, HTML, link or table cell."""
    parts = [
        "# Audit of a judge",
        f"**{escape(text.outcome_line(result))}**",
        _facts(result),
        "## What decided it",
        _findings(result.primaries, result.level) or "No primary measure was declared.",
        *_section("## Other findings", _findings(result.others, result.level)),
        *(
            part
            for heading, family in result.families.items()
            for part in (f"## {escape(heading)}", _findings(family, result.level))
        ),
        *_section("## Failures by reason", _reasons(result)),
        *_section("## Notes", "\n".join(f"- {escape(note)}" for note in result.notes)),
        *_section("## Cases", "\n\n".join(_case(case) for case in result.cases)),
        "## Configuration",
        _block(text.toml(result.config)),
        f"## Gate: {code(result.gate_name)}",
        _block(text.toml(result.gate)),
    ]
    return "\n\n".join(parts) + "\n"


def escape(content: object, *, limit: int = text.LONGEST) -> str:
    """`content` on one line as literal text, in a paragraph or in a table cell."""
    shown = text.visible(content, limit=limit, newline=" ⏎ ").strip()
    shown = _ACTIVE.sub(lambda m: m[0] if len(m[0]) > 1 else _ENTITIES.get(m[0], "\\" + m[0]), shown)
    return _NUMBERED.sub(r"\1\\\2", shown)


def code(name: str) -> str:
    """A name as a code span; one with unusual characters as escaped text."""
    return f"`{name}`" if _PLAIN.fullmatch(name) else escape(name)


def _block(content: str) -> str:
    longest = max((len(run) for run in re.findall(r"`+", content)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}toml\n{content}\n{fence}"


def _section(heading: str, body: str) -> list[str]:
    return [heading, body] if body else []


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells must be escaped already. A column that is empty in every row is left out."""
    rows = list(rows)
    kept = [i for i in range(len(head)) if any(row[i] for row in rows)]
    lines = [[head[i] for i in kept], ["---"] * len(kept), *([row[i] for i in kept] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _facts(result: AuditResult) -> str:
    facts = [
        f"- Judge: {code(result.judge)}",
        f"- Pairs: {code(result.pairs)}",
        f"- Prompt: {code(result.prompt)}",
        f"- Gate: {code(result.gate_name)}",
        f"- Looks at the data: {result.looks}",
    ]
    usage = text.usage_line(result.usage)
    return "\n".join([*facts, f"- Usage: {usage}"] if usage else facts)


def _findings(findings: Sequence[Finding], level: float) -> str:
    if not findings:
        return ""
    rows = [(f, text.cells(f, level=level)) for f in findings]
    head = ["Measure", *rows[0][1]]
    return _table(head, [[_name(f), *(_cell(column, cell) for column, cell in row.items())] for f, row in rows])


def _cell(column: str, content: str) -> str:
    return f"**{escape(content)}**" if column == "Outcome" and content else escape(content)


def _name(finding: Finding) -> str:
    return f"{escape(finding.title)} {code(finding.id)}"


def _reasons(result: AuditResult) -> str:
    rows = [(escape(reason), count) for reason, count in text.reason_rows(result)]
    return _table(("Reason", "Asks"), rows) if rows else ""


def _case(case: Mapping[str, Any]) -> str:
    rows = "\n".join(f"| {label} | {escape(content)} |" for label, content in text.case_rows(case))
    return f"| Case | {escape(text.case_name(case))} |\n| --- | --- |\n{rows}"
