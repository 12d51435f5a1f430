"""The report of a probe as Markdown (GitHub flavour): the gaps first, then templates and names, then the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from recuse.report import probed, text
from recuse.report.markdown_parts import block, bullets, escape, findings_table, section, table
from recuse.report.probed import Block, ProbeResult


def probed_markdown(result: ProbeResult) -> str:
    """The report as Markdown text. Model text is escaped: it opens no markup, HTML, link or table cell."""
    told = probed.facts(result)
    parts = [
        "# Probe of a model",
        f"**{escape(result.headline)}**",
        "\n".join(f"- {label}: {escape(value)}" for label, value in told.items() if value),
        *(
            part
            for heading, family in result.families.items()
            for part in (f"## {heading}", findings_table(family, result.level))
        ),
        *(part for one in probed.blocks(result) for part in (f"## {one.heading}", *_block(one))),
        *section("## Where the gap is largest", "\n\n".join(_example(e) for e in result.tables["examples"])),
        *section("## Notes", bullets(result.notes)),
        "## Configuration",
        block(text.toml(result.config)),
    ]
    return "\n\n".join(parts) + "\n"


def _block(shown: Block) -> Iterator[str]:
    for caption, rows in shown.tables.items():
        if shown.captioned:
            yield f"### {escape(caption)}"
        yield table(shown.columns, [[escape(cell) for cell in row] for row in rows])


def _example(example: Mapping[str, object]) -> str:
    rows = [(escape(label), escape(shown)) for label, shown in probed.example_rows(example)]
    return table(("Template", escape(example["template"])), rows)
