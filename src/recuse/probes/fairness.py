"""Differences between the slices of a cut by the usual names: demographic parity, and equalised odds.

Both are the largest rate minus the smallest (as fairlearn has them); equalised odds takes the larger of two such
differences, of the rates among cases whose gold is positive and among those whose gold is negative (Hardt, Price &
Srebro 2016). The extremes are found by looking, so that intervals and p-values are a screen, and small slices make the
difference large without any cause: n stands beside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recuse import stats
from recuse.probes.outcomes import Outcomes
from recuse.probes.slices import members, name_of
from recuse.stats import Estimate


@dataclass(frozen=True, slots=True)
class Spread:
    """Highest rate minus lowest over the slices that have cases. None where fewer than two have, and the reason."""

    difference: float | None
    interval: tuple[float, float] | None
    p: float | None
    highest: str | None
    lowest: str | None
    slices: Mapping[str, Estimate]  # the rate of each, with its n; without cases None
    failures: Mapping[str, int]  # rows without outcome
    method: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Odds:
    """Equalised odds; `difference` is None unless both parts have one."""

    difference: float | None
    true_positive: Spread  # positive outcomes among gold positives: equal opportunity
    false_positive: Spread  # among gold negatives
    without_gold: int  # rows
    reason: str | None = None


def demographic_parity(table: Outcomes, by: Sequence[str], *, level: float = 0.95) -> Spread:
    """Largest difference of the rates of positive outcomes between slices by `by`."""
    return _spread(table, by, range(len(table)), level, "no two slices have outcomes")


def equalised_odds(table: Outcomes, by: Sequence[str], *, level: float = 0.95) -> Odds | None:
    """Both error rates compared between slices by `by`; None where the table has no gold."""
    if table.gold is None:
        return None
    parts = [
        _spread(
            table, by, [i for i, gold in enumerate(table.gold) if gold == wanted], level,
            f"no two slices have outcomes of cases whose gold is {word}",
        )
        for wanted, word in ((1.0, "positive"), (0.0, "negative"))
    ]  # fmt: skip
    differences = [part.difference for part in parts if part.difference is not None]
    return Odds(
        max(differences) if len(differences) == 2 else None,
        parts[0],
        parts[1],
        sum(gold is None for gold in table.gold),
        "; ".join(part.reason for part in parts if part.reason) or None,
    )


def _spread(table: Outcomes, by: Sequence[str], rows: Sequence[int], level: float, lacking: str) -> Spread:
    kept, rates, failures, used = set(rows), {}, {}, {}
    for values, all_rows in members(table, by).items():
        name, own = name_of(by, values), [i for i in all_rows if i in kept]
        used[name] = [i for i in own if table.values[i] is not None]
        failures[name] = len(own) - len(used[name])
        rates[name] = stats.wilson_interval(sum(table.found(own)), len(used[name]), level=level)
    found = {name: rate.estimate for name, rate in rates.items() if rate.estimate is not None}
    if len(found) < 2:
        return Spread(None, None, None, None, None, rates, failures, "", lacking)
    high, low = max(found, key=found.__getitem__), min(found, key=found.__getitem__)
    if high == low:  # all rates are equal: max and min both take the first
        low = next(name for name in found if name != high)
    between = _difference(table, used[high], used[low], level)
    return Spread(between.estimate, between.interval, between.pvalue, high, low, rates, failures, between.method)


def _difference(table: Outcomes, high: Sequence[int], low: Sequence[int], level: float) -> Estimate:
    both = [*high, *low]
    values = table.found(both)
    if table.cluster is None:
        k = sum(values[: len(high)])
        return stats.two_proportion_test(k, len(high), sum(values) - k, len(low), level=level)
    return stats.clustered_difference(
        values, [i < len(high) for i in range(len(both))], groups=[table.cluster[i] for i in both], level=level
    )
