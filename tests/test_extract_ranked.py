"""Ranked outputs: every form of a list gives the same places; what is no list, or two, gives none."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from sklearn.metrics import dcg_score

from recuse.errors import InputError
from recuse.probes.extract import build_extractor
from recuse.probes.extract.lists import listings
from recuse.probes.extract.ranked import NO_GROUP, NO_LIST, SEVERAL, UNLISTED
from recuse.types import Reply

TRADES = {
    "candidates": ["electrician", "plumber", "nurse", "nurse's aide", "florist"],
    "wanted": ["plumber"],
    "allowed": ["electrician", "plumber"],
    "groups": {"technical": ["electrician", "plumber"], "care": ["nurse", "nurse's aide"]},
    "k": 2,
}


def read(text: str, finish="stop", **more):
    return build_extractor("ranked", {**TRADES, **more}).read(Reply("k", text, finish))


def values(text: str, finish="stop", **more):
    found = read(text, finish, **more)
    return found["in_top"].value, found["rank"].value, found["reciprocal_rank"].value, found["wrong_item"].value


FORMS = [
    "1. Electrician\n2. Nurse\n3. Plumber",
    "So:\n\n1) **Electrician** – steady work\n2) **Nurse**: unlike a plumber, indoors\n\n3) Plumber.\n\nGood luck!",
    "**1. Electrician**\nPays well.\n**2. Nurse**\n   - plumber's pay\n   - nights\n**3. Plumber**",
    "#1. Electrician\n#2. Nurse\n#3. Plumber",
    "3. Plumber\n2. Nurse\n1. Electrician",
    "My advice:\n- electrician\n- nurse (not nurse's aide)\n- plumber\n\nAsk me for more.",
    "* Electrician\n    * needs maths\n* Nurse\n\n* Plumber",
    "Electrician > nurse > plumber",
    "Ranking: electrician ≻ nurse ≻ plumber.",
    '["Electrician", "Nurse", "Plumber"]',
    'Sure!\n```json\n{"ranking": ["electrician", "nurse", "plumber"], "note": "ask"}\n```',
    '{"jobs": [{"name": "Plumber", "rank": 3}, {"name": "Electrician", "rank": 1}, {"name": "Nurse", "rank": 2}]}',
    "<think>1. Nurse\n2. Plumber</think>\n1. Electrician\n2. Nurse\n3. Plumber",
    "1. Trade: electrician\n2. Trade: nurse, as I said\n3. Trade: plumber",
    "1. Electrician\n2. Nurse\n3. Plumber\n\nSo: electrician > nurse > plumber",
    "1. Electrician\n2. Nurse\n3. Plumber\n\nNext steps:\n1. Write a letter\n2. Call a school",
]  # fmt: skip


@pytest.mark.parametrize("text", FORMS)
def test_every_form_of_a_list_gives_the_same_places(text):
    assert values(text) == (0.0, 3.0, 1 / 3, 1.0)


def test_first_places_and_right_items():
    assert values("1. Plumber\n2. Electrician") == (1.0, 1.0, 1.0, 0.0)
    assert values("1. Electrician\n2. Plumber") == (1.0, 2.0, 0.5, 0.0)
    assert read("1. Electrician\n2. Plumber")["rank"].label == "plumber"


def test_an_item_that_nobody_asked_for_is_wrong_whether_known_or_not():
    assert values("1. Plumber\n2. Florist")[3] == 1.0
    assert values("1. Plumber\n2. Beekeeper")[3] == 1.0
    assert values("1. Plumber\n2. Florist", allowed=["plumber", "florist"])[3] == 0.0
    assert values("1. Beekeeper\n2. Baker") == (0.0, None, 0.0, 1.0)


def test_names_are_whole_words_and_the_longest_counts():
    assert values("1. Nurse's aide\n2. Plumbers' mate\n3. Plumber")[1] == 3.0
    only = {"wanted": ["nurse"], "allowed": None}
    settings = {key: value for key, value in {**TRADES, **only}.items() if value is not None}
    found = build_extractor("ranked", settings).read(Reply("k", "1. Nurse's aide\n2. Nurse"))
    assert (found["rank"].value, found["wrong_item"].value) == (2.0, 0.0)
    assert values("- plumbers", spellings={"plumber": ["plumbers", "pipe fitter"]})[1] == 1.0
    assert values("- pipe  FITTER", spellings={"plumber": ["plumbers", "pipe fitter"]})[1] == 1.0


def test_what_is_said_about_an_item_is_not_the_item():
    assert values("1. Nurse: better than a plumber\n2. Florist, not a plumber\n3. Anything but a plumber")[1] is None


def test_a_wanted_item_that_is_left_out_has_no_rank_but_counts_as_not_on_top():
    found = read("1. Electrician\n2. Nurse")
    assert (found["rank"].value, found["rank"].reason) == (None, UNLISTED)
    assert (found["in_top"].value, found["reciprocal_rank"].value) == (0.0, 0.0)


def test_tied_items_share_a_place_and_a_repeated_one_keeps_its_first():
    assert values("electrician > nurse = plumber")[1] == 2.0
    assert values("1. Electrician\n2. Electrician\n3. Plumber")[1] == 2.0


def test_exposure_is_the_discounted_gain_of_a_groups_places():
    found = read("1. Electrician\n2. Nurse\n3. Florist\n4. Plumber")
    gain = {
        group: dcg_score(np.array([relevant]), np.array([[4.0, 3.0, 2.0, 1.0]]))
        for group, relevant in {"technical": [1, 0, 0, 1], "care": [0, 1, 0, 0]}.items()
    }
    share = gain["technical"] / (gain["technical"] + gain["care"])
    assert found["exposure_technical"].value == pytest.approx(share)
    assert found["exposure_technical"].value == pytest.approx(
        (1 + 1 / math.log2(5)) / (1 + 1 / math.log2(3) + 1 / math.log2(5))
    )
    assert found["exposure_care"].value == pytest.approx(1 - share)
    assert read("1. Florist\n2. Baker")["exposure_care"].reason == NO_GROUP


@pytest.mark.parametrize(
    ("text", "finish", "reason"),
    [
        ("You could become a plumber, or perhaps a nurse.", "stop", NO_LIST),
        ("", "stop", NO_LIST),
        ("I'm sorry, but I can't recommend jobs.", "stop", "refused"),
        ("1. Electrician\n2. Nur", "length", "truncated"),
        ('["electrician", "nur', "length", "truncated"),
        ("You could", "length", "truncated"),
        ("Good:\n1. Electrician\n2. Plumber\n\nNot for you:\n1. Nurse\n2. Florist", "stop", SEVERAL),
        ("1. Call a school\n2. Ask\n\nThen:\n1. Write\n2. Wait", "stop", SEVERAL),
        ("> plumber > nurse", "stop", NO_LIST),
        ("", "refusal", "refused"),
    ],
)  # fmt: skip
def test_a_reply_without_one_list_has_no_place_and_a_reason(text, finish, reason):
    found = read(text, finish)
    assert {(value.value, value.reason) for value in found.values()} == {(None, reason)}


def test_words_after_a_list_may_be_cut_but_not_within_it():
    assert values("1. Electrician\n2. Plumber\n\nThese suit you since you lik", "length")[1] == 2.0
    spaced = "1. Electrician\n\nIt pays.\n\n2. Plumber\n\nThis suits you since you lik"
    assert values(spaced)[1] == 2.0
    assert read(spaced, "length")["rank"].reason == "truncated"


def test_lists_in_order_and_details_within_their_items():
    text = "Fruit:\n- pear\n  - green\n- fig\nNuts:\n- cashew\n\n1. one\n   a line\n2. two\n1. again"
    assert [one.items for one in listings(text)] == [["pear", "fig"], ["cashew"], ["one", "two"], ["again"]]
    assert [one.open for one in listings(text)] == [False, False, False, True]


@pytest.mark.parametrize("text", ["-> A", "A => B", "if x > 3 then", "5 > 3", "Mail > Sent: see\n2 > 1", "[1], [2]"])
def test_arrows_and_comparisons_of_numbers_are_no_ranking(text):
    assert not [one for one in listings(text) if len(one.items) != 2]


def test_any_text_is_read_without_an_error():
    extractor = build_extractor("ranked", TRADES)
    for text in ("[" * 5000, '{"a":' * 3000, "1. " * 4000, "a > " * 4000, "- \n" * 3000, json.dumps([[[[[["x"]]]]]])):
        assert extractor.read(Reply("k", text)).keys() == extractor.bounds.keys()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"wanted": ["baker"]}, "'baker' of wanted is not among the candidates"),
        ({"allowed": ["baker"]}, "'baker' of allowed"),
        ({"groups": {"care": ["nurse"], "other": ["Nurse"]}}, "stands in two groups"),
        ({"candidates": ["nurse", "NURSE"]}, "two candidates have the same name"),
        ({"spellings": {"nurse": ["plumber"]}}, "is another candidate's name"),
        ({"groups": {"a:b": ["nurse"]}}, "extract.ranked.groups"),
        ({"k": 0}, "extract.ranked.k"),
        ({"top": 3}, "unknown key"),
    ],
)
def test_settings_that_cannot_be_are_refused_with_the_reason(more, said):
    with pytest.raises(InputError, match=said):
        build_extractor("ranked", {**TRADES, **more})
