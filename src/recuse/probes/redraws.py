"""How often an outcome flips with the tag, above how often it flips with nothing: from inputs that were run repeatedly.

An input is one text; a set of counterfactuals is inputs that differ in nothing but the tag. With the outcomes of an
input's runs, the chance that two of its runs differ is its noise; the chance that a run of one input differs from a run
of another is the flip rate. A model at temperature 1 flips without cause, and only the difference is about the tag. For
runs that are independent given the input that difference is, in expectation, (p - q)^2, so that it is 0 exactly where
both inputs are decided alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from recuse import stats
from recuse.probes.outcomes import Outcomes
from recuse.stats import Estimate

RUNS = 5


@dataclass(frozen=True, slots=True)
class Flips:
    """Means over sets of counterfactuals, which are the units; all None where they cannot be told, and the reason."""

    flip_rate: Estimate | None
    noise: Estimate | None
    above: Estimate | None  # flip rate minus noise, set by set, with the p of no difference
    sets: int
    left_out: int  # sets in which fewer than two inputs have two outcomes
    reason: str | None = None


def flips(table: Outcomes, tag: str, *, level: float = 0.95) -> Flips | None:
    """Flips between the values of `tag` within sets (`table.same`), over all pairs of values of a set; None without
    sets. Every input must have been run at least five times, failures included; fewer give a reason instead."""
    if table.same is None:
        return None
    inputs: dict[str, dict[str, list[int]]] = {}
    for place, (one, value) in enumerate(zip(table.same, table.tags[tag], strict=True)):
        inputs.setdefault(one, {}).setdefault(value, []).append(place)
    if reason := _unfit(table, tag, inputs):
        return Flips(None, None, None, 0, 0, reason)
    sets = (_of_set(table, list(values.values())) for values in inputs.values())
    found = [one for one in sets if one is not None]
    if not found:
        return Flips(None, None, None, 0, len(inputs), "no set has two inputs with two outcomes each")
    rate, noise, fewest = zip(*found, strict=True)
    # p (1 - q) + q (1 - p) minus the noise is (p - q)^2 - p (1 - p) / (n - 1) / 2 twice at most: never lower than this.
    least = -0.5 / (min(fewest) - 1)
    return Flips(
        stats.clustered_mean(rate, level=level),
        stats.clustered_mean(noise, level=level),
        stats.clustered_mean([max(least, a - b) for a, b, _ in found], bounds=(least, 1.0), level=level, null=0.0),
        len(found),
        len(inputs) - len(found),
    )


def _unfit(table: Outcomes, tag: str, inputs: dict[str, dict[str, list[int]]]) -> str | None:
    for one, values in inputs.items():
        for value, rows in values.items():
            if table.prompt is not None and len({table.prompt[i] for i in rows}) > 1:
                return f"the rows of {one!r} with {tag} = {value!r} have different prompts, so they are no repeats"
            if len(rows) < RUNS:
                runs = f"{len(rows)} time{'s' if len(rows) > 1 else ''}"
                return f"{one!r} with {tag} = {value!r} was run {runs}; the noise is measured from {RUNS} runs on"
    return None


def _of_set(table: Outcomes, inputs: Sequence[Sequence[int]]) -> tuple[float, float, int] | None:
    """Flip rate and noise of one set, averaged over the pairs of its inputs, and the fewest outcomes of an input."""
    draws = [table.found(rows) for rows in inputs]
    counted = [(sum(own), len(own)) for own in draws if len(own) >= 2]
    pairs = list(combinations(counted, 2))
    if not pairs:
        return None
    rate = sum((k * (m - j) + j * (n - k)) / (n * m) for (k, n), (j, m) in pairs) / len(pairs)
    noise = sum((_differ(*a) + _differ(*b)) / 2 for a, b in pairs) / len(pairs)
    return rate, noise, min(n for _, n in counted)


def _differ(k: float, n: int) -> float:
    """The share of pairs among n runs, k of them positive, that differ: without bias for 2 p (1 - p)."""
    return 2 * k * (n - k) / (n * (n - 1))
