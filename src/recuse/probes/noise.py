"""How often a decision changes with the group, and how often with nothing at all.

Of two rows that differ only in the group, a flip is that their decisions differ. A model that samples flips without any
cause, so that a flip rate says nothing beside the flips of one input that is asked again; and names of one group flip
too. What exceeds both is about groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from recuse import stats

LEAST_RUNS = 5  # of each input, for a noise floor


@dataclass(frozen=True, slots=True)
class Flips:
    """Shares of differing decisions, means over templates.

    rate         two rows of the two groups, same template and seed
    noise        two runs of the very same input; its estimate is None unless each input was run `LEAST_RUNS` times
    names        two names of one group, same template and seed
    above_noise  rate minus noise by template, with the p of no difference; likewise above_names
    runs         the least that any input was run
    """

    rate: stats.Estimate
    noise: stats.Estimate
    names: stats.Estimate
    above_noise: stats.Estimate
    above_names: stats.Estimate
    runs: int


def flips(
    values: Sequence[float | None],
    *,
    template: Sequence[str],
    group: Sequence[str],
    name: Sequence[str],
    seed: Sequence[str],
    a: str,
    b: str,
    text: Sequence[object] | None = None,
    fresh: Sequence[object] | None = None,
    level: float = 0.95,
) -> Flips:
    """Flip rate of decisions, that is values 0 or 1 (None where there is none), between groups a and b.

    Runs of one input share template, group, name and, where there is one, the `text` that was sent. `fresh`: False for
    a reply that was no call of its own (a cache hit); it is no run. If each of two groups decides by chance of its own,
    p and q, the rate exceeds the noise by (p - q)^2 in expectation. Raises ValueError for other values.
    """
    if any(value not in (0.0, 1.0, None) for value in values):
        raise ValueError("decisions are 0 or 1.")
    texts = text or [None] * len(values)
    asked = fresh or [True] * len(values)
    cells: dict[str, dict[str, dict[tuple[str, str], float]]] = {}  # template -> seed -> (group, name) -> decision
    inputs: dict[tuple[str, str, str, object], list[float | None]] = {}
    for value, one, side, who, draw, sent, new in zip(values, template, group, name, seed, texts, asked, strict=True):
        if side not in (a, b):
            continue
        if value is not None:
            cells.setdefault(one, {}).setdefault(draw, {})[side, who] = value
        if new is not False:
            inputs.setdefault((one, side, who, sent), []).append(value)
    rate = _by_template(cells, lambda cell: _between(cell, a, b))
    names = _by_template(cells, lambda cell: _within(cell, a, b))
    runs = min((len(own) for own in inputs.values()), default=0)
    again: dict[str, list[float]] = {}
    for (one, *_), own in inputs.items():
        if (share := _redrawn([value for value in own if value is not None])) is not None:
            again.setdefault(one, []).append(share)
    noise = {one: sum(shares) / len(shares) for one, shares in again.items()} if runs >= LEAST_RUNS else {}
    unknown = f"the floor is unknown: each input has to be run {LEAST_RUNS} times, the least was run {runs}"
    single = "no group has two names at one seed of a template"
    return Flips(
        _mean(rate, level, "no template has decisions of both groups at one seed"),
        _mean(noise, level, unknown),
        _mean(names, level, single),
        _above(rate, noise, level, unknown),
        _above(rate, names, level, single),
        runs,
    )


Cell = Mapping[tuple[str, str], float]


def _between(cell: Cell, a: str, b: str) -> float | None:
    """How often a name of group a and one of group b are decided differently, over all such pairs of names."""
    first, second = ([value for (side, _), value in cell.items() if side == one] for one in (a, b))
    if not (first and second):
        return None
    p, q = sum(first) / len(first), sum(second) / len(second)
    return p * (1 - q) + q * (1 - p)


def _within(cell: Cell, a: str, b: str) -> float | None:
    return _average(_redrawn([value for (side, _), value in cell.items() if side == one]) for one in (a, b))


def _redrawn(decisions: Sequence[float]) -> float | None:
    """The share of differing pairs among some decisions."""
    k, ones = len(decisions), sum(decisions)
    return 2 * ones * (k - ones) / (k * (k - 1)) if k > 1 else None


def _by_template(cells: Mapping[str, Mapping[str, Cell]], share: Callable[[Cell], float | None]) -> dict[str, float]:
    found = {one: _average(share(cell) for cell in seeds.values()) for one, seeds in cells.items()}
    return {one: mean for one, mean in found.items() if mean is not None}


def _average(shares: Iterable[float | None]) -> float | None:
    there = [share for share in shares if share is not None]
    return sum(there) / len(there) if there else None


def _mean(by_template: Mapping[str, float], level: float, reason: str) -> stats.Estimate:
    if not by_template:
        return stats.Estimate(None, None, 0, 0, "clustered mean", level, reason=reason)
    return stats.clustered_mean(list(by_template.values()), level=level)


def _above(rate: Mapping[str, float], floor: Mapping[str, float], level: float, reason: str) -> stats.Estimate:
    both = [one for one in rate if one in floor]
    if not both:
        return stats.Estimate(None, None, 0, 0, "clustered mean", level, reason=reason)
    return stats.clustered_mean([rate[one] - floor[one] for one in both], bounds=(-1.0, 1.0), level=level, null=0.0)
