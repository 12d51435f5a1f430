"""The report of a comparison of judges as one self-contained HTML page: every variant in every measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from recuse import assets
from recuse.report import hardened as words
from recuse.report import svg, text
from recuse.report.hardened import COLOURS, Cell, HardenReport
from recuse.report.html_parts import bullets, copyable, figure, head, page, safe, section, table, unbroken
from recuse.types import Finding

_DIRECTION = {"lower": "Lower is better.", "higher": "Higher is better.", "neither": "It decides nothing."}


def hardened_html(report: HardenReport) -> str:
    """The whole page. Text of models and files is escaped; the page's policy forbids all loading and all scripts but
    its own."""
    outcome = "fit" if report.winner else "inconclusive"
    sections = [
        head("Hardening of a judge", outcome, report.headline, words.facts(report)),
        section("What was tried", "tried", _tried(report)),
        section("Every measure of every variant", "measures", f"<p>{safe(words.READ, 2000)}</p>\n{_matrix(report)}"),
        section("Each measure against its margin", "plots", _plots(report)),
        section("What stands against each", "against", _against(report)),
        section("How to use the winner", "use", _use(report)),
        section("Notes", "notes", bullets(report.notes)),
        section("Configuration", "config", copyable(text.toml(report.config), "configuration")),
    ]
    style = "".join(assets.data(name).read_text("utf-8") for name in ("report.css", "discovered.css"))
    script = assets.data("report.js").read_text("utf-8")
    return page(f"Hardening of {report.judge}", "\n".join(s for s in sections if s), style=style, script=script)


def _tried(report: HardenReport) -> str:
    rows = []
    for id, what, prompt, *numbers, wins in words.tried_rows(report):
        named = _badge(wins, "fit" if wins.startswith("yes") else "inconclusive") if wins else ""
        rows.append([f"<code>{safe(id)}</code>", safe(what), f"<code>{safe(prompt)}</code>", *map(safe, numbers),
                     named])  # fmt: skip
    return table("The present judge and its variants", words.TRIED, rows, stacked=True)


def _badge(said: str, colour: str) -> str:
    return f'<span class="badge {colour}">{safe(said)}</span>'


def _matrix(report: HardenReport) -> str:
    rows = []
    for cells in report.of_measure():
        first = cells[0]
        primary = " (must be better)" if first.measure == report.primary else ""
        name = f"{safe(first.measure_title + primary)} <code>{safe(first.measure)}</code>"
        rows.append([name, words.present_value(cells), *map(_cell, cells)])
    names = [safe(v.id) for v in report.variants]
    return table("Variant minus present judge", ("Measure", words.PRESENT, *names), rows, stacked=True)


def _cell(cell: Cell) -> str:
    outcome = words.word(cell)
    badge = _badge(outcome, COLOURS[outcome]) if outcome else ""
    parts = (unbroken(safe(words.difference(cell))), words.chance(cell), badge)
    return "".join(f"<div>{part}</div>" for part in parts if part)


def _plots(report: HardenReport) -> str:
    """A forest a measure, one row a variant; the band holds what the rule allows."""
    plots = []
    for i, cells in enumerate(report.of_measure()):
        first = cells[0]
        primary = first.measure == report.primary
        shown = [
            replace(c.finding, title=v.id, tolerance=_allowed(c, primary), outcome=_mark(words.word(c), primary))
            for v, c in zip(report.variants, cells, strict=True)
        ]
        said = {c.finding.id: words.word(c) for c in cells if words.word(c)}
        title = f"{first.measure_title}, variant minus present"
        band = "where it would be better" if primary else "within the margin"
        plot = svg.forest(
            shown, name=f"measure{i}", title=title, scale=_scale(shown, first.margin), band=f"{band}:", said=said
        )
        plots.append(f"<h3>{safe(first.measure_title)}</h3>\n{figure(plot, _legend(first, report, primary=primary))}")
    return "\n".join(plots)


def _mark(outcome: str, primary: bool) -> str | None:
    """In what must be better, no worse is not enough."""
    return COLOURS["unclear"] if primary and outcome == "not worse" else COLOURS.get(outcome)


def _allowed(cell: Cell, primary: bool) -> tuple[float | None, float | None] | None:
    """What a variant that wins may differ by: better at all in what must be better, else less than the margin worse."""
    edge = 0.0 if primary else cell.margin
    return {"lower": (None, edge), "higher": (-edge, None), "neither": None}[cell.better]


def _scale(findings: Sequence[Finding], margin: float) -> tuple[float, float]:
    """Around zero, wide enough for the margin on either side."""
    edges = Finding("", "", 0.0, (-margin, margin))
    return svg.effect_scale([*findings, edges])


def _legend(cell: Cell, report: HardenReport, *, primary: bool) -> str:
    drawn = f"Variant minus present. {_DIRECTION[cell.better]} Bar: {text.intervals(report.level)}."
    if cell.better == "neither":
        return drawn
    if primary:
        return (
            f"{drawn} This must be better: circle, better; square, worse or turned; hollow, not proven. Band: better."
        )
    return f"{drawn} Circle: better or not worse. Square: worse or turned. Hollow: unclear. Band: within the margin."


def _against(report: HardenReport) -> str:
    items = [f"<li><code>{safe(id)}</code>: {safe(why, 2000)}</li>" for id, why in words.against(report)]
    return "<ul>\n" + "\n".join(items) + "\n</ul>" if items else ""


def _use(report: HardenReport) -> str:
    return f"<p>{safe(said, 2000)}</p>" if (said := words.use(report)) else ""
