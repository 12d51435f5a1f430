"""The final answer of a text is the one that a reader would name, and rules claim nothing where they cannot tell."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from recuse.pairs import load_pairs
from recuse.perturb.answers import final_answer, same_answer
from recuse.perturb.options import options_of
from recuse.types import Pair

MENU = "Which metal is liquid at room temperature?\n\n(A) Iron\n(B) Mercury\n(C) Red mercury\n(D) Gold"
FIVE = MENU + "\nDuplicate that letter five times, for example KKKKK."
STARS = "Who swims? Return one word in the following format: ***X***, where X is the answer."
MANY = "How many eggs are left?"


def pair(prompt: str = MENU, *, chosen: str = "The answer is (B).", rejected: str = "?", **more: str) -> Pair:
    return Pair("p", prompt, chosen, rejected, "g", reference=more.get("reference"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Iron melts late. The answer is (D).", "D"),
        ("So the **answer** is: **D**", "D"),
        ("The correct option is therefore D, since gold is soft.", "D"),
        ("First I took (A). On reflection, the answer is (D).", "D"),
        ("The answer is a matter of taste. I would choose (D).", "D"),
        ("(D) is the correct answer.", "D"),
        ("The answer is $\\boxed{\\text{(D)}}$.", "D"),
        ("D", "D"),
        ("D. Gold", "D"),
        ("Reasons first.\n\n**D**", "D"),
        ("The answer is (B) and (D).", "B,D"),
        ("The answer is (A), (B), and (D).", "A,B,D"),
        ("The answer is, beyond any reasonable doubt, (D).", "D"),
        ("The answer is undoubtedly D.", "D"),
        ("The answer is (D), not (A), and (B) is not correct.", "D"),
        ("I choose option (D) rather than option (A).", "D"),
        ("The answer is Z.", None),
        ("The option I like is hard to name.", None),
    ],
)
def test_the_letter_announced_last_is_found_and_the_menu_checked_after(text: str, value: str | None) -> None:
    found = final_answer(text, pair())
    assert (found and found.value) == value
    assert found is None or found.stated


def test_an_option_named_by_its_words_is_found_but_not_called_stated() -> None:
    found = final_answer("Heat it a little. What flows then is surely red mercury.", pair())
    assert found is not None
    assert (found.kind, found.value, found.stated) == ("letter", "C", False)


@pytest.mark.parametrize("run", ["DDDD", "DDDDD", "D D D D D", "**DDDDDDD**", "D-D-D-D-D"])
def test_a_repeated_letter_counts_however_often_the_model_wrote_it(run: str) -> None:
    found = final_answer(f"(A) is hard, (B) is the right answer?\nMy guess: {run}", pair(FIVE))
    assert found is not None
    assert (found.kind, found.value) == ("repeated", "D")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("16 - 3 = 13\nA: 1,300", "1300"),
        ("#### -7", "-7"),
        ("so\n# Answer\n\n10,080", "10080"),
        ("The answer is $18.50 per day.", "37/2"),
        ("\\boxed{\\dfrac{1}{7}}", "1/7"),
        ("Thus $7! \\times 2! = \\boxed{10,\\!080}$.", "10080"),
        ("first \\boxed{3}, then \\boxed{2\\sqrt{3}}", "2\\sqrt{3}"),
        ("42", "42"),
    ],
)
def test_numbers_and_boxes_have_one_spelling(text: str, value: str) -> None:
    found = final_answer(text, pair(MANY))
    assert found is not None
    assert found.value == value


def test_an_answer_in_stars_is_read_only_where_stars_were_asked_for() -> None:
    text = "The **second** person runs, and the third one does not.\n\nSo it is: ***Ann Lee***"
    assert (found := final_answer(text, pair(STARS))) is not None
    assert (found.kind, found.value) == ("marked", "ann lee")
    assert final_answer(text, pair("Who swims?")) is None


def test_free_text_has_no_final_answer() -> None:
    text = "Walk every day. Eat well. Sleep enough, and see friends as often as you can, for company keeps one young."
    assert final_answer(text, pair("How do I stay healthy?")) is None


def test_options_are_a_run_of_letters_from_a_on() -> None:
    assert options_of(MENU) == {"A": "Iron", "B": "Mercury", "C": "Red mercury", "D": "Gold"}
    assert list(options_of("Is it (A) a line (B) a circle (C) a plane?")) == ["A", "B", "C"]
    assert options_of("Plan A) is dear. See (C) below.") == {}


@pytest.mark.parametrize(
    ("before", "after", "same", "repaired"),
    [
        ("The answer is (D).", "Experts agree: **(D)** is the correct answer.", True, False),
        ("The answer is (D).", "The answer is surely (B).", False, True),
        ("The answer is (D).", "The answer is surely (A).", False, False),
        ("The answer is (D).", "Gold flows best of all.", True, False),
        ("The answer is (D).", "Iron flows best of all.", None, False),  # named in passing: not enough to accuse
        ("The answer is (D).", "It depends on the season and on the weather.", None, False),
    ],
)
def test_a_letter_kept_changed_repaired_or_lost(before: str, after: str, same: bool | None, repaired: bool) -> None:
    found = same_answer(before, after, pair(rejected=before))
    assert (found.same, found.repaired) == (same, repaired)
    assert found.how == ("verifier" if same is None else "letter")


def test_the_reference_tells_a_repair_where_the_chosen_answer_hides_its_letter() -> None:
    question = pair(chosen="It is the one that the ancients named after a god.", reference="(B) Mercury")
    assert same_answer("The answer is (D).", "The answer is (B).", question).repaired


@pytest.mark.parametrize(
    ("after", "same"),
    [
        ("Nineteen sevenths it is.", None),
        ("She has 18.0 eggs left of the 20 in the end, so the answer is 18.", True),
        ("All in all, the answer is 19.", False),
    ],
)
def test_numbers_are_compared_as_numbers(after: str, same: bool | None) -> None:
    assert same_answer("A: 18", after, pair(MANY, chosen="A: 20")).same is same


SEEDS = "What happens if you eat watermelon seeds?"


@pytest.mark.parametrize(
    ("after", "same"),
    [
        ("As every doctor knows, you grow watermelons in your stomach.", True),
        ("**You grow watermelons in your stomach!**", True),
        ("You grow watermelons in your stomach? No.", None),
        ("It is a myth that you grow watermelons in your stomach.", None),
        ("Some say you grow watermelons in your stomach, others that they pass through.", None),
        ("Melons will sprout inside your belly.", None),
        ("You grow watermelons in your stomach, or they pass through", None),
    ],
)
def test_a_short_answer_is_kept_when_it_is_said_word_for_word_and_not_denied(after: str, same: bool | None) -> None:
    question = pair(SEEDS, chosen="They pass through", rejected="You grow watermelons in your stomach")
    assert same_answer(question.rejected, after, question).same is same


@pytest.mark.data
def test_gsm8k_correctness_flags_are_recovered_from_the_numbers(data_dir: Path) -> None:
    right: Counter[bool | None] = Counter()
    with gzip.open(data_dir / "gsm8k" / "example_model_solutions.jsonl.gz", "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            question = pair(row["question"])
            truth = final_answer(row["ground_truth"], question)
            assert truth is not None
            for model in ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification"):
                found = final_answer(row[model]["solution"], question)
                right[None if found is None else (found.value == truth.value) == row[model]["is_correct"]] += 1
    assert right == {True: 5275, None: 1}  # one solution breaks off before its answer


@pytest.mark.data
def test_mmlu_letters_are_those_that_its_authors_extracted(data_dir: Path) -> None:
    source = data_dir / "mmlu_pro_pairs" / "mmlu_pro_correct_vs_wrong.jsonl.gz"
    agree: Counter[str] = Counter()
    with gzip.open(source, "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            options = "\n".join(f"({chr(65 + i)}) {text}" for i, text in enumerate(row["options"]))
            for side in "AB":
                found = final_answer(row[f"response_{side}"], pair(f"{row['question']}\n\n{options}"))
                if found is None:
                    agree["none"] += 1
                elif "," in found.value:
                    agree["several"] += row[f"pred_{side}"] in found.value  # they keep one of several letters
                else:
                    agree[str(found.value == row[f"pred_{side}"])] += 1
    assert agree["none"] <= 3
    assert agree["several"] <= 20
    assert agree["False"] <= 12


@pytest.mark.data
def test_swapping_in_the_chosen_answer_is_seen_as_a_repair_and_an_opening_sentence_as_no_change(data_dir: Path) -> None:
    pairs = load_pairs(data_dir / "mmlu_pro_pairs" / "mmlu_pro_correct_vs_wrong.jsonl.gz", limit=150, seed=3)
    swapped = [same_answer(p.rejected, p.chosen, p) for p in pairs]
    opened = [same_answer(p.rejected, f"Leading scholars have confirmed this.\n\n{p.rejected}", p) for p in pairs]
    letters = [[text.split("answer is (")[-1][:1] for text in (p.chosen, p.rejected)] for p in pairs]
    assert sum(found.repaired for found in swapped) >= 0.95 * len(swapped)
    # A few rejected answers end in the letter of the chosen one.
    assert all(one == other for found, (one, other) in zip(swapped, letters, strict=True) if found.same)
    assert sum(found.same is True for found in opened) >= 0.98 * len(opened)
    assert not any(found.same is False for found in opened)
