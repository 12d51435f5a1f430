"""Formats with final tags in double brackets: bracket, bracket_strength, bracket_score.

Tags that name different outcomes are conflicting, tags that differ only in strength count as the last. Tags that repeat
the instruction ("[[A]] or [[B]]", "[[A]] if ...") are passed over.
"""

from __future__ import annotations

import re

from recuse.types import Outcome, Verdict
from recuse.verdict.menu import Menu, none
from recuse.verdict.scores import NUMBER, as_score

_TAG = re.compile(r"\[\[\s*([^\[\]\n]{1,40}?)\s*\]\]")
_SINGLE = re.compile(r"(?:^|[:\s])\[\s*([^\[\]\n]{1,40}?)\s*\][.!\s]*$")
_JOINED = re.compile(
    r"[\s\"',;/|]*(?:(?:\b(?:if|when|for|means?|as|where)\b|[:=(])[^\[\]\n.]{0,90})?[\s\"',;/|)]*(?:\b(?:or|and|vs)\b[\s,\"']*)*"
)
_CONDITION = re.compile(r"[\s\"',]*\b(?:if|when|should)\b", re.IGNORECASE)
_STRENGTH = re.compile(r"(.+?)\s*(>>|>|=|<<|<)\s*(.+)")


def _tags(text: str) -> list[str]:
    """The contents of the tags that are verdicts, in order. A tag beside "or" another, or before "if", is an echo."""
    found = list(_TAG.finditer(text))
    if not found:
        single = _SINGLE.search(text)
        return [single[1]] if single else []
    echoes: set[int] = set()
    for i, tag in enumerate(found):
        if _CONDITION.match(text, tag.end()):
            echoes.add(i)
        if i and found[i - 1][1] != tag[1]:
            between = text[found[i - 1].end() : tag.start()]
            if re.search(r"\bor\b|[/|,;]|\bif\b|\bwhen\b|\bfor\b", between) and _JOINED.fullmatch(between):
                echoes |= {i - 1, i}
    return [tag[1] for i, tag in enumerate(found) if i not in echoes]


def read_bracket(text: str, menu: Menu) -> Verdict:
    """[[A]], [[B]], and the tie label in brackets where the prompt has one, such as [[C]]."""
    tags = _tags(text)
    return _agreed([(tag, menu.find(tag)) for tag in tags])


def read_bracket_strength(text: str, menu: Menu) -> Verdict:
    """[[A>>B]], [[A>B]], [[A=B]], [[B>A]], [[B>>A]]; strength 2 is much better, 1 slightly. The format has its tie."""
    read: list[tuple[str, Outcome | None]] = []
    strength: int | None = None
    for tag in _tags(text):
        outcome: Outcome | None = None
        match = _STRENGTH.fullmatch(tag)
        if match and {menu.find(match[1]), menu.find(match[3])} == {"A", "B"}:
            sign = match[2]
            outcome = "tie" if sign == "=" else menu.find(match[1] if sign[0] == ">" else match[3])
            strength = None if sign == "=" else len(sign)
        read.append((tag, outcome))
    found = _agreed(read)
    if found.outcome is None:
        return found
    return Verdict(outcome=found.outcome, strength=strength, why=found.why)


def _agreed(tags: list[tuple[str, Outcome | None]]) -> Verdict:
    if not tags:
        return none("no_verdict", "no tag in double brackets")
    last, outcome = tags[-1]
    if outcome is None:
        return none("no_verdict", f"the last tag [[{last}]] is not on the menu")
    if len({named for _, named in tags if named is not None}) > 1:
        return none("conflicting", "tags that name different outcomes: " + ", ".join(f"[[{tag}]]" for tag, _ in tags))
    return Verdict(outcome=outcome, why=f"the tag [[{last}]]")


def read_bracket_score(text: str, menu: Menu) -> Verdict:
    """[[7]]: one score, on the scale where the prompt has one."""
    tags = _tags(text)
    if not tags:
        return none("no_verdict", "no tag in double brackets")
    numbers = [NUMBER.fullmatch(tag) for tag in tags]
    last = numbers[-1]
    if last is None:
        return none("no_verdict", f"the last tag [[{tags[-1]}]] is not a number")
    if len({float(number["value"]) for number in numbers if number}) > 1:
        return none("conflicting", "tags with different scores: " + ", ".join(f"[[{tag}]]" for tag in tags))
    return as_score(last["value"], menu.spec.scale, f"the tag [[{tags[-1]}]]")
