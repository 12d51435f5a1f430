"""Multiple choice: the options of a question, and the letter that an answer comes to.

As everywhere, the menu is checked after the match, and the last letter announced counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_OPTION_LINE = re.compile(r"^[ \t]*(?:\(([A-Z])\)|([A-Z])[).:])[ \t]*(\S[^\n]*)$", re.MULTILINE)
_OPTION_INLINE = re.compile(r"\(([A-Z])\)[ \t]*([^\n]*?)(?=\s*\([A-Z]\)|$)", re.MULTILINE)

_CUE = (
    r"(?<!not )(?<!than )(?<!not the )(?<!than the )"
    r"\b(?:answer|option|choice|guess|conclusion|solution|statement|selection|pick|choose|select|letter|candidate)s?\b"
)
# Before a letter in brackets any words but a denial; before a bare one only such as belong to an announcement.
_WORDS = r"(?:(?!\b(?:not|never|than|neither|answer|option|choice)\b|n['’]t\b)[^\n;.()\[\]]){0,60}?"
_FILLER = (
    r"(?:[^\w\n()\[\]]|\b(?:is|are|be|was|would|will|should|must|seems|appears|likely|to|as|the|option|letter|choice"
    r"|answer|therefore|thus|so|hence|indeed|\w+ly|final|correct|best|most|with|number)\b){1,40}?"
)
_BRACKETS = r"(?:\(\s*[A-Z]\s*\)|\[\s*[A-Z]\s*\])"
# A bare A or I needs an end after it: "the answer is a matter of", "the option I took".
_BARE = r"(?:[A-Z](?=\s*(?:$|[\n.,;:)!]))|[B-HJ-Z](?![\w'’]))"
_MORE = rf"(?:\s*(?:,\s*(?:and|or)?|and|&|or)\s*(?:{_BRACKETS}|[A-Z](?![\w'’])))*"
_ANNOUNCED = re.compile(
    rf"(?i:{_CUE})(?:(?i:{_FILLER})(?P<bare>{_BARE}{_MORE})|(?i:{_WORDS})(?P<sure>{_BRACKETS}{_MORE}))", re.MULTILINE
)
_CALLED = re.compile(
    r"(?P<sure>\([A-Z]\))[^\n.]{0,80}?\b(?:is|are) (?!not\b)(?:the )?(?:\w+ )?(?:correct|right|best|answer)"
)
_ALONE = re.compile(r"[^\w\n]*([A-Z])[^\w\n]*")
_OPENING = re.compile(r"\s*(?:\(([A-Z])\)|([A-Z])[.):]\s)")
_BRACKETED = re.compile(r"\(([A-Z])\)")
_LETTER = re.compile(r"(?<!\w)[A-Z](?!\w)")
# Asked for five, models write four to thirteen; AAA is a rating.
_REPEATED = re.compile(r"(?<![A-Za-z])([A-Z])(?:[\s,-]?\1){3,}(?![A-Za-z])")


def options_of(question: str) -> dict[str, str]:
    """The options of a multiple-choice question by letter, from A on without a gap; {} where there are none."""
    for pattern in (_OPTION_LINE, _OPTION_INLINE):
        found: dict[str, str] = {}
        for match in pattern.finditer(question):
            *letters, words = match.groups()
            letter = next(x for x in letters if x)
            if letter == chr(ord("A") + len(found)):
                found[letter] = words.strip()
        if len(found) >= 2:
            return found
    return {}


def repeated_letter(text: str, options: Mapping[str, str]) -> str | None:
    """The letter of the last run of one option's letter: "HHHHH"."""
    letters = [match[1] for match in _REPEATED.finditer(text) if match[1] in options]
    return letters[-1] if letters else None


def announced_letter(text: str, options: Mapping[str, str]) -> str | None:
    """The letter that `text` announces, "B", or several as "B,J". Without options only one in brackets after a cue."""
    found = [(m.end(), m["sure"] or m["bare"]) for m in _ANNOUNCED.finditer(text)]
    found += [(m.end(), m["sure"]) for m in _CALLED.finditer(text)]
    letters = [",".join(sorted(set(_LETTER.findall(said)))) for _, said in sorted(found) if options or said[0] == "("]
    letters = [value for value in letters if not options or set(value.split(",")) <= set(options)]
    if letters:
        return letters[-1]
    lines = text.strip().splitlines()
    alone = _ALONE.fullmatch(lines[-1]) if lines else None
    opening = _OPENING.match(text) if len(lines) == 1 else None
    letter = alone[1] if alone else (opening[1] or opening[2]) if opening else None
    return letter if letter in options else None


def option_named(sentence: str, options: Mapping[str, str]) -> str | None:
    """The one option that `sentence` names, by its letter in brackets or by its words."""
    letters = set(_BRACKETED.findall(sentence)) & set(options)
    named = {letter for letter, words in options.items() if says(sentence, words)}
    # Where the words of one option are part of another's, the longer was meant.
    named = {x for x in named if not any(x != y and says(options[y], options[x]) for y in named)}
    return next(iter(letters | named)) if len(letters | named) == 1 else None


def words_of(text: str) -> str:
    """`text` in lower case on one line, without marks around it."""
    return " ".join(text.split()).strip(" .!?\"'").casefold()


def says(text: str, words: str) -> bool:
    """Whether `text` has `words` one after the other, whatever their case and the white space between."""
    wanted = words_of(words)
    return bool(wanted) and re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", words_of(text)) is not None
