"""Lists in replies: numbered, bulleted, JSON, or "A > B > C"; each as the texts of its items in order of rank."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_NUMBERED = re.compile(
    r"(?P<indent>[ \t]*)(?:[*_#>]+[ \t]*)?(?:rank[ \t]+|no\.[ \t]*|#)?\(?(?P<number>\d{1,3})(?:[.):]|\.\))[*_]*[ \t]+"
    r"(?P<text>\S.*)",
    re.IGNORECASE,
)
_BULLET = re.compile(r"(?P<indent>[ \t]*)[-*•‣–—◦][ \t]+(?P<text>\S.*)")
_CHAIN = re.compile(r"[ \t]*(?:≻|(?<![-=<])>(?!=))[ \t]*")
_OPENING = re.compile(r"[\[{]")
_DECODER = json.JSONDecoder(strict=False)  # models put line breaks into strings
_NAMES = ("name", "item", "candidate", "title", "option", "choice", "label", "id")  # keys of an item's own name
_MAX_DEPTH = 4


@dataclass(slots=True)
class Listing:
    """items  the texts of a list, first rank first
    open   the list runs to the end of the reply, so that a cut reply may have cut it
    """

    items: list[str]
    open: bool = False


@dataclass(slots=True)
class _Lines:
    """A list of lines while it is read.

    number     the last one; None for bullets
    paragraph  a paragraph of its own stands after the last item so far
    spaced     such a paragraph stood between two items, so that one at the end says nothing of the list's end
    """

    indent: int
    number: int | None
    found: list[tuple[int, str]] = field(default_factory=list)
    paragraph: bool = False
    spaced: bool = False

    def add(self, number: int | None, text: str) -> None:
        self.spaced, self.paragraph, self.number = self.spaced or self.paragraph, False, number
        self.found.append((len(self.found) + 1 if number is None else number, text.strip()))


def listings(text: str) -> list[Listing]:
    """Every list of a reply, in its order; lists within an item are part of the item.

    JSON comes first: where it has a list, the text around it is not looked at. A numbered list is ordered by its
    numbers, so that a countdown reads as one; JSON objects with "rank" by that. A list of lines ends where numbers
    start again or where, after bullets, a paragraph follows. A line such as "A > B > C" is a list; in "A > B = C" the
    tied ones are one item.
    """
    return [Listing(items) for items in _json_lists(text)] or [*_line_lists(text)]


def _line_lists(text: str) -> Iterator[Listing]:
    lines = text.rstrip().split("\n")
    now: _Lines | None = None
    for before, line in zip(("", *lines), lines, strict=False):
        number = _NUMBERED.fullmatch(line)
        match = number or _BULLET.fullmatch(line)
        if match is None:
            chain = _chain(line)
            indented = line[:1] in (" ", "\t")
            if now is not None and (chain or (line.strip() and not indented and now.number is None)):
                yield _ranked(now)
                now = None
            elif now is not None and line.strip() and not indented and not before.strip():
                now.paragraph = True
            if chain:
                yield Listing(chain, line is lines[-1])
            continue
        indent, value = len(match["indent"].expandtabs(4)), int(number["number"]) if number else None
        if now is not None and _within(now, indent, value):
            continue
        if now is None or not _goes_on(now, value):
            if now is not None:
                yield _ranked(now)
            now = _Lines(indent, value)
        now.add(value, match["text"])
    if now is not None:
        last = _ranked(now)
        last.open = now.spaced or not now.paragraph
        yield last


def _within(now: _Lines, indent: int, value: int | None) -> bool:
    """Whether a line is a detail of the item above it: further in, or a bullet under a number."""
    return indent > now.indent + 1 or (now.number is not None and value is None)


def _goes_on(now: _Lines, value: int | None) -> bool:
    """Whether a line is the list's next item: the next number, the one before in a countdown, or another bullet."""
    if value is None or now.number is None:
        return value is None and now.number is None
    steps = (1, -1) if len(now.found) < 2 else (now.found[1][0] - now.found[0][0],)
    return value - now.number in steps


def _ranked(lines: _Lines) -> Listing:
    return Listing([text for _, text in sorted(lines.found, key=lambda item: item[0])])


def _chain(line: str) -> list[str]:
    """The parts of "A > B > C"; none for another line, such as a quotation or a comparison of two numbers."""
    body = line.strip()
    if body.startswith((">", "<")) or "->" in body or "=>" in body:
        return []
    body = re.sub(r"^[^:>]{1,40}:[ \t]*", "", body)  # "Ranking: A > B > C"
    parts = [part.strip(" .*_`\"'") for part in _CHAIN.split(body)]
    return parts if len(parts) > 1 and all(re.search(r"[^\W\d_]", part) for part in parts) else []


def _json_lists(text: str) -> Iterator[list[str]]:
    """The items of every list in the outermost JSON values; one that is cut off is no value."""
    place = 0
    while match := _OPENING.search(text, place):
        try:
            value, place = _DECODER.raw_decode(text, match.start())
        except (ValueError, RecursionError):  # a bracket of the prose, or a value cut off
            place = match.start() + 1
            continue
        yield from _lists(value, 0)


def _lists(value: Any, depth: int) -> Iterator[list[str]]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, list):
        entries = value
        if value and all(isinstance(entry, dict) and _is_rank(entry.get("rank")) for entry in value):
            entries = sorted(value, key=lambda entry: float(entry["rank"]))
        names = [_name(entry) for entry in entries]
        if names and all(names):
            yield [name for name in names if name]
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _lists(inner, depth + 1)


def _is_rank(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _name(entry: object) -> str | None:
    if isinstance(entry, str):
        return entry.strip() or None
    if not isinstance(entry, dict):
        return None
    texts = {str(key).lower(): value for key, value in entry.items() if isinstance(value, str) and value.strip()}
    return next((texts[key] for key in _NAMES if key in texts), next(iter(texts.values()), None))
