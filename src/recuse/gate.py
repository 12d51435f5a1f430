"""Findings and tolerances become an outcome: fit, recuse or inconclusive.

Fit: every primary's whole interval, over all completions of missing verdicts, lies inside its tolerance. No correction
is needed, since all must pass. Recuse: at least one primary lies outside, by a test that completes missing verdicts in
the judge's favour, after Holm over the primaries. Else inconclusive. A primary that was not measured prevents fit.
"""

from __future__ import annotations

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
            findings.append(_decide_one(measure.finding, gate.primary[id], float(adjusted[id]), gate.level))
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


def _decide_one(finding: Finding, tolerance: Tolerance, adjusted: float, level: float) -> Finding:
    low = -float("inf") if tolerance.min is None else tolerance.min
    high = float("inf") if tolerance.max is None else tolerance.max
    limits = (tolerance.min, tolerance.max)
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
        needed = stats.pairs_needed(finding.estimate, finding.interval, finding.n, low, high)
        details["pairs_to_decide"] = needed
    return replace(finding, tolerance=limits, outcome=outcome, details=details)


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
    needed = finding.details.get("pairs_to_decide")
    more = f"about {needed:,} pairs would decide it" if needed else "not decidable near this tolerance"
    return f"{text}: {more}"
