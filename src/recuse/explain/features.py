"""What can be measured of an answer: length, layout, sources, code, hedges, readability, numbers, the first person, and
how much of the question it takes up.

Each is a number of one text, put on a scale on which differences between two texts are comparable (logarithms of
counts, shares, rates for 100 words). None says whether an answer is right, and all are of English.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from recuse.prompts import transcript
from recuse.types import Pair

if TYPE_CHECKING:
    from recuse.probes.extract.refusal import Refusal

_FENCED = re.compile(r"^[ \t]*(```|~~~)[^\n]*\n.*?(?:^[ \t]*\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_ITEM = re.compile(r"^[ \t>]*(?:[-*+•]|\(?\d{1,3}[.)]|\(?[a-z][)])[ \t]+\S", re.MULTILINE)
_HEADING = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+\S|\*\*[^*\n]{1,80}\*\*:?[ \t]*$|\|.*\|[ \t]*$)", re.MULTILINE)
_EMPHASIS = re.compile(r"\*\*[^*\n]{1,200}\*\*|__[^_\n]{1,200}__|(?<!`)`[^`\n]{1,200}`(?!`)")
_SOURCE = re.compile(
    r"\[\d{1,3}(?:\s*,\s*\d{1,3})*\]|\((?:[^()\n]{1,60},\s*)?(?:19|20)\d\d[a-z]?\)|\bet al\b|https?://|\bdoi:|\barxiv\b"
    r"|\baccording to\b|\b(?:study|studies|report|survey|paper) (?:by|from|in|of)\b"
    r"|\bresearch(?:ers)? (?:at|from)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w.])\d[\d,.]*(?![\w])")
_FIRST = re.compile(r"(?:i|we)(?:'\w+)?|me|my|mine|myself|us|our|ours|ourselves")
_FEWEST = 50  # words that a rate is of at least: the number in a text of two words is no rate of 50
_SHORT = 3  # letters up to which a word is not counted among those that carry content


@dataclass(frozen=True, slots=True)
class Feature:
    id: str
    title: str  # what an answer has more of, after "more ..."
    biases: tuple[str, ...] = ()  # of the library, whose edits add it


# The order says which one is kept where two cannot be told apart.
FEATURES: tuple[Feature, ...] = (
    Feature("length", "length (log of characters)", ("length", "verbosity", "distraction")),
    Feature("coverage", "of the question taken up (share of its content words)"),
    Feature("reference", "of the reference answer taken up (share of its content words)"),
    Feature("lists", "list items (log)", ("numbered-steps", "markdown")),
    Feature("markup", "headings and emphasis (log)", ("headings", "emphasis", "markdown")),
    Feature("sources", "citations and sources named (log)", ("citation", "authority")),
    Feature("numbers", "numbers (for 100 words)", ("concreteness",)),
    Feature("hedges", "hedges (for 100 words)", ("hedging",)),
    Feature("ease", "reading ease (Flesch)"),
    Feature("first_person", "first person (for 100 words)"),
    Feature("code", "code (share of characters in fences)"),
    Feature("declines", "refusal (the answer declines)"),
)
BY_ID: Mapping[str, Feature] = {feature.id: feature for feature in FEATURES}


def measured(pair: Pair) -> tuple[dict[str, float], dict[str, float]]:
    """The features of the chosen and of the rejected answer, by id. "reference" is there where the pair has one."""
    question = content_words(transcript(pair.prompt))
    reference = content_words(pair.reference) if pair.reference else frozenset()
    found = []
    for answer in (pair.chosen, pair.rejected):
        words = content_words(answer)
        values = {name: measure(answer) for name, measure in _MEASURES.items()}
        values |= _by_words(answer)
        values["coverage"] = len(words & question) / len(question) if question else 0.0
        if reference:
            values["reference"] = len(words & reference) / len(reference)
        found.append(values)
    return found[0], found[1]


def differences(pairs: Sequence[Pair]) -> dict[str, list[float]]:
    """Chosen minus rejected, by feature; "reference" only where every pair has a reference answer."""
    both = [measured(pair) for pair in pairs]
    ids = [f.id for f in FEATURES if both and all(f.id in chosen for chosen, _ in both)]
    return {id: [chosen[id] - rejected[id] for chosen, rejected in both] for id in ids}


def content_words(text: str) -> frozenset[str]:
    """Words of more than three letters, and numbers, folded; a plural is its singular."""
    from recuse.probes.extract.texts import readable, tokens_of

    words = (token.text for token in tokens_of(readable(text)))
    return frozenset(w.removesuffix("s") for w in words if len(w) > _SHORT or w.isdigit())


def _log_count(pattern: re.Pattern[str]) -> Callable[[str], float]:
    return lambda text: math.log1p(len(pattern.findall(_FENCED.sub("\n", text))))


def _code(text: str) -> float:
    return sum(len(m[0]) for m in _FENCED.finditer(text)) / len(text) if text else 0.0


def _markup(text: str) -> float:
    plain = _FENCED.sub("\n", text)
    return math.log1p(len(_HEADING.findall(plain)) + len(_EMPHASIS.findall(plain)))


_MEASURES: Mapping[str, Callable[[str], float]] = {
    "length": lambda text: math.log(max(1, len(text.strip()))),
    "lists": _log_count(_ITEM),
    "markup": _markup,
    "sources": _log_count(_SOURCE),
    "code": _code,
}


def _by_words(text: str) -> dict[str, float]:
    from recuse.probes.extract.readability import reading_ease
    from recuse.probes.extract.refusal import declines_somewhere
    from recuse.probes.extract.texts import declines, readable, tokens_of

    plain = readable(_FENCED.sub("\n", text))
    tokens = tokens_of(plain)
    declining = float(declines(text) or declines_somewhere(tokens))
    if not tokens:
        return {"numbers": 0.0, "hedges": 0.0, "ease": 0.0, "first_person": 0.0, "declines": declining}
    hundreds = max(len(tokens), _FEWEST) / 100
    return {
        "numbers": len(_NUMBER.findall(plain)) / hundreds,
        "hedges": len(_hedging().hedges(tokens)) / hundreds,
        "ease": min(100.0, max(0.0, reading_ease(tokens) or 0.0)),
        "first_person": sum(_FIRST.fullmatch(token.text) is not None for token in tokens) / hundreds,
        "declines": declining,
    }


@lru_cache(maxsize=1)
def _hedging() -> Refusal:
    from recuse.probes.extract.refusal import Refusal, RefusalSettings

    return Refusal(RefusalSettings())
