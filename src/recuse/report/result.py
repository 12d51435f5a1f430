"""What a report is made from: one frozen record of a finished audit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from recuse.types import Finding

_FAMILIES = {"accuracy.error_rate": "Error rate by order", "domain.error_rate": "Error rate by domain"}


@dataclass(frozen=True)
class AuditResult:
    """A finished audit.

    Findings with an `outcome` are the primaries, that is what decided. Findings whose ids share what stands before a
    colon (`domain.error_rate:law`) are a family and are shown together; their `details` may hold `p_against_others` and
    a remark `uninformative`. `details` of `failures.rate` may hold `reasons` (a count for each reason) and `asks`; any
    `details` may hold `other_reading`: `reading` (its name), `estimate` and `interval` of the same verdicts read
    another way. `cases` are examples with the keys `pair`, `domain`, `question`, `chosen`, `rejected`, and, as far as
    they were asked, `AB`, `BA` and `-`: what the judge said with the chosen answer first, with the rejected answer
    first, and of each answer alone.
    `usage` may hold `calls`, `from_ledger`, `tokens_in`, `tokens_out`, `cost` (US dollars) and `seconds`.
    """

    judge: str
    pairs: str
    prompt: str
    outcome: Literal["fit", "recuse", "inconclusive"]
    headline: str  # one line for people
    findings: tuple[Finding, ...]
    gate: Mapping[str, Any] = field(default_factory=dict)  # the tolerances as parsed from gate.toml
    gate_name: str = "default"
    config: Mapping[str, Any] = field(default_factory=dict)  # the content of run.toml
    notes: tuple[str, ...] = ()  # sentences: what was adapted, label balance, refused settings
    cases: tuple[Mapping[str, Any], ...] = ()
    usage: Mapping[str, Any] = field(default_factory=dict)
    looks: int = 1
    folder: Path = Path()  # the run folder

    @property
    def level(self) -> float:
        """The confidence of the intervals, as the gate has it."""
        return float(self.gate.get("level", 0.95))

    @property
    def primaries(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.outcome is not None)

    @property
    def others(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.outcome is None and ":" not in f.id)

    @property
    def families(self) -> dict[str, tuple[Finding, ...]]:
        """Heading -> its findings, in the order in which they came."""
        found: dict[str, tuple[Finding, ...]] = {}
        for finding in self.findings:
            stem, colon, _ = finding.id.partition(":")
            if colon:
                heading = _FAMILIES.get(stem, stem)
                found[heading] = (*found.get(heading, ()), finding)
        return found

    @property
    def reasons(self) -> dict[str, int]:
        """Why replies had no verdict -> how many asks."""
        return next((dict(f.details["reasons"]) for f in self.findings if "reasons" in f.details), {})

    @property
    def asks(self) -> int | None:
        return next((f.details["asks"] for f in self.findings if "asks" in f.details), None)
