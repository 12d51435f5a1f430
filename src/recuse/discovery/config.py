"""What `recuse discover` is told, and the plan that is ready to run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from recuse import assets
from recuse.backends import Options, settle
from recuse.backends.base import public_address
from recuse.discovery.similar import Embeddings, load_embeddings
from recuse.discovery.split import FRACTIONS, PARTS, Splits, from_column, split
from recuse.effects.accept import MIN_SHAMS
from recuse.errors import UsageError
from recuse.lab.bench import writing
from recuse.lab.engines import Described
from recuse.library import Bias, load_library
from recuse.perturb.arms import suited
from recuse.perturb.shams import sham_arms
from recuse.plan import AuditConfig, Plan, plan_audit, rewriting_hash, room_to_think
from recuse.prices import Price
from recuse.prompts import Prompt, canonical, load_prompt
from recuse.types import Pair, Sampling


@dataclass(frozen=True)
class DiscoverConfig:
    """See `recuse discover --help` for each field. `judge` holds all that concerns the judge and the pairs."""

    judge: AuditConfig
    teacher: str
    teacher_options: Options = field(default_factory=Options)
    teacher_tokens: int | None = None  # tokens that a rewrite may take; None: by the longest answer
    rounds: int = 3
    biases: tuple[str, ...] = ()  # with which the first round begins; empty: every bias that a teacher can put in
    library: Path | None = None
    min_effect: float = 0.05
    fdr: float = 0.05
    shams: int = 10
    fractions: tuple[float, float, float] = FRACTIONS
    split_column: str | None = None
    explain_steps: int = 2
    reason_prompt: str = "pairwise/reason"
    most_candidates: int = 10  # of one round, by support
    screen_groups: int = 60  # groups of the discovery part on which a candidate is screened
    online: bool = False  # accept round by round, each on a block of validation of its own
    racing: bool = True  # validation in stages, after each of which hopeless candidates are dropped
    similarity: str | None = None  # sentence embeddings by which wordings are compared; None: by words
    verify: bool = True  # ask the teacher whether an answer is still the same where no code can tell

    def __post_init__(self) -> None:
        settle(self, "teacher", "teacher_options")


@dataclass(frozen=True)
class Prompts:
    reason: Prompt
    deeper: Prompt
    extract: Prompt
    merge: Prompt

    @property
    def hashes(self) -> dict[str, str]:
        return {prompt.id: prompt.hash for prompt in (self.reason, self.deeper, self.extract, self.merge)}


@dataclass(frozen=True)
class DiscoverPlan:
    config: DiscoverConfig
    audit: Plan
    splits: Splits
    library: Mapping[str, Bias]
    start: tuple[Bias, ...]  # what the first round deals
    prompts: Prompts
    notes: tuple[str, ...]
    similarity: Embeddings | None = None

    @property
    def teacher(self) -> Described:
        assert self.audit.teacher is not None
        return self.audit.teacher

    @property
    def teacher_price(self) -> Price | None:
        return self.audit.teacher_price

    @cached_property
    def sampling(self) -> Sampling:
        every = (pair for part in PARTS for pair in getattr(self.splits, part))
        c, can = self.config, self.teacher.capabilities
        thinking = room_to_think(can, c.teacher_options)
        return writing(can, every, tokens=c.teacher_tokens, thinking=thinking, seed=c.judge.seed)

    @property
    def teacher_room(self) -> int:
        """Tokens that any reply of the teacher may take, however short it is to be, since it may think first."""
        return self.config.teacher_tokens or room_to_think(self.teacher.capabilities, self.config.teacher_options)

    @property
    def reasoning(self) -> int:
        """Tokens that the judge may take to give its reasons."""
        judge = self.config.judge
        room = judge.max_tokens or room_to_think(self.audit.backend.capabilities, judge.options)
        return max(self.prompts.reason.max_tokens, room)

    def run_table(self) -> dict[str, Any]:
        """All that determines the replies: the `[run]` table of run.toml."""
        c = self.config
        return {
            **self.audit.run_table(),
            "teacher": c.teacher,
            "teacher_base_url": public_address(c.teacher_options.base_url),
            "teacher_tokens": c.teacher_tokens,
            "teacher_engine": dict(self.teacher.versions),
            "rewriting_hash": rewriting_hash(),
            "teacher_sampling": {"temperature": self.sampling.temperature, "max_tokens": self.sampling.max_tokens},
            "prompts": self.prompts.hashes,
            "library_hash": assets.digest(
                canonical([b.model_dump(mode="json") for b in self.library.values()]).encode()
            ),
            "start": [bias.id for bias in self.start],
            "splits": {part: len(getattr(self.splits, part)) for part in PARTS},
            "split_column": c.split_column,
            "columns": dict(c.judge.columns),
            "group": c.judge.group,
            "skip_bad": c.judge.skip_bad,
            "fractions": list(c.fractions),
            "rounds": c.rounds,
            "min_effect": c.min_effect,
            "fdr": c.fdr,
            "shams": c.shams,
            "explain_steps": c.explain_steps,
            "most_candidates": c.most_candidates,
            "screen_groups": c.screen_groups,
            "racing": c.racing,
            "online": c.online,
            "similarity": dict(self.similarity.identity) if self.similarity else None,
            "verify": c.verify,
        }

    def close(self) -> None:
        self.audit.close()


def plan_discovery(config: DiscoverConfig) -> DiscoverPlan:
    """Read the inputs and open both models; nothing is asked yet. Raises RecuseError for what is wrong with them."""
    _check(config)
    judged = replace(config.judge, repeats=1, teacher=config.teacher, teacher_options=config.teacher_options)
    audit = plan_audit(judged)
    config = replace(config, teacher_options=audit.config.teacher_options)
    pairs = list(audit.pairs)
    parts = (
        from_column(pairs, config.split_column)
        if config.split_column
        else split(pairs, seed=config.judge.seed, fractions=config.fractions)
    )
    if config.online and parts.groups("validation") < config.rounds:
        raise UsageError(
            f"--online tests each of {config.rounds} rounds on groups of its own, and validation has "
            f"{parts.groups('validation')}.",
            hint="Give fewer --rounds or more pairs.",
        )
    library = load_library(config.library)
    start = _start(config.biases, library, parts.discovery)
    prompts = Prompts(
        reason=load_prompt(config.reason_prompt, kinds=("pairwise",)),
        deeper=load_prompt("explain/deeper", kinds=("explain",)),
        extract=load_prompt("extract/case", kinds=("extract",)),
        merge=load_prompt("merge/same", kinds=("merge",)),
    )
    similarity = load_embeddings(config.similarity) if config.similarity else None
    return DiscoverPlan(config, audit, parts, library, start, prompts, _notes(audit, config), similarity)


def _check(config: DiscoverConfig) -> None:
    whole = {"--rounds": config.rounds, "--screen-groups": config.screen_groups, "--candidates": config.most_candidates}
    for option, value in whole.items():
        if value < 1:
            raise UsageError(f"{option} is {value}.", hint="Give 1 or more.")
    if config.shams < MIN_SHAMS:
        raise UsageError(
            f"--shams is {config.shams}.",
            hint=f"Give at least {MIN_SHAMS}: fewer cannot show what a meaningless rewrite does.",
        )
    sham_arms(config.shams, seed=config.judge.seed)  # raises for more than there are
    if not 0.0 < config.fdr < 0.5 or not 0.0 <= config.min_effect < 1.0:
        raise UsageError(
            f"--fdr is {config.fdr} and --min-effect {config.min_effect}.",
            hint="Give --fdr under 0.5 and --min-effect under 1.",
        )
    if config.explain_steps < 0:
        raise UsageError(f"--explain-steps is {config.explain_steps}.", hint="Give 0 or more.")


def _start(wanted: tuple[str, ...], library: Mapping[str, Bias], pairs: Sequence[Pair]) -> tuple[Bias, ...]:
    """What the first round deals; without a wish all that can be put in, those about code only where there is some."""
    if unknown := [id for id in wanted if id not in library]:
        raise UsageError(f"There is no bias {unknown[0]!r}.", hint=f"Choose from: {', '.join(library)}.")
    if barren := [id for id in wanted if library[id].inject is None]:
        raise UsageError(f"A teacher cannot put {barren[0]!r} into an answer: it has no `inject`.")
    able = [id for id, bias in library.items() if bias.inject and bias.status != "rejected"]
    chosen = wanted or tuple(id for id in able if suited(library[id], pairs))
    if not chosen:
        raise UsageError("No bias of this library can be put in by a teacher.", hint="Give one an `inject` line.")
    return tuple(library[id] for id in chosen)


def _notes(audit: Plan, config: DiscoverConfig) -> tuple[str, ...]:
    notes = list(audit.notes)
    if audit.prompt is None or audit.prompt.kind != "pairwise":
        notes.append("This judge sees one answer at a time and gives no reasons: the teacher reads its mistakes alone.")
    if config.min_effect < 0.05:
        notes.append(f"Exploratory: the screen is at {config.min_effect:g}, under the 0.05 that was set in advance.")
    return tuple(notes)
