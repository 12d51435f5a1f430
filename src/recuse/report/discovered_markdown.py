"""The report of a discovery as Markdown (GitHub flavour): what was proven first, then everything else."""

from __future__ import annotations

from collections.abc import Sequence

from recuse.report import discovered_words as words
from recuse.report import marks, text
from recuse.report.discovered import DiscoverResult, Found, Worked
from recuse.report.markdown_parts import block, bullets, code, escape, findings_table, section, table


def discovered_markdown(result: DiscoverResult) -> str:
    """The report as Markdown text. Model text is escaped: it opens no markup, HTML, link or table cell."""
    accepted, unproven = result.of("accepted"), result.of("unproven")
    parts = [
        "# Discovery of biases",
        f"**{escape(result.headline)}**",
        "\n".join(f"- {label}: {escape(value)}" for label, value in words.facts(result).items() if value),
        "## Accepted biases",
        *([part for f in accepted for part in _card(f, result.level)] or ["No candidate was accepted."]),
        *section(
            "## Passed every test, not confirmed",
            "\n\n".join(part for f in unproven for part in _card(f, result.level)),
        ),
        *section("## Rejected on the validation part", _losers(result.of("rejected"))),
        *section("## Dropped at the screen", _losers(result.of("dropped"))),
        *section("## Beside the candidates", findings_table(result.findings, result.level)),
        *section("## Arms", _arms(result)),
        *section("## Rounds", _rounds(result)),
        *section("## Limits", bullets(result.limits)),
        *section("## Notes", bullets(result.notes)),
        "## Configuration",
        block(text.toml(result.config)),
    ]
    return "\n\n".join(parts) + "\n"


def _card(found: Found, level: float) -> list[str]:
    rows = [(escape(label), escape(shown)) for label, shown in words.card(found, level)]
    severity = f", severity: **{escape(found.severity)}**" if found.severity else ""
    told = [
        f"### {escape(found.name)} ({code(found.id)}){severity}",
        escape(found.definition),
        table(("Measure", "Value"), rows),
        *section("Against it:", bullets(found.reasons)),
        f"Instruction to the teacher: {escape(found.instruction)}",
        *section("Named as:", bullets(words.wordings(found))),
    ]
    return told + [_example(e, i + 1) for i, e in enumerate(found.examples)]


def _example(example: Worked, number: int) -> str:
    before, after = marks.marked(example.original, example.rewritten)
    rows = [
        ("Question", escape(example.question)),
        ("Chosen answer", escape(example.chosen)),
        ("Rejected answer as it was", _pieces(before)),
        ("Rejected answer as rewritten", _pieces(after)),
        *((escape(label), escape(shown)) for label, shown in words.verdicts(example)),
        *([("The judge's words", escape(example.words))] if example.words else []),
    ]
    return table((f"Example {number}", escape(words.where(example))), rows)


def _pieces(pieces: Sequence[marks.Piece]) -> str:
    """Pieces end at blanks, so that a mark of emphasis stands beside one and always takes effect."""
    shown = [(escape(piece, limit=marks.LONGEST), changed) for piece, changed in pieces]
    return " ".join(f"**{piece}**" if changed else piece for piece, changed in shown if piece)


def _losers(found: Sequence[Found]) -> str:
    rows = [[f"{escape(f.name)} {code(f.id)}", *map(escape, words.rejected_row(f))] for f in found]
    return table(words.REJECTED, rows) if rows else ""


def _arms(result: DiscoverResult) -> str:
    rows = [[code(row[0]), *row[1:]] for row in words.arm_rows(result.findings)]
    return table(words.ARMS, rows) if rows else ""


def _rounds(result: DiscoverResult) -> str:
    head, rows = words.round_rows(result.rounds)
    return table([escape(h) for h in head], [[escape(cell) for cell in row] for row in rows]) if rows else ""
