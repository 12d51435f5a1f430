"""Two rates side by side: one row a measure, from a hollow mark (before) to a filled one (after)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recuse.report import text
from recuse.report.svg_parts import AXIS, axis, frame, label, safe, share_scale, value, x_of

_ROW = 44


@dataclass(frozen=True, slots=True)
class Between:
    title: str
    first: float
    second: float


def between(rows: Sequence[Between], *, name: str, title: str, first: str, second: str) -> str:
    """`first` and `second` say in words what the two marks of every row are."""
    scale = share_scale([v for row in rows for v in (row.first, row.second)])
    bottom = _ROW * len(rows)
    parts = axis(scale, 0, bottom)
    for i, row in enumerate(rows):
        y = i * _ROW + 29
        start, end = x_of(row.first, scale), x_of(row.second, scale)
        numbers = f"{text.number(row.first, 2)} → {text.number(row.second, 2)}"
        parts.append(
            f"<g><title>{safe(_words(row, first, second), 300)}</title>{label(row.title, i * _ROW + 13)}"
            f'{value(numbers, i * _ROW + 13)}<line class="bar" x1="{start}" x2="{end}" y1="{y}" y2="{y}"/>'
            f'<circle class="hollow" cx="{start}" cy="{y}" r="5"/><circle class="dot" cx="{end}" cy="{y}" r="5"/></g>'
        )
    words = ". ".join(_words(row, first, second) for row in rows) + "."
    return frame(parts, name=name, title=title, words=words, height=bottom + AXIS)


def _words(row: Between, first: str, second: str) -> str:
    return f"{row.title}: {first} {text.number(row.first)}, {second} {text.number(row.second)}"
