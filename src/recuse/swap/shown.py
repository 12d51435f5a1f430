"""The texts of a plan as they are put to the judge: by template and group, as they are, edited, or blinded."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any, Protocol

from recuse import assets
from recuse.counterfactual.plan import CounterfactualPlan
from recuse.counterfactual.render import Rendered, render
from recuse.counterfactual.slots import Slot
from recuse.errors import InputError

BLANK, SYNONYM, RETEST = "trailing blank", "synonym", "retest"


class Redacts(Protocol):
    """`recuse.blinding.redact.Redactor`."""

    def redact(self, texts: Mapping[str, str], names: Sequence[str]) -> Any: ...


@dataclass(frozen=True)
class Texts:
    """Rendered texts by template and group, and the judge's question by template."""

    of: Mapping[str, Mapping[str, Sequence[Rendered]]]
    questions: Mapping[str, str]
    groups: tuple[str, ...]

    @classmethod
    def build(cls, plan: CounterfactualPlan) -> Texts:
        """Raises InputError where a template has no question that could be put to a judge."""
        of: dict[str, dict[str, list[Rendered]]] = {}
        for one in render(plan):
            of.setdefault(one.template, {}).setdefault(one.group, []).append(one)
        return cls(of, questions_of(plan), tuple(plan.groups))

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return list(combinations(self.groups, 2))

    def matched(self, a: str, b: str) -> Iterator[tuple[str, Rendered, Rendered]]:
        """Template, text of group a, text of group b: names by their place in the plan, the shorter list again from
        its start."""
        for template, of in self.of.items():
            for i in range(max(len(of[a]), len(of[b]))):
                yield template, of[a][i % len(of[a])], of[b][i % len(of[b])]

    def few(self, names: int) -> Iterator[Rendered]:
        """Texts of the first names of each group."""
        for of in self.of.values():
            for rendered in of.values():
                yield from rendered[:names]


def questions_of(plan: CounterfactualPlan, path: object = None) -> dict[str, str]:
    """What the judge is asked about the texts of each template. Raises InputError, naming the plan's file where `path`
    is given, for a template without a question."""
    questions = {}
    for template in plan.templates:
        question = plan.question_of(template)
        if question is None:
            raise InputError(
                f"the template {template.id!r} has no question for the judge", path=path, field="question",
                hint="Give one at the top of the plan, or with the template.",
            )  # fmt: skip
        questions[template.id] = question
    return questions


def edited(one: Rendered, edit: str, synonyms: Mapping[str, str]) -> str | None:
    """The text with a meaningless edit; None where it has no word that could be replaced."""
    if edit == BLANK:
        return one.text + " "
    return with_synonym(one.text, one.slots, synonyms)


def with_synonym(text: str, slots: Sequence[Slot], synonyms: Mapping[str, str]) -> str | None:
    """The text with one word replaced outside its slots: the first of `synonyms`, then of the shipped list, that it
    has."""
    for word, other in (*synonyms.items(), *_shipped().items()):
        for match in re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE):
            if all(match.end() <= slot.start or match.start() >= slot.end for slot in slots):
                new = other[:1].upper() + other[1:] if match[0][0].isupper() else other
                return text[: match.start()] + new + text[match.end() :]
    return None


@cache
def _shipped() -> Mapping[str, str]:
    words: dict[str, str] = tomllib.loads(assets.data("synonyms.toml").read_text(encoding="utf-8"))["words"]
    return words


def blinded(texts: Texts, redactor: Redacts) -> dict[tuple[str, str, str], str]:
    """Every text after blinding, by template, group and name. The redactor is told the name that the text shows."""
    found = {}
    for of in texts.of.values():
        for rendered in of.values():
            for one in rendered:
                done = redactor.redact({"text": one.text}, [one.name] if one.name else [])
                found[one.template, one.group, one.name] = str(done.texts["text"])
    return found
