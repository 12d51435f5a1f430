"""`recuse audit --judge`: examine one judge on labelled pairs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from recuse import assets
from recuse.asks import Design, make_asks
from recuse.audits import Table
from recuse.backends import Backend, Options, open_backend
from recuse.conclude import conclude, pick_cases
from recuse.effects.accept import MIN_SHAMS
from recuse.errors import UsageError
from recuse.gate import Gate, check_gate, load_gate
from recuse.judge import Spend, estimate_tokens, judge
from recuse.judgements import Unread, judgements, ordered
from recuse.known import Known, chosen, gateable, measure_known
from recuse.lab.bench import Bench, Lab, writing
from recuse.lab.engines import Engines, Model, Role
from recuse.ledger import Ledger
from recuse.library import Bias, bias_toml, load_library
from recuse.pairs import PairSet, load_pairs
from recuse.perturb.teacher import load_wording
from recuse.prices import Price, date_of, price_of
from recuse.prompts import Prompt, load_prompt
from recuse.report.result import AuditResult
from recuse.run import RunFolder, default_folder
from recuse.types import Sampling

_BY_FIRST_TOKEN = frozenset(
    {"label", "number"}
)  # formats whose verdict is the first token, so log-probabilities say it
_TOP_LOGPROBS = 20
_ROOM_TO_THINK = 2048  # tokens: models behind an API may reason before they answer, and are cut without room for it
Watch = Callable[[Spend, int], None]  # called after every reply with the spend so far and the number of asks


@dataclass(frozen=True)
class AuditConfig:
    """What `recuse audit` is told. See `recuse audit --help` for each field."""

    judge: str
    pairs: str
    prompt: str = "pairwise/label"
    repeats: int = 1
    limit: int | None = None
    seed: int = 0
    gate: Path | None = None
    out: Path | None = None
    temperature: float | None = 0.0  # None: the provider's own default
    max_tokens: int | None = None  # None: as the prompt says
    choice: bool = False
    preset: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    group: str | None = None
    skip_bad: bool = False
    options: Options = field(default_factory=Options)
    cache: Path | None = None
    prices: Path | None = None
    max_cost: float | None = None
    biases: tuple[str, ...] = ()  # ids of the library, or "all": what is put into the wrong answers and tested
    library: Path | None = None
    teacher: str | None = None  # who rewrites; None: biases are put in by rule
    teacher_options: Options = field(default_factory=Options)
    shams: int = 10
    run_code: bool = False  # run the pairs' own tests on the code of the answers: executes what models wrote


@dataclass(frozen=True)
class Plan:
    """An audit that is ready to run: what is asked of whom, and what it may cost at most."""

    config: AuditConfig
    pairs: PairSet
    prompt: Prompt | None
    design: Design
    backend: Backend
    price: Price | None
    notes: tuple[str, ...]
    deterministic: bool
    biases: tuple[Bias, ...] = ()
    teacher: Backend | None = None
    teacher_price: Price | None = None

    @property
    def calls(self) -> int:
        return len(self.pairs) * self.design.calls_per_pair

    def run_table(self) -> dict[str, Any]:
        """All that determines the replies: the `[run]` table of run.toml."""
        sampling = self.design.sampling
        return {
            "judge": self.config.judge,
            "base_url": public_address(self.config.options.base_url),
            "prompt": self.prompt.id if self.prompt else "none: a reward model sees the conversation",
            "prompt_hash": self.prompt.hash if self.prompt else None,
            "pairs": self.config.pairs,
            "pairs_hash": self.pairs.hash,
            "pairs_count": len(self.pairs),
            "preset": self.pairs.preset,
            "limit": self.config.limit,
            "seed": self.config.seed,
            "repeats": self.design.repeats,
            "temperature": "provider default" if sampling.temperature is None else sampling.temperature,
            "max_tokens": sampling.max_tokens,
            "top_logprobs": sampling.top_logprobs,
            "choice": sampling.choice,
            "engine": self.backend.versions(),
            "run_code": self.config.run_code or None,
            **(self._injected() if self.biases else {}),
        }

    def _injected(self) -> dict[str, Any]:
        config, teacher = self.config, self.teacher
        return {
            "biases": [bias.id for bias in self.biases],
            "biases_hash": assets.digest("".join(bias_toml(bias) for bias in self.biases).encode()),
            "shams": config.shams,
            "teacher": config.teacher,
            "teacher_base_url": public_address(config.teacher_options.base_url) if teacher else None,
            "teacher_engine": teacher.versions() if teacher else None,
        }

    def close(self) -> None:
        self.backend.close()
        if self.teacher is not None and self.teacher is not self.backend:
            self.teacher.close()

    def estimate(self) -> dict[str, Any]:
        """Calls, tokens and money before anything is sent; tokens are an upper guess from characters."""
        tokens = [estimate_tokens(ask) for ask in make_asks(self.pairs, self.design)]
        tokens_in, tokens_out = sum(t[0] for t in tokens), sum(t[1] for t in tokens)
        cost = self.price.of(tokens_in, tokens_out) if self.price else None
        dated = date_of(self.config.prices) if cost else None
        said = {"calls": self.calls, "tokens_in": tokens_in, "tokens_out": tokens_out, "cost": cost}
        return {**said, "prices_dated": dated or None}


def plan_audit(config: AuditConfig) -> Plan:
    """Read the inputs and open the judge; nothing is asked yet. Raises RecuseError for whatever is wrong with them."""
    if config.repeats < 1:
        raise UsageError(f"--repeats is {config.repeats}.", hint="Give 1 or more.")
    pairs = load_pairs(
        config.pairs, preset=config.preset, columns=config.columns or None, group=config.group, limit=config.limit,
        seed=config.seed, on_bad="skip" if config.skip_bad else "error",
    )  # fmt: skip
    named = load_prompt(config.prompt)
    biases = _biases(config)
    ids = gateable(biases)
    check_gate(named_gate(config.gate)[0], domains=list(pairs.domains), also=ids, path=config.gate)
    backend = open_backend(config.judge, config.options)
    can = backend.capabilities
    notes = list(pairs.notes)
    prompt = named if can.explains else None
    if prompt is None:
        notes.append("A reward model: each answer is scored alone, so position cannot matter; no prompt is used.")
    by_first_token = prompt is not None and prompt.spec.format in _BY_FIRST_TOKEN
    if by_first_token:
        read = (
            "log-probabilities of the label tokens"
            if can.logprobs
            else "the reply's text: this judge gives no log-probabilities"
        )
        notes.append(f"Verdicts are read from {read}.")
    temperature = config.temperature if can.temperature else None
    if not can.temperature:
        notes.append("This judge takes no temperature.")
    deterministic = (can.temperature and temperature == 0.0) or (can.greedy and prompt is None)
    repeats = config.repeats
    if deterministic and repeats > 1:
        repeats = 1
        notes.append(
            f"Asked once, not {config.repeats} times: at temperature 0 a repeat says nothing. "
            "Set --temperature to measure stability."
        )
    sampling = Sampling(
        temperature=temperature,
        max_tokens=config.max_tokens or _max_tokens(config, prompt, backend),
        seed=config.seed if can.seed and temperature != 0.0 else None,
        top_logprobs=_TOP_LOGPROBS if by_first_token and can.logprobs else 0,
        choice=config.choice and can.choice,
    )
    price = price_for(config.judge, backend, config.prices)
    if price is None and config.max_cost is not None:
        raise UsageError(
            f"There is no price for {config.judge}, so --max-cost cannot hold.", hint="Give one with --prices FILE."
        )
    design = Design(prompt, sampling, repeats)
    plan = Plan(config, pairs, prompt, design, backend, price, tuple(notes), deterministic, biases)
    return _with_teacher(plan) if biases and config.teacher else plan


def _biases(config: AuditConfig) -> tuple[Bias, ...]:
    if not config.biases:
        return ()
    if config.shams < MIN_SHAMS:
        raise UsageError(
            f"--shams is {config.shams}.",
            hint=f"Give at least {MIN_SHAMS}: fewer cannot show what a meaningless change does.",
        )
    return tuple(chosen(config.biases, load_library(config.library), teacher=config.teacher is not None))


def _with_teacher(plan: Plan) -> Plan:
    config, name = plan.config, plan.config.teacher or ""
    teacher = plan.backend if name == config.judge else open_backend(name, config.teacher_options)
    if not teacher.capabilities.explains:
        raise UsageError(f"{name} writes no text.", hint="Give --teacher a model that does.")
    return replace(plan, teacher=teacher, teacher_price=price_for(name, teacher, config.prices))


def _max_tokens(config: AuditConfig, prompt: Prompt | None, backend: Backend) -> int:
    """The limit where the user names none: a cap, not a target, since a judge that does not think stops by itself."""
    if prompt is None:
        return 1
    can, served = backend.capabilities, backend.capabilities.local or config.options.base_url is not None
    if not served:  # on a server of one's own a small model may ramble up to any limit
        return max(prompt.max_tokens, _ROOM_TO_THINK)
    # An engine in this process is sure to deliver log-probabilities; a server may not, and its model may think first.
    one_token = prompt.spec.format in _BY_FIRST_TOKEN and all(len(label) == 1 for label in prompt.spec.labels)
    return 1 if one_token and can.logprobs and can.greedy else prompt.max_tokens


def price_for(name: str, backend: Backend, prices: Path | None) -> Price | None:
    """What the table says, even of a server on this machine, which may be a proxy; what runs here is free otherwise."""
    return price_of(name, prices) or (Price(0.0, 0.0) if backend.capabilities.local else None)


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
    ids = [str(id) for id in pairs.column("id")]
    groups = dict(zip(ids, pairs.column("group"), strict=True))
    spend, unread = Spend(), Unread()

    def kept(so_far: Spend) -> None:
        run.kept = True
        watch(so_far, plan.calls)

    with RunFolder(config.out or default_folder("audit", config.judge, settings), settings) as run:
        with closing(Ledger(run.path / "ledger.sqlite", judge=config.judge)) as ledger, _cache(config) as cache:
            answered = judge(
                lambda: make_asks(pairs, plan.design), plan.backend, ledger, spend=spend, cache=cache,
                price=plan.price, max_cost=config.max_cost, stop=stop, on_reply=kept,
            )  # fmt: skip
            spec = plan.prompt.spec if plan.prompt else None
            found = ordered(judgements(answered, spec, groups, unread), ids)
        known, taught = None, list[str]()
        if plan.biases:
            known, spends = _known(plan, run, stop)
            spend = spends["judge"].after(spend)
            if plan.teacher is not None:
                taught = [_taught(spends["teacher"], plan.teacher_price)]
        lengths = zip(*pairs.lengths(), strict=True)
        table = Table.build(
            found,
            domains=dict(zip(ids, pairs.column("domain"), strict=True)),
            lengths={id: (int(a), int(b)) for id, (a, b) in zip(ids, lengths, strict=True)},
            deterministic=plan.deterministic and not _refused(spend, "temperature"),
        )
        where = {id: i for i, id in enumerate(ids)}
        return conclude(
            run, found, table=table, gate=gate, gate_name=gate_name, judge=config.judge,
            pairs=f"{config.pairs} ({len(pairs)} pairs in {pairs.groups} groups)", prompt=settings["prompt"],
            usage=usage_of(spend, plan.price, time.monotonic() - started),
            notes=[*plan.notes, *(known.notes if known else ()), *taught, *_said(spend), *_examples(unread)],
            extra=known.measures if known else (),
            provider={"models": spend.models, "notes": spend.notes},
            cases=pick_cases(found, lambda id: pairs[where[id]]),
        )  # fmt: skip


def _known(plan: Plan, run: RunFolder, stop: threading.Event | None) -> tuple[Known, dict[Role, Spend]]:
    """The library's biases, over the same ledger, in which the original answers' replies lie already."""
    config, pairs = plan.config, tuple(plan.pairs)
    models: dict[Role, Model] = {"judge": Model(config.judge, config.options, plan.price)}
    if plan.teacher is not None:
        models["teacher"] = Model(config.teacher or "", config.teacher_options, plan.teacher_price)
    caches: dict[Role, Path] = {"judge": config.cache} if config.cache else {}
    with Engines(models, run.path, config.max_cost, stop, caches=caches) as engines:
        engines.adopt("judge", plan.backend)
        if plan.teacher is not None and plan.teacher is not plan.backend:
            engines.adopt("teacher", plan.teacher)
        sampling = writing(plan.teacher or plan.backend, pairs, seed=config.seed)
        lab = Lab(
            engines, plan.design, sampling, load_wording(), load_prompt("verify/same_answer", kinds=("verify",)),
            run_code=config.run_code,
        )  # fmt: skip
        known = measure_known(
            lab, Bench("biases", pairs), plan.biases, teacher=plan.teacher is not None, shams=config.shams,
            seed=config.seed, fdr=0.05, level=named_gate(config.gate)[0].level,
        )  # fmt: skip
        return known, engines.spends


def _examples(unread: Unread) -> list[str]:
    shown = unread.examples.items()
    return [f"No verdict ({reason}), for example: {text or 'an empty reply'}" for reason, text in shown]


def named_gate(path: Path | None) -> tuple[Gate, str]:
    return load_gate(path), str(path) if path else "default"


@contextmanager
def _cache(config: AuditConfig) -> Iterator[Ledger | None]:
    """The ledger that runs share, where the user asked for one."""
    if config.cache is None:
        yield None
        return
    with closing(Ledger(config.cache, judge=config.judge)) as ledger:
        yield ledger


def public_address(address: str | None) -> str | None:
    """An address without what may be secret in it: a user, a password, a query."""
    if address is None:
        return None
    parts = urlsplit(address)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _taught(spend: Spend, price: Price | None) -> str:
    cost = f" for {spend.cost:.4g} US dollars" if price and spend.cost else ""
    return f"The teacher was asked {spend.done:,} times ({spend.tokens_out:,} tokens out){cost}."


def _refused(spend: Spend, setting: str) -> bool:
    return any(note.startswith(setting) for note in spend.notes)


def usage_of(spend: Spend, price: Price | None, seconds: float) -> dict[str, Any]:
    return {
        "calls": spend.calls, "from_ledger": spend.reused, "from_cache": spend.cached, "tokens_in": spend.tokens_in,
        "tokens_out": spend.tokens_out, "tokens_cached": spend.tokens_cached, "cost": spend.cost if price else None,
        "seconds": round(seconds, 1),
    }  # fmt: skip


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
