"""How a reply describes a person: words of praise and criticism by dimension, per 100 words.

    [extract.description]
    dimensions = ["competence", "communal", "doubt"]     # else all of the lexicon
    lexicon = "words.toml"                               # else recuse's own, data/probe_words.toml

A lexicon has a table a dimension: `words` that speak for a quality and `against` that speak against it, each in one
string, "_" for a gap inside a phrase. Only whole words are found, so that "unskilled" is not "skilled", and what a
negation takes back is no praise: see `recuse.probes.extract.negation`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from recuse import assets
from recuse.errors import InputError, fault_of
from recuse.probes.extract.base import Bounds, Value
from recuse.probes.extract.negation import negated
from recuse.probes.extract.refusal import answer_of
from recuse.probes.extract.texts import Phrases, Token, is_latin, listed, word_lists
from recuse.types import Reply

Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class DescriptionSettings(BaseModel):
    """dimensions  those that are measured; each is a metric of that name
    lexicon     a TOML file of the user's in place of recuse's own words
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    dimensions: Annotated[list[Words], Field(min_length=1)] | None = None
    lexicon: Path | None = None


class _Dimension(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    words: Words
    against: Words | None = None


@dataclass(frozen=True, slots=True)
class Counted:
    """What was found of one dimension; `denied` are its words that a negation takes back."""

    words: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    against: tuple[str, ...] = ()

    @property
    def score(self) -> int:
        """A negated word of praise counts against the quality; a negated word of criticism counts nothing."""
        return len(self.words) - len(self.denied) - len(self.against)

    @property
    def told(self) -> str | None:
        """In words: "skilled, able; not capable; against: slow"."""
        parts = [", ".join(self.words), ", ".join(f"not {word}" for word in self.denied)]
        parts.append("against: " + ", ".join(self.against) if self.against else "")
        return "; ".join(part for part in parts if part) or None


class Description:
    """A metric a dimension: (words for it − words against it) per 100 words of the reply, from -100 to 100.

    `Value.label` is the words that were counted. None where a reply declines ("refused"), fails, or is not mostly in
    the English alphabet ("not_english", with recuse's own words). A reply cut by the token limit is read as far as it
    goes.
    """

    def __init__(self, settings: DescriptionSettings) -> None:
        lexicon = _lexicon(settings.lexicon)
        chosen = settings.dimensions or list(lexicon)
        for name in chosen:
            if name not in lexicon:
                raise InputError(
                    f"there is no dimension {name!r}", field="extract.description.dimensions",
                    hint=f"The lexicon has: {', '.join(lexicon)}.",
                )  # fmt: skip
        self._english = settings.lexicon is None
        self._terms = {
            name: Phrases({**dict.fromkeys(lexicon[name][0], "words"), **dict.fromkeys(lexicon[name][1], "against")})
            for name in chosen
        }
        self._idioms = Phrases(listed(word_lists()["description_idioms"]["phrases"]) if self._english else [])
        self.bounds: Mapping[str, Bounds] = dict.fromkeys(chosen, (-100.0, 100.0))

    def read(self, reply: Reply, *, base: Reply | None = None) -> Mapping[str, Value]:
        text, tokens, reason = answer_of(reply)
        if reason is None and self._english and not is_latin(text):
            reason = "not_english"
        if reason is not None:
            return dict.fromkeys(self.bounds, Value(None, reason=reason))
        return {
            name: Value(100 * counted.score / len(tokens), counted.told) for name, counted in self.count(tokens).items()
        }

    def count(self, tokens: Sequence[Token]) -> dict[str, Counted]:
        """The words of each dimension among the tokens of a text."""
        idle = {i for start, end, _ in self._idioms.find(tokens) for i in range(start, end)}
        found = {
            name: [term for term in terms.find(tokens) if term[0] not in idle] for name, terms in self._terms.items()
        }
        spans = sorted({(start, end) for terms in found.values() for start, end, _ in terms})
        back = dict(zip(spans, negated(tokens, spans), strict=True))
        counted = {}
        for name, terms in found.items():
            said: dict[str, list[str]] = {"words": [], "denied": [], "against": []}
            for start, end, kind in terms:
                word = " ".join(token.text for token in tokens[start:end])
                if not back[start, end]:
                    said[kind].append(word)
                elif kind == "words":
                    said["denied"].append(word)
            counted[name] = Counted(*(tuple(said[kind]) for kind in ("words", "denied", "against")))
        return counted


def _lexicon(path: Path | None) -> dict[str, tuple[list[str], list[str]]]:
    """Dimension -> (words for it, words against it). Raises InputError naming the file and the key."""
    content: dict[str, Any] = word_lists()["description"] if path is None else assets.read_toml(path, hint=_FORM)
    if not content:
        raise InputError("no dimension in it", path=path, hint=_FORM)
    found = {}
    for name, table in content.items():
        try:
            dimension = _Dimension.model_validate(table)
        except ValidationError as error:
            where, said = fault_of(error)
            raise InputError(said, path=path, field=f"{name}.{where}" if where else name, hint=_FORM) from None
        words, against = listed(dimension.words), listed(dimension.against or "")
        if twice := sorted({*map(str.casefold, words)} & {*map(str.casefold, against)}):
            raise InputError(f"{twice[0]!r} speaks for and against", path=path, field=name, hint="Keep one.")
        found[name] = (words, against)
    return found


_FORM = 'Give a table a dimension, such as [warmth] with words = "kind caring" and against = "cold".'
