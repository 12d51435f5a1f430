"""The parts of a preference export by hand: what stays out, train and test, the mix, who is dealt which bias."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from recuse.errors import InputError, UsageError
from recuse.export.alike import alike, near
from recuse.export.apart import Apart, benchmark, families, left_out
from recuse.export.dealing import Dealt, deal_out, gist
from recuse.export.mixing import amounts, evenly, for_test, mixed
from recuse.lab.bench import Bench
from recuse.library import Bias
from recuse.pairs import load_pairs
from recuse.pairs.families import question_key
from recuse.perturb.arms import Arm, Rewrite
from recuse.types import Message, Pair


def pair(name: str, question: str, group: str | None = None, rejected: str = "wrong") -> Pair:
    return Pair(name, question, f"right {name}", f"{rejected} {name}", group or question)


# Families and what stays out


def test_the_key_of_a_question_is_the_group_that_loading_gives_it(tmp_path: Path) -> None:
    questions = ["Why is the  sky blue?", "ＷＨＹ is the sky\nBLUE?", "Straße oder STRASSE?", "Why?"]
    rows = [{"prompt": q, "chosen": f"yes {i}", "rejected": f"no {i}"} for i, q in enumerate(questions)]
    file = tmp_path / "pairs.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    groups = [p.group for p in load_pairs(file)]
    assert [question_key(q) for q in questions] == groups
    assert groups[0] == groups[1] != groups[2]


def test_pairs_that_a_group_and_a_question_join_by_turns_are_one_family_whatever_their_order() -> None:
    chain = [pair("a", "q1", "g1"), pair("b", "q2", "g1"), pair("c", "Q2", "g2"), pair("d", "q3", "g2")]
    apart = pair("e", "q4", "g3")
    home = families([*chain, apart])
    assert len({home[p.id] for p in chain}) == 1
    assert home["e"] != home["a"]
    assert families([apart, *reversed(chain)]) == home


def test_a_held_out_question_takes_its_whole_family_along_and_every_pair_is_counted_once() -> None:
    pairs = [
        pair("a", "What is dew?", "g1"),
        pair("b", "What is frost?", "g1"),  # by its group
        pair("c", "Name the seven hills of Rome in order of height today", "g2"),  # nearly
        pair("d", "Who wrote Ulysses?", "g3"),  # by its id alone
        pair("e", "Who painted Guernica?", "g4"),
    ]
    one = Apart("first", "test", ("WHAT is  dew?",), frozenset({question_key("what is dew?")}), frozenset({"d"}))
    two = Apart("second", "benchmark", ("Name the seven hills of Rome in order of height, today!",), frozenset())
    kept, told = left_out(pairs, [one, two, one])
    assert [p.id for p in kept] == ["e"]
    assert [(left.name, left.same, left.near) for left in told] == [("first", 3, 0), ("second", 0, 1), ("first", 0, 0)]


LONG = "The seven hills of Rome are listed in the older guides by height, and the Quirinal comes first there"


def test_nearly_the_same_question_or_long_answer_joins_families_and_a_short_answer_does_not() -> None:
    pairs = [
        Pair("a", "Name the seven hills of Rome in order of height today", "x", "y", "g1"),
        Pair("b", "name the seven hills of Rome, in order of height, today!", "x", "y", "g2"),
        Pair("c", "Which hill?", LONG, "No.", "g3"),
        Pair("d", "What do the guides say?", "No.", f"{LONG}.", "g4"),
        Pair("e", "Is it so?", "No.", "Yes.", "g5"),
    ]
    home = families(pairs)
    assert home["a"] == home["b"] != home["c"]
    assert home["c"] == home["d"]
    assert len(set(home.values())) == 3
    assert home["a"] == "group g1"  # not after a text, so that a split stays as it was where nothing is near
    assert families(pairs[::-1]) == home


def test_a_pair_whose_long_answer_is_held_out_stays_out_under_another_question() -> None:
    pairs = [Pair("a", "Which?", f"{LONG}!", "No.", "g1"), Pair("b", "Why?", "No.", "Yes.", "g2")]
    held = Apart("run", "all pairs of an audit", (), frozenset(), answers=(LONG, "No."), unread=3)
    kept, (left,) = left_out(pairs, [held])
    assert [p.id for p in kept] == ["b"]
    assert (left.same, left.near, left.unread) == (0, 1, 3)


def test_questions_that_share_few_words_are_not_near_and_marks_without_words_are_no_fault() -> None:
    other = "How many legs does a spider have?"
    assert near({"How many legs has a spider?", "Who wrote Ulysses?"}, {other}) == set()
    assert near({"how many LEGS does a spider, have"}, {other}) == {"how many LEGS does a spider, have"}
    assert near({"?", "!"}, {"…"}) == near({"why"}, set()) == set()


def test_near_ones_are_those_that_a_cosine_by_hand_finds() -> None:
    """Two texts and their three words and two pairs of words each; idf = ln((1 + n) / (1 + df)) + 1, as scikit-learn
    documents it."""
    import math

    shared, own = math.log(3 / 3) + 1, math.log(3 / 2) + 1
    # alpha, beta and "alpha beta" stand in both; gamma, "beta gamma" and delta, "beta delta" in one.
    cosine = 3 * shared**2 / (3 * shared**2 + 2 * own**2)
    assert near({"alpha beta gamma"}, {"alpha beta delta"}, least=cosine - 1e-6) == {"alpha beta gamma"}
    assert near({"alpha beta gamma"}, {"alpha beta delta"}, least=cosine + 1e-6) == set()


@pytest.mark.parametrize("least", [0.4, 0.7, 0.9])
def test_leaving_comparisons_out_loses_no_pair_of_texts_that_comparing_all_finds(least: float) -> None:
    import random

    from sklearn.feature_extraction.text import TfidfVectorizer

    rng = random.Random(3)
    words = [f"w{int(rng.paretovariate(0.7))}" for _ in range(4000)]  # few are common and many rare, as in a language
    texts = [" ".join(rng.choices(words, k=rng.randint(1, 25))) for _ in range(300)]
    texts += [" ".join(w for w in text.split() if rng.random() < 0.93) or "w1" for text in texts]
    vectors = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"(?u)\b\w+\b").fit_transform(texts)
    cosines = (vectors @ vectors.T).toarray()
    every = [(i, j) for i in range(600) for j in range(i + 1, 600) if cosines[i, j] >= least]
    assert len(every) > 30
    assert alike(texts, least=least) == every
    assert near(texts[:300], texts[300:], least=least) == {texts[i] for i, j in every if i < 300 <= j} | (
        set(texts[:300]) & set(texts[300:])
    )


def test_a_benchmark_gives_its_questions_in_any_form_ties_and_conversations_included(tmp_path: Path) -> None:
    rows: dict[str, list[dict[str, object]]] = {
        "judgebench.jsonl": [
            {"question": "q one", "response_A": "a", "response_B": "b", "label": "A>B"},
            {"question": "q tie", "response_A": "a", "response_B": "b", "label": "A=B"},
        ],
        "bare.jsonl": [{"question": "q one"}, {"question": "q tie"}],
        "instructions.jsonl": [{"instruction": "q one", "x": 1}, {"prompt": [{"role": "user", "content": "q tie"}]}],
    }
    for name, content in rows.items():
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in content))
        found = benchmark(tmp_path / name)
        assert (found.name, found.questions) == (name, ("q one", "q tie"))
        assert found.keys == {question_key("Q  one"), question_key("q TIE")}


def test_a_benchmark_of_pairs_gives_its_long_answers_too(tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_text(json.dumps({"prompt": "q", "chosen": LONG, "rejected": "No."}) + "\n")
    assert benchmark(tmp_path / "b.jsonl").answers == (LONG,)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"text": "q"}\n', r"row 1: no question \(columns: text\). Name one 'question' or 'prompt'"),
        ('{"question": "q"}\n{"question": ""}\n', "row 2: no question"),
        ('{"question": "q"}\n{"quest', "row 2: the line is not whole JSON"),
        ('{"question": 3}\n', "row 1, field 'question'"),
        ("", "there are no rows"),
    ],
)
def test_a_benchmark_without_a_question_is_one_sentence(tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "bench.jsonl"
    file.write_text(content)
    with pytest.raises(InputError, match=said):
        benchmark(file)


# Train and test


@pytest.mark.parametrize(
    ("n", "share", "expected"), [(10, 0.1, 1), (10, 0.25, 3), (2, 0.01, 1), (2, 0.99, 1), (5, 0, 0)]
)
def test_the_test_part_has_its_share_of_families_but_one_at_least_and_never_all(
    n: int, share: float, expected: int
) -> None:
    names = [f"f{i}" for i in range(n)]
    found = for_test(names, share=share, seed=1)
    assert len(found) == expected
    assert found == for_test([*reversed(names), *names], share=share, seed=1)


def test_another_seed_draws_other_families_and_one_family_cannot_be_split() -> None:
    names = [f"f{i}" for i in range(40)]
    assert for_test(names, share=0.5, seed=1) != for_test(names, share=0.5, seed=2)
    with pytest.raises(UsageError, match=r"1 group of questions is left.*--test 0"):
        for_test(["f", "f"], share=0.1, seed=0)


# The mix


@pytest.mark.parametrize(
    ("rewritten", "untouched", "mix", "expected"),
    [
        (60, 60, 0.5, (60, 60)),
        (60, 100, 0.25, (60, 20)),  # 20 of 80
        (60, 100, 0.0, (60, 0)),
        (60, 100, 0.75, (33, 100)),  # untouched ones are scarce: 100 of 133
        (60, 10, 0.5, (10, 10)),
        (9, 100, 0.9, (9, 81)),
        (0, 50, 0.5, (0, 0)),
        (50, 0, 0.5, (0, 0)),
    ],
)
def test_the_mix_by_hand(rewritten: int, untouched: int, mix: float, expected: tuple[int, int]) -> None:
    assert amounts(rewritten, untouched, mix=mix) == expected


def _dealt(name: str, arm: str) -> Dealt:
    return Dealt(pair(name, f"question {name}"), Arm(arm, "bias"), Rewrite(name, arm, f"new {name}"))


def test_what_is_cut_leaves_biases_in_balance_and_untouched_ones_that_were_not_rewritten_come_first() -> None:
    items = [_dealt(f"a{i}", "a") for i in range(8)] + [_dealt(f"b{i}", "b") for i in range(2)]
    plain = [d.pair for d in items[:3]] + [pair(f"u{i}", f"plain {i}") for i in range(3)]
    rewritten, untouched = mixed(items, plain, mix=0.6, seed=0)
    assert len(untouched) == 6
    assert Counter(d.arm.id for d in rewritten) == {"a": 2, "b": 2}  # 6 of 10 are untouched
    rewritten, untouched = mixed(items[:4], plain, mix=0.4, seed=0)
    assert (len(rewritten), {p.id for p in untouched}) == (4, {"u0", "u1", "u2"})


def test_any_head_of_an_even_list_holds_each_kind_as_often_as_can_be() -> None:
    kinds = "aaaaaabbbcc"
    ordered = evenly(range(11), of=lambda i: kinds[i], by=lambda i: (b"", i))
    for n in range(12):
        counts = Counter(kinds[i] for i in ordered[:n])
        left = {kind: kinds.count(kind) - counts[kind] for kind in "abc"}
        assert (
            max(counts[k] for k in "abc") - min(counts[k] for k in "abc" if left[k]) <= 1
            if any(left.values())
            else True
        )


# Dealing


def _bias(id: str, *, code: bool = False) -> Bias:
    return Bias(
        id=id, name=id, definition="d", manifestations=["m"], edit="emoji", code=code, family="formal", source=["s"],
        status="seed",
    )  # fmt: skip


class Desk:
    """Rewrites by a rule of the test: text of the pair and arm, or a fault; an arm may be void from some round on."""

    def __init__(self, fails: set[tuple[str, str]] = frozenset(), void: str | None = None) -> None:  # type: ignore[assignment]
        self.fails, self.void = fails, void
        self.asked: list[list[tuple[str, list[str]]]] = []

    def __call__(self, bench: Bench, work: Sequence[tuple[Arm, Sequence[Pair]]]) -> None:
        self.asked.append([(arm.id, [p.id for p in pairs]) for arm, pairs in work])
        for arm, pairs in work:
            for p in pairs:
                bad = (arm.id, p.id) in self.fails
                text = None if bad else f"{p.rejected}, says {arm.id}"
                bench.rewrites.setdefault(arm.id, {})[p.id] = Rewrite(p.id, arm.id, text, ("length",) if bad else ())
            if arm.id == self.void:
                bench.void[arm.id] = "broke the truth"


ARMS = [Arm(f"bias:{name}", "bias", bias=name, edit="emoji") for name in "xyz"]
BIASES = {name: _bias(name) for name in "xyz"}
PAIRS = [pair(f"p{i}", f"q{i}") for i in range(12)]


def test_every_bias_gets_as_many_pairs_and_each_pair_one_row_and_no_more_is_asked() -> None:
    desk = Desk()
    dealt, _ = deal_out(PAIRS, ARMS, BIASES, desk, per_pair=1, seed=3)
    assert [d.pair.id for d in dealt] == [p.id for p in PAIRS]
    assert Counter(d.arm.bias for d in dealt) == {"x": 4, "y": 4, "z": 4}
    assert len(desk.asked) == 1
    again, _ = deal_out([*reversed(PAIRS)], ARMS, BIASES, Desk(), per_pair=1, seed=3)
    assert {(d.pair.id, d.arm.id) for d in again} == {(d.pair.id, d.arm.id) for d in dealt}
    two, _ = deal_out(PAIRS, ARMS, BIASES, Desk(), per_pair=2, seed=3)
    assert Counter(d.arm.bias for d in two) == {"x": 8, "y": 8, "z": 8}
    assert set(Counter(d.pair.id for d in two).values()) == {2}


def test_a_failed_rewrite_goes_to_the_next_bias_and_a_pair_without_any_is_lost() -> None:
    every = {(arm.id, "p0") for arm in ARMS}
    first = {d.pair.id: d.arm.id for d in deal_out(PAIRS, ARMS, BIASES, Desk(), per_pair=1, seed=3)[0]}
    fails = every | {(first["p1"], "p1")}
    desk = Desk(fails)
    dealt, bench = deal_out(PAIRS, ARMS, BIASES, desk, per_pair=1, seed=3)
    found = {d.pair.id: d.arm.id for d in dealt}
    assert "p0" not in found
    assert found["p1"] != first["p1"]
    assert {id: arm for id, arm in found.items() if id != "p1"} == {
        id: arm for id, arm in first.items() if id not in ("p0", "p1")
    }
    counts = Counter(found.values())
    assert counts[found["p1"]] == min(counts[arm.id] for arm in ARMS if arm.id != first["p1"]) + 1
    assert sorted(id for _, ids in desk.asked[1] for id in ids) == ["p0", "p1"]
    assert desk.asked[2] == [(arm, ["p0"]) for arm, ids in desk.asked[2]]
    assert sum(len(of_arm) for of_arm in bench.rewrites.values()) == 12 + 2 + 1


def test_what_a_void_arm_wrote_is_not_used_and_its_pairs_go_on_to_other_biases() -> None:
    dealt, _ = deal_out(PAIRS, ARMS, BIASES, Desk(void="bias:y"), per_pair=1, seed=3)
    assert Counter(d.arm.bias for d in dealt)["y"] == 0
    assert {d.pair.id for d in dealt} == {p.id for p in PAIRS}


def test_a_bias_of_code_goes_into_code_alone_and_all_keep_as_even_as_they_can() -> None:
    code = [replace(p, rejected=f"```python\ndef f(n):\n    return n + {i}\n```") for i, p in enumerate(PAIRS[:4])]
    biases = {**BIASES, "x": _bias("x", code=True)}
    dealt, _ = deal_out([*code, *PAIRS[4:]], ARMS, biases, Desk(), per_pair=1, seed=3)
    counts = Counter(d.arm.bias for d in dealt)
    assert {d.pair.id for d in dealt if d.arm.bias == "x"} <= {p.id for p in code}
    assert counts["x"] >= 2
    assert abs(counts["y"] - counts["z"]) <= 1


def test_a_rewrite_that_says_the_right_answer_or_the_same_again_is_no_row() -> None:
    class Copies(Desk):
        def __call__(self, bench: Bench, work: Sequence[tuple[Arm, Sequence[Pair]]]) -> None:
            for arm, pairs in work:
                for p in pairs:
                    text = f" {p.chosen}.\n" if arm.bias == "x" else f"“{p.rejected}” again"
                    bench.rewrites.setdefault(arm.id, {})[p.id] = Rewrite(p.id, arm.id, text)

    assert gist("It's so, he said.") == gist("Its so he said") != gist("It's **so**, he said.")
    dealt, _ = deal_out(PAIRS, ARMS, BIASES, Copies(), per_pair=3, seed=3)
    assert Counter(d.pair.id for d in dealt) == dict.fromkeys((p.id for p in PAIRS), 1)
    assert {d.arm.bias for d in dealt} <= {"y", "z"}


def test_a_conversation_is_compared_by_all_of_its_turns() -> None:
    talk = Pair("t", (Message("user", "hi"), Message("assistant", "yes?"), Message("user", "why")), "r", "w", "g")
    alone = pair("u", "why", "h")
    one = Apart("b", "benchmark", (), frozenset({question_key("why")}))
    kept, _ = left_out([talk, alone], [one])
    assert [p.id for p in kept] == ["t"]
