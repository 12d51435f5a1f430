"""Where a text decides: its mentions of a menu's labels, and which of them are decisions rather than mere words."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from recuse.probes.extract.negation import negated
from recuse.probes.extract.refusal import names_a_model
from recuse.probes.extract.texts import Phrases, Token, listed, sentences_of, tokens_of, word_lists
from recuse.verdict.text import plain, visible

Grade = Literal["strong", "weak"]

_REACH = 14  # words between a label and what makes it a decision
_CLAUSE = 30  # words on either side of a label that are looked at for conditions
_HEADING = 5  # words of a heading such as "Final decision"
_FEWEST = 4  # letters of a label that is looked for inside a sentence: "no" and "A" are words of many uses
_OFFERS = frozenset(["or", "and", "vs", "versus", "nor"])
_BECAUSE = frozenset(["because", "since", "as", "given", "due", "for"])
_OBJECTS = frozenset(["the", "this", "her", "him", "them", "it", "for", "with", "at", "a", "an", "that"])
_WOULD = frozenset(["would", "could", "should", "i'd", "we'd"])
_ANNOUNCES = frozenset(["decision", "verdict", "recommendation", "answer", "judgement", "judgment"])
_DENIED, _AFFIRMED = frozenset(["no", "false"]), frozenset(["yes", "true"])


@dataclass(frozen=True, slots=True)
class Mention:
    """A decision for one of `labels`, by position. Empty: one that is not on the menu."""

    at: int
    end: int
    sentence: int
    grade: Grade
    labels: frozenset[str]


class Menu:
    """Labels and how they are spelled."""

    def __init__(self, spellings: Mapping[str, Sequence[str]]) -> None:
        self.labels = tuple(spellings)
        of = {spelling: label for label, spelled in spellings.items() for spelling in spelled}
        self.phrases = Phrases(of)
        self._quoted = re.compile(
            r"([\"'`*])[ \t]*("
            + "|".join(re.escape(visible(one)) for one in sorted(of, key=len, reverse=True))
            + r")[ \t]*[.,!]?[ \t]*\1",
            re.IGNORECASE,
        )
        self._not: dict[tuple[str, ...], frozenset[str]] = {}
        tokens = {spelling: tokens_of(visible(spelling)) for spelling in of}
        for spelling in of:
            words = tuple(token.text for token in tokens[spelling])
            self._not[words] = frozenset(self.labels) - {
                of[other] for other in of if _contains(tokens[other], tokens[spelling])
            }

    def tokens(self, text: str) -> tuple[Token, ...]:
        """The words of a reply, without markup, and without quotations that are not a label."""
        return tokens_of(plain(self._quoted.sub(r" \2 ", visible(text))))

    def without(self, words: Sequence[Token]) -> frozenset[str]:
        """The labels that are left where one spelling is taken back."""
        return self._not.get(tuple(token.text for token in words), frozenset())

    def whole(self, text: str) -> frozenset[str]:
        """What a text says that is a label, or one taken back, and nothing more; empty where it is not."""
        tokens = tokens_of(visible(text))
        found = self.phrases.find(tokens)
        if len(found) != 1 or found[0][1] != len(tokens):
            return frozenset()
        start, end, label = found[0]
        if any(not _lists().between >= {token.text} and not token.text.endswith("n't") for token in tokens[:start]):
            return frozenset()
        return self.without(tokens[start:end]) if negated(tokens, [(start, end)])[0] else frozenset([label])

    def goes_on(self, words: Sequence[Token]) -> bool:
        """Whether a longer spelling begins with these words, so that a text cut here may have meant that."""
        said = tuple(token.text for token in words)
        return any(other[: len(said)] == said and len(other) > len(said) for other in self._not)


def _contains(other: Sequence[Token], spelling: Sequence[Token]) -> bool:
    """Whether one label says another: "strong hire" says "hire", "no hire" does not."""
    size = len(spelling)
    for i in range(len(other) - size + 1):
        if all(a.text == b.text for a, b in zip(other[i : i + size], spelling, strict=True)):
            return not negated(other, [(i, i + size)])[0]
    return False


@dataclass(frozen=True)
class _Lists:
    cues: frozenset[str]
    speakers: frozenset[str]
    states: frozenset[str]
    between: frozenset[str]
    unsure: frozenset[str]
    conditions: frozenset[str]
    nouns: frozenset[str]


@lru_cache(maxsize=1)
def _lists() -> _Lists:
    said = word_lists()["decision"]
    return _Lists(**{key: frozenset(listed(said[key])) for key in _Lists.__dataclass_fields__})


def mentions(tokens: Sequence[Token], menu: Menu) -> list[Mention]:
    """The decisions of a text in order, an empty one where "Decision:" is followed by none of the menu.

    strong  the speaker's own: "Decision: hire", "I would not hire", the reply or its last sentence is the label, or
            the reply begins with it ("Yes, ...")
    weak    a statement ("the loan is approved", "approve the loan"), which counts where there is no strong one

    Labels that are offered as a choice, doubted, conditional or reported are none.
    """
    sentences = sentences_of(tokens)
    number = [i for i, (start, end) in enumerate(sentences) for _ in range(start, end)]
    spans = [one for one in menu.phrases.find(tokens) if not _is_noun(tokens, one[1])]
    offered = _offered(tokens, spans, sentences, number)
    inside = {i for start, end, _ in spans for i in range(start, end)}
    of_models = {i for i, (start, end) in enumerate(sentences) if names_a_model(tokens[start:end])}
    graded: list[tuple[int, int, str, Grade]] = []
    for start, end, label in spans:
        if start in offered or number[start] in of_models:
            continue
        grade = _grade(tokens, start, end, sentences, number, inside)
        if grade is not None and not _unsure(tokens, start, end, sentences[number[start]]):
            graded.append((start, end, label, grade))
    taken_back = negated(tokens, [(start, end) for start, end, *_ in graded])
    found = []
    for (start, end, label, grade), back in zip(graded, taken_back, strict=True):
        asked = sentences[number[start]][1]
        at = end if tokens[end - 1].after == ";" else asked if tokens[asked - 1].after == "?" else len(tokens)
        back = back != (_answer(tokens, at) == "no")
        labels = menu.without(tokens[start:end]) if back else frozenset([label])
        if labels:
            found.append(Mention(start, end, number[start], grade, labels))
    said = {one.sentence for one in found}
    for i, (start, end) in enumerate(sentences):
        off = _off_menu(tokens, start, end)
        if off is not None and i not in said:
            found.append(Mention(off, off, i, "strong", frozenset()))
    return sorted(found, key=lambda one: one.at)


def _is_noun(tokens: Sequence[Token], end: int) -> bool:
    return end < len(tokens) and tokens[end - 1].after in ("", "-") and tokens[end].text in _lists().nouns


def _offered(
    tokens: Sequence[Token],
    spans: Sequence[tuple[int, int, str]],
    sentences: Sequence[tuple[int, int]],
    number: Sequence[int],
) -> set[int]:
    """Where labels stand as a choice: "hire or no hire", "hire/no hire", or one below the other as a list."""
    found: set[int] = set()
    alone = {start for start, end, _ in spans if sentences[number[start]] == (start, end)}
    for (start, end, label), (other, _, other_label) in pairwise(spans):
        if label == other_label:
            continue
        gap = [token.text for token in tokens[end:other]]
        same = number[start] == number[other]
        beside = same and ((gap and _OFFERS.issuperset(gap)) or (not gap and tokens[end - 1].after in (",", ";", "-")))
        listed_alone = not same and not gap and {start, other} <= alone and tokens[end - 1].after == "."
        if beside or (listed_alone and not _under_heading(tokens, start, sentences, number)):
            found |= {start, other}
    return found


def _under_heading(
    tokens: Sequence[Token], start: int, sentences: Sequence[tuple[int, int]], number: Sequence[int]
) -> bool:
    """Whether the sentence before, a short one, announces a decision: "## Decision"."""
    if number[start] == 0:
        return False
    first, end = sentences[number[start] - 1]
    words = [token.text for token in tokens[first:end]]
    lists = _lists()
    return (
        len(words) <= _HEADING and tokens[end - 1].after == "." and not lists.cues.isdisjoint(words)
        and (lists.cues | lists.between).issuperset(words)
    )  # fmt: skip


def _grade(
    tokens: Sequence[Token],
    start: int,
    end: int,
    sentences: Sequence[tuple[int, int]],
    number: Sequence[int],
    inside: Collection[int],
) -> Grade | None:
    first, last = sentences[number[start]]
    if tokens[last - 1].after == "?":
        return "strong" if _answer(tokens, last) and _long(tokens, start, end) else None
    lists = _lists()
    before = start
    while before > first and start - before < _REACH:
        word = tokens[before - 1].text
        if word in lists.cues and _announces(tokens, before, start):
            return "strong"
        if word in lists.speakers and _long(tokens, start, end, word):
            return "strong"
        if not (word in lists.between or before - 1 in inside or word.endswith(("ly", "n't"))):
            break
        before -= 1
    alone = before == first
    if alone and (start == first or end == last):
        if _under_heading(tokens, first, sentences, number):
            return "strong"
        if end == last and (last == len(tokens) or first == 0):
            return "strong"
        if start == 0 and _heads(tokens, end):
            return "strong"
    if not _long(tokens, start, end):
        return None
    if start == first and (end == last or tokens[end].text in _OBJECTS or tokens[end - 1].after in (",", ";")):
        return "weak"
    return "weak" if any(token.text in lists.states for token in tokens[max(first, before) : start]) else None


def _announces(tokens: Sequence[Token], at: int, start: int) -> bool:
    """Whether a cue is followed by its decision: a colon or a verb, not the label alone ("answer yes")."""
    return tokens[at - 1].after in (";", ",", "-") or any(
        token.text in ("is", "be", "was", "to", "are") or token.text.endswith("n't") for token in tokens[at:start]
    )


def _long(tokens: Sequence[Token], start: int, end: int, speaker: str = "") -> bool:
    """Whether a label may be looked for inside a sentence. "I say no" and "I choose A" are said of short ones too."""
    if sum(len(token.text) for token in tokens[start:end]) >= _FEWEST:
        return True
    verb = tokens[start - 1].text if start else ""
    return bool(speaker) and verb in ("say", "choose", "chose", "vote", "recommend", "suggest", "with", "for")


def _heads(tokens: Sequence[Token], end: int) -> bool:
    """Whether a reply that begins with a label means it: "Yes, ...", "Hire because ...", not "No one ..."."""
    return tokens[end - 1].after in (",", ";", ".") or (end < len(tokens) and tokens[end].text in _BECAUSE)


def _unsure(tokens: Sequence[Token], start: int, end: int, sentence: tuple[int, int]) -> bool:
    lists, (first, last) = _lists(), sentence
    before = start
    while before > max(first, start - _CLAUSE) and tokens[before - 1].after in ("", "-"):
        if tokens[before - 1].text in ("but", "then"):
            break
        before -= 1
    front = [token.text for token in tokens[before:start]]
    if not lists.unsure.isdisjoint(front) and not ("even" in front and "if" in front):
        return True
    if any(a in _WOULD and b == "have" for a, b in pairwise(front)):
        return True
    for i in range(end, min(last, end + _CLAUSE)):
        comma = tokens[i - 1].after
        if comma not in ("", "-") and not (comma == "," and i == end):
            return False
        if tokens[i].text in lists.conditions and tokens[i - 1].text != "even":
            return True
    return False


def _answer(tokens: Sequence[Token], at: int) -> str | None:
    """The "no" of "Approved: no" and "Should we hire her? No.", or the "yes"; None where neither stands there alone."""
    if at >= len(tokens) or (at + 1 < len(tokens) and tokens[at].after in ("", "-")):
        return None
    word = tokens[at].text
    return "no" if word in _DENIED else "yes" if word in _AFFIRMED else None


def _off_menu(tokens: Sequence[Token], start: int, end: int) -> int | None:
    """Where "Decision:" stands at the beginning of a sentence and something follows."""
    lists = _lists()
    for i in range(start, min(end - 1, start + _HEADING)):
        word = tokens[i].text
        if word in _ANNOUNCES and tokens[i].after == ";":
            return i
        if word not in lists.cues and word not in lists.between:
            return None
    return None
