"""Models that cost nothing: scripted judges, planted judges whose biases are known exactly, and a fake teacher.

    fake/position=0.3,noise=0.1,seed=1    a planted judge; see `Planted` for every key
    fake/always=first                     always the answer shown first, or "second"; any other text is the reply
    fake/script=replies.jsonl             see `backends.scripted`
    fake/teacher=1,accuracy=0.8,seed=1    see `backends.fake_teacher`

The planted judge is a random-utility model. On one call about a pair it prefers the better ("chosen") answer with

    P(chosen) = (1 - noise) * sigmoid(z) + noise / 2
    z = skill + e + position * (+1 if chosen is shown first, else -1)
      + length * sign(len(chosen) - len(rejected)) + slope * ln(len(chosen) / len(rejected))
      + like * ((LIKES in chosen) - (LIKES in rejected))
      + favour * ((a word of FAVOURS in chosen) - (one in rejected)) - w - s,
    e ~ N(0, pair_sd) once a pair + N(0, question_sd) once a question, which its pairs share
    w ~ N(0, rewrite_sd) once a wording of the rejected answer
    s ~ N(0, sham_sd) once an arm other than the original and placebos: what content-free instructions do

so everything but the probabilities is in log odds: `position=0.3` alone moves P(chosen) from 0.73 to 0.79 or 0.67.
Length is characters, as shown. `pair_sd` makes the two orders of a pair agree more than chance; `noise` is the share of
calls decided by a coin. The draw behind a verdict is logistic, and with `logprobs=1` it is also the log odds that the
reply reports, so text and log-probabilities always agree and the mean log odds is (1 - noise) * z.

In a swap test neither text is better, so skill and e are 0 there; `favours=Ida|Lena|she,favour=0.3` plants a preference
for a group by whole words.

On single answers the two utilities are +-(skill + e) / 2 plus the answer's own slope, like and favour terms, each with
Gumbel noise, whose difference is the same model (Luce 1959; McFadden 1974), as far as whole numbers from 1 to 10 can
show it.

Asked for a text, after a verdict of its own, the planted judge explains it by a quoted word (`fake_world.explain`).

All draws come from a hash of (seed, pair, arm, view, repeat), those behind texts from a hash of (seed, texts, repeat):
no result depends on the order of calls or the process.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from typing import Any, TypeVar

from recuse import __version__
from recuse.backends import pool
from recuse.backends.base import Capabilities, Options
from recuse.backends.fake_judge import Judge, Planted, arm_effect
from recuse.backends.fake_teacher import Teacher, Teaching
from recuse.backends.fake_text import Said, uniform
from recuse.backends.fake_truth import TrueContrast, TrueEffects, true_contrast, true_effects
from recuse.errors import TransientError, UsageError
from recuse.types import Ask, Call, Reply

__all__ = [
    "Fake", "Planted", "Teaching", "TrueContrast", "TrueEffects", "arm_effect", "open", "parse_planted",
    "parse_teaching", "true_contrast", "true_effects",
]  # fmt: skip

_PROBABILITIES = (
    "noise", "tie", "refuse", "refuse_ba", "truncate", "fail", "explain", "accuracy", "carry", "keep",
)  # fmt: skip
_AT_LEAST_0 = ("pair_sd", "question_sd", "rewrite_sd", "sham_sd", "slow")
_Settings = TypeVar("_Settings", Planted, Teaching)


def open(model: str, options: Options) -> Fake:
    """The model behind `fake/MODEL`. Raises UsageError for an unknown, doubled or impossible option."""
    key, _, value = model.partition("=")
    if key == "script":
        from recuse.backends.scripted import Script

        return Fake(model, Script.load(value).answer, options, scripted=True)
    if key == "always":
        return Fake(model, lambda ask: _always(value, ask), options)
    if key == "teacher":
        teaching = parse_teaching(model)
        return Fake(model, Teacher(teaching).answer, options, teaching)
    planted = parse_planted(model)
    return Fake(model, Judge(planted).answer, options, planted)


def parse_planted(model: str) -> Planted:
    """Read "position=0.3,noise=0.1". Raises UsageError naming the option and what it may be."""
    planted = _parse(model, Planted, "judge", also=("always", "script", "teacher"))
    given = {item.partition("=")[0].strip() for item in model.split(",")}
    for what, strength in (("likes", "like"), ("favours", "favour")):
        if bool(getattr(planted, what)) != (strength in given):
            raise UsageError(f"The fake judge needs both {what}=WORD and {strength}=STRENGTH, or neither.")
    return planted


def parse_teaching(model: str) -> Teaching:
    """Read "teacher=1,accuracy=0.8". Raises UsageError naming the option and what it may be."""
    teaching = _parse(model, Teaching, "teacher")
    if not teaching.teacher:
        raise UsageError("The fake teacher's option 'teacher' is 1.")
    return teaching


def _parse(model: str, settings: type[_Settings], who: str, *, also: tuple[str, ...] = ()) -> _Settings:
    kinds: dict[str, type] = {f.name: type(f.default) for f in fields(settings)}
    found: dict[str, Any] = {}
    for item in model.split(","):
        key, equals, value = (part.strip() for part in item.partition("="))
        if key not in kinds or not equals:
            known = ", ".join([*kinds, *also])
            raise UsageError(f"The fake {who} has no option {item.strip()!r}.", hint=f"Write KEY=VALUE with: {known}.")
        name = f"The fake {who}'s option {key!r}"
        if key in found:
            raise UsageError(f"{name} is given twice.")
        found[key] = _value(key, kinds[key], value, name, probability=_is_probability(key, settings))
    return settings(**found)


def _is_probability(key: str, settings: type[_Settings]) -> bool:
    return key in _PROBABILITIES or (key == "length" and settings is Teaching)


def _value(key: str, kind: type, text: str, name: str, *, probability: bool) -> object:
    if kind is str:
        return text
    if kind is bool:
        if text not in ("0", "1"):
            raise UsageError(f"{name} is 0 or 1, not {text!r}.")
        return text == "1"
    try:
        value = kind(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(f"{name} is a number, not {text!r}.")
    if probability and not 0 <= value <= 1:
        raise UsageError(f"{name} is a probability, not {text!r}.")
    if key in _AT_LEAST_0 and value < 0:
        raise UsageError(f"{name} is at least 0, not {text!r}.")
    return value


class Fake:
    """A backend around one function from an ask to what is said."""

    def __init__(
        self,
        model: str,
        answer: Callable[[Ask], Said],
        options: Options,
        settings: Planted | Teaching | None = None,
        *,
        scripted: bool = False,
    ):
        self.name = f"fake/{model}"
        self._answer, self._options, self._scripted = answer, options, scripted
        self._settings = settings or Planted()
        self._attempts: Counter[str] = Counter()
        logprobs = isinstance(settings, Planted) and settings.logprobs
        teaches = not isinstance(settings, Planted)
        self.capabilities = Capabilities(logprobs=logprobs, temperature=False, schema=True, teaches=teaches, local=True)

    def body(self, ask: Ask) -> dict[str, Any]:
        by_texts = ask.view == "text" and not self._scripted
        return {
            "messages": [{"role": m.role, "content": m.content} for m in ask.messages],
            "max_tokens": ask.sampling.max_tokens,
            "about": [] if by_texts else [ask.pair, ask.arm, ask.view],  # what the reply depends on beside the texts
        }

    def generate(self, calls: Iterable[Call]) -> Iterator[Reply]:
        if self._settings.fail or self._settings.slow:
            yield from pool.run(self._send, calls, options=self._options)
        else:
            for call in calls:
                yield self._reply(call)

    def versions(self) -> dict[str, str]:
        return {"recuse": __version__}

    def close(self) -> None:
        pass

    def _send(self, call: Call) -> Reply:
        settings = self._settings
        if settings.slow:
            time.sleep(settings.slow)
        self._attempts[call.key] += 1
        if settings.fail and uniform(settings.seed, call.key, self._attempts[call.key])[0] < settings.fail:
            raise TransientError("a planted failure", retry_after=0.0)
        return self._reply(call)

    def _reply(self, call: Call) -> Reply:
        said = self._answer(call.ask)
        return Reply(call.key, said.text, said.finish, logprobs=said.logprobs)


def _always(text: str, ask: Ask) -> Said:
    if text in ("first", "second") and ask.view in ("AB", "BA"):
        return Said(ask.labels[text == "second"])
    return Said(text)
