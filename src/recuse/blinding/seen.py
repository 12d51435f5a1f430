"""How verification reads a text: as it stands, and as a reader sees it. Made without the redactor's folding."""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

PERSON, OTHER = "\x02", "\x01"  # what stands in the place of placeholders
FREE = "\x03"  # what stands in `View.words` for a letter of a script without blanks
UNSPACED = re.compile("[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
# An accent or an invisible sign is inside a word as it stands: a letter of its own, so that no boundary is seen there.
_INSIDE, LETTER = re.compile("[\u00ad\u0300-\u036f\u200b-\u200f\u2060\ufeff]"), "\u01c0"
_ESCAPED = re.compile(r"\\n|\\[rt](?=[A-Z])")  # line breaks written out, as in JSON
_REFERENCE = re.compile(r"&(?:#\d{2,6}|#x[\da-f]{2,5}|[a-z]{3,8});", re.IGNORECASE | re.ASCII)
_WORD_BREAK = re.compile(r"([^\W\d_])([-‐][ \t]{0,4}\r?\n[ \t]{0,8})(?=[^\W\d_])")
_ODD = re.compile(r"[^\x00-\x7f]+|[*~`]+|_+")
_SPECIAL = {"þ": "th", "ð": "d", "ŋ": "n"}
_QUOTES, _DASHES = "’‘‛ʼʻʹ´′＇", "‐‑‒−﹣－⁃"
_LATIN = re.compile(r"LATIN (?:SMALL|CAPITAL) (?:LETTER|LIGATURE) (?:DOTLESS )?([A-Z]{1,2})(?: WITH .*)?")


@dataclass(frozen=True, slots=True)
class View:
    """One way to read `raw`, in small letters.

    words     the text, in which letters of scripts without blanks part words and invisible signs do not
    runs      (position in text, position in raw, whether what follows runs evenly), where the two part
    capitals  whether `raw` has capitals or placeholders, so that a small letter says something
    """

    text: str
    words: str
    raw: str
    runs: Sequence[tuple[int, int, bool]]
    capitals: bool

    def place(self, position: int) -> int:
        """Where in `raw` the character at `position` stands; within a run that is not even, where the run begins."""
        i = bisect_right(self.runs, position, key=lambda run: run[0]) - 1
        if i < 0:
            return position
        here, there, even = self.runs[i]
        return there + (position - here if even else 0)

    def written(self, start: int, end: int) -> str:
        """The letters of raw behind `text[start:end]`, with their case."""
        return self.raw[self.place(start) : self.place(start) + end - start]

    def small(self, position: int) -> bool:
        return self.raw[self.place(position)].islower()


def views(raw: str) -> list[View]:
    """`raw` as it stands and, where that is not the same, as a reader sees it, emphasis joining or parting letters, and
    words whole that a line's end parts. Each view has a character for each of `raw`."""
    if "\\" in raw:
        raw = _ESCAPED.sub("  ", raw)
    if "&" in raw:
        raw = _REFERENCE.sub(_meant, raw)
    small = raw.lower()
    if len(small) != len(raw):
        small = "".join(char.lower() if len(char.lower()) == 1 else char for char in raw)
    capitals = small != raw or PERSON in raw or OTHER in raw
    found = [View(small, worded(small), raw, (), capitals)]
    if _ODD.search(raw):
        found.append(_read(raw, "", capitals))
        if any(sign in raw for sign in "*~`"):
            found.append(_read(raw, " ", capitals))
    if "\n" in raw and _WORD_BREAK.search(raw):
        found.append(_read(_WORD_BREAK.sub(lambda m: m[1] + "\u00ad" * len(m[2]), raw), "", capitals))
    return found


def _meant(reference: re.Match[str]) -> str:
    """The letter or sign within a word that HTML writes so, with soft hyphens to its length."""
    char = html.unescape(reference[0])
    if len(char) > 1 or not (char.isalpha() or _bare(char) in ("", " ", "'", "-")):
        return reference[0]
    return char + "\u00ad" * (len(reference[0]) - 1)


def worded(text: str) -> str:
    return text if text.isascii() else _INSIDE.sub(LETTER, UNSPACED.sub(FREE, text))


def seen(text: str) -> str:
    """`text` as a reader sees it, without regard to emphasis."""
    return _read(text, "", True).text


def _read(raw: str, emphasis: str, capitals: bool) -> View:
    pieces: list[str] = []
    runs: list[tuple[int, int, bool]] = []
    here = at = 0
    for odd in _ODD.finditer(raw):
        plain = raw[at : odd.start()].lower()
        visible = _visible(odd[0], emphasis)
        here += len(plain)
        even = len(visible) == len(odd[0])
        if not even:
            runs.append((here, odd.start(), False))
        here += len(visible)
        if not even:
            runs.append((here, odd.end(), True))
        pieces += (plain, visible)
        at = odd.end()
    text = "".join((*pieces, raw[at:].lower()))
    return View(text, worded(text), raw, runs, capitals)


def _visible(run: str, emphasis: str) -> str:
    if run[0] == "_":
        return " " * len(run)
    if run[0] in "*~`":
        return emphasis
    return unicodedata.normalize("NFC", "".join(map(_bare, unicodedata.normalize("NFKD", run)))).casefold()


@cache
def _bare(char: str) -> str:
    if char in _QUOTES:
        return "'"
    if char in _DASHES:
        return "-"
    kind, name = unicodedata.category(char), unicodedata.name(char, "")
    if kind == "Cf" or "VARIATION SELECTOR" in name or name == "COMBINING GRAPHEME JOINER":
        return ""
    if kind[0] == "Z":
        return " "
    if unicodedata.combining(char) and not 0x3099 <= ord(char) <= 0x309A:  # these two belong to the kana before them
        return ""
    small = char.lower()
    if small in _SPECIAL:
        return _SPECIAL[small]
    latin = _LATIN.fullmatch(name)
    return latin[1].lower() if latin else small
