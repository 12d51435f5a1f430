"""Blinding: names become [PERSON_1], pronouns [PRONOUN], titles [TITLE], gendered nouns a neutral noun; reversible.

Two texts that differ only in the group signal come out byte for byte the same. What is in doubt goes. Nothing here is
used by `verify`, which looks at the result with means of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as attribute
from functools import lru_cache

from recuse.blinding.fold import Folded, broken_within, emphasis_within, fold
from recuse.blinding.lexicon import UNSPACED, Lexicon, lexicon
from recuse.blinding.names import NameIndex, Owners, index_names
from recuse.blinding.scan import Hit, Scan
from recuse.blinding.settings import BlindSettings, Signal
from recuse.errors import InputError

_BETWEEN = r"[\s'.-]{1,4}"  # what may stand between two words of a signal


@dataclass(frozen=True, slots=True)
class Span:
    """One replacement: `text[start:end]` of the blinded text `field` is `placeholder` and was `original`."""

    field: str
    start: int
    end: int
    kind: str  # "person", "pronoun", "title", "gender", "noun", "agreement", or "signal:" and the user's kind
    original: str = attribute(repr=False)
    placeholder: str = ""


@dataclass(frozen=True, slots=True)
class Blinded:
    """The blinded texts of one row.

    spans  what was replaced, in the order of the fields and within a field of its text
    kept   how often each ambiguous word stayed: a name that is an ordinary word there, letters that are an acronym
           too, a masculine form in neutral use
    """

    texts: Mapping[str, str]
    spans: tuple[Span, ...] = attribute(repr=False)
    kept: Mapping[str, int] = attribute(repr=False)


class Redactor:
    """Blinds texts under fixed settings and signals. Safe to share between threads."""

    def __init__(self, settings: BlindSettings = BlindSettings(), signals: Sequence[Signal] = ()) -> None:  # noqa: B008
        self.settings = settings
        self.signals = tuple(signals)
        self._words: Lexicon = lexicon(settings)
        self._signals = _signal_pattern(self.signals)
        self._index = lru_cache(maxsize=64)(lambda names: index_names(names, self._words))

    def redact(self, texts: Mapping[str, str], names: Sequence[str] = ()) -> Blinded:
        """`texts` of one row, which share their persons, without the persons of `names` and without signs of a group.

        A person has the same number in all texts of the row, counted from the first to appear; neither the order of
        `names` nor a name that does not occur changes it. Raises InputError for a name that is empty or a pronoun.
        """
        index = self._index(tuple(names))
        kept: dict[str, int] = {}
        found = {name: self._hits(text, index, kept) for name, text in texts.items()}
        persons = _persons(hit.owners for hits in found.values() for hit in hits if hit.kind == "person")
        blinded, spans = {}, []
        for name, text in texts.items():
            pieces, at, length = [], 0, 0
            for hit in found[name]:
                becomes = f"[PERSON_{next(persons)}]{hit.becomes}" if hit.kind == "person" else hit.becomes
                pieces += [text[at : hit.start], becomes]
                length += hit.start - at
                spans.append(Span(name, length, length + len(becomes), hit.kind, text[hit.start : hit.end], becomes))
                length += len(becomes)
                at = hit.end
            blinded[name] = "".join((*pieces, text[at:]))
        return Blinded(blinded, tuple(spans), kept)

    def _hits(self, text: str, index: NameIndex, kept: dict[str, int]) -> list[Hit]:
        found = self._view(fold(text), index, kept)
        if emphasis_within(text):
            found += self._view(fold(text, emphasis="parts"), index, {})
        if broken_within(text):
            found += self._view(fold(text, lines="join"), index, {})
        return _apart(found)

    def _view(self, folded: Folded, index: NameIndex, kept: dict[str, int]) -> list[Hit]:
        position = self.settings.ordinary_words == "position"
        found = list(Scan(folded, index, self._words, position=position, kept=kept).hits())
        if index.unspaced is not None:
            for match in index.unspaced.finditer(folded.text):
                owners = index.written[re.sub(r"[ \n\u00b7\u30fb]", "", match[0])]
                found.append(Hit(*folded.span(*match.span()), "person", "", owners))
        for title in self._words.unspaced_titles:
            for match in re.finditer(re.escape(title), folded.text) if title in folded.text else ():
                found.append(Hit(*folded.span(*match.span()), "title", "[TITLE]"))
                if bearers := index.surnames.get(folded.text[match.start() - 1 : match.start()]):
                    found.append(Hit(*folded.span(match.start() - 1, match.start()), "person", "", bearers))
        if self._signals is not None:
            for match in self._signals.finditer(folded.text):
                signal = self.signals[int((match.lastgroup or "s0_")[1:].partition("_")[0])]
                found.append(Hit(*folded.span(*match.span()), f"signal:{signal.kind}", signal.placeholder))
        return found


def unblind(text: str, spans: Iterable[Span]) -> str:
    """The original of the blinded `text`, given the spans of its field. Raises InputError where they do not fit it."""
    pieces, at = [], 0
    for span in sorted(spans, key=lambda span: span.start):
        if span.start < at or text[span.start : span.end] != span.placeholder:
            raise InputError(
                f"the map does not fit the text at character {span.start}.", hint="Give the map of this very text."
            )
        pieces += [text[at : span.start], span.original]
        at = span.end
    return "".join((*pieces, text[at:]))


def _apart(hits: list[Hit]) -> list[Hit]:
    """Hits without overlaps: the earlier and longer one stands, of another the rest beyond it."""
    apart: list[Hit] = []
    at = 0
    for hit in sorted(hits, key=lambda hit: (hit.start, -hit.end)):
        if hit.end <= at:
            continue
        if hit.start < at:
            hit = Hit(at, hit.end, hit.kind, hit.becomes, hit.owners)
        apart.append(hit)
        at = hit.end
    return apart


def _persons(owners: Iterable[Owners]) -> Iterator[int]:
    """The number of the person at each name, in order. A name that several bear is the one last named in full; before
    any of them was, the first to be."""
    mentions = list(owners)
    sure = [next(iter(mention)) if len(mention) == 1 else None for mention in mentions]
    upcoming: list[int | None] = []
    latest: dict[int, int] = {}
    for i in range(len(mentions) - 1, -1, -1):
        here = sure[i]
        if here is not None:
            latest[here] = i
            upcoming.append(here)
        else:
            ahead = [who for who in mentions[i] if who in latest]
            upcoming.append(min(ahead, key=lambda who: latest[who]) if ahead else None)
    upcoming.reverse()
    numbers: dict[int, int] = {}
    last: dict[int, int] = {}
    for i, mention in enumerate(mentions):
        who = sure[i]
        if who is None:
            named = [w for w in mention if w in last]
            who = max(named, key=lambda w: last[w]) if named else upcoming[i]
            who = min(mention) if who is None else who
        last[who] = i
        yield numbers.setdefault(who, len(numbers) + 1)


def _signal_pattern(signals: Sequence[Signal]) -> re.Pattern[str] | None:
    """All words of all signals, longest first, each within boundaries, with an s or a genitive after it."""
    forms: dict[str, int] = {}
    for number, signal in enumerate(signals):
        for word in signal.words:
            forms.setdefault(_signal_form(word), number)
    if not forms:
        return None
    ordered = sorted(forms.items(), key=lambda item: (-len(item[0]), item[0]))
    body = "|".join(f"(?P<s{number}_{i}>{form})" for i, (form, number) in enumerate(ordered))
    return re.compile(body)


def _signal_form(word: str) -> str:
    pieces = re.findall(r"#|[^\W_]+", fold(word).text)
    body = _BETWEEN.join(r"\d{1,9}" if piece == "#" else re.escape(piece) for piece in pieces)
    if re.search(f"[{UNSPACED}]", body):
        return body
    return rf"(?<![^\W_{UNSPACED}]){body}s?(?![^\W_{UNSPACED}])"
