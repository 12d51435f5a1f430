"""An explanation as Markdown, as one HTML page, and as `findings.json`.

{"schema": 1, "kind": "explain", "headline": str, "judge": str, "pairs": str, "people": str, "level": number,
 "counts": {kind: int},                               pairs, by kind of disagreement
 "findings": [...],                                   as of an audit, outcome and tolerance null
 "reader": {"verdicts": int, "contradicting": int, "one_sided": int, "line": str,
            "table": [{"recorded": kind, "read": kind, "pairs": int}, ...]} | null,
 "features": {"reason": str | null, "left_out": {id: why}, "n": int} | null,
 "injected": {"pairs": int, "confirmed": [id, ...]} | null,
 "themes": {"from": str, "n": int, "none": int, "several": int, "criterion": str, "reason": str | null,
            "themes": [{"words": [...], "share": number, "interval": [low, high], "count": int, "stability": number,
                        "right": number | null,       share among explanations of right verdicts
                        "difference": [low, high] | null, "examples": [{"pair": str, "text": str}]}, ...]},
 "crossed": [{"theme": str, "bias": str, "by": str, "share": number, "others": number | null,
              "interval": [low, high] | null, "n": int}, ...],
 "recommendation": {"paragraph": str | null, "confirmed": [{"id", "name", "effect", "interval", "n", "how"}, ...],
                       "unproven": [str, ...]},
 "examples": {kind: [...]}, "limits": [...], "notes": [...], "usage": {...}, "config": {...}}
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from recuse import assets
from recuse.explain.cases import KINDS
from recuse.explain.features import BY_ID
from recuse.explain.result import Example, ExplainResult
from recuse.explain.themes import Theme
from recuse.prompts import transcript
from recuse.report import html_parts, text
from recuse.report import markdown_parts as md
from recuse.types import Finding

_FEATURES = ("Feature: more ... in the wrong answer", "Beside the others", "Alone", "q", "VIF", "People prefer more",
             "Pairs that differ")  # fmt: skip
_THEMES = ("Theme", "Share of the explanations", "Among right verdicts", "Difference", "Comes back", "Example")
_CROSSED = ("Theme", "Bias", "By", "Share in the theme", "Among the others", "Difference")
_INJECTED = ("Bias", "Turned into the error", "By its placebo", "Difference", "Effect on errors", "q", "Status")
_READER = ("As recorded", "As the text says", "Pairs")

Rows = list[list[str]]
Section = tuple[str, list[str], list[tuple[Sequence[str], Rows]], list[str]]


def explained_markdown(result: ExplainResult) -> str:
    """Model text is escaped: it opens no markup, HTML, link or table cell."""
    parts = ["# Why judge and people disagree", f"**{md.escape(result.headline, limit=2000)}**",
             "\n".join(f"- {label}: {md.escape(value)}" for label, value in _facts(result).items())]  # fmt: skip
    for heading, lead, tables, tail in _sections(result):
        parts.append(f"## {heading}")
        parts += [md.escape(line, limit=2000) for line in lead]
        for head, rows in tables:
            if rows:
                parts.append(md.table([md.escape(h) for h in head], [[md.escape(c) for c in row] for row in rows]))
        if tail:
            parts.append(md.bullets(tail))
    if result.paragraph is not None:
        parts.append("\n>\n".join(f"> {md.escape(line, limit=2000)}" for line in result.paragraph.split("\n")))
    parts += ["## Limits", md.bullets(result.limits), *md.section("## Notes", md.bullets(result.notes)),
              "## Configuration", md.block(text.toml(result.config))]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def explained_html(result: ExplainResult) -> str:
    """The whole page; text of models and data is escaped, and the page's policy forbids scripts and any loading."""
    sections = [html_parts.head("Why judge and people disagree", "inconclusive", result.headline, _facts(result))]
    for i, (heading, lead, tables, tail) in enumerate(_sections(result)):
        body = "\n".join(f"<p>{html_parts.safe(line, 2000)}</p>" for line in lead)
        for head, rows in tables:
            if rows:
                cells = [[html_parts.safe(cell) for cell in row] for row in rows]
                body += "\n" + html_parts.table(heading, [html_parts.safe(h) for h in head], cells)
        sections.append(html_parts.section(heading, f"part{i}", body + "\n" + html_parts.bullets(tail)))
    paragraph = html_parts.block(result.paragraph or "", "paragraph for the judge's prompt")
    sections += [
        html_parts.section("Paragraph for the judge's prompt", "paragraph", paragraph),
        html_parts.section("Limits", "limits", html_parts.bullets(result.limits)),
        html_parts.section("Notes", "notes", html_parts.bullets(result.notes)),
        html_parts.section("Configuration", "config", html_parts.block(text.toml(result.config), "configuration")),
    ]
    style = assets.data("report.css").read_text("utf-8")
    return html_parts.page(f"Disagreements of {result.judge}", "\n".join(s for s in sections if s), style=style)


def _recommended(result: ExplainResult) -> Section:
    """What was proven, the paragraph apart; the tables and the page show that as a block."""
    lines, reader = [], result.reader
    if reader is not None and reader.faults:
        lines.append(
            "First read the verdicts anew: no words to the judge mend a fault of the reader. What is recommended rests "
            "on the verdicts as their texts say."
        )
    if result.paragraph is None:
        lines.append("Nothing was confirmed on this judge, so nothing is recommended for its prompt.")
    else:
        lines.append(
            "The paragraph below is in recommendation.md. Whether it helps was not measured; recuse harden does."
        )
    rows = [
        [c.bias.name, text.estimate(Finding("", "", c.effect, c.interval)), f"{c.n:,}", c.how] for c in result.confirmed
    ]
    unproven = [
        f"Not in the paragraph, since it goes with errors and no cause is proven: {u}." for u in result.unproven
    ]
    return "Recommendation", lines, [(("Bias", "Effect", "Pairs", "How it was proven"), rows)], unproven


def _facts(result: ExplainResult) -> dict[str, str]:
    return {
        "Judge": result.judge, "Pairs": result.pairs, "People": result.people,
        "Usage": text.usage_line(result.usage) or "no calls",
    }  # fmt: skip


def _sections(result: ExplainResult) -> list[Section]:
    """Heading, sentences, tables (head and cells), bullets; nothing escaped yet."""
    sections = [_kinds(result)]
    sections += [_reader(result)] if result.reader else []
    sections += [_features(result)] if result.model else []
    sections += [_injected(result)] if result.injected else []
    sections += [_themes(result), _examples(result), _recommended(result)]
    return sections


def _kinds(result: ExplainResult) -> Section:
    by = {f.id: f for f in result.findings}
    rows = [
        [title, f"{result.counts[kind]:,}", text.estimate(by[f"explain.kind.{kind}"])] for kind, title in KINDS.items()
    ]
    first = by["explain.first"]
    lines = [f"Share preferring the answer shown first: {text.estimate(first)}, p {text.p_value(first.p)}."]
    if first.estimate is None:
        lines = [f"The place of an answer cannot be told apart: {first.reason}."]
    return "Where they part", lines, [(("Kind", "Pairs", "Share"), rows)], []


def _reader(result: ExplainResult) -> Section:
    assert result.reader is not None
    rows = [[KINDS[old], KINDS[new], f"{n:,}"] for old, new, n in result.reader.table]
    wanted = ("explain.reader", "explain.position.", "explain.consistency.", "explain.disagreement.", "explain.first.")
    told = [f"{f.title}: {text.estimate(f)}" for f in result.findings if f.id.startswith(wanted)]
    return "The reader's fault, apart from the judge's", [result.reader.line], [(_READER, rows)], told


def _features(result: ExplainResult) -> Section:
    model = result.model
    assert model is not None
    lines = [
        "Log odds of an error for one standard deviation more of a feature in the wrong answer than in the right one; "
        "beside all others in one model, and alone. q: Benjamini-Hochberg over the features. VIF: how much of its "
        "variance it owes to the others; far above 1, the two are hard to tell apart. No cause is claimed."
    ]
    if model.reason:
        lines.append(f"No model: {model.reason}.")
    rows = [
        [BY_ID[p.feature].title + (" (found)" if p.found else ""), _estimate(p.beside), _estimate(p.alone),
         text.p_value(p.q), f"{p.vif:.1f}", f"{p.people_more:.2f}", f"{p.differ:,}"]
        for p in model.pulls
    ]  # fmt: skip
    left = [f"Left out: {BY_ID[id].title}: {why}." for id, why in model.left_out.items()]
    return "What goes with errors", lines, [(_FEATURES, rows)], left


def _injected(result: ExplainResult) -> Section:
    assert result.injected is not None
    by = {f.id: f for f in result.findings}
    rows = []
    for f in (f for f in result.findings if f.id.startswith("explain.turned.")):
        effect = by[f"explain.bias.{f.id.removeprefix('explain.turned.')}.effect"]
        q = effect.details.get("q")
        rows.append([
            f.title.partition(":")[0], _share(f, "share"), _share(f, "placebo"), text.estimate(f),
            text.estimate(effect), text.p_value(q), str(effect.details.get("status") or ""),
        ])  # fmt: skip
    lines = [
        f"Put by rule into the wrong answers of {result.injected.pairs:,} pairs that the judge had right in both "
        "orders. Turned: wrong in both orders with it. What counts is the difference to a meaningless edit of the same "
        "size on the same pairs."
    ]
    return "Biases put in where the judge was right", lines, [(_INJECTED, rows)], []


def _share(finding: Finding, name: str) -> str:
    value = finding.details.get(name)
    return "" if value is None else f"{value:.3f}"


def _themes(result: ExplainResult) -> Section:
    themes = result.themes
    assert themes is not None
    lines = [f"From {result.reasons}, over {themes.n:,} disagreements about content."]
    if themes.reason:
        return "Themes", [*lines, f"No themes: {themes.reason}."], [], []
    lines += [
        themes.criterion,
        f"Shares overlap: {themes.several:,} explanations carry more than one theme, {themes.none:,} none.",
    ]
    rows = [_theme_row(t, result.theme_names) for t in themes.themes]
    crossed = [
        [c.theme, c.bias, c.by, f"{c.share:.2f} of {c.n:,}", "" if c.others is None else f"{c.others:.2f}",
         _estimate(c.difference)]
        for c in result.crossed
    ]  # fmt: skip
    if not crossed:
        lines.append("No bias of what answers say is confirmed, so there is nothing to hold the themes against.")
    return "Themes", lines, [(_THEMES, rows), (_CROSSED, crossed)], []


def _theme_row(theme: Theme, names: Sequence[str]) -> list[str]:
    example = f"{names[theme.examples[0][0]]}: {theme.examples[0][1]}" if theme.examples else ""
    return [
        ", ".join(theme.words), f"{_estimate(theme.share)}, {len(theme.members):,} cases",
        _estimate(theme.beside) if theme.beside else "", _estimate(theme.difference) if theme.difference else "",
        f"{theme.stability:.2f}", example,
    ]  # fmt: skip


def _examples(result: ExplainResult) -> Section:
    tables: list[tuple[Sequence[str], Rows]] = []
    for kind, title in KINDS.items():
        rows = [_example_row(e) for e in result.examples.get(kind, ())]
        if rows:
            tables.append(((title, "Verdicts", "Question", "People prefer", "The other answer", "Judge's words"), rows))
    return "Examples", [], tables, []


def _example_row(example: Example) -> list[str]:
    pair, seen = example.pair, example.seen
    said = ", ".join(f"{order}: {v or 'none'}" for order, v in seen.verdicts.items())
    shown = [transcript(pair.prompt), pair.chosen, pair.rejected] if pair else ["", "", ""]
    name = f"{seen.pair} ({example.domain})" if example.domain else seen.pair
    return [name, f"{said}; people: {seen.people}", *shown, example.words or ""]


def _estimate(found: Any) -> str:
    """An estimate of the statistics as a finding shows it."""
    return text.estimate(Finding("", "", found.estimate, found.interval, reason=found.reason))


def explained_json(result: ExplainResult) -> dict[str, Any]:
    """The result as plain JSON values, numbers not rounded."""
    reader, model, themes = result.reader, result.model, result.themes
    assert themes is not None
    return {
        "schema": 1, "kind": "explain",
        **{name: getattr(result, name) for name in ("headline", "judge", "pairs", "people", "level")},
        "counts": dict(result.counts),
        "findings": [_finding(f) for f in result.findings],
        "reader": reader and {
            "verdicts": reader.verdicts, "contradicting": reader.contradicting, "one_sided": reader.one_sided,
            "line": reader.line, "table": [{"recorded": a, "read": b, "pairs": n} for a, b, n in reader.table],
        },
        "features": model and {"reason": model.reason, "left_out": dict(model.left_out), "n": model.n},
        "injected": result.injected
        and {"pairs": result.injected.pairs, "confirmed": list(result.injected.confirmed)},
        "themes": {
            "from": result.reasons, "n": themes.n, "none": themes.none, "several": themes.several,
            "criterion": themes.criterion, "reason": themes.reason,
            "themes": [_theme_json(t, result.theme_names) for t in themes.themes],
        },
        "crossed": [
            {"theme": c.theme, "bias": c.bias, "by": c.by, "share": c.share, "others": c.others,
             "interval": c.difference.interval, "n": c.n} for c in result.crossed
        ],
        "recommendation": {
            "paragraph": result.paragraph,
            "confirmed": [
                {"id": c.bias.id, "name": c.bias.name, "effect": c.effect, "interval": c.interval, "n": c.n,
                 "how": c.how} for c in result.confirmed
            ],
            "unproven": list(result.unproven),
        },
        "examples": {kind: [_example_json(e) for e in of] for kind, of in result.examples.items()},
        **{name: getattr(result, name) for name in ("limits", "notes", "usage", "config")},
    }  # fmt: skip


def explained_text(result: ExplainResult) -> str:
    """As `findings.json` carries it. Raises ValueError for what is not finite."""
    return json.dumps(explained_json(result), indent=2, allow_nan=False) + "\n"


def _finding(finding: Finding) -> dict[str, Any]:
    names = ("id", "title", "estimate", "interval", "n", "groups", "p", "tolerance", "outcome", "method", "reason",
             "bounds", "details")  # fmt: skip
    return {name: getattr(finding, name) for name in names}


def _theme_json(theme: Theme, names: Sequence[str]) -> dict[str, Any]:
    return {
        "words": theme.words, "share": theme.share.estimate, "interval": theme.share.interval,
        "count": len(theme.members), "stability": theme.stability,
        "right": theme.beside and theme.beside.estimate, "difference": theme.difference and theme.difference.interval,
        "examples": [{"pair": names[place], "text": words} for place, words in theme.examples],
    }  # fmt: skip


def _example_json(example: Example) -> dict[str, Any]:
    pair = example.pair
    return {
        "pair": example.seen.pair, "domain": example.domain, "people": example.seen.people,
        "verdicts": dict(example.seen.verdicts), "question": pair and transcript(pair.prompt),
        "preferred": pair and pair.chosen, "other": pair and pair.rejected, "words": example.words,
    }  # fmt: skip
