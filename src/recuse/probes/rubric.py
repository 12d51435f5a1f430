"""A judge model grades a product's replies by a rubric: one at a time, or two at a time in both orders.

What the judge sees is blinded, since a judge that knows the group would measure its own bias beside the product's. In
pairs the place of a reply may decide instead of the reply: the scores are tested for that before they are averaged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from recuse import assets, stats
from recuse.backends.base import Capabilities
from recuse.blinding.redact import Redactor
from recuse.blinding.verify import find_leaks
from recuse.errors import UsageError
from recuse.judge import Answered
from recuse.probes.extract.base import Bounds, Value
from recuse.prompts import Prompt, canonical, load_prompt
from recuse.types import Ask, Finding, Sampling, Verdict, View
from recuse.verdict import FORMATS, read

ARM = "rubric"
SCORE, PAIRED, PREFERRED = "rubric", "rubric_pair", "rubric_preferred"
Send = Callable[[Sequence[Ask]], list[Answered]]

_MANY = 10  # scores that are all the same before a judge is suspected
NOTHING = "no reply to judge"
NOT_BLIND = "a sign of the group is left after blinding"
OTHER_QUESTION = "the questions of the pair differ"


class RubricSettings(BaseModel):
    """prompt  shows one reply and asks for a score
    pair     shows two and asks for the scores of both
    blind    take names and signs of a group out of what the judge sees
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    prompt: str = "pointwise/rubric"
    pair: str = "pairwise/rubric"
    blind: bool = True


@dataclass(frozen=True, slots=True)
class Shown:
    """A product's reply, the question that it answers, and the names that stand in either."""

    question: str
    text: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Compared:
    """What a judge says of pairs, in their order; each value is the mean over both orders.

    first, second  the score of either reply; of two that are alike to the letter, that of both
    preferred      1 where the first reply has the higher score, 0 where the second has, 0.5 where they tie
    position       points that the place shown first adds to a score
    suspect        the one sentence that makes these metrics suspect, where the place decides or scores never vary
    """

    first: tuple[Value, ...]
    second: tuple[Value, ...]
    preferred: tuple[Value, ...]
    position: Finding
    suspect: str | None


class RubricJudge:
    """Makes the asks of a rubric and reads the replies. `bounds` has the metrics `rubric`, `rubric_pair` (a reply's
    score in its pair) and `rubric_preferred`.

    `can` is the judge's; `redactor` the blinding where the plan adds signals to the names. Raises UsageError for a
    prompt that gives no scores on a scale.
    """

    def __init__(
        self, settings: RubricSettings, can: Capabilities, *, redactor: Redactor | None = None, room: int = 0
    ) -> None:
        self._one, self._two = (
            _prompt(name, kind, can, room)
            for name, kind in ((settings.prompt, "pointwise"), (settings.pair, "pairwise"))
        )
        self._redactor = (redactor or Redactor()) if settings.blind else None
        self.bounds: Mapping[str, Bounds] = {SCORE: self._one.scale, PAIRED: self._two.scale, PREFERRED: (0.0, 1.0)}

    def score(self, replies: Sequence[Shown], send: Send) -> tuple[Value, ...]:
        """The score of each reply by itself. Raises what `send` raises."""
        seen = [self._see(one) for one in replies]
        asks = {text: self._one.ask("chosen", text, answer=text[1]) for text in seen if isinstance(text, tuple)}
        found = dict(zip(asks, _verdicts(asks.values(), self._one, send), strict=True))
        return tuple(
            Value(None, reason=text) if isinstance(text, str) else _value(found[text], found[text].score)
            for text in seen
        )

    def compare(self, pairs: Sequence[tuple[Shown, Shown]], send: Send, *, level: float = 0.95) -> Compared:
        """The scores of both replies of each pair, shown in both orders. Raises what `send` raises.

        Both replies must answer one question, as the judge sees it: a pair whose questions still differ has no value.
        Position preference is tested on pairs of texts, each counted once: the first reply's points less the second's,
        summed over both orders, under an exact sign flip. Where it is significant at `level` the metrics are suspect.
        """
        seen = [self._see_both(*pair) for pair in pairs]
        asks: dict[tuple[str, str, str], tuple[Ask, Ask]] = {}
        for key in {_ordered(shown): None for shown in seen if not isinstance(shown, str)}:
            _, one, two = key
            asks[key] = self._two.ask("AB", key, first=one, second=two), self._two.ask("BA", key, first=two, second=one)
        sent = iter(_verdicts([ask for both in asks.values() for ask in both], self._two, send))
        found = {key: (next(sent), next(sent)) for key in asks}
        rows = []
        for shown in seen:
            if isinstance(shown, str):
                rows.append((Value(None, reason=shown),) * 3)
            else:
                key = _ordered(shown)
                rows.append(_averaged(*(found[key] if key == shown else found[key][::-1])))
        position = _position([*found.values()], level)
        first, second, preferred = zip(*rows, strict=True) if rows else ((), (), ())
        return Compared(first, second, preferred, position, _suspect(position, level) or unvaried([*first, *second]))

    def _see(self, one: Shown) -> tuple[str, str] | str:
        """Question and reply as the judge sees them, or why it does not."""
        if not one.text.strip():
            return NOTHING
        if self._redactor is None:
            return one.question, one.text
        done = self._redactor.redact({"question": one.question, "answer": one.text}, one.names).texts
        names, settings, signals = one.names, self._redactor.settings, self._redactor.signals
        if any(find_leaks(text, names, settings=settings, signals=signals) for text in done.values()):
            return NOT_BLIND
        return done["question"], done["answer"]

    def _see_both(self, one: Shown, two: Shown) -> tuple[str, str, str] | str:
        first, second = self._see(one), self._see(two)
        if isinstance(first, str):
            return first
        if isinstance(second, str):
            return second
        return (first[0], first[1], second[1]) if first[0] == second[0] else OTHER_QUESTION


@dataclass(frozen=True)
class _Asked:
    """A prompt, and how it is sent."""

    prompt: Prompt
    sampling: Sampling
    scale: Bounds

    def ask(self, view: View, shown: Sequence[str], **texts: str) -> Ask:
        values = {"question": shown[0], **texts}
        prompt = self.prompt
        id = assets.digest(canonical(list(shown)).encode("utf-8", "surrogatepass"))
        messages = prompt.fill(**{hole: values[hole] for hole in prompt.holes})
        return Ask(id, view, messages, self.sampling, prompt.hash, prompt.spec.labels, prompt.schema, ARM)


def _ordered(shown: tuple[str, str, str]) -> tuple[str, str, str]:
    """The pair in the order in which it counts once, whichever reply is named first."""
    question, one, two = shown
    return question, min(one, two), max(one, two)


def _prompt(name: str, kind: Any, can: Capabilities, room: int) -> _Asked:
    prompt = load_prompt(name, kinds=(kind,))
    wanted = "score" if kind == "pointwise" else "scores"
    if prompt.spec.scale is None or FORMATS[prompt.spec.format].gives != wanted or "reference" in prompt.holes:
        raise UsageError(
            f"The prompt {prompt.id} cannot serve as a rubric.",
            hint=f"Give one without a reference whose format gives {'a score' if wanted == 'score' else 'both scores'} "
            "and that states its scale.",
        )
    sampling = Sampling(0.0 if can.temperature else None, max(prompt.max_tokens, room))
    return _Asked(prompt, sampling, prompt.spec.scale)


def _verdicts(asks: Any, asked: _Asked, send: Send) -> list[Verdict]:
    return [read(answered.reply, asked.prompt.spec) for answered in send(list(asks))]


def _value(verdict: Verdict, value: float | None) -> Value:
    return Value(value) if value is not None else Value(None, reason=f"judge: {verdict.reason or 'no_verdict'}")


def _averaged(forth: Verdict, back: Verdict) -> tuple[Value, Value, Value]:
    """Scores of the first and the second reply, and which is preferred; none where either order gave none."""
    if forth.scores is None or back.scores is None:
        failed = _value(forth if forth.scores is None else back, None)
        return failed, failed, failed
    (one, two), (two_first, one_second) = forth.scores, back.scores
    first, second = (one + one_second) / 2, (two + two_first) / 2
    return Value(first), Value(second), Value(0.5 if first == second else float(first > second))


def _position(both: Sequence[tuple[Verdict, Verdict]], level: float) -> Finding:
    """What being shown first adds, over pairs with a verdict in both orders."""
    id, title = f"probe.position:{PAIRED}", "Points that being shown first adds to a rubric score"
    scores = [(forth.scores, back.scores) for forth, back in both if forth.scores and back.scores]
    if not scores:
        return Finding(id, title, None, reason="no pair has scores in both orders")
    leaning = np.array([(f[0] - f[1]) + (b[0] - b[1]) for f, b in scores if f and b])
    test = stats.sign_flip_test(leaning)
    found = stats.mean_interval(leaning / 2, level=level)
    first, second = int((leaning > 0).sum()), int((leaning < 0).sum())
    details = {"leaning_first": first, "leaning_second": second, "level": leaning.size - first - second}
    return Finding(
        id, title, found.estimate, found.interval, leaning.size, leaning.size, test.pvalue, test.method, found.reason,
        details=details,
    )  # fmt: skip


def _suspect(position: Finding, level: float) -> str | None:
    if position.estimate is None or position.p is None or position.p > 1 - level:
        return None
    place = "first" if position.estimate > 0 else "second"
    return (
        f"The rubric's judge gives {abs(position.estimate):.2g} points more to the reply that it sees {place} "
        f"(p {position.p:.3g}, {position.n:,} pairs): {PAIRED} and {PREFERRED} are suspect, though both orders are "
        "averaged."
    )


def unvaried(values: Sequence[Value]) -> str | None:
    """The sentence that makes scores suspect: all of many are the same, so that the judge may not look at replies."""
    scores = [value.value for value in values if value.value is not None]
    if len(scores) < _MANY or len(set(scores)) > 1:
        return None
    return f"The rubric's judge gives {scores[0]:g} to all {len(scores):,} replies: it may tell none apart."


def paired_rows(rows: Sequence[Mapping[str, Any]], *, a: str, b: str) -> list[tuple[int, int]]:
    """Places of rows that form pairs: group a and b in one template and seed, the first name of one with that of the
    other and so on. Names without a partner stay alone."""
    of: dict[tuple[Any, Any], dict[str, list[int]]] = {}
    for place, row in enumerate(rows):
        if row["group"] in (a, b):
            of.setdefault((row["template_id"], row["seed"]), {}).setdefault(row["group"], []).append(place)
    return [pair for groups in of.values() for pair in zip(groups.get(a, []), groups.get(b, []), strict=False)]
