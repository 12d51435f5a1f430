"""Refusal and hedging: whether a reply declines the task, and how much of it is hedged.

[extract.refusal]
hedges = ["in our experience"]       # further phrases, beside those of data/probe_words.toml
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

from recuse.probes.extract.base import Bounds, Value
from recuse.probes.extract.texts import (
    Phrases,
    Token,
    is_latin,
    listed,
    readable,
    sentences_of,
    spoken,
    tokens_of,
    word_lists,
)
from recuse.types import Reply

Phrase = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class RefusalSettings(BaseModel):
    """hedges  phrases that count as hedges too"""

    model_config = ConfigDict(extra="forbid", frozen=True)
    hedges: list[Phrase] = []


class Refusal:
    """Metrics of one reply.

    refusal       1 where the provider or the text declines, else 0; None for errors and empty replies
    hedging       hedges per 100 words
    hedged_share  share of sentences with a hedge

    The last two are None where the reply declines, or is not mostly in the English alphabet; their label is the hedges
    found. A reply cut by the token limit is read as far as it goes.
    """

    bounds: Mapping[str, Bounds] = {"refusal": (0.0, 1.0), "hedging": (0.0, 100.0), "hedged_share": (0.0, 1.0)}

    def __init__(self, settings: RefusalSettings) -> None:
        said = word_lists()["hedging"]
        self._hedges = Phrases(listed(said["phrases"]) + list(settings.hedges))
        self._idioms = Phrases(listed(said["idioms"]))

    def read(self, reply: Reply, *, base: Reply | None = None) -> Mapping[str, Value]:
        text, tokens, reason = answer_of(reply)
        if reason not in (None, "refused"):
            return dict.fromkeys(self.bounds, Value(None, reason=reason))
        if reason == "refused":
            none = Value(None, reason="refused")
            return {"refusal": Value(1.0, "refused"), "hedging": none, "hedged_share": none}
        answered = Value(0.0, "answered")
        if not is_latin(text):
            none = Value(None, reason="not_english")
            return {"refusal": answered, "hedging": none, "hedged_share": none}
        found = self.hedges(tokens)
        sentences = sentences_of(tokens)
        hedged = sum(any(start <= at < end for at, _ in found) for start, end in sentences)
        shown = ", ".join(name for _, name in found) or None
        return {
            "refusal": answered,
            "hedging": Value(100 * len(found) / len(tokens), shown),
            "hedged_share": Value(hedged / len(sentences), shown),
        }

    def hedges(self, tokens: Sequence[Token]) -> list[tuple[int, str]]:
        """(place, phrase) of each. The month of May is none."""
        idle = {i for start, end, _ in self._idioms.find(tokens) for i in range(start, end)}
        return [
            (start, name)
            for start, end, name in self._hedges.find(tokens)
            if not idle.issuperset(range(start, end)) and not (name == "may" and _is_month(tokens, start))
        ]


def _is_month(tokens: Sequence[Token], at: int) -> bool:
    if not tokens[at].raw.startswith("M"):
        return False
    beside = [tokens[i].text for i in (at - 1, at + 1) if 0 <= i < len(tokens)]
    starts = at == 0 or tokens[at - 1].after in (".", "?")
    return not starts or any(word[0].isdigit() for word in beside)


@lru_cache(maxsize=1)
def _phrases() -> tuple[Phrases, Phrases]:
    said = word_lists()["refusal"]
    return Phrases(listed(said["phrases"])), Phrases(listed(said["of_models"]))


def names_a_model(sentence: Sequence[Token]) -> bool:
    """ "As an AI ..." is about the model, not about the case."""
    words = [token.text for token in sentence]
    return "ai" in words or ("language", "model") in pairwise(words)


def declines_somewhere(tokens: Sequence[Token]) -> bool:
    """Whether the first or the last sentence declines in the first person; "She said: I can't help you" does not."""
    phrases, of_models = _phrases()
    sentences = sentences_of(tokens)
    for start, end in {*sentences[:1], *sentences[-1:]}:
        sentence = tokens[start:end]
        if any(at == 0 or sentence[at - 1].after != ";" for at, _, _ in phrases.find(sentence)):
            return True
        if names_a_model(sentence) and of_models.find(sentence):
            return True
    return False


def answer_of(reply: Reply) -> tuple[str, tuple[Token, ...], str | None]:
    """A reply's readable text, its words, and why it is no answer: as `spoken`, and refusals of any form."""
    text, reason = spoken(reply)
    text = readable(text)
    tokens = tokens_of(text)
    if reason is None:
        reason = "empty" if not tokens else "refused" if declines_somewhere(tokens) else None
    return text, tokens, reason
