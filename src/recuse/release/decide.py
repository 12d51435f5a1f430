"""All checks of a release, and the one outcome that follows from them.

Fail: any check fails. Pass: all of them pass, and a baseline that was given may be compared. Else inconclusive.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from recuse.errors import InputError
from recuse.release.baseline import change, differing, doubt_of
from recuse.release.checks import Check, Decision, Value, decide, p_outside, said_band
from recuse.release.read import RunRead
from recuse.release.slices import PREFIX, slices_of, worst_slice
from recuse.release.tolerances import Tolerances
from recuse.types import Finding

_SHOWN = 12  # ids that an error lists


@dataclass(frozen=True)
class Release:
    outcome: Decision
    headline: str  # one line for people
    checks: tuple[Check, ...]
    run: RunRead
    baseline: RunRead | None
    void: tuple[str, ...]  # why run and baseline may not be compared; empty where they may, or where there is none
    changes: Mapping[str, Value]  # against the baseline, of metrics whose change has no band: for information
    notes: tuple[str, ...]  # sentences


def gate_run(run: RunRead, tolerances: Tolerances, *, baseline: RunRead | None = None, path: Path) -> Release:
    """Apply the `tolerances` of the file `path`.

    Raises InputError for a metric that the run does not have, for intervals that are narrower than the file asks, and
    for max_rise or max_fall without a baseline.
    """
    _possible(run, tolerances, baseline, path)
    void = differing(run, baseline) if baseline is not None else ()
    decided = _decided(_open(run, tolerances, baseline, void), alpha=1.0 - tolerances.level)
    checks = [_refused(check, run, tolerances) for check in decided]
    if tolerances.worst_slice is not None:
        rule = tolerances.worst_slice
        checks.append(worst_slice(slices_of(run.findings.values(), rule), rule))
    outcome = _outcome(checks, void)
    return Release(
        outcome, _headline(outcome, checks, void), tuple(checks), run, baseline, void,
        _changes(run, tolerances, baseline) if baseline is not None and not void else {},
        tuple(_notes(run, tolerances, baseline)),
    )  # fmt: skip


def _possible(run: RunRead, tolerances: Tolerances, baseline: RunRead | None, path: Path) -> None:
    for id, band in tolerances.primary.items():
        if id not in run.findings:
            raise InputError(f"the run has no {id!r}", path=path, field="primary", hint=_has(list(run.findings)))
        if band.change is not None and baseline is None:
            raise InputError(
                "max_rise and max_fall compare with an earlier run", path=path, field=f"primary.{id}",
                hint="Give it with --baseline.",
            )  # fmt: skip
    if tolerances.worst_slice is not None and not slices_of(run.findings.values(), tolerances.worst_slice):
        found = [id for id in run.findings if id.startswith(PREFIX)]
        hint = _has(found) if found else f"It has no finding {PREFIX}TAG=VALUE at all."
        raise InputError("the run has none of these slices", path=path, field="worst_slice", hint=hint)
    for one in (run, baseline):
        if one is not None and one.level < tolerances.level - 1e-12:
            raise InputError(
                f"asks for intervals at {tolerances.level:g}, and those of {one.folder} are at {one.level:g}",
                path=path, field="level", hint="Make the run at that level, or change the file before you look.",
            )  # fmt: skip


def _has(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
    return f"It has: {', '.join(ids[:_SHOWN])}{more}."


def _open(run: RunRead, tolerances: Tolerances, baseline: RunRead | None, void: tuple[str, ...]) -> list[Check]:
    checks = []
    for id, band in tolerances.primary.items():
        finding = run.findings[id]
        if band.level is not None:
            value = _value(finding, run.level)
            checks.append(Check(id, "band", finding.title, value, band.level, can_fail=band.recuse))
        if band.change is not None and baseline is not None:
            value = change(run, baseline, id)
            if void:
                reason = f"the baseline is void, since this changed: {'; '.join(void)}"
                value = Value(None, None, None, run.level, finding.n, reason=reason)
            title = f"{finding.title}: change against the baseline"
            checks.append(Check(id, "change", title, value, band.change, can_fail=band.recuse))
    return checks


def _changes(run: RunRead, tolerances: Tolerances, baseline: RunRead) -> dict[str, Value]:
    return {id: change(run, baseline, id) for id, band in tolerances.primary.items() if band.change is None}


def _value(finding: Finding, level: float) -> Value:
    return Value(
        finding.estimate, finding.interval, finding.bounds, level, finding.n, finding.reason, doubt_of(finding),
        finding.method,
    )  # fmt: skip


def _decided(checks: Sequence[Check], *, alpha: float) -> list[Check]:
    from recuse.stats import holm

    tested = [place for place, check in enumerate(checks) if check.can_fail]
    adjusted = dict(
        zip(tested, holm([p_outside(checks[i].value, checks[i].band) for i in tested]).tolist(), strict=True)
    )
    return [decide(check, adjusted=adjusted.get(i, 1.0), alpha=alpha) for i, check in enumerate(checks)]


def _refused(check: Check, run: RunRead, tolerances: Tolerances) -> Check:
    """A pass taken back where something that the check does not see speaks against it."""
    if check.outcome != "pass":
        return check
    if check.id.startswith("judged.") and _other_rule(run, tolerances):
        why = "the audit withheld judged metrics by another [calibration] than the file has: run it with --gate"
        return replace(check, outcome="inconclusive", why=why)
    companion = check.id.replace("probe.gap:", "probe.failure_gap:", 1)
    failures = run.findings.get(companion)
    if companion == check.id or failures is None or companion in tolerances.primary or not _uneven(failures, run.level):
        return check
    why = f"replies failed more often in one group ({failures.estimate:+.3f}): give {companion} a band of its own"
    return replace(check, outcome="inconclusive", why=why)


def _uneven(failures: Finding, level: float) -> bool:
    if failures.estimate is None:
        return False
    outside = failures.interval is not None and not failures.interval[0] <= 0.0 <= failures.interval[1]
    return outside or (failures.p is not None and failures.p < 1.0 - level)


def _other_rule(run: RunRead, tolerances: Tolerances) -> bool:
    rule = tolerances.calibration
    return rule is not None and run.calibration != rule.model_dump()


def _outcome(checks: Sequence[Check], void: tuple[str, ...]) -> Decision:
    if any(check.outcome == "fail" for check in checks):
        return "fail"
    return "pass" if not void and all(check.outcome == "pass" for check in checks) else "inconclusive"


def _headline(outcome: Decision, checks: Sequence[Check], void: tuple[str, ...]) -> str:
    if outcome == "pass":
        return "PASS: the one check lies in its band." if len(checks) == 1 else f"PASS: all {len(checks)} checks hold."
    said = [_say(check) for check in checks if check.outcome == outcome]
    if void and outcome == "inconclusive":
        said.insert(0, f"the baseline is void, since this changed: {'; '.join(void)}")
        said = [text for i, text in enumerate(said) if i == 0 or "the baseline is void" not in text]
    return f"{outcome.upper()}: {'; '.join(said)}."


def _say(check: Check) -> str:
    value = check.value
    if check.rule == "worst_slice":
        return f"worst slice: {check.why}"
    name = check.id if check.rule == "band" else f"change of {check.id}"
    if value.estimate is None:
        return f"{name} was {check.why}"
    shown = f" [{value.interval[0]:.3f}, {value.interval[1]:.3f}]" if value.interval is not None else ""
    return f"{name} {value.estimate:.3f}{shown}, band {said_band(check.band)}: {check.why}"


def _notes(run: RunRead, tolerances: Tolerances, baseline: RunRead | None) -> list[str]:
    notes = []
    for one, which in ((run, "The run"), (baseline, "The baseline")):
        if one is not None and one.part:
            notes.append(f"{which} is part of a plan: {one.part}.")
    if run.kind == "audit" and not run.headline.startswith("FIT"):
        notes.append(f"The audit's own gate said {run.headline}")
    if run.level > tolerances.level + 1e-12:
        notes.append(f"The run's intervals are at {run.level:g}, wider than the {tolerances.level:g} that are asked.")
    return notes
