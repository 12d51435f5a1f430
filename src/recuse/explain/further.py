"""What is asked of the judge beyond the verdicts that are there: its reasons, and biases put where it was right."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from recuse.asks import make_asks
from recuse.calibration.runs import Run
from recuse.discovery.mine import reasoning
from recuse.errors import RecuseError, UsageError
from recuse.explain.inject import Injected, inject
from recuse.explain.material import Source
from recuse.explain.reasons import Reasons, ask_deeper
from recuse.judge import Spend, estimate_tokens, usage_of
from recuse.lab.bench import Lab, writing
from recuse.lab.engines import Engines, Model, Role, Watch
from recuse.perturb.rules import rule_arms
from recuse.perturb.teacher import load_wording
from recuse.plan import AuditConfig, Plan, plan_audit, room_to_think
from recuse.prompts import load_prompt
from recuse.run import RunFolder
from recuse.types import Ask, Pair, Sampling

_REASONING = 1024  # tokens for reasons


@dataclass(frozen=True)
class Asking:
    """How the judge is reached for further asks. `prompt`, None: the one of its run, else the shipped one."""

    judge: AuditConfig  # judge, pairs, options, costs; its biases are those to put in
    prompt: str | None = None
    steps: int = 2
    most: int = 200  # pairs that are injected into, and disagreements that are explained, at most each


@dataclass(frozen=True)
class Asked:
    injected: Injected
    reasons: Reasons
    usage: dict[str, Any]


def plan_asking(asking: Asking, source: Source, run: Run | None) -> Plan:
    """Open the judge as the run asked it. Raises UsageError where it is another judge, or its prompt is not known."""
    config = replace(asking.judge, preset=source.preset, columns=source.columns, group=source.group,
                     skip_bad=source.skip_bad)  # fmt: skip
    if run is None:
        return plan_audit(replace(config, prompt=asking.prompt or config.prompt))
    if config.judge != run.judge:
        raise UsageError(
            f"The run's judge is {run.judge}, and further asks would go to {config.judge}.",
            hint="Ask the judge whose verdicts are explained.",
        )
    name = asking.prompt or str(run.settings.get("prompt"))
    wanted = run.settings.get("prompt_hash")
    try:
        known = wanted is None or load_prompt(name).hash == wanted
    except RecuseError:
        known = False
    if not known:
        raise UsageError(
            f"The run asked by the prompt {run.settings.get('prompt')!r}, which {name!r} is not.",
            hint="Give its file with --prompt.",
        )
    told = run.settings.get("temperature")
    return plan_audit(replace(
        config, prompt=name if wanted else config.prompt, max_tokens=run.settings.get("max_tokens"),
        temperature=told if isinstance(told, int | float) else None, choice=bool(run.settings.get("choice")),
    ))  # fmt: skip


@dataclass(frozen=True)
class Expected:
    """What the asks of one kind may take at most. `cost`: US dollars; None where no price is known."""

    calls: int
    tokens_in: int
    tokens_out: int
    cost: float | None


def injecting(asking: Asking, plan: Plan, right: Sequence[Pair]) -> Expected:
    """Every pair as it is, with every bias, placebo and sham; fewer where an edit changes nothing, or a run lends its
    replies."""
    versions = 1 + len(rule_arms(plan.biases, shams=plan.config.shams))
    some = sampled(right, asking.most, seed=plan.config.seed)
    tokens = [estimate_tokens(ask) for ask in make_asks(some, plan.design)]
    return _expected(plan, versions * len(tokens), *(versions * sum(t[i] for t in tokens) for i in (0, 1)))


def explaining(asking: Asking, plan: Plan, wrong: Sequence[Pair]) -> Expected:
    """The reasons for every pair in both orders, as where those in the first lead to another verdict, and all further
    steps, each of which repeats what was said before."""
    own = reasoning(plan.design, reason=load_prompt("pairwise/reason", kinds=("pairwise",)), sampling=_spoken(plan))
    if own is None:
        return _expected(plan, 0, 0, 0)
    some = sampled(wrong, asking.most, seed=plan.config.seed)
    deeper = estimate_tokens(Ask("", "text", load_prompt("explain/deeper", kinds=("explain",)).fill(choice="A"),
                                 _spoken(plan), ""))  # fmt: skip
    first = [estimate_tokens(ask) for ask in make_asks(some, own)]  # two a pair, of one length
    calls, into, out = len(first), sum(t[0] for t in first), sum(t[1] for t in first)
    for step in range(asking.steps):
        calls += len(some)
        into += sum(t[0] + t[1] + step * deeper[1] + (step + 1) * deeper[0] for t in first) // 2
        out += len(some) * deeper[1]
    return _expected(plan, calls, into, out)


def _expected(plan: Plan, calls: int, tokens_in: int, tokens_out: int) -> Expected:
    return Expected(calls, tokens_in, tokens_out, plan.price.of(tokens_in, tokens_out) if plan.price else None)


def _spoken(plan: Plan) -> Sampling:
    """How the judge says its reasons."""
    room = max(_REASONING, room_to_think(plan.backend.capabilities, plan.config.options))
    return replace(plan.design.sampling, max_tokens=room, top_logprobs=0, choice=False)


def ask_further(
    asking: Asking, plan: Plan, folder: RunFolder, *, right: Sequence[Pair], wrong: Sequence[Pair], run: Run | None,
    level: float, watch: Watch, stop: threading.Event | None,
) -> Asked:  # fmt: skip
    """Inject into the pairs that the judge had right and have it explain those it had wrong; both are turned to people.

    The run's own replies serve again, and the folder keeps every new one.
    """
    config, started, spend = plan.config, time.monotonic(), Spend()
    lent: dict[Role, Path] = {}
    if run is not None and (run.folder / "ledger.sqlite").is_file():
        lent["judge"] = run.folder / "ledger.sqlite"
    caches: dict[Role, Path] = {"judge": config.cache} if config.cache and not lent else {}
    models: dict[Role, Model] = {"judge": Model(config.judge, config.options, plan.price)}

    def told(phase: str, done: int, total: int, cost: float) -> None:
        folder.kept = True
        watch(phase, done, total, cost)

    with Engines(models, folder.path, config.max_cost, stop, told, caches, lent, spends={"judge": spend}) as engines:
        engines.adopt("judge", plan.backend)
        can = plan.backend.capabilities
        lab = Lab(engines, plan.design, writing(can, (), seed=config.seed), load_wording(), None,
                  run_code=config.run_code)  # fmt: skip
        some = sampled(right, asking.most, seed=config.seed)
        injected = inject(lab, some, plan.biases, shams=config.shams, seed=config.seed, level=level) if some else None
        explained = sampled(wrong, asking.most, seed=config.seed)
        reasons = ask_deeper(lab, explained, steps=asking.steps, sampling=_spoken(plan))
    none = Injected((), {}, ("The judge had no pair right in both orders: nothing was injected.",), 0)
    return Asked(injected or none, reasons, usage_of(spend, plan.price, time.monotonic() - started))


def sampled(pairs: Sequence[Pair], most: int, *, seed: int) -> list[Pair]:
    """Whole groups in the order of a hash until `most` pairs are reached, in the order given; one group at least."""
    if len(pairs) <= most:
        return list(pairs)
    keys = {p.group: hashlib.sha256(f"{seed}:{p.group}".encode("utf-8", "surrogatepass")).digest() for p in pairs}
    kept: set[str] = set()
    count = 0
    for group in sorted(keys, key=lambda g: keys[g]):
        count += sum(p.group == group for p in pairs)
        if kept and count > most:
            break
        kept.add(group)
    return [p for p in pairs if p.group in kept]
