"""Exact tails of sums of whole numbers with random signs: what the sign-flip test needs where gaps lie on a lattice.

With random signs, the sum of the negative gaps is a sum of value * Binomial(count, 1/2) over the distinct absolute
values. Its distribution is tilted first (Esscher 1932), each unit being negative with probability
1 / (1 + exp(tilt * value)), so that the observed sum becomes the mean: the tail asked for, however small, is then a sum
over the middle of a distribution, and an error that is small beside its peak is small beside the tail. Two ways lead
there. Convolving the binomials directly suits few units on a fine lattice; inverting the characteristic function suits
many units, for which it vanishes but at a few frequencies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

_STEPS = 100_000  # the largest gap may be this many steps; rounding would imitate a finer lattice
_DEVIATIONS = 9
_NEGLIGIBLE = 1e-24  # of the largest probability
_NIL = 46.0  # exp(-46) = 1e-20 is nothing
_SECONDS = 5e-10, 2.5e-8  # for a multiply-add of the convolution, for a frequency of one value


def lattice_steps(gaps: Array) -> Ints | None:
    """The gaps as whole multiples of their common step, or None if they have none that rounding could not imitate."""
    sizes = np.unique(np.abs(gaps))[::-1]
    top = step = float(sizes[0])
    zero = top / _STEPS / 4
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


@dataclass(frozen=True, slots=True, eq=False)
class Lattice:
    """Units whose gaps are whole: the distinct absolute values, and how often each occurs."""

    values: Ints
    counts: Ints

    @classmethod
    def of(cls, steps: Ints) -> Lattice:
        return cls(*np.unique(np.abs(steps), return_counts=True))

    @property
    def seconds(self) -> float:
        """About how long `tail` takes, at most."""
        return min(self._convolving, self._inverting)

    def tail(self, observed: int) -> float:
        """P(sum of the positive gaps >= observed), with a relative error of some 1e-12 however small it is."""
        total = int(self.values @ self.counts)
        if 2 * observed < total:  # by symmetry
            return 1.0 - self.tail(total - observed + 1)
        if observed >= total:
            return 0.0 if observed > total else math.ldexp(1.0, -int(self.counts.sum()))
        return (
            self.convolved(total - observed) if self._convolving < self._inverting else self.inverted(total - observed)
        )

    def convolved(self, most: int) -> float:
        """P(sum of the negative gaps <= most) by convolution, each binomial cut off at nine standard deviations.

        All terms are positive, nothing cancels, and what is cut off is under 1e-16 of the result.
        """
        tilt = self._tilt(most)
        pmf, offset = np.ones(1), 0
        for value, count in zip(self.values.tolist(), self.counts.tolist(), strict=True):
            first, weights = _binomial(count, -tilt * value)
            offset += first * value
            longer = np.zeros(pmf.size + value * (weights.size - 1))
            for place, weight in enumerate(weights.tolist()):
                longer[place * value : place * value + pmf.size] += weight * pmf
            kept = np.flatnonzero(longer > _NEGLIGIBLE * longer.max())
            pmf, offset = longer[kept[0] : kept[-1] + 1], offset + int(kept[0])
        below = np.arange(min(most - offset + 1, pmf.size))
        return self._scale(tilt, most) * float((pmf[below] * np.exp(tilt * (below + offset - most))).sum())

    def inverted(self, most: int) -> float:
        """The same from the characteristic function at `points` frequencies.

        Probabilities of sums that differ by `points` add up: by Bernstein's inequality what comes in from outside, and
        what is left out, is under 1e-20. Frequencies are dropped when their modulus has fallen under that.
        """
        tilt = self._tilt(most)
        odds = np.exp(-tilt * self.values)
        p = odds / (1 + odds)
        points, reach = self._window(p, most)
        turn = 2 * math.pi / points
        half = np.sin(turn / 2 * np.arange(points)) ** 2
        kept, logs = np.arange(points // 2 + 1), np.zeros(points // 2 + 1)
        order = np.argsort(-self.counts * p)
        for value, count, chance in zip(
            self.values[order].tolist(), self.counts[order].tolist(), p[order], strict=True
        ):
            with np.errstate(divide="ignore"):  # a modulus of zero; it is dropped
                logs += 0.5 * count * np.log1p(-4 * chance * (1 - chance) * half[kept * value % points])
            near = logs > -_NIL
            kept, logs = kept[near], logs[near]
        phase = -turn * (kept * most % points)
        for value, count, chance in zip(self.values.tolist(), self.counts.tolist(), p, strict=True):
            angle = turn * (kept * value % points)
            phase += count * np.arctan2(chance * np.sin(angle), 1 - 2 * chance * half[kept * value % points])
        step = -tilt + 1j * turn * kept
        geometric = np.expm1(step * (min(most, reach) + 1)) / np.expm1(step)
        terms = (np.exp(logs + 1j * phase) * geometric).real
        alone = (kept == 0) | (2 * kept == points)  # the others stand for their mirror image too
        return self._scale(tilt, most) * float(terms @ np.where(alone, 1.0, 2.0)) / points

    def _tilt(self, most: int) -> float:
        """The log odds per step under which the mean sum of the negative gaps is `most`; positive."""
        low, high, weighed = 0.0, 60.0, self.counts * self.values
        for _ in range(60):
            middle = (low + high) / 2
            odds = np.exp(-middle * self.values)
            low, high = (middle, high) if weighed @ (odds / (1 + odds)) > most else (low, middle)
        return high

    def _scale(self, tilt: float, most: int) -> float:
        """What the tilted probability of `most` is multiplied by to tilt it back."""
        return math.exp(float(self.counts @ np.log1p(np.expm1(-tilt * self.values) / 2)) + tilt * most)

    def _window(self, p: Array | float, centre: float) -> tuple[int, int]:
        """How many sums in a row hold all but 1e-20 of the probability, and how far that is from the centre."""
        top, total = int(self.values[-1]), int(self.values @ self.counts)
        variance = float(np.sum(self.counts * self.values.astype(np.float64) ** 2 * (p * (1 - p))))
        linear = _NIL * top / 3
        reach = math.ceil(linear + math.sqrt(linear**2 + 2 * _NIL * variance))
        return min(total + 1, 2 * reach + 1), min(total, reach)

    @property
    def _convolving(self) -> float:
        widths = np.minimum(self.counts, _DEVIATIONS * np.sqrt(self.counts) + 20) + 1
        spread = math.sqrt(float(self.counts @ (self.values.astype(np.float64) ** 2))) / 2
        return _SECONDS[0] * float(widths.sum()) * min(float(widths @ self.values), 2.4 * _DEVIATIONS * spread + 1)

    @property
    def _inverting(self) -> float:
        counts = np.sort(self.counts)[::-1]
        left = (
            2 / math.pi * np.arcsin(np.sqrt(-np.expm1(-2 * _NIL / counts)))
        )  # share of frequencies that a value leaves
        return _SECONDS[1] * self._window(0.5, 0.0)[0] / 2 * float(1 + np.cumprod(left[:-1]).sum())


def _binomial(count: int, log_odds: float) -> tuple[int, Array]:
    """The first count and the probabilities from there on, within nine standard deviations, at odds of at most even."""
    odds = math.exp(log_odds)
    p = odds / (1 + odds)
    reach = _DEVIATIONS * math.sqrt(count * p * (1 - p)) + 10
    first, last = max(0, math.floor(count * p - reach)), min(count, math.ceil(count * p + reach))
    k = np.arange(first + 1, last + 1)
    logs = np.concatenate(([0.0], np.cumsum(np.log((count - k + 1) / k) + log_odds)))
    weights = np.exp(logs - logs.max())
    return first, weights / weights.sum()
