"""Measure intervals where few units decide: a change of kappa, and a difference within strata. Writes changes.md here.

python experiments/coverage/changes.py [RUNS]        # 500 runs a cell take some four minutes of one core
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from scipy.special import stdtrit
from sklearn.metrics import cohen_kappa_score

from recuse import stats

# Share right before, share of wrong ones put right, share of right ones spoilt.
RELEASES = ((0.85, 0.2, 0.0), (0.85, 0.0, 0.03), (0.85, 0.05, 0.05), (0.95, 0.3, 0.0), (0.8, 0.4, 0.1))
SMALL_SIDE = 0.15


def release(rng: np.random.Generator, n: int, size: int, common: float, case: tuple[float, float, float]) -> np.ndarray:
    """Labels of n units before, after and by people; units of one group change together."""
    right, better, worse = case
    known, was = (rng.random(n) < common).astype(int), rng.random(n) < right
    u = np.repeat(rng.random(n // size), size)
    now = np.where(was, u >= worse, u < better)
    return np.array([np.where(was, known, 1 - known), np.where(now, known, 1 - known), known])


def kappa_cell(rng: np.random.Generator, n: int, size: int, common: float, case: tuple, runs: int) -> str:
    """Coverage of ours and of the jackknife alone, where a rating changed; the share of runs in which one did."""
    old, new, known = release(rng, 1_000_000, size, common, case)
    truth = cohen_kappa_score(new, known) - cohen_kappa_score(old, known)
    ours = plain = some = 0
    for _ in range(runs):
        old, new, known = release(rng, n, size, common, case)
        found = stats.kappa_change(old, new, known, groups=np.arange(n) // size)
        if found.interval is None:
            continue
        some += 1
        ours += found.interval[0] <= truth <= found.interval[1]
        plain += abs(found.estimate - truth) <= jackknife_reach(np.array([old, new, known]), size)
    return f"{ours / some:.3f} / {plain / some:.3f} ({some / runs:.2f})"


def jackknife_reach(labels: np.ndarray, size: int) -> float:
    """Student's t times the leave-one-group-out error, for two labels."""
    groups = labels.shape[1] // size
    cells = np.array([np.bincount(np.arange(groups * size) // size, known, groups) for known in indicators(labels)])
    gaps = np.subtract(*(kappas(cells.sum(axis=1)[:, None] - cells, groups * size - size, which) for which in (1, 0)))
    error = np.sqrt((groups - 1) / groups * ((gaps - gaps.mean()) ** 2).sum())
    return float(stdtrit(groups - 1, 0.975)) * float(error)


def indicators(labels: np.ndarray) -> list[np.ndarray]:
    old, new, known = labels
    return [old, new, known, old == known, new == known]


def kappas(sums: np.ndarray, n: int, which: int) -> np.ndarray:
    """From the sums of `indicators`, before (0) or after (1)."""
    own, known, hits = sums[which] / n, sums[2] / n, sums[3 + which] / n
    chance = own * known + (1 - own) * (1 - known)
    return (hits - chance) / (1 - chance)


def strata_cell(rng: np.random.Generator, n: int, rate: float, runs: int) -> str:
    """Coverage with bounds and without, of twice the rate among the few exposed in five strata."""
    ours = plain = 0
    for _ in range(runs):
        x, strata = rng.random(n) < SMALL_SIDE, rng.integers(0, 5, n)
        y = (rng.random(n) < np.where(x, 2 * rate, rate)).astype(float)
        for bounds in ((0, 1), None):
            low, high = stats.stratified_difference(y, x, strata=strata, bounds=bounds).interval or (-1, 1)
            ours, plain = (ours + (low <= rate <= high), plain) if bounds else (ours, plain + (low <= rate <= high))
    return f"{ours / runs:.3f} / {plain / runs:.3f}"


def main(runs: int) -> None:
    rng = np.random.default_rng(0)
    heads = [f"{r:g} right, {b:g} put right, {w:g} spoilt" for r, b, w in RELEASES]
    lines = [
        "# Where few units decide",
        "",
        f"95 % intervals, {runs} runs a cell, written by `changes.py`.",
        "",
        "## kappa_change",
        "",
        "Ours / the jackknife alone, among the runs in which a rating changed (their share).",
        "",
        f"| units | of a group | common label | {' | '.join(heads)} |",
        "|---" * (3 + len(heads)) + "|",
    ]
    for n, size, common in ((40, 1, 0.5), (100, 1, 0.5), (100, 2, 0.5), (200, 1, 0.5), (200, 1, 0.9)):
        cells = [kappa_cell(rng, n, size, common, case, runs) for case in RELEASES]
        lines.append(f"| {n} | {size} | {common} | {' | '.join(cells)} |")
    rates = (0.02, 0.05, 0.1, 0.3)
    lines += [
        "",
        "## stratified_difference",
        "",
        f"With bounds / without; {SMALL_SIDE:.0%} of the values are exposed, ones have twice the rate there.",
        "",
        f"| n | {' | '.join(f'rate {rate}' for rate in rates)} |",
        "|---" * (1 + len(rates)) + "|",
    ]
    for n in (40, 100, 300):
        cells = [strata_cell(rng, n, rate, max(1, runs // 3)) for rate in rates]
        lines.append(f"| {n} | {' | '.join(cells)} |")
    Path(__file__).with_name("changes.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
