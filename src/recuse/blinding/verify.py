"""The second look at a blinded text: does a known name or a listed sign of a group still stand in it?

Independent of the redactor on purpose: this file, `verify_names` and `seen` import none of its code, normalise in their
own way and search with regular expressions, over the text as it is and as a reader sees it. Only the data file and the
user's settings are the same.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from recuse import assets
from recuse.blinding.seen import FREE, LETTER, OTHER, PERSON, UNSPACED, View, seen, views
from recuse.blinding.settings import BlindSettings, Signal
from recuse.blinding.verify_names import ALONE_LEFT, ALONE_RIGHT, Ordinary, known_names, name_leaks, trie

_GAP = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True, order=True)
class Leak:
    """Something that blinding should have taken out, by its place alone: what it says is never kept here.

    offset  in characters of the text that was checked
    kind    "name", "initials", "pronoun", "title", "gender", "noun", or "signal:" and the user's kind
    """

    offset: int
    kind: str


def find_leaks(
    text: str,
    names: Sequence[str] = (),
    *,
    settings: BlindSettings = BlindSettings(),  # noqa: B008
    signals: Sequence[Signal] = (),
) -> tuple[Leak, ...]:
    """Leaks in a blinded `text`, in its order. Empty: no name of `names` and no listed word is left in it.

    Raises InputError for a name that is empty.
    """
    check = _checks(settings, tuple(signals))
    known = known_names(
        tuple(names), silent=check.silent, pronouns=check.pronouns, titles=check.titles, acronyms=check.acronyms,
        no_plurals=check.no_plurals, unspaced_titles=check.unspaced_titles,
    )  # fmt: skip
    bare = check.placeholder.sub(lambda m: (PERSON if m[0].startswith("[PERSON_") else OTHER) * len(m[0]), text)
    found = views(bare)
    leaks = {Leak(offset, kind) for offset, kind in name_leaks(found, known, check.ordinary)}
    if known.surnames:
        leaks |= {Leak(match.start(), "name") for match in known.surnames.finditer(text)}
    for view in found:
        leaks |= {Leak(view.place(start), kind) for start, kind in _listed(view, check)}
    return tuple(sorted(leaks))


@dataclass(frozen=True, slots=True)
class _Check:
    """The listed words as patterns, under some settings and signals."""

    kinds: Mapping[str, str]  # kind of each listed word
    words: re.Pattern[str]
    staying: re.Pattern[str] | None
    endings: re.Pattern[str]
    unspaced: re.Pattern[str]
    short: re.Pattern[str]
    before_name: re.Pattern[str]
    before_known: re.Pattern[str]
    after_name: re.Pattern[str]
    signals: tuple[tuple[str, re.Pattern[str] | None, re.Pattern[str] | None], ...]  # with and without blanks
    placeholder: re.Pattern[str]
    ordinary: Ordinary
    silent: frozenset[str]
    pronouns: frozenset[str]
    titles: frozenset[str]
    acronyms: frozenset[str]
    no_plurals: frozenset[str]
    unspaced_titles: tuple[str, ...]


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(assets.data("blinding.toml").read_text(encoding="utf-8"))


@lru_cache(maxsize=16)
def _checks(settings: BlindSettings, signals: tuple[Signal, ...]) -> _Check:
    data = _data()
    titles, names, nouns = data["titles"], data["names"], data["nouns"]
    leaking, staying = _nouns(nouns, keep=settings.masculine_generics == "keep")
    pronouns = [*data["pronouns"].split(), *settings.pronouns]
    kinds: dict[str, str] = {}
    for kind, words in (
        ("noun", leaking),
        ("title", titles["words"].split()),
        ("gender", data["gender"].split()),
        ("pronoun", pronouns),
    ):
        kinds.update(dict.fromkeys(_seen(words), kind))
    short, before, with_stop, after = (
        trie(_seen(titles[key].split())) for key in ("short", "before_name", "before_known", "after_name")
    )
    blank = r"(?:\.[ \t]{0,4}|[ \t]{1,4}|\.?[ \t]{0,4}\r?\n[ \t]{0,4})"
    left, right = ALONE_LEFT, ALONE_RIGHT
    own = "|".join(["PERSON_[0-9]+", "PRONOUN", "TITLE", "GENDER", *(re.escape(s.kind.upper()) for s in signals)])
    return _Check(
        kinds,
        re.compile(f"{left}(?:{trie(kinds)}){right}"),
        re.compile(trie(_seen(staying))) if staying else None,
        re.compile("|".join(old for old, _ in nouns["endings"])),
        re.compile("|".join(titles["unspaced"].split())),
        re.compile(rf"{left}(?:{short}){right}(\.?)[ \t]{{0,4}}(?:\r?\n)?[ \t]{{0,4}}({PERSON}|[^\W\d_]{{0,20}})"),
        re.compile(rf"{left}(?:{before}){blank}({PERSON}|{FREE}|[^\W\d_{LETTER}])"),
        re.compile(rf"{left}(?:{with_stop})\.[ \t]{{0,4}}(?:\r?\n)?[ \t]{{0,4}}{PERSON}"),
        re.compile(rf"{PERSON}(?:[ ,]|, )({after}){right}"),
        tuple(
            (f"signal:{signal.kind}", _signal(signal.words, unspaced=False), _signal(signal.words, unspaced=True))
            for signal in signals
        ),
        re.compile(rf"\[(?:{own})\]"),
        Ordinary.of(names, ever=settings.ordinary_words == "position"),
        frozenset(names["particles"].split()) | frozenset(_seen(pronouns)),
        frozenset(_seen(pronouns)),
        frozenset(
            word
            for key in ("short", "words", "before_name", "before_known", "after_name")
            for word in _seen(titles[key].split())
        )
        - frozenset(names["ordinary"].split()),
        frozenset(names["acronyms"].split()),
        frozenset(names["no_plurals"].split()),
        tuple(titles["unspaced"].split()),
    )


def _seen(words: Iterable[str]) -> list[str]:
    """The words in the form that views have, "_" and any other gap as a blank."""
    return [_GAP.sub(" ", seen(word)).strip() for word in words]


def _nouns(nouns: Mapping[str, Any], *, keep: bool) -> tuple[list[str], list[str]]:
    """The forms that give a gender away, and the phrases that stay though they hold one."""
    rows = [row.split("|") for row in nouns["rows"]]
    leaking = [word for row in rows for word in (*row[1].split(), *row[3].split())]
    staying: list[str] = []
    for row in nouns["generic"]:
        masculine, feminine, _, masculines, feminines, _ = row.split("|")
        leaking += [*feminine.split(), *feminines.split()]
        (staying if keep else leaking).extend([*masculine.split(), *masculines.split()])
    return leaking, [word for word in staying if "_" in word]


def _signal(words: Iterable[str], *, unspaced: bool) -> re.Pattern[str] | None:
    """A regex for those of `words` whose script sets blanks, or for those whose script sets none; "#" is a number."""
    bodies = []
    for word in words:
        if (UNSPACED.search(word) is not None) == unspaced:
            pieces = re.findall(r"#|[^\W_]+", seen(word))
            body = r"[\s'.-]{1,4}".join(r"[0-9]{1,9}" if piece == "#" else re.escape(piece) for piece in pieces)
            bodies.append(body if unspaced else f"{ALONE_LEFT}{body}s?{ALONE_RIGHT}")
    return re.compile("|".join(sorted(bodies, key=len, reverse=True))) if bodies else None


def _listed(view: View, check: _Check) -> Iterator[tuple[int, str]]:
    """Where a listed word stands in the view, and its kind."""
    text = view.words
    for match in check.words.finditer(text):
        if not (check.staying and check.staying.match(text, match.start())):
            yield match.start(), check.kinds[_GAP.sub(" ", match[0])]
    for match in check.endings.finditer(text):
        start, end = match.span()
        if text[max(0, start - 1) : start].isalpha() and not text[end : end + 1].isalpha():
            yield start, "noun"
    for match in check.unspaced.finditer(view.text):
        yield match.start(), "title"
    for match in check.short.finditer(text):
        if _is_title(view, match):
            yield match.start(), "title"
    for match in check.before_name.finditer(text):
        if not view.small(match.start()) and (match[1] == PERSON or not view.small(match.start(1))):
            yield match.start(), "title"
    for match in check.before_known.finditer(text):
        if not view.small(match.start()):
            yield match.start(), "title"
    for match in check.after_name.finditer(text):
        if not view.written(*match.span(1)).islower():
            yield match.start(1), "title"
    for kind, spaced, unspaced in check.signals:
        for pattern, where in ((spaced, text), (unspaced, view.text)):
            for match in pattern.finditer(where) if pattern else ():
                yield match.start(), kind


def _is_title(view: View, match: re.Match[str]) -> bool:
    """In capitals an abbreviation is a title only with a full stop, a known name or more capitals after it; in small
    letters it is none after a number (20 ms)."""
    start = match.start()
    written = view.written(start, start + 2)
    if written.isupper():
        following = view.written(*match.span(2))
        return bool(match[1]) or match[2] == PERSON or (following.isupper() and len(following) > 2)
    return not (written.islower() and re.search(r"\d[ \t_]?\Z", view.text[max(0, start - 2) : start]))
