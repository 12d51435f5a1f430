"""Measure the coverage of the agreement intervals beside the usual large-sample one, and write agreement.md here.

python experiments/coverage/agreement.py [RUNS]        # 2000 runs a cell take some three minutes of one core
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np

from recuse import stats

SHARES: dict[str, list[float]] = {
    "1:1": [1, 1],
    "9:1": [9, 1],
    "19:1": [19, 1],
    "8:1:1": [8, 1, 1],
    "five equal": [1] * 5,
    "ten equal": [1] * 10,
}
KAPPAS = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9)


def usual_limits(table: np.ndarray) -> tuple[float, float]:
    """Fleiss, Cohen & Everitt's interval as statsmodels has it: not a number where it has none."""
    from statsmodels.stats.inter_rater import cohens_kappa

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = cohens_kappa(table)
    return float(result.kappa_low), float(result.kappa_upp)


def two_raters(rng: np.random.Generator, shares: list[float], kappa: float, n: int, runs: int) -> tuple[float, float]:
    """Coverage of ours and of the usual interval, among the tables where kappa is defined."""
    p = np.array(shares) / sum(shares)
    cells = (kappa * np.diag(p) + (1 - kappa) * np.outer(p, p)).ravel()
    known: dict[bytes, tuple[bool, bool] | None] = {}
    covered = np.zeros(2)
    defined = 0
    for counts in rng.multinomial(n, cells, size=runs):
        key = counts.tobytes()
        if key not in known:
            first, second = np.divmod(np.repeat(np.arange(cells.size), counts), p.size)
            result = stats.cohen_kappa(first, second, labels=list(range(p.size)))
            known[key] = None
            if result.interval is not None:
                limits = result.interval, usual_limits(counts.reshape(p.size, p.size))
                known[key] = tuple(bool(low <= kappa <= high) for low, high in limits)
        if (hit := known[key]) is not None:
            covered += hit
            defined += 1
    return float(covered[0] / defined), float(covered[1] / defined)


def many_raters(rng: np.random.Generator, shares: list[float], kappa: float, n: int, runs: int) -> list[float]:
    """Coverage of Fleiss' kappa, and of nominal and interval alpha with a fifth of the ratings missing; four raters."""
    p, covered, defined = np.array(shares) / sum(shares), np.zeros(3), 0
    for _ in range(runs):
        shared = rng.choice(p.size, size=n, p=p)[:, None]
        own = rng.choice(p.size, size=(n, 4), p=p)
        ratings = np.where(rng.random((n, 4)) < np.sqrt(kappa), shared, own).astype(float)
        gaps = np.where(rng.random((n, 4)) < 0.2, np.nan, ratings)
        results = (
            stats.fleiss_kappa(ratings),
            stats.krippendorff_alpha(gaps),
            stats.krippendorff_alpha(gaps, metric="interval"),
        )
        limits = [result.interval for result in results]
        if all(limits):
            covered += [low <= kappa <= high for low, high in limits]
            defined += 1
    return (covered / defined).tolist()


def main(runs: int) -> None:
    rng = np.random.default_rng(0)
    lines = [
        "# Coverage of the agreement intervals",
        "",
        f"95 % intervals, {runs} runs a cell, written by `agreement.py`.",
        "Cohen's kappa: ours / the usual large-sample interval.",
        "",
        f"| labels | pairs | {' | '.join(f'kappa {kappa:g}' for kappa in KAPPAS)} |",
        f"|---|---|{'---|' * len(KAPPAS)}",
    ]
    for name, shares in SHARES.items():
        for n in (20, 50, 200):
            cells = [two_raters(rng, shares, kappa, n, runs) for kappa in KAPPAS]
            lines.append(f"| {name} | {n} | {' | '.join(f'{a:.3f} / {b:.3f}' for a, b in cells)} |")
    lines += ["", "Four raters: Fleiss' kappa, nominal alpha, interval alpha.", ""]
    lines += ["| labels | units | kappa 0.1 | kappa 0.6 |", "|---|---|---|---|"]
    for name in ("1:1", "9:1", "five equal"):
        for n in (20, 50, 200):
            cells = [many_raters(rng, SHARES[name], kappa, n, runs // 2) for kappa in (0.1, 0.6)]
            lines.append(f"| {name} | {n} | {' | '.join(', '.join(f'{c:.3f}' for c in row) for row in cells)} |")
    Path(__file__).with_suffix(".md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
