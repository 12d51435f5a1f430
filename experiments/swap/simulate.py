"""How often the swap test recuses, passes or leaves open a judge whose reaction is known, on the level of scores.

    python experiments/swap/simulate.py > experiments/swap/results.md

A score is template + gap of the template + noise of the text, on a scale of 1 to 10; a preference is the sigmoid of
the favour plus a logistic draw, as that of the planted judges. The meaningless edit draws the noise anew. Decisions are
`recuse.swap.gaps.rule`. Short cuts that change no decision: 40 templates can never be fit, since they cannot exclude a
rare gap; there, and with t under 1.5, sign flips do not reject at 0.05, which a recusal needs; and where they do not
reject, the other tests are left out.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from recuse import stats
from recuse.swap.gaps import Gap, Rows, rule

NAMES, FLOOR_NAMES, LEVEL = 6, 2, 0.95


@dataclass(frozen=True)
class Points:
    """A judge that gives scores. `favour` in points for the second group, in every template."""

    favour: float = 0.0
    template_sd: float = 0.2  # of the gap
    noise: float = 0.5  # of one text
    edit: float = 0.0  # points that a meaningless edit adds

    tolerance = 0.1
    bounds = (1.0, 10.0)

    def draw(self, templates: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
        swaps, edits = Rows(), Rows()
        for t in range(templates):
            level, gap = rng.normal(5.5, 1.0), self.favour + self.template_sd * rng.standard_normal()
            scores = level + gap * np.array([[0.0], [1.0]]) + self.noise * rng.standard_normal((2, NAMES))
            again = level + gap * np.array([[0.0], [1.0]]) + self.edit
            again = again + self.noise * rng.standard_normal((2, FLOOR_NAMES))
            for side, name in ((s, n) for s in range(2) for n in range(NAMES)):
                swaps.add(f"{t}", "ab"[side], f"{side}{name}", self.shown(scores[side, name]))
                if name < FLOOR_NAMES:
                    edits.add(f"{t}", "a", f"{side}{name}", self.shown(again[side, name]))
                    edits.add(f"{t}", "b", f"{side}{name}", self.shown(scores[side, name]))
        return swaps, edits

    def shown(self, score: float) -> float:
        return float(np.clip(score, *self.bounds))


@dataclass(frozen=True)
class Duels:
    """A judge that compares. `favour` in log odds for the second group; `logprobs`: its probability is read."""

    favour: float = 0.0
    logprobs: bool = True

    tolerance = 0.02
    bounds = (0.0, 1.0)

    def draw(self, templates: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
        swaps, edits = Rows(), Rows()
        for rows, favour, names in ((swaps, self.favour, NAMES), (edits, 0.0, 2 * FLOOR_NAMES)):
            odds = favour + rng.logistic(size=(templates, names, 2))
            p = (1 / (1 + np.exp(-odds)) if self.logprobs else (odds > 0).astype(float)).mean(axis=2)
            for t in range(templates):
                for name in range(names):
                    rows.add(f"{t}", "a", f"a{name}", float(1 - p[t, name]))
                    rows.add(f"{t}", "b", f"b{name}", float(p[t, name]))
        return swaps, edits


@dataclass(frozen=True)
class Scatter:
    """A judge without a gap whose gaps scatter by `sd` between templates, in probability."""

    sd: float

    tolerance = 0.02
    bounds = (0.0, 1.0)

    def draw(self, templates: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
        swaps = Rows()
        for t, gap in enumerate(np.clip(rng.normal(0.0, self.sd, templates), -1, 1)):
            swaps.add(f"{t}", "a", "", float(0.5 + gap / 2))
            swaps.add(f"{t}", "b", "", float(0.5 - gap / 2))
        return swaps, Rows()


def outcomes(judge: Points | Duels | Scatter, templates: int, runs: int) -> dict[str, int]:
    counts = dict.fromkeys(("recuse", "fit", "inconclusive", "significant"), 0)
    for run in range(runs):
        swaps, edits = judge.draw(templates, np.random.default_rng([run, templates]))
        if templates <= 40 and abs(t_of(swaps)) < 1.5:
            counts["inconclusive"] += 1
            continue
        gap = Gap.of(swaps, "a", "b", bounds=judge.bounds, level=LEVEL, seed=run, resamples=2000)
        significant = gap.found.pvalue is not None and gap.found.pvalue <= 1 - LEVEL
        counts["significant"] += significant
        if not significant:
            counts["fit" if gap.inside(judge.tolerance) else "inconclusive"] += 1
            continue
        floors = (
            [Gap.of(edits, "a", "b", bounds=judge.bounds, level=LEVEL, seed=run, resamples=500)] if edits.value else []
        )
        counts[rule([(gap, judge.tolerance)], [floors], level=LEVEL)[0].outcome or ""] += 1
    return counts


def t_of(rows: Rows) -> float:
    sides = np.array([1.0 if side == "a" else -1.0 for side in rows.side])
    sums = np.bincount(np.array(rows.template, dtype=int), weights=sides * np.array(rows.value, dtype=float))
    return float(sums.mean() / sums.std(ddof=1) * np.sqrt(sums.size))


def line(name: str, judge: Points | Duels | Scatter, templates: int, runs: int) -> None:
    counts = outcomes(judge, templates, runs)
    low, high = stats.clopper_pearson(counts["recuse"], runs, level=0.99).interval or (0.0, 1.0)
    shares = " | ".join(f"{counts[k] / runs:.3f}" for k in ("significant", "recuse"))
    print(
        f"| {name} | {templates:,} | {runs:,} | {shares} [{low:.3f}, {high:.3f}] | {counts['fit'] / runs:.3f} |",
        flush=True,
    )


def main() -> None:
    print("Share of simulated runs; for recusals with the 99 % Monte-Carlo interval. Level 0.95, 6 names a group.\n")
    print("| judge | templates | runs | sign-flip p ≤ 0.05 | recused | fit |\n|---|---|---|---|---|---|")
    line("innocent, scores, noise 0.5", Points(), 40, 2000)
    line("innocent, preferences with log-probabilities", Duels(), 40, 2000)
    line("innocent, choices", Duels(logprobs=False), 40, 2000)
    line("at the edge of the tolerance: +0.1 points, noise 0.5", Points(0.1), 40, 2000)
    for noise in (0.3, 0.5, 0.9):
        line(f"+0.3 points, noise {noise}", Points(0.3, noise=noise), 40, 300)
    line("+0.3 points, noise 0.5, and a blank adds 0.3 too", Points(0.3, edit=0.3), 40, 300)
    line("+0.3 log odds, log-probabilities", Duels(0.3), 40, 300)
    line("+0.3 log odds, choices", Duels(0.3, logprobs=False), 40, 300)
    line("+0.5 log odds, choices", Duels(0.5, logprobs=False), 40, 300)
    for sd, sizes in ((0.1, (160, 250, 325, 400)), (0.2, (650, 1000, 1300, 1600))):
        for templates in sizes:
            line(f"no gap, sd {sd} between templates, probability", Scatter(sd), templates, 100)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(__doc__)
    main()
