"""Judges that cost nothing: scripted ones, and planted ones whose biases are known exactly.

    fake/position=0.3,noise=0.1,seed=1    a planted judge; see `Planted` for every key
    fake/always=first                     always the answer shown first, or "second"; any other text is the reply
    fake/script=replies.jsonl             see `backends.scripted`

The planted judge is a random-utility model. On one call about a pair it prefers the better ("chosen") answer with

    P(chosen) = (1 - noise) * sigmoid(z) + noise / 2
    z = skill + e + position * (+1 if chosen is shown first, else -1)
      + length * sign(len(chosen) - len(rejected)) + slope * ln(len(chosen) / len(rejected))
      + like * ((LIKES in chosen) - (LIKES in rejected)),
    e ~ N(0, pair_sd) once a pair + N(0, question_sd) once a question, which its pairs share

so everything but the probabilities is in log odds: `position=0.3` alone moves P(chosen) from 0.73 to 0.79 or 0.67.
Length is characters, as shown. `pair_sd` makes the two orders of a pair agree more than chance; `noise` is the share of
calls decided by a coin. The draw behind a verdict is logistic, and with `logprobs=1` it is also the log odds that the
reply reports, so text and log-probabilities always agree and the mean log odds is (1 - noise) * z.

On single answers the two utilities are +-(skill + e) / 2 plus the answer's own slope and like terms, each with Gumbel
noise, whose difference is the same model (Luce 1959; McFadden 1974), as far as whole numbers from 1 to 10 can show it.

All draws come from a hash of (seed, pair, arm, view, repeat): no result depends on the order of calls or the process.
"""

from __future__ import annotations

import math
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from hashlib import blake2b
from statistics import NormalDist
from typing import Any

from recuse import __version__
from recuse.backends import pool
from recuse.backends.base import Capabilities, Options
from recuse.errors import TransientError, UsageError
from recuse.types import Ask, Call, Finish, Reply

_OUTSIDE = 0.02  # probability mass that a planted judge leaves outside the labels
_EXTREME = 700.0  # log odds beyond which exp() overflows
_REFUSAL = "I'm sorry, but I can't compare these answers."
_PROBABILITIES = ("noise", "tie", "refuse", "refuse_ba", "truncate", "fail")
# Forms that a prompt may ask for, looked for in its words after the last block.
_FORMS = ("Verdict: {}", "[[{}]]", "Output ({})")


@dataclass(frozen=True, slots=True)
class Said:
    """What an answerer makes of one ask: the parts of a Reply that are not bookkeeping."""

    text: str
    finish: Finish = "stop"
    logprobs: tuple[tuple[str, float], ...] | None = None


@dataclass(frozen=True, slots=True)
class Planted:
    """Strengths in log odds, then probabilities of one call, each drawn only where the ones before it did not occur."""

    skill: float = 1.0
    position: float = 0.0
    length: float = 0.0  # for the longer answer
    slope: float = 0.0  # for a unit of ln(length ratio)
    likes: str = ""  # a word, in any case
    like: float = 0.0  # for an answer that contains it
    pair_sd: float = 0.0
    question_sd: float = 0.0
    refuse: float = 0.0
    refuse_ba: float = 0.0  # the same, only where the better answer stands second
    truncate: float = 0.0
    tie: float = 0.0
    noise: float = 0.0
    fail: float = 0.0  # of one attempt: a TransientError, asked again by the retry policy
    slow: float = 0.0  # seconds a call
    logprobs: bool = False
    seed: int = 0


def open(model: str, options: Options) -> Fake:
    """The judge behind `fake/MODEL`. Raises UsageError for an unknown, doubled or impossible option."""
    key, _, value = model.partition("=")
    if key == "script":
        from recuse.backends.scripted import Script

        return Fake(model, Script.load(value).answer, options)
    if key == "always":
        return Fake(model, lambda ask: _always(value, ask), options)
    planted = parse_planted(model)
    return Fake(model, _Judge(planted).answer, options, planted)


def parse_planted(model: str) -> Planted:
    """Read "position=0.3,noise=0.1". Raises UsageError naming the option and what it may be."""
    kinds = {f.name: type(f.default) for f in fields(Planted)}
    found: dict[str, Any] = {}
    for item in model.split(","):
        key, equals, value = (part.strip() for part in item.partition("="))
        if key not in kinds or not equals:
            known = ", ".join([*kinds, "always", "script"])
            raise UsageError(f"The fake judge has no option {item.strip()!r}.", hint=f"Write KEY=VALUE with: {known}.")
        if key in found:
            raise UsageError(f"The fake judge's option {key!r} is given twice.")
        found[key] = _value(key, kinds[key], value)
    if bool(found.get("likes")) != ("like" in found):
        raise UsageError("The fake judge needs both likes=WORD and like=STRENGTH, or neither.")
    return Planted(**found)


def _value(key: str, kind: type, text: str) -> object:
    if kind is str:
        return text
    if kind is bool:
        if text not in ("0", "1"):
            raise UsageError(f"The fake judge's option {key!r} is 0 or 1, not {text!r}.")
        return text == "1"
    try:
        value = kind(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(f"The fake judge's option {key!r} is a number, not {text!r}.")
    if key in _PROBABILITIES and not 0 <= value <= 1:
        raise UsageError(f"The fake judge's option {key!r} is a probability, not {text!r}.")
    if key in ("pair_sd", "question_sd", "slow") and value < 0:
        raise UsageError(f"The fake judge's option {key!r} is at least 0, not {text!r}.")
    return value


class Fake:
    """A backend around one function from an ask to what is said."""

    def __init__(self, model: str, answer: Callable[[Ask], Said], options: Options, planted: Planted | None = None):
        self.name = f"fake/{model}"
        self._answer, self._options, self._planted = answer, options, planted or Planted()
        self._attempts: Counter[str] = Counter()
        self.capabilities = Capabilities(logprobs=self._planted.logprobs, temperature=False, schema=True, local=True)

    def body(self, ask: Ask) -> dict[str, Any]:
        return {
            "messages": [{"role": m.role, "content": m.content} for m in ask.messages],
            "max_tokens": ask.sampling.max_tokens,
            "about": [ask.pair, ask.arm, ask.view],  # the reply depends on them
        }

    def generate(self, calls: Iterable[Call]) -> Iterator[Reply]:
        if self._planted.fail or self._planted.slow:
            yield from pool.run(self._send, calls, options=self._options)
        else:
            for call in calls:
                yield self._reply(call)

    def versions(self) -> dict[str, str]:
        return {"recuse": __version__}

    def close(self) -> None:
        pass

    def _send(self, call: Call) -> Reply:
        planted = self._planted
        if planted.slow:
            time.sleep(planted.slow)
        self._attempts[call.key] += 1
        if planted.fail and _uniform(planted.seed, call.key, self._attempts[call.key])[0] < planted.fail:
            raise TransientError("a planted failure", retry_after=0.0)
        return self._reply(call)

    def _reply(self, call: Call) -> Reply:
        said = self._answer(call.ask)
        return Reply(call.key, said.text, said.finish, logprobs=said.logprobs)


class _Judge:
    """The planted judge: from an ask to a preference to the words that the prompt wants."""

    def __init__(self, planted: Planted) -> None:
        self.planted = planted
        self._word = planted.likes.casefold()
        self._forms: dict[str, str] = {}  # by prompt hash

    def answer(self, ask: Ask) -> Said:
        p = self.planted
        refuse, truncate, tie, coin, draw, *_ = _uniform(p.seed, ask.pair, ask.arm, ask.view, ask.repeat)
        if refuse < (max(p.refuse, p.refuse_ba) if ask.view == "BA" else p.refuse):
            return Said(_REFUSAL, "refusal")
        if truncate < p.truncate:
            return Said("Let me look at both answers", "length")
        if ask.view in ("chosen", "rejected"):
            return self._score(ask, _score_points(draw) if coin < p.noise else self._points(ask, draw))
        if p.tie and len(ask.labels) < 3:
            raise UsageError(
                "The fake judge's option 'tie' needs a prompt with a tie label, such as pairwise/label_tie."
            )
        if tie < p.tie:
            return self._verdict(ask, None)
        z = (0.0 if coin < p.noise else self._log_odds(ask)) + math.log(draw / (1.0 - draw))
        return self._verdict(ask, z if ask.view == "AB" else -z)

    def _log_odds(self, ask: Ask) -> float:
        """z of the module's docstring."""
        p, chosen_first = self.planted, ask.view == "AB"
        z = p.skill + self._pair_effect(ask) + (p.position if chosen_first else -p.position)
        if p.length or p.slope or p.like:
            first, second = shown(ask, "answer_a"), shown(ask, "answer_b")
            chosen, rejected = (first, second) if chosen_first else (second, first)
            difference = len(chosen) - len(rejected)
            z += p.length * ((difference > 0) - (difference < 0)) + self._own(chosen) - self._own(rejected)
        return z

    def _points(self, ask: Ask, draw: float) -> int:
        """A whole number from 1 to 10: 5.5 plus two points a unit of utility, whose noise is a centred Gumbel."""
        p = self.planted
        if p.length or p.position:
            raise UsageError(
                "The fake judge's options 'length' and 'position' compare two answers, and this prompt shows one.",
                hint="Use slope= for a length bias on single answers.",
            )
        half = (p.skill + self._pair_effect(ask)) / 2
        utility = half if ask.view == "chosen" else -half
        if p.slope or p.like:
            utility += self._own(shown(ask, "answer")) - p.slope * math.log(50)
        gumbel = -math.log(-math.log(draw)) - 0.5772156649015329
        return min(10, max(1, round(5.5 + 2 * (utility + gumbel))))

    def _own(self, answer: str) -> float:
        p = self.planted
        return p.slope * math.log(max(len(answer), 1)) + (p.like if p.like and self._word in answer.casefold() else 0.0)

    def _pair_effect(self, ask: Ask) -> float:
        p = self.planted
        effect = p.pair_sd * NormalDist().inv_cdf(_uniform(p.seed, ask.pair)[0]) if p.pair_sd else 0.0
        if p.question_sd:
            effect += p.question_sd * NormalDist().inv_cdf(_uniform(p.seed, "question", shown(ask, "question"))[0])
        return effect

    def _verdict(self, ask: Ask, first_odds: float | None) -> Said:
        """The words for log odds of the first answer; None is a tie."""
        labels = ask.labels
        if first_odds is None:
            masses, label = (0.2, 0.2, 0.6), labels[2]
        else:
            first = 1.0 / (1.0 + math.exp(-max(-_EXTREME, min(_EXTREME, first_odds))))
            masses, label = (first, 1.0 - first, 0.0), labels[0 if first_odds > 0 else 1]
        if ask.schema is not None:
            return Said(_fill_schema(ask.schema, label))
        logprobs = None
        if self.planted.logprobs and ask.sampling.top_logprobs:
            seen = [
                (name, math.log((1 - _OUTSIDE) * mass)) for name, mass in zip(labels, masses, strict=False) if mass > 0
            ]
            logprobs = (*seen, ("The", math.log(_OUTSIDE)))
        return Said(self._form(ask).format(label), logprobs=logprobs)

    def _score(self, ask: Ask, points: int) -> Said:
        return Said(f"Rating: [[{points}]]" if ask.schema is None else _fill_schema(ask.schema, points))

    def _form(self, ask: Ask) -> str:
        form = self._forms.get(ask.prompt)
        if form is None:
            wish = ask.messages[-1].content.rpartition("</")[2]
            form = next((f for f in _FORMS if f.format(ask.labels[0]) in wish), "{}")
            self._forms[ask.prompt] = form
        return form


def shown(ask: Ask, tag: str) -> str:
    """The answer in the ask's <tag> block. Raises UsageError where the prompt has no such block."""
    for message in reversed(ask.messages):
        start = message.content.rfind(f"<{tag}>")
        end = message.content.find(f"</{tag}>", start)
        if 0 <= start < end:
            return message.content[start + len(tag) + 2 : end].strip()
    raise UsageError(
        f"The fake judge finds no <{tag}> block in this prompt, which one of its options needs.",
        hint="Use one of the prompts that ship with recuse, or leave these options out.",
    )


def _always(text: str, ask: Ask) -> Said:
    if text in ("first", "second") and ask.view in ("AB", "BA"):
        return Said(ask.labels[text == "second"])
    return Said(text)


def _fill_schema(schema: Any, value: str | int) -> str:
    """A JSON object of the schema's properties: `value` where it fits, some words elsewhere."""
    from recuse.prompts import canonical

    def fits(part: Any) -> bool:
        if isinstance(value, int):
            return part.get("type") in ("integer", "number")
        return value in part.get("enum", ())

    return canonical({name: value if fits(part) else "planted" for name, part in schema["properties"].items()})


def _score_points(draw: float) -> int:
    return 1 + int(10 * draw)


def _uniform(*parts: object) -> tuple[float, ...]:
    """Eight numbers strictly between 0 and 1 that depend on `parts` alone."""
    text = "\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return tuple([((x >> 12) + 0.5) * 2.0**-52 for x in struct.unpack("<8Q", blake2b(text, digest_size=64).digest())])


@dataclass(frozen=True, slots=True)
class TrueEffects:
    """What an audit with endless pairs would find. Ties are half an error and half a first answer."""

    error_rate: float
    first_rate: float
    consistency: float  # same outcome in both orders
    length_effect: (
        float | None
    )  # error where the wrong answer is longer, minus where the right one is; None: one kind only
    n: int


def true_effects(
    planted: Planted,
    lengths: Sequence[tuple[int, int]],
    *,
    likes: Sequence[tuple[bool, bool]] | None = None,
    n: int = 200_000,
    seed: int = 0,
) -> TrueEffects:
    """Effects of a planted judge over pairs of the given (chosen, rejected) lengths, by Monte Carlo over pair effects.

    `likes` says for each pair which answers contain the word. Each pair appears equally often (n is rounded up), and
    verdicts are averaged exactly given the pair effect, so that the error is far below 1 / sqrt(n): exact without one.
    Missing verdicts are drawn independently of all else and leave these rates as they are.
    """
    import numpy as np

    copies = -(-n // len(lengths))
    chosen, rejected = np.repeat(np.asarray(lengths, dtype=float), copies, axis=0).T
    spread = math.hypot(planted.pair_sd, planted.question_sd)
    z = planted.skill + spread * np.random.default_rng(seed).standard_normal(len(chosen))
    z += planted.length * np.sign(chosen - rejected)
    z += planted.slope * np.log(np.maximum(chosen, 1) / np.maximum(rejected, 1))
    if likes is not None:
        has_chosen, has_rejected = np.repeat(np.asarray(likes, dtype=float), copies, axis=0).T
        z += planted.like * (has_chosen - has_rejected)
    ab, ba = (
        (1 - planted.noise) / (1 + np.exp(-np.clip(z + sign * planted.position, -_EXTREME, _EXTREME)))
        + planted.noise / 2
        for sign in (1, -1)
    )
    decided = 1 - planted.tie
    error = decided * (1 - (ab + ba) / 2) + planted.tie / 2
    longer_wrong, longer_right = rejected > chosen, chosen > rejected
    both = bool(longer_wrong.any() and longer_right.any())
    return TrueEffects(
        error_rate=float(error.mean()),
        first_rate=float((decided * (ab + 1 - ba) / 2 + planted.tie / 2).mean()),
        consistency=float((decided**2 * (ab * ba + (1 - ab) * (1 - ba)) + planted.tie**2).mean()),
        length_effect=float(error[longer_wrong].mean() - error[longer_right].mean()) if both else None,
        n=len(chosen),
    )
