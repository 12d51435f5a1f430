"""The report as Markdown (GitHub flavour): the outcome first, then what decided it, then everything else."""

from __future__ import annotations

from recuse.report import text
from recuse.report.case import Case, examples
from recuse.report.detail import details_of
from recuse.report.markdown_parts import block, bullets, code, escape, findings_table, section, table
from recuse.report.result import AuditResult


def markdown(result: AuditResult) -> str:
    """The report as Markdown text. Model text is escaped: it opens no markup, HTML, link or table cell."""
    parts = [
        "# Audit of a judge",
        f"**{escape(text.outcome_line(result))}**",
        _facts(result),
        "## What decided it",
        findings_table(result.primaries, result.level) or "No primary measure was declared.",
        *section("## Other findings", findings_table(result.others, result.level)),
        *(
            part
            for heading, family in result.families.items()
            for part in (f"## {escape(heading)}", findings_table(family, result.level))
        ),
        *(
            part
            for detail in details_of(result.findings)
            for part in (
                f"## {escape(detail.title)}",
                table(detail.head, [[escape(cell) for cell in row] for row in detail.rows]),
            )
        ),
        *section("## Failures by reason", _reasons(result)),
        *section("## Notes", bullets(result.notes)),
        *section("## Cases", "\n\n".join(_case(case) for case in examples(result.cases))),
        "## Configuration",
        block(text.toml(result.config)),
        f"## Gate: {code(result.gate_name)}",
        block(text.toml(result.gate)),
    ]
    return "\n\n".join(parts) + "\n"


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


def _reasons(result: AuditResult) -> str:
    rows = [(escape(reason), count) for reason, count in text.reason_rows(result)]
    return table(("Reason", "Asks"), rows) if rows else ""


def _case(case: Case) -> str:
    rows = "\n".join(f"| {label} | {escape(content)} |" for label, content in text.case_rows(case))
    return f"| Case | {escape(text.case_name(case))} |\n| --- | --- |\n{rows}"
