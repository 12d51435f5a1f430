"""Disagreements are classed by kind, and what a reader of verdicts did is told apart from what the judge did."""

from __future__ import annotations

from dataclasses import replace

import pytest
from explain_world import judged, labels

from recuse.explain.cases import compare
from recuse.explain.faults import first_finding, reader_fault


def kinds(rows: dict[str, str], people: dict[str, str]) -> dict[str, str]:
    return {seen.pair: seen.kind for seen in compare(judged(rows), labels(people))}


def test_every_pair_is_of_one_kind_by_hand() -> None:
    rows = {
        "right": "cc", "wrong": "rr", "first": "cr", "second": "rc", "tied": "tt", "half": "ct", "half wrong": "rt",
        "cut": "c-", "silent": "--",
    }  # fmt: skip
    assert kinds(rows, dict.fromkeys(rows, "c")) == {
        "right": "agrees", "wrong": "content", "first": "position", "second": "position", "tied": "tie", "half": "tie",
        "half wrong": "tie", "cut": "unread", "silent": "unread",
    }  # fmt: skip


def test_people_decide_what_is_right_and_a_pair_without_their_majority_is_left_out() -> None:
    rows = {"a": "rr", "b": "rr", "c": "tt", "d": "cc", "e": "cr"}
    people = {"a": "rrc", "b": "cct", "c": "ttc", "d": "cr", "e": "t"}
    assert kinds(rows, people) == {"a": "agrees", "b": "content", "c": "agrees", "e": "position"}


def test_errors_are_the_mean_over_the_orders_and_a_tie_is_half_of_one() -> None:
    seen = {
        s.pair: s.errors
        for s in compare(judged({"a": "cr", "b": "ct", "c": "rt", "d": "r-"}), labels(dict.fromkeys("abcd", "c")))
    }
    assert seen == {"a": 0.5, "b": 0.25, "c": 0.75, "d": None}


def test_repeats_count_as_their_majority() -> None:
    three = [replace(j, repeat=k) for k in range(3) for j in judged({"a": "cr" if k else "rr", "b": "cc"})]
    a, b = compare(three, labels({"a": "c", "b": "c"}))
    assert (a.kind, a.unsteady, a.verdicts) == ("position", True, {"AB": "chosen", "BA": "rejected"})
    assert (b.kind, b.unsteady) == ("agrees", False)


def test_a_judge_of_single_answers_has_no_position() -> None:
    alone = [replace(j, order="-") for j in judged({"a": "cc", "b": "rr"}) if j.order == "AB"]
    found = compare(alone, labels({"a": "c", "b": "c"}))
    assert [s.kind for s in found] == ["agrees", "content"]
    assert first_finding("x", "x", found, level=0.95).estimate is None


def test_the_share_of_the_first_place_by_hand() -> None:
    found = compare(judged({"a": "cr", "b": "cr", "c": "cc", "d": "rr"}), labels(dict.fromkeys("abcd", "c")))
    finding = first_finding("x", "x", found, level=0.95)
    assert finding.estimate == pytest.approx((1 + 1 + 0.5 + 0.5) / 4)
    assert finding.p == pytest.approx(0.5)  # two leaning pairs, both one way: 2 of 4 sign patterns are as extreme
    assert finding.details["always_first"] == 2


def test_a_reader_that_names_the_first_place_is_not_taken_for_the_judge() -> None:
    """The judge agrees with people in 6 pairs and follows the place in 2; the reader adds 3 of the 6 to the 2."""
    texts = {**dict.fromkeys("abcdef", "cc"), "g": "cr", "h": "cr"}
    record = {**texts, "a": "cr", "b": "cr", "c": "cr"}
    found = reader_fault(judged(texts), judged(record), labels(dict.fromkeys(texts, "c")), level=0.95)
    by = {f.id: f.estimate for f in found.findings}
    assert (found.verdicts, found.contradicting, found.one_sided) == (16, 3, 0)
    assert set(found.table) == {("agrees", "agrees", 3), ("position", "agrees", 3), ("position", "position", 2)}
    assert by["explain.position.recorded"] == 5 / 8
    assert by["explain.position.read"] == 2 / 8
    assert by["explain.position.by_reader"] == 3 / 8
    assert by["explain.consistency.recorded"] == 3 / 8
    assert by["explain.consistency.read"] == 6 / 8
    assert by["explain.reader.contradicting"] == 3 / 16
    assert "3 of these are the reader's doing, 2 the judge's" in found.line


def test_a_reader_without_fault_is_said_to_have_none() -> None:
    texts = {"a": "cc", "b": "rr"}
    found = reader_fault(judged(texts), judged(texts), labels(dict.fromkeys(texts, "c")), level=0.95)
    assert found.line == "All 4 recorded decisions that can be checked say what their text says."
