"""Stacked bars: one row a whole, cut into named parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recuse.report.svg_parts import frame, label, safe

_ROW = 48
_ROOM = 7.0  # per cent of the width from which a share fits into its part


@dataclass(frozen=True, slots=True)
class Bar:
    title: str
    counts: tuple[float, ...]  # of each part, in the order of the parts


def bars(rows: Sequence[Bar], parts: Sequence[str], *, name: str, title: str) -> str:
    """Each row in per cent of its sum; rows without any count are left out. Parts differ in place and in shade, and
    carry their share where it fits."""
    drawn, words = [], []
    shown = [row for row in rows if sum(row.counts) > 0]
    for i, row in enumerate(shown):
        total, start, top = sum(row.counts), 0.0, i * _ROW
        words.append(f"{row.title}: {_words(row, parts)}")
        pieces = [label(row.title, top + 13)]
        for k, count in enumerate(row.counts):
            width = 100 * count / total
            if width > 0:
                said = f"{parts[k]}: {width:.0f} % ({count:,.0f})"
                pieces.append(
                    f"<g><title>{safe(said, 300)}</title>"
                    f'<rect class="part part{k}" x="{start:.2f}%" width="{width:.2f}%" y="{top + 19}" height="20"/>'
                )
                if width >= _ROOM:
                    middle = start + width / 2
                    pieces.append(
                        f'<text class="inside part{k}" x="{middle:.2f}%" y="{top + 33}" text-anchor="middle">'
                        f"{width:.0f} %</text>"
                    )
                pieces.append("</g>")
            start += width
        drawn.append("".join(pieces))
    return frame(drawn, name=name, title=title, words=". ".join(words) + ".", height=_ROW * len(shown))


def _words(row: Bar, parts: Sequence[str]) -> str:
    total = sum(row.counts)
    return ", ".join(
        f"{part} {100 * count / total:.0f} % ({count:,.0f})" for part, count in zip(parts, row.counts, strict=True)
    )
