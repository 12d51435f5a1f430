"""BBQ from the benchmark's own files: who the target is, and how recorded answers are joined to items."""

from __future__ import annotations

import pytest
from bbq_world import four, item, lines, metadata

from recuse.errors import InputError
from recuse.probes.bbq_files import place_of, read_answers, read_items


def test_the_target_is_the_answer_of_a_stereotyped_group_and_the_old_is_not_found_inside_the_nonold(tmp_path):
    found = read_items([lines(tmp_path / "Age.jsonl", four())])
    assert [one.target for one in found.all] == [0, 0, 0, 0]
    assert [one.says(1) for one in found.all] == ["non-target"] * 4


@pytest.mark.parametrize(
    "places", [[0, 0, 0, 0], [0, 0, 1, 1]], ids=["the stereotyped person", "the biased answer, as published"]
)
def test_both_meanings_of_target_loc_lead_to_the_same_target(tmp_path, places):
    untold = lines(tmp_path / "Age.jsonl", four(additional_metadata={"stereotyped_groups": ["somebody"]}))
    found = read_items([untold], metadata=metadata(tmp_path / "meta.csv", places))
    assert [one.target for one in found.all] == [0, 0, 0, 0]


def test_metadata_that_speak_for_both_meanings_are_refused(tmp_path):
    untold = lines(tmp_path / "Age.jsonl", four())
    with pytest.raises(InputError, match="stereotyped person or the biased answer"):
        read_items([untold], metadata=metadata(tmp_path / "meta.csv", [0, 0, 0, 1]))


def test_items_without_a_target_are_counted_and_in_no_score(tmp_path):
    made = [*four(), item(9, "neg", "ambig", additional_metadata={"stereotyped_groups": []})]
    items = read_items([lines(tmp_path / "Age.jsonl", made)])
    answers = lines(tmp_path / "answers.jsonl", [{"example_id": i, "answer": "Ann"} for i in (0, 1, 2, 3, 9)])
    found, notes = read_answers([answers], items)
    assert len(found) == 4
    assert notes[0].startswith("1 of 5 items are left out")


def test_an_answer_is_a_text_a_place_or_a_letter_and_anything_else_is_none(tmp_path):
    (one, *_) = read_items([lines(tmp_path / "Age.jsonl", four())]).all
    for text, place in {"ann": 0, "Bea.": 1, " NOT  known ": 2, "0": 0, "ans1": 1, "(c)": 2, "B": 1}.items():
        assert place_of(text, one).place == place
    for text in ("An", "Ann or Bea", "3", "I cannot say", ""):
        assert place_of(text, one).place is None


def test_recorded_answers_are_joined_by_item_and_missing_ones_are_unread(tmp_path):
    items = read_items([lines(tmp_path / "Age.jsonl", four())])
    given = [{"example_id": 3, "pred": "Bea"}, {"example_id": 0, "pred": "Ann"}, {"example_id": 77, "pred": "Ann"}]
    found, notes = read_answers([lines(tmp_path / "a.jsonl", given)], items)
    assert [row.answer for row in found] == ["target", None, None, "non-target"]
    assert [row.correct for row in found] == [False, None, None, False]
    assert found[1].reason == "missing"
    assert notes == ["Answers to no item, left out: 1.", "Items without an answer, counted as unread: 2."]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"label": 5}, "field 'label'"), ({"label": 2}, "the context is disambig and the right answer is unknown"),
        ({"question_polarity": "bad"}, "'bad' is none of neg"), ({"ans1": "ann"}, "two answers are the same"),
        ({"answer_info": {"ans0": ["Ann", "old"]}}, "ans1 is not [name, group]"), ({"context": ""}, "field 'context'"),
    ],
)  # fmt: skip
def test_an_item_that_cannot_be_names_its_row_and_field(tmp_path, change, said):
    path = lines(tmp_path / "Age.jsonl", [item(0, "neg", "ambig"), {**item(1, "neg", "disambig"), **change}])
    with pytest.raises(InputError) as caught:
        read_items([path])
    assert said in str(caught.value)
    assert "row 2" in str(caught.value)


def test_an_item_that_stands_twice_is_refused(tmp_path):
    path = lines(tmp_path / "Age.jsonl", [item(0, "neg", "ambig"), item(0, "neg", "ambig")])
    with pytest.raises(InputError, match="'0' stands twice in Age"):
        read_items([path])
