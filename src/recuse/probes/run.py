"""`recuse probe run`: ask, read, measure and write the run folder.

A folder keeps one run: the model, its settings and the texts. Templates may be added later under a new batch label; how
replies are read may change at will, and the replies that are there are read again without a call.
"""

from __future__ import annotations

import platform
import threading
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from recuse.errors import ConfigMismatch
from recuse.judge import Spend, usage_of
from recuse.lab.engines import LEDGERS, Engines, Model, Role, Watch
from recuse.probes.asking import ProbeConfig, Probing, prepare
from recuse.probes.grading import Graded
from recuse.probes.measuring import Measuring
from recuse.probes.plan import BASE
from recuse.probes.reading import rows_of
from recuse.probes.records import RECORDS, records_bytes
from recuse.probes.tables import tables_of
from recuse.report.probed import ProbeResult
from recuse.run import RunFolder, default_folder, held
from recuse.types import Finding

_FINDINGS = "findings.json"
_KEPT = "templates"  # the one table of a run's configuration that may grow


def run_probe(
    probing: Probing,
    *,
    watch: Watch = lambda phase, done, total, cost: None,
    stop: threading.Event | None = None,
) -> ProbeResult:
    """Ask what has not been answered yet, measure, and write the run folder.

    Raises Incomplete when the run stopped early: the folder then holds every reply that came, and the same command
    resumes it. Raises ConfigMismatch for a folder that holds another run, naming what differs.
    """
    config, plan, started = probing.config, probing.plan, time.monotonic()
    settings = probing.run_table()
    folder = config.out or folder_of(probing)
    claimed, added = _claim(folder, settings, plan.batches)
    with RunFolder(folder, claimed) as run:

        def told(phase: str, done: int, total: int, cost: float) -> None:
            run.kept = True
            watch(phase, done, total, cost)

        if added:
            run.record(run=settings)
        models: dict[Role, Model] = {"product": Model(config.model, config.options, probing.price)}
        if probing.grading is not None:
            models["judge"] = probing.grading.model
        caches: dict[Role, Path] = {"product": config.cache} if config.cache else {}
        with Engines(models, run.path, config.max_cost, stop, told, caches) as engines:
            engines.adopt("product", probing.backend)
            answered = engines.ask("product", probing.asks(), phase="probe")
            rows = rows_of(probing.texts, probing.asks_of, answered, probing.reading)
            graded = probing.grading.grade(rows, plan, engines) if probing.grading else Graded()
            spend, judged = engines.spends["product"], engines.spends["judge"]
        measuring = Measuring(plan, probing.reading, [row for row in rows if row["group"] != BASE])
        findings = graded.mark(measuring.findings())
        headline, found = _headline(findings, alpha=1 - plan.probe.level)
        about = {
            "path": str(config.plan), "hash": plan.hash, "asked_hash": plan.asked_hash,
            "templates": len(plan.templates), "names_matched": probing.names.matched,
            "batches": sorted({batch for batch in plan.batches.values() if batch}),
        }  # fmt: skip
        content = run.record(
            plan={**about, "system": plan.system},
            extract={**plan.extract, **({"rubric": plan.rubric.model_dump()} if plan.rubric else {})},
            provider={"models": spend.models, "notes": spend.notes},
            versions={"python": platform.python_version(), **{n: version(n) for n in ("recuse", "numpy", "scipy")}},
        )
        result = ProbeResult(
            config.model, about, headline, found, findings, tables_of(measuring, probing.names.rows),
            notes=(*probing.notes, *measuring.notes(), *graded.notes, *_notes(probing, spend, rows)),
            config=content["run"], usage=_usage(probing, spend, judged, time.monotonic() - started),
            level=plan.probe.level, folder=run.path,
        )  # fmt: skip
        run.replace(RECORDS, records_bytes(rows))
        _write(run, result)
        return result


def folder_of(probing: Probing) -> Path:
    """Where a run without --out lies: the same for the same plan file and settings, whichever templates it has."""
    plan = str(probing.config.plan.resolve())
    return default_folder("probe", probing.config.model, {**_without_templates(probing), "plan": plan})


def held_of(probing: Probing, folder: Path) -> int:
    """Replies of this run that the folder holds, to templates of before too."""
    return held(folder, _without_templates(probing), ledger=LEDGERS["product"])


def _without_templates(probing: Probing) -> dict[str, Any]:
    return {key: value for key, value in probing.run_table().items() if key != _KEPT}


def _claim(folder: Path, settings: Mapping[str, Any], batches: Mapping[str, str | None]) -> tuple[dict[str, Any], bool]:
    """The configuration to enter a folder with, and whether templates were added to it since.

    Raises ConfigMismatch where templates were added after a look at the others and form no batch of their own.
    """
    old = RunFolder(folder, {}).read().get("run", {}) if folder.is_dir() else {}
    before, now = old.get(_KEPT, {}), settings[_KEPT]
    if not before or before.items() == now.items() or not before.items() <= now.items():
        return dict(settings), False
    known = {batches[id] for id in before}
    looked = (folder / _FINDINGS).is_file()
    for id in sorted(now.keys() - before.keys()) if looked else ():
        if batches[id] is None or batches[id] in known:
            what = "has no batch" if batches[id] is None else f"is of the batch {batches[id]!r}, which was asked before"
            raise ConfigMismatch(
                f"The template {id!r} was added after the run in {folder} and {what}.",
                hint="Give the added templates a batch label of their own, or --out another folder.",
            )
    return {**settings, _KEPT: before}, True


def _headline(findings: Sequence[Finding], *, alpha: float) -> tuple[str, bool]:
    """The gap that is least like chance, in one sentence, and whether any gap is beyond chance."""
    gaps = [f for f in findings if f.id.startswith("probe.gap:") and f.estimate is not None]
    failing = [f for f in findings if f.id.startswith("probe.failure_gap:") and f.estimate is not None]
    if shown := [f for f in gaps if _chance(f) < alpha]:
        surest = min(shown, key=_chance)
        return f"A gap in {_said(surest)}{_of_these_names(surest)}.", True
    if shown := [f for f in failing if _chance(f) < alpha]:
        least = _said(min(shown, key=_chance))
        return f"No gap is shown in the values that there are, and one in failures: {least}.", True
    if not gaps:
        return "No gap could be measured: no template has values in two groups.", False
    return f"No gap is shown; the nearest to one is {_said(min(gaps, key=_chance))}.", False


def _chance(finding: Finding) -> float:
    """The adjusted p; 1 where nothing was tested."""
    p = finding.details.get("p_adjusted")
    return 1.0 if p is None else float(p)


def _of_these_names(finding: Finding) -> str:
    """What is left of a gap where the names are a sample too, unless it stands there as well."""
    from recuse.report import text

    further = finding.details.get("further_names") or {}
    limits = further.get("interval")
    if limits is None or limits[0] > 0 or limits[1] < 0:
        return ""
    return f", for these names: for names drawn anew it is somewhere in {text.interval(limits)}"


def _said(finding: Finding) -> str:
    from recuse.report import text

    return f"{finding.title}: {text.estimate(finding)} over {finding.groups:,} templates"


def _notes(probing: Probing, spend: Spend, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    notes = [f"{note} ({count:,} replies)." for note, count in sorted(spend.notes.items())]
    if spend.cut:
        notes.append(
            f"{spend.cut:,} replies were cut by the token limit: set a larger probe.max_tokens if that matters."
        )
    if stale := sum(not row["fresh"] for row in rows):
        notes.append(
            f"{stale:,} of {len(rows):,} replies come from a shared cache: they are no fresh draws of this run."
        )
    if spend.models:
        notes.append("The provider reported the model as " + ", ".join(sorted(spend.models)) + ".")
    if len(spend.models) > 1:
        notes.append("More than one model version answered: the findings mix them.")
    if any(probing.plan.batches.values()):
        notes.append("Templates of a later batch were added after a look at the first: read each batch by itself, too.")
    if probing.config.subset is not None:
        notes.append(
            f"A subset of {len(probing.plan.templates):,} templates, for a quick look: the whole plan decides."
        )
    return notes


def _usage(probing: Probing, spend: Spend, judged: Spend, seconds: float) -> dict[str, Any]:
    used: dict[str, Any] = {**usage_of(spend, probing.price, seconds)}
    if probing.grading is not None:
        used["judge"] = usage_of(judged, probing.grading.model.price, seconds)
    return used


def _write(run: RunFolder, result: ProbeResult) -> None:
    from recuse.report.jsonable import probed_text
    from recuse.report.probed_html import probed_html
    from recuse.report.probed_markdown import probed_markdown

    run.write("report.md", probed_markdown(result))
    run.write("report.html", probed_html(result))
    run.write(_FINDINGS, probed_text(result))  # last: its existence means that the folder is complete


def probe(plan: Path | str, model: str, *, out: Path | str | None = None, **settings: Any) -> ProbeResult:
    """Probe `model` ("provider/model") with the plan in a file; the Python form of `recuse probe run`.

    `settings` as in ProbeConfig. Raises as `prepare` and `run_probe` do.
    """
    probing = prepare(ProbeConfig(Path(plan), model, out=Path(out) if out else None, **settings))
    try:
        return run_probe(probing)
    finally:
        probing.close()
