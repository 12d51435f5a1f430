"""promptfoo's results read as they are. The rows follow what `promptfoo eval -o out.json` of release 0.121.20 wrote
with the provider `echo` and a scripted grader; fields that say nothing here (tokens, latency, ids) are left out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from recuse.cli import run
from recuse.errors import InputError, UsageError
from recuse.recorded import Recorded, load_recorded

Part = dict[str, Any]


def part(kind: str, score: float, *, reason: str = "because", value: str = "be right", **more: Any) -> Part:
    return {"pass": score > 0.5, "score": score, "reason": reason, "assertion": {"type": kind, "value": value}, **more}


def best(winner: int | None, *, of: int = 2, reason: str = "Invalid select-best verdict: NaN") -> list[list[Part]]:
    """What `select-best` leaves on each output; None: it found no verdict."""
    said = [
        (1, "Output selected as the best: be right") if place == winner else (0, "Output not selected: be right")
        for place in range(of)
    ]
    return [[part("select-best", score, reason=reason if winner is None else why)] for score, why in said]


def results(
    index: int, outputs: Sequence[str], parts: Sequence[list[Part]], *, meta: Mapping[str, Any] = {}, **variables: str
) -> list[dict[str, Any]]:
    """One test: an output for each prompt, and its graded assertions."""
    shown = {"first": outputs[0], "second": outputs[-1], **variables}
    return [
        {
            "testIdx": index, "promptIdx": place, "vars": shown, "provider": {"id": "echo", "label": ""},
            "response": {"output": output}, "success": True, "score": 1, "failureReason": 0, "error": None,
            "testCase": {"vars": shown, "metadata": dict(meta), "options": {"provider": "openai:gpt-5"}, "assert": []},
            "gradingResult": {"pass": True, "score": 1, "reason": "", "componentResults": parts[place]},
        }
        for place, output in enumerate(outputs)
    ]  # fmt: skip


def write(folder: Path, rows: Sequence[dict[str, Any]], **config: Any) -> Path:
    path = folder / "out.json"
    found = {"version": 3, "timestamp": "2026-01-01T00:00:00Z", "prompts": [], "results": rows, "stats": {}}
    content = {"evalId": "eval-1", "results": found, "config": config, "shareableUrl": None, "metadata": {}}
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def told(found: Recorded) -> list[tuple[str, str | None, str | None]]:
    return [(j.order, j.prefers, j.reason) for j in (*found.judgements, *found.without_gold)]


def test_both_orders_of_a_pair_are_asked_as_two_tests(tmp_path: Path) -> None:
    rows = [
        *results(0, ["4", "five"], best(0), meta={"pair": "sum", "gold": "first", "domain": "arithmetic"}),
        *results(1, ["five", "4"], best(0), meta={"pair": "sum", "gold": "second", "domain": "arithmetic"}),
    ]
    found = load_recorded(write(tmp_path, rows))
    assert (found.preset, found.judge) == ("promptfoo", "openai:gpt-5")
    assert told(found) == [("AB", "chosen", None), ("BA", "rejected", None)]  # the first place, both times
    assert list(found.domains.values()) == ["arithmetic"]
    assert list(found.lengths.values()) == [(1, 4)]
    assert {j.group for j in found.judgements} == {"sum"}


def test_without_names_the_variables_that_are_no_answers_are_the_question(tmp_path: Path) -> None:
    rows = [
        *results(0, ["4", "five"], best(1), question="2 + 2?"),
        *results(1, ["five", "4"], best(1), question="2 + 2?"),
        *results(2, ["five", "4"], best(1), question="1 + 4?"),
    ]
    found = load_recorded(write(tmp_path, rows))
    assert told(found) == [("AB", "rejected", None), ("BA", "chosen", None), ("AB", "rejected", None)]
    assert not found.gold
    assert len({j.pair for j in found.judgements}) == len({j.group for j in found.judgements}) == 2


def test_a_reply_without_a_verdict_and_an_error_of_the_provider_are_told_apart(tmp_path: Path) -> None:
    rows = [
        *results(0, ["a", "b"], best(None), question="x"),
        *results(1, ["c", "d"], best(None, reason="API error: 500 Server Error"), question="y"),
    ]
    assert told(load_recorded(write(tmp_path, rows))) == [("AB", None, "no_verdict"), ("AB", None, "transport_error")]


def test_a_repeated_test_is_a_repeat_of_its_pair(tmp_path: Path) -> None:
    rows = [*results(0, ["a", "b"], best(0), question="x"), *results(1, ["a", "b"], best(1), question="x")]
    assert [j.repeat for j in load_recorded(write(tmp_path, rows)).judgements] == [0, 1]


def test_grades_of_two_outputs_are_a_preference_and_equal_ones_a_tie(tmp_path: Path) -> None:
    rows = [
        *results(0, ["a", "b"], [[part("llm-rubric", 0.4)], [part("llm-rubric", 0.9)]], meta={"gold": "second"}),
        *results(1, ["c", "d"], [[part("llm-rubric", 0.5)], [part("llm-rubric", 0.5)]], meta={"gold": "first"}),
        *results(2, ["e", "f"], [[part("llm-rubric", 0, metadata={"graderError": True}, reason="HTTP 503")],
                                 [part("llm-rubric", 1.0)]], meta={"gold": "tie"}),
    ]  # fmt: skip
    found = load_recorded(write(tmp_path, rows))
    assert told(found) == [("-", "chosen", None), ("-", "tie", None), ("-", None, "transport_error")]
    assert found.words[found.judgements[0].pair, "-", 0] == "A: because\nB: because"


def test_assertions_inside_a_set_count_and_an_audit_is_of_one_kind(tmp_path: Path) -> None:
    sets = [
        [{"assertion": {"type": "assert-set"}, "score": 1, "componentResults": [part("g-eval", s)]}] for s in (1, 0)
    ]
    rows = results(0, ["a", "b"], [[*one, *two] for one, two in zip(best(1), sets, strict=True)])
    path = write(tmp_path, rows)
    assert told(load_recorded(path, where=["assertion=g-eval"])) == [("-", "chosen", None)]
    assert told(load_recorded(path, where=["assertion=select-best"])) == [("AB", "rejected", None)]
    with pytest.raises(UsageError, match="2 values of 'assertion'"):
        load_recorded(path)


def test_a_lone_select_best_stands_in_the_grading_itself(tmp_path: Path) -> None:
    rows = results(0, ["a", "b"], [[], []])
    for row, (component,) in zip(rows, best(1), strict=True):
        row["gradingResult"] = component
    assert told(load_recorded(write(tmp_path, rows))) == [("AB", "rejected", None)]


def test_what_is_no_preference_is_counted_and_left_out(tmp_path: Path) -> None:
    rows = [
        *results(0, ["a", "b"], best(0)),
        *results(1, ["a", "b", "c"], best(2, of=3)),
        *results(2, ["alone"], [[part("llm-rubric", 1.0), part("contains", 1.0), part("not-llm-rubric", 1.0)]]),
    ]
    found = load_recorded(write(tmp_path, rows))
    assert found.rows == 1
    assert "Left out: 1 comparisons of other than two answers." in found.notes
    assert any(
        note.startswith("Left out: 1 grades of an answer without a second answer to its question")
        for note in found.notes
    )
    with pytest.raises(InputError, match=r"out\.json: no verdict on a pair of answers \(Left out: 1 grades"):
        load_recorded(write(tmp_path, rows[5:]))


def test_the_judge_is_the_nearest_provider_that_is_named(tmp_path: Path) -> None:
    rows = results(0, ["a", "b"], best(0))
    for row in rows:
        row["gradingResult"]["componentResults"][0]["assertion"]["provider"] = {"id": "anthropic:claude"}
    assert load_recorded(write(tmp_path, rows)).judge == "anthropic:claude"
    for row in rows:
        del row["gradingResult"]["componentResults"][0]["assertion"]["provider"], row["testCase"]["options"]
    default = {"options": {"provider": {"text": {"id": "ollama:phi"}}}}
    assert load_recorded(write(tmp_path, rows, defaultTest=default)).judge == "ollama:phi"
    assert load_recorded(write(tmp_path, rows)).judge == "promptfoo's default grader"


def test_lines_of_results_are_read_like_the_whole_file(tmp_path: Path) -> None:
    rows = [*results(0, ["a", "b"], best(0), meta={"gold": "A"}), *results(1, ["b", "a"], best(1), meta={"gold": "B"})]
    lines = tmp_path / "out.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert load_recorded(lines).judgements == load_recorded(write(tmp_path, rows)).judgements


def test_the_command_audits_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = []
    for n in range(30):  # a judge that is right whatever stands first, but for the first three questions
        right, meta = int(n >= 3), {"pair": f"q{n}"}
        rows += results(2 * n, ["no", "yes"], best(right), meta={**meta, "gold": "second"})
        rows += results(2 * n + 1, ["yes", "no"], best(1 - right), meta={**meta, "gold": "first"})
    code = run(["audit", "--verdicts", str(write(tmp_path, rows)), "--out", str(tmp_path / "run"), "--json"])
    found = json.loads(capsys.readouterr().out)
    by_id = {finding["id"]: finding for finding in found["findings"]}
    assert code == {"fit": 0, "recuse": 1, "inconclusive": 3}[found["outcome"]]
    assert by_id["accuracy.error_rate"]["estimate"] == pytest.approx(3 / 30)
    assert by_id["position.consistency"]["estimate"] == 1.0


@pytest.mark.parametrize("odd", [None, [], "x", -1.5, True, {"a": 1}, "\ud800", float("nan")], ids=repr)
@pytest.mark.parametrize("field", ["testIdx", "promptIdx", "vars", "testCase", "gradingResult", "response", "score"])
def test_an_odd_field_is_an_error_of_the_file_or_none(tmp_path: Path, field: str, odd: object) -> None:
    rows = [*results(0, ["a", "b"], best(0)), *results(1, ["b", "a"], best(0))]
    rows[0][field] = odd
    rows[3]["gradingResult"]["componentResults"][0][field] = odd
    path = write(tmp_path, rows)
    try:
        read = load_recorded(path).rows
    except (InputError, UsageError) as error:  # a sentence that names the file, never another error
        read = 2 if str(path) in str(error) else 0
    assert 1 <= read <= 2
