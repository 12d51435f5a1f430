"""Time the statistics against scipy, statsmodels and plain Python, in one run on one core.

python experiments/bench/stats.py
"""

from __future__ import annotations

import random
import sys
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from recuse import stats

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
BOUNDS = (-1.5, 1.5)


def seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """Best of some runs, in CPU seconds: other work on the machine counts less."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def peak(work: Callable[[], object], name: str = "   its peak memory") -> None:
    tracemalloc.start()
    work()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    sys.stdout.write(f"{name:62} {most / 1e6:9.1f} MB\n")


def line(name: str, ours: float, other: str = "", theirs: float = 0.0) -> None:
    ratio = f"   {other} {theirs * 1e3:10.2f} ms   ratio {theirs / ours:8.1f}" if other else ""
    sys.stdout.write(f"{name:62} {ours * 1e3:9.2f} ms{ratio}\n")


def python_flips(gaps: list[float], flips: int) -> float:
    rng, observed, hits = random.Random(0), abs(sum(gaps)), 0
    for _ in range(flips):
        hits += abs(sum(gap if rng.random() < 0.5 else -gap for gap in gaps)) >= observed - 1e-12
    return (hits + 1) / (flips + 1)


def main() -> None:
    import statsmodels.api as sm
    from scipy.stats import permutation_test
    from sklearn.metrics import cohen_kappa_score

    rng = np.random.default_rng(0)
    x, groups = (rng.random(100_000) < 0.3).astype(float), rng.integers(0, 30_000, 100_000)
    names = [f"group {g}" for g in groups]
    line("clustered_mean, 100,000 values", seconds(lambda: stats.clustered_mean(x)))
    ols = seconds(lambda: sm.OLS(x, np.ones(x.size)).fit(cov_type="cluster", cov_kwds={"groups": groups}), 2)
    line("clustered_mean, 30,000 groups", seconds(lambda: stats.clustered_mean(x, groups=groups)), "statsmodels", ols)
    line("clustered_mean, 30,000 groups named by text", seconds(lambda: stats.clustered_mean(x, groups=names)))
    rare = np.zeros(100_000)
    rare[:7] = 1
    line("clustered_mean, 7 of 100,000", seconds(lambda: stats.clustered_mean(rare)))
    stratum = rng.random(100_000) < 0.4
    line("clustered_difference, 30,000 groups", seconds(lambda: stats.clustered_difference(x, stratum, groups=groups)))

    column = rng.normal(size=100_000)
    design = sm.add_constant(column)
    glm = seconds(
        lambda: sm.GLM(x, design, family=sm.families.Binomial()).fit(cov_type="cluster", cov_kwds={"groups": groups}), 2
    )
    line("logistic, 100,000 rows", seconds(lambda: stats.logistic(x, column, groups=groups)), "statsmodels", glm)

    first = rng.integers(0, 3, size=20_000)
    second = np.where(rng.random(20_000) < 0.7, first, rng.integers(0, 3, size=20_000))
    one, two = ([f"label {v}" for v in rater] for rater in (first, second))
    questions = rng.integers(0, 5_000, size=20_000)
    bare = seconds(lambda: cohen_kappa_score(first, second))
    line(
        "kappa with interval, 20,000 pairs", seconds(lambda: stats.cohen_kappa(first, second)), "without: sklearn", bare
    )
    peak(lambda: stats.cohen_kappa(first, second))
    line("kappa with interval, text, 5,000 groups", seconds(lambda: stats.cohen_kappa(one, two, groups=questions)))

    lattice = rng.choice([-1, -0.5, 0, 0.5, 1, 1.5], size=20_000)
    line("sign flip, exact, 20,000 units in halves", seconds(lambda: stats.sign_flip_test(lattice)))
    twelfths = rng.integers(-60, 62, size=20_000) / 12
    line("sign flip, exact, 20,000 units in twelfths up to 5", seconds(lambda: stats.sign_flip_test(twelfths)))

    peak(lambda: stats.sign_flip_test(twelfths))

    few = rng.normal(0.1, 1, size=120)
    plain = seconds(lambda: python_flips(few.tolist(), 10_000), 1)
    line(
        "sign flip, sampled, 120 units, 10,000 flips",
        seconds(lambda: stats.sign_flip_test(few, resamples=10_000)),
        "plain Python",
        plain,
    )

    def scipy_few() -> object:
        return permutation_test(
            (few,), np.mean, permutation_type="samples", vectorized=True, n_resamples=10_000, batch=1000
        )

    line("   the same", seconds(lambda: stats.sign_flip_test(few, resamples=10_000)), "scipy", seconds(scipy_few, 2))

    many = rng.normal(0.01, 1, size=20_000)

    def scipy_flips(flips: int) -> object:
        return permutation_test(
            (many,), np.sum, permutation_type="samples", vectorized=True, n_resamples=flips, batch=100
        )

    theirs = seconds(lambda: scipy_flips(500), 1) * 20  # 10,000 of them take minutes; the time is proportional
    line(
        "sign flip, sampled, 20,000 units, 10,000 flips",
        seconds(lambda: stats.sign_flip_test(many, resamples=10_000), 2),
        "scipy",
        theirs,
    )
    peak(lambda: stats.sign_flip_test(many, resamples=10_000))
    peak(lambda: scipy_flips(200), "   scipy with batch=100")
    resampling(rng, lattice, many)


def resampling(rng: np.random.Generator, lattice: Array, many: Array) -> None:
    from scipy.stats import bootstrap
    from statsmodels.stats.multitest import multipletests

    def scipy_bootstrap(values: Array, resamples: int) -> object:
        return bootstrap((values,), np.mean, n_resamples=resamples, method="percentile", batch=100)

    rows = rng.integers(0, 20_000, size=60_000)
    cases: tuple[tuple[str, Array, Ints | None], ...] = (
        ("halves", lattice, None),
        ("twelfths up to 5", rng.integers(-60, 62, size=20_000) / 12, None),
        ("real values", many, None),
        ("real values, three to a unit", rng.normal(size=60_000), rows),
    )
    for name, values, groups in cases:
        ours = seconds(lambda v=values, g=groups: stats.bootstrap_mean(v, groups=g), 3)
        theirs = seconds(lambda v=values: scipy_bootstrap(v, 500), 1) * 20 if groups is None else 0.0
        line(f"bootstrap, 20,000 units x 10,000, {name}", ours, "scipy" if groups is None else "", theirs)
        peak(lambda v=values, g=groups: stats.bootstrap_mean(v, groups=g))
    peak(lambda: scipy_bootstrap(many, 200), "   scipy with batch=100")

    line(
        "minimum effect, 20,000 units in halves",
        seconds(lambda: stats.minimum_effect_test(lattice, minimum=0.1, bounds=BOUNDS)),
    )
    spread = rng.uniform(*BOUNDS, size=20_000)
    line(
        "minimum effect, 20,000 units, all different",
        seconds(lambda: stats.minimum_effect_test(spread, minimum=0.1, bounds=BOUNDS), 1),
    )
    line("confidence sequence, 20,000 units", seconds(lambda: stats.confidence_sequence(spread, bounds=BOUNDS), 1))
    p = rng.random(20_000) ** 3
    theirs = seconds(lambda: multipletests(p, method="fdr_bh"))
    line("Benjamini-Hochberg, 20,000", seconds(lambda: stats.benjamini_hochberg(p)), "statsmodels", theirs)
    template, group = np.repeat(np.arange(120), 20), np.tile([0, 1], 1200)
    answers = (rng.random(2400) < 0.4).astype(float)
    gap = seconds(lambda: stats.paired_gap(answers, template=template, group=group, a=0, b=1, bounds=(0, 1)))
    line("paired gap, 120 templates x 20 rows", gap)
    template, group = np.repeat(np.arange(20_000), 6), np.tile([0, 1], 60_000)
    answers = (rng.random(120_000) < 0.4).astype(float)
    gap = seconds(lambda: stats.paired_gap(answers, template=template, group=group, a=0, b=1, bounds=(0, 1)), 2)
    line("paired gap, 20,000 templates x 6 rows", gap)


if __name__ == "__main__":
    main()
