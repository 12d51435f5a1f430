"""`recuse audit --verdicts`: examine a judge by verdicts that were recorded elsewhere, without any call."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from recuse.audits import Measure, Table
from recuse.audits.accuracy import three_way
from recuse.calibration import known_recorded
from recuse.conclude import conclude
from recuse.controls import GATEABLE, People, controls
from recuse.errors import UsageError
from recuse.examine import keep_labels
from recuse.gate import check_gate
from recuse.plan import named_gate
from recuse.recorded import Recorded, load_recorded
from recuse.report.result import AuditResult
from recuse.run import RunFolder, default_folder
from recuse.types import Judgement


@dataclass(frozen=True)
class RecordedConfig:
    """An audit of verdicts that were recorded elsewhere: nothing is asked."""

    verdicts: Path
    format: str | None = None
    where: tuple[str, ...] = ()
    reading: Literal["reread", "recorded"] = "reread"
    text_format: str = "bracket"
    gate: Path | None = None
    out: Path | None = None
    people: People | None = None  # labels that the judge is held against


def audit_recorded(config: RecordedConfig) -> AuditResult:
    """Audit recorded verdicts. Raises InputError and UsageError as `recorded.load_recorded` does."""
    started = time.monotonic()
    gate, gate_name = named_gate(config.gate)
    found = load_recorded(
        config.verdicts,
        format=config.format,
        where=config.where,
        reading=config.reading,
        text_format=config.text_format,
    )
    judge_name = found.judge or "recorded verdicts"
    settings = {
        "verdicts": str(config.verdicts), "verdicts_hash": found.hash, "format": found.preset,
        "where": list(config.where), "reading": found.reading,
        "text_format": config.text_format if found.preset == "plain" else None,
    }  # fmt: skip
    check_gate(gate, domains=sorted(set(found.domains.values())), also=GATEABLE, path=config.gate)
    if not found.judgements and not found.without_gold:
        raise UsageError(f"{config.verdicts}: no row can be judged.", hint="Check --format and --where.")
    table, other = _table(found, found.judgements), _table(found, found.other) if found.other else None
    labels = config.people.load(known_recorded(found)) if config.people else None
    judged = [*found.judgements, *found.without_gold]
    with RunFolder(config.out or default_folder("recorded", judge_name, settings), settings) as run:
        keep_labels(run, labels)
        return conclude(
            run,
            judged,
            table=table,
            gate=gate,
            gate_name=gate_name,
            judge=judge_name,
            pairs=f"{config.verdicts} ({table.n} pairs)",
            prompt=f"recorded: {found.preset}",
            usage={"calls": 0, "seconds": round(time.monotonic() - started, 1)},
            notes=[*found.notes, *_differences(found)],
            provider={},
            words=found.words,
            extra=_agreement(found, gate.level),
            controls=controls(
                table=table,
                places=found.places,
                judgements=judged,
                swap=None,
                labels=labels,
                rule=gate.calibration,
                level=gate.level,
                domains=found.domains,
            ),
            other=other,
            other_name="recorded" if found.reading == "reread" else "reread",
        )


def _table(found: Recorded, judged: list[Judgement]) -> Table:
    """Rows without gold count for all but errors."""
    graded, without = (judged, found.without_gold) if found.gold else ([], judged)
    return Table.build(graded, without_gold=without, domains=found.domains, lengths=found.lengths)


def _differences(found: Recorded) -> list[str]:
    if not found.differ:
        return []
    lines = [
        f"{found.differ:,} of {found.rows:,} recorded decisions are not what their text says, of which "
        f"{found.contradict:,} name another outcome."
    ]
    return lines + [
        f"Row {e.row} ({e.pair}): recorded {e.recorded or 'none'}, read again {e.reread or 'none'} ({e.why})."
        for e in found.examples
    ]


def _agreement(found: Recorded, level: float) -> list[Measure]:
    rows = found.three_way
    if not rows:
        return []
    return [three_way([r.right for r in rows], [r.missing for r in rows], [r.group for r in rows], level=level)]
