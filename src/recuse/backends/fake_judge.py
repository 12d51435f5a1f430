"""The planted judge: a random-utility model whose formula stands in `backends.fake`."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from statistics import NormalDist

from recuse.backends.fake_text import Said, fill_schema, shown, uniform
from recuse.backends.fake_world import explain
from recuse.errors import UsageError
from recuse.types import Ask

SWAP = "swap"  # the arm of texts that differ in a signal only
EXTREME = 700.0  # log odds beyond which exp() overflows
_OUTSIDE = 0.02  # probability mass that a planted judge leaves outside the labels
_REFUSAL = "I'm sorry, but I can't compare these answers."
# Forms that a prompt may ask for, looked for in its words after the last block.
_FORMS = ("Verdict: {}", "[[{}]]", "Output ({})")
_REASONED = _FORMS[0]  # the form that wants reasons before the verdict


@dataclass(frozen=True, slots=True)
class Planted:
    """Strengths in log odds, then probabilities of one call, each drawn only where the ones before it did not occur."""

    skill: float = 1.0
    position: float = 0.0
    length: float = 0.0  # for the longer answer
    slope: float = 0.0  # for a unit of ln(length ratio)
    likes: str = ""  # a word, in any case
    like: float = 0.0  # for an answer that contains it
    favours: str = ""  # words or names of a group, with | between them, in any case
    favour: float = 0.0  # for a text that contains one of them
    pair_sd: float = 0.0
    question_sd: float = 0.0
    rewrite_sd: float = 0.0  # for the rejected answer, once a wording
    sham_sd: float = 0.0  # for the rejected answer, once an arm other than the original and placebos
    refuse: float = 0.0
    refuse_ba: float = 0.0  # the same, only where the better answer stands second
    truncate: float = 0.0
    tie: float = 0.0
    noise: float = 0.0
    fail: float = 0.0  # of one attempt: a TransientError, asked again by the retry policy
    explain: float = 0.8  # of one case: an explanation quotes the liked word, where the preferred answer has it
    slow: float = 0.0  # seconds a call
    logprobs: bool = False
    seed: int = 0


def arm_effect(planted: Planted, arm: str) -> float:
    """What all rejected answers of an arm gain in log odds by being in it: the scatter of `sham_sd`."""
    arm = arm.removeprefix("explain:0:")  # a case of that arm, judged again with reasons
    if not planted.sham_sd or arm in ("original", SWAP) or arm.startswith("placebo"):
        return 0.0
    return planted.sham_sd * _normal(planted.seed, "arm", arm)


class Judge:
    """From an ask to a preference to the words that the prompt wants; asks for a text are asked to explain."""

    def __init__(self, planted: Planted) -> None:
        self.planted = planted
        self._word = planted.likes.casefold()
        self._group = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, planted.favours.casefold().split('|')))})(?!\w)")
        self._forms: dict[str, str] = {}  # by prompt hash

    def answer(self, ask: Ask) -> Said:
        p = self.planted
        if ask.view == "text":
            return Said(explain(ask, liked=self._word, rate=p.explain, seed=p.seed))
        refuse, truncate, tie, coin, draw, *_ = uniform(p.seed, ask.pair, ask.arm, ask.view, ask.repeat)
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
        """z of the docstring of `backends.fake`."""
        p, chosen_first = self.planted, ask.view == "AB"
        z = self._merit(ask) + (p.position if chosen_first else -p.position)
        if p.length or p.slope or p.like or p.favour or p.rewrite_sd:
            first, second = shown(ask, "answer_a"), shown(ask, "answer_b")
            chosen, rejected = (first, second) if chosen_first else (second, first)
            difference = len(chosen) - len(rejected)
            z += p.length * ((difference > 0) - (difference < 0)) + self._own(chosen) - self._own(rejected)
            z -= self._wording(rejected)
        return z - arm_effect(p, ask.arm)

    def _points(self, ask: Ask, draw: float) -> int:
        """A whole number from 1 to 10: 5.5 plus two points a unit of utility, whose noise is a centred Gumbel."""
        p = self.planted
        if p.length or p.position:
            raise UsageError(
                "The fake judge's options 'length' and 'position' compare two answers, and this prompt shows one.",
                hint="Use slope= for a length bias on single answers.",
            )
        half = self._merit(ask) / 2
        utility = half if ask.view == "chosen" else -half
        if p.slope or p.like or p.favour:
            utility += self._own(shown(ask, "answer")) - p.slope * math.log(50)
        if ask.view == "rejected":
            utility += arm_effect(p, ask.arm) + (self._wording(shown(ask, "answer")) if p.rewrite_sd else 0.0)
        gumbel = -math.log(-math.log(draw)) - 0.5772156649015329
        return min(10, max(1, round(5.5 + 2 * (utility + gumbel))))

    def _own(self, answer: str) -> float:
        p = self.planted
        own = p.slope * math.log(max(len(answer), 1))
        own += p.like if p.like and self._word in answer.casefold() else 0.0
        return own + (p.favour if p.favour and self._group.search(answer.casefold()) else 0.0)

    def _wording(self, rejected: str) -> float:
        p = self.planted
        return p.rewrite_sd * _normal(p.seed, "wording", rejected) if p.rewrite_sd else 0.0

    def _merit(self, ask: Ask) -> float:
        """By how much the better answer is better: by nothing in a swap test, whose texts are equally good."""
        return 0.0 if ask.arm == SWAP else self.planted.skill + self._pair_effect(ask)

    def _pair_effect(self, ask: Ask) -> float:
        p = self.planted
        effect = p.pair_sd * _normal(p.seed, ask.pair) if p.pair_sd else 0.0
        if p.question_sd:
            effect += p.question_sd * _normal(p.seed, "question", shown(ask, "question"))
        return effect

    def _verdict(self, ask: Ask, first_odds: float | None) -> Said:
        """The words for log odds of the first answer; None is a tie."""
        labels = ask.labels
        if first_odds is None:
            masses, label = (0.2, 0.2, 0.6), labels[2]
        else:
            first = 1.0 / (1.0 + math.exp(-max(-EXTREME, min(EXTREME, first_odds))))
            masses, label = (first, 1.0 - first, 0.0), labels[0 if first_odds > 0 else 1]
        why = self._reasons(ask, first_odds)
        if ask.schema is not None:
            return Said(fill_schema(ask.schema, label, words=why or "planted"))
        logprobs = None
        if self.planted.logprobs and ask.sampling.top_logprobs:
            seen = [
                (name, math.log((1 - _OUTSIDE) * mass)) for name, mass in zip(labels, masses, strict=False) if mass > 0
            ]
            logprobs = (*seen, ("The", math.log(_OUTSIDE)))
        text = self._form(ask).format(label)
        return Said(f"{why}\n{text}" if why else text, logprobs=logprobs)

    def _reasons(self, ask: Ask, first_odds: float | None) -> str:
        """What stands before the verdict: nothing, unless the prompt wants reasons and the judge likes a word."""
        p = self.planted
        if not self._word or first_odds is None or (ask.schema is None and self._form(ask) != _REASONED):
            return ""
        preferred = "answer_a" if first_odds > 0 else "answer_b"
        return explain(ask, liked=self._word, rate=p.explain, seed=p.seed, preferred=preferred)

    def _score(self, ask: Ask, points: int) -> Said:
        return Said(f"Rating: [[{points}]]" if ask.schema is None else fill_schema(ask.schema, points))

    def _form(self, ask: Ask) -> str:
        form = self._forms.get(ask.prompt)
        if form is None:
            wish = ask.messages[-1].content.rpartition("</")[2]
            form = next((f for f in _FORMS if f.format(ask.labels[0]) in wish), "{}")
            self._forms[ask.prompt] = form
        return form


def _normal(*parts: object) -> float:
    return NormalDist().inv_cdf(uniform(*parts)[0])


def _score_points(draw: float) -> int:
    return 1 + int(10 * draw)
