"""A measure is a finding plus the test that the gate asks of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from recuse import stats
from recuse.audits.table import Bools, Floats, Ints, PerPair
from recuse.types import Finding

Side = Literal["greater", "less"]
NO_GOLD = "the source does not say which answer is better"


@dataclass(frozen=True)
class Measure:
    """`beyond(bound, side)` is the one-sided p-value for the true value lying beyond `bound`, under the completion of
    the missing verdicts that is most favourable to the judge; `completions` are the estimates under the lowest and the
    highest completion. None where nothing was measured."""

    finding: Finding
    beyond: Callable[[float, Side], float] | None = None
    completions: tuple[stats.Estimate, stats.Estimate] | None = None

    def noting(self, **details: Any) -> Measure:
        return replace(self, finding=replace(self.finding, details={**self.finding.details, **details}))


def unmeasured(id: str, title: str, reason: str, **details: Any) -> Measure:
    return Measure(Finding(id, title, None, reason=reason, details=details))


def share(id: str, title: str, per: PerPair, *, level: float, p: float | None = None) -> Measure:
    """A mean of per-pair values in [0, 1], clustered by group, with its bounds over all completions."""
    values, groups = per.value[per.answered], per.groups[per.answered]
    if not len(values):
        return unmeasured(id, title, "no verdict at all")
    found = stats.clustered_mean(values, groups=groups, level=level)
    low = high = found
    if not (per.value is per.low is per.high and per.answered.all()):
        low = stats.clustered_mean(per.low, groups=per.groups, level=level)
        high = stats.clustered_mean(per.high, groups=per.groups, level=level)

    lows, highs, clusters = per.low, per.high, per.groups  # all that is kept for the gate

    def beyond(bound: float, side: Side) -> float:
        favourable = lows if side == "greater" else highs
        return stats.test_bound(favourable, bound, groups=clusters, alternative=side)

    finding = Finding(
        id,
        title,
        found.estimate,
        found.interval,
        found.n,
        found.groups,
        p,
        found.method,
        bounds=_hull(found, low, high),
    )
    return Measure(finding, beyond, (low, high))


def share_of(id: str, title: str, values: Floats, groups: Ints, *, level: float, high: Floats | None = None) -> Measure:
    """The same for values in which a missing verdict already counts 0; `high` counts it 1."""
    answered = values == values
    return share(id, title, PerPair(values, answered, values if high is None else high, values, groups), level=level)


def difference(id: str, title: str, per: PerPair, stratum: Bools, *, level: float, **details: Any) -> Measure:
    """Mean of per-pair values where `stratum` minus the mean elsewhere, clustered by group."""
    kept = per.answered
    if not kept.any():
        return unmeasured(id, title, "no verdict at all", **details)
    if not (kept & stratum).any() or not (kept & ~stratum).any():
        return unmeasured(id, title, "only one of the two kinds of pairs has verdicts", **details)

    def of(values: Floats, rows: Bools) -> stats.Estimate:
        return stats.clustered_difference(values[rows], stratum[rows], groups=per.groups[rows], level=level)

    everything = np.ones(len(stratum), dtype=bool)
    low_values = np.where(stratum, per.low, per.high)
    high_values = np.where(stratum, per.high, per.low)
    found, low, high = of(per.value, kept), of(low_values, everything), of(high_values, everything)

    def beyond(bound: float, side: Side) -> float:
        favourable = low_values if side == "greater" else high_values
        return stats.test_difference_bound(favourable, stratum, bound, groups=per.groups, alternative=side)

    finding = Finding(
        id, title, found.estimate, found.interval, found.n, found.groups, None, found.method,
        bounds=_hull(found, low, high), details=details,
    )  # fmt: skip
    return Measure(finding, beyond, (low, high))


def _hull(*estimates: stats.Estimate) -> tuple[float, float] | None:
    intervals = [e.interval for e in estimates if e.interval is not None]
    return (min(i[0] for i in intervals), max(i[1] for i in intervals)) if intervals else None
