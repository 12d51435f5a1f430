"""The text of a reply as words: markup off, whole words folded, and what stands between them (English punctuation)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal

from recuse import assets
from recuse.types import Reply
from recuse.verdict.noanswer import is_error_text, is_refusal
from recuse.verdict.text import split_thinking, visible

# What follows a word: nothing but a blank, a hyphen, a comma, another mark inside a sentence, the end of a sentence.
After = Literal["", "-", ",", ";", ".", "?"]

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_ENDS = re.compile(r"[.!…。！](?=[\s\"')\]])|[。！]")
_LINE = re.compile(r"\n\s*\n|\n(?=\s*(?:[^\Wa-zà-öø-ÿ_]|[^\w\s]))")  # not where a line merely goes on
_WITHIN = re.compile(r"[;:()\[\]{}/|\"<>=–—]|\s-+\s|--")
_ABBREVIATIONS = frozenset(["mr", "mrs", "ms", "dr", "prof", "st", "vs", "eg", "ie", "approx", "dept"])

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*$", re.MULTILINE)
_LINK = re.compile(r"!?\[([^\[\]\n]{1,300})\]\([^()\s]{1,500}\)")
_TAG = re.compile(r"</?[A-Za-z][A-Za-z0-9]{0,15}(?:\s[^<>\n]{0,200})?/?>|<\|[^|<>\n]{1,24}\|>")
_RULER = re.compile(r"^[ \t]*(?:[-*_=][ \t]?){3,100}$", re.MULTILINE)
_MARK = re.compile(r"^[ \t>]*(?:#{1,6}[ \t]+|[-*+•][ \t]+|\d{1,3}[.)][ \t]+)?", re.MULTILINE)
_EMPHASIS = re.compile(r"\*+|~~|`+|(?<![^\W_])_+|_+(?![^\W_])")

# "I cannot recommend her highly enough" declines nothing.
_PRAISE = re.compile(
    r"\W*(?:\w+\W+){0,4}?(?:can ?not|can'?t|could not|couldn't)\b[^.!?\n]{0,120}\b(?:enough|more highly|too highly)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Token:
    text: str  # folded
    raw: str
    after: After


def spoken(reply: Reply) -> tuple[str, str | None]:
    """The reply's text without thinking, and why it is no answer: "refused", "error", "transport_error", "truncated"
    (cut before an answer), "empty"; None where it is one. A text that is cut later counts as an answer."""
    if reply.finish == "error":
        return "", "error"
    text, open_thought = split_thinking(reply.text.strip())
    if reply.finish == "refusal" or declines(text):
        return text, "refused"
    if is_error_text(text):
        return text, "transport_error"
    if not _WORD.search(text):
        return text, "truncated" if open_thought or reply.finish == "length" else "empty"
    return text, None


def declines(text: str) -> bool:
    """Whether a text begins as a refusal; praise that merely sounds like one does not."""
    return is_refusal(text) and not _PRAISE.match(visible(text))


def readable(text: str) -> str:
    """`text` as it reads: characters of one width, Markdown and tags off, quotations kept. List marks are no words."""
    text = _FENCE.sub("", visible(text))
    text = _TAG.sub("", _LINK.sub(r"\1", text))
    text = _MARK.sub(lambda mark: "\n" if mark[0].strip() else "", _RULER.sub("", text))
    return _EMPHASIS.sub("", text).strip()


def tokens_of(text: str) -> tuple[Token, ...]:
    """The words of a `readable` text. Hyphens part words; apostrophes do not ("isn't" is one)."""
    found = list(_WORD.finditer(text))
    gaps = [text[a.end() : b.start()] for a, b in pairwise(found)] + [text[found[-1].end() :] if found else ""]
    tokens: list[Token] = []
    for i, match in enumerate(found):
        previous = found[i - 1][0] if i and gaps[i - 1] in (" ", ".") else ""
        short = gaps[i].strip() == "." and i + 1 < len(found) and _is_short(previous, match[0])
        following = found[i + 1][0][0] if i + 1 < len(found) else " "
        tokens.append(Token(match[0].casefold(), match[0], "" if short else _after(gaps[i], following)))
    return tuple(tokens)


def _is_short(previous: str, word: str) -> bool:
    """Whether a full stop behind `word` belongs to it: "Dr.", "e.g.", "John F."; not "The answer is A."."""
    if len(word) == 1:
        return len(previous) == 1 or previous[:1].isupper()
    return word.casefold() in _ABBREVIATIONS


def _after(gap: str, following: str) -> After:
    if gap in ("", " ") or (gap.isspace() and "\n" not in gap):
        return ""
    if gap == "-":
        return "-"
    if "?" in gap or "？" in gap:
        return "?"
    if _LINE.search(gap + following):
        return "."
    if _ENDS.search(gap + following):
        return "."
    if _WITHIN.search(gap):
        return ";"
    return "," if "," in gap or "、" in gap or "，" in gap else ""


def sentences_of(tokens: Sequence[Token]) -> list[tuple[int, int]]:
    """Where sentences begin and end among the tokens. A heading and an item of a list are sentences."""
    found, start = [], 0
    for i, token in enumerate(tokens):
        if token.after in (".", "?") or i == len(tokens) - 1:
            found.append((start, i + 1))
            start = i + 1
    return found


def is_latin(text: str) -> bool:
    """Whether most letters are of the English alphabet: word lists and readability say nothing of other scripts."""
    letters = [character for character in text if character.isalpha()]
    return 2 * sum(character.isascii() for character in letters) > len(letters)


class Phrases:
    """Words and phrases to find among tokens, the longest first, none twice."""

    def __init__(self, phrases: Mapping[str, str] | Sequence[str]) -> None:
        """A mapping gives what each phrase is found as; a sequence, itself."""
        named = phrases if isinstance(phrases, Mapping) else {phrase: phrase for phrase in phrases}
        split: dict[tuple[str, ...], str] = {}
        for phrase, name in named.items():
            words = tuple(match[0] for match in _WORD.finditer(visible(phrase).casefold()))
            if words:
                split.setdefault(words, name)
        self._of = split
        self._lengths: dict[str, list[int]] = {}
        for words in split:
            lengths = self._lengths.setdefault(words[0], [])
            if len(words) not in lengths:
                lengths.append(len(words))
                lengths.sort(reverse=True)

    def find(self, tokens: Sequence[Token]) -> list[tuple[int, int, str]]:
        """(start, end, name) of each, in order. None crosses the end of a sentence."""
        found, i = [], 0
        while i < len(tokens):
            for length in self._lengths.get(tokens[i].text, ()):
                part = tokens[i : i + length]
                if len(part) < length or any(token.after in (".", "?", ";") for token in part[:-1]):
                    continue
                name = self._of.get(tuple(token.text for token in part))
                if name is not None:
                    found.append((i, i + length, name))
                    i += length - 1
                    break
            i += 1
        return found


@lru_cache(maxsize=1)
def word_lists() -> dict[str, Any]:
    """`data/probe_words.toml`."""
    return tomllib.loads(assets.data("probe_words.toml").read_text(encoding="utf-8"))


def listed(words: str) -> list[str]:
    """The words of one string of the file."""
    return [word.replace("_", " ") for word in words.split()]
