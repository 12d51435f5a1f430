"""The report of a discovery as one self-contained HTML page: what was proven first, then everything else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from recuse import assets
from recuse.report import discovered_words as words
from recuse.report import marks, svg, text
from recuse.report.discovered import DiscoverResult, Found, Worked
from recuse.report.html_parts import (
    bullets,
    copyable,
    figure,
    findings_table,
    folded,
    head,
    named,
    page,
    safe,
    section,
    table,
    unbroken,
)
from recuse.types import Finding


def discovered_html(result: DiscoverResult) -> str:
    """The whole page. Text from a model or from data is escaped; the page's policy forbids all loading and all scripts
    but its own."""
    accepted, unproven, level = result.of("accepted"), result.of("unproven"), result.level
    sections = [
        head("Discovery of biases", "recuse" if accepted else "inconclusive", result.headline, words.facts(result)),
        section("Accepted biases", "accepted", _cards(accepted, level) or "<p>No candidate was accepted.</p>"),
        section("Passed every test, not confirmed", "unproven", _cards(unproven, level)),
        section("Effects of all candidates", "effects", _plots(result)),
        section("Rejected on the validation part", "rejected", _losers("Rejected candidates", result.of("rejected"))),
        section("Dropped at the screen", "dropped", _losers("Dropped candidates", result.of("dropped"))),
        section("Beside the candidates", "run", _beside(result)),
        section("Rounds", "rounds", _rounds(result)),
        section("Limits", "limits", bullets(result.limits)),
        section("Notes", "notes", bullets(result.notes)),
        section("Configuration", "config", copyable(text.toml(result.config), "configuration")),
    ]
    style = "".join(assets.data(name).read_text("utf-8") for name in ("report.css", "discovered.css"))
    script = assets.data("report.js").read_text("utf-8")
    return page(f"Biases of {result.judge}", "\n".join(part for part in sections if part), style=style, script=script)


def _cards(every: Sequence[Found], level: float) -> str:
    return "\n".join(_card(found, level) for found in every)


def _card(found: Found, level: float) -> str:
    rows = "\n".join(
        f"<div><dt>{safe(label)}</dt><dd>{unbroken(safe(shown))}</dd></div>"
        for label, shown in words.card(found, level)
    )
    badge = f' <span class="severity">{safe(found.severity)}</span>' if found.severity else ""
    told = [
        f"<h3>{named(found.name, found.id)}{badge}</h3>",
        f"<p>{safe(found.definition)}</p>",
        f'<dl class="facts numbers">\n{rows}\n</dl>',
        f"<h4>Against it</h4>\n{bullets(found.reasons)}" if found.reasons else "",
        f"<h4>Instruction to the teacher</h4>\n<p>{safe(found.instruction)}</p>",
        f"<h4>Named as</h4>\n{bullets(named_as)}" if (named_as := words.wordings(found)) else "",
        *(_example(e, i + 1) for i, e in enumerate(found.examples)),
    ]
    return "<article>\n" + "\n".join(part for part in told if part) + "\n</article>"


def _example(example: Worked, number: int) -> str:
    before, after = marks.marked(example.original, example.rewritten)
    rows = [
        ("Question", safe(example.question)),
        ("Chosen answer", safe(example.chosen)),
        ("Rejected answer as it was", _pieces(before, "del")),
        ("Rejected answer as rewritten", _pieces(after, "ins")),
        *((safe(label), safe(shown)) for label, shown in words.verdicts(example)),
        *([("The judge's words", safe(example.words))] if example.words else []),
    ]
    told = "\n".join(f"<dt>{label}</dt><dd>{shown}</dd>" for label, shown in rows)
    return folded(f"Example {number}: {safe(words.where(example))}", f"<dl>\n{told}\n</dl>", unfolded=number == 1)


def _pieces(pieces: Sequence[marks.Piece], mark: str) -> str:
    shown = [(safe(piece, marks.LONGEST + 100), changed) for piece, changed in pieces]
    return "".join(f"<{mark}>{piece}</{mark}>" if changed else piece for piece, changed in shown)


def _plots(result: DiscoverResult) -> str:
    """One plot a part of the data, all on one scale: a candidate that was validated is left out of the screen's."""
    shown: dict[str, list[Finding]] = {"effect": [], "validation": [], "screen": []}
    for found in result.candidates:
        for kind, findings in shown.items():
            finding = words.of(found, kind)
            if finding is not None and (kind != "screen" or words.of(found, "validation") is None):
                findings.append(replace(finding, title=found.name, tolerance=None))
    shams = words.sham_range(result)
    scale = svg.effect_scale([f for findings in shown.values() for f in findings])
    plots = []
    for kind, findings in shown.items():
        if not findings:
            continue
        band = shams if kind == "validation" else None
        title = f"Effects against the placebo on the {words.part(findings[0])} part"
        legend = f"{title}. Mark: estimate. Bar: {text.intervals(result.level)}."
        plot = svg.forest(
            [replace(f, tolerance=band) for f in findings],
            name=f"plot-{kind}", title=title, scale=scale, band="where shams fell:",
        )  # fmt: skip
        plots.append(figure(plot, legend + " Band: where the shams fell." if band else legend))
    return "\n".join(plots)


def _losers(caption: str, found: Sequence[Found]) -> str:
    rows = [[named(f.name, f.id), *map(safe, words.rejected_row(f))] for f in found]
    return table(caption, words.REJECTED, rows, stacked=True) if rows else ""


def _beside(result: DiscoverResult) -> str:
    rows = [[f"<code>{safe(row[0])}</code>", *row[1:]] for row in words.arm_rows(result.findings)]
    measured = findings_table("Findings of the run", result.findings, result.level)
    return measured + ("\n" + folded("By arm", table("By arm", words.ARMS, rows, stacked=True)) if rows else "")


def _rounds(result: DiscoverResult) -> str:
    top, rows = words.round_rows(result.rounds)
    if not rows:
        return ""
    cells = [[safe(cell) for cell in row] for row in rows]
    return table("What each round did", [safe(h) for h in top], cells, stacked=True)
