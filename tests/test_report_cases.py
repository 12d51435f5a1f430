"""The list of cases: the worst first, whole texts where they fit, what differs marked, model text only ever text."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from html_page import Page
from report_example import EXAMPLE, HOSTILE

from recuse.report.case import Case, Said, examples, outcome_of
from recuse.report.casefile import select
from recuse.report.html import html
from recuse.report.marks import alike, marked
from recuse.types import Judgement


def judged(pair: str, *says: str | None, arm: str = "original") -> list[Judgement]:
    return [
        Judgement(pair, pair, order, prefers, arm, reason=None if prefers else "refused")  # type: ignore[arg-type]
        for order, prefers in zip(("AB", "BA"), says, strict=True)
    ]


def case(pair: str, *says: str, **more: Any) -> Case:
    said = tuple(Said(order, what) for order, what in zip(("AB", "BA"), says, strict=False))
    return Case(pair, question="Q", chosen="good words here", rejected="bad words here", said=said, **more)


def page_of(*cases: Case, **more: Any) -> str:
    return html(replace(EXAMPLE, cases=cases, **more))


def data_of(page: str) -> dict[str, Any]:
    (block,) = re.findall(r'<script type="application/json" id="case-data">(.*?)</script>', page, re.DOTALL)
    found: dict[str, Any] = json.loads(block)
    return found


@pytest.mark.parametrize(
    ("says", "gold", "outcome"),
    [
        (["rejected", "rejected"], True, "wrong"),
        (["chosen", "chosen"], True, "right"),
        (["chosen", "rejected"], True, "flips"),
        (["rejected", "tie"], True, "tie"),
        (["rejected", "none (refused)"], True, "none"),
        (["chosen", "chosen"], False, "steady"),
        (["chosen", "rejected"], False, "flips"),
        ([], True, "none"),
    ],
)
def test_the_verdicts_of_both_orders_make_the_outcome(says: list[str], gold: bool, outcome: str) -> None:
    assert outcome_of(says, gold=gold) == outcome


def test_the_worst_come_first_and_shams_not_at_all() -> None:
    judgements = [
        *judged("right", "chosen", "chosen"), *judged("gone", "chosen", None), *judged("flips", "chosen", "rejected"),
        *judged("wrong", "rejected", "rejected"), *judged("tie", "tie", "chosen"),
        *judged("right", "rejected", "rejected", arm="bias:x"), *judged("right", "rejected", "rejected", arm="sham:1"),
        *judged("right", "chosen", "chosen", arm="placebo:x"),
    ]  # fmt: skip
    keys = select(judgements)
    assert keys == [
        ("wrong", "original"), ("right", "bias:x"), ("flips", "original"), ("gone", "original"), ("tie", "original"),
        ("right", "original"), ("right", "placebo:x"),
    ]  # fmt: skip
    assert select(judgements, most=2) == keys[:2]


def test_examples_are_half_wrong_then_flips_then_silent_ones() -> None:
    wrong = [case(f"w{i}", "rejected", "rejected") for i in range(9)]
    others = [case("right", "chosen", "chosen"), case("f", "chosen", "rejected"), case("n", "chosen", "none (error)")]
    shown = examples([*wrong, *others, case("x", "rejected", "rejected", arm="bias:x")])
    assert [c.pair for c in shown] == ["w0", "w1", "w2", "w3", "w4", "w5", "f", "n"]


def test_a_case_turned_where_it_was_right_untouched_and_is_wrong_in_its_arm() -> None:
    turned = case("p", "rejected", "rejected", arm="bias:x", before={"AB": "chosen", "BA": "chosen"})
    assert turned.turned
    assert not replace(turned, before={"AB": "chosen", "BA": "rejected"}).turned
    assert not case("p", "rejected", "rejected").turned
    page = page_of(turned, case("p", "chosen", "chosen"))
    assert '<option value="turned">Right untouched, wrong in its arm (1)</option>' in page


def test_the_data_hold_every_case_and_every_text_once() -> None:
    cases = [case(f"p{i}", "rejected", "rejected", domain="law" if i % 2 else None) for i in range(40)]
    page = page_of(*cases)
    found = data_of(page)
    assert [row[0] for row in found["cases"]] == [c.pair for c in cases]
    assert sorted(found["texts"]) == [
        "",
        "Better answer first",
        "Q",
        "Worse answer first",
        "bad words here",
        "good words here",
        "the worse answer",
    ]
    assert found["domains"] == ["", "law"]
    assert found["arms"] == [""]
    assert page.count('<details class="case">') == 12  # without the script, the first of them
    assert "The first 12 of 40 cases, worst first." in page
    assert '<option value="1">law (20)</option>' in page


def test_a_case_without_known_better_answer_speaks_of_answers_a_and_b() -> None:
    text = Page(page_of(case("p", "chosen", "chosen", gold=False))).text()
    assert "Same answer in both orders" in text
    assert "Answer A" in text
    assert "Better answer" not in text.partition("Cases")[2]


def test_words_that_differ_are_marked_and_unlike_answers_are_not() -> None:
    page = page_of(case("p", "rejected", "rejected"))
    assert "<mark>good</mark> words here" in page
    assert "<mark>bad</mark> words here" in page
    unlike = replace(case("p", "rejected", "rejected"), chosen="one two three four", rejected="five six seven eight")
    page = page_of(unlike)
    assert "<mark>" not in page
    assert "The answers have few words in common" in page


def test_a_changed_answer_is_compared_with_itself_before() -> None:
    changed = case("p", "rejected", "rejected", arm="bias:x", untouched="bad words", before={"AB": "chosen"})
    page = page_of(changed)
    assert "good words here" in page
    assert re.search(r"bad words ?<mark> ?here</mark>", page)
    assert '<td class="short">the better answer</td>' in page  # what the judge said before


def test_alike_is_the_share_of_words_that_both_have() -> None:
    assert alike(*marked("a b c d", "a b x y")) == pytest.approx(4 / 8)
    assert alike(*marked("a b", "a b")) == 1.0
    assert alike(*marked("", "")) == 1.0
    assert alike(*marked("a", "b")) == 0.0


def test_texts_are_cut_only_where_they_do_not_fit_and_those_of_good_cases_first() -> None:
    few = data_of(page_of(*(case(f"p{i}", "rejected", "rejected") for i in range(3))))
    assert "good words here" in few["texts"]
    long = [
        replace(case(f"p{i}", *(("rejected",) if i % 2 else ("chosen",)) * 2), chosen=f"{i} " + "long words " * 400)
        for i in range(4000)
    ]
    page = page_of(*long)
    assert len(page.encode()) < 15_000_000
    texts = data_of(page)["texts"]
    wrong, right = (max(len(t) for t in texts if t.startswith(f"{i} ")) for i in (1, 0))
    assert right < 130
    assert wrong > 3000
    assert re.search(r"Texts over [\d,]+ characters \(100 in cases that went well\) are cut here", page)


def test_cases_beyond_what_the_page_holds_are_counted() -> None:
    assert "The page holds 1 of 70,000 cases" in page_of(case("p", "rejected", "rejected"), of_cases=70_000)


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_ends_its_script_block_or_hides_in_it(name: str) -> None:
    bad = HOSTILE[name] + "</script><script>alert(1)</script><!--<script>"
    page = page_of(
        Case(bad, domain=bad, question=bad, chosen=bad, rejected=bad, said=(Said("AB", bad, replies=(bad,)),))
    )
    assert len(re.findall("<script", page)) == 2
    assert len(re.findall("</script", page)) == 2
    found = data_of(page)
    shown = found["texts"][found["cases"][0][7]]
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202e\u2028\u2066\ufeff]", shown)
    plain = re.sub(r"[^\x20-\x7e]+.*", "", HOSTILE[name], flags=re.DOTALL)  # up to the first unusual character
    assert shown.startswith(plain)
    page.encode("utf-8")
