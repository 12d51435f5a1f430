"""What an earlier run lends: its confirmed biases, its rewrites, and pairs on which none of them was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from recuse.blinding.pairs import Blinds
from recuse.discovery.split import from_column, split
from recuse.discovery.transfer import read_run
from recuse.errors import InputError, UsageError
from recuse.export.apart import apart_of, left_out
from recuse.export.heldout import held_out, parts_of
from recuse.export.sources import Source, sources
from recuse.perturb.arms import Arm
from recuse.perturb.rules import rule_arms
from recuse.perturb.shams import bias_arms, placebo_arms
from recuse.plan import AuditConfig, Plan
from recuse.types import Pair


@dataclass(frozen=True)
class Like:
    """A finished discovery, or a finished audit with --biases."""

    run: Path
    table: Mapping[str, Any]  # the run's configuration
    sources: tuple[Source, ...]
    own: bool  # the pairs are those of the run

    @property
    def discovery(self) -> bool:
        return "splits" in self.table

    @property
    def teacher(self) -> str | None:
        name: str | None = self.table.get("teacher")
        return name

    @property
    def seed(self) -> int:
        return int(self.table["seed"])

    @cached_property
    def arms(self) -> tuple[Arm, ...]:
        """What each bias makes of a wrong answer, and what it is measured against."""
        biases = [source.bias for source in self.sources]
        if self.teacher is None:
            return tuple(arm for arm in rule_arms(biases, shams=0) if arm.id != "placebo2")
        return (placebo_arms()[0], *(arm for bias in biases for arm in bias_arms(bias))) if biases else ()


@dataclass(frozen=True)
class Held:
    """The pairs of a comparison. `seen`: on some of them the biases were selected, so that chance flatters the present
    judge's effects upwards."""

    pairs: tuple[Pair, ...]
    what: str
    seen: bool = False


def read_like(run: Path, pairs: str | None, *, biases: Sequence[str] = (), library: Path | None = None) -> Like:
    """The run whose biases are taken, with others of the library that `biases` names. `pairs` None: the run's own.

    Raises UsageError for a folder that holds no such run, and where it leaves no bias.
    """
    table = read_run(run)
    if "seed" not in table or "pairs" not in table:
        raise UsageError(
            f"{run} tested no bias.", hint="Give a run of `recuse discover`, or of `recuse audit --biases`."
        )
    found = sources(run=run, ids=biases, library=library, teacher=table.get("teacher") is not None)
    return Like(run, table, found, pairs is None or _same(pairs, str(table["pairs"])))


def _same(given: str, there: str) -> bool:
    return given == there or (Path(given).exists() and Path(there).exists() and Path(given).samefile(there))


def judged_as(like: Like, given: AuditConfig) -> AuditConfig:
    """The present judge on the pairs of the comparison, with the run's teacher and seed.

    The run's own pairs are read as it read them. Raises UsageError where the user would read them otherwise.
    """
    table = like.table
    config = replace(
        given, seed=like.seed, teacher=like.teacher, biases=(),
        teacher_options=replace(given.options, base_url=table.get("teacher_base_url")),
    )  # fmt: skip
    if not like.own:
        return config
    preset = table.get("preset")
    read: dict[str, Any] = {"preset": preset if preset != "columns" else None, "limit": table.get("limit")}
    if like.discovery:
        read |= {
            "columns": table.get("columns", {}),
            "group": table.get("group"),
            "skip_bad": table.get("skip_bad", False),
        }
    for name in read:
        if getattr(given, name):
            option = {"columns": "--column"}.get(name, f"--{name.replace('_', '-')}")
            raise UsageError(
                f"The pairs are those of {like.run}, and are read as it read them.", hint=f"Leave {option} out."
            )
    blinds = given.blinds or Blinds.from_table(table.get("blinded", {}))
    return replace(config, pairs=str(table["pairs"]), blinds=blinds, **read)


def held_pairs(like: Like, plan: Plan) -> Held:
    """The pairs of `plan` on which the biases were not found: of a discovery's own pairs its test part, of others those
    that are not in its discovery and validation parts.

    Raises InputError where the run's pairs have changed, UsageError where no pair is left.
    """
    every, name = list(plan.pairs), like.run.resolve().name
    if like.own and plan.pairs.hash != like.table["pairs_hash"]:
        raise InputError(
            f"the pairs are not those that {like.run} was made with: changed in content, or read otherwise",
            hint="Restore the file, give --column and --group as then, or give other --pairs.",
        )
    if like.discovery and like.own:
        column = like.table.get("split_column")
        parts = (
            from_column(every, column) if column else split(every, seed=like.seed, fractions=like.table["fractions"])
        )
        return Held(parts.test, f"the test part of {name}")
    if like.discovery:
        found = parts_of(like.run)
        looked = [*found.discovery, *found.validation]
        kept, _ = left_out(every, [apart_of(name, "discovery and validation parts", looked)])
        if not kept:
            raise UsageError(f"All pairs lie in the parts of {like.run} in which the biases were found.",
                             hint="Leave --pairs out: its test part is taken.")  # fmt: skip
        gone = len(every) - len(kept)
        return Held(tuple(kept), f"pairs that {name} has not searched" + (f" ({gone:,} left out)" if gone else ""))
    if like.own:
        return Held(tuple(every), f"the pairs of {name}", seen=True)
    kept, _ = left_out(every, [held_out(like.run)])
    met = len(every) - len(kept)
    what = f"{met:,} of them are near or in {name}" if met else f"none of them in {name}"
    return Held(tuple(every), f"other pairs, {what}", seen=bool(met))
