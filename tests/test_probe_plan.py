"""A probe's plan is read or refused with one sentence, and its hash covers what is asked and nothing else."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from recuse.errors import InputError
from recuse.probes import plan as plans
from recuse.probes.names import audited
from recuse.probes.plan import load_probe_plan, read_probe_plan

MEN = ["Jakob Brenner", "Emil Sorge", "Anton Weiss", "Paul Adler"]
WOMEN = ["Klara Brenner", "Ida Sorge", "Lena Weiss", "Marta Adler"]
PLAN = {
    "schema": 1,
    "system": "You help a bank.",
    "question": "Approve? Answer yes or no.",
    "groups": {"men": {"names": MEN, "pronouns": "he"}, "women": {"names": WOMEN, "pronouns": "she"}},
    "templates": [
        {"id": "bakery", "text": "{{name}}, {{age}}, runs a bakery.", "stratum": "clear", "tags": {"income": "steady"}},
        {"id": "courier", "text": "{{name}} is a courier. {{Their}} income varies.", "stratum": "borderline"},
    ],
    "attributes": {"age": {"young": "24 years old", "old": "61 years old"}},
    "probe": {"draws": 2, "temperature": 1.0},
}


def changed(*path, to):
    """The plan with one value replaced, or removed where `to` is None."""
    plan = copy.deepcopy(PLAN)
    place = plan
    for key in path[:-1]:
        place = place.setdefault(key, {}) if isinstance(place, dict) else place[key]
    if to is None:
        del place[path[-1]]
    elif isinstance(place, list) and path[-1] == len(place):
        place.append(to)
    else:
        place[path[-1]] = to
    return plan


def test_the_example_in_the_docstring_is_a_plan(tmp_path: Path):
    path = tmp_path / "plan.toml"
    example = plans.__doc__.partition("\n\n")[2].rpartition("\n\nThe combinations")[0]
    path.write_text(example, encoding="utf-8")
    plan = load_probe_plan(path)
    assert [t.stratum for t in plan.templates] == ["clear", "borderline"]
    assert plan.pairs == [("women", "men")]
    assert plan.extract["decision"]["positive"] == "yes"


@pytest.mark.parametrize(
    ("path", "to", "said"),
    [
        (("templates", 0, "stratums"), "clear", "templates.0.stratums"),
        (("prob",), {}, "prob"),
        (("probe", "temprature"), 0.5, "field 'probe.temprature': unknown key"),
        (("probe", "temperature"), "warm", "field 'probe.temperature': Input"),
        (("probe", "draws"), 0, "field 'probe.draws': Input"),
        (("templates", 0), {"id": "bakery", "txt": "{{name}}"}, "field 'templates.0.txt': unknown key"),
        (("groups", "men", "names"), MEN[:3], "'men' has 3 names. Give at least 4"),
        (("groups", "men", "names"), MEN[:1], "what one name does poses as what its group does"),
        (("groups", "women", "names", 3), "Emil Sorge", "in the group 'men' too"),
        (("templates", 1, "text"), "No slot at all.", "courier"),
        (("templates", 1, "text"), "{{name}} of {{club}}.", "'men' has nothing for {{club}}"),
        (("templates", 1, "id"), "bakery", "'bakery' stands in number 1 too"),
        (("templates", 1, "text"), "{{name}}, {{ age }}, runs a bakery.", "stands in number 1 too"),
        (("templates", 0, "tags", "group"), "x", "column of its own"),
        (("templates",), [], "nothing to ask"),
        (("attributes", "age", "old"), "24 years old", "two levels have one text"),
        (("attributes", "age"), {"young": "24"}, "1 levels"),
        (("attributes", "faith"), {"a": "x", "b": "y"}, "no template has its slot"),
        (("attributes", "name"), {"a": "x", "b": "y"}, "a slot of its own"),
        (("attributes", "age", "old"), "{{age}} and more", "the slot {{age}}"),
        (("matrix",), {"mode": "sampled"}, "cells go with"),
        (("matrix",), {"mode": "sampled", "cells": 1, "priority": [{"faith": "none"}]}, "no attribute 'faith'"),
        (("matrix",), {"mode": "sampled", "cells": 1, "priority": [{"age": "ancient"}]}, "no level 'ancient'"),
        (("probe", "compare"), [["men", "elves"]], "no group 'elves'"),
        (("probe", "compare"), [["men", "men"]], "compared with itself"),
        (("base",), {"names": ["one", "two"]}, "2 names"),
        (("base",), {"names": ["the applicant"]}, "nothing for {{Their}} of 'courier'"),
        (("groups", "base"), {"names": ["A B", "C D", "E F", "G H"], "pronouns": "he"}, "called 'base'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_sentence_that_names_the_place(path, to, said):
    with pytest.raises(InputError) as error:
        read_probe_plan(changed(*path, to=to), "plan.toml")
    assert said in str(error.value)
    assert str(error.value).startswith("plan.toml")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("path", "to"),
    [
        (("system",), "You help another bank."),
        (("question",), "Approve?"),
        (("templates", 0, "text"), "{{name}}, {{age}}, runs a forge."),
        (("groups", "men", "names", 0), "Hugo Kern"),
        (("attributes", "age", "old"), "62 years old"),
        (("matrix",), {"mode": "sampled", "cells": 1}),
    ],
)
def test_whatever_changes_a_text_changes_the_frozen_hash(path, to):
    assert read_probe_plan(changed(*path, to=to)).asked_hash != read_probe_plan(PLAN).asked_hash


@pytest.mark.parametrize(
    ("path", "to"),
    [
        (("extract", "length"), {}),
        (("templates", 0, "stratum"), "borderline"),
        (("templates", 0, "tags"), {"income": "varies"}),
        (("probe", "compare"), [["women", "men"]]),
        (("probe", "subset"), 1),
    ],
)
def test_how_replies_are_read_and_compared_leaves_the_frozen_hash(path, to):
    plan = read_probe_plan(changed(*path, to=to))
    assert plan.asked_hash == read_probe_plan(PLAN).asked_hash
    assert plan.hash != read_probe_plan(PLAN).hash


def test_an_added_template_leaves_the_hashes_of_the_others():
    more = read_probe_plan(changed("templates", 2, to={"id": "nurse", "text": "{{name}} nurses.", "batch": "spring"}))
    before = read_probe_plan(PLAN).asked()["templates"]
    assert {key: more.asked()["templates"][key] for key in before} == before
    assert more.asked_hash != read_probe_plan(PLAN).asked_hash


TABLE = """name,group,count,year
jakob,,900,1980
emil,,1000,1982
anton,,1100,1984
paul,,1000,1982
klara,,1000,1981
ida,,900,1983
lena,,1100,1982
marta,,1000,1982
"""


def _audited(tmp_path: Path, table: str, names: list[str] | None = None, **rule):
    (tmp_path / "names.csv").write_text(table, encoding="utf-8")
    content = {**PLAN, "names": {"table": "names.csv", **rule}}
    if names:
        content = {**content, "groups": {**PLAN["groups"], "women": {"names": names, "pronouns": "she"}}}
    return audited(read_probe_plan(content), tmp_path / "plan.toml")


def test_names_of_one_frequency_and_era_are_called_matched(tmp_path: Path):
    _, audit = _audited(tmp_path, TABLE)
    assert audit.matched is True
    assert audit.notes == ()
    assert audit.rows[0] == {"group": "men", "name": "Jakob Brenner", "count": 900.0, "year": 1980.0}


def test_rare_or_old_names_are_told(tmp_path: Path):
    rare = TABLE.replace("klara,,1000", "klara,,10").replace("ida,,900", "ida,,9")
    _, audit = _audited(tmp_path, rare)
    assert audit.matched is False
    # Geometric means by hand: men (900*1000*1100*1000)^(1/4) = 997.5; women (10*9*1100*1000)^(1/4) = 99.75.
    assert audit.notes == (
        "The names of men and women are not matched on frequency: typical counts 997 and 100, 10.0 times apart.",
    )
    _, audit = _audited(tmp_path, TABLE.replace("1981", "1921").replace("1983", "1923"))
    assert audit.notes == ("The names of men and women are not matched on era: typical years 1982 and 1952.",)


def test_counts_of_several_years_are_added_and_their_year_is_weighted(tmp_path: Path):
    _, audit = _audited(tmp_path, TABLE + "jakob,,300,2000\n")
    assert audit.rows[0] == {"group": "men", "name": "Jakob Brenner", "count": 1200.0, "year": 1985.0}


def test_names_are_chosen_that_match(tmp_path: Path):
    names = ["Griselda Brenner", *WOMEN, "Kunigunde Adler"]
    table = TABLE + "griselda,,2,1890\nkunigunde,,1,1880\n"
    plan, audit = _audited(tmp_path, table, names, choose=4)
    assert sorted(plan.groups["women"].names) == sorted(WOMEN)
    assert sorted(plan.groups["men"].names) == sorted(MEN)
    assert audit.matched is True


def test_a_name_of_two_groups_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match="stands in the group 'women' there and in 'men'"):
        _audited(tmp_path, TABLE.replace("emil,,", "emil,women,"))
    with pytest.raises(InputError, match=r"row 10, field 'group': the name 'emil' stands in the group 'men' too"):
        _audited(tmp_path, TABLE.replace("emil,,", "emil,men,") + "emil,women,4,1980\n")


def test_a_name_outside_the_table_is_told_and_nothing_is_called_matched(tmp_path: Path):
    _, audit = _audited(tmp_path, TABLE.replace("ida,", "edda,"))
    assert audit.matched is None
    assert audit.notes == ("Not in the table of names, so not matched: Ida Sorge (women).",)


def test_a_table_with_a_bad_count_names_its_row(tmp_path: Path):
    with pytest.raises(InputError, match=r"names\.csv, row 3, field 'count': 'many' is no count"):
        _audited(tmp_path, TABLE.replace("emil,,1000", "emil,,many"))
