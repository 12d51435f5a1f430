"""Rates by slice against the best slice: the four-fifths alarm and the worst-slice rule, on counts.

The four-fifths ratio is an alarm, not a test: with two slices of 30 and a true rate of 40 % in both, it rings in 47 %
of samples. The best slice is chosen by looking, so the p-values here are a screen, uncorrected.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from recuse.stats.proportions import pooled_z, wilson_interval
from recuse.stats.rates import impact_ratio
from recuse.stats.results import Estimate

Array = NDArray[np.float64]
_ROUNDING = 1e-9  # a ratio of exactly four fifths is not under it


@dataclass(frozen=True, slots=True)
class SliceRate:
    """One slice beside the best one. Rate, interval and ratio are None where they cannot be had; `reasons` says why."""

    name: str
    k: float
    n: int
    rate: float | None
    interval: tuple[float, float] | None  # Wilson
    ratio: float | None  # to the best slice; over 1 only for a slice too small to be the best
    ratio_interval: tuple[float, float] | None
    pvalue: float | None  # pooled z against the best slice; None for itself
    flag: Literal["review", "ok"]
    reasons: tuple[str, ...]


def slice_table(
    counts: Mapping[str, tuple[float, int]], *, level: float = 0.95, floor: float = 0.8, smallest: int = 100
) -> list[SliceRate]:
    """Each slice's (k, n) as a rate against the best slice, the lowest rate first and slices without cases last.

    The best slice is the one of highest rate among those with at least `smallest` cases, or among all where none has
    as many: else 1 of 1 would hide a gap between large slices. "review" means a ratio under `floor`, fewer than
    `smallest` cases, or no ratio. Raises ValueError for impossible counts.
    """
    estimates = {name: wilson_interval(k, n, level=level) for name, (k, n) in counts.items()}
    if not estimates:
        return []
    yes, cases = np.array(list(counts.values()), dtype=np.float64).T
    best = list(counts)[int(_best(yes, cases, smallest))]
    rows = [_row(name, counts, best, estimates[name], floor, smallest) for name in counts]
    return sorted(rows, key=lambda row: (row.rate is None, row.rate or 0.0))


def worst_slice_rule(
    k: ArrayLike, n: ArrayLike, *, floor: float = 0.8, alpha: float = 0.05, smallest: int = 100
) -> NDArray[np.bool_]:
    """Whether a release is blocked: some slice has a ratio under `floor` to the best one, and a z-test p under `alpha`.

    k and n hold the slices along their last axis and broadcast, so that many releases are decided at once; the best
    slice is chosen as in `slice_table`. Without a positive rate nothing is blocked. Neither the choice of the best
    slice nor the number of slices is corrected for: eight slices of 300 without any gap are blocked in 12 % of
    releases at a rate of 50 % and 51 % at 30 %. Raises ValueError for impossible counts.
    """
    yes, cases = np.broadcast_arrays(np.asarray(k, dtype=np.float64), np.asarray(n, dtype=np.float64))
    if not yes.ndim or not ((yes >= 0) & (yes <= cases)).all():
        raise ValueError("k must lie between 0 and n in every slice.")
    if not yes.shape[-1]:
        return np.zeros(yes.shape[:-1], dtype=np.bool_)
    sizes = np.maximum(cases, 1.0)  # a slice without cases has rate 0 here and is left out below
    best = _best(yes, cases, smallest)[..., None]
    top, top_size = (np.take_along_axis(column, best, axis=-1) for column in (yes, sizes))
    low = yes / sizes < (floor - _ROUNDING) * top / top_size
    significant = 2 * ndtr(-np.abs(pooled_z(yes, sizes, top, top_size))) < alpha
    blocked: NDArray[np.bool_] = (low & significant & (cases > 0)).any(axis=-1)
    return blocked


def _best(k: Array, n: Array, smallest: int) -> NDArray[np.intp]:
    """Place of the best slice along the last axis."""
    enough = n >= smallest
    enough |= ~enough.any(axis=-1, keepdims=True)
    rates = np.where(enough & (n > 0), k / np.maximum(n, 1), -1.0)
    return np.asarray(rates.argmax(axis=-1))


def _row(
    name: str, counts: Mapping[str, tuple[float, int]], best: str, own: Estimate, floor: float, smallest: int
) -> SliceRate:
    k, n = counts[name]
    reasons = [] if n >= smallest else [f"fewer than {smallest} cases" if n else "no cases"]
    against = impact_ratio(k, n, *counts[best], level=own.level)
    if against.estimate is None and n:
        reasons.append("no slice has a positive rate, so there is no ratio")
    elif against.estimate is not None and against.estimate < floor - _ROUNDING:
        reasons.append(f"ratio under {floor:g}")
    interval, pvalue = (None, None) if name == best else (against.interval, against.pvalue)
    flag: Literal["review", "ok"] = "review" if reasons else "ok"
    return SliceRate(name, k, n, own.estimate, own.interval, against.estimate, interval, pvalue, flag, tuple(reasons))
