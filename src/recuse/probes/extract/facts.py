"""The facts of a text that can be told by rule: dates, amounts, percentages, numbers; and what a checklist names.

A language variant keeps them, whatever its words: "20,000", "20.000" and "20 000" are one number, "March 2, 2026" and
"2026-03-02" one date, "EUR 500" and "500 €" one amount.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from recuse.probes.extract.texts import Phrases, readable, tokens_of

_MONTHS = {
    name: number + 1
    for number, names in enumerate(
        (
            "january jan januar enero janvier gennaio janeiro", "february feb februar febrero février febbraio",
            "march mar märz marzo mars março", "april apr abril avril aprile", "may mai mayo maggio maio",
            "june jun juni junio juin giugno junho", "july jul juli julio juillet luglio julho",
            "august aug agosto août", "september sep sept septiembre septembre settembre setembro",
            "october oct oktober octubre octobre ottobre outubro", "november nov noviembre novembre novembro",
            "december dec dezember diciembre décembre dicembre dezembro",
        )
    )
    for name in names.split()
}  # fmt: skip
_MONTH = "(?P<month>" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\b\.?"
_DAY = r"\b(?P<day>\d{1,2})(?:st|nd|rd|th|\.)?"
_YEAR = r"(?P<year>(?:1[89]|20)\d\d)\b(?![.,]\d)"
_DATES = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})\b",
        rf"{_DAY} (?:of |de )?{_MONTH}(?:,? (?:de )?{_YEAR})?",
        rf"\b{_MONTH} {_DAY}(?!\d)(?:,? {_YEAR})?",
        rf"\b{_MONTH} (?:de )?{_YEAR}(?P<day>)",
    )
]
# Three digits behind a comma, point, blank or apostrophe are thousands; another point or comma is decimal.
_NUMBER = re.compile(
    r"(?<![\w.,])(?P<whole>\d{1,3}(?P<mark>[,.' ])\d{3}(?:(?P=mark)\d{3}){0,5}(?!\d)|\d{1,30})"
    r"(?:[.,](?P<part>\d{1,9}))?(?:(?:st|nd|rd|th)\b)?"
)
_CURRENCY = {
    "€": "eur", "eur": "eur", "euro": "eur", "euros": "eur", "$": "usd", "usd": "usd", "dollar": "usd",
    "dollars": "usd", "dólares": "usd", "£": "gbp", "gbp": "gbp", "pounds": "gbp", "chf": "chf", "francs": "chf",
    "franken": "chf", "¥": "jpy", "jpy": "jpy", "yen": "jpy", "₹": "inr", "inr": "inr", "rupees": "inr",
}  # fmt: skip
_MONEY = "(?:" + "|".join(re.escape(word) for word in sorted(_CURRENCY, key=len, reverse=True)) + ")"
_FRONT = re.compile(rf"(?<![^\W\d_])({_MONEY}) ?$", re.IGNORECASE)
_SCALE = re.compile(r" ?(k|thousand|tausend|mille|mil|millions?|millionen|millones)\b", re.IGNORECASE)
_BEHIND = re.compile(
    rf"[ -]?(?:({_MONEY})(?![^\W_])|(%|(?:percent|per cent|prozent|por ciento|pour cent)\b))", re.IGNORECASE
)
_WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_NAMED = {str(number): word for number, word in enumerate(_WORDS)}

Kind = Literal["date", "amount", "percent", "number", "item"]


@dataclass(frozen=True, slots=True, order=True)
class Fact:
    kind: Kind
    value: str  # one spelling: "2026-03-02", "20000 eur", "4.5"; an item as the checklist has it

    def __str__(self) -> str:
        return f"{self.value} %" if self.kind == "percent" else self.value


@dataclass(frozen=True, slots=True)
class FactsKept:
    kept: tuple[Fact, ...]
    lost: tuple[Fact, ...]

    @property
    def share(self) -> float | None:
        """None where there was no fact to keep."""
        total = len(self.kept) + len(self.lost)
        return len(self.kept) / total if total else None


def facts_of(text: str) -> tuple[Fact, ...]:
    """The dates, amounts, percentages and numbers of a text, each once, in order of kind and value.

    Numerals only: number words are no facts here. "1.234" is read as 1234 in every language, so that a decimal with
    exactly three places is misread alike on both sides. Days of a numeric date such as 02/03/2026 are plain numbers,
    since languages order them differently. Numerals that count the items of a list are no facts.
    """
    text = " ".join(readable(text).split())
    found: set[Fact] = set()
    for pattern in _DATES:
        for match in pattern.finditer(text):
            if date := _date(match):
                found.add(Fact("date", date))
        text = pattern.sub(lambda match: "¦" if _date(match) else match[0], text)
    for match in _NUMBER.finditer(text):
        found.add(_number(text, match))
    return tuple(sorted(found))


def _date(match: re.Match[str]) -> str | None:
    month = _MONTHS.get(match["month"].casefold()) or int(match["month"])
    day = int(match["day"]) if match["day"] else None
    if not 1 <= month <= 12 or (day is not None and not 1 <= day <= 31):
        return None
    parts = [match["year"], f"{month:02}", f"{day:02}" if day else None]
    return "-".join(part for part in parts if part)


def _number(text: str, match: re.Match[str]) -> Fact:
    digits = re.sub(r"\D", "", match["whole"])
    value = Decimal(f"{digits}.{match['part'] or 0}")
    end = match.end()
    if scale := _SCALE.match(text, end):
        value *= 1000 if scale[1].casefold() in ("k", "thousand", "tausend", "mille", "mil") else 1_000_000
        end = scale.end()
    said = format(value.normalize(), "f")
    behind = _BEHIND.match(text, end)
    if behind and behind[2]:
        return Fact("percent", said)
    front = _FRONT.search(text, max(0, match.start() - 10), match.start())
    currency = front[1] if front else behind[1] if behind else None
    return Fact("amount", f"{said} {_CURRENCY[currency.casefold()]}") if currency else Fact("number", said)


def facts_kept(base: str, text: str) -> FactsKept:
    """Which facts of `base` stand in `text` too. A number up to twelve may be written as an English word there, and an
    amount may have lost its currency."""
    wanted, there = facts_of(base), frozenset(facts_of(text))
    words = {token.text for token in tokens_of(readable(text))}
    values = {fact.value.split()[0] for fact in there if fact.kind in ("number", "amount")}

    def kept(fact: Fact) -> bool:
        if fact in there:
            return True
        value = fact.value.split()[0]
        if fact.kind == "number" and (value in values or (value in _NAMED and _NAMED[value] in words)):
            return True
        return fact.kind == "amount" and Fact("number", value) in there

    return FactsKept(tuple(f for f in wanted if kept(f)), tuple(f for f in wanted if not kept(f)))


class Checklist:
    """Items that every reply should name, each in one of several spellings: whole words, or a fact by its value."""

    def __init__(self, items: Sequence[Sequence[str]]) -> None:
        """Raises ValueError for an item without a word."""
        for spellings in items:
            if not spellings or not all(tokens_of(readable(spelling)) for spelling in spellings):
                raise ValueError(f"the item {list(spellings)!r} has no word in it")
        self._items = [(spellings[0], Phrases(list(spellings)), _values(spellings)) for spellings in items]

    def __len__(self) -> int:
        return len(self._items)

    def check(self, text: str) -> FactsKept:
        """Which items stand in `text`."""
        tokens, facts = tokens_of(readable(text)), frozenset(facts_of(text))
        named = [(Fact("item", name), bool(p.find(tokens)) or not facts.isdisjoint(v)) for name, p, v in self._items]
        return FactsKept(tuple(f for f, found in named if found), tuple(f for f, found in named if not found))


def _values(spellings: Sequence[str]) -> frozenset[Fact]:
    """The fact that an item is, where it is one and nothing more: "EUR 20,000" but not "Section 5"."""
    found = set()
    for spelling in spellings:
        facts = facts_of(spelling)
        words = [token for token in tokens_of(readable(spelling)) if token.text[0].isalpha()]
        if len(facts) == 1 and (facts[0].kind == "date" or all(w.text in _CURRENCY for w in words)):
            found.add(facts[0])
    return frozenset(found)
