"""What an audit is told, and the plan that is ready to run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from recuse import assets
from recuse.asks import Design, make_asks
from recuse.backends import Backend, Capabilities, Options, open_backend, settle
from recuse.backends.base import public_address
from recuse.blinding.pairs import Blinds
from recuse.calibration import Labels, known_pairs
from recuse.controls import GATEABLE, People
from recuse.effects.accept import MIN_SHAMS
from recuse.errors import UsageError
from recuse.gate import Gate, check_gate, load_gate
from recuse.judge import estimate_tokens
from recuse.known import chosen, gateable
from recuse.lab.effort import rewriting, total
from recuse.lab.engines import Described, Model, check_teacher, describe_teacher
from recuse.lab.truth import CONTROLS
from recuse.library import Bias, bias_toml, load_library
from recuse.pairs import PairSet, load_pairs
from recuse.perturb.arms import Arm
from recuse.perturb.rules import rule_arms
from recuse.perturb.shams import teacher_arms
from recuse.prices import Price, date_of, priced
from recuse.prompts import Prompt, load_prompt
from recuse.swap.run import Swap, load_swap, swap_modes
from recuse.types import Sampling

_BY_FIRST_TOKEN = frozenset(
    {"label", "number"}
)  # formats whose verdict is the first token, so log-probabilities say it
_TOP_LOGPROBS = 20
_ROOM_TO_THINK = 2048  # tokens: models behind an API may reason before they answer, and are cut without room for it


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
    blinds: Blinds | None = None  # what is taken out of the texts before the judge sees them
    swap: Path | None = None  # a plan of texts that differ in a group's signal only
    people: People | None = None  # labels that the judge is held against
    biases: tuple[str, ...] = ()  # ids of the library, or "all": what is put into the wrong answers and tested
    library: Path | None = None
    teacher: str | None = None  # who rewrites; None: biases are put in by rule
    teacher_options: Options = field(default_factory=Options)
    shams: int = 10
    run_code: bool = False  # run the pairs' own tests on the code of the answers: executes what models wrote

    def __post_init__(self) -> None:
        settle(self, "judge", "options")
        settle(self, "teacher", "teacher_options")


@dataclass(frozen=True)
class Plan:
    """An audit that is ready to run: what is asked of whom, and what it may cost at most."""

    config: AuditConfig
    pairs: PairSet
    prompt: Prompt | None
    design: Design
    backend: Backend
    engine: Mapping[str, str]  # what the backend said of its versions when it was opened
    price: Price | None
    notes: tuple[str, ...]
    deterministic: bool
    biases: tuple[Bias, ...] = ()
    swap: Swap | None = None
    labels: Labels | None = None
    teacher: Described | None = None
    teacher_price: Price | None = None

    @property
    def calls(self) -> int:
        """On the pairs as they are."""
        return len(self.pairs) * self.design.calls_per_pair

    @property
    def all_calls(self) -> int:
        """Of the judge; a bias that goes into no pair is counted all the same."""
        return self.calls * (1 + len(self._arms())) + len(self.swap.asks if self.swap else ())

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
            "engine": dict(self.engine),
            "run_code": self.config.run_code or None,
            "blinded": self.config.blinds.table() if self.config.blinds else None,
            "swap": self._swapped() if self.swap else None,
            **(self._injected() if self.biases else {}),
        }

    def _swapped(self) -> dict[str, Any]:
        assert self.swap is not None
        prompts = {part.mode.kind: part.mode.prompt.hash for part in self.swap.parts}
        return {"plan": str(self.config.swap), "hash": self.swap.plan.hash, "prompts": prompts}

    def _injected(self) -> dict[str, Any]:
        config, teacher = self.config, self.teacher
        return {
            "biases": [bias.id for bias in self.biases],
            "biases_hash": assets.digest("".join(bias_toml(bias) for bias in self.biases).encode()),
            "shams": config.shams,
            "teacher": config.teacher,
            "teacher_base_url": public_address(config.teacher_options.base_url) if teacher else None,
            "teacher_engine": dict(teacher.versions) if teacher else None,
            "edits_hash": None if teacher else assets.digest(assets.data("edits.toml").read_bytes()),
            "rewriting_hash": rewriting_hash() if teacher else None,
        }

    def close(self) -> None:
        self.backend.close()
        if self.teacher is not None and self.teacher.backend is not None:
            self.teacher.backend.close()

    def estimate(self) -> dict[str, Any]:
        """Calls, tokens and money before anything is sent; tokens are an upper guess from characters."""
        tokens = [estimate_tokens(ask) for ask in make_asks(self.pairs, self.design)]
        swap = [estimate_tokens(ask) for ask in (self.swap.asks if self.swap else ())]
        versions = 1 + len(self._arms())
        tokens_in, tokens_out = (versions * sum(t[i] for t in tokens) + sum(t[i] for t in swap) for i in (0, 1))
        cost = self.price.of(tokens_in, tokens_out) if self.price else None
        dated = date_of(self.config.prices) if cost else None
        said: dict[str, Any] = {
            "calls": self.all_calls,
            "tokens_in": tokens_in,
            "tokens_out": tokens_out,
            "cost": cost,
        }
        if self.biases and self.teacher is not None:
            said["teacher"] = self._teaching()
        return {**said, "prices_dated": dated or None}

    def _arms(self) -> list[Arm]:
        """What the biases make of each wrong answer."""
        if not self.biases:
            return []
        shams = self.config.shams
        if self.teacher is None:
            return rule_arms(self.biases, shams=shams)
        return teacher_arms(self.biases, shams=shams, seed=self.config.seed)

    def _teaching(self) -> dict[str, Any]:
        pairs = list(self.pairs)
        rewrites = len(pairs) * len(self._arms()) + min(CONTROLS, len(pairs))
        calls, tokens_in, tokens_out = total(rewriting(pairs, rewrites, verify=True))
        cost = self.teacher_price.of(tokens_in, tokens_out) if self.teacher_price else None
        return {"calls": calls, "tokens_in": tokens_in, "tokens_out": tokens_out, "cost": cost}


def plan_audit(config: AuditConfig) -> Plan:
    """Read the inputs and open the judge; nothing is asked yet. Raises RecuseError for whatever is wrong with them."""
    if config.repeats < 1:
        raise UsageError(f"--repeats is {config.repeats}.", hint="Give 1 or more.")
    pairs = load_pairs(
        config.pairs, preset=config.preset, columns=config.columns or None, group=config.group, limit=config.limit,
        seed=config.seed, on_bad="skip" if config.skip_bad else "error",
    )  # fmt: skip
    named = load_prompt(config.prompt)
    labels = None
    if (people := config.people) is not None:  # joined by the texts that people saw, before any blinding
        labels = people.load(known_pairs(pairs, key=people.key, content=people.key is None))
    said: list[str] = []
    if config.blinds is not None:
        pairs, said = config.blinds.blinded(pairs)
    to_swap = load_swap(config.swap) if config.swap else None
    biases = _biases(config)
    ids = GATEABLE | set(gateable(biases))
    check_gate(named_gate(config.gate)[0], domains=list(pairs.domains), also=ids, path=config.gate)
    config = replace(config, teacher_options=_teacher_options(config))
    taught = describe_teacher(*_models(config)) if config.teacher else None  # first: see there
    backend = open_backend(config.judge, config.options)
    can = backend.capabilities
    notes = [*pairs.notes, *said]
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
    sampling = sampling_of(config, prompt, can)
    swap = None
    if to_swap is not None:
        modes = swap_modes(to_swap, can, prompt=prompt, temperature=config.temperature, seed=config.seed,
                           room=room_to_think(can, config.options))  # fmt: skip
        swap = Swap.prepare(to_swap, modes, (config.blinds or Blinds()).redactor())
    design, engine = Design(prompt, sampling, repeats), backend.versions()
    price = _priced(config, config.judge, can)
    plan = Plan(
        config, pairs, prompt, design, backend, engine, price, tuple(notes), deterministic, biases, swap, labels
    )  # fmt: skip
    if config.teacher is None:
        return plan
    if taught is None:
        check_teacher(config.teacher, can)
    teacher = taught or Described(can, engine, None)  # the judge itself, which is open already
    return replace(plan, teacher=teacher, teacher_price=_priced(config, config.teacher, teacher.capabilities))


def sampling_of(config: AuditConfig, prompt: Prompt | None, can: Capabilities) -> Sampling:
    """How a judge of these capabilities is asked with `prompt`; None: a reward model."""
    temperature = config.temperature if can.temperature else None
    by_first_token = prompt is not None and prompt.spec.format in _BY_FIRST_TOKEN
    return Sampling(
        temperature=temperature,
        max_tokens=config.max_tokens or _max_tokens(config, prompt, can),
        seed=config.seed if can.seed and temperature != 0.0 else None,
        top_logprobs=_TOP_LOGPROBS if by_first_token and can.logprobs else 0,
        choice=config.choice and can.choice,
    )


def _biases(config: AuditConfig) -> tuple[Bias, ...]:
    if not config.biases:
        return ()
    if config.shams < MIN_SHAMS:
        raise UsageError(
            f"--shams is {config.shams}.",
            hint=f"Give at least {MIN_SHAMS}: fewer cannot show what a meaningless change does.",
        )
    return tuple(chosen(config.biases, load_library(config.library), teacher=config.teacher is not None))


def _teacher_options(config: AuditConfig) -> Options:
    """A teacher of the judge's name is the judge, at the judge's address, unless another address is given."""
    given = config.teacher_options
    if config.teacher != config.judge or given.base_url is not None:
        return given
    return replace(given, base_url=config.options.base_url)


def _models(config: AuditConfig) -> tuple[Model, Model]:
    """The teacher and the judge, not priced yet."""
    return Model(config.teacher or "", config.teacher_options, None), Model(config.judge, config.options, None)


def rewriting_hash() -> str:
    """Of all that a teacher is told beside the bias: the prompts by which it rewrites and verifies, and the shams."""
    names = ("rewrite/inject", "rewrite/again", "rewrite/strict", "verify/same_answer")
    hashes = [load_prompt(name, kinds=("rewrite", "verify")).hash for name in names]
    return assets.digest("".join([*hashes, assets.digest(assets.data("shams.toml").read_bytes())]).encode())


def _max_tokens(config: AuditConfig, prompt: Prompt | None, can: Capabilities) -> int:
    """The limit where the user names none: a cap, not a target, since a judge that does not think stops by itself."""
    if prompt is None:
        return 1
    served = can.local or config.options.base_url is not None
    if not served:  # on a server of one's own a small model may ramble up to any limit
        return max(prompt.max_tokens, _ROOM_TO_THINK)
    # An engine in this process is sure to deliver log-probabilities; a server may not, and its model may think first.
    one_token = prompt.spec.format in _BY_FIRST_TOKEN and all(len(label) == 1 for label in prompt.spec.labels)
    return 1 if one_token and can.logprobs and can.greedy else prompt.max_tokens


def room_to_think(can: Capabilities, options: Options) -> int:
    """Tokens that a model may think for before it answers: some behind an API, none on a server of one's own."""
    return 0 if can.local or options.base_url is not None else _ROOM_TO_THINK


def _priced(config: AuditConfig, name: str, can: Capabilities) -> Price | None:
    capped, batched = config.max_cost is not None, config.options.batch
    return priced(name, config.prices, local=can.local, capped=capped, batched=batched)


def named_gate(path: Path | None) -> tuple[Gate, str]:
    return load_gate(path), str(path) if path else "default"
