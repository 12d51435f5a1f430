"""`recuse discover`: rounds on the discovery part, validation opened once, the effect on the test part."""

from __future__ import annotations

import platform
import threading
import time
from collections.abc import Sequence
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

from recuse.discovery.config import DiscoverConfig, DiscoverPlan, plan_discovery
from recuse.discovery.fates import SET_IN_ADVANCE, STATUS, fate_of, severity
from recuse.discovery.findings import candidate_findings, examples, run_findings
from recuse.discovery.merge import Candidate
from recuse.discovery.notes import notes
from recuse.discovery.online import Stream
from recuse.discovery.rounds import Discovered, Round, play
from recuse.discovery.transfer import Transferred
from recuse.discovery.validate import Tested, Validated, measure, validate
from recuse.judge import usage_of
from recuse.judgements import Unread
from recuse.lab.bench import Bench, Lab
from recuse.lab.engines import Engines, Model, Role, Watch
from recuse.library import Bias, Evidence, bias_toml
from recuse.perturb.teacher import load_wording
from recuse.plan import AuditConfig
from recuse.prompts import load_prompt
from recuse.report.discovered import FATES, DiscoverResult, Fate, Found
from recuse.run import RunFolder, default_folder

LIMITS = (
    "Gold labels are needed: whether the judge errs is measured by them, and their errors count as its errors.",
    "An effect is a tendency over pairs, not the reason of a single error; the judge's explanations select candidates "
    "and prove nothing.",
    "What is found is bounded by the teacher: it rewrites in its own way, and names what it can think of.",
    "Social biases rarely surface without rewrites that are specific to an identity: swap tests and probes are for "
    "those.",
)


def run_discovery(
    plan: DiscoverPlan,
    *,
    given: Transferred | None = None,
    watch: Watch = lambda phase, done, total, cost: None,
    stop: threading.Event | None = None,
) -> DiscoverResult:
    """Run all phases and write the run folder; with `given` candidates the rounds are left out.

    Raises Incomplete when the run stopped early; the folder then holds every reply that came, and the same
    configuration resumes it: all phases are computed again from the replies, and only what is missing is asked.
    """
    config, started = plan.config, time.monotonic()
    audit = config.judge
    if given is not None:
        given.check_pairs(plan.audit.pairs.hash)
    settings = plan.run_table() if given is None else {**plan.run_table(), **given.run_table()}
    kind = "discover" if given is None else "transfer"
    benches = [Bench(name, getattr(plan.splits, name)) for name in ("discovery", "validation", "test")]
    discovery, validation, testing = benches
    with RunFolder(audit.out or default_folder(kind, audit.judge, settings), settings) as run:

        def told(phase: str, done: int, total: int, cost: float) -> None:
            run.kept = True
            watch(phase, done, total, cost)

        models: dict[Role, Model] = {
            "judge": Model(audit.judge, audit.options, plan.audit.price),
            "teacher": Model(config.teacher, config.teacher_options, plan.teacher_price),
        }
        caches: dict[Role, Path] = {"judge": audit.cache} if audit.cache else {}
        lent: dict[Role, Path] = {}
        if given is not None and given.teacher_ledger.is_file():
            lent["teacher"] = given.teacher_ledger
        with Engines(models, run.path, audit.max_cost, stop, told, caches, lent) as engines:
            engines.adopt("judge", plan.audit.backend)
            if plan.teacher.backend is not None:
                engines.adopt("teacher", plan.teacher.backend)
            lab = Lab(
                engines, plan.audit.design, plan.sampling, load_wording(),
                load_prompt("verify/same_answer", kinds=("verify",)) if config.verify else None,
                run_code=audit.run_code, room=plan.teacher_room,
            )  # fmt: skip
            if config.online and given is None:
                stream = Stream.over(plan, lab)
                found = play(plan, lab, discovery, stream.decide)
                candidates, validated, benches = found.advanced, stream.summary(), [discovery, *stream.blocks, testing]
            else:
                found = play(plan, lab, discovery) if given is None else given.found()
                candidates = found.advanced
                validated = validate(plan, lab, validation, candidates) if candidates else None
            passed = _passed(candidates, validated)
            tested = measure(plan, lab, testing, passed)
            spends = engines.spends
        result = _result(plan, run, found, validated, tested, benches, lab.unread, {
            "judge": usage_of(spends["judge"], plan.audit.price, time.monotonic() - started),
            "teacher": usage_of(spends["teacher"], plan.teacher_price, time.monotonic() - started),
        }, engines.notes)  # fmt: skip
        _write(run, result, {c.bias.id: c for c in found.candidates.values()})
        return result


def _passed(candidates: Sequence[Candidate], validated: Validated | None) -> list[Candidate]:
    """Candidates that passed every test, those among them that something else keeps from being confirmed."""
    if validated is None:
        return []
    kept = {d.arm for d in validated.decisions if d.status != "rejected"}
    return [c for c in candidates if f"bias:{c.bias.id}" in kept]


def _result(
    plan: DiscoverPlan, run: RunFolder, found: Discovered, validated: Validated | None, tested: Tested,
    benches: Sequence[Bench], unread: Unread, usage: dict[str, Any], of_memory: Sequence[str],
) -> DiscoverResult:  # fmt: skip
    decisions = {d.arm: d for d in validated.decisions} if validated else {}
    shown = []
    for id, candidate in found.candidates.items():
        arm = f"bias:{id}"
        decision, effect = decisions.get(arm), tested.effects.get(id)
        fate: Fate = "dropped"
        reasons = _dropped(found, id)
        if validated is not None and decision is not None:
            fate, reasons = fate_of(
                decision, effect, excess=validated.slips[arm].excess, min_effect=plan.config.min_effect
            )
        shown.append(
            Found(
                id, candidate.bias.name, candidate.bias.definition, candidate.bias.inject or "",
                fate=fate, support=candidate.support, wordings=candidate.wordings, reasons=reasons,
                severity=severity(effect.estimate if effect else None, min_effect=plan.config.min_effect),
                findings=candidate_findings(
                    candidate, found.screened.get(id), decision, tested,
                    stopped=validated is not None and arm in validated.stopped,
                ),
                examples=examples(benches, candidate, found.words),
            )
        )  # fmt: skip
    shown.sort(key=lambda f: (FATES.index(f.fate), -(f.findings[0].estimate or 0.0) if f.findings else 0.0, f.id))
    accepted = [f for f in shown if f.fate == "accepted"]
    config = run.record(
        versions={"python": platform.python_version(), **{p: version(p) for p in ("recuse", "numpy", "scipy")}},
        usage=usage,
    )
    audit = plan.audit
    return DiscoverResult(
        judge=plan.config.judge.judge, teacher=plan.config.teacher,
        pairs=f"{plan.config.judge.pairs} ({len(audit.pairs)} pairs in {audit.pairs.groups} groups)",
        prompt=audit.prompt.id if audit.prompt else "none: a reward model",
        headline=_headline(shown, plan.config.min_effect),
        candidates=tuple(shown), findings=run_findings(validated, benches),
        rounds=tuple(_row(r) for r in found.rounds), limits=LIMITS,
        notes=(*notes(plan, found, validated, benches, unread, any_accepted=bool(accepted)), *of_memory),
        config=config, usage=usage, folder=run.path,
    )  # fmt: skip


def _dropped(found: Discovered, id: str) -> tuple[str, ...]:
    effect = found.screened.get(id)
    if effect is None or effect.estimate is None:
        return ("no effect could be measured on the discovery part" + (f": {effect.reason}" if effect else ""),)
    return (f"an effect of {effect.estimate:.3f} on the discovery part, too small to spend validation on",)


def _headline(every: Sequence[Found], min_effect: float) -> str:
    candidates = f"{len(every)} candidate{'s' * (len(every) != 1)}"
    accepted, unproven = ([f for f in every if f.fate == fate] for fate in ("accepted", "unproven"))
    if accepted:
        return f"{len(accepted)} of {len(every)} candidates proven on held-out pairs: {_names(accepted)}."
    if unproven and min_effect < SET_IN_ADVANCE:
        return (
            f"Exploratory, with a screen at {min_effect:g}: {len(unproven)} of {candidates} passed on held-out pairs: "
            f"{_names(unproven)}."
        )
    if not every:
        return "No bias was found: the search named no candidate, so that nothing was tested."
    said = f"No bias was proven among {candidates}"
    return f"{said}; {len(unproven)} passed every test, unconfirmed: {_names(unproven)}." if unproven else f"{said}."


def _names(found: Sequence[Found]) -> str:
    return ", ".join(f.name for f in found[:5])


def _row(r: Round) -> dict[str, Any]:
    return {
        "round": r.number, "rewrites judged": r.dealt, "mistakes": r.cases, "explained otherwise": r.mined.disagreed,
        "nothing named": r.mined.nothing, "unreadable": r.mined.unread, "named": len(r.mined.proposals),
        "known already": sum(r.known.values()), "new": len(r.new), "beyond the most": len(r.spare),
        "past the screen": len(r.advanced),
    }  # fmt: skip


def _write(run: RunFolder, result: DiscoverResult, candidates: dict[str, Candidate]) -> None:
    from recuse.report.discovered_html import discovered_html
    from recuse.report.discovered_markdown import discovered_markdown
    from recuse.report.jsonable import discovered_text

    run.subfolder("candidates")
    for found in result.candidates:
        run.write(f"candidates/{found.id}.toml", bias_toml(_concluded(candidates[found.id].bias, found, result)))
    run.write("report.md", discovered_markdown(result))
    run.write("report.html", discovered_html(result))
    run.write("findings.json", discovered_text(result))  # last: its existence means that the folder is complete


def _concluded(bias: Bias, found: Found, result: DiscoverResult) -> Bias:
    """The bias as a library would hold it: with its status and what was measured on the test part."""
    first = found.findings[0] if found.findings else None
    evidence = []
    if first is not None and first.id.endswith(".effect") and first.estimate is not None and first.interval is not None:
        evidence = [
            Evidence(effect=first.estimate, interval=first.interval, n=first.n, groups=first.groups, judge=result.judge,
                     teacher=result.teacher, run=result.folder.name)
        ]  # fmt: skip
    return bias.model_copy(update={"status": STATUS[found.fate], "evidence": evidence})


def discover(judge: str, teacher: str, pairs: str, *, out: Path | str | None = None, **settings: Any) -> DiscoverResult:
    """Discover biases of `judge` with `teacher` on `pairs`; the Python form of `recuse discover`.

    `settings` as in DiscoverConfig, and as in AuditConfig for what concerns the judge and the pairs.
    """
    own = {f.name for f in fields(DiscoverConfig)} & set(settings)
    of_judge = {name: value for name, value in settings.items() if name not in own}
    config = AuditConfig(judge, str(pairs), out=Path(out) if out else None, **of_judge)
    plan = plan_discovery(DiscoverConfig(config, teacher, **{name: settings[name] for name in own}))
    try:
        return run_discovery(plan)
    finally:
        plan.close()
