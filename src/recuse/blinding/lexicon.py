"""The words that blinding replaces beside names, as `recuse/data/blinding.toml` has them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from recuse import assets
from recuse.blinding.fold import fold
from recuse.blinding.settings import BlindSettings
from recuse.errors import UsageError

Kind = Literal["pronoun", "title", "gender", "noun", "agreement"]
Rule = Literal["", "abbreviation", "before name", "before known", "after name", "generic"]
# Scripts that set no blanks between words, or write particles to a name from another script: 我叫James.
UNSPACED = "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff"
WORD = re.compile(rf"[^\W\d_{UNSPACED}]+")  # a run of letters
MARKS = "\u0900-\u0dff\u0e30-\u0e4e\u0eb0-\u0ece\u102b-\u103e"  # vowel signs that are no letters to a regex
_MARKED = re.compile(rf"(?:[^\W\d_]|[{MARKS}])+")


@dataclass(frozen=True, slots=True)
class Entry:
    """A word or phrase, as its tokens, and what stands in its place."""

    tokens: tuple[str, ...]
    kind: Kind
    becomes: str
    rule: Rule = ""


@dataclass(frozen=True, slots=True)
class Lexicon:
    entries: Mapping[str, tuple[Entry, ...]]  # by first token, longest first
    pronouns: frozenset[str]
    plural_pronouns: frozenset[str]
    agreement: Mapping[str, str]
    endings: tuple[tuple[str, str], ...]
    unspaced_titles: tuple[str, ...]
    kept: frozenset[str]  # masculine forms that stay
    titles: frozenset[str]  # that a name of the list may begin with; those that are given names too are left out
    particles: frozenset[str]
    ordinary: frozenset[str]
    months: frozenset[str]
    openings: Mapping[str, frozenset[str]]
    greetings: frozenset[str]
    acronyms: frozenset[str]
    no_plurals: frozenset[str]  # words that look like a name with an s


def tokens_of(text: str) -> tuple[str, ...]:
    """The runs of letters of folded `text`, each with its vowel signs."""
    return tuple(_MARKED.findall(fold(text).text))


@cache
def lexicon(settings: BlindSettings) -> Lexicon:
    """The lexicon of the package under `settings`. Raises UsageError for a setting that it does not know."""
    if settings.ordinary_words not in ("position", "redact") or settings.masculine_generics not in ("keep", "redact"):
        raise UsageError(
            "There is no such setting of blinding.",
            hint="ordinary_words is position or redact, masculine_generics is keep or redact.",
        )
    table = tomllib.loads(assets.data("blinding.toml").read_text(encoding="utf-8"))
    names, titles, nouns = table["names"], table["titles"], table["nouns"]
    found = [Entry(_tokens(word), "pronoun", "[PRONOUN]") for word in table["pronouns"].split()]
    for form in settings.pronouns:
        if not (tokens := tokens_of(form)):
            raise UsageError("A pronoun of the settings is empty.", hint="Give its letters or leave it out.")
        found.append(Entry(tokens, "pronoun", "[PRONOUN]"))
    pronouns = frozenset(entry.tokens[0] for entry in found if len(entry.tokens) == 1)
    found += [Entry(_tokens(word), "gender", "[GENDER]") for word in table["gender"].split()]
    rules: tuple[tuple[str, Rule], ...] = (
        ("short", "abbreviation"), ("words", ""), ("before_name", "before name"), ("before_known", "before known"),
        ("after_name", "after name"),
    )  # fmt: skip
    for key, rule in rules:
        found += [Entry(_tokens(word), "title", "[TITLE]", rule) for word in titles[key].split()]
    found += _nouns(nouns["rows"])
    generic, kept = _generic(nouns["generic"], keep=settings.masculine_generics == "keep")
    found += generic
    ordinary, particles = frozenset(names["ordinary"].split()), frozenset(names["particles"].split())
    agreement = dict(table["agreement"])
    return Lexicon(
        _by_first(found), pronouns, frozenset(table["plural_pronouns"].split()), agreement,
        tuple((old, new) for old, new in nouns["endings"]), tuple(titles["unspaced"].split()), kept,
        frozenset(e.tokens[0] for e in found if e.kind == "title" and len(e.tokens) == 1) - ordinary,
        particles, (ordinary | particles) - pronouns,
        frozenset(names["months"].split()),
        {row.split("|")[0].strip(): frozenset(row.split("|")[1].split()) for row in names["openings"]},
        frozenset(names["greetings"].split()), frozenset(names["acronyms"].split()),
        frozenset(names["no_plurals"].split()),
    )  # fmt: skip


def _tokens(word: str) -> tuple[str, ...]:
    return tokens_of(word.replace("_", " "))


def _nouns(rows: Sequence[str]) -> list[Entry]:
    found = []
    for row in rows:
        one, ones, many, manies = (part.strip() for part in row.split("|"))
        found += [Entry(_tokens(word), "noun", one) for word in ones.split()]
        found += [Entry(_tokens(word), "noun", many) for word in manies.split()]
    return found


def _generic(rows: Sequence[str], *, keep: bool) -> tuple[list[Entry], frozenset[str]]:
    found, kept = [], set()
    for row in rows:
        parts = [part.strip() for part in row.split("|")]
        for masculine, feminine, neutral in (parts[:3], parts[3:]):
            if keep:
                kept.add(masculine.replace("_", " "))
                found += [Entry(_tokens(masculine), "noun", "", "generic")] if masculine else []
                found += [Entry(_tokens(feminine), "noun", masculine.replace("_", " "))] if feminine else []
            else:
                found += [Entry(_tokens(word), "noun", neutral) for word in (masculine, feminine) if word]
    return found, frozenset(kept - {""})


def _by_first(entries: Iterable[Entry]) -> dict[str, tuple[Entry, ...]]:
    """Entries by their first token, longest first; of several with the same tokens the first whose rule holds is it."""
    grouped: dict[str, list[Entry]] = {}
    for entry in entries:
        grouped.setdefault(entry.tokens[0], []).append(entry)
    return {first: tuple(sorted(group, key=lambda entry: -len(entry.tokens))) for first, group in grouped.items()}
