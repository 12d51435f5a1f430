"""Findings and tolerances become an outcome: fit, recuse or inconclusive.

Fit: every primary's whole interval, over all completions of missing verdicts, lies inside its tolerance. No correction
is needed, since all must pass. Recuse: at least one primary lies outside, by a test that completes missing verdicts in
the judge's favour, after Holm over the primaries. Else inconclusive. A primary that was not measured prevents fit.
Controls that were asked for (swap test, people's labels) decide by rules of their own, and count like primaries.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import NormalDist
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from recuse import assets, stats
from recuse.audits import GATEABLE
from recuse.audits.measure import Measure, unmeasured
from recuse.calibration.verdict import KappaRule
from recuse.errors import InputError, fault_of
from recuse.types import Finding

Decision = Literal["fit", "recuse", "inconclusive"]
RULED = ("swap.gap", "self_preference.label", "calibration.kappa")  # by a rule of their own, where an audit has them


class Tolerance(BaseModel):
    """A band. `recuse` false: the measure can prevent "fit" and never cause "recuse", as for an observational one."""

    model_config = ConfigDict(extra="forbid")
    min: float | None = Field(None, allow_inf_nan=False)
    max: float | None = Field(None, allow_inf_nan=False)
    recuse: bool = True

    @model_validator(mode="after")
    def _bounded(self) -> Tolerance:
        if self.min is None and self.max is None:
            raise ValueError("give min, max or both")
        if self.min is not None and self.max is not None and self.min >= self.max:
            raise ValueError("min must be below max")
        return self


class Gate(BaseModel):
    """The content of gate.toml: `[primary."finding.id"]` tables with `min` and `max`, the rule by which agreement with
    people lets judged metrics be shown, and the intervals' level."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)
    version: Literal[1] = Field(alias="schema")
    level: float = Field(0.95, gt=0.5, lt=1.0)
    primary: dict[str, Tolerance] = Field(min_length=1)
    calibration: KappaRule = KappaRule()

    def plain(self) -> dict[str, Any]:
        return self.model_dump(by_alias=True, exclude_none=True)


def load_gate(path: Path | None = None) -> Gate:
    """The gate at `path`, or the one that ships. Raises InputError naming the file and the key."""
    source = path or assets.data("gate.toml")
    try:
        return Gate.model_validate(assets.read_toml(source, hint="Give a gate.toml file."))
    except ValidationError as error:
        where, said = fault_of(error)
        raise InputError(said, path=source, field=where, hint="Correct this key.") from None


@dataclass(frozen=True)
class Decided:
    outcome: Decision
    headline: str  # one line for people
    findings: tuple[Finding, ...]


def check_gate(gate: Gate, *, domains: Sequence[str] = (), also: Iterable[str] = (), path: object = None) -> None:
    """Raise InputError unless an audit of pairs in `domains` can decide everything that `gate` names."""
    known = GATEABLE | {f"domain.error_rate:{name}" for name in domains} | set(also)
    if unknown := sorted(set(gate.primary) - known):
        raise InputError(
            f"no audit decides on {unknown[0]!r}", path=path, field="primary", hint=f"Use: {', '.join(sorted(known))}."
        )


def decide(measures: Sequence[Measure], gate: Gate) -> Decided:
    """Apply `gate`. A primary that the audit does not have at all counts as not measured."""
    names = {m.finding.id for m in measures}
    absent = [unmeasured(id, id, "this audit does not have it") for id in gate.primary if id not in names]
    measures = [*measures, *absent]
    by_id = {m.finding.id: m for m in measures}
    recusing = [id for id, tolerance in gate.primary.items() if tolerance.recuse]
    adjusted = dict.fromkeys(gate.primary, 1.0)
    tests = stats.holm([_beyond(by_id[id], gate.primary[id]) for id in recusing])
    adjusted.update(zip(recusing, tests.pvalues.tolist(), strict=True))
    strict = 1.0 - (1.0 - gate.level) / max(len(recusing), 1)
    findings = []
    for measure in measures:
        id = measure.finding.id
        if id in gate.primary:
            findings.append(_decide_one(measure, gate.primary[id], adjusted[id], gate.level, strict))
        else:
            findings.append(measure.finding)
    deciding = [f for f in findings if f.id in gate.primary or (f.id in RULED and f.outcome is not None)]
    outcomes = [f.outcome for f in deciding]
    outcome: Decision = "inconclusive"
    if "recuse" in outcomes:
        outcome = "recuse"
    elif all(o == "fit" for o in outcomes):
        outcome = "fit"
    beside = [f for f in findings if f.id not in gate.primary and f.details.get("status") == "accepted"]
    return Decided(outcome, _headline(outcome, deciding, beside), tuple(findings))


def _beyond(measure: Measure, tolerance: Tolerance) -> float:
    """Two-sided p-value that the value lies outside the tolerance; 1 where nothing was measured."""
    if measure.beyond is None:
        return 1.0
    sides: list[float] = []
    if tolerance.max is not None:
        sides.append(measure.beyond(tolerance.max, "greater"))
    if tolerance.min is not None:
        sides.append(measure.beyond(tolerance.min, "less"))
    return min(1.0, 2.0 * min(sides))


def _decide_one(measure: Measure, tolerance: Tolerance, adjusted: float, level: float, strict: float) -> Finding:
    finding = measure.finding
    limits = (tolerance.min, tolerance.max)
    low, high = _band(limits)
    if finding.estimate is None or finding.interval is None:
        return replace(finding, tolerance=limits, outcome="inconclusive")
    reach = finding.bounds or finding.interval
    outcome: Decision = "inconclusive"
    if low <= reach[0] and reach[1] <= high:
        outcome = "fit"
    elif adjusted < 1.0 - level:
        outcome = "recuse"
    details = {**finding.details, "p_outside_holm": adjusted}
    if outcome == "inconclusive":
        found = _pairs_to_decide(measure, low, high, level, strict if tolerance.recuse else None)
        details["pairs_to_decide"], details["why_undecided"] = found
    return replace(finding, tolerance=limits, outcome=outcome, details=details)


def _band(limits: tuple[float | None, float | None]) -> tuple[float, float]:
    low, high = limits
    return -math.inf if low is None else low, math.inf if high is None else high


def _pairs_to_decide(
    measure: Measure, low: float, high: float, level: float, strict: float | None
) -> tuple[int | None, str]:
    """About how many pairs would decide, at this rate of missing verdicts, and in words what stands in the way.

    Fit needs both completions inside at `level`; recusal needs the favourable one outside at `strict`, the level of
    Holm's first step (None: this measure cannot recuse). More pairs narrow the intervals and leave the gap between the
    completions as it is. The figure supposes that the values are as measured, and gives 80 % power.
    """
    if measure.completions is None or measure.finding.groups < 2:
        return None, "not decidable by more pairs" if measure.completions is None else "not decidable with one group"
    where, needed = [], []
    for found in measure.completions:
        if found.estimate is None or found.interval is None:
            return None, "not decidable by more pairs"
        side = (found.estimate > high) - (found.estimate < low)
        reach = _reach(level if side == 0 else strict or level) / _z(level)
        interval = tuple(found.estimate + reach * (limit - found.estimate) for limit in found.interval)
        where.append(side)
        needed.append(stats.pairs_needed(found.estimate, (interval[0], interval[1]), found.n, low, high))
    if where[0] != where[1]:
        return None, "not decidable with so many verdicts missing"
    if where[0] != 0 and strict is None:
        return None, "this measure is observational and prevents fit only"
    deciding = needed[:1] if where[0] > 0 else needed[1:] if where[0] < 0 else needed
    counts = [count for count in deciding if count is not None]
    if len(counts) < len(deciding):
        return None, "not decidable near this tolerance"
    count = max(*counts, measure.finding.n + 1)
    return count, f"about {count:,} pairs would decide it, if the value is as measured"


def _reach(level: float) -> float:
    """Half width of an interval that a bound at that distance escapes with 80 % power, in standard errors."""
    return _z(level) + _z(0.6)


def _z(level: float) -> float:
    """The two-sided normal quantile: 1.96 for 0.95; 0.84, the one-sided one for 80 %, for 0.6."""
    return NormalDist().inv_cdf((1.0 + level) / 2.0)


def _headline(outcome: Decision, primaries: Sequence[Finding], beside: Sequence[Finding]) -> str:
    """What decided it, in one line. `beside`: proven biases without a tolerance, of which a "fit" says nothing."""
    if outcome == "fit":
        one = "the one primary lies inside its tolerance"
        inside = f"FIT: {one if len(primaries) == 1 else f'all {len(primaries)} primaries lie inside their tolerances'}"
        proven = [f"{f.id} {f.estimate:.3f}{_limits(f)}" for f in beside]
        return f"{inside}; proven, with no tolerance: {', '.join(proven)}." if proven else f"{inside}."
    said = [_say(f) for f in primaries if f.outcome == outcome]
    return f"{outcome.upper()}: {'; '.join(said)}."


def _say(finding: Finding) -> str:
    if "why" in finding.details:
        return f"{finding.id}: {finding.details['why']}"
    if finding.estimate is None or finding.interval is None:
        return f"{finding.id} was not measured ({finding.reason})"
    low, high = finding.tolerance or (None, None)
    band = f"at most {high:g}" if low is None else f"at least {low:g}" if high is None else f"{low:g} to {high:g}"
    text = f"{finding.id} {finding.estimate:.3f}{_limits(finding)}, tolerance {band}"
    if finding.outcome != "inconclusive":
        return text
    return f"{text}: {finding.details['why_undecided']}"


def _limits(finding: Finding) -> str:
    return f" [{finding.interval[0]:.3f}, {finding.interval[1]:.3f}]" if finding.interval else ""
