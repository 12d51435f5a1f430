"""Error rates of a judge on pairs as they are and as they were rewritten, with paired intervals.

Rows of a set were picked because the judge erred on them, so those very verdicts say nothing of how often it errs on
them (regression to the mean). Three numbers do: all variants that passed the checks, unfiltered; the rows judged
afresh, where a repeated call may say something else; and the rows that the other judges alone would have picked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from recuse import stats
from recuse.effects.scores import Floats, Scores
from recuse.export.select import Item
from recuse.perturb.arms import ORIGINAL, Rewrite
from recuse.types import Finding, Judgement

Basis = Literal["unfiltered", "selecting", "afresh", "picked_by_others"]
TITLES: dict[Basis, str] = {
    "unfiltered": "Rewritten answers, unfiltered",
    "selecting": "The set, by the verdicts that selected it",
    "afresh": "The set, judged afresh",
    "picked_by_others": "What the other judges alone would have picked",
}


@dataclass(frozen=True)
class Rates:
    """One judge on one basis: error on the originals, on the rewritten answers, and the difference."""

    judge: str
    basis: Basis
    before: Finding
    after: Finding
    difference: Finding


def rates(
    scores: Scores, rows: Sequence[tuple[str, str]], *, judge: str, basis: Basis, id: str, level: float = 0.95
) -> Rates:
    """Over `rows` (arm, pair): mean error with both orders averaged; each row beside the original of its pair.

    Rows that lack a verdict in an order, rewritten or original, are not in the estimates and are in `bounds`, the
    interval over all completions of what is missing; `details` count the calls without a verdict.
    """
    arms = np.array([scores.at(arm) for arm, _ in rows], dtype=np.int64)
    where = {pair: i for i, pair in enumerate(scores.pairs)}
    pairs = np.array([where[pair] for _, pair in rows], dtype=np.int64)
    original = np.full(len(rows), scores.at(ORIGINAL.id))
    new, old = _Side.of(scores, arms, pairs), _Side.of(scores, original, pairs)
    whole = new.whole & old.whole
    groups = scores.group[pairs]
    title = TITLES[basis]

    def finding(name: str, what: str, value: Floats, low: Floats, high: Floats, failed: float, least: float) -> Finding:
        ends = (least, 1.0)
        found = stats.clustered_mean(value[whole], groups=groups[whole], bounds=ends, level=level)
        interval = found.interval
        bounds = interval
        if interval is not None and not whole.all():
            worst = [stats.clustered_mean(x, groups=groups, bounds=ends, level=level).interval for x in (low, high)]
            bounds = (worst[0] or ends)[0], (worst[1] or ends)[1]
        return Finding(
            f"{id}.{basis}.{name}", f"{title}: {what}", found.estimate, interval, found.n, found.groups,
            method=found.method, reason=found.reason, bounds=bounds, details={"no_verdict": failed},
        )  # fmt: skip

    return Rates(
        judge,
        basis,
        finding("before", "error before", old.error, old.low, old.high, old.failed, 0.0),
        finding("after", "error after", new.error, new.low, new.high, new.failed, 0.0),
        finding(
            "difference", "difference", new.error - old.error, new.low - old.high, new.high - old.low,
            new.failed - old.failed, -1.0,
        ),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Side:
    """Per row: the mean error over orders, whether every order has a verdict, and the error over all completions."""

    error: Floats
    low: Floats
    high: Floats
    whole: np.ndarray
    failed: float  # share of the calls without a verdict

    @classmethod
    def of(cls, scores: Scores, arms: np.ndarray, pairs: np.ndarray) -> _Side:
        error, failed = scores.error[arms, pairs], scores.failed[arms, pairs]
        low = (error * (1 - failed)).mean(axis=1)
        high = (error * (1 - failed) + failed).mean(axis=1)
        share = float(failed.mean()) if failed.size else 0.0
        return cls(error.mean(axis=1), low, high, (failed < 1).all(axis=1), share)


def original_rate(scores: Scores, *, judge: str, id: str, level: float = 0.95) -> Finding:
    """The judge's error on all pairs as they are."""
    rows = [(ORIGINAL.id, pair) for pair in scores.pairs]
    found = rates(scores, rows, judge=judge, basis="unfiltered", id=id, level=level).after
    return replace(found, id=f"{id}.original", title="All original pairs: error")


def afresh_scores(found: Sequence[Judgement], scores: Scores, made: Sequence[Item]) -> Scores:
    """The scores of new verdicts alone, over the pairs and groups of `scores`; what was not asked counts as failed."""
    groups = {pair: str(group) for pair, group in zip(scores.pairs, scores.group.tolist(), strict=True)}
    rewrites: dict[str, dict[str, Rewrite]] = {}
    for item in made:
        rewrites.setdefault(item.arm, {})[item.pair.id] = item.rewrite
    return Scores.build(found, scores.pairs, groups, rewrites)


def picked_by_others(items: Sequence[Item], judge: int, *, least: int) -> list[tuple[str, str]]:
    """The variants that at least `least` of the other judges fell for: a choice in which `judge` had no part."""
    return [item.key for item in items if len(item.fooled - {judge}) >= least]
