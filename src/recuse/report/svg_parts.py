"""What every plot is built from: a frame with its words, axes, lines, and the place of a value.

x is in per cent of the width, so that text keeps its size on a phone; y is in pixels. Colours and strokes are classes
that `recuse/data/report.css` defines.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from recuse.report import text

AXIS = 30  # pixels below a panel for the numbers of its axis
_WIDE, _NARROW = 72, 42  # characters of a label that fit on a screen and on a phone

Scale = tuple[float, float]


def frame(parts: Iterable[str], *, name: str, title: str, words: str, height: int) -> str:
    """A plot of these parts. `name` makes ids unique in the page; `words` repeat the plot for those who do not see."""
    return (
        f'<svg class="plot" role="img" width="100%" height="{height}" aria-labelledby="{name}-title {name}-desc">\n'
        f'<title id="{name}-title">{safe(title, 300)}</title>\n<desc id="{name}-desc">{safe(words, 4000)}</desc>\n'
        # The inner frame leaves room for marks and axis numbers at both ends.
        f'<svg x="2%" width="96%" height="{height}" overflow="visible">\n' + "\n".join(parts) + "\n</svg>\n</svg>"
    )


def safe(content: object, limit: int) -> str:
    return escape(text.visible(content, limit=limit, newline=" "))


def label(content: str, y: int) -> str:
    """A line of text at the left, cut to what fits on a screen and on a phone."""
    return "".join(
        f'<text class="label {kind}" x="0" y="{y}">{safe(_cut(content, most), most + 1)}</text>'
        for kind, most in (("wide", _WIDE), ("narrow", _NARROW))
    )


def value(content: str, y: int) -> str:
    """Numbers at the right of a label's line; a phone leaves them to the table below."""
    return f'<text class="value wide" x="100%" y="{y}" text-anchor="end">{content}</text>'


def _cut(title: str, most: int) -> str:
    return title if len(title) <= most else title[: most - 1] + "…"


def at(value: float, scale: Scale) -> float:
    """Per cent of the width, held within the plot."""
    return 100 * min(1.0, max(0.0, (value - scale[0]) / (scale[1] - scale[0])))


def x_of(value: float, scale: Scale) -> str:
    return f"{at(value, scale):.2f}%"


def axis(scale: Scale, top: int, bottom: int) -> list[str]:
    parts = []
    for i in range(5):
        value = scale[0] + (scale[1] - scale[0]) * i / 4
        x = x_of(value, scale)
        parts.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{top + 18}" y2="{bottom}"/>')
        parts.append(f'<text class="tick" x="{x}" y="{bottom + 15}" text-anchor="middle">{value:g}</text>')
    return parts


def line(kind: str, low: float, high: float, y: int, scale: Scale) -> str:
    ends = "".join(
        f'<line class="{kind}" x1="{x_of(end, scale)}" x2="{x_of(end, scale)}" y1="{y - 4}" y2="{y + 4}"/>'
        for end in (low, high)
    )
    return f'<line class="{kind}" x1="{x_of(low, scale)}" x2="{x_of(high, scale)}" y1="{y}" y2="{y}"/>{ends}'


def share_scale(values: Sequence[float]) -> Scale:
    """0 to 1 for shares; else the whole numbers that hold all values."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    if low >= 0 and high <= 1:
        return 0.0, 1.0
    below, above = int(low // 1), int(-(-high // 1))
    return float(below), float(max(above, below + 1))
