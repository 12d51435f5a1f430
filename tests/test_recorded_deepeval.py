"""DeepEval's results read as they are. The rows follow what release 4.3.1 wrote with a scripted model: a saved test
run, the dump of `evaluate`'s result, and the request that `compare` makes of an arena; durations are left out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from recuse.errors import InputError, UsageError
from recuse.recorded import Recorded, load_recorded

METRIC = "Correctness [GEval]"


def graded(score: float | None, *, name: str = METRIC, model: str | None = "gpt-4.1", error: str | None = None) -> dict:
    data = {"name": name, "threshold": 0.5, "success": bool(score and score >= 0.5), "score": score,
            "reason": "because", "strictMode": False, "evaluationModel": model, "error": error}  # fmt: skip
    return {key: value for key, value in data.items() if value is not None}  # as DeepEval saves it


def case(input: str, answer: str, *metrics: dict, order: int = 0, **meta: Any) -> dict[str, Any]:
    found = {"name": f"test_case_{order}", "input": input, "actualOutput": answer, "success": True, "order": order,
             "metricsData": list(metrics)}  # fmt: skip
    return {**found, "metadata": meta} if meta else found


def write(folder: Path, content: dict[str, Any]) -> Path:
    path = folder / "run.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def saved(folder: Path, cases: Sequence[dict[str, Any]]) -> Path:
    return write(folder, {"testCases": cases, "conversationalTestCases": [], "metricsScores": [], "official": False})


def told(found: Recorded) -> list[tuple[str, str | None, str | None]]:
    return [(j.order, j.prefers, j.reason) for j in (*found.judgements, *found.without_gold)]


def test_two_answers_to_one_input_are_a_pair_by_their_scores(tmp_path: Path) -> None:
    cases = [
        case("2 + 2?", "4", graded(0.9), gold=True),
        case("2 + 2?", "five", graded(0.2), gold=False, order=1),
        case("1 + 1?", "eleven", graded(0.7), gold=False, order=2),
        case("1 + 1?", "2", graded(0.3), gold=True, order=3),
        case("3 + 3?", "6", graded(1.0), gold=True, order=4),
        case("3 + 3?", "six", graded(1.0), gold=False, order=5),
    ]
    found = load_recorded(saved(tmp_path, cases))
    assert (found.preset, found.judge, dict(found.settings)) == ("deepeval", "gpt-4.1", {"metric": METRIC})
    assert told(found) == [("-", "chosen", None), ("-", "rejected", None), ("-", "tie", None)]
    assert found.lengths["1 + 1?"] == (1, 6)


def test_the_result_of_evaluate_reads_like_the_saved_run(tmp_path: Path) -> None:
    cases = [case("q", "a", graded(0.9), gold=True), case("q", "b", graded(0.2), gold=False, order=1)]
    run = load_recorded(saved(tmp_path, cases))
    dumped = [
        {
            "name": c["name"], "success": True, "conversational": False, "index": c["order"], "input": c["input"],
            "actual_output": c["actualOutput"], "expected_output": None, "metadata": c["metadata"],
            "metrics_data": [{"name": METRIC, "score": m["score"], "evaluation_model": m["evaluationModel"],
                              "success": True, "error": None, "reason": "because"} for m in c["metricsData"]],
        }
        for c in cases
    ]  # fmt: skip
    result = load_recorded(write(tmp_path, {"test_results": dumped, "confident_link": None, "test_run_id": None}))
    assert (result.judgements, result.judge) == (run.judgements, run.judge)


def test_an_arena_is_a_comparison_whose_order_is_not_known(tmp_path: Path) -> None:
    arena = "Best [Arena GEval]"
    runs = [
        {"identifier": "ours", "testCases": [case("q", "a", graded(1, name=arena), gold=True),
                                             case("q", "c", graded(0, name=arena), order=1, gold=True)]},
        {"identifier": "theirs", "testCases": [case("q", "b", graded(0, name=arena), gold=False),
                                               case("q", "d", graded(1, name=arena), order=1, gold=False)]},
    ]  # fmt: skip
    found = load_recorded(write(tmp_path, {"testRuns": runs, "name": "compare()"}))
    assert told(found) == [("-", "chosen", None), ("-", "rejected", None)]
    assert len({j.pair for j in found.judgements}) == 2  # one input, asked about twice
    assert {j.group for j in found.judgements} == {"q"}
    assert any("a preference for a place cannot be measured" in note for note in found.notes)


def test_a_failed_metric_has_no_verdict_and_keeps_why(tmp_path: Path) -> None:
    cases = [
        case("q", "a", graded(None, error="Evaluation LLM outputted an invalid JSON. Please use a better model.")),
        case("q", "b", graded(0.5)),
        case("r", "a", graded(0.5)),
        case("r", "b", graded(None, error="RateLimitError: 429")),
    ]
    assert told(load_recorded(saved(tmp_path, cases))) == [("-", None, "no_verdict"), ("-", None, "transport_error")]


def test_metadata_names_pairs_where_inputs_differ(tmp_path: Path) -> None:
    cases = [case("q, asked once", "a", graded(0.1), pair="p", group="g", domain="law"),
             case("q, asked again", "b", graded(0.9), pair="p", group="g", domain="law")]  # fmt: skip
    found = load_recorded(saved(tmp_path, cases))
    assert [(j.pair, j.group, j.prefers) for j in found.judgements] == [("p", "g", "rejected")]
    assert dict(found.domains) == {"p": "law"}


def test_one_metric_is_audited_at_a_time_and_none_that_no_model_grades(tmp_path: Path) -> None:
    other, exact = graded(0.1, name="Tone [GEval]"), graded(1.0, name="Exact Match", model=None)
    cases = [
        case("q", "a", graded(0.9), other, exact),
        case("q", "b", graded(0.2), graded(0.8, name="Tone [GEval]"), exact),
    ]
    path = saved(tmp_path, cases)
    with pytest.raises(UsageError, match="2 values of 'metric'"):
        load_recorded(path)
    assert told(load_recorded(path, where=["metric=Tone [GEval]"])) == [("-", "rejected", None)]


def test_a_pass_of_one_answer_is_no_preference(tmp_path: Path) -> None:
    alone = [case("q", "a", graded(0.9)), case("r", "b", graded(0.2)), case("s", "c", graded(0.2))]
    with pytest.raises(InputError, match=r"no verdict on a pair of answers \(Left out: 3 grades"):
        load_recorded(saved(tmp_path, alone))
    same = [case("q", "a", graded(0.9)), case("q", "a", graded(0.2))]
    with pytest.raises(InputError, match="no verdict on a pair of answers"):
        load_recorded(saved(tmp_path, same))
