"""Strips of dots: one row a group, one dot a name or template, stacked where they would cover each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recuse.report import text
from recuse.report.svg_parts import AXIS, Scale, at, axis, frame, label, safe, value, x_of

_APART = 2.6  # per cent of the width that two dots of one level are apart
_LEVELS, _STEP = 4, 9  # levels of a stack, and pixels between them; a taller stack overlaps
_ROW = 40 + _LEVELS * _STEP
_STEPS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0, 1000.0)
_NAMED = 40  # dots that the words name, those farthest from the mean first


@dataclass(frozen=True, slots=True)
class Strip:
    title: str
    dots: tuple[tuple[str, float], ...]  # name, value
    marked: frozenset[str] = frozenset()  # names that stand out, drawn as squares


def strips(rows: Sequence[Strip], *, name: str, title: str, zero: bool) -> str:
    """A line across each row stands at its mean. `zero`: the values are differences, whose axis has a line at 0."""
    scale = _scale([v for row in rows for _, v in row.dots], zero=zero)
    bottom = _ROW * len(rows)
    parts = axis(scale, 0, bottom)
    if zero:
        x = x_of(0.0, scale)
        parts.append(f'<line class="zero" x1="{x}" x2="{x}" y1="18" y2="{bottom}"/>')
    words = []
    for i, row in enumerate(rows):
        mean = sum(v for _, v in row.dots) / len(row.dots)
        far = sorted(row.dots, key=lambda dot: (dot[0] not in row.marked, -abs(dot[1] - mean), dot[0]))
        more = f" and {len(far) - _NAMED:,} more" if len(far) > _NAMED else ""
        named = ", ".join(f"{who} {text.number(v, 2)}" for who, v in far[:_NAMED])
        words.append(f"{row.title}: mean {text.number(mean, 2)}; {named}{more}")
        parts.append(label(row.title, i * _ROW + 13) + value(f"mean {text.number(mean, 2)}", i * _ROW + 13))
        parts.append(_mean(mean, scale, i * _ROW))
        parts += _dots(row, scale, (i + 1) * _ROW - 10)
    return frame(parts, name=name, title=title, words=". ".join(words) + ".", height=bottom + AXIS)


def _scale(values: Sequence[float], *, zero: bool) -> Scale:
    low, high = min(values, default=0.0), max(values, default=1.0)
    if not zero and low >= 0 and high <= 1:
        return 0.0, 1.0
    reach = max(abs(low), abs(high))
    step = next((s for s in _STEPS if reach <= 2 * s), reach / 2)
    return (-2 * step, 2 * step) if zero or low < 0 else (0.0, 2 * step)


def _mean(mean: float, scale: Scale, top: int) -> str:
    x = x_of(mean, scale)
    return f'<line class="bar" x1="{x}" x2="{x}" y1="{top + 22}" y2="{top + _ROW - 4}"/>'


def _dots(row: Strip, scale: Scale, floor: int) -> list[str]:
    """From left to right, each on the lowest level that is free."""
    ends = [-100.0] * _LEVELS
    drawn = []
    for who, v in sorted(row.dots, key=lambda dot: (dot[1], dot[0])):
        place = at(v, scale)
        level = next((i for i, end in enumerate(ends) if place - end >= _APART), _LEVELS - 1)
        ends[level] = place
        y = floor - level * _STEP
        if who in row.marked:
            mark = (
                f'<svg x="{place:.2f}%" y="{y}" overflow="visible">'
                '<rect class="recuse" x="-5" y="-5" width="10" height="10"/></svg>'
            )
        else:
            mark = f'<circle class="dot" cx="{place:.2f}%" cy="{y}" r="4"/>'
        drawn.append(f"<g><title>{safe(f'{who}: {text.number(v)}', 200)}</title>{mark}</g>")
    return drawn
