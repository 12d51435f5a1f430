"""What the rows of a probe show, as findings: the analysis of every metric and pair of groups, and of attributes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from recuse import stats
from recuse.probes.analyse import Analysis, Bounds, Gap, analyse
from recuse.probes.outliers import NameRow
from recuse.probes.plan import ProbePlan
from recuse.probes.reading import Reading, Row
from recuse.probes.records import KEYS, RECORDS, Records
from recuse.types import Finding

_NAMES = "gap within templates; sign-flip by template"
_SILENT = "no reply gave a value"


class Measuring:
    """All findings of one run. `rows` are those of the groups, without the base profile."""

    def __init__(self, plan: ProbePlan, reading: Reading, rows: Sequence[Row]) -> None:
        self.plan, self.rows, self.records = plan, rows, records_of(rows)
        self.metrics = plan.probe.metrics or list(reading.bounds)
        self.bounds = {metric: _finite(reading.bounds[metric]) for metric in self.metrics}
        self.silent = [metric for metric in self.metrics if all(row[metric] is None for row in rows)]
        tags = dict.fromkeys(tag for template in plan.templates for tag in template.tags)
        self.analyses: dict[tuple[str, str, str], Analysis] = {
            (metric, a, b): analyse(
                self.records, metric=metric, groups=(a, b), by=list(tags), bounds=self.bounds[metric],
                level=plan.probe.level,
            )
            for metric in self.metrics if metric not in self.silent
            for a, b in plan.pairs
        }  # fmt: skip

    @property
    def names(self) -> dict[tuple[str, str], NameRow]:
        """By metric and name; a name of a group that is compared several times stands once."""
        found: dict[tuple[str, str], NameRow] = {}
        for (metric, *_), analysis in self.analyses.items():
            for row in analysis.per_name:
                found.setdefault((metric, row.name), row)
        return found

    def findings(self) -> tuple[Finding, ...]:
        """Gaps first, adjusted over all of them; then what explains them."""
        gaps = _adjusted([one.gap.found.pvalue for one in self.analyses.values()])
        failed = [one.gap.found.failures for one in self.analyses.values()]
        failures = _adjusted([None if one is None else one.pvalue for one in failed])
        found: list[Finding] = []
        for (metric, a, b), one in self.analyses.items():
            pooled = one.pooled
            more: dict[str, Any] = {
                "p_adjusted": next(gaps),
                "pooled": {"interval": pooled.interval, "p": pooled.pvalue, "method": pooled.method},
            }
            id, title = f"probe.gap:{metric}:{a}/{b}", f"{metric}: {a} minus {b}"
            found.append(gap_finding(one.gap, id, title, more, bounds=one.bounds))
        for metric in self.silent:
            for a, b in self.plan.pairs:
                id, title = f"probe.gap:{metric}:{a}/{b}", f"{metric}: {a} minus {b}"
                found.append(Finding(id, title, None, reason=_SILENT, n=0))
        for (metric, a, b), one in self.analyses.items():
            title = f"{metric}: {a} minus {b}, replies without a value"
            id, p = f"probe.failure_gap:{metric}:{a}/{b}", next(failures)
            found.append(failure_finding(one.gap.found.failures, id, title, adjusted=p))
            found += _cut_findings(one)
        for metric in self.metrics:
            if metric not in self.silent:
                found += self._attributes(metric)
        for one in self.analyses.values():
            found += _flip_findings(one, among="" if len(self.plan.pairs) == 1 else f":{one.a}/{one.b}")
        found += [name_finding(row, metric) for (metric, _), row in self.names.items()]
        return tuple(found)

    def notes(self) -> list[str]:
        several = len(self.analyses) > 1
        notes = [
            f"{one.metric}, {one.a} and {one.b}: {note}" if several else note
            for one in self.analyses.values()
            for note in one.notes
        ]
        return notes + [f"{metric}: {_SILENT}." for metric in self.silent]

    def _attributes(self, metric: str) -> Iterator[Finding]:
        """Each level of an attribute against its first, within one template and one combination of the others."""
        for key, levels in self.plan.attributes.items():
            others = [other for other in self.plan.attributes if other != key]
            rows = [row for row in self.rows if row[key] is not None]
            first, *rest = levels
            for level in rest:
                gap = stats.paired_gap(
                    [row[metric] for row in rows],
                    template=[row["template_id"] for row in rows],
                    group=[row[key] for row in rows],
                    a=level,
                    b=first,
                    stratum=[", ".join(str(row[other]) for other in others) for row in rows] if others else None,
                    bounds=self.bounds[metric],
                    level=self.plan.probe.level,
                )
                title = f"{metric}: {key} {level} minus {key} {first}"
                yield gap_finding(Gap(gap, gap), f"probe.attribute:{metric}:{key}:{level}/{first}", title)


def records_of(rows: Sequence[Row]) -> Records:
    columns = {key: [row[key] for row in rows] for key in (rows[0] if rows else ())}
    template, group, name, seed = ([str(value) for value in columns[key]] for key in KEYS)
    return Records(RECORDS, tuple(range(1, len(rows) + 1)), template, group, name, seed, columns, ())


def gap_finding(
    gap: Gap, id: str, title: str, more: dict[str, Any] | None = None, *, bounds: Bounds | None = None
) -> Finding:
    """A gap as it is reported; `details` has the claim about further names, too.

    `bounds` of the metric: the interval ends where no gap can lie beyond.
    """
    shown, found = gap.shown, gap.found
    interval, widest = shown.interval, bounds[1] - bounds[0] if bounds else math.inf
    if interval is not None:
        interval = max(interval[0], -widest), min(interval[1], widest)
    pairs = [(t.mean_a, t.mean_b) for t in found.templates if t.mean_a is not None and t.mean_b is not None]
    details: dict[str, Any] = {
        "mean_a": math.fsum(a for a, _ in pairs) / len(pairs) if pairs else None,
        "mean_b": math.fsum(b for _, b in pairs) / len(pairs) if pairs else None,
        "missing_a": found.missing_a,
        "missing_b": found.missing_b,
        "p_without_symmetry": (gap.careful or found).pvalue_bound,
        "test": found.test,
        **(more or {}),
    }
    if found.across_names is not None and found.across_names.estimate is not None:
        further = found.across_names
        details["further_names"] = {"interval": further.interval, "p": further.pvalue, "method": further.method}
    if found.excluded:
        details["excluded"] = [str(template) for template in found.excluded]
    return Finding(
        id, title, shown.estimate, interval, shown.n, shown.groups, found.pvalue, shown.method, shown.reason,
        gap.careful.worst_interval if gap.careful and (found.missing_a or found.missing_b) else None, details=details,
    )  # fmt: skip


def failure_finding(found: stats.FailureGap | None, id: str, title: str, *, adjusted: float | None = None) -> Finding:
    if found is None:
        return Finding(id, title, None, reason="no rows")
    details = {
        "rate_a": found.rate_a, "rate_b": found.rate_b, "n_a": found.n_a, "n_b": found.n_b, "p_adjusted": adjusted,
    }  # fmt: skip
    return replace(of_estimate(found, id, title), p=found.pvalue, details=details)


def name_finding(row: NameRow, metric: str) -> Finding:
    """One name against the others of its group, within templates."""
    details = {key: getattr(row, key) for key in ("group", "name", "mean", "missing", "p_adjusted", "outlying")}
    title = f"{metric}: {row.name} minus the other names of {row.group}"
    reason = None if row.apart is not None else "no template has values of it and of another name of its group"
    return Finding(
        f"probe.names:{metric}:{row.name}", title, row.apart, None, row.n, 0, row.p, _NAMES, reason, details=details
    )


def of_estimate(found: stats.Estimate, id: str, title: str) -> Finding:
    return Finding(
        id, title, found.estimate, found.interval, found.n, found.groups, None, found.method, found.reason
    )  # fmt: skip


def _cut_findings(one: Analysis) -> Iterator[Finding]:
    """The gap within each stratum, batch and tag, where there are several."""
    for column, cuts in one.cuts.items():
        for cut in cuts if len(cuts) > 1 else ():
            title = f"{one.metric}: {one.a} minus {one.b}, {column} {cut.value}"
            id = f"probe.cut:{one.metric}:{one.a}/{one.b}:{column}={cut.value}"
            yield gap_finding(cut.gap, id, title, {"p_adjusted": cut.p_adjusted}, bounds=one.bounds)


def _flip_findings(one: Analysis, *, among: str) -> Iterator[Finding]:
    """How often a decision changes with the group, and how often with nothing: where values are decisions."""
    if (flips := one.flips) is None:
        return
    noisy = flips.noise.estimate is not None
    above, against = (flips.above_noise, "one text asked again") if noisy else (flips.above_names, "names of one group")
    title = f"{one.metric}: {one.a} and {one.b} decided differently"
    rate = of_estimate(flips.rate, f"probe.flip_rate:{one.metric}{among}", title)
    said = {"above_noise": _told(flips.above_noise), "above_names": _told(flips.above_names), "runs": flips.runs}
    yield replace(rate, p=above.pvalue, method=f"{rate.method}; p against {against}", details=said)
    noise = of_estimate(flips.noise, f"probe.noise:{one.metric}{among}", f"{one.metric}: one text decided differently")
    yield replace(noise, details={"names": _told(flips.names)})


def _adjusted(ps: Sequence[float | None]) -> Iterator[float | None]:
    """Holm's over those that there are."""
    adjusted = iter(stats.holm([p for p in ps if p is not None]).tolist())
    return iter([None if p is None else next(adjusted) for p in ps])


def _told(found: stats.Estimate) -> dict[str, Any]:
    return {"estimate": found.estimate, "interval": found.interval, "p": found.pvalue, "reason": found.reason}


def _finite(bounds: tuple[float, float]) -> tuple[float, float] | None:
    return bounds if all(math.isfinite(end) for end in bounds) else None
