"""What `recuse export --kind preferences` is told, and the plan that is ready to run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Event
from typing import Any

from recuse.asks import Design
from recuse.assets import digest
from recuse.backends import Backend, Options, open_backend, settle
from recuse.backends.base import public_address
from recuse.errors import UsageError
from recuse.export.apart import Apart, Left, benchmark, families, left_out
from recuse.export.folder import check_free
from recuse.export.heldout import held_out, is_discovery
from recuse.export.mixing import for_test
from recuse.export.sources import Source, sources
from recuse.export.variants import arms_of
from recuse.lab.bench import Lab, writing
from recuse.lab.effort import rewriting, total
from recuse.lab.engines import LEDGERS, Engines, Model, Role, Watch, check_teacher
from recuse.library import Bias
from recuse.pairs import PairSet, load_pairs
from recuse.perturb.arms import Arm
from recuse.perturb.teacher import load_wording
from recuse.plan import rewriting_hash, room_to_think
from recuse.prices import Price, priced
from recuse.prompts import load_prompt
from recuse.run import RunFolder, default_folder
from recuse.types import Pair, Sampling


@dataclass(frozen=True)
class PreferenceConfig:
    """See `recuse export --help` for each field."""

    pairs: str
    out: Path
    run: Path | None = None  # whose confirmed biases are put in; a discovery's held-out parts stay out
    biases: tuple[str, ...] = ()  # ids of the library
    library: Path | None = None
    not_from: tuple[Path, ...] = ()  # further runs whose held-out pairs stay out
    not_in: tuple[Path, ...] = ()  # benchmarks whose questions stay out
    mix: float = 0.5  # share of rows that are untouched pairs
    test: float = 0.1  # share of the families that go into the test part
    per_pair: int = 1  # rewritten versions of one pair at most
    seed: int = 0
    preset: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    group: str | None = None
    limit: int | None = None
    skip_bad: bool = False
    teacher: str | None = None  # who rewrites; None: biases are put in by rule
    teacher_options: Options = field(default_factory=Options)
    max_cost: float | None = None
    prices: Path | None = None
    run_code: bool = False
    work: Path | None = None  # run folder of the teacher's replies; None: one that the same settings find again

    def __post_init__(self) -> None:
        settle(self, "teacher", "teacher_options")


@dataclass(frozen=True)
class PreferencePlan:
    config: PreferenceConfig
    sources: tuple[Source, ...]
    arms: tuple[Arm, ...]
    source: PairSet
    pairs: tuple[Pair, ...]  # those that may be used
    left: tuple[Left, ...]
    home: Mapping[str, str]  # the family of each pair that may be used
    test: frozenset[str]  # families of the test part
    teacher: Backend | None
    price: Price | None

    @cached_property
    def biases(self) -> Mapping[str, Bias]:
        return {source.bias.id: source.bias for source in self.sources}

    @property
    def room(self) -> int:
        """Tokens that the teacher may take to think."""
        return room_to_think(self.teacher.capabilities, self.config.teacher_options) if self.teacher else 0

    @cached_property
    def sampling(self) -> Sampling:
        """How the teacher writes."""
        assert self.teacher is not None
        return writing(self.teacher.capabilities, self.pairs, thinking=self.room, seed=self.config.seed)

    def part(self, name: str) -> list[Pair]:
        """The pairs of "train" or "test"."""
        return [pair for pair in self.pairs if (self.home[pair.id] in self.test) == (name == "test")]

    def run_table(self) -> dict[str, Any]:
        """All that determines what a teacher is asked."""
        assert self.teacher is not None
        return {
            "export": "preferences",
            "pairs_hash": self.source.hash,
            "pairs_used": digest("".join(sorted(pair.id for pair in self.pairs)).encode()),
            "biases": [source.bias.id for source in self.sources],
            "biases_hash": digest("".join(source.version for source in self.sources).encode()),
            "per_pair": self.config.per_pair,
            "seed": self.config.seed,
            "run_code": self.config.run_code or None,
            "teacher": self.config.teacher,
            "teacher_base_url": public_address(self.config.teacher_options.base_url),
            "teacher_engine": dict(self.teacher.versions()),
            "teacher_sampling": {"temperature": self.sampling.temperature, "max_tokens": self.sampling.max_tokens},
            "rewriting_hash": rewriting_hash(),
        }

    def estimate(self) -> dict[str, Any]:
        """What would be used and asked; a rewrite that fails a check is followed by another bias's, not counted."""
        said: dict[str, Any] = {
            "pairs": len(self.source), "left_out": sum(one.same + one.near for one in self.left),
            "used": len(self.pairs), "test": len(self.part("test")),
        }  # fmt: skip
        if self.teacher is not None:
            work = rewriting(self.pairs, len(self.pairs) * self.config.per_pair, verify=True)
            calls, tokens_in, tokens_out = total(work)
            cost = self.price.of(tokens_in, tokens_out) if self.price else None
            said["teacher"] = {
                "teacher": self.config.teacher, "calls": calls, "tokens_in": tokens_in, "tokens_out": tokens_out,
                "cost": cost,
            }  # fmt: skip
        return said

    def close(self) -> None:
        self.source.close()
        if self.teacher is not None:
            self.teacher.close()

    @contextmanager
    def lab(self, watch: Watch, stop: Event | None) -> Iterator[Lab]:
        """Where the teacher writes: over a run folder of its own, beside the replies of the run whose biases are taken.

        No judge is asked, and the lab's design is none's.
        """
        config, settings = self.config, self.run_table()
        assert config.teacher is not None
        assert self.teacher is not None
        models: dict[Role, Model] = {"teacher": Model(config.teacher, config.teacher_options, self.price)}
        with RunFolder(config.work or default_folder("preferences", config.teacher, settings), settings) as run:

            def told(phase: str, done: int, total: int, cost: float) -> None:
                run.kept = True
                watch(phase, done, total, cost)

            lent = config.run / LEDGERS["teacher"] if config.run is not None else None
            lents: dict[Role, Path] = {"teacher": lent} if lent is not None and lent.is_file() else {}
            with Engines(models, run.path, config.max_cost, stop, told, lent=lents) as engines:
                engines.adopt("teacher", self.teacher)
                yield Lab(
                    engines, Design(None, Sampling()), self.sampling, load_wording(),
                    load_prompt("verify/same_answer", kinds=("verify",)), run_code=config.run_code, room=self.room,
                )  # fmt: skip


def plan_preferences(config: PreferenceConfig) -> PreferencePlan:
    """Read the inputs, take out what may not be used and open the teacher; nothing is asked yet.

    Raises RecuseError for whatever is wrong with them, UsageError where no pair is left.
    """
    check_free(config.out)
    _check(config)
    taught = config.teacher is not None
    found = sources(run=config.run, ids=config.biases, library=config.library, teacher=taught)
    if config.per_pair > len(found):
        raise UsageError(
            f"--per-pair is {config.per_pair}, and only {len(found)} of the biases can be put in.",
            hint="Give fewer, or name more biases with --bias.",
        )
    apart = _apart(config)
    source = load_pairs(
        config.pairs, preset=config.preset, columns=config.columns or None, group=config.group, limit=config.limit,
        seed=config.seed, on_bad="skip" if config.skip_bad else "error",
    )  # fmt: skip
    every = list(source)
    home = families(every)
    pairs, left = left_out(every, apart, home=home)
    if not pairs:
        raise UsageError(
            f"None of the {len(source):,} pairs may be used: all are held out by a run, or stand in a benchmark.",
            hint="Give pairs that no run has examined.",
        )
    home = {pair.id: home[pair.id] for pair in pairs}
    test = for_test(home.values(), share=config.test, seed=config.seed)
    teacher, price = _teacher(config)
    return PreferencePlan(
        config, found, arms_of(found, most=len(found), teacher=taught), source, tuple(pairs), tuple(left), home, test,
        teacher, price,
    )  # fmt: skip


def _check(config: PreferenceConfig) -> None:
    if not 0 <= config.mix < 1:
        raise UsageError(f"--mix is {config.mix:g}.", hint="Give the share of untouched pairs, from 0 to under 1.")
    if not 0 <= config.test < 1:
        raise UsageError(f"--test is {config.test:g}.", hint="Give the share of the test part, from 0 to under 1.")
    if config.per_pair < 1:
        raise UsageError(f"--per-pair is {config.per_pair}.", hint="Give 1 or more.")


def _apart(config: PreferenceConfig) -> Sequence[Apart]:
    """What stays out; each run once, however often it is named."""
    runs = list(config.not_from)
    if config.run is not None and is_discovery(config.run):
        runs.insert(0, config.run)
    return [
        *(held_out(run) for run in {run.resolve(): run for run in runs}.values()),
        *(benchmark(file) for file in dict.fromkeys(config.not_in)),
    ]


def _teacher(config: PreferenceConfig) -> tuple[Backend | None, Price | None]:
    if config.teacher is None:
        return None, None
    backend = open_backend(config.teacher, config.teacher_options)
    try:
        check_teacher(config.teacher, backend.capabilities)
        price = priced(
            config.teacher,
            config.prices,
            local=backend.capabilities.local,
            capped=config.max_cost is not None,
            batched=config.teacher_options.batch,
        )
    except BaseException:
        backend.close()
        raise
    return backend, price
