"""Whether a name that is an ordinary word too is the word here: the redactor's rules, which leave doubt to the name."""

from __future__ import annotations

import re

from recuse.blinding.lexicon import WORD, Lexicon

_NEAR = 24  # characters on either side that the rules look at
_BEFORE_MONTH = re.compile(r"\d(?:st|nd|rd|th)?(?: of |[ /-])$")
_AFTER_MONTH = re.compile(r"(?: |/|-)\d|,? \d{4}(?!\d)| of \d{4}|(?:/|-| - | to | and )(?=([^\W\d_]+) \d)")
_LAST_WORD = re.compile(rf"({WORD.pattern})[.,:]?[ \t]{{1,3}}$")
_NEXT_WORD = re.compile(rf"[ \t]{{1,3}}({WORD.pattern})")
_DETERMINERS = frozenset(
    ("a", "an", "the", "this", "that", "my", "your", "our", "its", "no", "any", "some", "each", "every")
)
_OPENERS = '.!?:;"(\n\r[>#|•'


def is_the_word(text: str, start: int, end: int, *, lower: bool, capitals: bool, words: Lexicon) -> bool:
    """Whether `text[start:end]` (folded text) is the ordinary word and no name.

    lower     it is written with a small first letter
    capitals  the text uses capital letters at all; where it does not, a small letter says nothing
    """
    before, after = text[max(0, start - _NEAR) : start], text[end : end + _NEAR]
    word = text[start:end]
    last = _LAST_WORD.search(before)
    if lower and capitals:
        if last and last[1] in words.greetings:
            return False
        possessive = after.startswith("'s") and not after[2:3].isalnum()
        return not possessive or (last is not None and last[1] in _DETERMINERS)
    if word in words.months:
        nearby = _AFTER_MONTH.match(after)
        if nearby and (nearby[1] is None or nearby[1] in words.months):
            return True
        if _BEFORE_MONTH.search(before):
            return True
    following = _NEXT_WORD.match(after)
    if following is None or following[1] not in words.openings.get(word, ()):
        return False
    return opens_a_sentence(text, start)


def opens_a_sentence(text: str, start: int) -> bool:
    before = text[max(0, start - 8) : start].rstrip(" \t")
    return before[-1] in _OPENERS if before else start <= 8
