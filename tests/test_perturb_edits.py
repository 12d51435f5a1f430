"""Rule-based edits carry a bias and leave the final answer where it was; their meaningless twins match them in size."""

from __future__ import annotations

import random
import string
from collections import Counter
from pathlib import Path

import pytest

from recuse import assets
from recuse.errors import UsageError
from recuse.pairs import load_pairs
from recuse.perturb import filler
from recuse.perturb.answers import final_answer, same_answer
from recuse.perturb.code_edits import CODE_EDITS
from recuse.perturb.edits import EDITS, apply_edit, meaningless
from recuse.perturb.places import Insertion, insert, insertions_of, units
from recuse.types import Pair
from recuse.verdict.noanswer import is_refusal

PROMISED = [
    *("padding", "verbosity", "citation", "authority", "markdown", "headings", "numbered_steps", "certainty"),
    *("hedging", "sentiment", "bandwagon", "refinement_label", "model_label", "novelty", "completeness"),
    *("concreteness", "emoji", "emphasis", "self_praise", "sycophancy", "technical_words", "distraction"),
    *("attack_verdict", "attack_override", "attack_format", "attack_null", "attack_rubric", "attack_reference"),
]
STEPS = "We add two, e.g. Two apples. Then one goes away.\n\nSo $a. B$ is left. The rest follows.\n\nThe answer is 7."
CODE = "def add(a, b):\n    total = a + b\n    return total"


def pair(rejected: str, prompt: str = "How many are left?", id: str = "p") -> Pair:
    return Pair(id, prompt, "The answer is 8.", rejected, "g")


def demo() -> list[Pair]:
    return list(load_pairs(str(assets.data("demo_pairs.jsonl"))))


def test_every_edit_that_was_promised_exists_and_no_other() -> None:
    assert sorted(name for name, edit in EDITS.items() if edit.code is None) == sorted(PROMISED)
    assert sorted(EDITS.keys() - set(PROMISED)) == sorted(CODE_EDITS)
    assert {name for name in EDITS if EDITS[name].changes_length} == {"padding", "verbosity"}
    assert {name for name in EDITS if EDITS[name].attack} == {n for n in PROMISED if n.startswith("attack_")}


def test_an_unknown_edit_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"no edit 'authorty'.*citation, authority"):
        apply_edit("authorty", pair(STEPS), seed=0)


@pytest.mark.parametrize("name", PROMISED)
def test_an_edit_is_the_same_every_time_and_its_wording_hangs_on_pair_and_seed(name: str) -> None:
    assert apply_edit(name, pair(STEPS), seed=3) == apply_edit(name, pair(STEPS), seed=3)
    by_pair = {apply_edit(name, pair(STEPS, id=f"p{i}"), seed=3) for i in range(40)}
    by_seed = {apply_edit(name, pair(STEPS), seed=i) for i in range(40)}
    if name == "attack_null":  # a constant, by definition
        assert len(by_pair) == len(by_seed) == 1
    else:
        assert len(by_pair) >= 3
        assert len(by_seed) >= 3


@pytest.mark.parametrize("name", PROMISED)
def test_an_edit_takes_nothing_away(name: str) -> None:
    for text in (STEPS, CODE, "Sydney is the capital.", "D", *(p.rejected for p in demo())):
        edited = iter(apply_edit(name, pair(text), seed=1))
        assert all(letter in edited for letter in text), text  # a subsequence


def _texts_of(p: Pair, name: str) -> list[str]:
    edited = apply_edit(name, p, seed=0)
    return [] if edited == p.rejected else [edited, meaningless(p, edited, seed=0, draw=0)]


def test_on_the_demo_pairs_the_final_answer_is_the_same_before_and_after() -> None:
    seen = Counter(
        same_answer(p.rejected, text, p).same for p in demo() for name in PROMISED for text in _texts_of(p, name)
    )
    assert seen[False] == 0
    assert seen[True] > 0.9 * seen.total()


@pytest.mark.data
@pytest.mark.parametrize(
    ("file", "pairs"),
    [
        ("mmlu_pro_pairs/mmlu_pro_correct_vs_wrong.jsonl.gz", 12),
        ("judgebench/judgebench_gpt-4o-2024-05-13.jsonl.gz", 5),
        ("llmbar/llmbar_419.jsonl", 25),
        ("truthfulqa/TruthfulQA.csv", 25),
        ("biasscope/rewardbench_filtered.parquet", 12),
    ],
)
def test_on_real_pairs_the_final_answer_is_the_same_before_and_after(data_dir: Path, file: str, pairs: int) -> None:
    every = list(load_pairs(str(data_dir / file)))
    chosen = random.Random(4).sample([p for p in every if len(p.rejected) < 1500], pairs)
    seen: Counter[bool | None] = Counter()
    for p in chosen:
        found = final_answer(p.rejected, p)
        if found is None or not found.stated:
            continue  # no rule reads it, before or after
        for name in PROMISED:
            seen.update(same_answer(p.rejected, text, p).same for text in _texts_of(p, name))
    assert seen[False] == 0
    assert seen[True] > 0.95 * seen.total() > 0


@pytest.mark.parametrize("name", PROMISED)
def test_the_meaningless_twin_has_the_size_and_the_place_of_the_edit_and_draws_differ(name: str) -> None:
    changed = 0
    for p in [pair(STEPS), pair(CODE), pair("- one\n- two"), *demo()[:20]]:
        edited = apply_edit(name, p, seed=5)
        if edited == p.rejected:
            continue
        changed += 1
        twins = [meaningless(p, edited, seed=5, draw=draw) for draw in range(4)]
        assert len({edited, p.rejected, *twins}) == 6
        places = [one.at for one in insertions_of(p.rejected, edited)]
        for twin in twins:
            assert abs(len(twin) - len(edited)) <= 3
            assert [one.at for one in insertions_of(p.rejected, twin)] == places
        assert meaningless(p, edited, seed=5, draw=2) == twins[2]
    assert changed > 0


def test_filler_exists_at_every_length_with_wordings_to_draw_from() -> None:
    for closing in (False, True):
        for n in range(1, 400):
            drawn = {filler._exactly(n, random.Random(1), draw, closing=closing) for draw in range(3)}
            assert {len(text) for text in drawn} == {n}
            assert len(drawn) == 3, n


def test_no_phrase_denies_declines_or_announces_an_answer() -> None:
    denials = {"not", "no", "never", "false", "wrong", "incorrect", "however", "instead", "rather", "actually"}
    phrases = [phrase for edit in EDITS.values() for phrase in edit.phrases]
    empty = list(filler._words()["sentences"])
    for phrase in phrases + empty:
        words = {word.strip(string.punctuation).casefold() for word in phrase.split()}
        assert not words & denials, phrase
        assert not is_refusal(phrase), phrase
        options = pair(phrase, prompt="Which?\n(A) one\n(B) two\n(C) three")
        found = final_answer(phrase, options)
        assert found is None or not found.stated, phrase


def test_code_that_is_the_whole_answer_stays_the_code_of_the_answer() -> None:
    for name in PROMISED:
        edited = apply_edit(name, pair(CODE), seed=0)
        if EDITS[name].place == "within":
            assert edited == CODE  # cannot apply
        else:
            assert f"```\n{CODE}\n```" in edited


def test_an_answer_read_off_its_last_line_keeps_that_line_last() -> None:
    menu = "Which?\n(A) one\n(B) two"
    letter = pair("One is small.\n\n**B**", prompt=menu)
    headed = pair("One and two are three.\n\n### Final Answer\n**3, 4**")
    for name in PROMISED:
        assert apply_edit(name, letter, seed=0).endswith("\n\n**B**")
        assert apply_edit(name, headed, seed=0).endswith("### Final Answer\n**3, 4**")


def test_layout_leaves_formulas_lists_and_the_last_sentence_alone() -> None:
    assert [STEPS[u.start : u.end] for u in units(STEPS)] == [
        "We add two, e.g. Two apples.",
        "Then one goes away.",
        "So $a. B$ is left.",
        "The rest follows.",
        "The answer is 7.",
    ]
    assert units("- one\n2. two\n| a | b |\n```\nText. More.\n```\n\\[\nx. Y\n\\]") == []
    steps = apply_edit("numbered_steps", pair(STEPS), seed=0)
    assert steps.endswith("\n\nThe answer is 7.")
    assert steps.count("\n") == STEPS.count("\n") + 2


def test_bold_is_not_added_where_bold_marks_the_answer() -> None:
    stars = pair(STEPS, prompt="Reply with one word in bold.")
    assert apply_edit("emphasis", stars, seed=0) == STEPS
    assert "**" in apply_edit("emphasis", pair(STEPS), seed=0)


def test_insertions_are_found_again_in_the_fewest_pieces() -> None:
    before = "The first cat. The second cat. The third."
    put = [Insertion(4, "**"), Insertion(9, "**"), Insertion(14, " A dog!"), Insertion(len(before), " The end.")]
    after = insert(before, put)
    found = insertions_of(before, after)
    assert insert(before, found) == after
    assert len(found) == 4
    with pytest.raises(ValueError, match="put in"):
        insertions_of(before, after.replace("third", "fourth") + " more and more")
    with pytest.raises(ValueError, match="shorter"):
        insertions_of(before, "The")


def test_padding_grows_with_the_answer_within_its_limits() -> None:
    for length, least, most in ((40, 150, 250), (1000, 500, 600), (5000, 1000, 1300)):
        text = "A word or two here. " * (length // 20)
        for name in ("padding", "verbosity"):
            assert least <= len(apply_edit(name, pair(text), seed=0)) - len(text) <= most
