"""A table of counts as squares whose area is the count: agreement on the diagonal, disagreement beside it."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from recuse.report.svg_parts import frame, safe

_CELL, _TOP, _LEFT = 64, 22, 22.0  # pixels a row, pixels above it, per cent left of it


def matrix(
    counts: Sequence[Sequence[int]], labels: Sequence[str], *, name: str, title: str, rows: str, columns: str
) -> str:
    """`rows` and `columns` say whose labels stand there. Squares on the diagonal are filled, others hollow."""
    most = max((count for row in counts for count in row), default=0) or 1
    width = (100 - _LEFT) / len(labels)
    parts, words = [], []
    for k, label in enumerate(labels):
        x = f"{_LEFT + (k + 0.5) * width:.2f}%"
        parts.append(f'<text class="tick" x="{x}" y="13" text-anchor="middle">{safe(f"{columns}: {label}", 40)}</text>')
    for i, row in enumerate(counts):
        y = _TOP + (i + 0.5) * _CELL
        parts.append(f'<text class="tick" x="0" y="{y + 4}">{safe(f"{rows}: {labels[i]}", 40)}</text>')
        for k, count in enumerate(row):
            said = f"{rows} {labels[i]}, {columns} {labels[k]}: {count:,}"
            words.append(said)
            x, half = f"{_LEFT + (k + 0.5) * width:.2f}%", 0.5 * (_CELL - 24) * sqrt(count / most)
            kind = "agree" if i == k else "differ"
            # A nested frame carries the offset, since a rectangle cannot mix per cent and pixels.
            parts.append(
                f'<g><title>{safe(said, 300)}</title><svg x="{x}" y="{y - 8}" overflow="visible"><rect class="{kind}" '
                f'x="{-half:.1f}" y="{-half:.1f}" width="{2 * half:.1f}" height="{2 * half:.1f}"/></svg>'
                f'<text class="value" x="{x}" y="{y + 27}" text-anchor="middle">{count:,}</text></g>'
            )
    height = _TOP + _CELL * len(counts) + 4
    return frame(parts, name=name, title=title, words=". ".join(words) + ".", height=height)
