"""Edits inside an answer: layout, emphasis and emoji, put around its sentences. The last one is left as it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from random import Random

from recuse.perturb.places import Insertion, Unit, units
from recuse.types import Pair

_WANTS_MARKS = re.compile(r"\*\*\*|\bbold\b", re.IGNORECASE)  # the final answer is found by its emphasis
_HEADINGS = (
    ("Overview", "Explanation", "Summary"),
    ("Background", "Details", "Result"),
    ("Introduction", "Discussion", "Outcome"),
    ("Key Idea", "Reasoning", "In Short"),
)
_STEPS = ("Step {}: ", "**Step {}.** ", "{}. ")
_BULLETS = ("- ", "* ", "• ")
_LEADS = ("**Response**\n\n", "**Overview:**\n\n", "### Response\n\n", "**In brief:**\n\n")
_EMOJI = "🌟✨🎉🚀💡🔥😊👍✅🙌💯🎯"
_WORD = re.compile(r"(?<![\w*`$\\])[A-Za-z]{4,}(?![\w*`$])")
_HEADED = re.compile(r"^[ \t]*(?:#+[^\n]*|\*\*[^\n*]*\*\*:?[ \t]*)\n+[ \t]*\Z", re.MULTILINE)
_MOST = 12  # sentences of a long answer that get a mark

Insert = Callable[[Pair, Random], list[Insertion]]


def markdown(pair: Pair, rng: Random) -> list[Insertion]:
    """A short bold lead, and the sentences as a list."""
    found = _editable(pair)
    if not found or _marks_matter(pair):
        return []
    bullet = rng.choice(_BULLETS)
    lead = Insertion(found[0].start, rng.choice(_LEADS) + bullet)
    return [lead, *(_own_line(pair.rejected, unit, bullet) for unit in found[1:])]


def headings(pair: Pair, rng: Random) -> list[Insertion]:
    """A heading before the first paragraph, and in longer answers before the middle and the last one."""
    text = pair.rejected
    openings = [unit.start for unit in _lines(pair)]
    if not openings or _marks_matter(pair):
        return []
    first, middle, last = rng.choice(_HEADINGS)
    rest = openings[1:]
    places = {openings[0]: first}
    if len(rest) > 1:
        places |= {rest[len(rest) // 2 - (len(rest) == 2)]: middle}
    if rest:
        places[rest[-1]] = last
    return [
        Insertion(at, f"{'' if at == 0 or text[:at].endswith(chr(10) * 2) else chr(10)}## {title}\n\n")
        for at, title in places.items()
    ]


def numbered_steps(pair: Pair, rng: Random) -> list[Insertion]:
    """The sentences as numbered steps."""
    found = _editable(pair)
    if len(units(pair.rejected)) < 2 or not found or _marks_matter(pair):
        return []
    step = rng.choice(_STEPS)
    first, *rest = found
    return [
        Insertion(first.start, step.format(1)),
        *(_own_line(pair.rejected, unit, step.format(i)) for i, unit in enumerate(rest, start=2)),
    ]


def emphasis(pair: Pair, rng: Random) -> list[Insertion]:
    """A longer word of each sentence in bold."""
    if _marks_matter(pair) or "**" in pair.rejected:
        return []
    found = []
    for unit in _spread(_editable(pair)):
        words = [m.span() for m in _WORD.finditer(pair.rejected, unit.start, unit.end)]
        if words:
            start, end = rng.choice(words)
            found += [Insertion(start, "**"), Insertion(end, "**")]
    return found


def emoji(pair: Pair, rng: Random) -> list[Insertion]:
    """An emoji before the answer and one after each sentence."""
    found = _editable(pair)
    if not found:
        return []
    ends = [unit.end for unit in _spread(found) if unit.end < len(pair.rejected.rstrip())]
    return [
        Insertion(found[0].start, f"{rng.choice(_EMOJI)} "),
        *(Insertion(end, f" {rng.choice(_EMOJI)}") for end in ends),
    ]


WITHIN: Mapping[str, Insert] = {
    "markdown": markdown,
    "headings": headings,
    "numbered_steps": numbered_steps,
    "emphasis": emphasis,
    "emoji": emoji,
}


def _editable(pair: Pair) -> list[Unit]:
    """All units but one that ends the answer; that one too where it is the whole answer and more than a word or two."""
    found = units(pair.rejected)
    if found and found[-1].end == len(pair.rejected.rstrip()):
        alone = len(found) == 1 and not pair.rejected[: found[0].start].strip()
        if alone:
            return found if len(pair.rejected.split()) > 3 else []
        return found[:-1]
    return found


def _lines(pair: Pair) -> list[Unit]:
    """Units that start a line and have no heading above, the last line too: a new heading leaves it as it is."""
    if not _editable(pair):
        return []
    text = pair.rejected
    return [unit for unit in units(text) if unit.opens and not _HEADED.search(text, 0, unit.start)]


def _spread(found: list[Unit]) -> list[Unit]:
    """At most `_MOST` of them, evenly over the text."""
    if len(found) <= _MOST:
        return found
    return [found[i * len(found) // _MOST] for i in range(_MOST)]


def _own_line(text: str, unit: Unit, mark: str) -> Insertion:
    """`mark` before a unit, on a line of its own. Only what is put in changes: the blank before it stays behind it."""
    if unit.opens:
        return Insertion(unit.start, mark)
    gap = len(text[: unit.start]) - len(text[: unit.start].rstrip(" \t"))
    return Insertion(unit.start - gap, "\n" + mark[:-1])


def _marks_matter(pair: Pair) -> bool:
    question = pair.prompt if isinstance(pair.prompt, str) else " ".join(m.content for m in pair.prompt)
    return _WANTS_MARKS.search(question) is not None
