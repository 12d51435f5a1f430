"""What a team would report from this judge: how often the source's answer A wins. A number to withhold where the judge
does not agree with people, or reacts to a group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Literal

import numpy as np

from recuse.audits.measure import Measure, share, unmeasured
from recuse.audits.table import PerPair, Table

WIN_RATE = "judged.win_rate"
_MOST = 50  # domains shown, the largest


def judged(table: Table, places: Mapping[str, Literal["A", "B"]], *, level: float) -> list[Measure]:
    """Win rate of the source's answer A by the judge's verdicts, both orders averaged, and by domain.

    `places` says where each pair's chosen answer stood in the source; pairs that it does not name stay out. A tie is
    half a win; `bounds` are over all completions of the missing verdicts.
    """
    title = "Share of verdicts for the source's answer A, as the judge has it"
    known = np.array([pair in places for pair in table.pairs], dtype=bool)
    if not known.any():
        return [unmeasured(WIN_RATE, title, "the source does not tell its two answers apart by place")]
    at_b = np.array([places.get(pair) == "B" for pair in table.pairs], dtype=bool)
    wins = table.per_pair(np.where(at_b[table.pair], table.error, 1.0 - table.error), graded=False)
    measures = [share(WIN_RATE, title, wins.where(known), level=level).noting(pairs=int(known.sum()))]
    return [*measures, *_by_domain(wins, table, known, level)]


def _by_domain(wins: PerPair, table: Table, known: np.ndarray, level: float) -> list[Measure]:
    names = np.array([name or "" for name in table.domain_of])
    sizes = Counter(name for name in names[known].tolist() if name)
    if len(sizes) < 2:
        return []
    shown = sorted(name for name, _ in sizes.most_common(_MOST))
    return [
        share(f"{WIN_RATE}:{name}", f"Win rate of answer A in {name}", wins.where(known & (names == name)), level=level)
        for name in shown
    ]
