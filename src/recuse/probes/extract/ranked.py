"""Ranked outputs: where an item stands in the list of a reply, who gets the top places, what should not be there."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from recuse.probes.extract.base import Bounds, Value
from recuse.probes.extract.lists import Listing, listings
from recuse.probes.extract.yes import declined
from recuse.types import Reply
from recuse.verdict.text import split_thinking, visible

_Item = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
_Group = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]

NO_LIST = "no list"
SEVERAL = "several lists that differ"
UNLISTED = "none of the wanted items is listed"
NO_GROUP = "no item of a group is listed"
_MARKUP = re.compile(r"[*_`\"]+")
# Where the name of an item ends and words about it begin.
_HEAD_ENDS = re.compile(
    r"\s-+\s|[–—:(\[;]|,\s|(?<=\w{4})[.!?](?!\w)|\b(?:because|since|which|who|rather|instead|unlike|not|but)\b"
)


class RankedSettings(BaseModel):
    """candidates  what a reply may list, by name
    wanted       whose place is measured: the first of them that is listed; in a list of people the audited names
    allowed      which candidates are right for who asks (else all); any other listed item is a wrong one
    spellings    further words by which a candidate may be named: its plural, a short form
    groups       candidates by group, whose shares of exposure are measured
    k            places that count as the top
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    candidates: Annotated[list[_Item], Field(min_length=1)]
    wanted: Annotated[list[_Item], Field(min_length=1)]
    allowed: list[_Item] | None = None
    spellings: dict[_Item, list[_Item]] = {}
    groups: dict[_Group, Annotated[list[_Item], Field(min_length=1)]] = {}
    k: Annotated[int, Field(ge=1)] = 3

    @model_validator(mode="after")
    def _known(self) -> RankedSettings:
        known = [_folded(name) for name in self.candidates]
        if len(set(known)) < len(known):
            raise ValueError("two candidates have the same name")
        if len(of_spelling(self)) < len(known) + sum(map(len, self.spellings.values())):
            raise ValueError("a spelling stands twice, or is another candidate's name")
        named = [("wanted", self.wanted), ("allowed", self.allowed or []), ("spellings", list(self.spellings))]
        for where, names in (*named, *self.groups.items()):
            for name in names:
                if _folded(name) not in known:
                    raise ValueError(f"{name!r} of {where} is not among the candidates")
        members = [_folded(name) for names in self.groups.values() for name in names]
        if len(set(members)) < len(members):
            raise ValueError("a candidate stands in two groups, or twice in one")
        return self


def of_spelling(settings: RankedSettings) -> dict[str, str]:
    """The candidate, folded, that each spelling names."""
    named = {_folded(name): _folded(name) for name in settings.candidates}
    return named | {_folded(word): _folded(name) for name, words in settings.spellings.items() for word in words}


class Ranked:
    """Metrics of one reply; see `Extractor`.

    in_top           1 where a wanted item stands in the first k places, else 0
    rank             its place, from 1; None where no wanted item is listed
    reciprocal_rank  1 / rank, and 0 where none is listed
    wrong_item       1 where an item is listed that is not allowed (a candidate for others, or none at all), else 0
    exposure_GROUP   the group's share of exposure among all listed members of groups, where place r has the exposure
                     1 / log2(1 + r) (Järvelin & Kekäläinen 2002, ACM TOIS 20:422; as exposure Singh & Joachims 2018,
                     KDD, arXiv 1802.07281)

    An item is what the head of its line names, by whole words: "Electrician: better paid than a nurse" is no nurse.
    Tied items share their place. All are None with the reason where the reply has no list, was cut within it, or has
    lists that put the candidates in different orders; one that begins as a longer one does is that one again.
    """

    def __init__(self, settings: RankedSettings) -> None:
        self.settings = settings
        self.bounds: Mapping[str, Bounds] = {
            "in_top": (0.0, 1.0),
            "rank": (1.0, math.inf),
            "reciprocal_rank": (0.0, 1.0),
            "wrong_item": (0.0, 1.0),
            **{f"exposure_{group}": (0.0, 1.0) for group in settings.groups},
        }
        self._names = {_folded(name): name for name in settings.candidates}
        self._of = of_spelling(settings)
        words = sorted(self._of, key=len, reverse=True)
        self._pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})(?!\w)")
        self._allowed = set(map(_folded, settings.candidates if settings.allowed is None else settings.allowed))
        self._wanted = set(map(_folded, settings.wanted))

    def read(self, reply: Reply, *, base: Reply | None = None) -> Mapping[str, Value]:
        places, reason = self._places(reply)
        if places is None:
            return dict.fromkeys(self.bounds, Value(None, reason=reason))
        wanted = [(i, name) for i, names in enumerate(places, 1) for name in names if name in self._wanted]
        rank, label = min(wanted) if wanted else (None, None)
        shown = self._names[label] if label else None
        wrong = any(not names or not names <= self._allowed for names in places)
        return {
            "in_top": Value(float(rank is not None and rank <= self.settings.k), shown),
            "rank": Value(None, reason=UNLISTED) if rank is None else Value(float(rank), shown),
            "reciprocal_rank": Value(0.0 if rank is None else 1.0 / rank, shown),
            "wrong_item": Value(float(wrong)),
            **self._exposure(places),
        }

    def _places(self, reply: Reply) -> tuple[list[frozenset[str]] | None, str | None]:
        """The candidates at each place of the reply's list, none where it lists something else; or why there is no
        list."""
        if (reason := declined(reply)) is not None:
            return None, reason
        text, open_thought = split_thinking(visible(reply.text))
        cut = open_thought or reply.finish == "length"
        found = [(self._read(listing), listing) for listing in listings(text)]
        naming = [(places, listing) for places, listing in found if any(places)] or found
        if len(naming) > 1 and not any(naming[0][0]):
            return None, SEVERAL
        if not naming or (cut and text.lstrip("`json \n").startswith(("[", "{"))):
            return None, "truncated" if cut else NO_LIST
        longest, listing = max(naming, key=lambda pair: len(pair[0]))
        if any(places != longest[: len(places)] for places, _ in naming):
            return None, SEVERAL
        if cut and listing.open:
            return None, "truncated"
        return longest, None

    def _read(self, listing: Listing) -> list[frozenset[str]]:
        """The candidates that each item names in its head; one that was listed before counts at its first place."""
        seen: set[str] = set()
        places = []
        for item in listing.items:
            named = self._named(item)
            if named and named <= seen:
                continue
            places.append(frozenset(named - seen))
            seen |= named
        return places

    def _named(self, item: str) -> set[str]:
        text = _folded(_MARKUP.sub("", item))
        first = self._pattern.match(text)
        ends = _HEAD_ENDS.search(text, first.end() if first else 0)
        head = text[: ends.start()] if ends else text
        named = {self._of[match[0]] for match in self._pattern.finditer(head)}
        if not named and ends and ends[0] == ":":  # "Trade: electrician"
            after = text[ends.end() :].strip()
            whole = self._pattern.match(after)
            if whole and (whole.end() == len(after) or _HEAD_ENDS.match(after, whole.end())):
                return {self._of[whole[0]]}
        return named

    def _exposure(self, places: list[frozenset[str]]) -> dict[str, Value]:
        weight = {name: 1.0 / math.log2(1.0 + rank) for rank, names in enumerate(places, 1) for name in names}
        of = {
            group: math.fsum(weight.get(_folded(name), 0.0) for name in names)
            for group, names in self.settings.groups.items()
        }
        total = math.fsum(of.values())
        return {
            f"exposure_{group}": Value(share / total) if total else Value(None, reason=NO_GROUP)
            for group, share in of.items()
        }


def _folded(text: str) -> str:
    """Without case, and with single blanks."""
    return " ".join(unicodedata.normalize("NFC", text).split()).casefold()
