"""From variants to a set: near-duplicates, balance, places and the sample, by hand and by property."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recuse.export.select import Item, balanced, changes, places, sample, unanimous, without_duplicates
from recuse.export.sources import Source
from recuse.export.variants import arms_of, edited
from recuse.library import load_library
from recuse.perturb.arms import Rewrite
from recuse.perturb.edits import EDITS
from recuse.types import Judgement, Pair

CELLS = st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from(["a", "b", None])), min_size=1, max_size=60)
QUESTION = "How many boxes does the shop at the corner of the old market sell on a day in {}?"


def item(name: str, bias: str = "x", *, domain: str | None = None, text: str = "", pair: Pair | None = None) -> Item:
    pair = pair or Pair(name, f"question {name}", "right", "wrong", name, domain)
    return Item(pair, f"bias:{bias}:{name}", bias, Rewrite(pair.id, f"bias:{bias}", text or f"wrong {name}"))


def dealt(cells: list[tuple[str, str | None]]) -> list[Item]:
    return [item(f"p{i}", bias, domain=domain) for i, (bias, domain) in enumerate(cells)]


# Verdicts


def j(order: str, prefers: str | None, arm: str = "original") -> Judgement:
    return Judgement("p", "p", order, prefers, arm)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "views", "said"),
    [
        ([j("AB", "chosen"), j("BA", "chosen")], 2, "chosen"),
        ([j("AB", "rejected"), j("BA", "rejected")], 2, "rejected"),
        ([j("AB", "chosen"), j("BA", "rejected")], 2, None),
        ([j("AB", "chosen"), j("BA", None)], 2, None),
        ([j("AB", None), j("BA", None)], 2, None),
        ([j("AB", "tie"), j("BA", "tie")], 2, "tie"),
        ([j("AB", "chosen")], 2, None),  # one order is not both
        ([j("-", "rejected")], 1, "rejected"),
    ],
)
def test_a_judge_has_said_something_where_every_order_says_the_same(
    found: list[Judgement], views: int, said: str | None
) -> None:
    assert unanimous({"original": found}, views=views).get(("original", "p")) == said


# Near-duplicates


def test_of_two_pairs_that_are_the_same_but_for_a_word_the_first_stays() -> None:
    answers = "It sells forty boxes on most days, as the owner likes to tell.", "It sells ninety boxes on most days."
    near = [Pair(f"n{i}", QUESTION.format(month), *answers, f"n{i}") for i, month in enumerate(("spring", "Spring!"))]
    other = Pair("o", "Name the capital of Peru.", "Lima is the capital.", "Cusco is the capital.", "o")
    items = [item("", bias, pair=p, text=f"{p.rejected} {bias}") for p in (*near, other) for bias in ("study", "tone")]
    assert [i.pair.id for i in without_duplicates(items)] == ["n0", "n0", "o", "o"]


def test_variants_of_a_pair_are_the_same_only_where_what_was_put_in_is() -> None:
    pair = Pair("p", QUESTION.format("June"), "Forty boxes.", "Ninety boxes, since most days are busy ones.", "p")
    put_in = ("A study at Oxford has shown this.", "a study at Oxford has shown this", "I am an excellent assistant.")
    items = [item(str(i), pair=pair, text=f"{said} {pair.rejected}") for i, said in enumerate(put_in)]
    assert [i.arm for i in without_duplicates(items)] == ["bias:x:0", "bias:x:2"]


def test_changes_are_the_words_that_came_and_went() -> None:
    assert changes("The answer is clearly 7.", "Experts say the answer is 7.") == "The Experts say the clearly"
    assert changes("same text", "same  text") == ""


# Balance


def test_no_bias_has_more_than_the_median_one_and_its_domains_are_cut_evenly() -> None:
    cells = [("x", "a")] * 14 + [("x", "b")] * 4 + [("y", "a")] * 8 + [("z", "b")] * 3
    kept = balanced(dealt(cells), seed=1)
    assert Counter(i.bias for i in kept) == {"x": 8, "y": 8, "z": 3}
    assert Counter(i.pair.domain for i in kept if i.bias == "x") == {"a": 4, "b": 4}


@given(CELLS, st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_balance_takes_only_from_what_is_above_the_median(cells: list[tuple[str, str | None]], seed: int) -> None:
    before, kept = Counter(bias for bias, _ in cells), balanced(dealt(cells), seed=seed)
    after = Counter(i.bias for i in kept)
    middle = sorted(before.values())
    most = -(-(middle[(len(middle) - 1) // 2] + middle[len(middle) // 2]) // 2)
    assert after == {bias: min(n, most) for bias, n in before.items()}
    assert [i.key for i in kept] == [i.key for i in dealt(cells) if i.key in {k.key for k in kept}]


# Places and the sample


@given(CELLS, st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_the_better_answer_stands_first_as_often_as_second_in_each_bias(
    cells: list[tuple[str, str | None]], seed: int
) -> None:
    items = dealt(cells)
    found = places(items, seed=seed)
    for bias in {None, *(i.bias for i in items)}:
        counts = Counter(p for i, p in zip(items, found, strict=True) if bias in (None, i.bias))
        assert abs(counts["A"] - counts["B"]) <= 1


def test_places_do_not_alternate_in_the_order_of_the_rows() -> None:
    found = "".join(places(dealt([("x", None)] * 40), seed=0))
    assert found not in ("AB" * 20, "BA" * 20)
    assert found != "".join(places(dealt([("x", None)] * 40), seed=1))


@given(CELLS, st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_a_sample_has_a_fifth_of_the_rows_and_of_each_stratum_within_one(
    cells: list[tuple[str, str | None]], seed: int
) -> None:
    items = dealt(cells)
    taken = sample(items, seed=seed)
    assert len(taken) == len(set(taken)) == -(-len(items) // 5)
    sizes, picked = Counter(cells), Counter(cells[i] for i in taken)
    assert all(abs(picked[cell] - n / 5) < 1 for cell, n in sizes.items())


def test_selection_does_not_hang_on_the_order_of_the_rows() -> None:
    items = dealt([("xyz"[i % 3], "ab"[i % 2]) for i in range(50)] + [("x", "a")] * 20)
    turned = list(items)
    Random(1).shuffle(turned)
    for pick in (
        lambda rows: {i.key for i in balanced(rows, seed=3)},
        lambda rows: {rows[i].key for i in sample(rows, seed=3)},
        lambda rows: {(i.key, p) for i, p in zip(rows, places(rows, seed=3), strict=True)},
    ):
        assert pick(items) == pick(turned)


# Variants


def sources(*ids: str) -> list[Source]:
    library = load_library()
    return [Source(library[id], False) for id in ids]


def test_by_rule_few_biases_are_drawn_from_by_turns_and_by_a_teacher_once() -> None:
    two = sources("authority", "self-praise")
    assert [arm.id for arm in arms_of(two, most=5, teacher=False)] == [
        "bias:authority", "bias:self-praise", "bias:authority:2", "bias:self-praise:2", "bias:authority:3",
    ]  # fmt: skip
    assert [arm.id for arm in arms_of(two, most=5, teacher=True)] == ["bias:authority", "bias:self-praise"]
    assert [arm.id for arm in arms_of(two, most=1, teacher=False)] == ["bias:authority"]


def test_further_draws_of_a_rule_are_other_wordings_or_are_left_out() -> None:
    pairs = [Pair(f"p{i}", f"Question {i}?", "Lima is right.", "Cusco is the capital.", f"p{i}") for i in range(20)]
    made = edited(pairs, arms_of(sources("authority"), most=5, teacher=False), seed=0)
    phrases = EDITS["authority"].phrases
    for pair in pairs:
        texts = [of_arm[pair.id].text or "" for of_arm in made.usable.values() if pair.id in of_arm]
        assert len(texts) == len(set(texts)) >= 2
        assert all(sum(phrase in text for phrase in phrases) == 1 for text in texts)
    assert made.tried + made.repeated == 5 * len(pairs)
    assert made.passed == made.tried == sum(len(of_arm) for of_arm in made.made.values())
