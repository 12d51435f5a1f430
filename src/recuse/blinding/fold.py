"""Folded text: what a reader takes as the same letters becomes the same letters, with the way back to the original.

Case, accents, full-width forms, ligatures, curly apostrophes, odd hyphens and blanks are levelled; invisible characters
and Markdown's emphasis marks go. Nothing here looks at words.
"""

from __future__ import annotations

import html
import re
import unicodedata
from array import array
from bisect import bisect_right
from dataclasses import dataclass
from typing import Literal

_APOSTROPHES = "'’‘‛ʼʻʹ´′＇"
_HYPHENS = "-‐‑‒−﹣－⁃"
_EMPHASIS = "*~`"
_MARK = re.compile(rf"[{_EMPHASIS}]+|_+")
_ESCAPED = re.compile(r"\\n|\\[rt](?=[A-Z])")  # line breaks written out, as in JSON
_ENTITY = re.compile(r"&(?:#[0-9]{2,6}|#[xX][0-9a-fA-F]{2,5}|[A-Za-z]{3,8});")
_BROKEN = re.compile(r"(?<=[^\W\d_])[-\u2010][ \t]{0,4}\r?\n[ \t]{0,8}(?=[^\W\d_])")  # a word that a line's end parts
_FILL = "\u200b"  # without width; in the place of what is read as less
_HIDDEN = "\u00ad\u0300-\u036f\u200b-\u200f\u2060\ufeff"
_EMPHASIS_WITHIN = re.compile(rf"[^\W_](?=[{_HIDDEN}]*[{_EMPHASIS}])[{_EMPHASIS}{_HIDDEN}]+[^\W_]")
_PLAIN = {
    "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h", "ŧ": "t", "ŋ": "n",
}  # fmt: skip
# Signs that people leave out or put in at will: accents, Hebrew points, Arabic vowel signs. The vowel signs of Indic
# scripts are no such signs: without them two names may become one.
_OPTIONAL = re.compile(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc"
    "\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f]"
)


class _Table(dict[int, str]):
    """What each character folds to, found when it is first met."""

    def __init__(self, emphasis: str) -> None:
        super().__init__()
        self.emphasis = emphasis

    def __missing__(self, code: int) -> str:
        self[code] = folded = self._fold(chr(code))
        return folded

    def _fold(self, char: str) -> str:
        if char in _EMPHASIS:
            return self.emphasis
        if char in _APOSTROPHES:
            return "'"
        if char in _HYPHENS:
            return "-"
        if char == "_" or unicodedata.category(char) in ("Zs", "Zl", "Zp"):
            return " "
        if invisible(char):
            return ""
        wide = unicodedata.normalize("NFKC", char)
        bare = _OPTIONAL.sub("", unicodedata.normalize("NFD", wide))
        kept = bare if bare != unicodedata.normalize("NFD", wide) else wide  # Hangul stays in whole syllables
        folded = _OPTIONAL.sub("", kept.casefold())
        return "".join(_PLAIN.get(c, c) for c in folded).replace("_", " ")


_JOINING, _PARTING = _Table(""), _Table(" ")


def invisible(char: str) -> bool:
    """A character without width, or a sign that people leave out at will."""
    return unicodedata.category(char) == "Cf" or char == "\u034f" or _OPTIONAL.match(char) is not None


@dataclass(frozen=True, slots=True)
class Folded:
    """`text` is folded from `source`. Where the two run apart, `at` and `to` hold positions in either.

    `source` is the text as given, position for position, with HTML's entities read: `&eacute;` is é and fill.
    """

    text: str
    source: str
    at: array[int]
    to: array[int]

    def origin(self, position: int) -> int:
        """Where in the source the character at `position` of the folded text comes from."""
        if not self.at:
            return position
        i = bisect_right(self.at, position) - 1
        return position if i < 0 else self.to[i] + position - self.at[i]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The source's characters behind `start` to `end`, with the accents and invisible signs that follow them.

        An emphasis mark that has its partner just outside (as in `**An**na`) takes it in.
        """
        first, last = self.origin(start), self.origin(end - 1) + 1
        source = self.source
        if self.at:
            while last < len(source) and invisible(source[last]):
                last += 1
        for mark in _unmatched(source[first:last]):
            if source.startswith(mark, last):
                last += len(mark)
            elif source.endswith(mark, 0, first):
                first -= len(mark)
        return first, last


def _unmatched(piece: str) -> list[str]:
    """Emphasis marks in `piece` without a partner there."""
    open_marks: list[str] = []
    for mark in _MARK.findall(piece):
        if open_marks and open_marks[-1] == mark:
            open_marks.pop()
        else:
            open_marks.append(mark)
    return open_marks


def fold(
    text: str, *, emphasis: Literal["joins", "parts"] = "joins", lines: Literal["part", "join"] = "part"
) -> Folded:
    """`text` folded. An emphasis mark between two letters joins them (`An**na**`) or parts them (`Anna*Lee*`), and a
    hyphen at a line's end parts or joins them too.

    Linear in the length of the text; text that folds one to one needs no map.
    """
    table = _JOINING if emphasis == "joins" else _PARTING
    if "&" in text:
        text = _ENTITY.sub(_read_entity, text)
    if lines == "join":
        text = _BROKEN.sub(lambda match: _FILL * len(match[0]), text)
    shown = _ESCAPED.sub("  ", text) if "\\" in text else text
    folded = shown.translate(table)
    odd = [char for char in set(text) if len(table[ord(char)]) != 1]
    at, to = array("q"), array("q")
    if odd:
        pattern = re.compile("[" + "".join(re.escape(char) for char in odd) + "]+")
        shift = 0  # how far a position in the folded text lies behind the one in the source
        for run in pattern.finditer(text):
            begin = run.start() - shift
            for i, char in enumerate(run[0], run.start()):
                size = len(table[ord(char)])
                for k in range(size):
                    at.append(begin + k)
                    to.append(i)
                begin += size
            at.append(begin)
            to.append(run.end())
            shift = run.end() - begin
    return Folded(folded, text, at, to)


def _read_entity(match: re.Match[str]) -> str:
    """A letter, an accent, an apostrophe, a hyphen or a blank that is written as an entity, filled to its length."""
    char = html.unescape(match[0])
    if len(char) != 1 or not (char.isalpha() or char.isspace() or char in _APOSTROPHES + _HYPHENS or invisible(char)):
        return match[0]
    return char + _FILL * (len(match[0]) - 1)


def broken_within(text: str) -> bool:
    """Whether a line's end parts a word, so that both ways of folding are worth a look."""
    return "\n" in text and _BROKEN.search(text) is not None


def emphasis_within(text: str) -> bool:
    """Whether an emphasis mark stands between two letters, so that both ways of folding are worth a look."""
    return _EMPHASIS_WITHIN.search(text) is not None
