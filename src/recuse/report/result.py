"""What a report is made from: one frozen record of a finished audit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from recuse.report.case import Case
from recuse.types import Finding

_FAMILIES = {
    "accuracy.error_rate": "Error rate by order",
    "domain.error_rate": "Error rate by domain",
    "swap.gap": "Group swap: same text, another group",
    "swap.floor": "Group swap: what a meaningless change does",
    "swap.blinded_residual": "Group swap after blinding",
    "self_preference.label": "Same text, another author's label",
    "calibration.kappa": "Agreement with people by domain",
    "judged.win_rate": "Win rate of answer A by domain, as the judge has it",
}
_OF_A_RULE = ("swap.gap:", "self_preference.label:")  # parts of a rule that decides under the plain id
_BIASES = {
    "effect": "Known biases: error that each adds, against a meaningless version",
    "vs_original": "Known biases: error that each adds, against the untouched answers",
    "score_shift": "Known biases: points that each adds to the wrong answer's score, against a meaningless version",
}


def _heading(id: str) -> str | None:
    """The family of a finding, by its id; None for one that stands alone."""
    if id.startswith("bias."):
        return _BIASES.get(id.rpartition(".")[2])
    stem, colon, _ = id.partition(":")
    return _FAMILIES.get(stem, stem) if colon else None


def _from_the_largest(finding: Finding) -> tuple[bool, float]:
    return finding.estimate is None, -(finding.estimate or 0.0)


@dataclass(frozen=True)
class AuditResult:
    """A finished audit.

    Findings with an `outcome` are the primaries, that is what decided, but for the parts of a swap test, whose worst
    one decides as `swap.gap`. Findings whose ids share what stands before a colon (`domain.error_rate:law`), and those
    of known biases (`bias.ID.effect`, `bias.ID.vs_original`, `bias.ID.score_shift`), are a family and are shown
    together; their `details` may hold `p_against_others`, and any finding's the remarks `uninformative` and `suspect`,
    and `withheld`, why it is not shown. `details` of `failures.rate` may hold `reasons` (a count for each reason) and
    `asks`; any `details` may hold `other_reading`: `reading` (its name), `estimate` and `interval` of the same verdicts
    read another way. `cases` come worst first, `of_cases` is how many there are in all.
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
    cases: tuple[Case, ...] = ()
    of_cases: int | None = None  # None: as many as `cases`
    usage: Mapping[str, Any] = field(default_factory=dict)
    looks: int = 1
    folder: Path = Path()  # the run folder

    @property
    def level(self) -> float:
        """The confidence of the intervals, as the gate has it."""
        return float(self.gate.get("level", 0.95))

    @property
    def primaries(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.outcome is not None and not f.id.startswith(_OF_A_RULE))

    @property
    def others(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.outcome is None and _heading(f.id) is None)

    @property
    def families(self) -> dict[str, tuple[Finding, ...]]:
        """Heading -> its findings, in the order in which they came; effects of biases from the largest on."""
        found: dict[str, tuple[Finding, ...]] = {}
        for finding in self.findings:
            if (heading := _heading(finding.id)) is not None:
                found[heading] = (*found.get(heading, ()), finding)
        for heading in _BIASES.values():
            if heading in found:
                found[heading] = tuple(sorted(found[heading], key=_from_the_largest))
        return found

    @property
    def reasons(self) -> dict[str, int]:
        """Why replies had no verdict -> how many asks."""
        return next((dict(f.details["reasons"]) for f in self.findings if "reasons" in f.details), {})

    @property
    def asks(self) -> int | None:
        return next((f.details["asks"] for f in self.findings if "asks" in f.details), None)
