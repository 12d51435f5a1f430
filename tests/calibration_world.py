"""Judgements and labels written down by hand, and a judge who agrees with people at a known kappa."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from recuse.calibration import Labels
from recuse.calibration.labels import Place
from recuse.types import Judgement, Preference

_PREFERS: dict[str, Preference | None] = {"c": "chosen", "r": "rejected", "t": "tie", "-": None}


def judged(rows: Mapping[str, str], *, orders: str = "AB BA") -> list[Judgement]:
    """Verdicts of pairs, one letter an order: c chosen, r rejected, t tie, - refused."""
    found = []
    for pair, letters in rows.items():
        for order, letter in zip(orders.split(), letters, strict=True):
            prefers = _PREFERS[letter]
            found.append(
                Judgement(pair, f"g{pair}", order, prefers, reason=None if prefers else "refused")  # type: ignore[arg-type]
            )
    return found


def said(rows: Mapping[str, str], *, places: Mapping[str, Place] | None = None) -> Labels:
    """Labels of pairs, one letter a person."""
    votes = {pair: {f"p{i}": _PREFERS[letter] for i, letter in enumerate(letters)} for pair, letters in rows.items()}
    return Labels(votes, places or {}, "by hand", "0")


def drawn(n: int, kappa: float, rng: np.random.Generator, *, missing: float = 0.0) -> tuple[list[Judgement], Labels]:
    """One verdict a pair, two labels with shares of a half, at a true kappa."""
    people = rng.integers(0, 2, n)
    same = rng.random(n) < (1 + kappa) / 2
    gone = rng.random(n) < missing
    letters = ["-" if g else "cr"[p if s else 1 - p] for p, s, g in zip(people, same, gone, strict=True)]
    names = [str(i) for i in range(n)]
    return judged(dict(zip(names, letters, strict=True)), orders="AB"), said(
        {name: "cr"[p] for name, p in zip(names, people, strict=True)}
    )


def by_place(judgements: Sequence[Judgement], labels: Labels) -> tuple[list[str | None], list[str | None]]:
    """Verdicts and majorities by place as shown, by a loop that shares nothing with the package."""
    turned = {"AB": {"chosen": "A", "rejected": "B"}, "BA": {"chosen": "B", "rejected": "A"}}
    first, second = [], []
    for j in judgements:
        votes = [v for v in labels.votes[j.pair].values() if v is not None]
        best = [v for v in set(votes) if 2 * votes.count(v) > len(votes)]
        if best:
            first.append(None if j.prefers is None else turned[j.order].get(j.prefers, "tie"))
            second.append(turned[j.order].get(best[0], "tie"))
    return first, second
