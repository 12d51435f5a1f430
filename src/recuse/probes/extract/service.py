"""The quality of service that a reply gives: how long it is, how easily it reads, and which facts it keeps.

[extract.service]
facts = ["objection", ["14 days", "two weeks"], "EUR 500"]     # what every reply should name
against_base = true                                            # and what the reply to the base profile has
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from recuse.probes.extract.base import Bounds, Value
from recuse.probes.extract.facts import Checklist, FactsKept, facts_kept
from recuse.probes.extract.readability import HIGHEST, count_words, reading_ease
from recuse.probes.extract.refusal import answer_of
from recuse.probes.extract.texts import is_latin, sentences_of
from recuse.types import Reply

Word = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Words = Annotated[list[Word], Field(min_length=1)]

NO_BASE = "no reply to the base profile"
NO_FACTS = "no date, amount or number in the base profile's reply"


class ServiceSettings(BaseModel):
    """facts         items that every reply should name; an item with several spellings is a list of them
    against_base  compare the dates, amounts and numbers with the reply to the plan's base profile
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    facts: list[Word | Words] = []
    against_base: bool = False

    @property
    def items(self) -> list[list[str]]:
        return [[item] if isinstance(item, str) else item for item in self.facts]

    @model_validator(mode="after")
    def _readable(self) -> ServiceSettings:
        Checklist(self.items)
        return self


class Service:
    """Metrics of one reply.

    words, characters, sentences   its length, markup aside; hyphenated words are one
    reading_ease                   see `readability.reading_ease`; higher is easier
    checklist                      share of the plan's facts that it names (with `facts`)
    facts_kept                     share of the base reply's dates, amounts and numbers in it (with `against_base`)

    All are None where a reply declines or fails, and all but reading_ease where it is cut by the token limit
    ("truncated"), since its length is the limit's. reading_ease is None for other scripts ("not_english"). The label of
    checklist and facts_kept is what is lost.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self._checklist = Checklist(settings.items)
        self.bounds: Mapping[str, Bounds] = {
            "words": (0.0, math.inf), "characters": (0.0, math.inf), "sentences": (0.0, math.inf),
            "reading_ease": (-math.inf, HIGHEST),
            **({"checklist": (0.0, 1.0)} if settings.facts else {}),
            **({"facts_kept": (0.0, 1.0)} if settings.against_base else {}),
        }  # fmt: skip

    def read(self, reply: Reply, *, base: Reply | None = None) -> Mapping[str, Value]:
        shown, tokens, reason = answer_of(reply)
        if reason is not None:
            return dict.fromkeys(self.bounds, Value(None, reason=reason))
        ease = reading_ease(tokens) if is_latin(shown) else None
        found = {"reading_ease": Value(ease, reason=None if ease is not None else "not_english")}
        if reply.finish == "length":
            return {metric: found.get(metric, Value(None, reason="truncated")) for metric in self.bounds}
        found["words"] = Value(float(count_words(tokens)))
        found["characters"] = Value(float(len(shown)))
        found["sentences"] = Value(float(len(sentences_of(tokens))))
        if self.settings.facts:
            found["checklist"] = _share(self._checklist.check(shown))
        if self.settings.against_base:
            found["facts_kept"] = _against(shown, base)
        return {metric: found[metric] for metric in self.bounds}


def _against(text: str, base: Reply | None) -> Value:
    if base is None:
        return Value(None, reason=NO_BASE)
    said, _, reason = answer_of(base)
    if reason is not None or base.finish == "length":
        return Value(None, reason=f"the base profile's reply is {reason or 'truncated'}")
    return _share(facts_kept(said, text))


def _share(found: FactsKept) -> Value:
    if found.share is None:
        return Value(None, reason=NO_FACTS)
    lost = ", ".join(str(fact) for fact in found.lost)
    return Value(found.share, f"lost: {lost}" if lost else "all kept")
