"""Calibrate a judge against people, and withhold what it says where it does not agree with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from recuse.audits.measure import Measure
from recuse.calibration.agree import KAPPA, kappa_of, measure_agreement, only_label
from recuse.calibration.labels import Known, Labels, known_pairs, known_recorded, load_labels
from recuse.calibration.probabilities import calibration_error
from recuse.calibration.table import Beside
from recuse.calibration.verdict import Decided, Decision, KappaRule, decide_kappa
from recuse.errors import InputError
from recuse.types import Judgement

__all__ = [
    "KAPPA", "Beside", "Calibrated", "Decided", "Decision", "KappaRule", "Known", "Labels", "calibrate", "decide",
    "known_pairs", "known_recorded", "load_labels",
]  # fmt: skip


_OUTCOMES: Mapping[Decision, str] = {"pass": "fit", "withheld": "recuse", "inconclusive": "inconclusive"}


@dataclass(frozen=True)
class Calibrated:
    measures: tuple[Measure, ...]  # `calibration.kappa` first
    notes: tuple[str, ...]
    decision: Decision
    reason: str  # one sentence without a full stop
    labels_needed: int | None  # where inconclusive: about how many labelled pairs would settle it


def calibrate(
    judgements: Sequence[Judgement],
    labels: Labels,
    *,
    rule: KappaRule | None = None,
    level: float = 0.95,
    domains: Mapping[str, str | None] | None = None,
    seed: int = 0,
) -> Calibrated:
    """Hold a judge's verdicts on the untouched answers against people's labels, and decide by `rule`.

    Raises InputError where none of the labelled pairs was judged.
    """
    rule = rule or KappaRule()
    judged = {j.pair for j in judgements}
    if not judged & set(labels.votes):
        raise InputError("none of the labelled pairs was judged", path=labels.source, hint="Label pairs of this run.")
    table = Beside.of(judgements, labels, domains=domains)
    measures = measure_agreement(table, Beside.of(judgements, labels, split=True), level=level)
    decided = decide(table, rule, level=level)
    kappa = measures[0].noting(
        rule=rule.model_dump(), decision=decided.decision, why=decided.reason, labels_needed=decided.labels_needed
    )
    ruled = replace(kappa.finding, outcome=_OUTCOMES[decided.decision], tolerance=(rule.point, None))
    measures[0] = replace(kappa, finding=ruled)
    measures.append(calibration_error(table, level=level, seed=seed))
    return Calibrated(
        tuple(measures), (*labels.notes, *_notes(table, labels, judged)), decided.decision, decided.reason,
        decided.labels_needed,
    )  # fmt: skip


def decide(table: Beside, rule: KappaRule, *, level: float) -> Decided:
    """The rule on a table of verdicts."""
    if not len(table):
        return Decided("withheld", "kappa with people is undefined (no judged pair has a label that most people give)")
    return decide_kappa(kappa_of(table, level=level), rule, constant=only_label(table), pairs=len(table.pairs))


def _notes(table: Beside, labels: Labels, judged: set[str]) -> list[str]:
    both = [pair for pair in labels.votes if pair in judged]
    votes = [vote for pair in both for vote in labels.votes[pair].values()]
    people = len(labels.people)
    told = "one label each" if people == 1 else f"labels of {people:,} people"
    lines = [f"{len(both):,} of {len(judged):,} judged pairs have {told}."]
    if abstained := sum(vote is None for vote in votes):
        lines.append(f"{abstained:,} of {len(votes):,} labels are abstentions.")
    if split := len(both) - len(table.pairs):
        lines.append(f"{split:,} labelled pairs have no label that most people give: kappa is on the others.")
    return lines
