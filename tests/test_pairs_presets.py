"""Each published form, written out by hand, is recognised from its columns and read as its publication means it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recuse.errors import InputError
from recuse.pairs import PairSet, load_pairs
from recuse.types import Message


def load(tmp_path: Path, *rows: dict[str, Any], **options: Any) -> PairSet:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return load_pairs(path, **options)


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


@pytest.mark.parametrize("name", ["prompt", "question", "instruction", "input"])
def test_chosen_rejected_with_a_plain_prompt(tmp_path: Path, name: str) -> None:
    found = load(tmp_path, {name: "2 + 2?", "chosen": "4", "rejected": "5", "domain": "sums", "reference": "four"})
    (pair,) = found
    assert (found.preset, pair.prompt, pair.chosen, pair.rejected) == ("chosen-rejected", "2 + 2?", "4", "5")
    assert (pair.domain, pair.reference, pair.gold, dict(pair.meta)) == ("sums", "four", None, {})
    assert found.balance == {"A": 0, "B": 0, "unknown": 1}


def test_transcripts_become_messages_and_last_answers(tmp_path: Path) -> None:
    shared = "\n\nHuman: Hi.\n\nAssistant: Hello!\n\nHuman: A pen\n\nplease.\n\nAssistant:"
    (pair,) = load(tmp_path, {"chosen": shared + " Here is one.", "rejected": shared + " Here. Human: is all I say."})
    talk = [("user", "Hi."), ("assistant", "Hello!"), ("user", "A pen\n\nplease.")]
    assert pair.prompt == tuple(Message(*turn) for turn in talk)
    assert (pair.chosen, pair.rejected) == ("Here is one.", "Here. Human: is all I say.")


def test_a_transcript_whose_answer_opens_a_second_assistant_turn_is_cut_where_the_two_part(tmp_path: Path) -> None:
    shared = "\n\nHuman: Hi.\n\nAssistant:"
    (pair,) = load(tmp_path, {"chosen": shared + " Key:\n\nAssistant: more", "rejected": shared + " No."})
    assert (pair.prompt, pair.chosen, pair.rejected) == ("Hi.", "Key:\n\nAssistant: more", "No.")


def test_transcripts_with_different_questions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="share no question"):
        load(tmp_path, {"chosen": "\n\nHuman: A\n\nAssistant: x", "rejected": "\n\nHuman: B\n\nAssistant: y"})


def test_conversations_with_the_prompt_apart_inside_or_both_are_the_same_pair(tmp_path: Path) -> None:
    answers = {"chosen": [assistant("4")], "rejected": [assistant("5")]}
    whole = {"chosen": [user("2 + 2?"), assistant("4")], "rejected": [user("2 + 2?"), assistant("5")]}
    plain = {"prompt": "2 + 2?", "chosen": "4", "rejected": "5"}
    forms = [
        plain,
        {"prompt": [user("2 + 2?")], **answers},
        {"prompt": "2 + 2?", **answers},
        whole,
        {"prompt": "2 + 2?", **whole},
        {"prompt": [user("2 + 2?")], **whole},
    ]
    assert len({load(tmp_path, form).hash for form in forms}) == 1


def test_a_conversation_keeps_its_earlier_turns_and_system_message(tmp_path: Path) -> None:
    before = [{"role": "system", "content": "Be brief."}, user("Hi"), assistant("Hello"), user("2 + 2?")]
    row = {"chosen": [*before, assistant("4")], "rejected": [*before, assistant("5")]}
    (pair,) = load(tmp_path, row)
    assert pair.prompt == tuple(Message(m["role"], m["content"]) for m in before)
    (apart,) = load(tmp_path, {"prompt": before[:2], "chosen": row["chosen"][2:], "rejected": row["rejected"][2:]})
    assert apart == pair


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"chosen": [user("a"), assistant("x")], "rejected": [user("b"), assistant("y")]}, "before their last message"),
        ({"chosen": [user("a"), user("x")], "rejected": [user("a"), user("y")]}, "not the assistant's"),
        ({"chosen": [assistant("x")], "rejected": [assistant("y")]}, "no question"),
        ({"prompt": "q", "chosen": [assistant("x")], "rejected": "y"}, "a list, where text is needed"),
    ],
)
def test_conversations_that_are_no_pair(tmp_path: Path, row: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        load(tmp_path, row)


def test_judgebench_and_its_domains(tmp_path: Path) -> None:
    row = {"pair_id": "p", "question": "q", "response_A": "x", "response_B": "y"}
    sources = {"mmlu-pro-law": "knowledge", "mmlu-pro-math": "math", "livebench-math": "math", "new-set": "new-set",
               "livebench-reasoning": "reason", "livecodebench": "code"}  # fmt: skip
    found = load(tmp_path, *({**row, "question": s, "source": s, "label": "B>A"} for s in sources))
    assert found.preset == "judgebench"
    assert [(p.domain, p.chosen, p.gold, p.meta["pair_id"]) for p in found] == [
        (domain, "y", "B", "p") for domain in sources.values()
    ]


def test_rewardbench_both_forms(tmp_path: Path) -> None:
    original = {"prompt": "q", "chosen": "x", "rejected": "y", "subset": "refusals", "chosen_model": "m", "id": 3}
    found = load(tmp_path, original)
    assert (found.preset, found[0].domain, found[0].gold) == ("rewardbench", "refusals", None)
    assert found[0].meta == {"subset": "refusals", "chosen_model": "m", "id": 3}
    other = {
        "question": "q",
        "response_A": "x",
        "response_B": "y",
        "label": 1,
        "subset": "refusals",
        "domain": "Safety",
    }
    again = load(tmp_path, other)
    assert (again.preset, again[0].domain, again[0].gold) == ("rewardbench", "Safety", "A")
    assert again[0].meta["subset"] == "refusals"
    assert again[0].id == found[0].id


def test_llmbar_and_evalbiasbench(tmp_path: Path) -> None:
    (pair,) = load(tmp_path, {"input": "q", "output_1": "x", "output_2": "y", "label": 2, "subset": "Manual"})
    assert (pair.chosen, pair.domain, pair.gold) == ("y", "Manual", "B")
    row = {"bias": "length bias", "instruction": "q", "response1": "x", "response2": "y", "label": 1}
    path = tmp_path / "bench.json"
    path.write_text(json.dumps({"length bias": [row], "other": [{**row, "instruction": "r", "bias": "other"}]}))
    found = load_pairs(path)
    assert found.preset == "evalbiasbench"
    assert found.domains == {"length bias": 1, "other": 1}
    assert found[1].prompt == "r"


def test_mmlu_pro_pairs_show_their_options(tmp_path: Path) -> None:
    row = {"question": "Which?", "options": ["one", "two"], "answer": "B", "category": "law", "label": "B",
           "response_A": "It is (A)", "response_B": "It is (B)"}  # fmt: skip
    found = load(tmp_path, row)
    (pair,) = found
    assert found.preset == "mmlu-pro-pairs"
    assert pair.prompt == "Which?\n\n(A) one\n(B) two"
    assert (pair.chosen, pair.reference, pair.domain) == ("It is (B)", "(B) two", "law")
    with pytest.raises(InputError, match="field 'options'"):
        load(tmp_path, {**row, "options": "one, two"})


def test_truthfulqa_takes_the_best_and_the_first_wrong_answer(tmp_path: Path) -> None:
    row = {"Question": "q", "Best Answer": "b", "Incorrect Answers": " w1 ; w2", "Category": "Law"}
    found = load(tmp_path, row)
    (pair,) = found
    assert (found.preset, pair.chosen, pair.rejected, pair.domain) == ("truthfulqa", "b", "w1", "Law")
    with pytest.raises(InputError, match="field 'Incorrect Answers'"):
        load(tmp_path, {**row, "Incorrect Answers": "; w2"})


def mt_bench(winner: str, *, turn: int = 1, a: str = "x", b: str = "y", second: str = "And?") -> dict[str, Any]:
    return {
        "question_id": 81, "model_a": "m", "model_b": "n", "winner": winner, "judge": "expert_1", "turn": turn,
        "conversation_a": [user("q"), assistant(a), user("And?"), assistant(a * 2)],
        "conversation_b": [user("q"), assistant(b), user(second), assistant(b * 2)],
    }  # fmt: skip


def test_mt_bench_turns_ties_and_votes(tmp_path: Path) -> None:
    found = load(
        tmp_path,
        mt_bench("model_b"),
        mt_bench("tie"),
        mt_bench("model_a"),
        mt_bench("model_b"),
        mt_bench("model_a", turn=2),
        mt_bench("model_a", a="u", b="v"),
        mt_bench("model_a", a="v", b="u"),
        mt_bench("tie (inconsistent)"),
    )
    assert found.preset == "mt-bench"
    assert [(p.chosen, p.rejected, p.gold) for p in found] == [
        ("y", "x", "B"),
        ("Assistant: x\n\nUser: And?\n\nAssistant: xx", "Assistant: y\n\nUser: And?\n\nAssistant: yy", "A"),
    ]
    assert found.groups == 1
    assert found.notes == [
        "6 rows are votes on 3 pairs; the majority counts.",
        "1 pair was left out: as many votes for one answer as for the other.",
        "2 rows were left out: a tie names no better answer.",
        "The better answer stood first in 1 of 2 pairs of the source.",
        "Questions repeat: 2 pairs form 1 group.",
    ]
    with pytest.raises(InputError, match="different questions"):
        load(tmp_path, mt_bench("model_a", turn=2, second="Why?"))


def test_a_majority_against_the_first_vote_turns_the_pair(tmp_path: Path) -> None:
    (pair,) = load(tmp_path, mt_bench("model_a"), mt_bench("model_b"), mt_bench("model_a", a="y", b="x"))
    assert (pair.chosen, pair.rejected, pair.gold) == ("y", "x", "B")


def test_pandalm_counts_what_it_leaves_out(tmp_path: Path) -> None:
    def row(i: int, votes: tuple[object, ...], **more: object) -> dict[str, Any]:
        names = {f"annotator{k}": vote for k, vote in enumerate(votes, start=1)}
        return {"idx": i, "instruction": f"do {i}", "input": "it", "response1": "x", "response2": "y", **names, **more}

    found = load(
        tmp_path,
        row(0, (2, 2, 1)),
        row(1, (0, 0, 1)),
        row(2, (0, 1, 2)),
        row(3, (1, 1, 1), response2=""),
        row(4, (1, 1, 1), response1=True),
        row(5, (1, 0, 1), input=""),
    )
    assert [(p.prompt, p.chosen, p.meta["idx"]) for p in found] == [("do 0\n\nit", "y", 0), ("do 5", "x", 5)]
    assert found.notes == [
        "1 row was left out: a tie names no better answer.",
        "1 row was left out: empty text.",
        "1 row was left out: the annotators have no majority.",
        "1 row was left out: wrong type.",
        "The better answer stood first in 1 of 2 pairs of the source.",
    ]
    with pytest.raises(InputError, match="field 'annotator3'"):
        load(tmp_path, row(0, (1, 1, 3)))


def test_alpaca_eval_preferences(tmp_path: Path) -> None:
    row = {"instruction": "q", "output_1": "x", "output_2": "y"}
    values = [1, 2.0, 1.0003, 1.9, 1.5, None]
    found = load(tmp_path, *({**row, "instruction": f"q{i}", "preference": v} for i, v in enumerate(values)))
    assert [p.chosen for p in found] == ["x", "y", "x", "y"]
    assert found.notes == [
        "1 row was left out: a tie names no better answer.",
        "1 row was left out: no preference is recorded.",
        "The better answer stood first in 2 of 4 pairs of the source.",
    ]
    for wrong in (0, 3, "x", True):
        with pytest.raises(InputError, match="field 'preference'"):
            load(tmp_path, {**row, "preference": wrong})
