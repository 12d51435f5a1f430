"""The fake teacher: rewrites, names biases, merges and verifies from texts alone, at set rates of success.

    fake/teacher=1,accuracy=0.8,carry=0.3,keep=1.0,length=0.0,refuse=0,seed=1

It works on the prompts that ship with recuse, which it tells apart by the properties of their JSON schema. A rewrite
puts in the markers of `backends.fake_world` that the instruction quotes and fills up with small words to about 8 % more
characters in every arm alike, within the limits that the prompt states. It keeps the last line; of a single line the
last sentence, of a single sentence the last word. All draws come from a hash of (seed, the prompt's text, repeat),
never from the arm or the pair.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from recuse.backends.fake_text import Said, block, uniform
from recuse.backends.fake_world import DECOYS, WORLD, properties_in_quotes
from recuse.errors import UsageError
from recuse.prompts import canonical
from recuse.types import Ask

SMALL = ("so", "now", "also", "then", "here", "thus", "just", "quite", "again", "still", "indeed", "overall")
_REFUSAL = "I'm sorry, but I can't help with rewriting this text."
_LIMITS = re.compile(r"between (\d+) characters.*?\sand (\d+) characters", re.DOTALL)
_NUMBERED = re.compile(r"^[ \t]*(\d+)[.):]", re.MULTILINE)
_CODE_LIKE = re.compile(r"[=;{}<>$\\|`]")


@dataclass(frozen=True, slots=True)
class Teaching:
    """Probabilities of one call."""

    teacher: bool = True
    accuracy: float = 0.8  # naming the property behind the word that an explanation quotes; else a wrong one or none
    carry: float = 0.3  # slipping a marker of the world into a rewrite, whatever the instruction
    keep: float = 1.0  # keeping the final answer of a rewrite
    length: float = 0.0  # making a rewrite about 30 % longer
    refuse: float = 0.0  # refusing a rewrite
    fail: float = 0.0  # of one attempt: a TransientError, asked again by the retry policy
    slow: float = 0.0  # seconds a call
    seed: int = 0


class Teacher:
    def __init__(self, teaching: Teaching) -> None:
        self.teaching = teaching

    def answer(self, ask: Ask) -> Said:
        draws = uniform(self.teaching.seed, *(m.content for m in ask.messages), ask.repeat)
        wanted = set(ask.schema["properties"]) if ask.schema is not None else set()
        if "bias" in wanted:
            return Said(canonical({"bias": self._bias(ask, draws)}))
        if "same_as" in wanted:
            return Said(canonical({"same_as": _same_as(_needed(ask, "candidate"), _needed(ask, "known"))}))
        if "same" in wanted:
            return Said(canonical({name: value for name, value in _compared(ask).items() if name in wanted}))
        if block(ask, "instruction") is not None:
            return self._rewrite(ask, draws)
        raise UsageError(
            "The fake teacher does not know this prompt.",
            hint="It rewrites, extracts, merges and verifies by the prompts that ship with recuse; it judges nothing.",
        )

    def _rewrite(self, ask: Ask, draws: tuple[float, ...]) -> Said:
        refuse, carry, which, keep, length, order, *_ = draws
        t, answer = self.teaching, _needed(ask, "answer")
        if refuse < t.refuse:
            return Said(_REFUSAL, "refusal")
        markers = [found.word for found in properties_in_quotes(_needed(ask, "instruction"))]
        if carry < t.carry:
            markers.append(WORLD[int(which * len(WORLD))].word)
        found = _LIMITS.search(ask.messages[-1].content)
        least, most = (int(found[1]), int(found[2])) if found else (0, int(1.1 * len(answer)))
        target = min(most, max(least, round(1.08 * len(answer)), len(answer) + 3))
        if length < t.length:
            most = target = round(1.3 * len(answer)) + 10
        head, tail = split_final(answer)
        head = reword(head, markers, most=most - len(tail), target=target - len(tail), draw=Random(order))
        return Said(head + (tail if keep < t.keep else another_answer(tail)))

    def _bias(self, ask: Ask, draws: tuple[float, ...]) -> dict[str, str | bool] | None:
        accurate, wording, silent, which, *_ = draws
        if accurate < self.teaching.accuracy:
            right = properties_in_quotes(_needed(ask, "explanation"))
            return right[0].described(wording) if right else None
        return None if silent < 0.5 else DECOYS[int(which * len(DECOYS))].described(wording)


def split_final(answer: str) -> tuple[str, str]:
    """What may be reworded, and the end that holds the final answer: last line, else last sentence, else last word."""
    body = answer.rstrip()
    for mark in ("\n", ". ", " "):
        at = body.rfind(mark)
        if at > 0:
            return answer[: at + len(mark)], answer[at + len(mark) :]
    return "", answer


def reword(text: str, markers: list[str], *, most: int, target: int, draw: Random) -> str:
    """`text` with the markers and then small words put between words of its prose, up to `target` characters.

    Small words of the text make room for markers that would pass `most`. Text without prose stays as it is.
    """
    lines = [line.split(" ") for line in text.split("\n")]
    gaps = [
        (row, column)
        for row, line in enumerate(lines)
        if _is_prose(line)
        for column, word in enumerate(line)
        if column and word.isalpha() and word.islower()
    ]
    if not gaps:
        return text
    size = len(text)
    removable = [gap for gap in gaps if lines[gap[0]][gap[1]] in SMALL]
    put: dict[tuple[int, int], list[str]] = {}
    for word in markers:
        put.setdefault(draw.choice(gaps), []).append(word)
        size += len(word) + 1
    draw.shuffle(removable)
    while size > most and removable:
        row, column = removable.pop()
        size -= len(lines[row][column]) + 1
        lines[row][column] = ""
    while fitting := [word for word in SMALL if size + len(word) + 1 <= target]:
        word = draw.choice(fitting)
        put.setdefault(draw.choice(gaps), []).append(word)
        size += len(word) + 1
    return "\n".join(
        " ".join(
            piece
            for column, word in enumerate(line)
            for piece in (*put.get((row, column), ()), word)
            if piece or (row, column) not in gaps
        )
        for row, line in enumerate(lines)
    )


def _is_prose(line: list[str]) -> bool:
    """Four words at least, most of them words, and no sign of code or formulas."""
    words = [word for word in line if word]
    plain = sum(word.strip(".,:;!?()'\"").isalpha() for word in words)
    return len(words) >= 4 and plain >= 0.7 * len(words) and not _CODE_LIKE.search(" ".join(words))


def another_answer(tail: str) -> str:
    """The final answer changed: the last number plus one, else the last capital letter on its own, else denied."""
    if numbers := list(re.finditer(r"\d+", tail)):
        last = numbers[-1]
        return f"{tail[: last.start()]}{int(last[0]) + 1}{tail[last.end() :]}"
    if letters := list(re.finditer(r"\b[A-J]\b", tail)):
        last = letters[-1]
        return f"{tail[: last.start()]}{'BCDEFGHIJA'['ABCDEFGHIJ'.index(last[0])]}{tail[last.end() :]}"
    return f"not {tail}"


def _same_as(candidate: str, known: str) -> int | None:
    """The number of the first known bias that quotes a marker of the candidate's."""
    words = {found.word for found in properties_in_quotes(candidate)}
    starts = list(_NUMBERED.finditer(known))
    for start, after in zip(starts, [*starts[1:], None], strict=True):
        text = known[start.end() : after.start() if after else None]
        if words & {found.word for found in properties_in_quotes(text)}:
            return int(start[1])
    return None


def _compared(ask: Ask) -> dict[str, bool | str]:
    """Whether the final answer of the second text is the first's, and whether it has the reference's words."""
    sides = (("before", "first_text"), ("after", "second_text"))
    before, after = (split_final(_needed(ask, *tags))[1] for tags in sides)
    reference = split_final(block(ask, "reference", "better_answer") or "")[1].rstrip(".")
    same = before.split() == after.split()
    right = bool(reference) and re.search(rf"(?<!\w){re.escape(reference)}(?!\w)", after) is not None
    return {"same": same, "correct": right, "repaired": right and not same, "reason": "The ends were compared."}


def _needed(ask: Ask, *tags: str) -> str:
    found = block(ask, *tags)
    if found is None:
        raise UsageError(f"The fake teacher finds no <{tags[0]}> block in this prompt.")
    return found
