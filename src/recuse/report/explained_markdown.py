"""The report of an explanation as Markdown (GitHub flavour)."""

from __future__ import annotations

from recuse.report import explained_words as words
from recuse.report import text
from recuse.report.explained import ExplainReport
from recuse.report.explained_words import Section
from recuse.report.markdown_parts import block, bullets, escape, section, table


def explained_markdown(report: ExplainReport) -> str:
    """The report as Markdown text. Model text is escaped: it opens no markup, HTML, link or table cell."""
    parts = ["# Why judge and people disagree", f"**{escape(report.headline, limit=2000)}**",
             "\n".join(f"- {label}: {escape(value)}" for label, value in words.facts(report).items())]  # fmt: skip
    for one in words.sections(report):
        parts += _section(one)
    parts += [*section("## Examples", _examples(report)), *_section(words.recommended(report))]
    if paragraph := words.paragraph(report):
        parts.append("\n>\n".join(f"> {escape(line, limit=2000)}" for line in paragraph.split("\n")))
    parts += ["## Limits", bullets(report.limits), *section("## Notes", bullets(report.notes)),
              "## Configuration", block(text.toml(report.config))]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _section(one: Section) -> list[str]:
    parts = [f"## {one.heading}", *(escape(line, limit=2000) for line in one.lead)]
    for head, rows in one.tables:
        if rows:
            parts.append(table([escape(h) for h in head], [[escape(c) for c in row] for row in rows]))
    return parts + ([bullets(one.tail)] if one.tail else [])


def _examples(report: ExplainReport) -> str:
    tables = []
    for kind, examples in report.examples.items():
        head = (words.kind_title(report, kind), "Verdicts", "Question", "People prefer", "The other answer",
                "Judge's words")  # fmt: skip
        rows = [[escape(cell) for cell in words.example_row(e)] for e in examples]
        tables.append(table([escape(h) for h in head], rows))
    return "\n\n".join(tables)
