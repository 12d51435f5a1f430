"""Verdicts from the probabilities of the first decoded token."""

from __future__ import annotations

from functools import lru_cache
from math import exp, isfinite

from recuse.types import Outcome, Reply, Verdict
from recuse.verdict.menu import Menu, menu_of
from recuse.verdict.spec import Spec

ENOUGH = 0.1  # probability of all labels from which on they decide; below, the text does
_TINY = 1e-12  # keeps p_first away from 0 and 1, hence its logit finite
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


def read_logprobs(reply: Reply, menu: Menu) -> Verdict | None:
    """The verdict of the first token's probabilities; None without usable ones.

    `p_first` is P(first) / (P(first) + P(second)), each summed over all spellings; `outside` is the rest beside all
    labels. A label that is not among the alternatives is bounded by the smallest probability listed, an upper limit.
    The most probable label is the outcome. With less than `ENOUGH` on the labels there is no outcome and no `p_first`.
    """
    if not reply.logprobs:
        return None
    spellings = _spellings(menu.spec)
    first = second = tie = 0.0
    smallest = 1.0
    seen_first = seen_second = False
    for token, logprob in reply.logprobs:
        if logprob != logprob:  # NaN
            return None
        probability = exp(min(logprob, 0.0))
        smallest = min(smallest, probability)
        outcome = spellings.get(token)
        if outcome == "A":
            first, seen_first = first + probability, True
        elif outcome == "B":
            second, seen_second = second + probability, True
        elif outcome == "tie":
            tie += probability
    mass = first + second + tie
    outside = max(0.0, 1.0 - mass)
    if mass < ENOUGH or not isfinite(mass):
        return Verdict(outside=outside, why=f"only {mass:.3f} of the first token's probability on labels")
    bounded = ""
    if not seen_first:
        first, bounded = smallest, f", {menu.spec.first} bounded by the smallest listed"
    elif not seen_second:
        second, bounded = smallest, f", {menu.spec.second} bounded by the smallest listed"
    p_first = min(max(first / (first + second), _TINY), 1.0 - _TINY) if first + second > 0.0 else 0.5
    best: Outcome = "A" if first > second else "B" if second > first else "tie"
    if tie > max(first, second):
        best = "tie"
    return Verdict(
        outcome=best,
        p_first=p_first,
        outside=outside,
        why=f"first token: P(first) {p_first:.4f}, outside {outside:.4f}{bounded}",
    )


def sampled_label(reply: Reply, menu: Menu) -> Outcome | None:
    """The label that the reply's own first token is, as far as the text and the alternatives show it.

    It is then the verdict only if the text reads as that label: "1" may go on to "12 facts", "A" to "A careful".
    """
    if reply.text in menu.verdicts:
        return menu.verdicts[reply.text].outcome
    text = reply.text.lstrip()
    begins = [token for token, _ in reply.logprobs or () if (word := token.lstrip(" Ġ▁")) and text.startswith(word)]
    return _spellings(menu.spec).get(max(begins, key=len)) if begins else None
