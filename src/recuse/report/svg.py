"""Forest plots: one row a measure. Outcomes differ in shape as well as in colour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

from recuse.report import text
from recuse.report.svg_parts import AXIS, Scale, at, axis, frame, label, line, safe, value, x_of
from recuse.types import Finding

_ROW = 46  # pixels: a line of text above a bar
# A quarter of a shared scale: of error rates up to 0.5, of scores beyond.
_STEPS = (0.05, 0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 2.5, 5.0, 10.0, 20.0, 25.0, 50.0, 100.0, 1000.0)


def forest(
    findings: Sequence[Finding],
    *,
    name: str,
    title: str,
    scale: Scale | None = None,
    band: str = "tolerance",
    said: Mapping[str, str] | None = None,
) -> str:
    """Estimate (mark), interval (bar), limits over all completions (whisker) and tolerance (band) of each finding.

    Fractions share an axis from 0 to 1, differences one from -1 to 1; anything wider has an axis of its own. The ends
    of a tolerance count too, so that its band is seen whole. A given `scale` is shared by all, and has a line at zero.
    `band` says in words what the band is, `said` by finding id what an outcome is called, where not by its own name.
    `name` makes ids unique in the page. The description repeats the plot in words.
    """
    told = [_words(f, band, (said or {}).get(f.id, f.outcome)) for f in findings]
    words = ". ".join(told) + "."
    panels: dict[Scale, list[tuple[Finding, str]]] = {}
    for row in zip(findings, told, strict=True):
        panels.setdefault(scale or _scale(row[0]), []).append(row)
    parts, y = [], 0
    for span, panel in panels.items():
        bottom = y + _ROW * len(panel)
        parts += axis(span, y, bottom)
        if scale:
            x = x_of(0.0, span)
            parts.append(f'<line class="zero" x1="{x}" x2="{x}" y1="{y + 18}" y2="{bottom}"/>')
        parts += [_row(f, span, y + i * _ROW, of_it) for i, (f, of_it) in enumerate(panel)]
        y = bottom + AXIS
    return frame(parts, name=name, title=title, words=words, height=y)


def effect_scale(findings: Sequence[Finding]) -> Scale:
    """The narrowest scale with round steps and a step at zero that holds all intervals; -1 to 1 at most for fractions,
    -2000 to 2000 for whatever there is."""
    ends = [end for f in findings for end in (f.interval or ())] + [f.estimate for f in findings if f.estimate]
    for step in _STEPS:
        for below in (1, 2):
            if min(ends, default=0.0) >= -below * step and max(ends, default=0.0) <= (4 - below) * step:
                return -below * step, (4 - below) * step
    return -2 * _STEPS[-1], 2 * _STEPS[-1]


def _words(finding: Finding, band: str, outcome: str | None) -> str:
    allowed = text.tolerance(finding)
    said = f"{finding.title}: {text.estimate(finding)}"
    return said + (f", {band} {allowed}" if allowed else "") + (f", {outcome}" if outcome else "")


def _scale(finding: Finding) -> Scale:
    ends = [end for pair in (finding.interval, finding.bounds) if pair for end in pair]
    ends += [end for end in (finding.estimate, *(finding.tolerance or ())) if end is not None and isfinite(end)]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    if low >= 0 and high <= 1:
        return 0.0, 1.0
    if low >= -1 and high <= 1:
        return -1.0, 1.0
    step = 10.0 ** (len(str(int(max(-low, high)))) - 1)
    return min(0.0, low // step * step), max(0.0, -(-high // step) * step)


def _row(finding: Finding, scale: Scale, top: int, words: str) -> str:
    y = top + 30
    parts = [label(finding.title, top + 13)]
    if finding.estimate is None:
        parts.append(f'<text class="value" x="0" y="{y + 4}">not measured</text>')
        return "".join(parts)
    parts.append(value(text.estimate(finding), top + 13))
    if finding.tolerance:
        low, high = finding.tolerance
        left = at(scale[0] if low is None else low, scale)
        right = at(scale[1] if high is None else high, scale)
        parts.append(f'<rect class="band" x="{left:.2f}%" width="{right - left:.2f}%" y="{y - 10}" height="20"/>')
    whole = [end for pair in (finding.interval, finding.bounds) if pair for end in pair]
    if finding.bounds:
        parts.append(line("whisker", min(whole), max(whole), y, scale))
    if finding.interval:
        parts.append(line("bar", *finding.interval, y, scale))
    parts.append(_mark(finding, x_of(finding.estimate, scale), y))
    return f"<g><title>{safe(words, 300)}</title>{''.join(parts)}</g>"


def _mark(finding: Finding, x: str, y: int) -> str:
    """A filled circle for fit, a square for recuse, a hollow circle for inconclusive, a small dot for no outcome."""
    if finding.outcome == "recuse":
        # A nested frame carries the offset, since a rectangle cannot mix per cent and pixels.
        return (
            f'<svg x="{x}" y="{y}" overflow="visible"><rect class="recuse" x="-6" y="-6" width="12" height="12"/></svg>'
        )
    kind = {"fit": "fit", "inconclusive": "inconclusive"}.get(finding.outcome or "", "dot")
    return f'<circle class="{kind}" cx="{x}" cy="{y}" r="{5 if kind == "dot" else 6}"/>'
