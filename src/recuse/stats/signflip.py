"""The sign-flip test: were the signs of the gaps random?

Under the null hypothesis each unit's gap is as likely to be +g as -g (exact for exchangeable arms; elsewhere it tests
symmetry, and its level for a zero mean is approximate).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recuse.stats.results import Alternative, TestResult, check_alternative, check_resamples

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

ENUMERATE_UP_TO = 20  # units: 2**20 sums
ASSUMES = "exact for exchangeable arms; tests symmetry"
_LATTICE_STEPS = 100_000  # the largest gap may be this many steps; rounding would imitate a finer lattice
_LATTICE_WORK = 1_000_000_000  # multiply-adds of the convolution, under a second; beyond it sampling is cheaper
_DEVIATIONS = 9
_NEGLIGIBLE = 1e-24  # of the largest probability
_BLOCK = 2_000_000  # table look-ups held at once by the sampling, 16 MB of indices and as much of sums
_RESIDUE = 1e-12  # a gap under this share of the largest one is what rounding left of zero


def sign_flip_test(
    gaps: ArrayLike, *, alternative: Alternative = "two-sided", seed: int = 0, resamples: int = 100_000
) -> TestResult:
    """Test of a zero mean for one gap per independent unit (use group sums where units differ in size).

    Gaps that are multiples of one step get the exact null distribution; other gaps full enumeration up to 20 units,
    and above that `resamples` random flips with p = (hits + 1) / (resamples + 1). `method` names which, and what the
    test assumes: for a mean of zero with rare large gaps of one sign, the one-sided level was 0.18 instead of 0.05 at
    40 units (`minimum_effect_test` with bounds holds its level there). "greater" means that the mean gap is positive.
    Equal absolute gaps give the exact McNemar test. Without gaps, or with all zero, p is 1. Raises ValueError for gaps
    that are not finite.
    """
    check_alternative(alternative, ("two-sided", "greater", "less"))
    check_resamples(resamples)
    g = np.asarray(gaps, dtype=np.float64)
    if g.ndim != 1 or not np.isfinite(g).all():
        raise ValueError("gaps must be one finite number for each unit.")
    mean = float(g.mean()) if g.size else 0.0
    top = float(np.abs(g).max()) if g.size else 0.0
    active = g[np.abs(g) > _RESIDUE * top] / (top or 1.0)
    if not active.size:
        return TestResult(mean, 1.0, g.size, 0, f"exact sign-flip (every gap is zero); {ASSUMES}")
    if alternative == "less":
        active = -active
    elif alternative == "two-sided":
        active = active * np.sign(active.sum() or 1.0)
    steps = lattice_steps(active)
    if steps is not None and (lattice := _Lattice.of(steps)).work <= _LATTICE_WORK:
        method, p = "exact sign-flip (lattice)", lattice.tail(int(steps[steps > 0].sum()))
    elif active.size <= ENUMERATE_UP_TO:
        method, p = "exact sign-flip (enumeration)", _enumerated_tail(active)
    else:
        p = _sampled_tail(active, np.random.default_rng(seed), resamples, both=alternative == "two-sided")
        return TestResult(mean, p, g.size, active.size, f"sampled sign-flip ({resamples} resamples); {ASSUMES}")
    p = min(1.0, 2 * p) if alternative == "two-sided" else p
    return TestResult(mean, p, g.size, active.size, f"{method}; {ASSUMES}")


def lattice_steps(gaps: Array) -> Ints | None:
    """The gaps as whole multiples of their common step, or None if they have none that rounding could not imitate."""
    sizes = np.unique(np.abs(gaps))[::-1]
    top = step = float(sizes[0])
    zero = top / _LATTICE_STEPS / 4
    for size in sizes:
        a, b = float(size), step
        while b > zero:  # Euclid's algorithm
            a, b = b, math.fmod(a, b)
            b = 0.0 if a - b < zero else b
        step = a
        if step < 4 * zero:
            return None
    ratio = gaps / (top / round(top / step))
    whole = np.round(ratio)
    return whole.astype(np.int64) if np.abs(ratio - whole).max() < 1e-6 else None


@dataclass(frozen=True, slots=True)
class _Lattice:
    """Units whose gaps are whole: the distinct absolute values and how often each occurs.

    With random signs the sum of the positive gaps is a sum of value * Binomial(count, 1/2), over the values.
    """

    values: Ints
    counts: Ints

    @classmethod
    def of(cls, steps: Ints) -> _Lattice:
        return cls(*np.unique(np.abs(steps), return_counts=True))

    @property
    def work(self) -> float:
        """Multiply-adds that `tail` needs, at most."""
        widths = np.minimum(self.counts, _DEVIATIONS * np.sqrt(self.counts) + 20) + 1
        spread = math.sqrt(float(self.counts @ (self.values.astype(np.float64) ** 2))) / 2
        return float(widths.sum()) * min(float(widths @ self.values), 2.4 * _DEVIATIONS * spread + 1)

    def tail(self, observed: int) -> float:
        """P(sum of the positive gaps >= observed), with full relative accuracy however small it is.

        The binomials are tilted so that the observed sum becomes the mean, convolved directly within nine standard
        deviations, and tilted back. All terms are positive, nothing cancels, and what is cut off is under 1e-16 of
        the result; a Fourier transform would have an absolute error instead.
        """
        total = int(self.values @ self.counts)
        if 2 * observed < total:
            return 1.0 - self.tail(total - observed + 1)
        if observed > total:
            return 0.0
        if observed == total:
            return math.ldexp(1.0, -int(self.counts.sum()))
        tilt = self._tilt(observed)
        pmf, offset = np.ones(1), 0
        for value, count in zip(self.values.tolist(), self.counts.tolist(), strict=True):
            first, weights = _binomial(count, tilt * value)
            offset += first * value
            longer = np.zeros(pmf.size + value * (weights.size - 1))
            for place, weight in enumerate(weights.tolist()):
                longer[place * value : place * value + pmf.size] += weight * pmf
            kept = np.flatnonzero(longer > _NEGLIGIBLE * longer.max())
            pmf, offset = longer[kept[0] : kept[-1] + 1], offset + int(kept[0])
        beyond = np.arange(max(observed - offset, 0), pmf.size)
        log_scale = float(self.counts @ (np.logaddexp(0, tilt * self.values) - math.log(2))) - tilt * observed
        return math.exp(log_scale) * float(pmf[beyond] @ np.exp(-tilt * (beyond + offset - observed)))

    def _tilt(self, observed: int) -> float:
        """The log odds per step under which the mean sum is the observed one."""
        low, high = 0.0, 60.0
        for _ in range(60):
            middle = (low + high) / 2
            mean = (self.counts * self.values) @ (1 / (1 + np.exp(-middle * self.values)))
            low, high = (middle, high) if mean < observed else (low, middle)
        return low


def _binomial(count: int, log_odds: float) -> tuple[int, Array]:
    """The first success count and the probabilities from there on, within nine standard deviations of the mean."""
    p = 1 / (1 + math.exp(-log_odds))
    reach = _DEVIATIONS * math.sqrt(count * p * (1 - p)) + 10
    first, last = max(0, math.floor(count * p - reach)), min(count, math.ceil(count * p + reach))
    k = np.arange(first + 1, last + 1)
    logs = np.concatenate(([0.0], np.cumsum(np.log((count - k + 1) / k) + log_odds)))
    weights = np.exp(logs - logs.max())
    return first, weights / weights.sum()


def _enumerated_tail(gaps: Array) -> float:
    """Share of all sign patterns whose sum reaches the observed one."""
    return float(np.mean(all_flipped_sums(gaps) >= _guarded(gaps)))


def all_flipped_sums(gaps: Array) -> Array:
    """The sums under all 2**n sign patterns, the observed pattern first; the order is the same for every column."""
    sums = np.zeros(1)
    for gap in gaps:
        sums = np.concatenate((sums + gap, sums - gap))
    return sums


def _sampled_tail(gaps: Array, rng: np.random.Generator, resamples: int, *, both: bool) -> float:
    """Share of random sign patterns whose sum (absolute sum, for both sides) reaches the observed one."""
    hits = 0
    for sums in sampled_flipped_sums(gaps[:, None], rng, resamples):
        hits += int(np.count_nonzero((np.abs(sums[0]) if both else sums[0]) >= _guarded(gaps)))
    return (hits + 1) / (resamples + 1)


def sampled_flipped_sums(columns: Array, rng: np.random.Generator, resamples: int) -> Iterator[list[Array]]:
    """Sums of each column (units, columns) under random signs of the units, in blocks of sign patterns."""
    padded = np.zeros((-(-len(columns) // 8) * 8, columns.shape[1]))
    padded[: len(columns)] = columns
    # A byte holds the signs of eight units: one look-up replaces eight multiplications.
    signs = 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1) - 1
    tables = [column.reshape(-1, 8) @ signs.T for column in padded.T]
    width = len(tables[0])
    rows, start = max(1, _BLOCK // width), 256 * np.arange(width)
    for done in range(0, resamples, rows):
        place = rng.integers(0, 256, size=(min(rows, resamples - done), width), dtype=np.uint8) + start
        yield [table.ravel()[place].sum(axis=1) for table in tables]


def _guarded(gaps: Array) -> float:
    """The observed sum less what rounding may take from an equal one."""
    return float(gaps.sum() - 1e-12 * np.abs(gaps).sum())
