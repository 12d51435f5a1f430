"""What every HTML page is built from: the frame, sections, tables, figures, and the escaping of foreign text."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from html import escape

from recuse.report import text
from recuse.types import Finding

# How the cells of a column may break; those of other columns don't.
_KINDS = {
    "With missing verdicts": "bounds",
    "Other reading": "bounds",
    "Method": "words",
    "Remark": "words",
    "Why not": "words",
    "What is different": "words",
    "How it was proven": "words",
    "Example": "words",
}
_COMMA = re.compile(r", (?=-?[\d.]+\])")  # inside an interval


def page(title: object, body: str, *, style: str, script: str = "") -> str:
    """The whole page around `body`, which is HTML already. The policy forbids all scripts but this one, and any
    loading."""
    run = f"<script>{script}</script>\n" if script else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_policy(style, script)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{safe(title, 120)}</title>
<style>{style}</style>
</head>
<body>
<main>
{body}
</main>
{run}</body>
</html>
"""


def _policy(style: str, script: str) -> str:
    """Everything is forbidden except this one style sheet and this one script, by their hashes."""
    allowed = f"script-src {_hash(script)}; " if script else ""
    return f"default-src 'none'; style-src {_hash(style)}; {allowed}base-uri 'none'; form-action 'none'"


def _hash(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def data(content: object, name: str) -> str:
    """Values for the script of the page, as JSON that cannot end its block: no `<` stands in it."""
    plain = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{plain}</script>'


def safe(content: object, limit: int = text.LONGEST) -> str:
    return escape(text.visible(content, limit=limit))


def head(title: str, outcome: str, line: str, facts: Mapping[str, object]) -> str:
    """The title, the outcome in one line (`outcome` names its colour), and facts; those that are empty are left out."""
    told = "\n".join(f"<div><dt>{name}</dt><dd>{safe(value)}</dd></div>" for name, value in facts.items() if value)
    return f"""<header>
<h1>{title}</h1>
<p class="outcome {outcome}"><strong>{safe(line)}</strong></p>
<dl class="facts">
{told}
</dl>
</header>"""


def section(heading: str, name: str, body: str) -> str:
    if not body:
        return ""
    return f'<section aria-labelledby="{name}">\n<h2 id="{name}">{safe(heading)}</h2>\n{body}\n</section>'


def figure(plot: str, legend: str) -> str:
    caption = f"\n<figcaption>{legend}</figcaption>" if legend else ""
    return f"<figure>\n{plot}{caption}\n</figure>"


def findings_table(caption: str, findings: Sequence[Finding], level: float) -> str:
    if not findings:
        return ""
    told = [(f, text.cells(f, level=level)) for f in findings]
    top = ["Measure", *told[0][1]]
    rows = [[named(f.title, f.id), *(_content(column, cell) for column, cell in row.items())] for f, row in told]
    return table(caption, top, rows, stacked=True)


def _content(column: str, content: str) -> str:
    shown = safe(content)
    return f'<span class="badge {shown}">{shown}</span>' if column == "Outcome" and content else shown


def named(title: str, id: str) -> str:
    return f"{safe(title)} <code>{safe(id)}</code>"


def table(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]], *, stacked: bool = False) -> str:
    """Cells are HTML already. A column that is empty in every row is left out.

    On narrow screens the box scrolls, or its rows become lists of labelled cells where it is `stacked`.
    """
    kept = [i for i in range(len(head)) if any(row[i] for row in rows)]
    box = "scroll stacked" if stacked else "scroll"
    top = "".join(f'<th scope="col">{head[i]}</th>' for i in kept)
    lines = [
        f'<tr><th scope="row">{row[kept[0]]}</th>'
        + "".join(_cell(head[i], row[i], stacked) for i in kept[1:])
        + "</tr>"
        for row in rows
    ]
    return (
        f'<div class="{box}" role="region" tabindex="0" aria-label="{safe(caption)}">\n<table>\n'
        f"<caption>{safe(caption)}</caption>\n<thead><tr>{top}</tr></thead>\n<tbody>\n"
        + "\n".join(lines)
        + "\n</tbody>\n</table>\n</div>"
    )


def _cell(column: str, content: str, stacked: bool) -> str:
    kind = "estimate" if column.startswith("Estimate") else _KINDS.get(column, "short")
    if kind != "words":
        content = unbroken(content)
    label = f' data-label="{column}"' if stacked else ""
    return f'<td class="{kind}"{label}>{content}</td>'


def unbroken(content: str) -> str:
    """Intervals that do not break at their comma."""
    return _COMMA.sub(",&nbsp;", content)


def bullets(items: Sequence[str]) -> str:
    return "<ul>\n" + "\n".join(f"<li>{safe(item)}</li>" for item in items) + "\n</ul>" if items else ""


def folded(summary: str, body: str, *, unfolded: bool = False, kind: str = "") -> str:
    """Something that opens at a touch; both are HTML already."""
    named = f' class="{kind}"' if kind else ""
    return f"<details{named}{' open' if unfolded else ''}>\n<summary>{summary}</summary>\n{body}\n</details>"


def block(content: str, what: str) -> str:
    if not content:
        return ""
    return f'<pre tabindex="0" aria-label="{what}"><code>{escape(content)}</code></pre>'


def copyable(content: str, what: str) -> str:
    """A block with a button that copies it, which the script shows; without one, a click selects it whole."""
    if not content:
        return ""
    button = f'<p class="copy" hidden><button type="button">Copy {what}</button> <span role="status"></span></p>'
    return f"{button}\n{block(content, what)}"
