"""JSON objects in replies, fenced or among words."""

from __future__ import annotations

import json
from typing import Any


def first_object(text: str) -> dict[str, Any] | None:
    """The first JSON object in a text, fenced or among words."""
    decoder, place = json.JSONDecoder(), text.find("{")
    while place >= 0:
        try:
            value, _ = decoder.raw_decode(text, place)
        except ValueError:
            place = text.find("{", place + 1)
            continue
        if isinstance(value, dict):
            return value
        place = text.find("{", place + 1)
    return None
