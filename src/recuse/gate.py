"""Findings and tolerances become an outcome: fit, recuse or inconclusive.

Fit: every primary's whole interval, over all completions of missing verdicts, lies inside its tolerance. No correction
is needed, since all must pass. Recuse: at least one primary lies outside, by a test that completes missing verdicts in
the judge's favour, after Holm over the primaries. Else inconclusive. A primary that was not measured prevents fit.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from recuse import assets, stats
from recuse.audits.measure import Measure
from recuse.errors import InputError
from recuse.types import Finding

Decision = Literal["fit", "recuse", "inconclusive"]


class Tolerance(BaseModel):
    model_config = ConfigDict(extra="forbid")
    min: float | None = None
    max: float | None = None

    @model_validator(mode="after")
    def _bounded(self) -> Tolerance:
        if self.min is None and self.max is None:
            raise ValueError("give min, max or both")
        if self.min is not None and self.max is not None and self.min >= self.max:
            raise ValueError("min must be below max")
        return self


class Gate(BaseModel):
    """The content of gate.toml: `[primary."finding.id"]` tables with `min` and `max`, and the intervals' level."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)
    version: Literal[1] = Field(alias="schema")
    level: float = Field(0.95, gt=0.5, lt=1.0)
    primary: dict[str, Tolerance] = Field(min_length=1)

    def plain(self) -> dict[str, Any]:
        return self.model_dump(by_alias=True, exclude_none=True)


def load_gate(path: Path | None = None) -> Gate:
    """The gate at `path`, or the one that ships. Raises InputError naming the file and the key."""
    source = path or assets.data("gate.toml")
    try:
        return Gate.model_validate(tomllib.loads(source.read_text(encoding="utf-8")))
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path=source, hint="Give a gate.toml file.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"not TOML: {error}", path=source, hint="Correct it.") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(str(first["msg"]), path=source, field=where, hint="Correct this key.") from None


@dataclass(frozen=True)
class Decided:
    outcome: Decision
    headline: str  # one line for people
    findings: tuple[Finding, ...]


def decide(measures: Sequence[Measure], gate: Gate) -> Decided:
    """Apply `gate`. Raises InputError when it names a finding that this audit does not have."""
    by_id = {m.finding.id: m for m in measures}
    if unknown := sorted(set(gate.primary) - set(by_id)):
        known = ", ".join(by_id)
        raise InputError(
            f"the gate names {unknown[0]!r}, which this audit does not measure", field="primary", hint=f"Use: {known}."
        )
    primaries = list(gate.primary)
    adjusted = dict(zip(primaries, stats.holm([_beyond(by_id[id], gate.primary[id]) for id in primaries]), strict=True))
    findings = []
    for measure in measures:
        id = measure.finding.id
        if id in gate.primary:
            findings.append(_decide_one(measure, gate.primary[id], float(adjusted[id]), gate.level))
        else:
            findings.append(measure.finding)
    outcomes = [f.outcome for f in findings if f.id in gate.primary]
    outcome: Decision = "inconclusive"
    if "recuse" in outcomes:
        outcome = "recuse"
    elif all(o == "fit" for o in outcomes):
        outcome = "fit"
    return Decided(outcome, _headline(outcome, [f for f in findings if f.id in gate.primary]), tuple(findings))


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


def _decide_one(measure: Measure, tolerance: Tolerance, adjusted: float, level: float) -> Finding:
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
        details["pairs_to_decide"], details["why_undecided"] = _pairs_to_decide(measure, low, high)
    return replace(finding, tolerance=limits, outcome=outcome, details=details)


def _band(limits: tuple[float | None, float | None]) -> tuple[float, float]:
    low, high = limits
    return -math.inf if low is None else low, math.inf if high is None else high


def _pairs_to_decide(measure: Measure, low: float, high: float) -> tuple[int | None, str]:
    """About how many pairs would decide, at this rate of missing verdicts, and in words what stands in the way.

    Fit needs both completions inside; recusal needs the favourable one outside. More pairs narrow each interval and
    leave the gap between the completions as it is.
    """
    if measure.completions is None:
        return None, "not decidable by more pairs"
    where, needed = [], []
    for found in measure.completions:
        if found.estimate is None or found.interval is None:
            return None, "not decidable by more pairs"
        where.append((found.estimate > high) - (found.estimate < low))
        needed.append(stats.pairs_needed(found.estimate, found.interval, found.n, low, high))
    if where[0] != where[1]:
        return None, "not decidable with so many verdicts missing"
    deciding = needed[:1] if where[0] > 0 else needed[1:] if where[0] < 0 else needed
    counts = [count for count in deciding if count is not None]
    if len(counts) < len(deciding):
        return None, "not decidable near this tolerance"
    return max(counts), f"about {max(counts):,} pairs would decide it"


def _headline(outcome: Decision, primaries: Sequence[Finding]) -> str:
    """What decided it, in one line."""
    if outcome == "fit":
        return f"FIT: all {len(primaries)} primaries lie inside their tolerances."
    said = [_say(f) for f in primaries if f.outcome == outcome]
    return f"{outcome.upper()}: {'; '.join(said)}."


def _say(finding: Finding) -> str:
    if finding.estimate is None or finding.interval is None:
        return f"{finding.id} was not measured ({finding.reason})"
    low, high = finding.tolerance or (None, None)
    band = f"at most {high:g}" if low is None else f"at least {low:g}" if high is None else f"{low:g} to {high:g}"
    text = (
        f"{finding.id} {finding.estimate:.3f} [{finding.interval[0]:.3f}, {finding.interval[1]:.3f}], tolerance {band}"
    )
    if finding.outcome != "inconclusive":
        return text
    return f"{text}: {finding.details['why_undecided']}"
