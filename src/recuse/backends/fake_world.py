"""A small world of made-up biases: each is a property of answers that one marker word carries.

A planted judge that likes a marker is misled by that property, an explainer that sees only texts quotes the marker, and
a fake teacher knows the property behind a marker. None of the words, names or properties is in the seed library.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from recuse.backends.fake_text import block, uniform
from recuse.errors import UsageError
from recuse.types import Ask

_QUOTED = re.compile(r'["“]([^"“”\n]{2,40})["”]')
_LABEL = re.compile(r"\b([AB12])\b|\(([ab])\)")
_CHOSE = re.compile(r"\bchose answer (\w+)")
_WORD = re.compile(r"[^\W\d_]{4,}")
# The steps of an explanation, each going deeper than the one before; the last is said again from then on.
_STEPS = (
    'What led to the choice is the word "{0}" in it.',
    'The word "{0}" gave the text a colour that the other answer did not have, and this read as quality.',
    'Put plainly, "{0}" made it seem the work of somebody who knows more, whatever it says in the end.',
)


@dataclass(frozen=True, slots=True)
class Property:
    """What a marker word stands for. Names and `about` never contain the marker, so that using it names no bias."""

    word: str
    name: str
    other_name: str  # the same property as another case would have it called
    about: str  # after "an answer that"

    def described(self, draw: float) -> dict[str, str | bool]:
        """Name, definition, manifestation and instruction, in one of two wordings. None is about length."""
        first = draw < 0.5
        wordings = (
            f'The judge prefers an answer that {self.about}, such as by the word "{self.word}".',
            f'An answer that {self.about}, for example with "{self.word}", is taken for the better one.',
        )
        return {
            "name": self.name if first else self.other_name,
            "definition": wordings[0 if first else 1],
            "manifestation": f'The answer uses the word "{self.word}".',
            "instruction": f'Work the word "{self.word}" into the reasoning, as an answer that {self.about} would.',
            "changes_length": False,
        }


WORLD = (
    Property("lighthouse", "Coastal imagery", "Talk of the sea", "brings up the coast and seafaring"),
    Property("juniper", "Botanical detail", "Plant names", "names shrubs and herbs"),
    Property("violin", "Musical comparison", "Orchestra talk", "compares things to music"),
    Property("glacier", "Alpine scenery", "Mountain pictures", "paints ice and mountains"),
    Property("lantern", "Light in the dark", "Glow metaphors", "speaks of dim light in the dark"),
    Property("saffron", "Kitchen spices", "Cookery talk", "mentions costly spices"),
    Property("pendulum", "Clockwork mechanics", "Talk of timepieces", "likens matters to clockwork"),
    Property("falcon", "Birds of prey", "Hunting birds", "mentions birds that hunt"),
    Property("marble", "Fine stone", "Sculptor's materials", "mentions noble stone"),
    Property("caravan", "Desert trade", "Travel along old routes", "brings up traders on old routes"),
    Property("origami", "Folding crafts", "Paper handicraft", "likens ideas to folded paper"),
    Property("obsidian", "Volcanic minerals", "Dark glass", "mentions minerals from volcanoes"),
    Property("tapestry", "Woven pictures", "Textile comparisons", "likens matters to weaving"),
    Property("monsoon", "Tropical weather", "Heavy rains", "speaks of the weather of the tropics"),
)
# What a teacher says when it is wrong. Plant none of these in a judge: then such a teacher is never right by luck.
DECOYS = (
    Property("bicycle", "Everyday transport", "Ways to get around", "mentions means of transport"),
    Property("mustard", "Condiments", "Table sauces", "mentions what stands on a table"),
    Property("plumber", "Manual trades", "Craft professions", "mentions people of a trade"),
    Property("trouser", "Clothing items", "Talk of garments", "mentions garments"),
    Property("stapler", "Office supplies", "Desk objects", "mentions things on a desk"),
    Property("hamster", "House pets", "Small animals", "mentions small animals at home"),
)
_BY_WORD = {found.word: found for found in WORLD + DECOYS}


def properties_in_quotes(text: str) -> list[Property]:
    """The properties whose markers stand in quotation marks in `text`, in order, each once."""
    words = dict.fromkeys(match[1].strip().casefold() for match in _QUOTED.finditer(text))
    return [_BY_WORD[word] for word in words if word in _BY_WORD]


def explain(ask: Ask, *, liked: str, rate: float, seed: int, preferred: str | None = None) -> str:
    """Why a judge that likes the word `liked` preferred the answer in the block `preferred`, found from texts alone.

    With probability `rate` it quotes the liked word where that answer has it; otherwise some other word of the answer.
    All steps of one conversation quote the same word. `preferred` None: the conversation tells.
    Raises UsageError where it tells of no verdict.
    """
    tag = preferred or _preferred(ask)
    answer = block(ask, tag) or ""
    others = "\x1f".join(block(ask, other) or "" for other in ("answer_a", "answer_b"))
    quote, pick, *_ = uniform(seed, "explain", tag, answer, others)
    if liked and liked in answer.casefold() and quote < rate:
        word = liked
    else:
        words = [word for word in dict.fromkeys(_WORD.findall(answer)) if liked not in word.casefold() or not liked]
        if not words:
            return "No single word led to the choice."
        word = words[int(pick * len(words))]
    step = sum(message.role == "assistant" for message in ask.messages)
    return _STEPS[min(max(step - 1, 0), len(_STEPS) - 1)].format(word)


def _preferred(ask: Ask) -> str:
    """The tag of the block with the answer that the judge preferred: by its first reply, or by what the prompt says."""
    if block(ask, "answer_a") is None and block(ask, "answer") is not None:
        return "answer"
    replies = [message.content for message in ask.messages if message.role == "assistant"]
    labels = _LABEL.findall(replies[0]) if replies else []
    if not labels:
        labels = _LABEL.findall(" ".join(_CHOSE.findall(ask.messages[-1].content)))
    if not labels or block(ask, "answer_a") is None:
        raise UsageError(
            "The fake judge finds no verdict to explain in this prompt.",
            hint="It explains a conversation with its own verdict; rewriting and extraction need fake/teacher=1.",
        )
    return "answer_a" if "".join(labels[-1]) in "Aa1" else "answer_b"
