"""Recorded judge outputs, read with our formats, against the verdicts that their collectors expect.

Reads `judge_outputs/verdict_parser_cases.jsonl` under $RECUSE_DATA. Rows are mapped by their format name and fields
alone, so any file of the same form will do. Misses and false verdicts (a verdict read where none is expected) are
counted and printed apart.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from recuse.types import Reply, Verdict
from recuse.verdict import Spec, read
from recuse.verdict.noanswer import is_error_text, is_refusal

pytestmark = pytest.mark.data

SPECS = {
    "arena_hard_double_bracket": Spec("bracket_strength", tie="A=B"),
    "output_letter_bare": Spec("output_letter", "Output (a)", "Output (b)"),
    "output_letter_cot": Spec("output_letter", "Output (a)", "Output (b)"),
    "output_letter_authors_null": Spec("output_letter", "Output (a)", "Output (b)"),
    "bare_score_0_9": Spec("score", scale=(0, 9)),
    "score_pair_first_line": Spec("number_pair", "1", "2", scale=(0, 10)),
    "score_pair_elsewhere": Spec("number_pair", "1", "2", scale=(0, 10)),
    "rating_double_bracket": Spec("bracket_score", scale=(1, 10)),
    "rating_double_bracket_ja": Spec("bracket_score", scale=(1, 10)),
    "verdict_double_bracket": Spec("bracket", tie="C"),
    "letter_colon_reason": Spec("letter_colon", tie="C"),
    "json_ranking_with_explanation": Spec("ranking", "m", "M"),
    "json_ranking": Spec("ranking", "m", "M"),
    "python_list_ranking": Spec("ranking", "model_1", "model_2"),
    "single_token_with_logprobs": Spec("label", "m", "M"),
    "no_verdict": Spec("number", "1", "2"),
    "number_then_text": Spec("number", "1", "2"),
    "number_bare": Spec("number", "1", "2"),
    "transport_error": Spec("number", "1", "2"),
}
FINISHES = {"length": "length", "content_filter": "refusal", "content management policy": "refusal"}


def spec_of(row: dict[str, Any]) -> Spec:
    shown = row.get("referenced_models")
    if isinstance(shown, dict):  # the row says which name stood for which answer
        first, second = sorted(shown, key=lambda name: str(shown[name]))
        return Spec("ranking", first, second)
    return SPECS[row["format"]]


def read_row(row: dict[str, Any]) -> Verdict:
    alternatives = row.get("top_logprobs")
    logprobs = tuple((a["token"], a["logprob"]) for a in alternatives) if alternatives else None
    finish = FINISHES.get(row.get("finish") or "stop", "stop")
    return read(Reply("recorded", row["text"] or "", finish=finish, logprobs=logprobs), spec_of(row))  # type: ignore[arg-type]


def has_verdict(verdict: Verdict) -> bool:
    return verdict.outcome is not None or verdict.score is not None or verdict.scores is not None


def as_expected(row: dict[str, Any], got: Verdict) -> bool:
    """Whether the verdict is the expected one, in whichever of its forms the row gives it."""
    expected = row["expected"]
    if expected is None:
        return not has_verdict(got)
    if isinstance(expected, dict):
        if expected["conflict"]:
            return got.reason == "conflicting" and not has_verdict(got)
        return got.outcome == expected["last_tag"]
    if isinstance(expected, str):
        return got.outcome == expected
    if isinstance(expected, list):
        return got.scores == tuple(expected)
    if row["source"] != "alpaca_eval":
        return got.score == expected
    # A preference from 1 (first output) to 2 (second). Where the order shown was not recorded, its mirror counts too.
    if got.outcome is None:
        return False
    share = 1 - got.p_first if got.p_first is not None else {"A": 0.0, "tie": 0.5, "B": 1.0}[got.outcome]
    close = [abs(1 + share - expected) < 1e-3]
    if "referenced_models" not in row:
        close.append(abs(2 - share - expected) < 1e-3)
    return any(close)


def must_not_be_read(row: dict[str, Any]) -> bool:
    """Of rows without an expected verdict, those that are no answer at all: recorded errors, refusals, cut replies."""
    text = row["text"] or ""
    cut = row.get("finish") == "length"
    return cut or row["format"] == "transport_error" or is_refusal(text) or is_error_text(text, wide=True)


@pytest.fixture
def rows(data_dir: Path) -> list[dict[str, Any]]:
    path = data_dir / "judge_outputs" / "verdict_parser_cases.jsonl"
    if not path.is_file():
        pytest.skip(f"{path} is missing")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def test_recorded_replies_are_read_as_expected(rows: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> None:
    results = [(row, read_row(row)) for row in rows]
    misses = [(row, got) for row, got in results if not as_expected(row, got)]
    false_verdicts = [(row, got) for row, got in results if row["expected"] is None and has_verdict(got)]
    report = [f"{len(rows)} replies: {len(misses)} misses, {len(false_verdicts)} of them false verdicts"]
    for row, got in misses:
        what = got.outcome or got.scores or got.score or got.reason
        kind = "false verdict" if row["expected"] is None else "miss"
        report.append(f"  {kind} {row['id']} ({row['format']}): expected {row['expected']}, read {what}: {got.why}")
    with capsys.disabled():
        print("\n" + "\n".join(report))  # noqa: T201
    assert len(misses) <= 0.005 * len(rows), Counter(row["format"] for row, _ in misses)
    assert [row["id"] for row, _ in false_verdicts if must_not_be_read(row)] == []


def test_every_format_of_the_file_is_mapped(rows: list[dict[str, Any]]) -> None:
    assert {row["format"] for row in rows} <= set(SPECS)


def test_declared_error_texts_are_transport_errors(rows: list[dict[str, Any]]) -> None:
    errors = [row for row in rows if row["format"] == "transport_error"]
    assert [row["id"] for row in errors if read_row(row).reason != "transport_error"] == []


def test_recorded_filter_stops_and_cuts_keep_their_reason(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        finish = FINISHES.get(row.get("finish") or "stop", "stop")
        got = read_row(row)
        if finish == "refusal":
            assert got.reason == "refused", row["id"]
        if finish == "length" and not has_verdict(got):
            assert got.reason in {"truncated", "conflicting", "refused"}, row["id"]
