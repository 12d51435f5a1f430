"""What a plan shows: outside the slots every byte alike, every combination for every group, and a stable subset."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest
from test_probe_plan import MEN, PLAN, WOMEN, changed

from recuse.counterfactual import render
from recuse.errors import InputError
from recuse.probes import matrix
from recuse.probes.matrix import cells, shown, subset
from recuse.probes.plan import ProbeTemplate, read_probe_plan

CROSSED = {
    **PLAN,
    "attributes": {
        "age": {"young": "24 years old", "old": "61 years old"},
        "body": {"none": "in good health", "chair": "in a wheelchair since {{their}} birth"},
        "town": {"rich": "from the lake side", "poor": "from the docks", "far": "from the hills"},
    },
    "templates": [
        {"id": "all", "text": "{{name}}, {{age}}, {{ body }}, {{town}}, asks for a loan."},
        {"id": "town", "text": "{{Town}} {{they}} came: {{name}}."},
        {"id": "plain", "text": "{{name}} asks for a van."},
    ],
}


def test_every_combination_is_shown_for_every_name_of_every_group():
    texts = shown(read_probe_plan(CROSSED))
    assert Counter(one.template.id for one in texts) == {"all": 2 * 2 * 3 * 8, "town": 3 * 8, "plain": 8}
    of_all = Counter((one.group, *one.levels.values()) for one in texts if one.template.id == "all")
    assert set(of_all.values()) == {4}
    assert {one.name for one in texts} == {*MEN, *WOMEN}


def test_variants_are_filled_as_a_person_would_fill_them():
    texts = {(one.template.id, one.name, *one.levels.values()): one.text for one in shown(read_probe_plan(CROSSED))}
    assert texts["all", "Ida Sorge", "old", "chair", "poor"] == (
        "Ida Sorge, 61 years old, in a wheelchair since her birth, from the docks, asks for a loan.\n\n"
        "Approve? Answer yes or no."
    )
    assert texts["town", "Emil Sorge", "far"].startswith("From the hills he came: Emil Sorge.")


def test_texts_of_one_template_and_combination_differ_in_their_slots_alone():
    by_frame: dict[tuple[str, ...], set[str]] = {}
    for one in shown(read_probe_plan(CROSSED)):
        bare = one.text.replace(one.name, "#")
        for word in (" he ", " she ", " his ", " her "):
            bare = bare.replace(word, " ~ ")
        by_frame.setdefault((one.template.id, *one.levels.values()), set()).add(bare)
    assert {len(texts) for texts in by_frame.values()} == {1}


def test_a_text_that_strays_outside_its_slots_is_an_error_that_names_the_template(monkeypatch: pytest.MonkeyPatch):
    def careless(*values):
        made = render.Rendered(*values)
        return replace(made, text=made.text.replace("asks", "begs")) if "Ida" in made.text else made

    monkeypatch.setattr(matrix, "Rendered", careless)
    with pytest.raises(InputError, match=r"the template 'plain' for 'Ida Sorge' differs outside its slots"):
        shown(read_probe_plan(changed("templates", 0, to={"id": "plain", "text": "{{name}} asks, {{age}}."})),
              [ProbeTemplate(id="plain", text="{{name}} asks for a van.")])  # fmt: skip


def test_sampled_combinations_keep_the_priority_cells_and_do_not_hang_on_other_templates():
    sampling = {"mode": "sampled", "cells": 5, "priority": [{"age": "old", "body": "chair"}], "seed": 3}
    plan = read_probe_plan({**CROSSED, "matrix": sampling})
    kept = cells(plan, plan.templates[0])
    assert len(kept) == 5
    first = [cell for cell in kept if cell["age"] == "old" and cell["body"] == "chair"]
    assert [cell["town"] for cell in first] == ["rich", "poor", "far"]
    alone = read_probe_plan({**CROSSED, "matrix": sampling, "templates": CROSSED["templates"][:1]})
    assert cells(alone, alone.templates[0]) == kept
    other = read_probe_plan({**CROSSED, "matrix": {**sampling, "seed": 4}})
    assert cells(other, other.templates[0]) != kept
    texts = Counter(
        (tuple(one.levels.items()), one.group) for one in shown(plan) if one.template.id == "all"
    )  # whatever is kept is kept for both groups
    assert set(texts.values()) == {4}
    assert len(texts) == 10


def test_more_priority_than_room_is_refused():
    sampling = {"mode": "sampled", "cells": 2, "priority": [{"age": "old"}]}
    plan = read_probe_plan({**CROSSED, "matrix": sampling})
    with pytest.raises(InputError, match="6 combinations of the template 'all' have priority and cells is 2"):
        shown(plan)


def test_the_base_profile_is_shown_once_for_each_combination():
    base = {"names": ["the applicant"], "pronouns": "they"}
    texts = [one for one in shown(read_probe_plan({**CROSSED, "base": base})) if one.group == "base"]
    assert Counter(one.template.id for one in texts) == {"all": 12, "town": 3, "plain": 1}
    assert texts[0].text.startswith("the applicant, 24 years old, in good health,")


def _templates(**sizes: int) -> list[ProbeTemplate]:
    return [
        ProbeTemplate(id=f"{stratum}{i}", text="{{name}} asks.", stratum=stratum)
        for stratum, size in sizes.items()
        for i in range(size)
    ]


def test_a_subset_is_stratified():
    found = Counter(one.stratum for one in subset(_templates(clear=80, borderline=40), 30))
    assert found == {"clear": 20, "borderline": 10}
    assert Counter(one.stratum for one in subset(_templates(clear=98, rare=2), 5))["rare"] >= 1
    assert len(subset(_templates(clear=8), 30)) == 8


@pytest.mark.parametrize("seed", range(5))
def test_a_subset_is_stable_under_added_templates_whatever_their_place(seed):
    old = _templates(clear=80, borderline=40)
    new = [ProbeTemplate(id=f"new{i}", text="{{name}} asks.", stratum="clear") for i in range(12)]
    mixed = random.Random(seed).sample([*old, *new], len(old) + len(new))
    before, after = {one.id for one in subset(old, 30)}, {one.id for one in subset(mixed, 30)}
    assert len(after) == 30
    # Expected: 12 of 132 templates are new, so about 30 * 12 / 132 = 2.7 of the 30 seats change hands.
    assert len(before - after) <= 6
    entered = {id for id in after - before if not id.startswith("new")}
    assert len(entered) <= 1  # the seat that the grown stratum gains


def test_the_order_of_the_templates_decides_nothing():
    every = _templates(clear=30, borderline=20)
    assert {one.id for one in subset(every, 12)} == {one.id for one in subset(every[::-1], 12)}
