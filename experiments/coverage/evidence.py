"""Measure what sequences, sham predictions and planning figures promise, and write evidence.md beside this file.

python experiments/coverage/evidence.py [RUNS]        # 4000 runs a cell take some ten minutes of one core
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from recuse import stats

Draw = Callable[[np.random.Generator, int], np.ndarray]

KINDS: dict[str, tuple[float, Draw]] = {
    "ones at 0.5": (0.5, lambda rng, n: (rng.random(n) < 0.5).astype(float)),
    "ones at 0.1": (0.1, lambda rng, n: (rng.random(n) < 0.1).astype(float)),
    "ones at 0.02": (0.02, lambda rng, n: (rng.random(n) < 0.02).astype(float)),
    "halves, 5 % differ": (0.52, lambda rng, n: np.where(rng.random(n) < 0.05, rng.random(n) < 0.9, 0.5)),
    "gaps, 30 % not zero": (0.5, lambda rng, n: np.where(rng.random(n) < 0.3, rng.choice([0.0, 1.0], n), 0.5)),
}


def plug_in_limits(x: np.ndarray) -> tuple[float, float]:
    """Last limits of the hedged sequence with the plug-in wager of Waudby-Smith & Ramdas 2024 (at most half)."""
    return plug_in_lower(x), 1 - plug_in_lower(1 - x)


def plug_in_lower(x: np.ndarray) -> float:
    t = np.arange(1, x.size + 1)
    means = (0.5 + np.cumsum(x)) / (t + 1)
    variances = np.r_[0.25, (0.25 + np.cumsum((x - means) ** 2))[:-1] / t[1:]]
    wager = np.sqrt(2 * math.log(40) / (variances * t * np.log(t + 1)))
    low, high = 1e-9, 1.0
    for _ in range(30):
        m = (low + high) / 2
        peak = np.cumsum(np.log1p(np.minimum(wager, 0.5 / m) * (x - m))).max()
        low, high = (m, high) if peak >= math.log(40) else (low, m)
    return low


def sequence_table(runs: int) -> list[str]:
    rows = ["| values | n | broken while peeking | half width | plug-in wager | fixed n |", "|---|---|---|---|---|---|"]
    for kind, (truth, draw) in KINDS.items():
        for n in (40, 200, 1000, 20_000):
            rng, widths = np.random.default_rng(1), []
            broken = "" if n == 20_000 else f"{peeked(rng, draw, truth, n, runs):.4f}"
            for _ in range(20):
                x = draw(rng, n)
                limits = (stats.confidence_sequence(x).interval, plug_in_limits(x), stats.clustered_mean(x).interval)
                widths.append([(high - low) / 2 for low, high in limits])
            cells = " | ".join(f"{width:.4f}" for width in np.mean(widths, axis=0))
            rows.append(f"| {kind} | {n} | {broken} | {cells} |")
    return rows


def peeked(rng: np.random.Generator, draw: Draw, truth: float, n: int, runs: int) -> float:
    broken = 0
    for _ in range(runs):
        x = draw(rng, n)
        broken += (
            min(stats.e_value(x, null_mean=truth, alternative=side).pvalue for side in ("greater", "less")) <= 0.025
        )
    return broken / runs


def sham_table(runs: int) -> tuple[list[str], float]:
    taus = (0.0, 0.3, 1.0, 3.0)
    rows = ["| shams | their errors | new error | " + " | ".join(f"tau {tau}" for tau in taus) + " |", "|" + "---|" * 7]
    worst = 0.0
    for k in (5, 10, 20):
        for errors in ("equal", "0.5 to 2", "one of 4"):
            for new in (0.5, 1.0, 2.0):
                levels = [sham_level(k, errors, new, tau, runs) for tau in taus]
                worst = max(worst, *(level for level, _ in levels))
                cells = " | ".join(f"{level:.3f}, {low:.3f}" for level, low in levels)
                rows.append(f"| {k} | {errors} | {new} | {cells} |")
    return rows, worst


def sham_level(k: int, errors: str, new: float, tau: float, runs: int) -> tuple[float, float]:
    rng, p = np.random.default_rng(2), np.empty(runs)
    for run in range(runs):
        s = np.exp(rng.uniform(math.log(0.5), math.log(2), k)) if errors == "0.5 to 2" else np.ones(k)
        if errors == "one of 4":
            s[0] = 4.0
        shams, effect = rng.normal(0, np.hypot(tau, s)), rng.normal(0, math.hypot(tau, new))
        p[run] = stats.predictive_pvalue(effect, new, shams, s).pvalue
    return float(np.mean(p <= 0.05)), float(np.mean(p <= 0.01))


def alarm_table(sizes: tuple[int, ...], true_ratio: float | None, level: float | None) -> list[str]:
    counts = (2, 4, 8, 16)
    rows = ["| rate | cases a slice | " + " | ".join(f"{s} slices" for s in counts) + " |", "|" + "---|" * 6]
    for rate in (0.2, 0.4, 0.6, 0.8):
        table = stats.alarm_table(sizes, slices=counts, rate=rate, true_ratio=true_ratio, level=level)
        for n, cells in zip(table.sizes, table.estimates, strict=True):
            rows.append(f"| {rate} | {n} | {' | '.join(f'{cell:.3f}' for cell in cells)} |")
    return rows


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    shams, worst = sham_table(runs)
    band = 2.58 * math.sqrt(0.05 * 0.95 / runs)
    sizes = (30, 100, 300, 1000)
    text = [
        f"# What sequences, sham predictions and alarms do\n\nWritten by `evidence.py {runs}`.\n",
        "## Confidence sequence\n",
        "Share of runs in which the mean lay outside at any of the n looks (at most 0.05), and mean half widths of 20",
        "runs at the end: this sequence, the one with the published plug-in wager, and the interval for a fixed n,",
        "which must not be looked at before.\n",
        *sequence_table(runs // 2),
        "\n## Predictive p among shams\n",
        f"Level at 0.05 and at 0.01, one-sided; 0.05 would be measured within ±{band:.3f} (99 %). Highest:",
        f"{worst:.3f}. The shams' errors are 1 unless said; tau and the new effect's error in the same unit.\n",
        *shams,
        "\n## Four-fifths alarm, exactly\n\nFalse alarms when all slices have the same rate.\n",
        *alarm_table(sizes, None, None),
        "\nFound when one slice has 0.7 times the rate of the others.\n",
        *alarm_table(sizes, 0.7, None),
        "\n## Worst-slice gate, exactly\n\nBlocked when all slices have the same rate.\n",
        *alarm_table(sizes, None, 0.95),
        "\nBlocked when one slice has 0.7 times the rate of the others.\n",
        *alarm_table(sizes, 0.7, 0.95),
    ]
    Path(__file__).with_name("evidence.md").write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
