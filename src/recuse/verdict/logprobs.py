"""Verdicts from the probabilities of the first decoded token."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import exp

from recuse.types import Outcome, Reply, Verdict
from recuse.verdict.menu import Menu, menu_of
from recuse.verdict.spec import Spec

ENOUGH = 0.1  # probability of all labels from which on they decide; below, the text does
_TINY = 1e-12  # keeps p_first away from 0 and 1, hence its logit finite
_NOTHING = -100.0  # some servers list masked tokens with -9999: they are as good as not listed
_BLANKS = ("", " ", "Ġ", "▁")  # how tokenizers write a leading blank


@lru_cache(maxsize=256)
def _spellings(spec: Spec) -> dict[str, Outcome]:
    """Every token that is a label: with and without a leading blank, in any case unless labels differ by case only."""
    menu = menu_of(spec)
    found: dict[str, Outcome] = {}
    for label, outcome in menu.outcomes.items():
        cases = {label} if menu.case else {label, label.lower(), label.upper(), label.capitalize()}
        for blank in _BLANKS:
            for text in cases:
                found.setdefault(blank + text, outcome)
    return found


@dataclass(frozen=True, slots=True)
class FirstToken:
    """What the alternatives at the first token give to each outcome, and what they leave open."""

    mass: dict[Outcome, float]  # summed over all spellings of a label
    smallest: float  # probability of the least of the other listed tokens; 1 without any
    others: float  # probability of all other listed tokens

    @property
    def labels(self) -> float:
        return sum(self.mass.values())

    @property
    def outside(self) -> float:
        return max(0.0, 1.0 - self.labels)

    @property
    def bounded(self) -> bool:
        return min(self.mass["A"], self.mass["B"]) == 0.0

    @property
    def p_first(self) -> float:
        """P(first) / (P(first) + P(second)). A label that is not listed has at most the smallest probability of
        another listed token, and at most the mass that the list leaves over: it counts as that bound."""
        first, second = self.mass["A"], self.mass["B"]
        bound = max(min(self.smallest, 1.0 - self.labels - self.others), _TINY)
        first, second = first or min(bound, second or 1.0), second or min(bound, first or 1.0)
        return min(max(first / (first + second), _TINY), 1.0 - _TINY)


def first_token(reply: Reply, outcome_of: Callable[[str], Outcome | None]) -> FirstToken | None:
    """The alternatives of `reply`, each token put down to an outcome or to none.

    None where they say nothing: without any, with a single one, which says nothing of the others, and with a NaN.
    """
    if not reply.logprobs or len(reply.logprobs) < 2:
        return None
    mass: dict[Outcome, float] = {"A": 0.0, "B": 0.0, "tie": 0.0}
    smallest, others = 1.0, 0.0
    for token, logprob in reply.logprobs:
        if logprob != logprob:  # NaN
            return None
        probability = exp(min(logprob, 0.0)) if logprob > _NOTHING else 0.0
        outcome = outcome_of(token)
        if outcome is not None:
            mass[outcome] += probability
        elif probability > 0.0:
            smallest, others = min(smallest, probability), others + probability
    return FirstToken(mass, smallest, others)


def read_logprobs(reply: Reply, menu: Menu) -> Verdict | None:
    """The verdict of the first token's probabilities; None without usable ones, so that the text decides.

    `p_first` is that of `FirstToken`, and `bounded` says that one label was not listed; `outside` is the rest beside
    all labels. The most probable label is the outcome. With less than `ENOUGH` on the labels there is no outcome and
    no `p_first`.
    """
    found = first_token(reply, _spellings(menu.spec).get)
    if found is None:
        return None
    mass, outside = found.mass, found.outside
    if found.labels < ENOUGH:
        return Verdict(outside=outside, why=f"only {found.labels:.3f} of the first token's probability on labels")
    ranked = sorted(mass, key=lambda outcome: -mass[outcome])
    best: Outcome = ranked[0] if mass[ranked[0]] > mass[ranked[1]] else "tie"
    p_first, bounded = found.p_first, found.bounded
    return Verdict(
        outcome=best,
        p_first=p_first,
        outside=outside,
        bounded=bounded,
        why=f"first token: P(first) {p_first:.4f}, outside {outside:.4f}{', one label bounded' if bounded else ''}",
    )


def stands_alone(text: str, menu: Menu) -> bool:
    """Whether the first line is a label and nothing more, with other lines after it."""
    first, _, rest = text.strip().partition("\n")
    return bool(rest.strip()) and menu.find(first.strip(" .*\"'")) is not None


def sampled_label(reply: Reply, menu: Menu) -> Outcome | None:
    """The label that the reply's own first token is, as far as the text and the alternatives show it.

    It is then the verdict only if the text reads as that label: "1" may go on to "12 facts", "A" to "A careful".
    """
    if reply.text in menu.verdicts:
        return menu.verdicts[reply.text].outcome
    text = reply.text.lstrip()
    begins = [token for token, _ in reply.logprobs or () if (word := token.lstrip(" Ġ▁")) and text.startswith(word)]
    return _spellings(menu.spec).get(max(begins, key=len)) if begins else None
