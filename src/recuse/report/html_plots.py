"""Which plots an audit's page shows beside its forests, and what each says of itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from recuse.report import text
from recuse.report.detail import Detail
from recuse.report.html_parts import figure, safe
from recuse.report.svg_bars import Bar, bars
from recuse.report.svg_between import Between, between
from recuse.report.svg_curve import reliability
from recuse.report.svg_dots import Strip, strips
from recuse.report.svg_matrix import matrix
from recuse.types import Finding

_THIRDS = {"close": "The closest third of them", "middle": "The middle third", "clear": "The clearest third"}
_PLACES = ("always the first answer", "neither place", "always the second answer")


def position_plot(findings: Sequence[Finding], *, name: str) -> str:
    """How many pairs the place decides, over all and from the closest to the clearest; empty where that was not
    measured."""
    found = {f.id: f for f in findings}
    rate = found.get("position.first_rate")
    if rate is None or "always_first" not in rate.details:
        return ""
    first, second = (int(rate.details[f"always_{place}"]) for place in ("first", "second"))
    rows = [Bar("All pairs asked in both orders", (first, rate.n - first - second, second))]
    for third in found["position.by_difficulty"].details.get("thirds", ()) if "position.by_difficulty" in found else ():
        decided, lean = third["by_place"], 2 * third["first_rate"] - 1  # lean: share first minus share second
        ahead, behind = (third["pairs"] * max(0.0, (decided + sign * lean) / 2) for sign in (1, -1))
        rows.append(Bar(_THIRDS[third["third"]], (ahead, third["pairs"] - ahead - behind, behind)))
    title = "Pairs whose verdict goes with the place"
    legend = (
        "Left: always the answer shown first. Middle: the same answer in both orders, or a tie. "
        "Right: always the answer shown second."
    )
    return figure(bars(rows, _PLACES, name=name, title=title), legend)


def bias_plot(findings: Sequence[Finding], *, name: str) -> str:
    """Errors with the placebo and with each bias; empty where they were not measured."""
    rows = [
        Between(f.title, f.details["base_error"], f.details["error"])
        for f in findings
        if f.details.get("base_error") is not None and f.details.get("error") is not None
    ]
    if not rows:
        return ""
    title = "Error rate with the meaningless version and with the bias"
    plot = between(rows, name=name, title=title, first="with the meaningless version", second="with the bias")
    return figure(plot, "Hollow: error rate with the meaningless version (placebo). Filled: with the bias.")


def detail_plot(detail: Detail, *, name: str) -> str:
    """The plot of a table, where it has one."""
    draw = _DRAWN.get(detail.finding.id.partition(":")[0])
    return draw(detail, name) if draw else ""


def names_figure(
    rows: Sequence[tuple[str, str, float]], *, name: str, title: str, outlying: frozenset[str] = frozenset()
) -> str:
    """One strip a group: (group, name, mean)."""
    groups: dict[str, list[tuple[str, float]]] = {}
    for group, who, mean in rows:
        groups.setdefault(group, []).append((who, mean))
    if not groups:
        return ""
    shown = [Strip(group, tuple(dots), outlying) for group, dots in groups.items()]
    marks = " A square stands out." if outlying else ""
    return figure(
        strips(shown, name=name, title=title, zero=False),
        f"{safe(title)}. A dot: the mean of one name. Line: the group's mean.{marks}",
    )


def templates_figure(gaps: Mapping[str, float], *, name: str, title: str) -> str:
    """All templates on one strip, by their gap."""
    if not gaps:
        return ""
    strip = Strip("1 template" if len(gaps) == 1 else f"{len(gaps):,} templates", tuple(gaps.items()))
    return figure(
        strips([strip], name=name, title=title, zero=True),
        f"{safe(title)}. A dot: the gap in one template. Line: their mean.",
    )


def _agreement(detail: Detail, name: str) -> str:
    table = detail.finding.details["confusion"]
    plot = matrix(
        table["judge_by_people"], [str(label) for label in table["labels"]], name=name, title=detail.title,
        rows="judge", columns="people",
    )  # fmt: skip
    return figure(plot, "The area of a square is the number of verdicts. Filled: judge and people say the same.")


def _curve(detail: Detail, name: str) -> str:
    plot = reliability(detail.finding.details["curve"], name=name, title=detail.title)
    legend = (
        "Across: the judge's probability that the answer shown first is better. Up: how often people say so. "
        "Dashed: where the two are the same. The area of a mark is the share of verdicts."
    )
    return figure(plot, legend)


def _gap(detail: Detail, name: str) -> str:
    found = detail.finding
    if detail.head[0] == "Name":
        rows = [(row["group"], row["name"], row["mean"]) for row in found.details["names"] if row["mean"] is not None]
        return names_figure(rows, name=name, title=f"{found.title}: mean by name")
    gaps = {t: gap for t, gap in found.details.get("by_template", {}).items() if gap is not None}
    return templates_figure(gaps, name=name, title=f"{found.title}: gap by template")


_DRAWN: Mapping[str, Callable[[Detail, str], str]] = {
    "calibration.kappa": _agreement,
    "calibration.ece": _curve,
    "swap.gap": _gap,
}


def legend_of(level: float, band: str = "") -> str:
    """What marks and lines of a forest are."""
    banded = f" Band: {band}." if band else ""
    return (
        f"Mark: estimate. Bar: {text.intervals(level)}. Thin line: limits over all completions of missing verdicts."
        f"{banded}"
    )
