"""Slots of a template: `{{name}}`, `{{their}}`, or a word that each group has its own form of.

A slot that begins with a capital gives a value that begins with one: `{{Their}}`. Pronouns are asked for by the forms
of the singular they, which no two cases share.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

_HOLE = re.compile(r"\{\{[ \t]*([A-Za-z][A-Za-z0-9_]*)[ \t]*\}\}")
_STRAY = re.compile(r"\{\{|\}\}")
NAME_SLOTS = ("name", "first_name", "last_name")
CASES = ("they", "them", "their", "theirs", "themself")
PRONOUNS: Mapping[str, Mapping[str, str]] = MappingProxyType({
    first: MappingProxyType(dict(zip(CASES, forms.split(), strict=True)))
    for first, forms in (
        ("he", "he him his his himself"),
        ("she", "she her her hers herself"),
        ("they", "they them their theirs themself"),
    )
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a value stands in a rendered text: text[start:end]."""

    start: int
    end: int
    slot: str  # as the template spells it


def holes(text: str) -> list[str]:
    """The slots of a template in their order, as they are spelt there."""
    return _HOLE.findall(text)


def stray(text: str) -> str | None:
    """Braces that belong to no slot, or None."""
    found = _STRAY.search(_HOLE.sub("", text))
    return found[0] if found else None


def skeleton(text: str) -> str:
    """A template with its slots in one spelling, without blanks inside the braces."""
    return _HOLE.sub(lambda hole: "{{" + hole[1] + "}}", text)


def key_of(slot: str) -> str:
    """What a slot asks for, whether or not its value begins with a capital."""
    return slot[0].lower() + slot[1:]


def fill(text: str, values: Mapping[str, str], *, partly: bool = False) -> tuple[str, tuple[Slot, ...]]:
    """The text with every slot filled in one pass, so that no value can open a slot, and where the values stand.

    `partly`: slots that `values` does not know stay as they are.
    """
    pieces = _HOLE.split(text)  # literal text and slots by turns
    done, at, found = [], 0, []
    for i, piece in enumerate(pieces):
        shown = piece
        if i % 2 and partly and key_of(piece) not in values:
            shown = "{{" + piece + "}}"
        elif i % 2:
            shown = values[key_of(piece)]
            if piece[0].isupper():
                shown = shown[:1].upper() + shown[1:]
            found.append(Slot(at, at + len(shown), piece))
        done.append(shown)
        at += len(shown)
    return "".join(done), tuple(found)


def emptied(text: str, slots: tuple[Slot, ...]) -> str:
    """A rendered text with every value taken out again: `skeleton` of its template, if nothing else was changed."""
    done, at = [], 0
    for slot in slots:
        done += [text[at : slot.start], "{{" + slot.slot + "}}"]
        at = slot.end
    return "".join([*done, text[at:]])
