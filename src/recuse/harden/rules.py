"""Verdicts that follow from several calls: both orders with a tie where they differ, and the majority of a panel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from recuse.types import Judgement, Preference


def both_orders(judged: Sequence[Judgement]) -> list[Judgement]:
    """One verdict for both orders of a pair: what both say, or a tie. Where one has no verdict, neither has the rule.

    By construction the place decides nothing, and the error is that of the two calls averaged where there are no ties:
    a pair judged right in one order only is half an error either way.
    """
    by_pair: dict[tuple[str, str, int], list[Judgement]] = {}
    for j in judged:
        by_pair.setdefault((j.pair, j.arm, j.repeat), []).append(j)
    return [_ruled(j, by_pair[j.pair, j.arm, j.repeat]) for j in judged]


def _ruled(j: Judgement, both: Sequence[Judgement]) -> Judgement:
    bare = replace(j, logit=None, outside=None, bounded=False, scores=None)
    if silent := next((one for one in both if one.prefers is None), None):
        return replace(bare, prefers=None, reason=silent.reason)
    if len(both) < 2:
        return replace(bare, prefers=None, reason="missing")
    said = {one.prefers for one in both}
    return replace(bare, prefers=j.prefers if len(said) == 1 else "tie", reason=None)


def majority(panel: Sequence[Sequence[Judgement]]) -> list[Judgement]:
    """The outcome with most votes among the judges that have a verdict; a tie where two outcomes lead, none where no
    judge has one."""
    votes: dict[tuple[str, str, str, int], list[Judgement]] = {}
    for judged in panel:
        for j in judged:
            votes.setdefault((j.pair, j.arm, j.order, j.repeat), []).append(j)
    return [_counted(of_ask) for of_ask in votes.values()]


def _counted(of_ask: Sequence[Judgement]) -> Judgement:
    first = of_ask[0]
    bare = replace(first, logit=None, outside=None, bounded=False, scores=None)
    counts = Counter[Preference](j.prefers for j in of_ask if j.prefers is not None)
    if not counts:
        return replace(bare, prefers=None, reason=first.reason)
    (leader, most), *others = counts.most_common()
    tied = bool(others) and others[0][1] == most
    return replace(bare, prefers="tie" if tied else leader, reason=None)
