"""A probe that is ready to run: what is asked of the model, its cost, and what a resumed run must not change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from recuse import assets
from recuse.backends import Backend, Capabilities, Options, open_backend, settle, settled
from recuse.backends.base import public_address
from recuse.errors import UsageError
from recuse.judge import estimate_tokens
from recuse.lab.engines import heavy
from recuse.prices import Price, date_of, priced
from recuse.probes.draws import decision_draws
from recuse.probes.grading import Grading
from recuse.probes.matrix import Shown, shown, subset
from recuse.probes.names import NameAudit, audited
from recuse.probes.plan import ProbePlan, load_probe_plan
from recuse.probes.reading import Reading
from recuse.prompts import canonical
from recuse.types import Ask, Message, Sampling

PROMPT = "probe"  # stands for the prompt file's hash: what is shown comes from the plan and is in the request
ARM = "probe"


@dataclass(frozen=True)
class ProbeConfig:
    """What `recuse probe run` is told. See its --help for each field."""

    plan: Path
    model: str
    out: Path | None = None
    subset: int | None = None  # of the templates; None: all
    per_commit: bool = False  # the subset that the plan names
    options: Options = field(default_factory=Options)
    cache: Path | None = None
    prices: Path | None = None
    max_cost: float | None = None

    def __post_init__(self) -> None:
        settle(self, "model", "options")


@dataclass(frozen=True)
class Probing:
    """A plan and a model that is open; `texts` has every text of the run."""

    config: ProbeConfig
    plan: ProbePlan  # of the templates that are asked
    names: NameAudit
    reading: Reading
    texts: tuple[Shown, ...]
    backend: Backend
    engine: Mapping[str, str]
    sampling: Sampling
    draws: int
    price: Price | None
    notes: tuple[str, ...] = ()
    grading: Grading | None = None

    def asks(self) -> list[Ask]:
        """Every request once: texts that come out alike are one, whoever they are about."""
        return list({(ask.pair, ask.repeat): ask for one in self.texts for ask in self.asks_of(one)}.values())

    def asks_of(self, one: Shown) -> list[Ask]:
        """The draws for one text."""
        system = (Message("system", self.plan.system),) if self.plan.system else ()
        id = assets.digest(canonical([self.plan.system, one.text]).encode("utf-8", "surrogatepass"))
        messages = (*system, Message("user", one.text))
        return [
            Ask(id, "text", messages, self.sampling, PROMPT, arm=ARM, repeat=repeat) for repeat in range(self.draws)
        ]

    def run_table(self) -> dict[str, Any]:
        """All that determines the replies: the `[run]` table of run.toml. How they are read is not in it."""
        sampling = self.sampling
        return {
            "model": self.config.model,
            "base_url": public_address(self.config.options.base_url),
            "subset": self.config.subset,
            "draws": self.draws,
            "seed": self.plan.probe.seed,
            "temperature": "provider default" if sampling.temperature is None else sampling.temperature,
            "max_tokens": sampling.max_tokens,
            "top_logprobs": sampling.top_logprobs,
            "engine": dict(self.engine),
            **self.plan.asked(),
        }

    def estimate(self) -> dict[str, Any]:
        """Calls, tokens and money before anything is sent; tokens are an upper guess from characters."""
        asks = self.asks()
        tokens = [estimate_tokens(ask) for ask in asks]
        tokens_in, tokens_out = (sum(pair[i] for pair in tokens) for i in (0, 1))
        cost = self.price.of(tokens_in, tokens_out) if self.price else None
        judge = {"judge": self.grading.estimate(asks, self.plan)} if self.grading else {}
        return {
            **judge, "templates": len(self.plan.templates), "texts": len(self.texts), "calls": len(asks),
            "tokens_in": tokens_in, "tokens_out": tokens_out, "cost": cost,
            "prices_dated": (date_of(self.config.prices) or None) if cost else None,
        }  # fmt: skip

    def close(self) -> None:
        self.backend.close()


def prepare(config: ProbeConfig) -> Probing:
    """Read the plan and open the model; nothing is asked yet. Raises RecuseError for whatever is wrong with them."""
    plan, names = audited(load_probe_plan(config.plan), config.plan)
    if config.per_commit:
        if plan.probe.subset is None:
            raise UsageError("The plan names no subset.", hint="Add subset = 40 to its [probe], or give --subset.")
        config = replace(config, subset=plan.probe.subset)
    if config.subset is not None:
        plan = plan.model_copy(update={"templates": subset(plan.templates, config.subset)})
    grading = _grading(plan, config)
    reading = Reading.of(plan, config.plan, more=grading.bounds if grading else None)
    texts = shown(plan)
    backend = open_backend(config.model, config.options)
    try:
        return replace(_with_model(config, plan, names, reading, texts, backend), grading=grading)
    except BaseException:
        backend.close()
        raise


def _with_model(
    config: ProbeConfig, plan: ProbePlan, names: NameAudit, reading: Reading, texts: tuple[Shown, ...], backend: Backend
) -> Probing:
    can, probe, notes = backend.capabilities, plan.probe, list(names.notes)
    if not can.explains:
        raise UsageError(f"{config.model} writes no text.", hint="Give --model one that does.")
    price = priced(
        config.model, config.prices, local=can.local, capped=config.max_cost is not None, batched=config.options.batch
    )
    if not can.temperature:
        notes.append("This model takes no temperature.")
    draws, temperature, why = _draws(plan, can)
    notes += why
    sampling = Sampling(
        temperature=temperature,
        max_tokens=probe.max_tokens,
        seed=probe.seed if can.seed and temperature != 0.0 else None,
        top_logprobs=probe.top_logprobs if can.logprobs else 0,
    )
    engine = backend.versions()
    return Probing(config, plan, names, reading, texts, backend, engine, sampling, draws, price, tuple(notes))


def _grading(plan: ProbePlan, config: ProbeConfig) -> Grading | None:
    if plan.rubric is None:
        return None
    name, _ = settled(plan.rubric.judge, Options())
    local = heavy(name) or name.startswith("fake/")
    capped, batched = config.max_cost is not None, config.options.batch
    return Grading.of(plan, priced(name, config.prices, local=local, capped=capped, batched=batched), batched=batched)


def _draws(plan: ProbePlan, can: Capabilities) -> tuple[int, float | None, list[str]]:
    """How often each text is asked, at which temperature (None: the provider's default), and what to say of it."""
    probe = plan.probe
    temperature = None if probe.temperature == "default" or not can.temperature else float(probe.temperature)
    if probe.draws == "power":
        found = decision_draws(
            can if "yes" in plan.extract else replace(can, logprobs=False),  # only there are probabilities read
            tolerance=plan.tolerance.probability, templates=len(plan.templates),
            names=min(max(len(group.names), 1) for group in plan.groups.values()),
            temperature=temperature or 1.0, **plan.power.model_dump(),
        )  # fmt: skip
        return found.n, found.sampling.temperature, [found.why]
    if temperature == 0.0 and probe.draws > 1:
        note = (
            f"Asked once, not {probe.draws} times: at temperature 0 a repeat says nothing. "
            "Set probe.temperature to measure the noise of one text."
        )
        return 1, temperature, [note]
    return probe.draws, temperature, []
