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

from recuse.stats.inputs import finite, numbers, whole
from recuse.stats.proportions import counted, pooled_z, wilson_interval
from recuse.stats.rates import impact_ratio
from recuse.stats.results import check_level

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
    `smallest` cases, or no ratio. Wilson's interval for each rate, Koopman's for each ratio; no library has the table.
    Raises ValueError, with the slice's name, unless 0 <= k <= n with n whole, and for a floor outside 0 to 1.
    """
    check_level(level)
    floor, smallest = _thresholds(floor, smallest)
    if not isinstance(counts, Mapping):
        raise ValueError(f"counts must map each slice's name to a pair (k, n), got {counts!r:.40}.")
    read = {name: _read(name, pair) for name, pair in counts.items()}
    if not read:
        return []
    yes, cases = np.array(list(read.values()), dtype=np.float64).T
    best = read[list(read)[int(_best(yes, cases, smallest))]]
    rows = [_row(name, pair, best, floor, smallest, level) for name, pair in read.items()]
    return sorted(rows, key=lambda row: (row.rate is None, row.rate or 0.0))


def worst_slice_rule(
    k: ArrayLike, n: ArrayLike, *, floor: float = 0.8, alpha: float = 0.05, smallest: int = 100
) -> NDArray[np.bool_]:
    """Whether a release is blocked: some slice has a ratio under `floor` to the best one, and a z-test p under `alpha`.

    k and n hold the slices along their last axis and broadcast, so that many releases are decided at once; the result
    has the other axes. The best slice is chosen as in `slice_table`. Without a positive rate nothing is blocked.
    Neither the choice of the best slice nor the number of slices is corrected for: eight slices of 300 without any gap
    are blocked in 12 % of releases at a rate of 50 % and 51 % at 30 % (`worst_slice_blocking` for others). Raises
    ValueError unless 0 <= k <= n with n whole, and for a floor or an alpha outside 0 to 1.
    """
    floor, smallest = _thresholds(floor, smallest)
    if not 0 < finite(alpha, "alpha") <= 1:
        raise ValueError(f"alpha must lie between 0 and 1, got {alpha}.")
    yes, cases = _table(k, "k"), _table(n, "n")
    if not (cases == np.round(cases)).all():
        raise ValueError("n must be whole in every slice.")
    try:
        yes, cases = np.broadcast_arrays(yes, cases)
    except ValueError:
        raise ValueError(f"k and n must have the same slices, got shapes {yes.shape} and {cases.shape}.") from None
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


def _thresholds(floor: float, smallest: int) -> tuple[float, int]:
    if not 0 < finite(floor, "the floor") <= 1:
        raise ValueError(f"the floor must lie between 0 and 1, got {floor}.")
    return float(floor), whole(smallest, "the smallest number of cases")


def _read(name: str, pair: tuple[float, int]) -> tuple[float, int]:
    try:
        k, n = pair
    except (TypeError, ValueError):
        raise ValueError(f"slice {name!r}: a pair (k, n) is needed, got {pair!r}.") from None
    try:
        return counted(k, n)
    except ValueError as error:
        raise ValueError(f"slice {name!r}: {error}") from None


def _table(counts: ArrayLike, what: str) -> Array:
    """Finite numbers in any shape."""
    if np.ma.is_masked(counts):
        raise ValueError(f"{what} has masked entries; leave those slices out.")
    try:
        return numbers(np.ravel(counts), what).reshape(np.shape(counts))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} must be numbers, in rows of equal length: {error}") from None


def _best(k: Array, n: Array, smallest: int) -> NDArray[np.intp]:
    """Place of the best slice along the last axis."""
    enough = n >= smallest
    enough |= ~enough.any(axis=-1, keepdims=True)
    rates = np.where(enough & (n > 0), k / np.maximum(n, 1), -1.0)
    return np.asarray(rates.argmax(axis=-1))


def _row(
    name: str, pair: tuple[float, int], best: tuple[float, int], floor: float, smallest: int, level: float
) -> SliceRate:
    k, n = pair
    own = wilson_interval(k, n, level=level)
    reasons = [] if n >= smallest and n else [f"fewer than {smallest} cases" if n else "no cases"]
    against = impact_ratio(k, n, *best, level=level)
    if against.estimate is None and n:
        reasons.append("no slice has a positive rate, so there is no ratio")
    elif against.estimate is not None and against.estimate < floor - _ROUNDING:
        reasons.append(f"ratio under {floor:g}")
    interval, pvalue = (None, None) if pair is best else (against.interval, against.pvalue)
    flag: Literal["review", "ok"] = "review" if reasons else "ok"
    return SliceRate(name, k, n, own.estimate, own.interval, against.estimate, interval, pvalue, flag, tuple(reasons))
