"""Gaps after the rule become measures for the report and the gate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from recuse.audits.measure import Measure, unmeasured
from recuse.stats import Estimate, PairedGap
from recuse.swap.gaps import Gap, Ruled
from recuse.swap.modes import Mode
from recuse.types import Finding

_LISTED = 8  # templates with the largest gaps that a report lists
RULES = "fit by the interval with bounds, recuse by the bootstrap and sign flips after Holm"


def ruled(id: str, title: str, found: Ruled, mode: Mode, *, level: float, **more: Any) -> Measure:
    """A gap on which the rule decided."""
    gap = found.gap
    if gap.estimate is None:
        return unmeasured(id, title, gap.found.reason or "no verdict at all", mode=mode.kind, **more)
    measure = of_gap(id, title, gap, mode, **more)
    finding = measure.finding
    details = {
        **finding.details,
        "p_outside_tolerance": found.p_outside,
        "p_holm": found.p_flip,
        "p_above_floor": found.p_floor,
        "templates_needed": gap.needed(found.tolerance, level=level),
        "rule": RULES,
    }
    band = (-found.tolerance, found.tolerance)
    return Measure(replace(finding, tolerance=band, outcome=found.outcome, details=details), gap.beyond)


def of_gap(id: str, title: str, gap: Gap, mode: Mode, **more: Any) -> Measure:
    """A gap as it is, its interval cut where no gap can lie: a t interval of two templates knows no ends of a scale."""
    found, careful = gap.found, gap.careful
    if found.estimate is None:
        return unmeasured(id, title, found.reason or "no verdict at all", mode=mode.kind, **more)
    interval = found.interval or careful.interval
    if interval is not None:
        interval = max(interval[0], -gap.width), min(interval[1], gap.width)
    method = found.method if found.interval else careful.method
    details: dict[str, Any] = {
        "mode": mode.kind,
        "unit": mode.unit,
        "pvalue_bound": careful.pvalue_bound,
        "test": found.test,
        "gap_sd": gap.sd,
        "missing": {str(found.a): found.missing_a, str(found.b): found.missing_b},
        "worst": careful.worst,
        "failure_gap": _estimate(careful.failures) if found.missing_a + found.missing_b else None,
        "further_names": _estimate(found.across_names),
        "names": _names(found),
        "largest": _largest(gap),
        "by_template": dict(sorted(gap.by_template.items())),
        **more,
    }
    finding = Finding(
        id, title, found.estimate, interval, found.n, found.groups, found.pvalue, method,
        bounds=careful.worst_interval, details=details,
    )  # fmt: skip
    return Measure(finding, gap.beyond)


def headline(id: str, title: str, measures: Sequence[Measure], reason: str) -> Measure:
    """The measure that decides, under the plain id: the worst outcome, then the largest gap for its tolerance."""
    severity = {"recuse": 2, "inconclusive": 1, "fit": 0}

    def weight(measure: Measure) -> tuple[int, float]:
        finding = measure.finding
        band = (finding.tolerance or (None, 1.0))[1] or 1.0
        return severity.get(finding.outcome or "", -1), abs(finding.estimate or 0.0) / band

    measured = [m for m in measures if m.finding.estimate is not None]
    if not measured:
        return unmeasured(id, title, measures[0].finding.reason or reason if measures else reason)
    worst = max(measured, key=weight)
    details = {**worst.finding.details, "of": worst.finding.id}
    return Measure(
        replace(worst.finding, id=id, title=f"{title}: {worst.finding.title}", details=details), worst.beyond
    )


def _estimate(found: Estimate | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "estimate": found.estimate, "interval": found.interval and list(found.interval), "p": found.pvalue,
        "reason": found.reason,
    }  # fmt: skip


def _names(found: PairedGap) -> list[dict[str, Any]]:
    return [
        {"group": str(n.group), "name": str(n.name), "mean": n.mean, "n": n.n, "missing": n.missing}
        for n in found.names
        if n.name != ""
    ]


def _largest(gap: Gap) -> list[dict[str, Any]]:
    ranked = sorted(gap.by_template.items(), key=lambda item: (-abs(item[1]), item[0]))
    return [{"template": template, "gap": value} for template, value in ranked[:_LISTED]]
