"""What each judge is measured by, one value a pair, and the difference of a variant to the present judge in pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.special import stdtr, stdtrit

from recuse import stats
from recuse.calibration import Beside, Labels
from recuse.effects.scores import Bools, Floats, Ints, Scores
from recuse.harden.asking import Judged
from recuse.perturb.arms import ORIGINAL
from recuse.types import Finding, Preference

ERROR, CONSISTENCY, FAILURES, TIES, FIRST = (
    "accuracy.error_rate", "position.consistency", "failures.rate", "ties.rate", "position.first_rate",
)  # fmt: skip
KAPPA, BIAS = "calibration.kappa", "bias.{}.effect"
DECIDING = (ERROR, CONSISTENCY, FAILURES)  # beside the biases, and kappa where people gave labels
Better = Literal["lower", "higher", "neither"]
_GOLD_KAPPA = "agreement.kappa"


@dataclass(frozen=True)
class Measured:
    """What is measured: `better` says which way is up; "neither" is shown and decides nothing."""

    id: str
    title: str
    better: Better
    span: tuple[float, float]  # of the values of one judge
    arms: tuple[str, str] | None = None  # of a bias: with it, and what it is compared with


@dataclass(frozen=True, eq=False)
class Column:
    """One value a pair (pairs,). `whole`: all verdicts are there; `usable`: the texts are; `low` and `high` replace
    every missing verdict by what makes the value least and greatest."""

    value: Floats
    whole: Bools
    usable: Bools
    low: Floats
    high: Floats


@dataclass(frozen=True)
class Compared:
    """A variant beside the present judge in one measure.

    `finding` is the difference, variant minus present, with the two-sided sign-flip p over groups; `base` and `own` are
    both judges' values on all pairs. `p_better`: no better, over all completions of missing verdicts; the larger of the
    sign flips and the test that inverts the interval. `p_not_worse`: worse by the margin or more. `p_worse`: no worse.
    All are two-sided in size (a one-sided p doubled), so that each is under 0.05 exactly where a 95 % interval says so.
    """

    measure: Measured
    finding: Finding
    base: stats.Estimate
    own: stats.Estimate
    margin: float
    p_better: float = 1.0
    p_not_worse: float = 1.0
    p_worse: float = 1.0


def measures_of(biases: Sequence[tuple[str, str, str, str]], *, people: bool) -> list[Measured]:
    """All measures, in the order of the report. `biases`: id, name, arm, and the arm that it is compared with."""
    found = [Measured(ERROR, "Error rate, both orders averaged", "lower", (0.0, 1.0))]
    found += [
        Measured(BIAS.format(id), f"{name}: error that it adds", "lower", (-1.0, 1.0), (arm, against))
        for id, name, arm, against in biases
    ]
    found += [
        Measured(CONSISTENCY, "Same outcome in both orders", "higher", (0.0, 1.0)),
        Measured(FIRST, "Share preferring the answer shown first", "neither", (0.0, 1.0)),
        Measured(FAILURES, "Asks without a verdict", "lower", (0.0, 1.0)),
        Measured(TIES, "Ties among the verdicts", "neither", (0.0, 1.0)),
    ]
    if people:
        found.append(Measured(KAPPA, "Kappa with people", "higher", (-1.0, 1.0)))
    found.append(Measured(_GOLD_KAPPA, "Kappa with the better answer", "neither", (-1.0, 1.0)))
    return found


def column(judged: Judged, measure: Measured) -> Column | None:
    """The values of one judge; None where it cannot be measured, such as a place for a judge that sees none."""
    scores = judged.scores
    original = scores.at(ORIGINAL.id)
    everyone = np.ones(len(scores.pairs), dtype=bool)
    if measure.arms is not None:
        if any(arm not in scores.arms for arm in measure.arms):
            return None
        a, b = (scores.at(arm) for arm in measure.arms)
        usable = scores.passed[a] & scores.passed[b]
        whole = usable & scores.answered(a) & scores.answered(b)
        low = [scores.error[i] * (1 - scores.failed[i]) for i in (a, b)]
        high = [low[k] + scores.failed[i] for k, i in enumerate((a, b))]
        return Column((scores.error[a] - scores.error[b]).mean(axis=1), whole, usable,
                      (low[0] - high[1]).mean(axis=1), (high[0] - low[1]).mean(axis=1))  # fmt: skip
    error, failed, whole = scores.error[original], scores.failed[original], scores.answered(original)
    if measure.id == ERROR:
        low = error * (1 - failed)
        return Column(error.mean(axis=1), whole, everyone, low.mean(axis=1), (low + failed).mean(axis=1))
    if measure.id == FAILURES:
        rate = failed.mean(axis=1)
        return Column(rate, everyone, everyone, rate, rate)
    if measure.id == TIES:
        return _over_repeats([_ties(each) for each in _repeats(judged)])
    alone = len(scores.orders) < 2
    if measure.id == FIRST:
        if alone:
            return None
        first = np.stack([1.0 - error[:, 0], error[:, 1]], axis=1) * (1 - failed)
        return Column(first.mean(axis=1), whole, everyone, first.mean(axis=1), (first + failed).mean(axis=1))
    # A judge that sees one answer at a time cannot be moved by its place.
    return _over_repeats([_same(each, alone=alone) for each in _repeats(judged)])


def _repeats(judged: Judged) -> list[Scores]:
    """The verdicts on the untouched answers, repeat by repeat: two that differ are no tie, though their mean is."""
    scores = judged.scores
    groups = {pair: str(code) for pair, code in zip(scores.pairs, scores.group, strict=True)}
    numbers = sorted({j.repeat for j in judged.original}) or [0]
    return [Scores.build([j for j in judged.original if j.repeat == k], scores.pairs, groups, {}) for k in numbers]


def _ties(scores: Scores) -> Column:
    original = scores.at(ORIGINAL.id)
    failed = scores.failed[original]
    ties = np.where(failed < 1, scores.error[original] == 0.5, False).astype(float)
    everyone = np.ones(len(scores.pairs), dtype=bool)
    return Column(ties.mean(axis=1), scores.answered(original), everyone, ties.mean(axis=1),
                  (ties + failed).mean(axis=1))  # fmt: skip


def _same(scores: Scores, *, alone: bool) -> Column:
    original = scores.at(ORIGINAL.id)
    error, whole, everyone = scores.error[original], scores.answered(original), np.ones(len(scores.pairs), dtype=bool)
    same = np.ones(len(scores.pairs)) if alone else (error[:, 0] == error[:, 1]).astype(float)
    return Column(same, whole, everyone, np.where(whole, same, 0.0), np.where(whole, same, 1.0))


def _over_repeats(each: Sequence[Column]) -> Column:
    """The mean over the repeats that are whole; the ends are means over all of them."""
    whole = np.stack([one.whole for one in each])
    values = np.stack([np.where(one.whole, one.value, 0.0) for one in each])
    counts = whole.sum(axis=0)
    return Column(
        np.divide(values.sum(axis=0), counts, out=np.zeros(len(counts)), where=counts > 0), counts > 0, each[0].usable,
        np.mean([one.low for one in each], axis=0), np.mean([one.high for one in each], axis=0),
    )  # fmt: skip


def compare(present: Judged, variant: Judged, measure: Measured, *, margin: float, level: float = 0.95) -> Compared:
    """The difference of a measure that has one value a pair. Not measured where either judge lacks it."""
    columns = column(present, measure), column(variant, measure)
    groups = present.scores.group
    base, own = (_alone(c, groups, measure, level) for c in columns)
    old, new = columns
    id, title = f"{variant.rival.id}:{measure.id}", f"{measure.title}, {variant.rival.id} minus present"
    if old is None or new is None:
        reason = "one of the judges sees no place" if measure.arms is None else "no usable text"
        return Compared(measure, Finding(id, title, None, reason=reason), base, own, margin)
    span = (measure.span[0] - measure.span[1], measure.span[1] - measure.span[0])
    usable = old.usable & new.usable
    whole = usable & old.whole & new.whole
    if not whole.any():
        why = "no pair has a verdict of both judges in every order" if usable.any() else "no usable text"
        return Compared(measure, Finding(id, title, None, reason=why), base, own, margin)
    change, kept = (new.value - old.value)[whole], groups[whole]
    found = stats.clustered_mean(change, groups=kept, bounds=span, level=level)
    flips = stats.sign_flip_test(np.bincount(kept, weights=change))
    low, high = (new.low - old.high)[usable], (new.high - old.low)[usable]
    ends = [stats.clustered_mean(end, groups=groups[usable], bounds=span, level=level).interval for end in (low, high)]
    hull = [i for i in (found.interval, *ends) if i is not None]
    finding = Finding(
        id, title, found.estimate, found.interval, found.n, found.groups, flips.pvalue,
        f"{found.method}; p: {flips.method}", found.reason,
        bounds=(min(i[0] for i in hull), max(i[1] for i in hull)) if hull else None,
    )  # fmt: skip
    result = Compared(measure, finding, base, own, margin)
    if measure.better == "neither":
        return result
    # As losses: positive is worse, whichever way the measure points.
    worst, best, seen = (high, low, change) if measure.better == "lower" else (-low, -high, -change)
    return _tested(result, seen, kept, worst, best, groups[usable], span)


def _tested(
    result: Compared, seen: Floats, kept: Ints, worst: Floats, best: Floats, groups: Ints, span: tuple[float, float]
) -> Compared:
    def flips(values: Floats, units: Ints) -> float:
        p = stats.sign_flip_test(np.bincount(units, weights=values), alternative="less").pvalue
        return min(1.0, 2 * p)

    def beyond(values: Floats, bound: float, side: Literal["greater", "less"]) -> float:
        return min(1.0, 2 * stats.test_bound(values, bound, groups=groups, alternative=side, bounds=span))

    return replace(
        result,
        p_better=max(flips(seen, kept), flips(worst, groups), beyond(worst, 0.0, "less")),
        p_not_worse=beyond(worst, result.margin, "less"),
        p_worse=beyond(best, 0.0, "greater"),
    )


def _alone(values: Column | None, groups: Ints, measure: Measured, level: float) -> stats.Estimate:
    """One judge's own value."""
    if values is None or not (values.whole & values.usable).any():
        return stats.Estimate(None, None, 0, 0, "", level, reason="not measured")
    kept = values.whole & values.usable
    return stats.clustered_mean(values.value[kept], groups=groups[kept], bounds=measure.span, level=level)


def compare_kappa(
    present: Judged, variant: Judged, measure: Measured, labels: Labels | None, *, margin: float, level: float = 0.95
) -> Compared:
    """Cohen's kappa with people, or with the better answer, by place as shown; on asks that both judges answered.

    Kappa with the better answer says what the error rate says, in other words, and decides nothing.
    """
    rows = [{(j.pair, j.order, j.repeat): j for j in judged.original} for judged in (present, variant)]
    keys = [key for key in rows[0] if key in rows[1]]
    id, title = f"{variant.rival.id}:{measure.id}", f"{measure.title}, {variant.rival.id} minus present"
    truth = labels if measure.id == KAPPA else _gold(sorted({pair for pair, _, _ in keys}))
    tables = [Beside.of([of[key] for key in keys], truth) for of in rows] if truth is not None else []
    if not keys or not tables or not len(tables[0]):
        nothing = stats.Estimate(None, None, 0, 0, "", level, reason="not measured")
        why = "the judges are not asked alike" if not keys else "no judged pair has a label"
        return Compared(measure, Finding(id, title, None, reason=why), nothing, nothing, margin)
    old, new = tables
    menu = max((old.menu, new.menu), key=len)
    base, own = (stats.cohen_kappa(t.judged, t.told, groups=t.groups, labels=menu, level=level) for t in tables)
    moved = stats.kappa_change(old.judged, new.judged, old.told, groups=old.groups, labels=menu, level=level)
    finding = Finding(
        id, title, moved.estimate, moved.interval, moved.n, moved.groups, None, moved.method, moved.reason
    )
    result = Compared(measure, finding, _plain(base), _plain(own), margin)
    if moved.estimate is None or measure.better == "neither":
        return result
    if moved.interval is None or moved.interval[0] == moved.interval[1]:
        # No verdict differs: what that says about other pairs, the exact bound of the error rate says.
        return replace(result, p_not_worse=0.0 if moved.estimate == 0.0 else 1.0)
    df = moved.groups - 1
    error = (moved.interval[1] - moved.interval[0]) / 2 / float(stdtrit(df, (1 + level) / 2))
    below, above = (float(stdtr(df, z)) for z in ((-moved.estimate - margin) / error, moved.estimate / error))
    return replace(result, p_not_worse=min(1.0, 2 * below), p_worse=min(1.0, 2 * above))


def _plain(found: stats.Estimate) -> stats.Estimate:
    return stats.Estimate(found.estimate, found.interval, found.n, found.groups, found.method, found.level,
                          reason=found.reason)  # fmt: skip


def _gold(pairs: Sequence[str]) -> Labels:
    """The better answer as if one person had said so of every pair."""
    votes: dict[str, dict[str, Preference | None]] = {pair: {"gold": "chosen"} for pair in pairs}
    return Labels(votes, {}, "gold", "")
