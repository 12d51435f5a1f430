"""`recuse harden`: rewrite, ask every rival, compare in pairs, decide, and write the run folder."""

from __future__ import annotations

import platform
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from recuse.harden.asking import Judged, Room, ask_all
from recuse.harden.config import HardenPlan
from recuse.harden.decide import Decided, Verdict, decide
from recuse.harden.folder import FOLDER, withdraw_judge, write_judge
from recuse.harden.measures import Compared, Measured, compare, compare_kappa, measures_of
from recuse.harden.variants import PRESENT
from recuse.judge import Spend, usage_of
from recuse.lab.bench import Bench, Lab
from recuse.lab.engines import LEDGERS, Engines, Model, Role, Watch
from recuse.library import Bias
from recuse.perturb.arms import Arm, suited
from recuse.perturb.rules import edit_all
from recuse.perturb.teacher import load_wording
from recuse.prompts import load_prompt
from recuse.run import RunFolder, default_folder
from recuse.types import Pair


@dataclass(frozen=True)
class HardenResult:
    """A finished comparison."""

    plan: HardenPlan
    judged: tuple[Judged, ...]  # the present judge first
    decided: Decided
    notes: tuple[str, ...]
    usage: Mapping[str, Any]
    config: Mapping[str, Any]  # the content of run.toml
    folder: Path

    @property
    def headline(self) -> str:
        return self.decided.headline

    @property
    def judge_folder(self) -> Path | None:
        """Of the winner."""
        return self.folder / FOLDER if self.decided.winner else None


def run_harden(
    plan: HardenPlan,
    *,
    watch: Watch = lambda phase, done, total, cost: None,
    stop: threading.Event | None = None,
) -> HardenResult:
    """Ask, compare, decide and write. Raises Incomplete when the run stopped early; the folder then holds every reply
    that came, and the same configuration resumes it."""
    config, settings, started = plan.audit.config, plan.run_table(), time.monotonic()
    spends: dict[Role, Spend] = {"judge": Spend(), "teacher": Spend()}
    with RunFolder(config.out or default_folder("harden", config.judge, settings), settings) as run:

        def told(phase: str, done: int, total: int, cost: float) -> None:
            run.kept = True
            watch(phase, done, total, cost)

        lent = None if plan.like.run.resolve() == run.path.resolve() else plan.like.run
        room = Room(run.path, spends, {}, config.max_cost, stop, told, lent / LEDGERS["judge"] if lent else None)
        bench = Bench("rewriting", plan.held.pairs)
        _rewrite(plan, room, bench, lent)
        arms = [arm.id for arm in plan.like.arms if arm.id in bench.rewrites]
        judged = ask_all(room, plan.rivals, bench, arms, plan.audit.pairs)
        measures = measures_of(_biases(plan, bench), people=plan.audit.labels is not None)
        compared = {j.rival.id: [_compare(plan, judged[0], j, m) for m in measures] for j in judged[1:]}
        ratios = {j.rival.id: j.effort.ratio(judged[0].effort) for j in judged[1:]}
        decided = decide(compared, plan.variants, ratios=ratios)
        seconds = time.monotonic() - started
        usage = {"judge": usage_of(spends["judge"], plan.audit.price, seconds)}
        if plan.teacher is not None:
            usage["teacher"] = usage_of(spends["teacher"], plan.audit.teacher_price, seconds)
        content = run.record(
            versions={"python": platform.python_version(), **{p: version(p) for p in ("recuse", "numpy", "scipy")}},
            decided_by=plan.variants.model_dump(mode="json", exclude={"variants"}), usage=usage,
        )  # fmt: skip
        result = HardenResult(plan, tuple(judged), decided, _notes(plan, room, bench), usage, content, run.path)
        _write(run, result)
        return result


def _rewrite(plan: HardenPlan, room: Room, bench: Bench, lent: Path | None) -> None:
    """The wrong answers with each bias and with what it is measured against, as the run made them."""
    config, like = plan.audit.config, plan.like
    if like.teacher is None:
        bench.rewrites.update(edit_all(bench.pairs, like.arms, seed=like.seed, run_code=config.run_code))
        return
    if not like.arms:
        return
    models: dict[Role, Model] = {
        "judge": Model(config.judge, config.options, plan.audit.price),
        "teacher": Model(like.teacher, config.teacher_options, plan.audit.teacher_price),
    }
    ledgers: dict[Role, Path] = {"teacher": lent / LEDGERS["teacher"]} if lent else {}
    known = {role: path for role, path in ledgers.items() if path.is_file()}
    verify = load_prompt("verify/same_answer", kinds=("verify",)) if like.table.get("verify", True) else None
    with Engines(
        models, room.folder, room.max_cost, room.stop, room.watch, lent=known, spends=room.spends
    ) as engines:  # fmt: skip
        if plan.teacher is not None and plan.teacher.backend is not None:
            engines.adopt("teacher", plan.teacher.backend)
        lab = Lab(
            engines, plan.audit.design, plan.sampling, load_wording(), verify, run_code=config.run_code, room=plan.room
        )  # fmt: skip
        biases = {source.bias.id: source.bias for source in like.sources}
        lab.rewrite(bench, [(arm, _fitting(arm, bench, biases)) for arm in like.arms])


def _fitting(arm: Arm, bench: Bench, biases: Mapping[str, Bias]) -> Sequence[Pair]:
    return suited(biases[arm.bias], bench.pairs) if arm.bias is not None else bench.pairs


def _biases(plan: HardenPlan, bench: Bench) -> list[tuple[str, str, str, str]]:
    own = {arm.bias: arm for arm in plan.like.arms if arm.kind == "bias"}
    return [
        (source.bias.id, source.bias.name, own[source.bias.id].id, bench.reference(own[source.bias.id]))
        for source in plan.like.sources
    ]


def _compare(plan: HardenPlan, present: Judged, variant: Judged, measure: Measured) -> Compared:
    margin = plan.variants.margins.get(measure.id, plan.variants.margin)
    if measure.id.endswith(".kappa"):
        return compare_kappa(present, variant, measure, plan.audit.labels, margin=margin)
    return compare(present, variant, measure, margin=margin)


def _notes(plan: HardenPlan, room: Room, bench: Bench) -> tuple[str, ...]:
    notes = list(plan.notes)
    notes += [f"The arm {arm} is void: {why}." for arm, why in sorted(bench.void.items())]
    for id, unread in room.unread.items():
        notes += [
            f"{id}: no verdict ({r}), for example: {text or 'an empty reply'}" for r, text in unread.examples.items()
        ]
    if any(rival.rule == "both orders" for rival in plan.rivals):
        notes.append(
            "Both orders with a tie where they differ cannot lower the error rate that is averaged over the orders, "
            "since a pair judged right in one order only is half an error either way: it takes the place out of single "
            "verdicts."
        )
    for rival in plan.rivals:
        if rival.rule == "majority":
            notes.append(
                f"{rival.id}: a panel hides no bias that all its judges share, and may keep what most of them do."
            )
    notes += [f"{note} ({count:,} replies)." for note, count in sorted(room.spends["judge"].notes.items())]
    return tuple(notes)


def _write(run: RunFolder, result: HardenResult) -> None:
    from recuse.harden.report import report_of
    from recuse.report.hardened_html import hardened_html
    from recuse.report.hardened_json import hardened_text
    from recuse.report.hardened_markdown import hardened_markdown

    if result.decided.winner is None:
        withdraw_judge(run)
    else:
        winner = next(v for v in result.decided.verdicts if v.id == result.decided.winner)
        rival = next(r for r in result.plan.rivals if r.id == winner.id)
        write_judge(run, rival, _evidence(result, winner))
    report = report_of(result)
    run.write("report.md", hardened_markdown(report))
    run.write("report.html", hardened_html(report))
    run.write("findings.json", hardened_text(report))  # last: its existence means that the folder is complete


def _evidence(result: HardenResult, winner: Verdict) -> dict[str, Any]:
    """What speaks for the winner, as its folder keeps it."""
    plan = result.plan
    return {
        "run": result.folder.resolve().name, "variant": winner.id, "instead_of": PRESENT,
        "pairs": f"{len(plan.held.pairs)} pairs: {plan.held.what}", "pairs_hash": plan.audit.pairs.hash,
        "primary": plan.variants.primary, "p": winner.p,
        "measures": {
            cell.id: {
                "present": cell.compared.base.estimate, "judge": cell.compared.own.estimate,
                "difference": cell.compared.finding.estimate, "interval": list(cell.compared.finding.interval or ()),
                "outcome": cell.outcome,
            }
            for cell in winner.cells if cell.outcome != "not measured" and None not in (
                cell.compared.base.estimate, cell.compared.own.estimate)
        },
    }  # fmt: skip
