"""The second look for names: every part of every known name, whole names, and first letters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

from recuse.blinding.seen import OTHER, UNSPACED, View, seen, worded
from recuse.errors import InputError

LEFT, RIGHT = r"(?<![^\W\d_])", r"(?![^\W\d_])"  # no letter beside
ALONE_LEFT, ALONE_RIGHT = r"(?<![^\W_])", r"(?![^\W_])"  # and no digit
_WORDS = re.compile("(?:[^\\W\\d_]|[\u0900-\u0dff\u0e30-\u0e4e\u0eb0-\u0ece\u102b-\u103e])+")
_FRONTED = re.compile("[\u0590-\u06ff]")  # Hebrew and Arabic, which write small words to the front of a name
# The Lins, the Joneses, Lin's; never "times" of Tim.
_ENDINGS = "(?:'s|(?<!s)s|(?<=[sxz])es|(?<=[cs]h)es)?"
_ANY_GAP = r"(?:[\s'-]{1,8}|\.(?=[a-z]))"
_FEW = 40
_SMALL_WORDS = "[\u05d4\u05d5\u05d1\u05dc\u05db\u05de\u05e9\u0648\u0641\u0628\u0644\u0643\u0627]"
_OWNED = re.compile(rf"{LEFT}(?:a|an|the|this|that|my|your|our|its|no|any|some|each|every)[ \t]{{1,3}}\Z")
_OPENS = re.compile(r"(?:\A|[.!?:;\"(\n\r\[>#|•*_~`])[ \t]{0,7}\Z")
_AFTER_DATE = re.compile(r"\d(?:st|nd|rd|th)?(?: of |[ /-])\Z")


@dataclass(frozen=True, slots=True)
class Known:
    """Patterns for the known names: in words, as dotted first letters, and as capitals without dots."""

    words: re.Pattern[str] | None
    unspaced: re.Pattern[str] | None  # names in scripts without blanks
    dotted: re.Pattern[str] | None
    capitals: re.Pattern[str] | None
    surnames: re.Pattern[str] | None  # a Chinese or Korean family name before a title, in the text as it stands
    never: frozenset[str]  # words that look like a name with an s


@dataclass(frozen=True, slots=True)
class Ordinary:
    """When a name is an ordinary word too: the words, and what must stand beside them. No words: never."""

    words: frozenset[str]
    called: re.Pattern[str]  # what comes before a name in small letters
    months: frozenset[str]
    beside_month: re.Pattern[str]
    openings: Mapping[str, re.Pattern[str]]

    @classmethod
    def of(cls, table: Mapping[str, Any], *, ever: bool) -> Ordinary:
        months = table["months"].split()
        openings = {}
        for row in table["openings"]:
            word, following = row.split("|")
            openings[word.strip()] = re.compile(rf"[ \t_]{{1,3}}(?:(?:{'|'.join(following.split())}){RIGHT}|{OTHER})")
        month = rf"(?:[/-]| - | to | and )(?:{'|'.join(months)}) \d"
        return cls(
            frozenset((table["ordinary"] + table["particles"]).split()) if ever else frozenset(),
            re.compile(rf"{LEFT}(?:{'|'.join(table['greetings'].split())})[.,:]?[ \t]{{1,3}}\Z"),
            frozenset(months),
            re.compile(rf"[ /_-]\d|,? \d{{4}}(?!\d)| of \d{{4}}|{month}"),
            openings,
        )


@lru_cache(maxsize=64)
def known_names(
    names: tuple[str, ...],
    *,
    silent: frozenset[str],
    pronouns: frozenset[str],
    titles: frozenset[str],
    acronyms: frozenset[str],
    no_plurals: frozenset[str],
    unspaced_titles: tuple[str, ...],
) -> Known:
    """The patterns for `names`.

    `silent` words are no name inside one, `pronouns` nowhere by themselves, `titles` none at the front of one, and
    `acronyms` no first letters; `no_plurals` are no name with an s; `unspaced_titles` follow a family name of one
    letter.

    Raises InputError for a name without letters.
    """
    parts: set[str] = set()
    dotted: set[str] = set()
    letters: set[str] = set()
    surnames: set[str] = set()
    for number, name in enumerate(names, 1):
        words = tuple(_WORDS.findall(seen(name)))
        if not words:
            raise InputError(f"name {number} of the list is empty or has no letters.", hint="Take it out.")
        parts |= {"".join(words), " ".join(words)}
        if re.fullmatch("[\u3400-\u9fff]{2,4}|[\uac00-\ud7af]{2,4}", "".join(words)):
            surnames.add(words[0][0])
        if len(words) == 1:
            continue
        inner = {word for word in words[1:-1] if word not in silent}
        edges = {words[-1]} if words[0] in titles else {words[0], words[-1]}
        parts |= {word for word in inner | (edges - pronouns) if len(word) > 1}
        parts |= {word for word in _WORDS.findall(name.lower()) if not word.isascii() and len(word) > 1}
        parts |= {joined for joined in map("".join, pairwise(words)) if len(joined) > 3 and joined not in pronouns}
        parts.add(words[0] + words[-1])
        for some in {*(words[:n] for n in range(2, len(words) + 1)), (words[0], words[-1])}:
            dotted.add(r"\.[ \t\n]{0,2}".join(re.escape(word[0]) for word in some) + r"(?:\.|\b)")
            letters.add("".join(word[0] for word in some).upper())
    letters = {some for some in letters if some.lower() not in acronyms and some.lower() not in parts}
    return Known(
        *_patterns(parts),
        re.compile(f"{LEFT}(?:{'|'.join(sorted(dotted))})") if dotted else None,
        re.compile(f"{ALONE_LEFT}(?:{trie(letters)}){ALONE_RIGHT}") if letters else None,
        re.compile(rf"[{''.join(sorted(surnames))}](?=\[TITLE\]|{'|'.join(unspaced_titles)})") if surnames else None,
        no_plurals - parts,
    )


def name_leaks(views: Sequence[View], known: Known, ordinary: Ordinary) -> Iterator[tuple[int, str]]:
    """Where a known name stands, and in which form."""
    for view in views:
        for match in known.words.finditer(view.words) if known.words else ():
            if match[0] not in known.never and not _is_the_word(view, match, ordinary):
                yield view.place(match.start()), "name"
        for match in known.unspaced.finditer(view.text) if known.unspaced else ():
            yield view.place(match.start()), "name"
        for match in known.dotted.finditer(view.words) if known.dotted else ():
            yield view.place(match.start()), "initials"
    for match in known.capitals.finditer(worded(views[0].raw)) if known.capitals else ():
        yield match.start(), "initials"


def _is_the_word(view: View, match: re.Match[str], ordinary: Ordinary) -> bool:
    """Whether a name stands where only the ordinary word can: small, a month beside a number, or a set opening."""
    words = _WORDS.findall(match[0])
    if len(words) != 1 + (words[-1] == "s") or not ordinary.words:
        return False
    word = words[0]
    if not ordinary.words & {word, word.removesuffix("s"), word.removesuffix("es")}:
        return False
    start, end = match.start(), match.start() + len(word)
    before, after = view.text[max(0, start - 30) : start], view.text[end : end + 30]
    if view.small(start) and view.capitals:
        own = after.startswith("'s") and not after[2:3].isalnum()
        return not ordinary.called.search(before) and (not own or _OWNED.search(before) is not None)
    if word in ordinary.months and (ordinary.beside_month.match(after) or _AFTER_DATE.search(before)):
        return True
    opening = ordinary.openings.get(word)
    return opening is not None and opening.match(after) is not None and _OPENS.search(before) is not None


def _patterns(forms: Iterable[str]) -> tuple[re.Pattern[str] | None, re.Pattern[str] | None]:
    """Regexes for any of `forms`: with the boundaries that their script has, and for scripts that have none."""
    free: set[str] = set()
    fronted: set[str] = set()
    usual: set[str] = set()
    for form in forms:
        (free if UNSPACED.search(form) else fronted if _FRONTED.search(form) else usual).add(form)
    bodies = []
    if usual:
        bodies.append(f"{LEFT}(?:{trie(usual)}){_ENDINGS}{RIGHT}")
    if fronted:
        front = f"(?:{LEFT}|(?<={LEFT}{_SMALL_WORDS})|(?<={LEFT}{_SMALL_WORDS}{_SMALL_WORDS}))"
        bodies.append(f"{front}(?:{trie(fronted)}){RIGHT}")
    long = {form for form in free if len(form) > 1}
    return re.compile("|".join(bodies)) if bodies else None, re.compile(trie(long)) if long else None


def trie(forms: Iterable[str]) -> str:
    """A regex for the longest of `forms` at a place; a blank in a form is any gap.

    Many forms share their beginnings, so that no letter is tried twice; a few are quicker to compile side by side.
    """
    forms = sorted(forms, key=lambda form: (-len(form), form))
    if len(forms) <= _FEW:
        return "|".join(re.escape(form).replace(r"\ ", _ANY_GAP) for form in forms)
    root: dict[str, Any] = {}
    for form in forms:
        node = root
        for char in form:
            node = node.setdefault(char, {})
        node[""] = {}
    return _body(root)


def _body(node: dict[str, Any]) -> str:
    branches = [
        (_ANY_GAP if char == " " else re.escape(char)) + _body(below) for char, below in sorted(node.items()) if char
    ]
    if not branches:
        return ""
    inner = branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"
    return f"(?:{inner})?" if "" in node else inner
