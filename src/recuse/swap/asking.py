"""The asks of a swap test, and what their replies say.

An ask is known by what it shows, so that texts which come out alike are one request, whoever they are about.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from recuse import assets
from recuse.judge import Answered
from recuse.judgements import Unread
from recuse.prompts import canonical
from recuse.swap.modes import Mode, digits
from recuse.types import Ask, Outcome, Reply, View
from recuse.verdict import read
from recuse.verdict.logprobs import ENOUGH

ARM = "swap"
Send = Callable[[Sequence[Ask]], list[Answered]]
Key = tuple[str, str, int]  # what is shown, the view, the repeat
_FIRST: Mapping[Outcome | None, float] = {"A": 1.0, "tie": 0.5, "B": 0.0}


@dataclass(frozen=True, slots=True)
class Said:
    """A score, or the probability (without log-probabilities: 1, 0, or 0.5 for a tie) that the first text is preferred.
    None: no verdict."""

    value: float | None
    place: int | None = None  # of three texts: which one is preferred, 0 the first shown
    fresh: bool = True


class Round:
    """All asks of one mode, each sent once. Add asks, send them, then look up what was said."""

    def __init__(self, mode: Mode) -> None:
        self.mode = mode
        self._asks: dict[Key, Ask] = {}
        self._said: dict[Key, Said] = {}
        self.refused = False  # the provider did not take the temperature that was set

    @property
    def asks(self) -> list[Ask]:
        return list(self._asks.values())

    def single(self, question: str, text: str, *, repeat: int = 0) -> Key:
        """One text, to be scored."""
        return self._add("chosen", [question, text], {"question": question, "answer": text}, repeat)

    def duel(self, question: str, one: str, two: str, *, repeat: int = 0) -> tuple[Key, Key]:
        """Two texts in both orders; the first key is that of the order as given. Two copies of one text are not asked
        about: both orders are one request, so that their mean is a half whatever is said."""
        shown = [question, one, two]
        if one == two:
            key = (_digest(shown), "AB", repeat)
            self._said[key] = Said(0.5)
            return key, key
        forth = self._add("AB", shown, {"question": question, "first": one, "second": two}, repeat)
        back = self._add("BA", shown, {"question": question, "first": two, "second": one}, repeat)
        return forth, back

    def rotations(self, question: str, texts: Sequence[str]) -> list[Key]:
        """Three texts in three orders: in rotation r text number (place + r) % 3 stands at each place."""
        keys = []
        for r in range(3):
            first, second, third = [*texts[r:], *texts[:r]]
            values = {"question": question, "first": first, "second": second, "third": third}
            keys.append(self._add("AB", [question, first, second, third], values, 0))
        return keys

    def send(self, send: Send, unread: Unread) -> None:
        """Have every ask answered. Raises what `send` raises."""
        for answered in send(self.asks):
            ask = answered.ask
            self.refused |= any(note.startswith("temperature") for note in answered.reply.notes)
            said, reason = _said(answered.reply, self.mode)
            self._said[ask.pair, ask.view, ask.repeat] = replace(said, fresh=answered.fresh)
            if reason is not None:
                unread.note(reason, answered.reply)

    def said(self, key: Key) -> Said:
        return self._said[key]

    def preference(self, keys: tuple[Key, Key]) -> float | None:
        """How far the first text of a duel is preferred, both orders averaged; None where one has no verdict."""
        forth, back = (self._said[key].value for key in keys)
        return None if forth is None or back is None else (forth + 1.0 - back) / 2.0

    def _add(self, view: View, shown: Sequence[str], values: dict[str, str], repeat: int) -> Key:
        prompt = self.mode.prompt
        key: Key = (_digest(shown), view, repeat)
        if key not in self._asks:
            self._asks[key] = Ask(
                key[0], view, prompt.fill(**{hole: values[hole] for hole in prompt.holes}), self.mode.sampling,
                prompt.hash, prompt.spec.labels, prompt.schema, ARM, repeat,
            )  # fmt: skip
        return key


def _digest(shown: Sequence[str]) -> str:
    return assets.digest(canonical(shown).encode("utf-8", "surrogatepass"))


def _said(reply: Reply, mode: Mode) -> tuple[Said, str | None]:
    """What a reply says in this mode, or nothing and the reason."""
    verdict = read(reply, mode.prompt.spec)
    if mode.kind == "pointwise":
        expected = expected_digit(reply, digits(mode.prompt)) if verdict.reason in (None, "no_verdict") else None
        value = verdict.score if expected is None else expected
    elif verdict.outcome is None or verdict.p_first is None:
        value = _FIRST.get(verdict.outcome)
    else:
        value = verdict.p_first
    place = ("A", "B", "tie").index(verdict.outcome) if verdict.outcome else None
    return Said(value, place), None if value is not None else verdict.reason or "no_verdict"


def expected_digit(reply: Reply, menu: Sequence[str]) -> float | None:
    """The mean of the digits that a reply may begin with, weighted by their probability at the first token.

    None without log-probabilities, or with less than `ENOUGH` on digits. Source of the idea: G-Eval (Liu et al. 2023,
    arXiv 2303.16634).
    """
    if not menu or not reply.logprobs:
        return None
    mass = dict.fromkeys(menu, 0.0)
    for token, logprob in reply.logprobs:
        digit = token.strip(" Ġ▁")
        if digit in mass:
            mass[digit] += math.exp(min(logprob, 0.0))
    total = sum(mass.values())
    return sum(float(digit) * p for digit, p in mass.items()) / total if total >= ENOUGH else None
