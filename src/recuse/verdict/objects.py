"""JSON objects in replies: fenced, among words, after thinking."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from recuse.verdict.text import split_thinking

_DECODER = json.JSONDecoder(strict=False)  # models put line breaks into strings


def last_object(text: str, *keys: str) -> dict[str, Any] | None:
    """The last JSON object of a reply that has all of `keys`, its thinking left out; None where there is none.

    The last, since a model that reasons in the open may draft one before. Objects inside others are not looked at.
    """
    wanted = set(keys)
    return next((found for found in reversed([*_objects(split_thinking(text)[0])]) if wanted <= found.keys()), None)


def _objects(text: str) -> Iterator[dict[str, Any]]:
    place = text.find("{")
    while place >= 0:
        try:
            value, end = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):  # a brace of the prose, an object cut off, or one nested without end
            end = place + 1
        else:
            yield value
        place = text.find("{", end)
