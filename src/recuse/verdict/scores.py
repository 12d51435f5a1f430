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
    rf"(?P<value>{_DIGITS})(?![\d%]|[.,]\d)(?:\s*(?:/|out of|von|sur|de)\s*\d{{1,4}}(?!\d|\.\d))?"
    r"(?!\s?[-–—]\s?\d)(?:\s*(?:points?|点|分))?",
    re.IGNORECASE,
)
# What stands right before a score; the score begins where the match ends.
_CUE = re.compile(
    r"\b(?:score|rating|grade|評価|スコア|评分|分数|得分|оценка|puntuación|bewertung)s?\b"
    r"(?:\s*\([^()\n]{0,30}\))?[\s\"']*(?:is|are|of|would be|:|=)?[\s\"'(\[]*",
    re.IGNORECASE,
)
_RATED = re.compile(
    r"\bI\s+(?:\w+\s+){0,2}?(?:rate|score|grade|give|award|assign)\b(?:\s+(?:it|this|that|\w+ \w+))?"
    r"(?:\s+(?:a|an|as|at|with))?[\s:\"'(\[]+",
)
_VALUE = re.compile(r"(?:nan|inf\w*|n/a|none|null)\b|[-+−]?\d", re.IGNORECASE)
_VALUE_ENDS = re.compile(
    r"\s*(?:$|[\n.,;:!)\]\"'。、–—(])|\s+(?:because|since|for|as|due|given|overall|here|on)\b", re.IGNORECASE
)
_END = re.compile(r"[\s\"')\]}.!。]*$")
_PAIR = re.compile(
    rf"[\s\"'(\[]*(?P<one>{_DIGITS})(?:\s*/\s*\d{{1,4}})?\s*(?:[,;|&:\s]|and)\s*(?P<two>{_DIGITS})(?:\s*/\s*\d{{1,4}})?[\s\"')\].]*"
)
_PAIR_FIRST = re.compile(rf"\s*[(\[](?P<one>{_DIGITS})\s*,\s*(?P<two>{_DIGITS})[)\]](?=\s+[A-Za-z])")
_SCORES_LINE = re.compile(
    rf"^\W*(?:(?:the|final|output)\s+)*scores?(?:\s+are)?\s*[:=]?\s*(?P<one>{_DIGITS})\s*(?:,|and|\s)\s*(?P<two>{_DIGITS})\W*$",
    re.IGNORECASE | re.MULTILINE,
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
    starts = [m.end() for pattern in (_CUE, _RATED) for m in pattern.finditer(text) if _VALUE.match(text, m.end())]
    lines = text.split("\n")
    for line, name in ((lines[-1], "last"), (lines[0], "first")):
        number = _alone(line)
        if number and not (name == "first" and starts):
            return as_score(number, scale, f"the {name} line is a number")
    if not starts:
        return none("no_verdict", "no score")
    at = max(starts)
    words = " ".join(text[max(0, at - 24) : at + 12].split())
    found = NUMBER.match(text, at)
    if not found or not _VALUE_ENDS.match(text, found.end()):
        return none("no_verdict", f'the words "{words}" hold no single number')
    return as_score(found["value"], scale, f'the words "{words}"')


def _alone(text: str) -> str | None:
    found = NUMBER.match(text.lstrip(" \t\n\"'([{"))
    if not found:
        return None
    return found["value"] if _END.match(text.lstrip(" \t\n\"'([{"), found.end()) else None


def read_number_pair(text: str, menu: Menu) -> Verdict:
    """Two numbers alone on the last or first line; else the last "scores: (8, 9)" or "scores of Answer 1 and Answer 2
    are 8 and 9"; else the last score beside each answer's name."""
    scale = menu.spec.scale
    lines = text.split("\n")
    for line, name in ((lines[-1], "last"), (lines[0], "first")):
        match = _PAIR.fullmatch(line) or _PAIR_FIRST.match(line)
        if match:
            return as_pair(match["one"], match["two"], scale, f"the two numbers of the {name} line")
    both, first, second = _named(menu.spec)
    joint = [match for pattern in (_TUPLE, _SCORES_LINE, both) for match in pattern.finditer(text)]
    if joint:
        last = max(joint, key=lambda match: match.start("one"))
        return as_pair(last["one"], last["two"], scale, f'the words "{" ".join(last[0].split())[-60:]}"')
    one, two = _last(first, text), _last(second, text)
    if one is None or two is None:
        return none("no_verdict", "no two scores")
    return as_pair(one, two, scale, f"the scores {one} and {two} beside the answers' names")


def _last(patterns: tuple[re.Pattern[str], ...], text: str) -> str | None:
    found = [match for pattern in patterns for match in pattern.finditer(text)]
    return max(found, key=lambda match: match.start("value"))["value"] if found else None


@lru_cache(maxsize=64)
def _named(spec: Spec) -> tuple[re.Pattern[str], tuple[re.Pattern[str], ...], tuple[re.Pattern[str], ...]]:
    """Patterns of scores beside the answers' names: of both at once, of the first, of the second."""
    one, two = (
        rf"\b{NOUN}\s*\(?(?:{re.escape(label)}|{digit})\)?(?:'s)?(?!\w)"
        for label, digit in ((spec.first, "1"), (spec.second, "2"))
    )
    both = rf"\b{one}\s+and\s+{two}\s+(?:are|is|:)\s*(?P<one>{_DIGITS})\s*(?:,|and)\s*(?P<two>{_DIGITS})(?![\d.]*\d)"

    def beside(name: str, other: str) -> tuple[re.Pattern[str], ...]:
        value = rf"(?P<value>{_DIGITS})(?![\d%]|[.,]\d)(?:\s*(?:/|out of)\s*\d{{1,4}}(?!\d))?"
        ends = r"(?=[ \t]*(?:$|\n|[,;.()–—-]|points?\b|and\b|while\b|because\b|for\b))"
        return (
            re.compile(rf"{name}(?:\s+score)?\s*\(?\s*(?:[:=]|\s-)\s*(?:score\s*:?\s*)?{value}{ends}", re.IGNORECASE),
            re.compile(
                rf"{name}(?:(?!{other})[^\n]){{0,120}}?\bscore(?:\s+of|\s+is|:)?\s*(?:an?\s+)?{value}{ends}",
                re.IGNORECASE,
            ),
            re.compile(rf"{name}\s+with\s+(?:an?\s+)?(?:score\s+of\s+)?{value}{ends}", re.IGNORECASE),
            re.compile(rf"(?<![\w.]){value}\s+(?:to|for)\s+{name}", re.IGNORECASE),
        )

    return re.compile(both, re.IGNORECASE), beside(one, two), beside(two, one)
