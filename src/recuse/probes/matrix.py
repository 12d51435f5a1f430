"""What a plan shows: every template, for every combination of attributes that is kept, for every name of every group.

A combination is kept for all groups or for none, so that groups are always compared within one template and one
combination; what is sampled are the combinations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from recuse import assets
from recuse.counterfactual.plan import Group
from recuse.counterfactual.render import Rendered, prove
from recuse.counterfactual.slots import emptied, fill, skeleton
from recuse.errors import InputError
from recuse.probes.plan import BASE, ProbePlan, ProbeTemplate
from recuse.prompts import canonical

Cell = Mapping[str, str]  # attribute -> level


@dataclass(frozen=True, slots=True)
class Shown:
    """One text as a person of that name would send it."""

    template: ProbeTemplate
    group: str
    name: str  # "" where the template shows none
    text: str  # with the question, where there is one
    levels: Cell = field(default_factory=dict)


def shown(plan: ProbePlan, templates: Sequence[ProbeTemplate] | None = None) -> tuple[Shown, ...]:
    """All texts of a plan, or of some of its templates, in the plan's order; those of the base profile come first.

    Raises InputError naming the template whose texts differ anywhere outside their slots.
    """
    made = []
    for template in plan.templates if templates is None else templates:
        for cell in cells(plan, template):
            made += _variant(plan, template, cell)
    return tuple(made)


def cells(plan: ProbePlan, template: ProbeTemplate) -> list[Cell]:
    """The combinations of levels that a template is shown with, in the plan's order: [{}] without attributes.

    Sampled ones are drawn by a hash of seed, template and combination, so that a template's own do not depend on which
    others there are. Raises InputError where more combinations have priority than there is room for.
    """
    used = plan.used(template)
    every: list[Cell] = [
        dict(zip(used, levels, strict=True)) for levels in product(*(plan.attributes[k] for k in used))
    ]
    room = plan.matrix.cells
    if room is None or len(every) <= room:
        return every
    first = [cell for cell in every if any(_matches(cell, one) for one in plan.matrix.priority)]
    if len(first) > room:
        raise InputError(
            f"{len(first)} combinations of the template {template.id!r} have priority and cells is {room}",
            field="matrix.cells", hint="Give more cells, or name fewer.",
        )  # fmt: skip
    others = sorted(
        (cell for cell in every if cell not in first),
        key=lambda cell: assets.digest(canonical([plan.matrix.seed, template.id, cell]).encode()),
    )
    kept = [*first, *others[: room - len(first)]]
    return [cell for cell in every if cell in kept]


def subset(templates: Sequence[ProbeTemplate], size: int) -> list[ProbeTemplate]:
    """`size` of the templates, in proportion to the strata and at least one of each that there is room for.

    Within a stratum the ids' hashes decide, so that a template leaves only when a new one takes its place. Strata share
    the seats by Adams' divisor method, by which a stratum that grows never loses one.
    """
    ranked: dict[str, list[ProbeTemplate]] = {}
    for one in sorted(templates, key=lambda one: assets.digest(one.id.encode())):
        ranked.setdefault(one.stratum or "", []).append(one)
    order = sorted(
        (rank / len(stratum), key, rank, one.id) for key, stratum in ranked.items() for rank, one in enumerate(stratum)
    )
    kept = {id for *_, id in order[:size]}
    return [one for one in templates if one.id in kept]


def _matches(cell: Cell, wanted: Cell) -> bool:
    """Attributes that the template does not show are no obstacle, as long as it shows one of those wanted."""
    both = cell.keys() & wanted.keys()
    return bool(both) and all(cell[key] == wanted[key] for key in both)


def _variant(plan: ProbePlan, template: ProbeTemplate, cell: Cell) -> list[Shown]:
    """One template with one combination, for everybody."""
    text, slots = fill(template.text, {key: plan.attributes[key][level] for key, level in cell.items()}, partly=True)
    label = ", ".join(f"{key}={level}" for key, level in cell.items())
    if emptied(text, slots) != skeleton(template.text):
        raise InputError(f"the template {template.id!r} with {label} differs outside its slots", hint="Correct it.")
    frame = template.model_copy(update={"id": f"{template.id} ({label})" if label else template.id, "text": text})
    people: dict[str, Group] = {**({BASE: plan.base} if plan.base else {}), **plan.groups}
    made = []
    for key, group in people.items():
        for name in group.names if frame.named else ("",):
            filled, places = fill(text, group.values(name))
            made.append(Rendered(frame.id, key, name, filled, places))
    prove(made, plan.model_copy(update={"templates": [frame], "groups": people}))
    question = plan.question_of(template)
    tail = f"\n\n{question}" if question else ""
    return [Shown(template, one.group, one.name, one.text + tail, cell) for one in made]
