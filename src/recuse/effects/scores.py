"""Judgements as arrays over arms, pairs and orders. A text that could not be used is marked, not dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from recuse.perturb.arms import Rewrite
from recuse.types import Judgement

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

ORIGINAL = "original"
_ERROR = {"chosen": 0.0, "rejected": 1.0, "tie": 0.5}


@dataclass(frozen=True, eq=False)
class Scores:
    """What a judge made of each arm. Shapes are (arms, pairs, orders) unless another one is given.

    `error` is 1 for wrong, 0 for right, 0.5 for a tie: the mean over the repeats that have a verdict, 0 without any.
    `failed` is the share of calls without a verdict, 1 where none was made. `dealt` (arms, pairs): the arm was to be
    made for that pair; `passed`: its text was usable. `orders` is ("AB", "BA"), or ("-",) for judges that score one
    answer at a time. `score` is None for a judge that gives no scores; for others every verdict comes with them.
    """

    arms: tuple[str, ...]
    pairs: tuple[str, ...]
    orders: tuple[str, ...]
    group: Ints  # (pairs,): codes 0, 1, ...
    error: Floats
    failed: Floats
    dealt: Bools
    passed: Bools
    logit: Floats  # log odds that the chosen answer is preferred, mean over repeats; 0 where there is none
    has_logit: Bools
    faults: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # by arm: how many rewrites have each fault
    score: Floats | None = None  # (..., 2): of the chosen and the rejected answer, mean over repeats; 0 without any
    scale: tuple[float, float] | None = None  # the ends of the scores' scale; None: without any, as a reward model's

    @classmethod
    def build(
        cls,
        judgements: Iterable[Judgement],
        pairs: Sequence[str],
        groups: Mapping[str, str],
        rewrites: Mapping[str, Mapping[str, Rewrite]],
        *,
        scale: tuple[float, float] | None = None,
    ) -> Scores:
        """Arrays over `pairs`; judgements on other pairs are left out, so that the pairs of one split give its scores.

        `groups` maps pair ids to groups, `rewrites` arms and pair ids to what became of that text. An arm without
        rewrites ("original") counts as dealt to every pair, with a usable text. A pair whose rewrite is usable but was
        never judged has failed calls. Raises ValueError where a judge compared pairs and scored single answers too.
        """
        at = {pair: i for i, pair in enumerate(pairs)}
        rows = [j for j in judgements if j.pair in at]
        orders = _orders(rows)
        arms = tuple(sorted({ORIGINAL, *rewrites, *(j.arm for j in rows)}))
        shape = (len(arms), len(at), len(orders))
        arm_at, order_at = ({name: i for i, name in enumerate(names)} for names in (arms, orders))
        cells = (
            np.array([arm_at[j.arm] for j in rows], dtype=np.int64),
            np.array([at[j.pair] for j in rows], dtype=np.int64),
            np.array([order_at[j.order] for j in rows], dtype=np.int64),
        )
        flat = np.ravel_multi_index(cells, shape) if rows else np.zeros(0, dtype=np.int64)
        dealt, passed = np.ones(shape[:2], dtype=bool), np.ones(shape[:2], dtype=bool)
        for arm, made in rewrites.items():
            dealt[arm_at[arm]] = [pair in made for pair in at]
            passed[arm_at[arm]] = [pair in made and made[pair].text is not None for pair in at]

        def mean(values: Sequence[float | None]) -> tuple[Floats, Ints]:
            """By cell: the mean of the values that are there (0 without any), and how many."""
            there = np.array([value is not None for value in values], dtype=bool)
            numbers = np.array([value or 0.0 for value in values], dtype=np.float64)
            size = int(np.prod(shape))
            count = np.bincount(flat[there], minlength=size)
            sums = np.bincount(flat[there], weights=numbers[there], minlength=size)
            average = np.divide(sums, count, out=np.zeros(size), where=count > 0)
            return average.reshape(shape), count.reshape(shape)

        error, answered = mean([None if j.prefers is None else _ERROR[j.prefers] for j in rows])
        logit, logits = mean([j.logit for j in rows])
        score = None
        if answered.any() and all(j.scores is not None for j in rows if j.prefers is not None):
            of_each = [mean([None if j.scores is None else j.scores[k] for j in rows])[0] for k in (0, 1)]
            score = np.stack(of_each, axis=-1)
        calls = np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape)
        return cls(
            arms=arms,
            pairs=tuple(at),
            orders=orders,
            group=np.unique([groups[pair] for pair in at], return_inverse=True)[1].astype(np.int64).reshape(-1),
            error=error,
            failed=1.0 - np.divide(answered, calls, out=np.zeros(shape), where=calls > 0),
            dealt=dealt,
            passed=passed & dealt,
            logit=logit,
            has_logit=logits > 0,
            faults={
                arm: dict(Counter(fault for r in made.values() for fault in r.faults)) for arm, made in rewrites.items()
            },
            score=score,
            scale=scale,
        )

    def at(self, arm: str) -> int:
        """The place of an arm. Raises ValueError naming the arms there are."""
        if arm not in self.arms:
            raise ValueError(f"there is no arm {arm!r} among {', '.join(self.arms)}.")
        return self.arms.index(arm)

    def answered(self, arm: int) -> Bools:
        """(pairs,): there is a verdict in every order."""
        whole: Bools = (self.failed[arm] < 1).all(axis=1)
        return whole

    def flips(self, arm: str, against: str) -> tuple[str, ...]:
        """Pairs whose verdicts are all right in `against` and all wrong in `arm`, in every order: the robust flips.

        They select cases and illustrate. Their number is no effect, since it rises with noise alone.
        """
        a, b = self.at(arm), self.at(against)
        both = self.passed[a] & self.passed[b] & (self.failed[a] == 0).all(axis=1) & (self.failed[b] == 0).all(axis=1)
        flipped = both & (self.error[a] == 1).all(axis=1) & (self.error[b] == 0).all(axis=1)
        return tuple(self.pairs[i] for i in np.flatnonzero(flipped))


def _orders(rows: Sequence[Judgement]) -> tuple[str, ...]:
    seen = {j.order for j in rows}
    if "-" in seen and len(seen) > 1:
        raise ValueError("some judgements compare a pair's answers and some score one at a time; build them apart.")
    return ("-",) if seen == {"-"} else ("AB", "BA")
