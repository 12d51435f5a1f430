"""A plan is read or refused with one sentence, and its texts differ in their slots and nowhere else."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recuse.counterfactual import plan as plans
from recuse.counterfactual.plan import load_plan, read_plan
from recuse.counterfactual.render import prove, render
from recuse.errors import InputError

MEN = ["Jakob Brenner", "Emil Sorge", "Anton Weiss", "Paul Adler"]
WOMEN = ["Klara Brenner", "Ida Sorge", "Lena Weiss", "Marta Adler"]
XE = {"they": "xe", "them": "xem", "their": "xyr", "theirs": "xyrs", "themself": "xemself"}
OUTPUT = {"id": "sum", "question": "What is 17 + 25?", "own": "42", "other": "41", "better": "own"}
PLAN = {
    "schema": 1,
    "question": "How good is this note?",
    "groups": {
        "men": {"names": MEN, "pronouns": "he", "words": {"club": "the men's club"}},
        "women": {"names": WOMEN, "pronouns": "she", "words": {"club": "the women's club"}},
    },
    "templates": [
        {"id": "bakery", "text": "{{name}} runs a bakery. {{Their}} sister knows {{ them }}: {{first_name}}."},
        {"id": "club", "text": "{{They}} belongs to {{club}}, as {{they}} told us {{themself}}."},
    ],
}


def changed(*path: object, to: object) -> dict[str, object]:
    """The plan with one value replaced, or removed where `to` is None."""
    plan = copy.deepcopy(PLAN)
    place = plan
    for key in path[:-1]:
        place = place[key]
    if to is None:
        del place[path[-1]]
    elif isinstance(place, list) and path[-1] == len(place):
        place.append(to)
    else:
        place[path[-1]] = to
    return plan


def test_texts_are_filled_as_a_person_would_fill_them():
    found = {(r.template, r.group, r.name): r.text for r in render(read_plan(PLAN))}
    assert len(found) == 8 + 2  # four names a group, and one text a group where no name is shown
    assert found["bakery", "men", "Emil Sorge"] == "Emil Sorge runs a bakery. His sister knows him: Emil."
    assert found["bakery", "women", "Ida Sorge"] == "Ida Sorge runs a bakery. Her sister knows her: Ida."
    assert found["club", "women", ""] == "She belongs to the women's club, as she told us herself."


def test_the_example_in_the_docstring_is_a_plan(tmp_path: Path):
    example = plans.__doc__.partition("\n\n")[2]
    path = tmp_path / "plan.toml"
    path.write_text("\n".join(line.removeprefix("    ") for line in example.splitlines()), encoding="utf-8")
    plan = load_plan(path)
    assert [t.id for t in plan.templates] == ["bakery"]
    assert plan.authors is not None
    assert render(plan)[0].text.startswith("Jakob Brenner runs a bakery. He asked for")


def test_pronouns_of_ones_own_are_used_in_every_case():
    plan = read_plan(changed("groups", "women", "pronouns", to=XE))
    assert [r.text for r in render(plan) if r.group == "women"][-1].startswith("Xe belongs")


def test_outside_the_slots_no_byte_differs():
    plan = read_plan(PLAN)
    by_template: dict[str, set[tuple[str, ...]]] = {}
    for one in render(plan):
        kept, at = [], 0
        for slot in one.slots:
            kept.append(one.text[at : slot.start])
            at = slot.end
        by_template.setdefault(one.template, set()).add((*kept, one.text[at:]))
    assert {len(frames) for frames in by_template.values()} == {1}


@pytest.mark.parametrize("extra", [" ", ".", "\u200b"])
def test_one_character_more_in_one_text_is_found_and_the_template_named(extra: str):
    plan = read_plan(PLAN)
    texts = list(render(plan))
    texts[5] = replace(texts[5], text=texts[5].text + extra)
    with pytest.raises(InputError, match=r"'bakery' for 'Ida Sorge' differs outside its slots"):
        prove(texts, plan)


def test_a_name_of_another_group_in_a_slot_is_found():
    plan = read_plan(PLAN)
    texts = list(render(plan))
    wrong = replace(texts[0], group="women", name=WOMEN[0])
    with pytest.raises(InputError, match="foreign value in "):
        prove([wrong], plan)


names = st.text(st.characters(categories=["L", "M"]), min_size=1, max_size=12).filter(str.strip)


@given(st.lists(names, min_size=8, max_size=8, unique_by=str.casefold), st.text(max_size=40))
@settings(max_examples=60, deadline=None)
def test_no_name_and_no_wording_can_open_a_slot_or_break_the_proof(found: list[str], words: str):
    text = words.replace("{", "(").replace("}", ")")
    plan = copy.deepcopy(PLAN)
    plan["templates"] = [{"id": "t", "text": "{{name}}" + text + "{{name}}"}]
    for group, part in (("men", found[:4]), ("women", found[4:])):
        plan["groups"][group] = {"names": [f"{{{{they}}}} {name}" for name in part]}
    texts = render(read_plan(plan))
    assert [r.text for r in texts] == [f"{r.name}{text}{r.name}" for r in texts]


@pytest.mark.parametrize(
    ("path", "to", "said"),
    [
        (("groups", "men", "names", 1), " ", "an empty name"),
        (("groups", "men", "names", 1), "Hers", "'Hers' is also a pronoun"),
        (("groups", "men", "names", 1), "ida  sorge", "stands in the group 'men' too"),
        (("groups", "men", "names", 1), "Paul Adler", "stands twice in the group 'men'"),
        (("groups", "men", "names", 1), "Paul\nAdler", "line break"),
        (("groups", "men", "names"), MEN[:3], "has 3 names.*at least 4"),
        (("groups", "men", "words", "name"), "x", "'name' is a slot of its own"),
        (("groups", "men", "words", "Club"), "x", "'Club' cannot be a slot"),
        (("groups", "men", "words", "club"), "the women's club", None),
        (("groups", "men", "words"), None, "'men' has nothing for {{club}}"),
        (("groups", "women"), None, "1 groups"),
        (("templates",), [], "nothing to test"),
        (("templates", 2), {"id": "club", "text": "{{name}}"}, "the id 'club' stands in number 2 too"),
        (("templates", 2), {"id": "c", "text": PLAN["templates"][1]["text"]}, "the text .* stands in number 2 too"),
        (("templates", 0, "text"), "A bakery.", "no slot"),
        (("templates", 0, "text"), "{{name} runs", "belongs to no slot"),
        (("templates", 0, "text"), "{{surname}} runs", "has nothing for {{surname}}.*Its slots are"),
        (("templates", 0, "weight"), 2, "templates.0.weight.*unknown key"),
        (("speed",), 2, "unknown key"),
        (("schema",), 2, "schema"),
        (("groups", "men", "pronouns"), "it", "groups.men.pronouns"),
        (("groups", "men", "pronouns"), "xe", "pronouns': 'xe' is none of he, she, they; write a table"),
        (("groups", "men", "pronouns"), {"they": "xe", "them": "xem"}, "pronouns': the table has no their, no th"),
        (("groups", "men", "pronouns"), {**XE, "he": "x"}, "pronouns': the table has an unknown 'he'"),
        (("groups", "men", "pronouns"), 3, "groups.men.pronouns"),
        (("outputs",), [{**OUTPUT, "other": " 42"}], "outputs.0.other': both outputs are the same text"),
        (("outputs",), [{**OUTPUT, "other": "42", "better": "tie"}], None),
        (("lineups",), [{"id": "l", "question": "q", "answers": ["a", "b", "a "]}], "answers': an answer stands"),
        (("tolerance",), {"score": 0}, "tolerance.score"),
        (("question",), "How good is {{name}}?", "the question has a slot"),
    ],
)  # fmt: skip
def test_a_bad_plan_is_refused_with_the_place_and_the_remedy(path, to, said):
    plan = changed(*path, to=to)
    if said is None:
        read_plan(plan)
        return
    with pytest.raises(InputError, match=said) as error:
        read_plan(plan, "p.toml")
    assert str(error.value).startswith("p.toml")
    assert error.value.hint


def test_groups_that_a_template_does_not_tell_apart_are_refused():
    plan = changed("groups", "women", "pronouns", to="he")
    plan["groups"]["women"]["words"] = {"club": "the men's club"}
    with pytest.raises(InputError, match="'men' and 'women' give the same text"):
        read_plan(plan)


def test_files_that_are_no_plan_are_refused(tmp_path: Path):
    path = tmp_path / "plan.toml"
    for content, said in ((b"\x00\xff", "not UTF-8"), (b"schema = ", "not TOML")):
        path.write_bytes(content)
        with pytest.raises(InputError, match=said):
            load_plan(path)
    with pytest.raises(InputError, match="cannot be read"):
        load_plan(tmp_path)


def test_the_hash_follows_what_is_said_and_not_how():
    first = read_plan(PLAN)
    assert first.hash == read_plan(copy.deepcopy(PLAN)).hash
    assert first.hash != read_plan(changed("question", to="How bad is this note?")).hash
