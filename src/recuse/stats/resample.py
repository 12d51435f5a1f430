"""Cluster bootstrap draws of a ratio of sums, in blocks and without an index matrix."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from recuse.stats import dirichlet

Array = NDArray[np.float64]

_BLOCK = 200_000  # counts held at once: 1.6 MB stays in the cache, three times as fast as blocks of a million
_KIND_COST = 25  # one binomial of the multinomial takes as long as drawing and counting some 25 units


def resampled_means(sums: Array, sizes: Array, *, resamples: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """For each resample of the units, its mean minus the observed one, and its standard error.

    The mean is sum(sums) / sum(sizes); the error is linearised, without the factor G / (G - 1). Where units come in
    few kinds of (sum, size), how often each kind is drawn is one multinomial, whatever the number of units.
    """
    mean = sums.sum() / sizes.sum()
    kinds = dirichlet.kinds(np.round(sums, 12), np.round(sizes, 12))
    lattice = kinds.counts.size * _KIND_COST <= sums.size
    order = np.lexsort((sizes, sums))  # so that the order of the rows changes nothing
    s, n = (kinds.sums, kinds.sizes) if lattice else (sums[order], sizes[order])
    residuals = s - mean * n
    columns = np.column_stack((residuals, n, residuals**2, residuals * n, n**2))
    draws = _kind_counts(kinds.counts, resamples, rng) if lattice else _unit_counts(sums.size, resamples, rng)
    shifts, errors = np.empty(resamples), np.empty(resamples)
    done = 0
    for counts in draws:
        e, total, ee, en, nn = (counts @ columns).T
        shift = e / total
        rows = slice(done, done + len(counts))
        shifts[rows] = shift
        errors[rows] = np.sqrt(np.maximum(ee - 2 * shift * en + shift**2 * nn, 0.0)) / total
        done += len(counts)
    return shifts, errors


def _kind_counts(counts: Array, resamples: int, rng: np.random.Generator) -> Iterator[Array]:
    units, rows = int(counts.sum()), max(1, _BLOCK // counts.size)
    for done in range(0, resamples, rows):
        drawn = rng.multinomial(units, counts / units, size=min(rows, resamples - done))
        yield drawn.astype(np.float64)


def _unit_counts(units: int, resamples: int, rng: np.random.Generator) -> Iterator[Array]:
    rows = max(1, _BLOCK // units)
    for done in range(0, resamples, rows):
        block = min(rows, resamples - done)
        drawn = rng.integers(0, units, size=(block, units), dtype=np.uint32)
        counts = np.empty((block, units))
        for row in range(block):
            counts[row] = np.bincount(drawn[row], minlength=units)
        yield counts
