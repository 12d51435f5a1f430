"""What `recuse harden` is told, and the plan that is ready to run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from recuse import assets
from recuse.asks import make_asks
from recuse.backends import Options, open_backend
from recuse.backends.base import public_address
from recuse.calibration import Labels
from recuse.errors import InputError
from recuse.harden.like import Held, Like, held_pairs, judged_as, read_like
from recuse.harden.measures import BIAS, DECIDING, KAPPA
from recuse.harden.rivals import Rival, Seat, make_rival, models_of, present_rival
from recuse.harden.variants import PRIMARY, Variants, default_variants, load_variants
from recuse.judge import estimate_tokens
from recuse.lab.bench import writing
from recuse.lab.effort import rewriting, total
from recuse.lab.engines import Described, Model, heavy
from recuse.library import bias_toml
from recuse.plan import AuditConfig, Plan, plan_audit, rewriting_hash, room_to_think
from recuse.prices import priced
from recuse.prompts import canonical
from recuse.types import Sampling


@dataclass(frozen=True)
class HardenConfig:
    """See `recuse harden --help` for each field. `judge` holds all that concerns the present judge and the pairs; its
    `pairs` "": those of the run."""

    judge: AuditConfig
    like: Path
    variants: Path | None = None  # None: the default set
    biases: tuple[str, ...] = ()  # ids of the library beside the confirmed ones of `like`
    library: Path | None = None


@dataclass(frozen=True)
class HardenPlan:
    config: HardenConfig
    audit: Plan  # of the present judge
    like: Like
    held: Held
    variants: Variants
    rivals: tuple[Rival, ...]  # the present judge first
    notes: tuple[str, ...]

    @property
    def teacher(self) -> Described | None:
        return self.audit.teacher

    @property
    def room(self) -> int:
        """Tokens that any reply of the teacher may take, since it may think first, as the run had it."""
        if self.teacher is None:
            return 0
        given = self.like.table.get("teacher_tokens") if self.like.discovery else None
        return given or room_to_think(self.teacher.capabilities, self.audit.config.teacher_options)

    @cached_property
    def sampling(self) -> Sampling:
        """How the teacher writes: as in the run, so that its rewrites serve again."""
        can = self.teacher.capabilities if self.teacher else self.audit.backend.capabilities
        given = self.like.table.get("teacher_tokens") if self.like.discovery else None
        thinking = room_to_think(can, self.audit.config.teacher_options)
        return writing(can, self.audit.pairs, tokens=given, thinking=thinking, seed=self.like.seed)

    def run_table(self) -> dict[str, Any]:
        """All that determines the replies; what is primary and the margins only decide over them."""
        config, teacher = self.audit.config, self.teacher
        biases = [source.bias for source in self.like.sources]
        return {
            "kind": "harden",
            **self.audit.run_table(),
            "like": self.like.run.resolve().name,
            "held": self.held.what,
            "held_hash": assets.digest(canonical(sorted(pair.id for pair in self.held.pairs)).encode()),
            "biases": [bias.id for bias in biases],
            "biases_hash": assets.digest("".join(bias_toml(bias) for bias in biases).encode()),
            "arms": [arm.id for arm in self.like.arms],
            "teacher": config.teacher,
            "teacher_base_url": public_address(config.teacher_options.base_url) if teacher else None,
            "teacher_engine": dict(teacher.versions) if teacher else None,
            "rewriting_hash": rewriting_hash() if teacher else None,
            "edits_hash": None if teacher else assets.digest(assets.data("edits.toml").read_bytes()),
            "rivals": {rival.id: rival.table() for rival in self.rivals},
        }

    def estimate(self) -> dict[str, Any]:
        """Calls, tokens and money before anything is sent, as if no reply were known yet."""
        versions, said = 1 + len(self.like.arms), []
        for rival in self.rivals:
            calls, tokens_in, tokens_out, costs = 0, 0, 0, list[float | None]()
            for asker in rival.askers:
                tokens = [estimate_tokens(ask) for ask in make_asks(self.held.pairs, asker.design)]
                calls += versions * len(tokens)
                into, out = (versions * sum(t[i] for t in tokens) for i in (0, 1))
                tokens_in, tokens_out = tokens_in + into, tokens_out + out
                costs.append(asker.seat.model.price.of(into, out) if asker.seat.model.price else None)
            cost = None if None in costs else sum(c or 0.0 for c in costs)
            said.append(
                {"id": rival.id, "calls": calls, "tokens_in": tokens_in, "tokens_out": tokens_out, "cost": cost}
            )
        told: dict[str, Any] = {"pairs": len(self.held.pairs), "arms": len(self.like.arms), "rivals": said}
        if self.teacher is not None:
            work = rewriting(self.held.pairs, len(self.held.pairs) * len(self.like.arms), verify=True)
            calls, tokens_in, tokens_out = total(work)
            price = self.audit.teacher_price
            told["teacher"] = {"calls": calls, "tokens_in": tokens_in, "tokens_out": tokens_out,
                               "cost": price.of(tokens_in, tokens_out) if price else None}  # fmt: skip
        return told

    def close(self) -> None:
        self.audit.close()
        for seat in {id(a.seat): a.seat for rival in self.rivals for a in rival.askers}.values():
            if seat.described.backend is not None:
                seat.described.backend.close()


def plan_harden(config: HardenConfig) -> HardenPlan:
    """Read the inputs and open the models; nothing is asked yet. Raises RecuseError for whatever is wrong with them.

    Where several models hold weights in this process each is closed again, so that they are never in memory together.
    """
    given = load_variants(config.variants) if config.variants else None
    like = read_like(config.like, config.judge.pairs or None, biases=config.biases, library=config.library)
    audit = plan_audit(judged_as(like, config.judge))
    opened: list[Seat] = []
    try:
        held = held_pairs(like, audit)
        references = all(pair.reference is not None for pair in held.pairs)
        kind = audit.prompt.kind if audit.prompt else None
        variants = given or default_variants(
            pairwise=kind == "pairwise", references=references, biases=bool(like.sources)
        )
        _check(variants, like, held, audit.labels, config.variants)
        rivals = _rivals(config, variants, like, held, audit, opened)
    except BaseException:
        audit.close()
        for seat in opened:
            if seat.described.backend is not None:
                seat.described.backend.close()
        raise
    notes = _notes(config, variants, like, held, audit)
    return HardenPlan(config, audit, like, held, variants, rivals, notes)


def _rivals(
    config: HardenConfig, variants: Variants, like: Like, held: Held, audit: Plan, opened: list[Seat]
) -> tuple[Rival, ...]:
    judge = audit.config
    wanted = {_key(name, options) for v in variants.variants for name, options in models_of(v, judge)}
    wanted.add(_key(judge.judge, judge.options))
    alone = sum(heavy(name) for name, _ in wanted) + (judge.teacher is not None and heavy(judge.teacher)) < 2
    own = Described(audit.backend.capabilities, audit.engine, audit.backend)
    if not alone and heavy(judge.judge):
        audit.backend.close()
        own = replace(own, backend=None)
    seats = {_key(judge.judge, judge.options): Seat(Model(judge.judge, judge.options, audit.price), own)}

    def seat(name: str, options: Options) -> Seat:
        key = _key(name, options)
        if key not in seats:
            backend = open_backend(name, options)
            described = Described(backend.capabilities, backend.versions(), backend)
            if not alone and heavy(name):
                backend.close()
                described = replace(described, backend=None)
            price = priced(
                name,
                judge.prices,
                local=described.capabilities.local,
                capped=judge.max_cost is not None,
                batched=options.batch,
            )
            seats[key] = Seat(Model(name, options, price), described)
            opened.append(seats[key])
        return seats[key]

    present = present_rival(judge, audit.design, seats[_key(judge.judge, judge.options)])
    made = [
        make_rival(v, present, seats=seat, like=like, pairs=held.pairs, library=config.library)
        for v in variants.variants
    ]
    return present, *made


def _key(name: str, options: Options) -> tuple[str, str | None]:
    return name, options.base_url


def _check(variants: Variants, like: Like, held: Held, labels: Labels | None, path: Path | None) -> None:
    """Raise for measures that nobody takes, and for a primary that chance would decide."""
    biases = [BIAS.format(source.bias.id) for source in like.sources]
    known = [*DECIDING, *biases, *([KAPPA] if labels else [])]
    for field, names in (("primary", [variants.primary]), ("margins", list(variants.margins))):
        if unknown := [name for name in names if name not in known]:
            raise InputError(f"there is no measure {unknown[0]!r} in this comparison", path=path, field=field,
                             hint=f"Choose from: {', '.join(known)}.")  # fmt: skip
    if variants.primary == KAPPA:
        raise InputError("kappa has an interval and no test here", path=path, field="primary",
                         hint=f"Declare {PRIMARY}, and kappa stays among the rest.")  # fmt: skip
    if held.seen and variants.primary in biases:
        raise InputError(
            f"{variants.primary} cannot decide on pairs by which that bias was selected: chance made it large there, "
            "and any other judge would seem to do better",
            path=path, field="primary", hint="Give --pairs that the run has not seen, or a discovery.",
        )  # fmt: skip


def _notes(config: HardenConfig, variants: Variants, like: Like, held: Held, audit: Plan) -> tuple[str, ...]:
    notes = list(audit.notes)
    if config.variants is None:
        notes.append(f"No variants were given; the default set: {', '.join(v.id for v in variants.variants)}.")
    if unsure := [source.bias.id for source in like.sources if not source.confirmed]:
        notes.append(f"Not confirmed by {like.run.resolve().name}: {', '.join(unsure)}.")
    if others := [s.bias.id for s in like.sources if s.confirmed and audit.config.judge not in s.judges]:
        notes.append(f"Confirmed on another judge than this: {', '.join(others)}.")
    if held.seen:
        notes.append(
            "The biases were selected on some of these pairs, where chance made the present judge's effects larger "
            "than they are: a smaller effect of a variant is no evidence that it mends the bias."
        )
    return tuple(notes)
