"""`recuse audit --judge`: examine one judge on labelled pairs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from recuse.asks import make_asks
from recuse.audits import Table
from recuse.calibration.labels import Labels
from recuse.calibration.runs import LABELS, labels_bytes
from recuse.columns import ByPair, Names
from recuse.conclude import conclude
from recuse.controls import controls
from recuse.errors import UsageError
from recuse.judge import Spend, judge, usage_of
from recuse.judgements import Unread, gathered, judgements
from recuse.known import Known, measure_known
from recuse.lab.bench import Bench, Lab, writing
from recuse.lab.engines import Engines, Model, Role
from recuse.ledger import Ledger
from recuse.perturb.teacher import load_wording
from recuse.plan import AuditConfig, Plan, named_gate, plan_audit, room_to_think
from recuse.prices import Price
from recuse.prompts import load_prompt
from recuse.report.result import AuditResult
from recuse.run import RunFolder, default_folder
from recuse.swap.run import SwapFound

Watch = Callable[[Spend, int], None]  # called after every reply with the spend so far and the number of asks


def run_audit(
    plan: Plan, *, watch: Watch = lambda spend, total: None, stop: threading.Event | None = None
) -> AuditResult:
    """Ask, read, measure, decide and write the run folder.

    Raises Incomplete when the run stopped early; the folder then holds every reply that came, and the same
    configuration resumes it.
    """
    config, pairs, started = plan.config, plan.pairs, time.monotonic()
    gate, gate_name = named_gate(config.gate)
    settings = plan.run_table()
    ids: Names[str] = Names(pairs.column("id"))
    groups, domains = ByPair(ids, partial(pairs.value, "group")), ByPair(ids, pairs.column("domain").__getitem__)
    spend, unread, total = Spend(), Unread(), plan.all_calls

    def kept(so_far: Spend) -> None:
        run.kept = True
        watch(so_far, max(total, so_far.done))  # the library looks its untouched answers up again, beside the plan

    with RunFolder(config.out or default_folder("audit", config.judge, settings), settings) as run:
        with closing(Ledger(run.path / "ledger.sqlite", judge=config.judge)) as ledger, _cache(config) as cache:
            answered = judge(
                lambda: make_asks(pairs, plan.design), plan.backend, ledger, spend=spend, cache=cache,
                price=plan.price, max_cost=config.max_cost, stop=stop, on_reply=kept,
            )  # fmt: skip
            spec = plan.prompt.spec if plan.prompt else None
            found = gathered(judgements(answered, spec, groups, unread), ids, groups)
        further = _further(plan, run, spend, unread, kept, stop)
        known = further.known
        chosen, rejected = pairs.lengths()
        table = Table.build(
            found,
            domains=domains,
            lengths=ByPair(ids, lambda i: (int(chosen[i]), int(rejected[i]))),
            deterministic=plan.deterministic and not _refused(spend, "temperature"),
        )
        controlled = controls(
            table=table, places={id: gold for id, gold in zip(ids.texts, pairs.column("gold"), strict=True) if gold},
            judgements=found, swap=further.swap, labels=plan.labels, rule=gate.calibration, level=gate.level,
            domains=domains,
        )  # fmt: skip
        keep_labels(run, plan.labels)
        found.extend(known.judged if known else ())
        return conclude(
            run, found, table=table, gate=gate, gate_name=gate_name,
            judge=config.judge,
            pairs=f"{config.pairs} ({len(pairs)} pairs in {pairs.groups} groups)", prompt=settings["prompt"],
            usage=usage_of(spend, plan.price, time.monotonic() - started),
            notes=[*plan.notes, *(known.notes if known else ()), *further.taught, *_said(spend), *_examples(unread)],
            extra=known.measures if known else (),
            controls=controlled,
            provider={"models": spend.models, "notes": spend.notes},
            pair_of=lambda id: pairs[ids.at[id]],
            texts=known.texts if known else None,
        )  # fmt: skip


@dataclass(frozen=True)
class _Further:
    """What a run asks beyond its pairs as they are."""

    known: Known | None = None
    taught: tuple[str, ...] = ()  # what the teacher did, and what a model kept of the memory when it was closed
    swap: SwapFound | None = None


def _further(
    plan: Plan,
    run: RunFolder,
    spend: Spend,
    unread: Unread,
    kept: Callable[[Spend], None],
    stop: threading.Event | None,
) -> _Further:
    """The library's biases and the swap test, over the same ledger, in which the original answers' replies lie already.

    `spend` goes on counting for the judge.
    """
    if not plan.biases and plan.swap is None:
        return _Further()
    config, level = plan.config, named_gate(plan.config.gate)[0].level
    models: dict[Role, Model] = {"judge": Model(config.judge, config.options, plan.price)}
    if plan.teacher is not None:
        models["teacher"] = Model(config.teacher or "", config.teacher_options, plan.teacher_price)
    caches: dict[Role, Path] = {"judge": config.cache} if config.cache else {}
    spends: dict[Role, Spend] = {"judge": spend, "teacher": Spend()}
    engines = Engines(
        models, run.path, config.max_cost, stop, lambda phase, done, total, cost: kept(spend), caches, spends=spends
    )  # fmt: skip
    with engines:
        engines.adopt("judge", plan.backend)
        if plan.teacher is not None and plan.teacher.backend is not None:
            engines.adopt("teacher", plan.teacher.backend)
        swap = None
        if plan.swap is not None:
            swap = plan.swap.run(
                lambda asks: engines.ask("judge", asks, phase="swap"), unread=unread, level=level, seed=config.seed
            )  # fmt: skip
        known = _known(plan, engines, level) if plan.biases else None
        taught = (_taught(spends["teacher"], plan.teacher_price),) if known is not None and plan.teacher else ()
        return _Further(known, (*taught, *engines.notes), swap)


def _known(plan: Plan, engines: Engines, level: float) -> Known:
    config, pairs = plan.config, tuple(plan.pairs)
    can = plan.teacher.capabilities if plan.teacher else plan.backend.capabilities
    room = room_to_think(can, config.teacher_options)
    sampling = writing(can, pairs, thinking=room, seed=config.seed)
    lab = Lab(
        engines, plan.design, sampling, load_wording(), load_prompt("verify/same_answer", kinds=("verify",)),
        run_code=config.run_code, room=room,
    )  # fmt: skip
    return measure_known(
        lab, Bench("biases", pairs), plan.biases, teacher=plan.teacher is not None, shams=config.shams,
        seed=config.seed, fdr=0.05, level=level,
    )  # fmt: skip


def keep_labels(run: RunFolder, labels: Labels | None) -> None:
    """People's labels in the run folder, for `recuse calibrate`. They cost nothing and may change: no part of what
    makes a run the same run."""
    if labels is None:
        (run.path / LABELS).unlink(missing_ok=True)
        return
    run.replace(LABELS, labels_bytes(labels))


def _examples(unread: Unread) -> list[str]:
    shown = unread.examples.items()
    return [f"No verdict ({reason}), for example: {text or 'an empty reply'}" for reason, text in shown]


@contextmanager
def _cache(config: AuditConfig) -> Iterator[Ledger | None]:
    """The ledger that runs share, where the user asked for one."""
    if config.cache is None:
        yield None
        return
    with closing(Ledger(config.cache, judge=config.judge)) as ledger:
        yield ledger


def _taught(spend: Spend, price: Price | None) -> str:
    cost = f" for {spend.cost:.4g} US dollars" if price and spend.cost else ""
    return f"The teacher was asked {spend.done:,} times ({spend.tokens_out:,} tokens out){cost}."


def _refused(spend: Spend, setting: str) -> bool:
    return any(note.startswith(setting) for note in spend.notes)


def _said(spend: Spend) -> list[str]:
    """What the provider refused or ignored, and the versions that it reported."""
    lines = [f"{note} ({count:,} replies)." for note, count in sorted(spend.notes.items())]
    if _refused(spend, "temperature"):
        lines.append("Replies may vary from call to call: --temperature default --repeats 3 measures how much.")
    if spend.cut:
        lines.append(
            f"{spend.cut:,} replies were cut by the token limit: set a larger --max-tokens if verdicts are lost."
        )
    if spend.models:
        lines.append("The provider reported the model as " + ", ".join(sorted(spend.models)) + ".")
    if len(spend.models) > 1:
        lines.append("More than one model version answered: the findings mix them.")
    return lines


def audit(
    judge: str, pairs: str, *, out: Path | str | None = None, gate: Path | str | None = None, **settings: Any
) -> AuditResult:
    """Audit `judge` ("provider/model") on `pairs`; the Python form of `recuse audit`. `settings` as in AuditConfig."""
    if not isinstance(judge, str):
        raise UsageError(
            "The judge is no text.", hint='Write "provider/model", or "python/module:function" for a callable.'
        )
    config = AuditConfig(
        judge, str(pairs), out=Path(out) if out else None, gate=Path(gate) if gate else None, **settings
    )
    plan = plan_audit(config)
    try:
        return run_audit(plan)
    finally:
        plan.close()
