"""The report of a comparison, as Markdown and as `findings.json` (schema 1, kind "harden"):

{"schema": 1, "kind": "harden", "headline": str, "judge": str, "pairs": str, "prompt": str, "like": str,
 "level": 0.95, "primary": str, "margin": number, "margins": {...}, "winner": str | null,
 "judge_folder": str | null,                          of the winner, inside the run folder
 "present": {"calls": ..., "tokens_in": ..., "tokens_out": ..., "cost": ..., "estimated": bool},
 "variants": [{"id": str, "what": str, "rule": str, "judges": [str, ...], "prompt": str, "prompt_hash": str,
               "wins": bool, "p": number,             of the whole claim, after Holm over the variants
               "why_not": [str, ...], "effort": {as in present}, "cost_ratio": number | null,
               "findings": [{the fields of a finding of an audit; estimate: variant minus present,
                             "p_adjusted": number | null, "outcome": "better" | "not worse" | "worse" | "unclear" |
                             "turned" | "not measured" | "shown", "margin": number, "p_better": ..., "p_not_worse": ...,
                             "p_worse": ..., "present": number | null, "variant": number | null,
                             "groups_needed": int | null}, ...]}, ...],
 "notes": [str, ...], "usage": {...}, "config": {...}}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recuse import stats
from recuse.harden.asking import Effort
from recuse.harden.decide import ALPHA, Cell, Verdict
from recuse.harden.folder import FOLDER
from recuse.harden.rivals import APPLY, Rival
from recuse.harden.run import HardenResult
from recuse.report import text
from recuse.report.markdown_parts import block, bullets, code, escape, section, table

_READ = (
    "A cell is the variant minus the present judge on the same pairs, its 95 % interval, and p, two-sided and adjusted "
    "over the variants (Holm); intervals are not adjusted. *better*: proven, in the direction that is good. *not "
    "worse*: worse by less than the margin at most, over all completions of missing verdicts. *worse*: the whole "
    "interval is on the bad side. *turned*: the bias is over-corrected. *unclear*: none of these is shown."
)


def findings_json(result: HardenResult) -> dict[str, Any]:
    """The result as plain JSON values."""
    plan, decided = result.plan, result.decided
    rivals = {rival.id: rival for rival in plan.rivals}
    efforts = {judged.rival.id: judged.effort for judged in result.judged}
    return {
        "schema": 1, "kind": "harden", "headline": decided.headline, "judge": plan.audit.config.judge,
        "pairs": _pairs(result), "prompt": _prompt(plan.rivals[0]), "like": plan.like.run.resolve().name, "level": 0.95,
        "primary": plan.variants.primary, "margin": plan.variants.margin, "margins": dict(plan.variants.margins),
        "winner": decided.winner, "judge_folder": FOLDER if decided.winner else None,
        "present": _effort(efforts[plan.rivals[0].id]),
        "variants": [_variant(v, rivals[v.id], efforts[v.id]) for v in decided.verdicts],
        "notes": list(result.notes), "usage": dict(result.usage), "config": dict(result.config),
    }  # fmt: skip


def _variant(verdict: Verdict, rival: Rival, effort: Effort) -> dict[str, Any]:
    return {
        "id": verdict.id, "what": rival.what, "rule": rival.rule,
        "judges": [asker.seat.model.name for asker in rival.askers], "prompt": _prompt(rival),
        "prompt_hash": rival.wording.prompt.hash if rival.wording else None, "wins": verdict.wins, "p": verdict.p,
        "why_not": list(verdict.why), "effort": _effort(effort), "cost_ratio": verdict.cost_ratio,
        "findings": [_cell(cell) for cell in verdict.cells],
    }  # fmt: skip


def _effort(effort: Effort) -> dict[str, Any]:
    return {name: getattr(effort, name) for name in ("calls", "tokens_in", "tokens_out", "cost", "estimated")}


def _cell(cell: Cell) -> dict[str, Any]:
    c = cell.compared
    f = c.finding
    return {
        "id": f.id, "title": f.title, "estimate": f.estimate, "interval": f.interval and list(f.interval), "n": f.n,
        "groups": f.groups, "p": f.p, "p_adjusted": cell.p_adjusted, "outcome": cell.outcome, "margin": c.margin,
        "p_better": c.p_better, "p_not_worse": c.p_not_worse, "p_worse": c.p_worse, "present": c.base.estimate,
        "variant": c.own.estimate, "method": f.method, "reason": f.reason, "bounds": f.bounds and list(f.bounds),
        "groups_needed": cell.groups_needed,
    }  # fmt: skip


def _pairs(result: HardenResult) -> str:
    held = result.plan.held
    groups = len({pair.group for pair in held.pairs})
    return f"{result.plan.audit.config.pairs}: {held.what} ({len(held.pairs)} pairs in {groups} groups)"


def _prompt(rival: Rival) -> str:
    return rival.wording.prompt.id if rival.wording else "none: a reward model"


def markdown(result: HardenResult) -> str:
    """The report as Markdown. Text of models and files is escaped."""
    decided = result.decided
    parts = [
        "# Hardening of a judge",
        f"**{escape(decided.headline)}**",
        "\n".join(f"- {name}: {value}" for name, value in _facts(result).items()),
        "## What was tried",
        _tried(result),
        "## Every measure of every variant",
        _READ,
        _matrix(result),
        *section("## What stands against each", _against(result)),
        *section("## How to use the winner", _use(result)),
        *section("## Notes", bullets(result.notes)),
        "## Configuration",
        block(text.toml(result.config)),
    ]
    return "\n\n".join(parts) + "\n"


def _facts(result: HardenResult) -> dict[str, str]:
    plan = result.plan
    rule = plan.variants
    margins = "".join(f"; {id} {value:g}" for id, value in rule.margins.items())
    cap = "reported only" if rule.cost_ratio is None else f"at most {rule.cost_ratio:g} times the present one's"
    facts = {
        "Judge": code(plan.audit.config.judge), "Prompt": code(_prompt(plan.rivals[0])),
        "Pairs": escape(_pairs(result)),
        "Biases of": code(plan.like.run.resolve().name),
        "Must be better": code(rule.primary), "Must not be worse by": f"{rule.margin:g} in the rest{escape(margins)}",
        "Cost": cap, "Correction": f"Holm over {len(plan.rivals) - 1} variants at {ALPHA:g}",
    }  # fmt: skip
    return facts | {f"Usage of the {role}": text.usage_line(used) for role, used in result.usage.items()}


def _tried(result: HardenResult) -> str:
    verdicts = {v.id: v for v in result.decided.verdicts}
    rows = []
    for judged in result.judged:
        rival, effort = judged.rival, judged.effort
        verdict = verdicts.get(rival.id)
        ratio = verdict.cost_ratio if verdict else None
        rows.append([
            code(rival.id), escape(rival.what), code(_prompt(rival)), f"{effort.calls:g}",
            f"{effort.tokens_in:,.0f} + {effort.tokens_out:,.0f}{' (guessed)' if effort.estimated else ''}",
            f"{effort.cost:.2g}" if effort.cost else "", f"{ratio:.2f}" if ratio is not None else "",
            "" if verdict is None else f"{text.p_value(verdict.p)}", _wins(verdict, result),
        ])  # fmt: skip
    head = ("Judge", "What is different", "Prompt", "Calls a verdict", "Tokens in + out", "US dollars",
            "Cost beside present", "p of the claim", "Wins")  # fmt: skip
    return table(head, rows)


def _wins(verdict: Verdict | None, result: HardenResult) -> str:
    if verdict is None:
        return ""
    return ("**yes, named**" if verdict.id == result.decided.winner else "yes") if verdict.wins else "no"


def _matrix(result: HardenResult) -> str:
    verdicts = result.decided.verdicts
    primary = result.plan.variants.primary
    rows = []
    for i, cell in enumerate(verdicts[0].cells):
        name = f"{escape(cell.compared.measure.title)} {code(cell.id)}"
        present = next(
            (v.cells[i].compared.base for v in verdicts if v.cells[i].compared.base.estimate is not None), None
        )
        shown = [_shown(present), *(_difference(v.cells[i]) for v in verdicts)]
        rows.append([f"**{name}**" if cell.id == primary else name, *shown])
    return table(("Measure", "present", *(code(v.id) for v in verdicts)), rows)


def _shown(found: stats.Estimate | None) -> str:
    if found is None or found.estimate is None:
        return "not measured"
    return text.number(found.estimate) + (f" {text.interval(found.interval)}" if found.interval else "")


def _difference(cell: Cell) -> str:
    f = cell.compared.finding
    if f.estimate is None:
        return f"not measured ({escape(f.reason or '')})"
    shown = f"{f.estimate:+.3f}" + (f" {text.interval(f.interval)}" if f.interval else "")
    p = f", p {text.p_value(cell.p_adjusted)}" if cell.p_adjusted is not None else ""
    return f"{shown}{p}" if cell.outcome == "shown" else f"{shown}{p}: **{cell.outcome}**"


def _against(result: HardenResult) -> str:
    return "\n".join(f"- {code(v.id)}: {escape('; '.join(v.why))}." for v in result.decided.verdicts if v.why)


def _use(result: HardenResult) -> str:
    winner = result.decided.winner
    if winner is None:
        return ""
    rival = next(r for r in result.plan.rivals if r.id == winner)
    if rival.rule != "alone":
        beneath = f"The prompt and the settings of each call lie in `{FOLDER}/`."
        return f"{beneath} It is a rule over several calls: {APPLY[rival.rule]}"
    return f"Its prompt and settings lie in `{FOLDER}/`, which `recuse audit --judge-config` reads."


def summary(result: HardenResult) -> Mapping[str, str]:
    """What the terminal shows of each variant: its outcome and the reasons against it."""
    return {
        v.id: ("wins" if v.id == result.decided.winner else "would do") if v.wins else "; ".join(v.why)
        for v in result.decided.verdicts
    }
