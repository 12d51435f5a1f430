"""One row of a source: what it must hold, and why it may not be used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from recuse.types import Message

Row = Mapping[str, Any]
Position = Literal["A", "B"]
Prompt = str | tuple[Message, ...]

_FIRST = {"1", "1.0", "a", "a>b", "model_a"}
_SECOND = {"2", "2.0", "b", "b>a", "model_b"}
_TIE = {"tie", "a=b"}
_ROLES = {"system", "user", "assistant"}


@dataclass(frozen=True, slots=True)
class Draft:
    """What a preset reads from a row. `gold`: where the better answer stood, if the source has positions."""

    prompt: Prompt
    chosen: str
    rejected: str
    gold: Position | None = None
    domain: str | None = None
    reference: str | None = None


class BadRow(Exception):
    """A faulty row. `reason` is a short phrase to count by; the message says what is wrong with this one row."""

    def __init__(self, reason: str, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.reason, self.field = reason, field


class Unusable(Exception):
    """A sound row from which no pair follows, such as a tie: always left out, always counted."""


def text(row: Row, field: str) -> str:
    """The text in `field`. Raises BadRow where it is empty, no text or no valid Unicode."""
    value = row.get(field)
    if value is None:
        raise BadRow("empty text", "the text is empty", field)
    if not isinstance(value, str):
        raise BadRow("wrong type", f"this is {_kind(value)}, where text is needed", field)
    return _checked(value, field)


def _checked(value: str, field: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise BadRow("broken UTF-8", "the text holds half of a surrogate pair", field) from None
    if not value.strip():
        raise BadRow("empty text", "the text is empty", field)
    return value


def optional(row: Row, *fields: str) -> str | None:
    """The first of `fields` that holds a value, as text, for columns that only describe the row."""
    for field in fields:
        value = row.get(field)
        if isinstance(value, str | int | float) and value == value and str(value).strip():  # NaN is not itself
            return _checked(str(value), field)
    return None


def messages(row: Row, field: str) -> tuple[Message, ...]:
    """A list of {"role", "content"}, each with text. Raises BadRow for anything else."""
    found = []
    for item in row[field]:
        if not isinstance(item, Mapping) or not {"role", "content"} <= item.keys():
            raise BadRow("wrong type", "every message needs a role and a content", field)
        if not isinstance(item["role"], str) or item["role"] not in _ROLES:
            raise BadRow("wrong type", f"the role {_short(item['role'])} is not system, user or assistant", field)
        if not isinstance(item["content"], str):
            raise BadRow("wrong type", f"a message's content is {_kind(item['content'])}, where text is needed", field)
        found.append(Message(item["role"], _checked(item["content"], field)))
    if not found:
        raise BadRow("empty text", "the list of messages is empty", field)
    return tuple(found)


def prompt(row: Row, field: str) -> Prompt:
    """A prompt given as text or as a list of messages."""
    return plain(messages(row, field)) if isinstance(row.get(field), list) else text(row, field)


def plain(conversation: tuple[Message, ...]) -> Prompt:
    """A conversation of one user message is that message's text: the same question then has the same id in any form."""
    if len(conversation) == 1 and conversation[0].role == "user":
        return conversation[0].content
    return conversation


def label(row: Row, field: str) -> Position:
    """Which answer is the better one: 1, A, A>B or model_a; 2, B, B>A or model_b. Raises Unusable for a tie.

    0 is outside the menu: some sets mean a tie by it, others the first answer.
    """
    value = row.get(field)
    name = "" if isinstance(value, bool) else str(value).strip().casefold()
    if name in _FIRST:
        return "A"
    if name in _SECOND:
        return "B"
    if name in _TIE or name.startswith("tie ("):
        raise Unusable("a tie names no better answer")
    raise BadRow(
        "label outside the menu",
        f"{_short(value)} is not a label (1, A, A>B, model_a for the first answer; 2, B, B>A, model_b for the second; "
        "tie)",
        field,
    )


def place(prompt: Prompt, first: str, second: str, better: Position, **more: str | None) -> Draft:
    """A draft from two answers in the source's order."""
    chosen, rejected = (first, second) if better == "A" else (second, first)
    return Draft(prompt, chosen, rejected, better, **more)


def _kind(value: object) -> str:
    names = {bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return names.get(type(value), f"of type {type(value).__name__}")


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 40 else shown[:37] + "..."
