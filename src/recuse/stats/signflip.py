"""The sign-flip test: were the signs of the gaps random?

Under the null hypothesis each unit's gap is as likely to be +g as -g (exact for exchangeable arms; elsewhere it tests
symmetry, and its level for a zero mean is approximate). The test is Fisher's (1935, The Design of Experiments, section
21); random flips in place of all, with one added to hits and resamples, Dwass's (1957, Ann. Math. Stat. 28:181).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recuse.stats.inputs import numbers
from recuse.stats.lattice import Lattice, lattice_steps
from recuse.stats.results import Alternative, TestResult, check_alternative, check_resampling

Array = NDArray[np.float64]

ENUMERATE_UP_TO = 20  # units: 2**20 sums
ASSUMES = "exact for exchangeable arms; tests symmetry"
_LATTICE_SECONDS = 0.5  # beyond it sampling is cheaper
_BLOCK = 2_000_000  # table look-ups held at once by the sampling, 16 MB of indices and as much of sums
_RESIDUE = 1e-12  # a gap under this share of the largest one is what rounding left of zero


def sign_flip_test(
    gaps: ArrayLike, *, alternative: Alternative = "two-sided", seed: int = 0, resamples: int = 100_000
) -> TestResult:
    """Test of a zero mean for one gap per independent unit; where units differ in size, give each one's sum of gaps.

    gaps: (units,), in any unit of measurement; the estimate is their mean. "greater" means that it is positive; the
    two-sided p doubles the smaller tail. `nonzero` counts the gaps that are not zero.

    Gaps that are multiples of one step get the exact null distribution (`recuse.stats.lattice`), gaps of one size thus
    the exact McNemar test; other gaps full enumeration up to 20 units, and above that `resamples` random flips with
    p = (hits + 1) / (resamples + 1), where |sum| is compared for two sides. `method` names which, and what the test
    assumes: for a mean of zero with rare large gaps of one sign, the one-sided level was 0.18 instead of 0.05 at 40
    units (`minimum_effect_test` with bounds holds its level there).

    With all gaps zero p is 1; without gaps too, and the estimate is None. Raises ValueError for gaps that are masked,
    missing, not finite or no numbers, for another shape, an unknown alternative, or resamples under 1.
    """
    check_alternative(alternative, ("two-sided", "greater", "less"))
    check_resampling(resamples, seed)
    g = numbers(gaps, "gaps")
    if not g.size:
        return TestResult(None, 1.0, 0, 0, f"exact sign-flip; {ASSUMES}", reason="no gaps")
    mean, top = float(g.mean()), float(np.abs(g).max())
    active = g[np.abs(g) > _RESIDUE * top] / (top or 1.0)
    if not active.size:
        return TestResult(mean, 1.0, g.size, 0, f"exact sign-flip (every gap is zero); {ASSUMES}")
    if alternative == "less":
        active = -active
    elif alternative == "two-sided":
        active = active * np.sign(active.sum() or 1.0)
    steps = lattice_steps(active)
    if steps is not None and (lattice := Lattice.of(steps)).seconds <= _LATTICE_SECONDS:
        method, p = "exact sign-flip (lattice)", lattice.tail(int(steps[steps > 0].sum()))
    elif active.size <= ENUMERATE_UP_TO:
        method, p = "exact sign-flip (enumeration)", _enumerated_tail(active)
    else:
        p = _sampled_tail(active, np.random.default_rng(seed), resamples, both=alternative == "two-sided")
        return TestResult(mean, p, g.size, active.size, f"sampled sign-flip ({resamples} resamples); {ASSUMES}")
    p = min(1.0, 2 * p) if alternative == "two-sided" else p
    return TestResult(mean, p, g.size, active.size, f"{method}; {ASSUMES}")


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
