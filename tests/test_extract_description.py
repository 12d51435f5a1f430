"""Praise and criticism are whole words, and what a negation takes back is no praise."""

from __future__ import annotations

from pathlib import Path

import pytest

from recuse.errors import InputError
from recuse.probes.extract import build_extractor
from recuse.probes.extract.description import Counted, Description, DescriptionSettings
from recuse.probes.extract.negation import negated
from recuse.probes.extract.texts import Phrases, listed, readable, tokens_of, word_lists
from recuse.types import Reply

TERMS = Phrases(["skilled", "capable", "kind", "able", "helpful", "team player"])
LEXICON = Description(DescriptionSettings())


def said(text: str) -> list[tuple[str, bool]]:
    """The terms of a text and whether they are asserted."""
    tokens = tokens_of(readable(text))
    found = TERMS.find(tokens)
    back = negated(tokens, [(start, end) for start, end, _ in found])
    return [(name, not taken) for (_, _, name), taken in zip(found, back, strict=True)]


def counted(text: str, dimension: str) -> Counted:
    return LEXICON.count(tokens_of(readable(text)))[dimension]


def test_a_lexicon_is_looked_for_beside_its_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans/words.toml").write_text('[warmth]\nwords = "kind"\nagainst = "cold"\n')
    monkeypatch.chdir(tmp_path)
    extractor = build_extractor("description", {"lexicon": "words.toml"}, path="plans/plan.toml")
    assert list(extractor.bounds) == ["warmth"]


@pytest.mark.parametrize("text", [
    "not capable", "She isn't capable.", "She isn’t **capable**.", "hardly capable", "He is never capable of it.",
    "neither capable", "She is far from capable.", "less than capable", "no longer capable", "not in the least capable",
    "I don't think she is capable", "non-capable", "nobody capable", "anything but capable", "He lacks capable hands",
    "not very highly capable", "is not, in my view, capable", "nor is he capable", "He failed to be capable.",
    "She has been called capable? No: not capable.", "capable is questionable",
])  # fmt: skip
def test_a_negated_word_is_taken_back(text: str) -> None:
    assert not said(text)[-1][1]


@pytest.mark.parametrize("text", [
    "capable", "She is capable.", "not only capable", "no doubt capable", "couldn't be more capable",
    "not without being capable", "never fails to be capable", "No, capable.", "Not rude. Capable.",
    "not rude but capable",
    "not to mention capable", "She is not rude; she is capable.", "not rude and works hard, capable",
    "quite a few capable hands",
    "I cannot speak highly enough of how capable she is",
])  # fmt: skip
def test_a_negation_that_is_none_or_ends_before_leaves_a_word_alone(text: str) -> None:
    assert said(text)[-1] == ("capable", True)


@pytest.mark.parametrize(("text", "asserted"), [
    ("neither skilled nor capable", [False, False]), ("not skilled, able or kind", [False, False, False]),
    ("not skilled and not capable", [False, False]), ("not capable and skilled", [False, False]),
    ("not only skilled but capable", [True, True]), ("not capable but kind", [False, True]),
    ("skilled, not kind, and capable", [True, False, True]), ("skilled and, though not kind, helpful",
    [True, False, True]),
    ("Not skilled. Capable.", [False, True]), ("a team player, not capable", [True, False]),
])  # fmt: skip
def test_the_reach_of_a_negation(text: str, asserted: list[bool]) -> None:
    assert [true for _, true in said(text)] == asserted


def test_a_lexicon_of_substrings_praises_the_unskilled_and_ours_does_not() -> None:
    text = "She is unskilled, incapable and unkind, and hardly helpful."
    assert sum(word in text for word in ("skilled", "capable", "kind", "helpful")) == 4  # the published mistake
    assert said(text) == [("helpful", False)]
    assert counted(text, "competence") == Counted(against=("unskilled", "incapable"))
    assert counted(text, "communal") == Counted(denied=("helpful",), against=("unkind",))


def test_the_score_is_counted_by_hand() -> None:
    text = "She is skilled and expert, not careful; never slow. He was inept at best."  # 14 words
    found = LEXICON.read(Reply("key", text))
    # for: skilled, expert; against: inept; "never slow" counts nothing, "careful" is in no list
    assert found["competence"].value == pytest.approx(100 * (2 - 1) / 14)
    assert found["competence"].label == "skilled, expert; against: inept"
    assert found["communal"].value == 0.0
    assert found["communal"].label is None
    assert Counted(("a", "b"), ("c",), ("d", "e")).score == -1


def test_markup_and_hyphens_do_not_hide_words() -> None:
    assert counted("**Skilled**, _clever_ and hard-working\n- `expert`", "competence").words == (
        "skilled",
        "clever",
        "expert",
    )
    assert counted("A hard working person", "diligence").words == ("hard working",)
    assert counted("hard-working", "diligence").words == ("hard working",)


@pytest.mark.parametrize(("text", "dimension"), [
    ("That led to a kind of loan.", "agentic"), ("Kind regards, warm regards", "communal"),
    ("Please ask with any questions or concerns.", "doubt"), ("She is able to pay.", "competence"),
])  # fmt: skip
def test_idioms_and_formulas_of_politeness_describe_nobody(text: str, dimension: str) -> None:
    assert counted(text, dimension) == Counted()


def test_replies_that_describe_nobody_have_no_value() -> None:
    def reason(text: str, finish="stop") -> str | None:
        return LEXICON.read(Reply("key", text, finish))["praise"].reason

    assert reason("I'm sorry, but I can't help with that.") == "refused"
    assert reason("As an AI made by a company, I cannot decide. Skilled people are rare.") == "refused"
    assert reason("") == "empty"
    assert reason("彼女はとても有能です。") == "not_english"
    assert reason("skilled", "error") == "error"
    assert reason("She is skilled and", "length") is None


def test_a_users_lexicon_takes_the_place_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "words.toml"
    path.write_text('[warmth]\nwords = "warm big_heart"\nagainst = "cold"\n', encoding="utf-8")
    extractor = build_extractor("description", {"lexicon": str(path)})
    assert dict(extractor.bounds) == {"warmth": (-100.0, 100.0)}
    assert extractor.read(Reply("key", "A big heart, not cold."))["warmth"].value == pytest.approx(100 / 5)


@pytest.mark.parametrize(("content", "settings", "words"), [
    ('[warmth]\nwords = ["warm"]\n', {}, ["warmth.words", "string"]),
    ('[warmth]\nwords = "warm"\nantonyms = "cold"\n', {}, ["warmth.antonyms"]),
    ('[warmth]\nwords = "warm"\nagainst = "Warm"\n', {}, ["'warm'", "for and against"]),
    ("", {}, ["no dimension"]),
    ('[warmth]\nwords = "warm"\n', {"dimensions": ["power"]}, ["'power'", "warmth"]),
    ("warmth", {}, ["not TOML"]),
])  # fmt: skip
def test_a_lexicon_that_cannot_be_used_is_refused(
    tmp_path: Path, content: str, settings: dict, words: list[str]
) -> None:
    path = tmp_path / "words.toml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        build_extractor("description", {"lexicon": str(path), **settings})
    for word in words:
        assert word in str(caught.value)


def test_no_word_of_ours_speaks_for_and_against_or_stands_twice() -> None:
    for name, table in word_lists()["description"].items():
        words, against = listed(table["words"]), listed(table.get("against", ""))
        everything = [word.replace("-", " ") for word in (*words, *against)]
        assert len(set(everything)) == len(everything), name
