"""Themes against confirmed biases: do the cases of a theme look like the bias?

By a feature where the bias adds one that is measured: the share of the theme's cases in which the answer that the judge
preferred has more of it. Else by words: the share of the theme's explanations that use a word of the bias's name, or
one that its description quotes. Beside it stands the share among the other explained cases.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recuse import stats
from recuse.explain.features import BY_ID, FEATURES, content_words
from recuse.explain.recommend import POSITION, Confirmed
from recuse.explain.themes import Theme
from recuse.library import Bias

_QUOTED = re.compile(r'["“]([^"“”\n]{2,40})["”]')


@dataclass(frozen=True, slots=True)
class Cell:
    theme: str
    bias: str  # name
    by: str
    share: float
    others: float | None
    difference: stats.Estimate
    n: int  # cases of the theme


def cross(
    themes: Sequence[Theme],
    confirmed: Sequence[Confirmed],
    *,
    documents: Sequence[str],
    groups: Sequence[str],
    wrong_minus_right: Mapping[str, Sequence[float]],
    level: float,
) -> list[Cell]:
    """Every theme with every bias. `wrong_minus_right`: features of the same cases, empty where texts are unknown."""
    cells = []
    for one in (c for c in confirmed if c.bias.id != POSITION):  # the place is in no text
        by, marks = _marks(one.bias, documents, wrong_minus_right)
        if marks is None:
            continue
        for theme in themes:
            inside = [i in set(theme.members) for i in range(len(documents))]
            difference = stats.clustered_difference(marks, inside, groups=groups, level=level)
            own = [m for m, is_in in zip(marks, inside, strict=True) if is_in]
            rest = [m for m, is_in in zip(marks, inside, strict=True) if not is_in]
            cells.append(
                Cell(theme.name, one.bias.name, by, sum(own) / len(own) if own else 0.0,
                     sum(rest) / len(rest) if rest else None, difference, len(own))
            )  # fmt: skip
    return cells


def _marks(
    bias: Bias, documents: Sequence[str], wrong_minus_right: Mapping[str, Sequence[float]]
) -> tuple[str, list[float] | None]:
    """How a case is told to look like the bias, and whether each does; None where nothing tells."""
    for feature in FEATURES:
        if bias.id in feature.biases and feature.id in wrong_minus_right:
            return f"feature: more {BY_ID[feature.id].title}", [float(d > 0) for d in wrong_minus_right[feature.id]]
    words = content_words(bias.name)
    for text in (bias.definition, *bias.manifestations):
        for quoted in _QUOTED.findall(text):
            words |= content_words(quoted)
    if not words:
        return "", None
    shown = ", ".join(sorted(words)[:6])
    return f"words: {shown}", [float(bool(words & content_words(text))) for text in documents]
