"""All forms of the names in a row: whole, in parts, reversed, joined, by initials; and who bears which part."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from recuse.blinding.lexicon import MARKS, Lexicon, tokens_of
from recuse.errors import InputError

_GERMAN = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "å": "aa", "Å": "Aa", "ø": "oe", "Ø": "Oe"}
)
_CLITICS = "وفبلكا"  # Arabic "and", "so", "with", "for", "as", written to the word
_HEBREW = "ובלכמשה"  # Hebrew "and", "in", "to", "as", "from", "that", "the"
_SURNAMED = re.compile("[\u3400-\u9fff]{2,4}|[\uac00-\ud7af]{2,4}")
_SIBILANTS = ("s", "x", "z", "ch", "sh")
Owners = frozenset[int]
_Key = TypeVar("_Key", str, tuple[str, str], tuple[str, ...])


@dataclass(frozen=True, slots=True)
class NameIndex:
    """Who bears which tokens. A person is a number that says nothing but who; numbers in texts are given there.

    known     all tokens that a name may begin with
    strong    tokens that are a name by themselves
    weak      initials, particles, titles before a name and pronoun-like parts: a name only beside another part
    plural    strong tokens with an s, or after a sibilant with es, that are no common word ("this" is not two of Thi)
    initials  the first letters of a whole name, written together
    whole     whole names as token sequences
    follows   pairs of tokens that stand in this order in a name
    turned    last and first token of a name, for "Lee, Anna"
    handles   first letter and last token of a name, as in the name of an account
    surnames  the first letter of a Chinese or Korean name, which is its family name: a name only before a title, 王先生
    unspaced  names in scripts without case, found as they stand; None where there are none
    """

    known: frozenset[str]
    strong: Mapping[str, Owners]
    weak: Mapping[str, Owners]
    plural: Mapping[str, Owners]
    initials: Mapping[str, Owners]
    whole: Mapping[tuple[str, ...], Owners]
    follows: Mapping[tuple[str, str], Owners]
    turned: Mapping[tuple[str, str], Owners]
    handles: Mapping[str, Owners]
    surnames: Mapping[str, Owners]
    unspaced: re.Pattern[str] | None
    written: Mapping[str, Owners]  # what `unspaced` finds, without gaps


def index_names(names: Sequence[str], words: Lexicon) -> NameIndex:
    """The index of `names`, in which the order of the names does not matter.

    Two names are one person when the parts of one are among the parts of just one other. Raises InputError for a name
    that is empty or has no letters, and for one that is a pronoun too.
    """
    people = _people(names, words)
    strong: dict[str, set[int]] = defaultdict(set)
    weak: dict[str, set[int]] = defaultdict(set)
    initials: dict[str, set[int]] = defaultdict(set)
    whole: dict[tuple[str, ...], set[int]] = defaultdict(set)
    follows: dict[tuple[str, str], set[int]] = defaultdict(set)
    turned: dict[tuple[str, str], set[int]] = defaultdict(set)
    handles: dict[str, set[int]] = defaultdict(set)
    surnames: dict[str, set[int]] = defaultdict(set)
    written: dict[str, set[int]] = defaultdict(set)
    for who, variants in enumerate(people):
        for tokens in variants:
            whole[tokens].add(who)
            for place, token in enumerate(tokens):
                bare = len(token) > 1 and token not in words.pronouns and not (place == 0 and token in words.titles)
                if 0 < place < len(tokens) - 1:
                    bare = bare and token not in words.particles
                (strong if bare or len(tokens) == 1 else weak)[token].add(who)
                weak[token[0]].add(who)
            for pair in pairwise(tokens):
                follows[pair].add(who)
                joined = "".join(pair)
                if len(joined) > 3 and joined not in words.ordinary and joined not in words.pronouns:
                    strong[joined].add(who)
            if len(tokens) > 1:
                turned[tokens[-1], tokens[0]].add(who)
                strong["".join(tokens)].add(who)
                if len(tokens) > 2:
                    strong[tokens[0] + tokens[-1]].add(who)
                handles[tokens[0][0] + tokens[-1]].add(who)
                firsts = "".join(token[0] for token in tokens)
                for letters in {*(firsts[:n] for n in range(2, len(firsts) + 1)), firsts[0] + firsts[-1]}:
                    initials[letters].add(who)
            if _SURNAMED.fullmatch("".join(tokens)):
                surnames[tokens[0][0]].add(who)
            if any(unicodedata.category(c) == "Lo" for c in "".join(tokens)):
                for form in _unspaced_forms(tokens):
                    written[form].add(who)
    plural = {
        more: frozenset(owners)
        for token, owners in strong.items()
        for more in _plurals(token)
        if more not in strong and more not in words.pronouns and more not in words.no_plurals
    }
    known = frozenset(strong) | frozenset(weak) | frozenset(plural) | frozenset(initials) | frozenset(handles)
    return NameIndex(
        known, _frozen(strong), _frozen(weak), plural, _frozen(initials), _frozen(whole), _frozen(follows),
        _frozen(turned), _frozen(handles), _frozen(surnames), _pattern(written), _frozen(written),
    )  # fmt: skip


def _plurals(token: str) -> list[str]:
    """The Lins and the Joneses; never "times" of Tim, nor "less" of Les."""
    many = [] if token.endswith("s") else [token + "s"]
    return many + [token + "es"] * token.endswith(_SIBILANTS)


def _frozen(table: Mapping[_Key, set[int]]) -> dict[_Key, Owners]:
    return {key: frozenset(owners) for key, owners in table.items()}


def _people(names: Sequence[str], words: Lexicon) -> list[set[tuple[str, ...]]]:
    """Each person's names as token sequences: as written and, with umlauts, as they are spelt without."""
    variants: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for row, name in enumerate(names, 1):
        tokens = _checked(name, row, words)
        variants.setdefault(tokens, {tokens}).add(tokens_of(unicodedata.normalize("NFC", name).translate(_GERMAN)))
    ordered = sorted(variants, key=lambda tokens: (-len(tokens), tokens))
    bearers: dict[str, list[int]] = defaultdict(list)
    people: list[set[tuple[str, ...]]] = []
    parts: list[frozenset[str]] = []
    shared: list[tuple[str, ...]] = []
    for tokens in ordered:
        own = frozenset(tokens)
        rarest = min((bearers.get(token, []) for token in own), key=len)
        within = [who for who in rarest if own <= parts[who]]
        if len(within) == 1:
            people[within[0]] |= variants[tokens]
            continue
        if within:
            shared.append(tokens)  # a part of several: no person of its own
            continue
        for token in own:
            bearers[token].append(len(people))
        people.append(set(variants[tokens]))
        parts.append(own)
    return people


def _checked(name: object, row: int, words: Lexicon) -> tuple[str, ...]:
    if not isinstance(name, str) or not (tokens := tokens_of(name)):
        raise InputError(
            f"name {row} of the list is empty or has no letters.", hint="Take it out, or write the name in full."
        )
    if len(tokens) == 1 and tokens[0] in words.pronouns:
        raise InputError(
            f"name {row} of the list is also a pronoun, so that the two cannot be told apart.",
            hint="Give the full name of that person.",
        )
    return tokens


def _unspaced_forms(tokens: Sequence[str]) -> Iterable[str]:
    yield "".join(tokens)
    if len(tokens) > 1:
        yield "".join(reversed(tokens))
    yield from (token for token in tokens if len(token) > 1)


def _pattern(written: Mapping[str, object]) -> re.Pattern[str] | None:
    """All forms in scripts without case, longest first; a blank or a dot may stand between any two letters of them.

    Chinese, Japanese, Thai and their like set no blanks between words, and Korean writes particles to the name, so no
    boundary is asked for there; Arabic and Hebrew write small words to the front of it.
    """
    if not written:
        return None
    return re.compile("|".join(_form(form) for form in sorted(written, key=lambda form: (-len(form), form))))


def _form(form: str) -> str:
    body = r"[ \n\u00b7\u30fb]{0,2}".join(re.escape(char) for char in form)
    script = unicodedata.name(form[0], "").split(" ")[0]
    inner = rf"(?<![^\W_])(?<![{MARKS}])"
    if script in ("ARABIC", "HEBREW"):
        small = _CLITICS if script == "ARABIC" else _HEBREW
        return rf"(?:(?<![^\W_])|(?<=(?<![^\W_])[{small}])|(?<=(?<![^\W_])[{small}]{{2}})){body}(?![^\W_])"
    if script in ("HANGUL", "CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN"):
        return body
    return rf"{inner}{body}(?![^\W_])(?![{MARKS}])"
