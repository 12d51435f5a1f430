"""The record from which every form of a comparison's report is made; see `recuse.report.hardened`."""

from __future__ import annotations

from dataclasses import replace

from recuse.harden.asking import Effort
from recuse.harden.decide import ALPHA, Cell, Verdict
from recuse.harden.folder import FOLDER
from recuse.harden.rivals import APPLY, Rival
from recuse.harden.run import HardenResult
from recuse.report import hardened
from recuse.report.hardened import HardenReport, Tried

_LEVEL = 0.95


def report_of(result: HardenResult) -> HardenReport:
    plan, decided = result.plan, result.decided
    rule = plan.variants
    rivals = {rival.id: rival for rival in plan.rivals}
    efforts = {judged.rival.id: _effort(judged.effort) for judged in result.judged}
    return HardenReport(
        headline=decided.headline, judge=plan.audit.config.judge, pairs=_pairs(result), prompt=_prompt(plan.rivals[0]),
        like=plan.like.run.resolve().name, level=_LEVEL, alpha=ALPHA, primary=rule.primary, margin=rule.margin,
        margins=dict(rule.margins), most_cost=rule.cost_ratio, winner=decided.winner,
        judge_folder=FOLDER if decided.winner else None, present=efforts[plan.rivals[0].id],
        variants=tuple(_tried(v, rivals[v.id], efforts[v.id]) for v in decided.verdicts), notes=result.notes,
        usage=dict(result.usage), config=dict(result.config), folder=result.folder,
    )  # fmt: skip


def _tried(verdict: Verdict, rival: Rival, effort: hardened.Effort) -> Tried:
    return Tried(
        id=verdict.id, what=rival.what, rule=rival.rule, apply=APPLY.get(rival.rule),
        judges=tuple(asker.seat.model.name for asker in rival.askers), prompt=_prompt(rival),
        prompt_hash=rival.wording.prompt.hash if rival.wording else None, wins=verdict.wins, p=verdict.p,
        why_not=verdict.why, effort=effort, cost_ratio=verdict.cost_ratio, cells=tuple(map(_cell, verdict.cells)),
    )  # fmt: skip


def _effort(effort: Effort) -> hardened.Effort:
    return hardened.Effort(effort.calls, effort.tokens_in, effort.tokens_out, effort.cost, effort.estimated)


def _cell(cell: Cell) -> hardened.Cell:
    c = cell.compared
    return hardened.Cell(
        replace(c.finding, outcome=None), c.measure.id, c.measure.title, c.measure.better, cell.outcome, c.margin,
        cell.p_adjusted, c.p_better, c.p_not_worse, c.p_worse, c.base.estimate, c.base.interval, c.own.estimate,
        c.own.interval, cell.groups_needed,
    )  # fmt: skip


def _pairs(result: HardenResult) -> str:
    held = result.plan.held
    groups = len({pair.group for pair in held.pairs})
    return f"{result.plan.audit.config.pairs}: {held.what} ({len(held.pairs)} pairs in {groups} groups)"


def _prompt(rival: Rival) -> str:
    return rival.wording.prompt.id if rival.wording else "none: a reward model"
