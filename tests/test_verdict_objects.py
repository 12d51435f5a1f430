"""JSON objects in replies: the last complete one with the keys counts, whatever stands before it."""

from __future__ import annotations

import json
import time

import pytest

from recuse.discovery.merge import read_same
from recuse.discovery.mine import read_bias
from recuse.perturb.checks import read_verify
from recuse.types import Reply
from recuse.verdict.objects import last_object

NAMED = {"bias": {"name": "N", "definition": "D", "manifestation": "M", "instruction": "I", "changes_length": True}}
DRAFT = '{"bias": null, "same_as": 1, "same": true, "repaired": false}'


@pytest.mark.parametrize(
    "before",
    [
        f"<think>Perhaps {DRAFT}? No.</think>\n",
        f"First thought: {DRAFT}. On reflection:\n```json\n",
        "The set {x, y} is no answer.\n",
        '{"a":' * 1200,
        '{"cut": "off\n',
    ],
)
def test_the_last_object_counts_after_thinking_a_draft_prose_or_endless_nesting(before: str) -> None:
    named, said = read_bias(before + json.dumps(NAMED))
    assert said
    assert named is not None
    assert (named.name, named.changes_length) == ("N", True)
    assert read_same(f'{before}{{"same_as": 2}}', 3) == 1
    assert read_verify(Reply("k", f'{before}{{"same": false, "repaired": true}}')) == ("repaired",)


@pytest.mark.parametrize("text", ['{"a":' * 1200, "{" * 5000, f"<think>{DRAFT}", '{"result": ' + DRAFT + "}", ""])
def test_what_is_no_answer_is_unread_and_ends_nothing(text: str) -> None:
    assert last_object(text, "bias") is None
    assert read_bias(text) == (None, False)
    assert read_same(text, 3) is None
    assert read_verify(Reply("k", text)) == ("unverified",)


def test_line_breaks_inside_strings_are_read() -> None:
    assert last_object('{"bias": "two\nlines"}', "bias") == {"bias": "two\nlines"}


def test_a_long_hostile_reply_takes_no_time() -> None:
    began = time.process_time()
    last_object('{"a":' * 20_000, "bias")
    assert time.process_time() - began < 2
