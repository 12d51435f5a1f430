"""Formats with numbers: score (one answer) and number_pair (both answers)."""

from __future__ import annotations

import math
import re
from functools import lru_cache

from recuse.types import Outcome, Verdict
from recuse.verdict.menu import NOUN, Menu, none
from recuse.verdict.spec import Spec

_DIGITS = r"[-+−]?\d{1,9}(?:\.\d{1,9})?"
# "7", "7.5", "7/10", "7 out of 10", "7 points"; not the 7 of "7-8", "7,500", "7.5.1" or "7%".
NUMBER = re.compile(
    rf"(?P<value>{_DIGITS})(?![\d%]|[.,]\d)(?:\s*(?:/|out of|von|sur|de)\s*\d{{1,4}}(?![\d.]))?"
    r"(?!\s?[-–—]\s?\d)(?:\s*(?:points?|点|分))?",
    re.IGNORECASE,
)
_CUE = re.compile(
    r"\b(?:score|rating|grade|mark|評価|スコア|评分|分数|得分|оценка|puntuación|note|bewertung)s?\b"
    r"(?:\s*\([^()\n]{0,30}\))?[\s\"']*(?:is|are|of|would be|:|=|to)?[\s\"'(\[]*(?P<rest>[^\s,;()\[\]\"'][^\n]*)",
    re.IGNORECASE,
)
_RATED = re.compile(
    r"\b(?:rate|score|grade|give)\b(?:\s+(?:it|this|that|\w+ \w+))?(?:\s+(?:a|an|as|at|with))?[\s:\"'(\[]+"
    r"(?P<rest>[-+]?\d[^\n]*)",
    re.IGNORECASE,
)
_VALUE = re.compile(r"(?:nan|inf\w*|n/a|none|null)\b|[-+−]?\d", re.IGNORECASE)
_END = re.compile(r"[\s\"')\]}.!。]*$")
_PAIR = re.compile(
    rf"[\s\"'(\[]*(?P<one>{_DIGITS})(?:\s*/\s*\d{{1,4}})?\s*(?:[,;|&:\s]|and)\s*(?P<two>{_DIGITS})(?:\s*/\s*\d{{1,4}})?[\s\"')\].]*"
)
_TUPLE = re.compile(
    rf"\b(?:scores?|ratings?|tuple|output|verdict|result)\b[^\n()\[\]]{{0,60}}[(\[]\s*(?P<one>{_DIGITS})\s*,\s*(?P<two>{_DIGITS})\s*[)\]]",
    re.IGNORECASE,
)


def as_score(digits: str, scale: tuple[float, float] | None, why: str) -> Verdict:
    """A score within the scale, else none: a score off the scale is never clipped."""
    value = float(digits.replace("−", "-"))
    if not math.isfinite(value):
        return none("no_verdict", f"{why}: not a finite number")
    if scale is not None and not scale[0] <= value <= scale[1]:
        return none("no_verdict", f"{why}: off the scale of {scale[0]:g} to {scale[1]:g}")
    return Verdict(score=value, why=why)


def as_pair(one: str, two: str, scale: tuple[float, float] | None, why: str) -> Verdict:
    """Two scores, first shown first, and the outcome that follows: the higher one is preferred, equal ones tie."""
    first, second = as_score(one, scale, why), as_score(two, scale, why)
    if first.score is None or second.score is None:
        return first if first.score is None else second
    outcome: Outcome = "A" if first.score > second.score else "B" if second.score > first.score else "tie"
    return Verdict(outcome=outcome, scores=(first.score, second.score), why=why)


def read_score(text: str, menu: Menu) -> Verdict:
    """A number alone, or the last of the form "Score: 7", "I rate it 7/10", or the first or last line alone."""
    scale = menu.spec.scale
    whole = _alone(text)
    if whole:
        return as_score(whole, scale, "the reply is a number")
    cues = [*_CUE.finditer(text), *_RATED.finditer(text)]
    cues = [m for m in cues if _VALUE.match(m["rest"])]
    lines = text.split("\n")
    for line, name in ((lines[-1], "last"), (lines[0], "first")):
        number = _alone(line)
        if number and not (name == "first" and cues):
            return as_score(number, scale, f"the {name} line is a number")
    if not cues:
        return none("no_verdict", "no score")
    last = max(cues, key=lambda m: m.start("rest"))
    words = last[0][: last.start("rest") - last.start() + 12].strip()
    found = NUMBER.match(last["rest"])
    if not found:
        return none("no_verdict", f'the words "{words}" hold no single number')
    return as_score(found["value"], scale, f'the words "{words}"')


def _alone(text: str) -> str | None:
    found = NUMBER.match(text.lstrip(" \t\n\"'([{"))
    if not found:
        return None
    return found["value"] if _END.match(text.lstrip(" \t\n\"'([{"), found.end()) else None


def read_number_pair(text: str, menu: Menu) -> Verdict:
    """Two numbers alone on the last or first line; else the last "scores (8, 9)"; else "Answer 1: 8, Answer 2: 9"."""
    scale = menu.spec.scale
    lines = text.split("\n")
    for line, name in ((lines[-1], "last"), (lines[0], "first")):
        match = _PAIR.fullmatch(line)
        if match:
            return as_pair(match["one"], match["two"], scale, f"the two numbers of the {name} line")
    tuples = list(_TUPLE.finditer(text))
    if tuples:
        return as_pair(tuples[-1]["one"], tuples[-1]["two"], scale, f'the words "{tuples[-1][0]}"')
    for pattern in _named(menu.spec):
        named = list(pattern.finditer(text))
        if named:
            last = named[-1]
            return as_pair(last["one"], last["two"], scale, f"the named scores {last['one']} and {last['two']}")
    return none("no_verdict", "no two scores")


@lru_cache(maxsize=64)
def _named(spec: Spec) -> tuple[re.Pattern[str], ...]:
    """Patterns of scores after the answers' names: on lines of their own, and within one sentence."""
    one, two = (
        rf"{NOUN}\s*\(?(?:{re.escape(label)}|{digit})\)?" for label, digit in ((spec.first, "1"), (spec.second, "2"))
    )
    after = r"(?:\s*/\s*\d{1,4})?(?:[ \t]*(?:points?|\([^()\n]*\)))?[.,;]?[ \t]*"
    between = r"(?:[^\n]*\n){0,3}?"
    score = r"(?:[^\n.]{0,40}?\bscore of\b|[^\n.\d]{0,24}?\b(?:gets?|scores?|receives?|rated|earns?)\b)\s*(?:an?\s+)?"
    return (
        re.compile(
            rf"^\W*{one}[^\n:]{{0,20}}:\s*(?P<one>{_DIGITS}){after}\n{between}\W*{two}[^\n:]{{0,20}}:\s*(?P<two>{_DIGITS}){after}$",
            re.IGNORECASE | re.MULTILINE,
        ),
        re.compile(
            rf"{one}{score}(?P<one>{_DIGITS})(?!\d)[^\n]{{0,60}}?{two}{score}(?P<two>{_DIGITS})(?!\d)", re.IGNORECASE
        ),
        re.compile(
            rf"{one}[ \t]*[:=(][ \t]*(?P<one>{_DIGITS})(?:\s*/\s*\d+)?\)?[ \t]*[,;|&]?[ \t]*(?:and[ \t]+)?"
            rf"{two}[ \t]*[:=(][ \t]*(?P<two>{_DIGITS})(?![\d.]*\d)",
            re.IGNORECASE,
        ),
    )
