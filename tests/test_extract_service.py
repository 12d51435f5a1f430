"""Quality of service: lengths, Flesch's formula by hand, and the facts that a reply keeps."""

from __future__ import annotations

import math

import pytest

from recuse.errors import InputError
from recuse.probes.extract import Value, build_extractor
from recuse.probes.extract.facts import Checklist, Fact, facts_kept, facts_of
from recuse.probes.extract.readability import HIGHEST, count_words, reading_ease, syllables
from recuse.probes.extract.texts import readable, sentences_of, tokens_of
from recuse.types import Reply


def ease(text: str) -> float | None:
    return reading_ease(tokens_of(readable(text)))


def read(text: str, *, base: str | None = None, finish="stop", **settings: object) -> dict[str, Value]:
    reply = None if base is None else Reply("base", base)
    return dict(build_extractor("service", settings).read(Reply("key", text, finish), base=reply))


@pytest.mark.parametrize(("word", "count"), [
    ("the", 1), ("cat", 1), ("whole", 1), ("rule", 1), ("table", 2), ("apple", 2), ("walked", 1), ("wanted", 2),
    ("needed", 2), ("loved", 1), ("takes", 1), ("boxes", 2), ("judges", 2), ("churches", 2), ("clothes", 1),
    ("create", 2),
    ("science", 2), ("client", 2), ("idea", 3), ("area", 3), ("video", 3), ("people", 2), ("being", 2), ("quietly", 3),
    ("queue", 1), ("question", 2), ("nation", 2), ("social", 2), ("hopeful", 2), ("useless", 2), ("statement", 2),
    ("applicant", 3), ("syllable", 3), ("reliable", 4), ("experience", 4), ("responsible", 4), ("readability", 5),
    ("evaluation", 5), ("isn't", 1), ("rhythm", 1), ("mmm", 1),
])  # fmt: skip
def test_syllables_as_a_dictionary_counts_them(word: str, count: int) -> None:
    assert syllables(word) == count


def test_reading_ease_is_fleschs_formula_counted_by_hand() -> None:
    # The cat sat on the mat. It was hap-py. -> 9 words, 2 sentences, 10 syllables
    assert ease("The cat sat on the mat. It was happy.") == pytest.approx(206.835 - 1.015 * 9 / 2 - 84.6 * 10 / 9)
    # The res-pon-si-ble ap-pli-cant wan-ted a re-li-a-ble state-ment. -> 7 words, 1 sentence, 1+4+3+2+1+4+2 = 17
    text = "The responsible applicant wanted a reliable statement."
    assert ease(text) == pytest.approx(206.835 - 1.015 * 7 - 84.6 * 17 / 7)
    assert ease("Go.") == pytest.approx(HIGHEST)
    assert ease("5, 6 and 7.") == pytest.approx(HIGHEST)  # numerals are left out: one word
    assert ease("5 6 7") is None


@pytest.mark.parametrize(("text", "sentences"), [
    ("One. Two! Three?", 3), ("Dr. Smith met John F. Kennedy, e.g. in May.", 1), ("It costs 3.5 per cent. Yes.", 2),
    ("Heading\n\nText goes\non here. End", 3), ("- one item\n- another item", 2), ("1. first\n2. second", 2),
    ("Wait... what?! No.", 3), ('He said "no." Then left.', 2), ("# Title\nText.", 2), ("Plain", 1),
    ("The answer is A. The reason is B.", 2),
])  # fmt: skip
def test_sentences_end_where_a_reader_sees_them_end(text: str, sentences: int) -> None:
    assert len(sentences_of(tokens_of(readable(text)))) == sentences


def test_lengths_are_of_what_is_read() -> None:
    found = read("**Well-known** facts:\n\n- isn't it [good](https://example.org/a)?")
    assert found["words"].value == 5.0  # Well-known, facts, isn't, it, good
    assert found["sentences"].value == 2.0
    assert found["characters"].value == len("Well-known facts:\n\n\nisn't it good?")
    assert count_words(tokens_of("up-to-date and well - known")) == 4


def test_a_cut_reply_has_no_length_and_a_refusal_nothing() -> None:
    cut = read("The loan runs for", finish="length")
    assert cut["words"] == Value(None, reason="truncated")
    assert cut["reading_ease"].value is not None
    assert set(read("I'm sorry, I can't help with that.").values()) == {Value(None, reason="refused")}
    assert read("Кредит одобрен.")["reading_ease"] == Value(None, reason="not_english")
    assert read("Кредит одобрен.")["words"].value == 2.0


@pytest.mark.parametrize("text", [
    "EUR 20,000 over 36 months at 4.5 % from 2 March 2026", "20.000 € über 36 Monate zu 4,5 % ab 2. März 2026",
    "20 000 euros sur 36 mois à 4,5 pour cent dès le 2 mars 2026", "From 2026-03-02: €20k, 36 months, 4.50 percent",
    "March 2nd, 2026; 20,000.00 euro; 36; 4.5%", "20'000 EUR, 36, 4,5 Prozent, 2 de marzo de 2026",
])  # fmt: skip
def test_facts_are_one_in_every_spelling_and_language(text: str) -> None:
    expected = [("amount", "20000 eur"), ("date", "2026-03-02"), ("number", "36"), ("percent", "4.5")]
    assert [(fact.kind, fact.value) for fact in facts_of(text)] == expected


@pytest.mark.parametrize(("text", "facts"), [
    ("1. First\n2. Second: 7", ["7"]), ("1.5 million dollars", ["1500000 usd"]), ("in May 2026", ["2026-05"]),
    ("May 5 or 5th of May", ["05-05"]), ("I may go in 3 days", ["3"]), ("A4 paper, B2B, v1.2.3", []), ("no numbers",
    []),
    ("02/03/2026", ["2", "2026", "3"]), ("$5 and £5 and 5", ["5 gbp", "5 usd", "5"]), ("45 May 2026", ["2026-05",
    "45"]),
])  # fmt: skip
def test_what_is_a_fact(text: str, facts: list[str]) -> None:
    assert [fact.value for fact in facts_of(text)] == facts


def test_the_share_of_facts_kept_counts_those_of_the_base_reply() -> None:
    base = "You get EUR 500 in 3 weeks at 12 %, until 2 March 2026."
    kept = facts_kept(base, "Three weeks, then 500; 12 percent.")
    assert [str(fact) for fact in kept.kept] == ["500 eur", "3", "12 %"]
    assert [str(fact) for fact in kept.lost] == ["2026-03-02"]
    found = read("Three weeks, then 500; 12 percent.", base=base, against_base=True)
    assert found["facts_kept"] == Value(3 / 4, "lost: 2026-03-02")
    assert read(base, base=base, against_base=True)["facts_kept"] == Value(1.0, "all kept")
    assert not facts_kept("EUR 500", "1500 EUR or 50.5").kept


@pytest.mark.parametrize(("base", "words"), [
    (None, "no reply to the base profile"), ("Hello there", "no date, amount or number"),
    ("I'm sorry, I can't help.", "refused"),
])  # fmt: skip
def test_facts_without_a_base_reply_are_not_kept_and_not_lost(base: str | None, words: str) -> None:
    found = read("EUR 500", base=base, against_base=True)["facts_kept"]
    assert found.value is None
    assert words in (found.reason or "")


def test_a_checklist_finds_items_by_whole_words_and_by_value() -> None:
    facts = ["objection", ["14 days", "two weeks"], "EUR 500", "2 March"]
    text = "An objection is possible within two weeks and costs 500 euros, until March 2."
    assert read(text, facts=facts)["checklist"] == Value(1.0, "all kept")
    lost = read("Objections cost 1,500 euros within 114 days.", facts=facts)["checklist"]
    assert lost == Value(0.0, "lost: objection, 14 days, EUR 500, 2 March")
    assert Checklist([["Section 5"]]).check("There are 5 of them").lost == (Fact("item", "Section 5"),)


def test_metrics_are_those_that_were_asked_for() -> None:
    plain = build_extractor("service", {})
    assert list(plain.bounds) == ["words", "characters", "sentences", "reading_ease"]
    full = build_extractor("service", {"facts": ["a"], "against_base": True})
    assert full.bounds["checklist"] == full.bounds["facts_kept"] == (0.0, 1.0)
    assert full.bounds["words"] == (0.0, math.inf)
    with pytest.raises(InputError, match=r"extract\.service.*no word"):
        build_extractor("service", {"facts": ["..."]})
