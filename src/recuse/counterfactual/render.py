"""A plan becomes texts, and the proof that they differ in their slots and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from recuse.counterfactual.plan import CounterfactualPlan
from recuse.counterfactual.slots import Slot, emptied, fill, key_of, skeleton
from recuse.errors import InputError


@dataclass(frozen=True, slots=True)
class Rendered:
    """One template with the signals of one group. `name` is "" where the template shows none."""

    template: str
    group: str
    name: str
    text: str
    slots: tuple[Slot, ...]


def render(plan: CounterfactualPlan) -> tuple[Rendered, ...]:
    """Every template for every group and every name of it: template by template, group by group, name by name."""
    made = []
    for template in plan.templates:
        for key, group in plan.groups.items():
            for name in group.names if template.named else ("",):
                text, slots = fill(template.text, group.values(name))
                made.append(Rendered(template.id, key, name, text, slots))
    prove(made, plan)
    return tuple(made)


def prove(texts: Iterable[Rendered], plan: CounterfactualPlan) -> None:
    """Raise InputError naming the template unless each text is byte for byte its template outside the slots, and has
    in each slot what its group puts there."""
    frames = {template.id: skeleton(template.text) for template in plan.templates}
    for one in texts:
        if emptied(one.text, one.slots) != frames.get(one.template):
            raise InputError(
                f"the template {one.template!r} for {one.name or one.group!r} differs outside its slots",
                hint="Render it from the plan again.",
            )
        values = plan.groups[one.group].values(one.name)
        for slot in one.slots:
            shown, due = one.text[slot.start : slot.end], values[key_of(slot.slot)]
            if shown != due and shown != due[:1].upper() + due[1:]:
                raise InputError(
                    f"the template {one.template!r} for {one.name or one.group!r} has a foreign value in "
                    f"{{{{{slot.slot}}}}}",
                    hint="Render it from the plan again.",
                )
