"""The controls beside a judged run: a swap test by a plan, and people's labels. They decide whether a number that rests
on this judge may be shown at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from recuse.audits import Table, judged
from recuse.audits.judged import WIN_RATE
from recuse.audits.measure import Measure
from recuse.calibration import Calibrated, KappaRule, Known, Labels, calibrate, load_labels
from recuse.calibration.labels import Place
from recuse.swap.run import GATEABLE as OF_SWAP
from recuse.swap.run import SwapFound
from recuse.types import Finding, Judgement

GATEABLE = OF_SWAP | {"calibration.agreement"}  # what a gate may name beside the measures of every audit


@dataclass(frozen=True)
class People:
    """Where people's labels are and how they are read. See `calibration.labels.load_labels` for each field."""

    path: Path
    key: str | None = None
    columns: tuple[str, ...] = ()
    annotator: str | None = None
    values: Mapping[str, str] = field(default_factory=dict)

    def load(self, known: Sequence[Known]) -> Labels:
        """Raises InputError and UsageError as `load_labels` does."""
        return load_labels(
            self.path, known, key=self.key, column=self.columns, annotator=self.annotator, values=self.values
        )


@dataclass(frozen=True)
class Controls:
    """What the controls of one run found."""

    measures: tuple[Measure, ...] = ()
    notes: tuple[str, ...] = ()
    suspect: str | None = None  # why every judged metric of the run is in doubt
    withheld: str | None = None  # why none may be shown
    unsettled: str | None = None  # what is not known yet

    def mark(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """Findings with every judged metric withheld, or marked in doubt, as the controls have it."""
        return tuple(self._marked(f) if f.id.partition(":")[0] == WIN_RATE else f for f in findings)

    def _marked(self, finding: Finding) -> Finding:
        if self.withheld is not None:
            return Finding(finding.id, finding.title, None, n=finding.n, groups=finding.groups,
                           reason=f"withheld: {self.withheld}", details={"withheld": self.withheld})  # fmt: skip
        doubt = self.suspect or self.unsettled
        if doubt is None or finding.estimate is None:
            return finding
        return replace(finding, details={**finding.details, "suspect": doubt})


def controls(
    *,
    table: Table,
    places: Mapping[str, Place],
    judgements: Sequence[Judgement],
    swap: SwapFound | None,
    labels: Labels | None,
    rule: KappaRule,
    level: float,
    domains: Mapping[str, str | None],
) -> Controls | None:
    """What swap test and people say of the judge, with the metrics that a team would report from it.

    None for a run without controls. `places` says where each pair's chosen answer stood in the source. Raises
    InputError where none of the labelled pairs was judged.
    """
    if swap is None and labels is None:
        return None
    told = calibrate(judgements, labels, rule=rule, level=level, domains=domains) if labels is not None else None
    measures = [*(_ruled(swap) if swap else ()), *(told.measures if told else ())]
    reported = [m for m in judged(table, places, level=level) if m.finding.estimate is not None]
    suspect = swap.failed if swap else None
    withheld = told.reason if told and told.decision == "withheld" else None
    notes = [*_said(suspect, withheld, told), *(swap.notes if swap else ()), *(told.notes if told else ())]
    if labels is not None:
        notes.append(f"People's labels: {labels.source} ({labels.hash}).")
    unsettled = f"not settled: {told.reason}" if told and told.decision == "inconclusive" else None
    return Controls((*measures, *reported), tuple(notes), suspect, withheld, unsettled)


def _ruled(swap: SwapFound) -> list[Measure]:
    """The swap's measures, with what a headline says of one that is undecided."""
    found = []
    for measure in swap.measures:
        finding = measure.finding
        if finding.id == "swap.gap" and finding.estimate is None:  # asked for and not measured: prevents fit
            finding = replace(finding, outcome="inconclusive")
        elif finding.outcome == "inconclusive":
            needed = finding.details.get("templates_needed")
            why = f"about {needed:,} templates would show that there is none" if needed else "more templates are needed"
            finding = replace(finding, details={**finding.details, "why_undecided": why})
        found.append(replace(measure, finding=finding))
    return found


def _said(suspect: str | None, withheld: str | None, told: Calibrated | None) -> list[str]:
    said = []
    if suspect is not None:
        said.append(f"{suspect} Every judged metric of this run is suspect.")
    if withheld is not None:
        said.append(f"Judged metrics are withheld: {withheld}.")
    elif told is not None and told.decision == "inconclusive":
        said.append(f"Whether judged metrics may be shown is not settled: {told.reason}.")
    return said
