"""What `recuse export --kind benchmark` is told, and the plan that is ready to run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from recuse import assets
from recuse.asks import make_asks
from recuse.backends.base import public_address
from recuse.errors import UsageError
from recuse.export.folder import check_free
from recuse.export.sources import Source, sources
from recuse.export.variants import MOST, arms_of
from recuse.judge import estimate_tokens
from recuse.lab.bench import writing
from recuse.lab.effort import rewriting, total
from recuse.lab.engines import Described, heavy
from recuse.perturb.arms import Arm
from recuse.plan import AuditConfig, Plan, plan_audit, rewriting_hash, room_to_think
from recuse.types import Pair, Sampling


@dataclass(frozen=True)
class ExportConfig:
    """All `judges` see the same pairs; what concerns a teacher, the seed and the cap on cost stands in the first."""

    judges: tuple[AuditConfig, ...]
    out: Path
    run: Path | None = None  # whose confirmed biases are taken
    biases: tuple[str, ...] = ()  # ids of the library
    library: Path | None = None
    variants: int = 5  # of each pair at most
    least: int | None = None  # judges that a row must have fooled; None: all
    unfiltered: int | None = None  # pairs that are rewritten whatever the judges say of them; None: all
    work: Path | None = None  # run folder with the ledgers; None: one that the same settings find again


@dataclass(frozen=True)
class ExportPlan:
    config: ExportConfig
    sources: tuple[Source, ...]  # those that are put in
    arms: tuple[Arm, ...]
    judges: tuple[Plan, ...]
    notes: tuple[str, ...]

    @property
    def first(self) -> Plan:
        return self.judges[0]

    @property
    def teacher(self) -> Described | None:
        return self.first.teacher

    @property
    def least(self) -> int:
        return self.config.least or len(self.judges)

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        return tuple(self.first.pairs)

    @cached_property
    def by_bias(self) -> Mapping[str, Source]:
        return {source.bias.id: source for source in self.sources}

    @property
    def room(self) -> int:
        """Tokens that a teacher's reply may take beyond its text, since it may think first."""
        return room_to_think(self.teacher.capabilities, self.first.config.teacher_options) if self.teacher else 0

    @cached_property
    def sampling(self) -> Sampling:
        """How the teacher writes."""
        can = self.teacher.capabilities if self.teacher else self.first.backend.capabilities
        return writing(can, self.pairs, thinking=self.room, seed=self.first.config.seed)

    def drawn(self) -> frozenset[str]:
        """The pairs that are rewritten whatever the judges say of them: whole groups by a hash, until there are enough.

        They show what the biases do; of all others only those may give a row that the judges got right.
        """
        wanted, seed = self.config.unfiltered, self.first.config.seed
        if wanted is None:
            return frozenset(pair.id for pair in self.pairs)
        taken: list[str] = []
        by_group: dict[str, list[str]] = {}
        for pair in self.pairs:
            by_group.setdefault(pair.group, []).append(pair.id)
        for group in sorted(by_group, key=lambda group: assets.digest(f"unfiltered {seed} {group}".encode())):
            if len(taken) >= wanted:
                break
            taken += by_group[group]
        return frozenset(taken)

    def run_table(self) -> dict[str, Any]:
        """All that determines the replies; how many judges a row must mislead only selects among them, and
        so does how many pairs are rewritten in any case."""
        config, teacher = self.first.config, self.teacher
        return {
            "export": "benchmark",
            "biases": [source.bias.id for source in self.sources],
            "biases_hash": assets.digest("".join(source.version for source in self.sources).encode()),
            "arms": [arm.id for arm in self.arms],
            "teacher": config.teacher,
            "teacher_base_url": public_address(config.teacher_options.base_url) if teacher else None,
            "teacher_engine": dict(teacher.versions) if teacher else None,
            "rewriting_hash": rewriting_hash() if teacher else None,
            "edits_hash": None if teacher else edits_hash(),
            **{f"judge_{i}": plan.run_table() for i, plan in enumerate(self.judges, start=1)},
        }

    def estimate(self) -> dict[str, Any]:
        """Calls, tokens and money before anything is sent, short of what the rows of the set are asked again."""
        said: dict[str, Any] = {"pairs": len(self.pairs), "variants": len(self.pairs) * len(self.arms), "judges": []}
        for plan in self.judges:
            tokens = [estimate_tokens(ask) for ask in make_asks(self.pairs, plan.design)]
            shown = 1 + len(self.arms)
            tokens_in, tokens_out = (shown * sum(t[i] for t in tokens) for i in (0, 1))
            said["judges"].append(
                {"judge": plan.config.judge, "calls": shown * len(tokens), "calls_a_row": again_per_row(plan),
                 "tokens_in": tokens_in, "tokens_out": tokens_out,
                 "cost": plan.price.of(tokens_in, tokens_out) if plan.price else None}
            )  # fmt: skip
        if self.teacher is not None:
            work = rewriting(self.pairs, len(self.pairs) * len(self.arms), verify=True)
            calls, tokens_in, tokens_out = total(work)
            price = self.first.teacher_price
            said["teacher"] = {
                "teacher": self.first.config.teacher, "calls": calls, "tokens_in": tokens_in, "tokens_out": tokens_out,
                "cost": price.of(tokens_in, tokens_out) if price else None,
            }  # fmt: skip
        return said

    def close(self) -> None:
        for plan in self.judges:
            plan.close()


def edits_hash() -> str:
    return assets.digest(assets.data("edits.toml").read_bytes())


def again_per_row(plan: Plan) -> int:
    """Calls by which a row of the set is judged afresh: original and rewritten, each view once; none where a repeated
    call would return the same reply."""
    return 0 if plan.deterministic else 2 * len(plan.design.views)


def plan_export(config: ExportConfig) -> ExportPlan:
    """Read the inputs and open the models; nothing is asked yet. Raises RecuseError for whatever is wrong with them.

    A judge whose weights are held in this process is closed again where there is more than one model.
    """
    check_free(config.out)
    _check(config)
    first = config.judges[0]
    found = sources(run=config.run, ids=config.biases, library=config.library, teacher=first.teacher is not None)
    arms = arms_of(found, most=config.variants, teacher=first.teacher is not None)
    used = {arm.bias for arm in arms}
    put_in = tuple(source for source in found if source.bias.id in used)
    plans: list[Plan] = []
    try:
        for i, judge in enumerate(config.judges):
            plan = plan_audit(judge if i == 0 else replace(judge, teacher=None))
            plans.append(plan)
            if len(config.judges) > 1 and heavy(judge.judge):
                plan.backend.close()
    except BaseException:
        for plan in plans:
            plan.close()
        raise
    return ExportPlan(config, put_in, arms, tuple(plans), _notes(config, found, put_in, arms, plans))


def _check(config: ExportConfig) -> None:
    if not config.judges:
        raise UsageError("Which judge is to be fooled?", hint="Give --judge; it may be given again.")
    names = [(judge.judge, judge.options.base_url) for judge in config.judges]
    if len(set(names)) < len(names):
        raise UsageError("A judge is given twice.", hint="Name each judge once.")
    if not 1 <= config.variants <= MOST:
        raise UsageError(f"--variants is {config.variants}.", hint=f"Give 1 to {MOST}.")
    if config.unfiltered is not None and config.unfiltered < 1:
        raise UsageError(f"--unfiltered is {config.unfiltered}.", hint="Give 1 or more.")
    if config.least is not None and not 1 <= config.least <= len(names):
        raise UsageError(f"--least is {config.least}.", hint=f"Give 1 to {len(names)}, the number of judges.")


def _notes(
    config: ExportConfig,
    found: tuple[Source, ...],
    put_in: tuple[Source, ...],
    arms: tuple[Arm, ...],
    plans: list[Plan],
) -> tuple[str, ...]:
    notes = [f"{plan.config.judge}: {note}" if len(plans) > 1 else note for plan in plans for note in plan.notes]
    if left := [s.bias.id for s in found if s not in put_in]:
        notes.append(f"Beyond --variants {config.variants}, not put in: {', '.join(left)}.")
    if len(arms) < 5:
        notes.append(f"Each pair has {len(arms)} variants at most, fewer than five.")
    if unsure := [s.bias.id for s in put_in if not s.confirmed]:
        notes.append(f"Not confirmed on any judge: {', '.join(unsure)}.")
    targets = {plan.config.judge for plan in plans}
    if others := [s.bias.id for s in put_in if s.confirmed and not targets & set(s.judges)]:
        notes.append(f"Confirmed on another judge than these: {', '.join(others)}.")
    return tuple(dict.fromkeys(notes))
