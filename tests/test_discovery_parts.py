"""The parts of a discovery: the split, the deal, cases, reading what a teacher names, and merging it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from recuse.asks import Design
from recuse.backends import Capabilities, Options
from recuse.discovery.deal import deal
from recuse.discovery.merge import Proposal, merge, normalised, read_same, strengthened
from recuse.discovery.mine import Case, explain, read_bias, robust_flips
from recuse.discovery.split import Splits, check, from_column, split
from recuse.errors import InputError, UsageError
from recuse.judge import Answered
from recuse.lab.bench import Lab, writing
from recuse.library import Bias
from recuse.perturb.shams import bias_arms
from recuse.perturb.teacher import load_wording
from recuse.plan import room_to_think
from recuse.prompts import load_prompt
from recuse.types import Ask, Judgement, Pair, Reply, Sampling


def pair(id: str, group: str | None = None, **meta: object) -> Pair:
    return Pair(id, f"question {id}", "right", "wrong", group or id, meta=meta)


def groups_of(pairs: tuple[Pair, ...]) -> set[str]:
    return {p.group for p in pairs}


def test_no_group_lies_in_two_parts_and_sizes_are_as_asked() -> None:
    pairs = [pair(f"p{i}", f"g{i // 3}") for i in range(300)]
    parts = split(pairs, seed=4)
    sizes = [len(groups_of(part)) for part in (parts.discovery, parts.validation, parts.test)]
    assert sizes == [30, 40, 30]
    assert not groups_of(parts.discovery) & groups_of(parts.validation) | (
        groups_of(parts.validation) & groups_of(parts.test)
    )
    assert len(parts.discovery) + len(parts.validation) + len(parts.test) == 300


def test_the_order_of_the_pairs_changes_no_part_and_the_seed_does() -> None:
    pairs = [pair(f"p{i}") for i in range(60)]
    shuffled = random.Random(1).sample(pairs, 60)
    assert groups_of(split(pairs, seed=0).test) == groups_of(split(shuffled, seed=0).test)
    assert groups_of(split(pairs, seed=0).test) != groups_of(split(pairs, seed=1).test)


@pytest.mark.parametrize(
    ("splits", "said"),
    [
        (Splits((pair("a", "g"),), (pair("b", "g"),), (pair("c"),)), "'g' lies in discovery and in validation"),
        (Splits((pair("a"),), (), (pair("c"),)), "no pairs for validation"),
    ],
)
def test_overlapping_or_empty_parts_are_refused(splits: Splits, said: str) -> None:
    with pytest.raises(InputError, match=said):
        check(splits)


def test_a_column_may_name_the_parts() -> None:
    pairs = [pair("a", part="discovery"), pair("b", part="validation"), pair("c", part="test")]
    assert from_column(pairs, "part").test == (pairs[2],)
    with pytest.raises(InputError, match="pair d has 'train'"):
        from_column([*pairs, pair("d", part="train")], "part")


def test_too_few_groups_are_refused_with_their_number() -> None:
    with pytest.raises(UsageError, match="have 2 groups"):
        split([pair("a"), pair("b"), pair("c", "b")])


def test_every_bias_gets_as_many_pairs_as_any_other_and_over_the_rounds_a_pair_meets_others() -> None:
    pairs = [pair(f"p{i}") for i in range(50)]
    hands = [deal(pairs, ["x", "y", "z"], seed=2, turn=turn) for turn in range(3)]
    for hand in hands:
        assert sorted(Counter({bias: len(dealt) for bias, dealt in hand.items()}).values()) == [16, 17, 17]
    for p in pairs:
        assert {bias for hand in hands for bias, dealt in hand.items() if p in dealt} == {"x", "y", "z"}


def judged(pair: str, order: str, prefers: str | None, arm: str = "original") -> Judgement:
    return Judgement(pair, pair, order, prefers, arm)  # type: ignore[arg-type]


def test_a_case_is_right_in_both_orders_before_and_wrong_in_both_after() -> None:
    said = {
        "flips": ("chosen", "chosen", "rejected", "rejected"),
        "one order only": ("chosen", "chosen", "rejected", "chosen"),
        "wrong before": ("rejected", "chosen", "rejected", "rejected"),
        "a tie after": ("chosen", "chosen", "tie", "rejected"),
        "no verdict after": ("chosen", "chosen", None, "rejected"),
    }
    pairs = {id: pair(id) for id in said}
    before = [judged(id, order, w[k]) for id, w in said.items() for k, order in enumerate(("AB", "BA"))]
    after = [judged(id, order, w[2 + k], "bias:x") for id, w in said.items() for k, order in enumerate(("AB", "BA"))]
    cases = robust_flips(before, after, pairs, dict.fromkeys(said, "reworded"), "bias:x")
    assert [(c.pair.id, c.rewritten, c.key) for c in cases] == [("flips", "reworded", "bias:x:flips")]
    half = [j for j in after if j.order == "AB"]
    assert robust_flips(before, half, pairs, dict.fromkeys(said, "reworded"), "bias:x") == []


@pytest.mark.parametrize(
    ("text", "named", "said"),
    [
        ('{"bias": null}', None, True),
        ('Sure!\n```json\n{"bias": null}\n```', None, True),
        ('{"bias": "none"}', None, True),
        (
            '{"bias": {"name": "N", "definition": "D", "manifestation": "M", "instruction": "I", "confidence": 3}}',
            "N",
            True,
        ),
        ('{"bias": {"name": "", "definition": "D", "manifestation": "M", "instruction": "I"}}', None, False),
        ('{"bias": {"name": "N"}}', None, False),
        ("I see no bias here.", None, False),
        ('{"result": {"bias": null}}', None, False),
        ('{"bias": {"name": "N", "definition": "D", "manif', None, False),
    ],
)
def test_what_a_teacher_names_is_read_or_counted_as_unreadable(text: str, named: str | None, said: bool) -> None:
    found, readable = read_bias(text)
    assert (found.name if found else None, readable) == (named, said)


def proposal(name: str, definition: str = "", case: str = "c", length: bool = False) -> Proposal:
    return Proposal(name, definition or f"about {name}", "shows", f"do {name}", case, length)


def known(id: str, name: str) -> Bias:
    return Bias(id=id, name=name, definition=f"prefers {name}", manifestations=["m"], family="formal", source=["s"],
                status="seed")  # fmt: skip


def test_equal_wordings_are_one_candidate_and_support_counts_cases() -> None:
    found = merge(
        [proposal("Café tone", case="1"), proposal("cafe  TONE bias", case="2"), proposal("Other", case="3")],
        {},
        source="run",
    )
    assert [(c.bias.id, c.support, len(c.wordings)) for c in found.candidates] == [("cafe-tone", 2, 2), ("other", 1, 1)]
    assert found.candidates[0].cases == ("1", "2")
    assert normalised("  Self-Praise   Bias ") == "self praise"
    assert normalised("Bias") == "bias"


def test_what_the_library_knows_is_no_candidate() -> None:
    library = {"length": known("length", "Length"), "tone": known("tone", "Friendly tone")}
    found = merge(
        [proposal("Length bias"), proposal("friendly tone", case="2"), proposal("New")], library, source="run"
    )
    assert [c.bias.name for c in found.candidates] == ["New"]
    assert found.known == {"length": 1, "tone": 1}


def test_a_model_decides_on_similar_wordings_alone_and_the_order_changes_nothing() -> None:
    library = {"calm": known("calm", "Calm voice of experts")}
    proposals = [
        proposal("Sea words", "prefers answers with words about the sea", "1"),
        proposal("Nautical words", "prefers answers with words about ships and the sea", "2"),
        proposal("Maritime", "prefers answers with words of sailors and the sea", "3"),
        proposal("Expert calm", "prefers the calm voice of experts", "4"),
        proposal("Digits", "prefers numerals", "5"),
    ]
    asked: list[tuple[str, tuple[str, ...]]] = []

    def decide(questions):  # type: ignore[no-untyped-def]
        found: list[int | None] = []
        for text, listed in questions:
            asked.append((text, tuple(listed)))
            topic = next((word for word in ("sea", "calm") if word in text), "?")
            found.append(next((i for i, other in enumerate(listed) if topic in other.casefold()), None))
        return found

    first = merge(proposals, library, decide=decide, source="run")
    assert [(c.support, len(c.wordings)) for c in first.candidates] == [(3, 3), (1, 1)]
    assert first.known == {"calm": 1}
    assert not any(text.startswith("Digits") for text, _ in asked)  # nothing is like it, so nothing was asked
    assert len(asked) == len({text for text, _ in asked}) == 4
    for seed in range(20):
        shuffled = random.Random(seed).sample(proposals, len(proposals))
        assert merge(shuffled, library, decide=decide, source="run") == first


def test_by_embeddings_the_nearest_are_proposed_though_they_share_no_word_and_however_near() -> None:
    near = {"maritime": 0.0, "nautical": 0.1, "sea": 0.3, "digits": 1.4, "numerals": 1.5, "length": 3.0}  # angles
    proposals = [proposal(name, f"{name} {name}") for name in ("maritime", "nautical", "digits", "sea")]
    library = {"numerals": known("numerals", "numerals"), "length": known("length", "length")}
    asked: dict[str, list[str]] = {}

    def embed(texts: Sequence[str]) -> np.ndarray:
        angles = [next(a for word, a in near.items() if word in text) for text in texts]
        return np.column_stack([np.cos(angles), np.sin(angles)])

    def decide(questions):  # type: ignore[no-untyped-def]
        for text, listed in questions:
            asked[text.partition(":")[0]] = [word for other in listed for word in near if word in other]
        return [0 for _ in questions]  # the nearest one

    found = merge(proposals, library, decide=decide, embed=embed, source="run")
    assert asked == {
        "digits": ["numerals", "sea", "nautical", "maritime", "length"],
        "maritime": ["nautical", "sea", "digits", "numerals", "length"],
        "nautical": ["maritime", "sea", "digits", "numerals", "length"],
        "sea": ["nautical", "maritime", "digits", "numerals", "length"],
    }
    assert [len(c.wordings) for c in found.candidates] == [3]
    assert found.known == {"numerals": 1}
    assert merge(proposals[::-1], library, decide=decide, embed=embed, source="run") == found


@pytest.mark.parametrize(
    ("text", "place"),
    [('{"same_as": 2}', 1), ('{"same_as": null}', None), ('{"same_as": 4}', None), ('{"same_as": true}', None),
     ('{"same_as": 0}', None), ("the second", None)],
)  # fmt: skip
def test_a_merge_reply_names_a_number_of_the_list_or_nothing(text: str, place: int | None) -> None:
    assert read_same(text, 3) == place


def test_nothing_named_is_nothing_merged(tmp_path: Path) -> None:
    assert merge([], {}, source="run").candidates == ()


def test_a_property_is_about_length_when_most_of_those_who_named_it_say_so() -> None:
    named = [proposal("Long", case=str(i), length=i < 2) for i in range(3)]
    half = [proposal("Short", case=str(i), length=i < 1) for i in range(2)]
    long, short = merge([*named, *half], {}, source="run").candidates
    assert (long.bias.changes_length, short.bias.changes_length) == (True, False)
    own, placebo = bias_arms(long.bias)
    assert (own.changes_length, placebo.match) == (True, own.id)


def test_what_is_named_again_gains_support_cases_and_wordings_and_stays_what_is_tested() -> None:
    (first,) = merge([proposal("Sea", "of the sea", "1")], {}, source="run").candidates
    later = merge([proposal("Sea", "of the ocean", "2"), proposal("Sea", "of the sea", "1")], {"sea": first.bias},
                  source="run")  # fmt: skip
    assert later.candidates == ()
    assert later.known == {"sea": 2}
    found = strengthened(first, later.again["sea"])
    assert (found.support, found.cases, found.bias) == (2, ("1", "2"), first.bias)
    assert found.wordings == ("Sea: of the ocean", "Sea: of the sea")


def test_a_judge_of_single_answers_is_not_counted_as_asked_for_reasons() -> None:
    case = Case(pair("p"), "reworded", "bias:x")
    prompt = load_prompt("pointwise/score")
    reason, deeper = load_prompt("pairwise/reason"), load_prompt("explain/deeper", kinds=("explain",))
    (said,) = explain(
        [case], design=Design(prompt, Sampling()), reason=reason, deeper=deeper, steps=2, sampling=Sampling(),
        send=lambda asks: pytest.fail("asked"),
    )  # fmt: skip
    assert (said.words is None, said.orders) == (False, 0)


@pytest.mark.parametrize(
    ("agrees", "orders", "told"),
    [(("AB", "BA"), 1, True), (("first",), 1, True), (("second",), 2, True), ((), 2, False)],
)
def test_a_mistake_whose_reasons_lead_elsewhere_in_one_order_is_asked_about_in_the_other(
    agrees: tuple[str, ...], orders: int, told: bool
) -> None:
    seen: list[Ask] = []

    def send(asks: Sequence[Ask]) -> list[Answered]:
        seen.extend(asks)
        replies = []
        for ask in asks:
            place = "first" if ask.view == seen[0].view else "second"
            wrong, right = ("B", "A") if ask.view == "AB" else ("A", "B")
            agreed = ask.view in agrees or place in agrees or ask.view == "text"
            replies.append(Answered(ask, Reply("k", f"So {ask.view}.\nVerdict: {wrong if agreed else right}"), True))
        return replies

    (found,) = explain(
        [Case(pair("p"), "reworded", "bias:x")], design=Design(load_prompt("pairwise/label"), Sampling()),
        reason=load_prompt("pairwise/reason"), deeper=load_prompt("explain/deeper", kinds=("explain",)), steps=1,
        send=send, sampling=Sampling(max_tokens=100),
    )  # fmt: skip
    views = [ask.view for ask in seen]
    assert views[:orders] == ([views[0]] if orders == 1 else [views[0], "BA" if views[0] == "AB" else "AB"])
    assert views[orders:] == ["text"] * told  # the further step, in the order that came to the mistake alone
    assert (found.orders, found.words is not None) == (orders, told)
    if told:
        assert found.view == views[orders - 1]
        assert found.words is not None
        assert found.words.startswith(f"So {found.view}.")
        assert f"You chose answer {'B' if found.view == 'AB' else 'A'}." in seen[-1].messages[-1].content


def test_a_teacher_behind_an_api_has_room_to_think_and_one_on_a_server_of_ones_own_has_none() -> None:
    far, own = Capabilities(), Capabilities(local=True)
    address = Options(base_url="http://localhost:8000/v1")
    assert [room_to_think(*at) for at in ((far, Options()), (far, address), (own, Options()))] == [2048, 0, 0]
    pairs = [Pair("p", "q", "right", "wrong" * 40, "p")]
    assert writing(far, pairs, thinking=2048).max_tokens == writing(far, pairs).max_tokens + 2048
    assert writing(far, pairs, tokens=700, thinking=2048).max_tokens == 700
    prompt, wording = load_prompt("merge/same", kinds=("merge",)), load_wording()
    labs = [Lab(None, None, writing(far, pairs), wording, None, room=room) for room in (0, 2048)]  # type: ignore[arg-type]
    assert [(lab.tight, lab.brief(prompt).max_tokens) for lab in labs] == [(True, prompt.max_tokens), (False, 2048)]


def test_what_a_judge_thinks_before_it_speaks_is_not_among_its_reasons() -> None:
    seen: list[Ask] = []

    def send(asks):  # type: ignore[no-untyped-def]
        seen.extend(asks)
        wrong = {"AB": "B", "BA": "A"}
        return [
            Answered(
                ask, Reply("k", f"<think>Hm, A or B?</think>It is warmer.\nVerdict: {wrong.get(ask.view, 'B')}"), True
            )
            for ask in asks
        ]

    (found,) = explain(
        [Case(pair("p"), "reworded", "bias:x")], design=Design(load_prompt("pairwise/label"), Sampling()),
        reason=load_prompt("pairwise/reason"), deeper=load_prompt("explain/deeper", kinds=("explain",)), steps=2,
        send=send, sampling=Sampling(max_tokens=100),
    )  # fmt: skip
    assert found.words is not None
    assert found.words.count("It is warmer.") == 3
    assert "Hm" not in found.words
    assert [ask.view for ask in seen][1:] == ["text", "text"]
    assert not any("Hm" in m.content for m in seen[-1].messages)
    assert len(seen[-1].messages) == len(seen[0].messages) + 4  # two answers of the judge, two further questions
