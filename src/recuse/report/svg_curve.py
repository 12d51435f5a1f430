"""The reliability curve: what probabilities say against what came true. On the diagonal they mean what they say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import sqrt
from typing import Any

from recuse.report import text
from recuse.report.svg_parts import AXIS, frame, safe, x_of

_HEIGHT, _TOP = 240, 8
_LARGEST, _LEAST = 9.0, 2.5  # pixels of a mark's radius


def reliability(bins: Sequence[Mapping[str, Any]], *, name: str, title: str) -> str:
    """`bins` as in `calibration.ece`: low, high, stated, observed and n; those without observations are left out.

    The area of a mark is the bin's share of the observations.
    """
    shown = [b for b in bins if b["n"] and b["stated"] is not None and b["observed"] is not None]
    most = max((b["n"] for b in shown), default=1)
    bottom = _TOP + _HEIGHT
    parts = []
    for i in range(5):
        value = i / 4
        x, y = x_of(value, (0.0, 1.0)), _y(value)
        parts.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{_TOP}" y2="{bottom}"/>')
        parts.append(f'<line class="grid" x1="0%" x2="100%" y1="{y}" y2="{y}"/>')
        parts.append(f'<text class="tick" x="{x}" y="{bottom + 15}" text-anchor="middle">{value:g}</text>')
        if 0 < i < 4:
            parts.append(f'<text class="tick" x="0" y="{y - 3}">{value:g}</text>')
    parts.append(f'<line class="zero" x1="0%" x2="100%" y1="{bottom}" y2="{_TOP}"/>')
    for one, two in pairwise(shown):
        parts.append(
            f'<line class="bar" x1="{_place(one)}" x2="{_place(two)}" y1="{_y(one["observed"])}" '
            f'y2="{_y(two["observed"])}"/>'
        )
    for one in shown:
        radius = max(_LEAST, _LARGEST * sqrt(one["n"] / most))
        parts.append(
            f'<g><title>{safe(_words(one), 300)}</title><circle class="dot" cx="{_place(one)}" '
            f'cy="{_y(one["observed"])}" r="{radius:.1f}"/></g>'
        )
    words = ". ".join(map(_words, shown)) + "."
    return frame(parts, name=name, title=title, words=words, height=bottom + AXIS)


def _y(value: float) -> float:
    return round(_TOP + _HEIGHT * (1 - min(1.0, max(0.0, value))), 1)


def _place(one: Mapping[str, Any]) -> str:
    return x_of(one["stated"], (0.0, 1.0))


def _words(one: Mapping[str, Any]) -> str:
    return f"stated {text.number(one['stated'], 2)}, came true {text.number(one['observed'], 2)}, n {one['n']:,}"
