"""Each published form of recorded verdicts, on rows made by hand: who is preferred, and what the columns imply."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recuse.errors import InputError, MissingExtra, UsageError
from recuse.recorded import Recorded, load_recorded


def load(folder: Path, rows: list[dict[str, Any]], **options: Any) -> Recorded:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return load_recorded(path, **options)


def preferences(found: Recorded) -> list[tuple[str, str | None]]:
    return [(j.order, j.prefers) for j in found.judgements]


def judgebench(order: str, label: str, decision: str | None, text: str) -> dict[str, Any]:
    return {
        "pair_id": "p",
        "judge": "arena_hard",
        "judge_model": "m",
        "label": label,
        "order": order,
        "text": text,
        "decision": decision,
    }


def test_judgebench_decisions_are_as_shown_and_labels_as_published(tmp_path: Path) -> None:
    rows = [judgebench("original", "B>A", "A>B", "[[A>>B]]"), judgebench("swapped", "B>A", "A>B", "[[A>B]]")]
    found = load(tmp_path, rows)
    assert (found.preset, found.judge, found.differ) == ("judgebench-outputs", "m", 0)
    assert preferences(found) == [("BA", "rejected"), ("AB", "chosen")]
    # both names of the judge select, since the protocol and the model are columns of their own
    assert load(tmp_path, rows, where=["judge=m"]).rows == load(tmp_path, rows, where=["judge=arena_hard"]).rows == 2


def test_a_judgebench_row_without_decision_may_still_be_read(tmp_path: Path) -> None:
    rows = [judgebench("original", "A>B", None, "First [[A>B]], no: [[A>>B]]")]
    assert preferences(load(tmp_path, rows)) == [("AB", "chosen")]
    taken = load(tmp_path, rows, reading="recorded")
    assert [(j.prefers, j.reason) for j in taken.judgements] == [(None, "no_verdict")]
    assert (taken.differ, taken.contradict) == (1, 0)


def test_equal_scores_of_a_reward_model_are_a_tie_whatever_was_recorded(tmp_path: Path) -> None:
    base = {"pair_id": "p", "judge_model": "m", "label": "A>B", "decision": "B>A"}
    rows = [{**base, "order": "original", "scores": [2.5, 2.5]}, {**base, "order": "swapped", "scores": [1.0, 3.0]}]
    found = load(tmp_path, rows)
    assert found.preset == "judgebench-scores"
    assert preferences(found) == [("AB", "tie"), ("BA", "chosen")]
    assert [j.logit for j in found.judgements] == [0.0, 2.0]  # in favour of the better answer, in either order
    assert preferences(load(tmp_path, rows, reading="recorded")) == [("AB", "rejected"), ("BA", "chosen")]
    with pytest.raises(InputError, match=r"row 1, field 'scores': not two finite numbers"):
        load(tmp_path, [{**rows[0], "scores": [1.0]}])
    with pytest.raises(InputError, match=r"row 1, field 'scores': not two finite numbers"):
        load(tmp_path, [{**rows[0], "scores": [float("nan"), 1.0]}])


def llmbar(item: str, swap: bool, label: int, winner: str | None, text: str, **more: Any) -> dict[str, Any]:
    row = {"item": item, "judge": "j", "style": "CoT", "swap": swap, "label": label, "winner": winner, "text": text}
    return {**row, "finish": "stop", **more}


def test_llmbar_winners_are_in_the_original_order_and_texts_as_shown(tmp_path: Path) -> None:
    rows = [
        llmbar("Natural_12", False, 1, "1", "Output (a) is better."),
        llmbar("Natural_12", True, 1, "1", "Output (b) is better."),
        llmbar("LLMEval^2_3", True, 2, "1", "Output (a) is better."),  # the text says 2, the reader took 1
    ]
    found = load(tmp_path, rows)
    assert preferences(found) == [("AB", "chosen"), ("BA", "chosen"), ("AB", "chosen")]
    assert found.domains == {"Natural_12": "Natural", "LLMEval^2_3": "LLMEval^2"}
    assert (found.differ, found.contradict) == (1, 1)
    taken = load(tmp_path, rows, reading="recorded")
    assert preferences(taken) == [("AB", "chosen"), ("BA", "chosen"), ("AB", "rejected")]
    assert load(tmp_path, rows, where=["subset=Natural"]).rows == 2


def test_llmbar_replies_cut_or_withheld_keep_that_reason(tmp_path: Path) -> None:
    rows = [
        llmbar("Manual_1", False, 1, None, "Output (a) is", finish="length"),
        llmbar("Manual_2", False, 1, None, "", finish="content management policy"),
    ]
    assert [j.reason for j in load(tmp_path, rows).judgements] == ["truncated", "refused"]


def test_llmbar_styles_are_settings_of_which_one_is_chosen(tmp_path: Path) -> None:
    rows = [llmbar("N_1", False, 1, "1", "Output (a)"), llmbar("N_1", False, 1, "1", "Output (a)", style="Vanilla")]
    with pytest.raises(UsageError, match="--where style=VALUE: CoT, Vanilla"):
        load(tmp_path, rows)
    assert load(tmp_path, rows, where={"style": "Vanilla"}).settings == {"style": "Vanilla"}


def test_llmbar_ratings_are_of_one_answer_at_a_time_and_equal_ratings_tie(tmp_path: Path) -> None:
    row = {"item": "N_1", "judge": "j", "style": "Rating", "label": 2}
    rows = [
        {**row, "winner": "2", "text_1": "3", "text_2": "7", "winner_swapped": "2"},
        {**row, "item": "N_2", "winner": "2", "text_1": "5", "text_2": "5", "winner_swapped": "1"},
        {**row, "item": "N_3", "winner": "1", "text_1": "", "text_2": "0", "winner_swapped": "2"},
    ]
    assert preferences(load(tmp_path, rows)) == [("-", "chosen"), ("-", "tie"), ("-", None)]
    assert preferences(load(tmp_path, rows, reading="recorded")) == [("-", "chosen"), ("-", "tie"), ("-", "tie")]


def amel(repetition: int, swap: bool, truth: str, raw: str, label: str | None, **more: Any) -> dict[str, Any]:
    row = {"judge": "j", "regime": "fresh", "item_id": "n_1", "repetition": repetition, "swap": swap, "file": "f"}
    return {**row, "truth_label_after_swap": truth, "raw_response": raw, "parsed_label": label, **more}


def test_an_amel_error_text_is_a_transport_error_and_no_vote(tmp_path: Path) -> None:
    error = "ERROR: Client error '429 Too Many Requests' for url 'https://example.org/v1/messages?beta=2'"
    rows = [amel(0, False, "2", error, "2"), amel(1, True, "1", "1\n\nResponse A is", "1")]
    found = load(tmp_path, rows)
    assert [(j.order, j.prefers, j.reason) for j in found.judgements] == [
        ("BA", None, "transport_error"),
        ("AB", "chosen", None),
    ]
    assert preferences(load(tmp_path, rows, reading="recorded")) == [("BA", "chosen"), ("AB", "chosen")]


def test_amel_regimes_are_settings_and_its_files_are_pairs_of_one_group(tmp_path: Path) -> None:
    rows = [amel(0, False, "1", "1", "1"), amel(0, False, "1", "2", "2", file="g")]
    found = load(tmp_path, rows)
    assert len({j.pair for j in found.judgements}) == 2
    assert {j.group for j in found.judgements} == {"n_1"}
    with pytest.raises(UsageError, match="--where regime=VALUE: batched, fresh"):
        load(tmp_path, [*rows, amel(1, False, "1", "1", "1", regime="batched")])


def test_pandalm_holds_two_judges_and_a_tie_may_be_right(tmp_path: Path) -> None:
    rows = [
        {"idx": 0, "annotators": [1, 1, 0], "gpt35_result": "1", "pandalm_result": 2},
        {"idx": 1, "annotators": [0, 0, 2], "gpt35_result": "Tie", "pandalm_result": 0},
        {"idx": 2, "annotators": [2, 2, 2], "gpt35_result": "garbage", "pandalm_result": 2},
    ]
    with pytest.raises(UsageError, match="--where judge=VALUE: gpt35, pandalm"):
        load(tmp_path, rows)
    found = load(tmp_path, rows, where=["judge=gpt35"])
    assert [(j.order, j.prefers, j.reason) for j in found.judgements] == [
        ("AB", "chosen", None),
        ("BA", None, "no_verdict"),
    ]
    assert [j.pair for j in found.without_gold] == ["1"]
    assert [row.right for row in found.three_way] == [True, True, False]
    assert found.other is None
    assert any("3 of 3 rows (pandalm) have no text" in note for note in found.notes)
    assert sum(row.right for row in load(tmp_path, rows, where=["judge=pandalm"]).three_way) == 2


def test_alpaca_eval_order_follows_from_the_place_named_and_the_answer_preferred(tmp_path: Path) -> None:
    base = {"annotator": "alpaca_eval_gpt4", "generator_1": "x", "generator_2": "y"}
    first = "[{'model': 'model_1', 'rank': 1}, {'model': 'model_2', 'rank': 2}]"
    rows = [
        {**base, "instruction": "a", "preference": 1.0, "raw": first},
        {**base, "instruction": "b", "preference": 2.0, "raw": first},
        {**base, "instruction": "c", "preference": 1.5, "raw": None},
    ]
    found = load(tmp_path, rows)
    assert (found.preset, found.gold) == ("alpaca-eval", False)
    assert [(j.order, j.prefers, j.reason) for j in found.judgements] == [
        ("AB", "chosen", None),
        ("BA", "rejected", None),
        ("-", None, "missing"),
    ]
    named = {
        **base,
        "annotator": "alpaca_eval_cot_gpt4_turbo_fn",
        "instruction": "a",
        "preference": 1.0,
        "raw": {
            "concise_explanation": "short",
            "ordered_models": [{"model": "M", "rank": 1}, {"model": "m", "rank": 2}],
        },
        "referenced_models": {"M": "output_1", "m": "output_2"},
    }
    assert preferences(load(tmp_path, [named])) == [("BA", "chosen")]
    with pytest.raises(InputError, match="field 'preference': not a number from 1 to 2"):
        load(tmp_path, [{**named, "preference": "first"}])


def test_mt_bench_games_swap_the_models_and_its_error_mark_is_no_verdict(tmp_path: Path) -> None:
    base = {"kind": "pair", "question_id": 81, "turn": 1, "model_1": "x", "model_2": "y", "judge": ["gpt-4", "pair-v2"]}
    rows = [
        {"kind": "single", "question_id": 81, "turn": 1, "model": "x", "judge": ["gpt-4", "single-v1"], "score": 3},
        {**base, "game": "g1", "winner": "model_1", "text": "Thus [[A]]"},
        {**base, "game": "g2", "winner": "model_2", "text": "Thus [[A]]"},
        {**base, "turn": 2, "game": "g1", "winner": "tie", "text": "Thus [[C]]"},
        {**base, "turn": 2, "game": "g2", "winner": "error", "text": "$ERROR$"},
    ]
    expected = [
        ("AB", "chosen", None),
        ("BA", "rejected", None),
        ("AB", "tie", None),
        ("BA", None, "transport_error"),
    ]
    for reading in ("reread", "recorded"):
        found = load(tmp_path, rows, reading=reading)
        assert [(j.order, j.prefers, j.reason) for j in found.judgements] == expected
        assert (found.judge, found.gold, found.differ) == ("gpt-4", False, 0)
        assert "1 rows of the file are no verdicts on pairs." in found.notes


def test_an_eval_log_without_inspect_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "log.eval").write_bytes(b"PK")
    monkeypatch.setattr("recuse.extras.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'recuse\[inspect\]'"):
        load_recorded(tmp_path / "log.eval")
