"""A judge model's grades of the replies: two more metrics of a run, over a ledger of their own.

Grades are no part of what the product was asked: another judge or rubric costs calls to the judge and none to the
product.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from recuse.backends import Capabilities, Options, settled
from recuse.errors import UsageError
from recuse.judge import estimate_tokens
from recuse.lab.engines import Engines, Model
from recuse.prices import Price
from recuse.probes.extract.base import Value
from recuse.probes.plan import BASE, ProbePlan
from recuse.probes.reading import Row
from recuse.probes.rubric import PAIRED, PREFERRED, SCORE, RubricJudge, RubricSettings, Shown, paired_rows
from recuse.types import Ask, Finding

_ROOM = 2048  # tokens: a judge behind an API may reason before it answers, and is cut without room for it


@dataclass(frozen=True)
class Graded:
    """What grading found beside the grades: whether the judge prefers a place, and what follows from that."""

    position: Finding | None = None
    suspect: str | None = None
    notes: tuple[str, ...] = ()

    def mark(self, findings: Sequence[Finding]) -> tuple[Finding, ...]:
        """The findings with the test of the place among them; those of pairs are marked where the place decides."""
        marked = [
            replace(one, details={**one.details, "suspect": self.suspect})
            if self.suspect and one.id.split(":")[1] in (PAIRED, PREFERRED)
            else one
            for one in findings
        ]
        return (*marked, self.position) if self.position else (*marked,)


@dataclass(frozen=True)
class Grading:
    """The judge of a plan's [rubric] and how it is asked; `model` is not open."""

    model: Model
    settings: RubricSettings
    bounds: Mapping[str, tuple[float, float]]

    @classmethod
    def of(cls, plan: ProbePlan, price: Price | None, *, batched: bool = False) -> Grading | None:
        """None for a plan without [rubric]. Raises UsageError for a prompt that gives no scores."""
        if plan.rubric is None:
            return None
        told = plan.rubric.model_dump(exclude={"judge", "base_url"})
        settings = RubricSettings.model_validate(told)
        bounds = RubricJudge(settings, Capabilities()).bounds
        options = Options(base_url=plan.rubric.base_url, batch=batched)
        return cls(Model(*settled(plan.rubric.judge, options), price), settings, bounds)

    def grade(self, rows: Sequence[Row], plan: ProbePlan, engines: Engines) -> Graded:
        """Add grades to the rows, those of the base profile excepted: `rubric` alone, and for the first pair of groups
        `rubric_pair` and `rubric_preferred` in pairs.

        Raises what asking the judge raises.
        """
        backend = engines.backend("judge")
        if not backend.capabilities.explains:
            raise UsageError(f"{self.model.name} writes no text.", hint="Name a judge in [rubric] that does.")
        can = backend.capabilities
        room = 0 if can.local or self.model.options.base_url is not None else _ROOM
        judge = RubricJudge(self.settings, can, room=room)
        (a, b), *others = plan.pairs
        graded = [row for row in rows if row["group"] != BASE]
        for row in rows:
            _put(row, SCORE, Value(None, reason="the base profile is not graded"))
            for metric in (PAIRED, PREFERRED):
                _put(row, metric, Value(None, reason=f"not one of a pair of {a} and {b}"))

        def send(phase: str) -> Any:
            return lambda asks: engines.ask("judge", asks, phase=phase)

        for row, value in zip(graded, judge.score([_shown(row) for row in graded], send("grading")), strict=True):
            _put(row, SCORE, value)
        pairs = [(graded[i], graded[j]) for i, j in paired_rows(graded, a=a, b=b)]
        found = judge.compare(
            [(_shown(one), _shown(two)) for one, two in pairs], send("grading in pairs"), level=plan.probe.level
        )
        for (one, two), first, second, preferred in zip(pairs, found.first, found.second, found.preferred, strict=True):
            _put(one, PAIRED, first)
            _put(two, PAIRED, second)
            _put(one, PREFERRED, preferred)
            _put(two, PREFERRED, _turned(preferred))
        notes = [found.suspect] if found.suspect else []
        if others:
            notes.append(f"Replies were graded in pairs for {a} and {b} alone.")
        return Graded(found.position, found.suspect, tuple(notes))

    def estimate(self, asks: Sequence[Ask], plan: ProbePlan) -> dict[str, Any]:
        """Calls and tokens at most, with every reply as long as it may be."""
        told = [estimate_tokens(ask) for ask in asks]
        (a, b), *_ = plan.pairs
        people = [max(len(plan.groups[key].names), 1) for key in (a, b)]
        share = 2 * min(people) / sum(max(len(group.names), 1) for group in plan.groups.values())
        per_reply = 1 + share  # alone, and in both orders of a pair, which two replies share
        tokens_in = int(sum((1 + 2 * share) * (t + most) + per_reply * 400 for t, most in told))
        calls = int(len(told) * per_reply)
        tokens_out = calls * 256
        cost = self.model.price.of(tokens_in, tokens_out) if self.model.price else None
        return {"calls": calls, "tokens_in": tokens_in, "tokens_out": tokens_out, "cost": cost}


def _shown(row: Row) -> Shown:
    return Shown(row["prompt"], row["reply"], (row["name"],) if row["name"] else ())


def _put(row: Row, metric: str, value: Value) -> None:
    row |= {metric: value.value, f"{metric}_reason": value.reason, f"{metric}_label": value.label}


def _turned(preferred: Value) -> Value:
    return Value(None if preferred.value is None else 1.0 - preferred.value, preferred.label, preferred.reason)
