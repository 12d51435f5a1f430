"""The report of a comparison of judges as Markdown (GitHub flavour)."""

from __future__ import annotations

from recuse.report import hardened as words
from recuse.report import text
from recuse.report.hardened import Cell, HardenReport
from recuse.report.markdown_parts import block, bullets, code, escape, section, table

_NAMES = ("Judge", "Prompt", "Biases of", "Must be better")  # facts that are names of something


def hardened_markdown(report: HardenReport) -> str:
    """The report as Markdown text. Text of models and files is escaped."""
    told = words.facts(report)
    parts = [
        "# Hardening of a judge",
        f"**{escape(report.headline, limit=2000)}**",
        "\n".join(f"- {name}: {code(v) if name in _NAMES else escape(v)}" for name, v in told.items() if v),
        "## What was tried",
        _tried(report),
        "## Every measure of every variant",
        words.READ,
        _matrix(report),
        *section("## What stands against each", _against(report)),
        *section("## How to use the winner", escape(words.use(report))),
        *section("## Notes", bullets(report.notes)),
        "## Configuration",
        block(text.toml(report.config)),
    ]
    return "\n\n".join(parts) + "\n"


def _tried(report: HardenReport) -> str:
    rows = []
    for id, what, prompt, *numbers, wins in words.tried_rows(report):
        named = f"**{wins}**" if id == report.winner else wins
        rows.append([code(id), escape(what), code(prompt), *map(escape, numbers), named])
    return table(words.TRIED, rows)


def _matrix(report: HardenReport) -> str:
    rows = []
    for cells in report.of_measure():
        first = cells[0]
        name = f"{escape(first.measure_title)} {code(first.measure)}"
        shown = [words.present_value(cells), *map(_cell, cells)]
        rows.append([f"**{name}**" if first.measure == report.primary else name, *shown])
    return table(("Measure", words.PRESENT, *(code(v.id) for v in report.variants)), rows)


def _cell(cell: Cell) -> str:
    outcome = words.word(cell)
    shown = ", ".join(part for part in (words.difference(cell), words.chance(cell)) if part)
    return escape(shown) + (f": **{outcome}**" if outcome else "")


def _against(report: HardenReport) -> str:
    return "\n".join(f"- {code(id)}: {escape(why, limit=2000)}" for id, why in words.against(report))
