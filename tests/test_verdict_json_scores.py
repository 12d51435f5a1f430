"""Two scores in one JSON object: each under its label, never guessed from one side, never off the scale."""

from __future__ import annotations

import json
import re

import pytest

from recuse.prompts import load_prompt
from recuse.verdict import Spec, read_text

BOTH = Spec("json_scores", "A", "B", scale=(1, 5))


@pytest.mark.parametrize(
    ("text", "scores", "outcome"),
    [
        ('{"reason": "both help", "A": 4, "B": 3}', (4, 3), "A"),
        ('Sure.\n```json\n{"a": 2, "b": "5"}\n```', (2, 5), "B"),
        ('{"score_a": 3, "Score B": "3/5"}', (3, 3), "tie"),
        ('{"A": 5, "B": 1} No, on reflection: {"A": 1, "B": 5}', (1, 5), "B"),
        ('{"scores": {"A": 4.5, "B": 4}}', (4.5, 4), "A"),
        ("{'B': 2, 'A': 1}", (1, 2), "B"),
    ],
)
def test_both_scores_are_read_by_their_labels(text, scores, outcome):
    verdict = read_text(text, BOTH)
    assert (verdict.scores, verdict.outcome, verdict.reason) == (scores, outcome, None)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"A": 4}', "no_verdict"),
        ('{"A": 4, "B": 6}', "no_verdict"),
        ('{"A": 4, "B": null}', "no_verdict"),
        ('{"A": 4, "B": true}', "no_verdict"),
        ('{"A": 4, "score_a": 2, "B": 3}', "conflicting"),
        ('{"reason": "cut", "A": 4', "truncated"),
        ("A: 4, B: 3", "no_verdict"),
        ("I'm sorry, I can't rate people.", "refused"),
    ],
)
def test_half_a_verdict_is_none(text, reason):
    assert read_text(text, BOTH).reason == reason


@pytest.mark.parametrize("name", ["pointwise/rubric", "pairwise/rubric"])
def test_the_rubrics_schema_is_the_scale_that_its_words_state_and_gives_the_reason_first(name):
    prompt = load_prompt(name)
    schema = prompt.schema
    assert schema is not None
    scored = [key for key in schema["properties"] if key != "reason"]
    assert list(schema["properties"]) == schema["required"] == ["reason", *scored]
    assert all(schema["properties"][key]["enum"] == [1, 2, 3, 4, 5] for key in scored)
    assert prompt.spec.scale == (1, 5)
    wish = prompt.fill(**dict.fromkeys(prompt.holes, "x"))[-1].content
    examples = [json.loads(text) for text in re.findall(r"\{.*?\}", wish)]
    assert [list(example) for example in examples] == [["reason", *scored]] * 2
    read = [read_text(json.dumps(example), prompt.spec) for example in examples]
    assert [verdict.score or verdict.scores for verdict in read] in ([2, 5], [(2, 4), (4, 2)])  # neither place favoured
