"""Verdicts that follow from several calls, by hand."""

from __future__ import annotations

import pytest

from recuse.harden.rules import both_orders, majority
from recuse.types import Judgement, Preference


def two(first: Preference | None, second: Preference | None, arm: str = "original") -> list[Judgement]:
    return [
        Judgement("p", "g", "AB", first, arm, reason=None if first else "refused", logit=1.0),
        Judgement("p", "g", "BA", second, arm, reason=None if second else "truncated", logit=-1.0),
    ]


@pytest.mark.parametrize(
    ("first", "second", "rule"),
    [
        ("chosen", "chosen", "chosen"), ("rejected", "rejected", "rejected"), ("chosen", "rejected", "tie"),
        ("tie", "chosen", "tie"), ("tie", "tie", "tie"),
    ],
)  # fmt: skip
def test_both_orders_give_one_verdict(first: Preference, second: Preference, rule: Preference) -> None:
    found = both_orders(two(first, second))
    assert [(j.order, j.prefers, j.logit) for j in found] == [("AB", rule, None), ("BA", rule, None)]


def test_where_one_order_is_silent_the_rule_is_and_says_why() -> None:
    assert [(j.prefers, j.reason) for j in both_orders(two("chosen", None))] == [(None, "truncated")] * 2


def test_arms_stay_apart() -> None:
    found = both_orders([*two("chosen", "chosen"), *two("rejected", "rejected", arm="bias:x")])
    assert [j.prefers for j in found] == ["chosen", "chosen", "rejected", "rejected"]


@pytest.mark.parametrize(
    ("votes", "outcome"),
    [
        (["chosen", "chosen", "rejected"], "chosen"),
        (["chosen", "rejected", "tie"], "tie"),
        (["chosen", "rejected"], "tie"),
        (["tie", "tie", "chosen"], "tie"),
        (["rejected", None, None], "rejected"),
        (["chosen", None, "rejected"], "tie"),
        ([None, None], None),
    ],
)
def test_the_majority_counts_those_that_answered(votes: list[Preference | None], outcome: Preference | None) -> None:
    panel = [two(vote, vote) for vote in votes]
    found = majority(panel)
    assert [(j.order, j.prefers) for j in found] == [("AB", outcome), ("BA", outcome)]
    assert (found[0].reason is None) == (outcome is not None)
