"""Replies become rows: the raw prompt, the raw reply, and what the plan's extractors read in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recuse.errors import InputError
from recuse.judge import Answered
from recuse.probes.extract.base import Extractor, Value, build_extractor
from recuse.probes.matrix import Shown
from recuse.probes.plan import BASE, COLUMNS, ProbePlan
from recuse.types import Ask, Reply

Row = dict[str, Any]
Asks = Callable[[Shown], Sequence[Ask]]


@dataclass(frozen=True)
class Reading:
    """How replies are read. `bounds` has every metric with its range."""

    extractors: Mapping[str, Extractor]
    bounds: Mapping[str, tuple[float, float]]

    @classmethod
    def of(
        cls, plan: ProbePlan, path: object = "plan", *, more: Mapping[str, tuple[float, float]] | None = None
    ) -> Reading:
        """The plan's extractors, and `more` metrics that are not read from single replies.

        Raises InputError for settings that an extractor does not take, and for a metric of two.
        """
        if not (plan.extract or more):
            raise InputError(
                "the plan does not say how replies are read", path=path, field="extract",
                hint="Add a table such as [extract.decision].",
            )  # fmt: skip
        made, bounds, of = dict[str, Extractor](), dict[str, tuple[float, float]](), dict[str, str]()
        taken = {*COLUMNS, *plan.attributes, *(tag for one in plan.templates for tag in one.tags)}
        for name, settings in plan.extract.items():
            made[name] = build_extractor(name, settings, path=path)
            for metric, ends in made[name].bounds.items():
                if metric in taken or metric in of:
                    whose = f"of [extract.{of[metric]}] too" if metric in of else "a column of the records"
                    raise InputError(
                        f"the metric {metric!r} is {whose}", path=path, field=f"extract.{name}",
                        hint="Leave one of them out, or rename the column.",
                    )  # fmt: skip
                bounds[metric], of[metric] = ends, name
        for metric in more or {}:
            if metric in taken or metric in of:
                raise InputError(
                    f"the metric {metric!r} has the name of another column", path=path, field="rubric",
                    hint="Rename that one.",
                )  # fmt: skip
        bounds |= more or {}
        for metric in plan.probe.metrics:
            if metric not in bounds:
                raise InputError(
                    f"no extractor gives {metric!r}", path=path, field="probe.metrics",
                    hint=f"They give: {', '.join(bounds)}.",
                )  # fmt: skip
        return cls(made, bounds)

    def read(self, reply: Reply, base: Reply | None) -> dict[str, Value]:
        return {
            metric: value
            for extractor in self.extractors.values()
            for metric, value in extractor.read(reply, base=base).items()
        }


def rows_of(texts: Sequence[Shown], asks: Asks, answered: Sequence[Answered], reading: Reading) -> list[Row]:
    """One row a text and draw, in the plan's order, the rows of the base profile among them."""
    found = {(one.ask.pair, one.ask.repeat): one for one in answered}
    base: dict[tuple[object, ...], Reply] = {}
    further = dict.fromkeys(key for one in texts for key in (*one.template.tags, *one.levels))
    numbers: dict[tuple[str, str, str], int] = {}  # a seed counts a name's rows in a template, over combinations too
    rows = []
    for one in texts:
        place, person = (one.template.id, *one.levels.items()), (one.template.id, one.group, one.name)
        for ask in asks(one):
            said = found[ask.pair, ask.repeat]
            if one.group == BASE:
                base[*place, ask.repeat] = said.reply
            values = reading.read(said.reply, base.get((*place, ask.repeat)))
            seed = numbers[person] = numbers.get(person, -1) + 1
            rows.append({**_about(one, seed, said, further), **dict(_values(values))})
    return rows


def _about(one: Shown, seed: int, said: Answered, further: Mapping[str, None]) -> Row:
    template, reply = one.template, said.reply
    return {
        "template_id": template.id, "group": one.group, "name": one.name, "seed": seed,
        "stratum": template.stratum, "batch": template.batch, **further, **template.tags, **one.levels,
        "prompt": one.text, "reply": reply.text, "finish": reply.finish, "fresh": said.fresh,
        "logprobs": json.dumps(reply.logprobs) if reply.logprobs else None,
    }  # fmt: skip


def _values(values: Mapping[str, Value]) -> Iterator[tuple[str, Any]]:
    for metric, value in values.items():
        yield metric, value.value
        yield f"{metric}_reason", value.reason
        yield f"{metric}_label", value.label
