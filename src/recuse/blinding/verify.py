"""The second look at a blinded text: does a known name or a listed sign of a group still stand in it?

Independent of the redactor on purpose: this file imports none of its code, normalises in its own way and searches
with regular expressions, over the text as it is and as a reader sees it. Only the data file and the user's settings are
the same.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from recuse import assets
from recuse.blinding.settings import BlindSettings, Signal
from recuse.errors import InputError

_PERSON, _OTHER = "\x02", "\x01"  # what verification reads in the place of placeholders
_L, _R = r"(?<![^\W\d_])", r"(?![^\W\d_])"  # no letter beside
_ODD = re.compile(r"[^\x00-\x7f]+|[*~`]+|_+")
_LETTERS = re.compile("(?:[^\\W\\d_]|[\u0900-\u0dff\u0e30-\u0e4e\u0eb0-\u0ece\u102b-\u103e])+")
_SPECIAL = {"þ": "th", "ð": "d", "ŋ": "n"}
_QUOTES, _DASHES = "’‘‛ʼʻʹ´′＇", "‐‑‒−﹣－⁃"
_NO_BLANKS = re.compile("[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_FRONTED = re.compile("[\u0590-\u06ff]")  # Hebrew and Arabic, which write small words to the front of a name


@dataclass(frozen=True, slots=True)
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
    known = _names(tuple(names), settings)
    bare = check.placeholder.sub(lambda m: (_PERSON if m[0].startswith("[PERSON") else _OTHER) * len(m[0]), text)
    views = [_View(bare, bare, ()), _read(bare, "")]
    if any(sign in bare for sign in "*~`"):
        views.append(_read(bare, " "))
    found = {leak for view in views for leak in (*_name_leaks(view, known, check), *_word_leaks(view, check))}
    return tuple(sorted(found, key=lambda leak: (leak.offset, leak.kind)))


@dataclass(frozen=True, slots=True)
class _View:
    """A way to read `raw`. `runs` holds (position here, position in raw, one to one) where the two part."""

    text: str
    raw: str
    runs: Sequence[tuple[int, int, bool]]

    def place(self, position: int) -> int:
        i = bisect_right(self.runs, position, key=lambda run: run[0]) - 1
        if i < 0:
            return position
        here, there, even = self.runs[i]
        return there + (position - here if even else 0)

    def lower(self, position: int) -> bool:
        return self.raw[self.place(position)].islower()


def _read(raw: str, emphasis: str) -> _View:
    """`raw` as a reader sees it: decomposed, without accents, invisible signs and emphasis, in small letters."""
    pieces: list[str] = []
    runs: list[tuple[int, int, bool]] = []
    here = at = 0
    for odd in _ODD.finditer(raw):
        plain = raw[at : odd.start()].lower()
        seen = _seen(odd[0], emphasis)
        here += len(plain)
        even = len(seen) == len(odd[0])
        if not even:
            runs.append((here, odd.start(), False))
        here += len(seen)
        if not even:
            runs.append((here, odd.end(), True))
        pieces += (plain, seen)
        at = odd.end()
    return _View("".join((*pieces, raw[at:].lower())), raw, runs)


def _seen(run: str, emphasis: str) -> str:
    if run[0] == "_":
        return " " * len(run)
    if run[0] in "*~`":
        return emphasis
    return unicodedata.normalize("NFC", "".join(map(_bare, unicodedata.normalize("NFKD", run)))).casefold()


@cache
def _bare(char: str) -> str:
    if char in _QUOTES:
        return "'"
    if char in _DASHES:
        return "-"
    kind = unicodedata.category(char)
    if kind == "Cf" or "VARIATION SELECTOR" in (name := unicodedata.name(char, "")):
        return ""
    if kind[0] == "Z":
        return " "
    if unicodedata.combining(char) and not 0x3099 <= ord(char) <= 0x309A:
        return ""
    small = char.lower()
    if small in _SPECIAL:
        return _SPECIAL[small]
    latin = re.fullmatch(r"LATIN (?:SMALL|CAPITAL) (?:LETTER|LIGATURE) (?:DOTLESS )?([A-Z]{1,2})(?: WITH .*)?", name)
    return latin[1].lower() if latin else small


# --- names


@dataclass(frozen=True, slots=True)
class _Known:
    plain: re.Pattern[str] | None  # parts and whole names, as `_read` leaves them
    raw: re.Pattern[str] | None  # the same as they were given
    initials: re.Pattern[str] | None
    letters: re.Pattern[str] | None  # initials without full stops
    whole: frozenset[tuple[str, ...]]


@lru_cache(maxsize=64)
def _names(names: tuple[str, ...], settings: BlindSettings) -> _Known:
    data = _data()["names"]
    silent = frozenset(data["particles"].split()) | frozenset(_data()["pronouns"].split())
    parts: set[str] = set()
    given: set[str] = set()
    stops: set[str] = set()
    letters: set[str] = set()
    whole: set[tuple[str, ...]] = set()
    for number, name in enumerate(names, 1):
        words = tuple(_LETTERS.findall(_read(name, "").text))
        if not words:
            raise InputError(f"name {number} of the list is empty or has no letters.", hint="Take it out.")
        whole.add(words)
        loose = "" if len(words) == 1 else " "
        parts |= {word for word in words if not loose or (len(word) > 1 and word not in silent)}
        parts |= {"".join(words), " ".join(words)}
        given |= {word for word in _LETTERS.findall(name) if word.isascii() is False}
        if len(words) > 1:
            for some in {words, (words[0], words[-1])}:
                stops.add(r"\.[ \t\n]{0,2}".join(re.escape(word[0]) for word in some) + r"(?:\.|\b)")
                letters.add("".join(word[0] for word in some))
    letters -= frozenset(data["acronyms"].split()) | parts
    shouted = {word.upper() for word in letters if len(word) > 1}
    return _Known(
        _pattern(parts), _pattern(given), re.compile(f"{_L}(?:{'|'.join(sorted(stops))})") if stops else None,
        re.compile(rf"(?<![^\W_])(?:{_trie(shouted)})(?![^\W_])") if shouted else None, frozenset(whole),
    )  # fmt: skip


def _pattern(forms: Iterable[str]) -> re.Pattern[str] | None:
    """A regex for any of `forms`, with the boundaries that their script has and a blank for any gap."""
    free: set[str] = set()
    fronted: set[str] = set()
    usual: set[str] = set()
    for form in forms:
        (free if _NO_BLANKS.search(form) else fronted if _FRONTED.search(form) else usual).add(form)
    bodies = []
    if usual:
        bodies.append(f"{_L}(?:{_trie(usual)})(?:'?s|es)?{_R}")
    if fronted:
        small = "[ובלכמשהوفبلكا]"
        bodies.append(f"(?:{_L}|(?<={_L}{small})|(?<={_L}{small}{small}))(?:{_trie(fronted)}){_R}")
    if free := {form for form in free if len(form) > 1}:
        bodies.append(_trie(free))
    return re.compile("|".join(bodies), re.IGNORECASE) if bodies else None


def _trie(forms: Iterable[str]) -> str:
    """A regex for any of `forms` that never tries a letter twice: a lookup takes the length of the longest form."""
    root: dict[str, Any] = {}
    for form in forms:
        node = root
        for char in form:
            node = node.setdefault(char, {})
        node[""] = {}

    def body(node: dict[str, Any]) -> str:
        branches = []
        for char, below in sorted(node.items()):
            if char:
                branches.append((r"[\W_]{1,4}" if char == " " else re.escape(char)) + body(below))
        if not branches:
            return ""
        inner = branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"
        return f"(?:{inner})?" if "" in node else inner

    return body(root)


def _name_leaks(view: _View, known: _Known, check: _Check) -> Iterator[Leak]:
    for pattern in (known.plain, known.raw):
        for match in pattern.finditer(view.text) if pattern else ():
            if not _is_word(view, match, known, check):
                yield Leak(view.place(match.start()), "name")
    for match in known.initials.finditer(view.text) if known.initials else ():
        yield Leak(view.place(match.start()), "initials")
    if view.text is view.raw and known.letters:
        for match in known.letters.finditer(view.text):
            yield Leak(match.start(), "initials")


def _is_word(view: _View, match: re.Match[str], known: _Known, check: _Check) -> bool:
    """Whether a name stands where only the ordinary word can: small, a month beside a number, or a set opening."""
    words = tuple(_LETTERS.findall(match[0].lower()))
    ordinary = check.ordinary
    if not ordinary or len(words) != 1 + (words[-1:] == ("s",)):
        return False
    word = words[0]
    if word not in ordinary and word.removesuffix("s") not in ordinary and word.removesuffix("es") not in ordinary:
        return False
    text, start, end = view.text, match.start(), match.start() + len(word)
    before, after = text[max(0, start - 30) : start].lower(), text[end : end + 30].lower()
    if view.lower(start) and re.search(r"[A-Z\x01\x02]|[^\W\d_a-z]", view.raw):
        called = re.search(rf"{_L}(?:{check.greetings})[.,:]?[ \t]{{1,3}}\Z", before)
        own = re.match(r"'s(?![^\W_])", after)
        owned = re.search(rf"{_L}(?:a|an|the|this|that|my|your|our|its|no|any|some|each|every)[ \t]{{1,3}}\Z", before)
        return not called and (not own or owned is not None)
    if word in check.months and (
        re.match(rf"[ /-]\d|,? \d{{4}}(?!\d)| of \d{{4}}|(?:[/-]| - | to | and )(?:{'|'.join(check.months)}) \d", after)
        or re.search(r"\d(?:st|nd|rd|th)?[ ,./-]{0,2}(?:of )?\Z", before)
    ):
        return True
    opening = check.openings.get(word)
    if opening is None or not re.search(r"(?:\A|[.!?:;\"(\n\r\[>#|•])[ \t]{0,7}\Z", before):
        return False
    return re.match(opening, after) is not None or after.lstrip(" \t")[:1] == _OTHER


# --- listed words


@dataclass(frozen=True, slots=True)
class _Check:
    words: tuple[tuple[str, re.Pattern[str]], ...]  # kind and pattern
    short: re.Pattern[str]
    before_name: re.Pattern[str]
    after_name: re.Pattern[str]
    placeholder: re.Pattern[str]
    ordinary: frozenset[str]  # empty: no word is ordinary
    months: tuple[str, ...]
    greetings: str
    openings: dict[str, str]


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(assets.data("blinding.toml").read_text(encoding="utf-8"))


@lru_cache(maxsize=16)
def _checks(settings: BlindSettings, signals: tuple[Signal, ...]) -> _Check:
    data = _data()
    titles, names = data["titles"], data["names"]
    kinds = {
        "pronoun": [*data["pronouns"].split(), *settings.pronouns],
        "gender": data["gender"].split(),
        "title": titles["words"].split(),
        "noun": _noun_forms(data["nouns"], keep=settings.masculine_generics == "keep"),
    }
    words = [(kind, _listed(forms)) for kind, forms in kinds.items()]
    words.append(("noun", re.compile(rf"[^\W\d_](?:{'|'.join(old for old, _ in data['nouns']['endings'])}){_R}", re.I)))
    words.append(("title", re.compile("|".join(titles["unspaced"].split()))))
    words += [(f"signal:{signal.kind}", _listed(signal.words, free=True)) for signal in signals]
    own = "|".join(["PERSON_[0-9]+", "PRONOUN", "TITLE", "GENDER", *(re.escape(s.kind.upper()) for s in signals)])
    short, before, after = (_trie(_plain(titles[key].split())) for key in ("short", "before_name", "after_name"))
    blank = r"(?:\.[ \t]{0,4}|[ \t]{1,4}|\.?[ \t]{0,4}\r?\n[ \t]{0,4})"
    openings = {}
    for row in names["openings"]:
        word, following = row.split("|")
        openings[word.strip()] = rf"[ \t]{{1,3}}(?:{'|'.join(following.split())}){_R}"
    return _Check(
        tuple(words),
        re.compile(rf"{_L}(?:{short})(?![^\W_])(\.?)[ \t]{{0,4}}(?:\r?\n)?[ \t]{{0,4}}(\x02|[^\W\d_]*)", re.I),
        re.compile(rf"(?<![^\W_])(?:{before}){blank}(\x02|[^\W\d_])", re.I),
        re.compile(rf"\x02(?:[ ,]|, )(?:{after})(?![^\W_])", re.I),
        re.compile(rf"\[(?:{own})\]"),
        frozenset(names["ordinary"].split()) if settings.ordinary_words == "position" else frozenset(),
        tuple(names["months"].split()),
        "|".join(names["greetings"].split()),
        openings,
    )


def _plain(forms: Iterable[str]) -> list[str]:
    return [_read(form, "").text for form in forms]


def _listed(forms: Iterable[str], *, free: bool = False) -> re.Pattern[str]:
    """`free`: a number may stand beside them, "#" is a number, and scripts without blanks need no boundary."""
    if not free:
        return re.compile(rf"(?<![^\W_])(?:{_trie(_plain(forms))})(?![^\W_])", re.I)
    bodies = []
    for form in _plain(forms):
        pieces = re.findall(r"#|[^\W_]+", form)
        body = r"[\s'.-]{1,4}".join(r"[0-9]{1,9}" if piece == "#" else re.escape(piece) for piece in pieces)
        bodies.append(body if _NO_BLANKS.search(form) else rf"(?<![^\W_]){body}s?(?![^\W_])")
    return re.compile("|".join(sorted(bodies, key=len, reverse=True)), re.I)


def _noun_forms(nouns: dict[str, Any], *, keep: bool) -> list[str]:
    rows = [row.split("|") for row in nouns["rows"]]
    forms = [word for row in rows for word in (*row[1].split(), *row[3].split())]
    for row in nouns["generic"]:
        masculine, feminine, _, masculines, feminines, _ = row.split("|")
        forms += [*feminine.split(), *feminines.split()]
        if not keep:
            forms += [*masculine.split(), *masculines.split()]
    return forms


def _word_leaks(view: _View, check: _Check) -> Iterator[Leak]:
    text = view.text
    for kind, pattern in check.words:
        for match in pattern.finditer(text):
            yield Leak(view.place(match.start()), kind)
    for match in check.short.finditer(text):
        if _is_title(view, match):
            yield Leak(view.place(match.start()), "title")
    for match in check.before_name.finditer(text):
        if not view.lower(match.start()) and (match[1] == _PERSON or not view.lower(match.start(1))):
            yield Leak(view.place(match.start()), "title")
    for match in check.after_name.finditer(text):
        if not view.lower(match.end() - 1) or not view.lower(match.end() - 2):
            yield Leak(view.place(match.end()), "title")


def _is_title(view: _View, match: re.Match[str]) -> bool:
    """In capitals an abbreviation is a title only with a full stop, a known name or more capitals after it."""
    start, end = match.start(), match.end() if match[1] else match.start(2)
    written = view.raw[view.place(start) : view.place(start) + 2]
    if written.isupper():
        following = view.raw[view.place(match.start(2)) :][: len(match[2])] if match[2] else ""
        return bool(match[1]) or following.startswith(_PERSON) or (following.isupper() and len(following) > 2)
    return not (written.islower() and re.search(r"\d[ \t]?\Z", view.text[max(0, start - 2) : start])) or end < 0
