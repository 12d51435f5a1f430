"""Are stated probabilities right? The reliability curve and the expected calibration error, with groups as units.

The curve is scikit-learn's `calibration_curve`, with counts. The error is that of Naeini, Cooper & Hauskrecht (2015,
AAAI): the mean over all statements of the distance, in each bin, between the mean probability and the share that came
true. It is never negative, so that chance pushes it up: a perfectly calibrated source shows 0.12 at 60 statements in
ten bins. Hence the interval reaches down to 0 unless sign flips of whole groups say that the error is more than chance,
and below the estimate the bootstrap's own excess over the estimate is taken off. Measured coverage of the 95 %
interval, ten bins, 400 samples each: 0.94 to 0.96 without any error; 0.88 to 0.94 at 60 statements and 0.89 to 0.97 at
200 with errors of 0.05 to 0.13; 0.94 to 0.97 at 1,000.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from recuse.stats.inputs import Groups, encode, numbers, whole
from recuse.stats.results import Estimate, check_level, check_resampling

Array = NDArray[np.float64]
_BLOCK = 200_000  # weights held at once
_MOST_BINS = 1000  # a table of groups by bins is held whole


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Statements with a probability in (low, high]; the first bin has its lower end too."""

    low: float
    high: float
    n: int
    stated: float | None  # mean probability; None in an empty bin
    observed: float | None  # mean outcome


def reliability_curve(probabilities: ArrayLike, outcomes: ArrayLike, *, bins: int = 10) -> tuple[ReliabilityBin, ...]:
    """Mean probability and mean outcome in each of `bins` bins of equal width, empty ones included.

    probabilities, outcomes: shape (n,), in [0, 1]; an outcome of 0.5 is half true. Raises ValueError otherwise,
    and for bins that are not whole or outside 1 to 1,000.
    """
    p, y = _checked(probabilities, outcomes, bins)
    place = _places(p, bins)
    counts = np.bincount(place, minlength=bins)
    sums = [np.bincount(place, weights=values, minlength=bins) for values in (p, y)]
    means = [[float(s / n) if n else None for s, n in zip(total, counts, strict=True)] for total in sums]
    edges = [i / bins for i in range(bins + 1)]
    rows = zip(edges, edges[1:], counts.tolist(), *means, strict=False)
    return tuple(ReliabilityBin(*row) for row in rows)


def expected_calibration_error(
    probabilities: ArrayLike,
    outcomes: ArrayLike,
    *,
    groups: Groups | None = None,
    bins: int = 10,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Estimate:
    """The error with its interval, and the p-value of "there is none" by sign flips of groups.

    probabilities, outcomes: shape (n,), in [0, 1]; groups: what each statement belongs to. Without statements the
    estimate is None; with one group the interval is. Raises ValueError for values outside [0, 1] and unlike lengths.
    """
    check_level(level)
    check_resampling(resamples, seed)
    p, y = _checked(probabilities, outcomes, bins)
    method = f"expected calibration error, {bins} bins of equal width; bootstrap of groups ({resamples} resamples)"
    if not p.size:
        return Estimate(None, None, 0, 0, method, level, reason="no statements")
    codes = np.arange(p.size) if groups is None else encode(groups, p.size)
    codes = np.unique(codes, return_inverse=True)[1].reshape(-1)
    units = int(codes.max()) + 1
    cells = np.bincount(codes * bins + _places(p, bins), weights=p - y, minlength=units * bins)
    gaps = cells.reshape(units, bins).astype(np.float64)
    sizes = np.bincount(codes).astype(np.float64)
    order = np.lexsort(np.column_stack([gaps.round(12), sizes]).T)  # whatever the order of the rows
    gaps, sizes = gaps[order], sizes[order]
    estimate = float(np.abs(gaps.sum(axis=0)).sum() / sizes.sum())
    if units < 2:
        return Estimate(estimate, None, p.size, units, method, level, reason="one group gives no interval")
    drawn, flipped = _draws(gaps, sizes, resamples, np.random.default_rng(seed))
    pvalue = float((np.count_nonzero(flipped >= estimate - 1e-12) + 1) / (resamples + 1))
    reach = float(ndtri((1 + level) / 2)) * float(drawn.std())
    excess = max(float(drawn.mean()) - estimate, 0.0)
    low = max(estimate - excess - reach, 0.0) if pvalue <= (1 - level) / 2 else 0.0
    interval = (min(low, estimate), min(estimate + reach, 1.0))
    return Estimate(estimate, interval, p.size, units, method, level, pvalue)


def _draws(gaps: Array, sizes: Array, resamples: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """The error in resamples of the groups, and with the signs of whole groups flipped at random."""
    units, drawn, flipped = len(sizes), np.empty(resamples), np.empty(resamples)
    step = max(1, _BLOCK // units)
    for done in range(0, resamples, step):
        rows = slice(done, min(done + step, resamples))
        size = rows.stop - rows.start
        weights = rng.multinomial(units, np.full(units, 1 / units), size=size).astype(np.float64)
        drawn[rows] = np.abs(weights @ gaps).sum(axis=1) / (weights @ sizes)
        signs = rng.integers(0, 2, size=(size, units)) * 2.0 - 1.0
        flipped[rows] = np.abs(signs @ gaps).sum(axis=1) / sizes.sum()
    return drawn, flipped


def _checked(probabilities: ArrayLike, outcomes: ArrayLike, bins: int) -> tuple[Array, Array]:
    p, y = numbers(probabilities, "probabilities"), numbers(outcomes, "outcomes")
    if p.shape != y.shape:
        raise ValueError(f"there are {p.size} probabilities and {y.size} outcomes.")
    if any(((x < 0) | (x > 1)).any() for x in (p, y)):
        raise ValueError("probabilities and outcomes must lie between 0 and 1.")
    if whole(bins, "the number of bins", least=1) > _MOST_BINS:
        raise ValueError(f"there may be at most {_MOST_BINS:,} bins, got {bins}.")
    return p, y


def _places(p: Array, bins: int) -> NDArray[np.intp]:
    """By the edges themselves, as scikit-learn does: p * bins would round."""
    return np.searchsorted(np.linspace(0.0, 1.0, bins + 1)[1:-1], p).astype(np.intp)
