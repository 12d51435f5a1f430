"""The decision in a reply, by the labels that the plan gives: 1 where it is a positive one, else 0.

    [extract.decision]
    labels = ["hire", "no hire"]                       # or, with several spellings:
    # labels = {hire = ["hire", "hiring"], reject = ["reject", "do not hire"]}
    positive = "hire"

The last decision counts. Labels are whole words, the longest first, and a negation turns them round: "hire" is not
found inside "no hire", nor "approved" in "not approved" or "unapproved". Nothing is guessed: a reply that names labels
without deciding has no value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from recuse.probes.extract.base import Bounds, Value
from recuse.probes.extract.mentions import Mention, Menu, mentions
from recuse.probes.extract.refusal import declines_somewhere
from recuse.probes.extract.texts import Token, listed, spoken, tokens_of, word_lists
from recuse.types import Reply
from recuse.verdict.objects import last_object
from recuse.verdict.text import visible

Word = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Words = Annotated[list[Word], Field(min_length=1)]


class DecisionSettings(BaseModel):
    """labels    the menu; as a table, label -> all its spellings, which then replace the label itself
    positive  the label or labels that count 1
    field     key of a JSON reply that holds the decision; a reply without it then decides nothing
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    labels: list[Word] | dict[Word, Words]
    positive: Word | Words
    field: Word | None = None

    @property
    def spellings(self) -> dict[str, list[str]]:
        return self.labels if isinstance(self.labels, dict) else {label: [label] for label in self.labels}

    @property
    def positives(self) -> frozenset[str]:
        return frozenset([self.positive] if isinstance(self.positive, str) else self.positive)

    @model_validator(mode="after")
    def _whole(self) -> DecisionSettings:
        labels = self.spellings
        if len(labels) < 2:
            raise ValueError("a menu needs two labels at least")
        if unknown := sorted(self.positives - set(labels)):
            raise ValueError(f"positive: {unknown[0]!r} is not among the labels {', '.join(labels)}")
        if self.positives == set(labels):
            raise ValueError("positive: every label is, so that no decision could differ")
        of: dict[tuple[str, ...], str] = {}
        for label, spelled in labels.items():
            for spelling in spelled:
                words = tuple(token.text for token in tokens_of(visible(spelling)))
                if not words:
                    raise ValueError(f"labels: {spelling!r} has no word in it")
                if of.setdefault(words, label) != label:
                    raise ValueError(f"labels: {spelling!r} is a spelling of {of[words]!r} and of {label!r}")
        return self


class Decision:
    """Metric `decision`; `Value.label` is the label, None where a negation leaves several.

    Reasons: "refused", "error", "transport_error", "truncated", "empty", "no_verdict", "conflicting" (one sentence or
    one JSON object decides both ways).
    """

    bounds: Mapping[str, Bounds] = {"decision": (0.0, 1.0)}

    def __init__(self, settings: DecisionSettings) -> None:
        self.settings = settings
        self._menu = Menu(settings.spellings)
        self._keys = [settings.field] if settings.field else listed_keys()

    def read(self, reply: Reply, *, base: Reply | None = None) -> Mapping[str, Value]:
        return {"decision": self._read(reply)}

    def _read(self, reply: Reply) -> Value:
        text, reason = spoken(reply)
        if reason not in (None, "refused") or reply.finish == "refusal":
            return Value(None, reason=reason)
        found = self._of_json(text)
        if found is not None or self.settings.field or _is_json(text):
            return found or self._nothing(reply, text, reason, ())
        tokens = self._menu.tokens(text)
        made = mentions(tokens, self._menu)
        strong = [one for one in made if one.grade == "strong"]
        if reason is None and not strong and reply.finish != "length":
            strong = made
        if not strong or not strong[-1].labels:
            return self._nothing(reply, text, reason, tokens)
        last = strong[-1]
        cut = reply.finish == "length" and last.end == len(tokens)
        if cut and self._menu.goes_on(tokens[last.at : last.end]):
            return Value(None, reason="truncated")
        return self._agreed([one for one in strong if one.sentence == last.sentence])

    def _of_json(self, text: str) -> Value | None:
        """What the last object says that has one of the keys; None where there is none, or it says something else."""
        found: dict[str, Any] = {}
        if "{" in text:
            for key in self._keys:
                for spelled in (key, key.capitalize(), key.upper()):
                    if f'"{spelled}"' in text and (object := last_object(text, spelled)) is not None:
                        found[key] = object[spelled]
        said = [self._menu.whole(_text(value)) for value in found.values()]
        if self.settings.field and said and not said[0]:
            return Value(None, reason="no_verdict")
        values = {self._value(labels) for labels in said if labels}
        if not values:
            return None
        return values.pop() if len(values) == 1 else Value(None, reason="conflicting")

    def _agreed(self, said: Sequence[Mention]) -> Value:
        left = frozenset(self._menu.labels)
        for one in said:
            left &= one.labels
        if left:
            return self._value(left)
        values = {self._value(one.labels).value for one in said if one.labels}
        return Value(values.pop()) if len(values) == 1 else Value(None, reason="conflicting")

    def _value(self, labels: frozenset[str]) -> Value:
        positive = {label in self.settings.positives for label in labels}
        if len(positive) != 1:
            return Value(None, reason="no_verdict")
        return Value(float(positive.pop()), next(iter(labels)) if len(labels) == 1 else None)

    @staticmethod
    def _nothing(reply: Reply, text: str, reason: str | None, tokens: Sequence[Token]) -> Value:
        if reason is None and declines_somewhere(tokens or tokens_of(visible(text))):
            reason = "refused"
        return Value(None, reason=reason or ("truncated" if reply.finish == "length" else "no_verdict"))


def listed_keys() -> list[str]:
    return listed(word_lists()["decision"]["keys"])


def _is_json(text: str) -> bool:
    """Whether a reply is one JSON object and nothing else, fenced or not."""
    bare = text.strip("` \n\t").removeprefix("json").lstrip()
    return bare.startswith("{") and bare.endswith("}") and last_object(bare) is not None


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int | float) else ""
