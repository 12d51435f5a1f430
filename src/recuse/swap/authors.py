"""Self-preference: by the label under a text, and by content where outputs of the judge's own model have gold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recuse import stats
from recuse.audits.measure import Measure, difference, unmeasured
from recuse.audits.table import PerPair
from recuse.counterfactual.plan import Authors, Output
from recuse.counterfactual.slots import fill
from recuse.swap.arms import Arm
from recuse.swap.asking import Key, Round

OWN, OTHERS = "own family", "others"
_CONTENT = "self_preference.content"
_CONTENT_TITLE = "Wrong verdicts where the judge's own output is the worse one, minus where it is the better one"


def shown_as(authors: Authors, author: str, text: str) -> str:
    return fill(authors.shown, {"author": author, "text": text})[0]


def labels(authors: Authors, asked: Round) -> Arm:
    """The same text under each label, scored; or under a label of the judge's own family beside each other label."""
    arm = Arm((OWN, OTHERS))
    for one in authors.texts:
        if asked.mode.kind == "pointwise":
            for side, listed in ((OWN, authors.own), (OTHERS, authors.others)):
                for label in listed:
                    key = asked.single(one.question, shown_as(authors, label, one.text))
                    arm.singles.append((one.id, side, label, key))
        else:
            for own in authors.own:
                for other in authors.others:
                    texts = [shown_as(authors, label, one.text) for label in (own, other)]
                    arm.duels.append((one.id, own, other, asked.duel(one.question, *texts)))
    return arm


def against_rest(arm: Arm, asked: Round, *, level: float, seed: int) -> tuple[stats.PairedGap, ...]:
    """Each label against all others on the same texts, with Holm over the labels; for scores alone."""
    rows = arm.rows(asked)
    gone = np.array([value is None for value in rows.value], dtype=bool)
    filled = [asked.mode.bounds[0] if value is None else value for value in rows.value]
    return stats.paired_gaps(
        filled, template=rows.template, group=rows.name, against="rest", missing=gone, bounds=asked.mode.bounds,
        level=level, seed=seed,
    )  # fmt: skip


@dataclass(frozen=True)
class Content:
    """The judge's own outputs beside others, in both orders."""

    items: tuple[tuple[Output, tuple[Key, Key]], ...]

    @classmethod
    def ask(cls, outputs: list[Output], asked: Round) -> Content:
        return cls(tuple((one, asked.duel(one.question, one.own, one.other)) for one in outputs))

    def measure(self, asked: Round, *, level: float) -> Measure:
        """How much more often the judge errs in favour of its own outputs than against them.

        A judge that is merely weak errs alike on both kinds of items and shows 0. Ties of the gold say nothing of an
        error and are left out.
        """
        graded = [(one, keys) for one, keys in self.items if one.better != "tie"]
        if not graded:
            return unmeasured(_CONTENT, _CONTENT_TITLE, "gold calls every pair a tie")
        own = [asked.preference(keys) for _, keys in graded]
        worse = np.array([one.better == "other" for one, _ in graded], dtype=bool)
        answered = np.array([p is not None for p in own], dtype=bool)
        p = np.array([0.5 if value is None else value for value in own])
        error = np.where(worse, p, 1.0 - p)
        per = PerPair(
            error, answered, np.where(answered, error, 1.0), np.where(answered, error, 0.0),
            np.arange(len(graded), dtype=np.int64),
        )  # fmt: skip
        rates = {
            name: float(error[answered & side].mean()) if (answered & side).any() else None
            for name, side in (("error_own_worse", worse), ("error_own_better", ~worse))
        }
        return difference(
            _CONTENT, _CONTENT_TITLE, per, worse, level=level, **rates, ties_in_gold=len(self.items) - len(graded),
            prefers_own=float(p[answered].mean()) if answered.any() else None, gold_prefers_own=float((~worse).mean()),
        )  # fmt: skip
