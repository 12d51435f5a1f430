"""Measure how often the intervals of `recuse.stats` cover the truth, and write results.md beside this file.

python experiments/coverage/run.py [RUNS]        # 1000 data sets a cell take some six minutes of one core
"""

from __future__ import annotations

import sys
from pathlib import Path
from unittest.mock import patch

import numpy as np

from recuse import stats
from recuse.stats import clustered, difference

RATES = (0.02, 0.1, 0.37, 0.5)
SINGLE, SMALL, LARGE = (1,), (1, 2, 3, 4, 5), (1, 1, 1, 1, 20)


def values(rng: np.random.Generator, n: int, p: float, sizes: tuple[int, ...], halves: bool, icc: float):
    groups = np.repeat(np.arange(n), rng.choice(sizes, size=n))[:n]
    columns = []
    for _ in range(2 if halves else 1):
        shared = rng.random(n) < np.sqrt(icc)
        columns.append(np.where(shared, rng.random(n)[groups], rng.random(n)) < p)
    return np.mean(columns, axis=0), groups


def nearly_constant(rng: np.random.Generator, n: int, differing: float):
    """A half for a consistent pair; the `differing` share is 1 (nine in ten) or 0. The mean is 0.5 + 0.4 differing."""
    return np.where(rng.random(n) < differing, np.where(rng.random(n) < 0.9, 1.0, 0.0), 0.5)


def cell(limits: list[tuple[bool, bool, str]]) -> str:
    """Coverage, the shares in which the interval lies above and below the truth, and the share of score intervals."""
    above, below = (np.mean([row[i] for row in limits]) for i in (0, 1))
    score = np.mean([row[2] == clustered.WILSON for row in limits])
    return f"{1 - above - below:.3f} ({above:.3f}, {below:.3f}; {score:.2f})"


def mean_limits(x: np.ndarray, groups: np.ndarray | None, truth: float) -> tuple[bool, bool, str]:
    units = clustered.summarise(*clustered.checked(x, groups, (0.0, 1.0)))
    return units.p_greater(truth) < 0.025, units.p_less(truth) < 0.025, units.method


def mean_table(runs: int, shapes: list[tuple[tuple[int, ...], float]], sample: tuple[int, ...]) -> list[str]:
    rows = ["| groups of | correlation | halves | n | " + " | ".join(f"rate {p}" for p in RATES) + " |"]
    rows.append("|" + "---|" * (4 + len(RATES)))
    for sizes, icc in shapes:
        for halves in (False, True):
            for n in sample:
                cells = []
                for p in RATES:
                    rng = np.random.default_rng(1)
                    drawn = (values(rng, n, p, sizes, halves, icc) for _ in range(runs))
                    cells.append(cell([mean_limits(x, None if sizes == SINGLE else g, p) for x, g in drawn]))
                label = ", ".join(map(str, sizes))
                rows.append(f"| {label} | {icc} | {'yes' if halves else 'no'} | {n} | " + " | ".join(cells) + " |")
    return rows


def constant_table(runs: int) -> list[str]:
    shares = (0.02, 0.05, 0.1, 0.3)
    rows = ["| n | " + " | ".join(f"{q:.0%} differ" for q in shares) + " |", "|" + "---|" * (1 + len(shares))]
    for n in (40, 60, 200, 1000):
        cells = []
        for q in shares:
            rng = np.random.default_rng(2)
            cells.append(cell([mean_limits(nearly_constant(rng, n, q), None, 0.5 + 0.4 * q) for _ in range(runs)]))
        rows.append(f"| {n} | " + " | ".join(cells) + " |")
    return rows


def noise_table(runs: int) -> list[str]:
    """Values of 0.525 but for a few of 0.025, under noise: nearly all units differ, and only the few tell anything."""
    cases = [(rare, sd) for rare in (0.05, 0.1) for sd in (0.005, 0.02)]
    rows = [
        "| n | " + " | ".join(f"{q:.0%} rare, noise {sd}" for q, sd in cases) + " |",
        "|" + "---|" * (1 + len(cases)),
    ]
    for n in (40, 120, 400):
        cells = []
        for q, sd in cases:
            rng, limits = np.random.default_rng(5), []
            for _ in range(runs):
                x = np.where(rng.random(n) < q, 0.025, 0.525) + np.clip(sd * rng.normal(size=n), -0.025, 0.025)
                limits.append(mean_limits(x, None, 0.525 - 0.5 * q))
            cells.append(cell(limits))
        rows.append(f"| {n} | " + " | ".join(cells) + " |")
    return rows


def difference_table(runs: int) -> list[str]:
    pairs = ((0.02, 0.02), (0.1, 0.3), (0.37, 0.37), (0.5, 0.6))
    head = " | ".join(f"{a} − {b}" for a, b in pairs)
    rows = [f"| groups straddle | correlation | n | {head} |", "|" + "---|" * (3 + len(pairs))]
    for straddle in (False, True):
        for icc in (0, 0.5, 1):
            for n in (60, 200, 1000):
                cells = []
                for first, second in pairs:
                    rng, limits = np.random.default_rng(3), []
                    while len(limits) < runs:
                        groups = np.repeat(np.arange(n), rng.choice(SMALL, size=n))[:n]
                        stratum = (rng.random(n) < 0.4) if straddle else (rng.random(n) < 0.4)[groups]
                        if stratum.all() or not stratum.any():
                            continue
                        draw = np.where(rng.random(n) < np.sqrt(icc), rng.random(n)[groups], rng.random(n))
                        x = (draw < np.where(stratum, first, second)).astype(float)
                        sides = difference._split(x, groups, stratum)
                        truth = first - second
                        score = clustered.WILSON if sides.method.startswith("MOVER of clustered Wilson") else ""
                        score = "" if " and " in sides.method else score
                        limits.append((sides.lower(0.025) > truth, sides.upper(0.025) < truth, score))
                    cells.append(cell(limits))
                rows.append(f"| {'yes' if straddle else 'no'} | {icc} | {n} | " + " | ".join(cells) + " |")
    return rows


def logistic_table(runs: int) -> list[str]:
    rows = ["| groups of | correlation | n | intercept −0.5 | slope 0.4 | separated |", "|" + "---|" * 6]
    for sizes, icc in ((SINGLE, 0), (SMALL, 0.3), (SMALL, 1)):
        for n in (60, 200, 1000):
            rng, covered, fitted = np.random.default_rng(4), np.zeros(2), 0
            for _ in range(runs):
                groups = np.repeat(np.arange(n), rng.choice(sizes, size=n))[:n]
                x = 0.7 * rng.normal(size=n) + 0.7 * rng.normal(size=n)[groups]
                draw = np.where(rng.random(n) < np.sqrt(icc), rng.random(n)[groups], rng.random(n))
                fit = stats.logistic(draw < 1 / (1 + np.exp(0.5 - 0.4 * x)), x, groups=groups)
                if fit.reason is None:
                    fitted += 1
                    inside = zip(fit.coefficients, (-0.5, 0.4), strict=True)
                    covered += [c.interval[0] <= b <= c.interval[1] for c, b in inside]
            first, second = covered / fitted
            label = ", ".join(map(str, sizes))
            rows.append(f"| {label} | {icc} | {n} | {first:.3f} | {second:.3f} | {runs - fitted} |")
    return rows


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    noise = 2.576 * np.sqrt(0.95 * 0.05 / runs)
    shapes = [(SINGLE, 0.0), (SMALL, 0.0), (SMALL, 0.3), (SMALL, 1.0), (LARGE, 0.3), (LARGE, 1.0)]
    with patch.object(clustered, "FEW_UNITS", 0):
        plain = mean_table(runs, [(SINGLE, 0.0), (SMALL, 1.0)], (40, 60, 200)), constant_table(runs)
    sections = [
        "# Coverage of 95 % intervals",
        f"Written by `run.py {runs}`: {runs} simulated data sets a cell, so that 0.95 would be measured within "
        f"±{noise:.3f} (99 %). A cell gives the coverage and, in brackets, how often the interval lay wholly above and "
        "wholly below the truth, then the share of data sets that got the score interval rather than the bound for "
        f"few differing units (fewer than {clustered.FEW_UNITS}).",
        "Within a group each value is, with probability the square root of the correlation, the group's common draw. "
        "Halves are means of two such draws.",
        "## clustered_mean",
        "\n".join(mean_table(runs, shapes, (40, 60, 200, 1000))),
        "## clustered_mean where most values are a half (first-answer share of a consistent judge)",
        "\n".join(constant_table(runs)),
        "## clustered_mean where few values matter and all others scatter a little",
        "\n".join(noise_table(runs)),
        "## What the score interval, widened for values unseen, would do alone "
        "(why few differing units get another bound)",
        "\n".join(plain[0]),
        "\n".join(plain[1]),
        "## clustered_difference (groups of 1 to 5, two in five in the first stratum)",
        "\n".join(difference_table(runs)),
        "## logistic",
        "\n".join(logistic_table(runs)),
    ]
    Path(__file__).with_name("results.md").write_text("\n\n".join(sections) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
