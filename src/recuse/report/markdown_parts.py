"""What every Markdown report is built from: escaping of foreign text, tables, sections and blocks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from recuse.report import text
from recuse.types import Finding

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "$": "&#36;", "`": "&#96;"}
_INTERVAL = r"\[-?[\d.]+, -?[\d.]+\](?![(\[:])"  # ours, and harmless: left readable
_ACTIVE = re.compile(rf"{_INTERVAL}|[&<>|$`\\*_\[\]~]|(?<=[a-zA-Z]):(?=//)|(?<=[wW]{{3}})\.|^[-+#=:]")
_NUMBERED = re.compile(r"^(\d{1,9})([.)])(?=\s|$)")
_PLAIN = re.compile(r"[\w.,:;=@+/-]+")


def escape(content: object, *, limit: int = text.LONGEST) -> str:
    """`content` on one line as literal text, in a paragraph or in a table cell."""
    shown = text.visible(content, limit=limit, newline=" ⏎ ").strip()
    shown = _ACTIVE.sub(lambda m: m[0] if len(m[0]) > 1 else _ENTITIES.get(m[0], "\\" + m[0]), shown)
    return _NUMBERED.sub(r"\1\\\2", shown)


def code(name: str) -> str:
    """A name as a code span; one with unusual characters as escaped text."""
    return f"`{name}`" if _PLAIN.fullmatch(name) else escape(name)


def block(content: str) -> str:
    longest = max((len(run) for run in re.findall(r"`+", content)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}toml\n{content}\n{fence}"


def section(heading: str, body: str) -> list[str]:
    return [heading, body] if body else []


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells must be escaped already. A column that is empty in every row is left out."""
    rows = list(rows)
    kept = [i for i in range(len(head)) if any(row[i] for row in rows)]
    lines = [[head[i] for i in kept], ["---"] * len(kept), *([row[i] for i in kept] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def findings_table(findings: Sequence[Finding], level: float) -> str:
    if not findings:
        return ""
    rows = [(f, text.cells(f, level=level)) for f in findings]
    head = ["Measure", *rows[0][1]]
    return table(head, [[named(f), *(_cell(column, cell) for column, cell in row.items())] for f, row in rows])


def _cell(column: str, content: str) -> str:
    return f"**{escape(content)}**" if column == "Outcome" and content else escape(content)


def named(finding: Finding) -> str:
    return f"{escape(finding.title)} {code(finding.id)}"


def bullets(items: Sequence[str]) -> str:
    return "\n".join(f"- {escape(item)}" for item in items)
