"""Replies that are no answer: refusals, error texts, cut replies, thinking. Never a verdict, each with its reason."""

from __future__ import annotations

import pytest

from recuse.types import Reply
from recuse.verdict import FORMATS, Spec, read, read_text

AB = Spec("label")
LINE = Spec("verdict_line", tie="tie")
JSON = Spec("json_verdict")
TAG = Spec("bracket", tie="C")
OUT = Spec("output_letter", "Output (a)", "Output (b)")
NUMBER = Spec("number", "1", "2")
PAIR = Spec("number_pair", "1", "2", scale=(0, 10))
SCORE = Spec("score", scale=(1, 10))
JSON_SCORE = Spec("json_score", scale=(1, 10))
RANKING = Spec("ranking", "m", "M")
THE_SPECS = [Spec(name, tie="C", scale=(0, 10)) for name in FORMATS]


def check(spec: Spec, text: str, expected: object) -> None:
    got = read_text(text, spec)
    assert (got.outcome or got.score or got.reason) == expected, got


REFUSALS = [
    "I'm sorry, but I can't help with that.",
    "I’m sorry, I can’t assist with this request.",
    "I am sorry, but I cannot compare the two answers A and B.",
    "Sorry, I am unable to rate this from 1 to 10.",
    "I cannot provide a response to this question as it violates my policy.",
    "As an AI language model, I cannot judge this content.",
    "I must decline to choose between answer A and answer B.",
    "Unfortunately, I won't be able to help with scoring 1 and 2.",
    "This request violates our content policy.",
    "I apologize, but I'm not able to evaluate these.",
    "申し訳ありませんが、お手伝いできません。",
    "抱歉，我无法协助。",
    "Lo siento, no puedo ayudar con eso.",
    "Es tut mir leid, aber dabei kann ich nicht helfen.",
]
ERRORS = [
    "ERROR: Client error '429 Too Many Requests' for url 'https://api.example.com/v1/messages'\nStatus/429",
    "ERROR: ",
    "$ERROR$",
    "Error code: 429 - {'error': {'message': 'Rate limit reached, try again in 2s', 'code': 1}}",
    '{"error": {"message": "Overloaded", "type": "overloaded_error", "code": 2}}',
    '{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}',
    "503 Service Unavailable",
    "HTTP 500: Internal Server Error",
    "HTTP/1.1 502 Bad Gateway",
    "Rate limit exceeded. Try again in 1 minute.",
    "Too many requests",
    "RateLimitError: 429 You exceeded your current quota",
    "openai.APIConnectionError: Connection error.",
    "Internal Server Error",
    "Request timed out.",
    "Server error '500 Internal Server Error' for url 'http://localhost/2'",
    "<html><head><title>502 Bad Gateway</title></head></html>",
    "The server is currently overloaded with other requests.",
    "Connection refused",
]


@pytest.mark.parametrize("spec", THE_SPECS, ids=lambda spec: spec.format)
@pytest.mark.parametrize("text", REFUSALS)
def test_a_refusal_is_refused_in_every_format(spec: Spec, text: str) -> None:
    check(spec, text, "refused")


@pytest.mark.parametrize("spec", THE_SPECS, ids=lambda spec: spec.format)
@pytest.mark.parametrize("text", ERRORS)
def test_an_error_text_is_a_transport_error_in_every_format(spec: Spec, text: str) -> None:
    check(spec, text, "transport_error")


@pytest.mark.parametrize("spec", [AB, NUMBER], ids=lambda spec: spec.format)
@pytest.mark.parametrize("text", [*REFUSALS, *ERRORS])
def test_probabilities_do_not_turn_a_refusal_or_an_error_into_a_verdict(spec: Spec, text: str) -> None:
    certain = ((spec.first, -0.1), (spec.second, -3.0), ("1", -0.1))
    assert read(Reply("k", text, logprobs=certain), spec).outcome is None


@pytest.mark.parametrize(
    ("spec", "text", "expected"),
    [
        (LINE, "I cannot find an error in B, while A returns error 500 for every request.\nVerdict: B", "B"),
        (LINE, "Sorry to say, both are weak. A mentions HTTP 429 wrongly.\nVerdict: B", "B"),
        (LINE, "Rate limits are explained better by A.\nVerdict: A", "A"),
        (TAG, "The code of A raises ValueError and answers 'I cannot do that'. [[B]]", "B"),
        (OUT, "Output (a) says I'm sorry, I can't help. Therefore, Output (b) is better.", "B"),
        (OUT, "I cannot ignore the error. Output (a) is better.", "A"),
        (JSON, '{"errors": "A has two", "verdict": "B"}', "B"),
        (JSON, '{"error": null, "verdict": "B"}', "B"),
        (SCORE, "I can't find any fault.\nScore: 9", 9.0),
        (AB, "B is better: A answers 503 Service Unavailable to everything.", "B"),
    ],
)
def test_a_judge_may_write_about_refusals_and_errors(spec: Spec, text: str, expected: object) -> None:
    check(spec, text, expected)


@pytest.mark.parametrize("spec", THE_SPECS, ids=lambda spec: spec.format)
def test_what_the_provider_reports_comes_before_the_text(spec: Spec) -> None:
    for text in ("A", "[[A]]", "7", ""):
        assert read(Reply("k", text, finish="refusal", logprobs=(("A", -0.1),)), spec).reason == "refused"
        failed = read(Reply("k", text, finish="error", error="context too long", logprobs=(("A", -0.1),)), spec)
        assert (failed.reason, failed.why, failed.outcome) == ("error", "context too long", None)


@pytest.mark.parametrize("spec", THE_SPECS, ids=lambda spec: spec.format)
def test_a_cut_reply_without_a_verdict_is_truncated(spec: Spec) -> None:
    assert read_text("Both answers are long. The first", spec, finish="length").reason == "truncated"
    assert read_text("", spec, finish="length").reason == "truncated"
    assert read_text("<think>I compare. [[A]] A 7 Verdict: A", spec).reason == "truncated"
    assert read_text("", spec).reason == "no_verdict"


@pytest.mark.parametrize(
    ("spec", "text", "expected"),
    [
        (AB, "<think>A? No. Verdict: A</think>B", "B"),
        (AB, "A seems fine. So A.\n</think>\n\nB", "B"),
        (TAG, "<think>[[A]] perhaps</think>\n[[B]]", "B"),
        (TAG, "<thinking>[[A]]</thinking><thinking>[[C]]</thinking>[[B]]", "B"),
        (LINE, "[THINK]Verdict: A[/THINK]\nVerdict: B", "B"),
        (AB, "<|channel|>analysis<|message|>A<|end|><|start|>assistant<|channel|>final<|message|>B", "B"),
        (LINE, "The first answer talks about thinking.\nVerdict: A", "A"),
        (JSON, '<think>{"verdict": "A"}</think>{"verdict": "B"}', "B"),
    ],
)
def test_thinking_is_not_the_answer(spec: Spec, text: str, expected: object) -> None:
    check(spec, text, expected)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (JSON, '{"verdict": "A", "reason": "it is'),
        (JSON, '{"details": {"winner": "A"}, "verd'),
        (JSON, '```json\n{"reason": "long'),
        (JSON_SCORE, '{"score": 7, "reason": "it'),
        (RANKING, '{"ordered_models": [{"model": "m", "rank": 1}, {"mod'),
    ],
)
def test_json_that_was_cut_is_truncated_even_where_a_part_could_be_read(spec: Spec, text: str) -> None:
    check(spec, text, "truncated")


def test_a_number_at_the_end_of_a_cut_reply_may_go_on() -> None:
    assert read_text("Score: 1", SCORE, finish="length").reason == "truncated"  # of 10
    assert read_text("Score: 7", SCORE, finish="length").score == 7
    assert read_text("Score: 1.", SCORE, finish="length").score == 1
    assert read_text("4", Spec("score", scale=(0, 9)), finish="length").score == 4
    assert read_text("8 1", PAIR, finish="length").reason == "truncated"
