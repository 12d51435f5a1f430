"""The change of kappa: against scikit-learn left out group by group, by hand where few change, and its coverage."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from scipy import stats as scipy_stats
from sklearn.metrics import cohen_kappa_score

from recuse import stats


def test_groups_of_any_size_and_many_labels_are_scikit_learns_left_out_differences() -> None:
    rng = np.random.default_rng(0)
    groups, reference = np.append(np.arange(40), rng.integers(0, 40, 110)), rng.integers(0, 6, 150)
    old, new = (np.where(rng.random(150) < share, reference, rng.integers(0, 6, 150)) for share in (0.6, 0.7))

    def change(rows: np.ndarray) -> float:
        return cohen_kappa_score(new[rows], reference[rows]) - cohen_kappa_score(old[rows], reference[rows])

    left_out = np.array([change(groups != g) for g in range(40)])
    error = math.sqrt(39 / 40 * ((left_out - left_out.mean()) ** 2).sum())
    found, t = stats.kappa_change(old, new, reference, groups=groups), scipy_stats.t.ppf(0.975, 39)
    assert found.estimate == pytest.approx(change(groups >= 0), abs=1e-12)
    assert found.interval == pytest.approx((found.estimate - t * error, found.estimate + t * error), abs=1e-9)
    assert "imagined" not in found.method


def test_one_changed_rating_reckons_with_two_imagined_ones_by_hand() -> None:
    # 20 units, labels halved; before, 4 are wrong, two each way; one of them becomes right. Po 0.8 and 0.85; Pe 0.5.
    reference = np.repeat([0, 1], 10)
    before, after = reference.copy(), reference.copy()
    before[[0, 1, 10, 11]] ^= 1
    after[[0, 1, 10]] ^= 1
    found = stats.kappa_change(before, after, reference)
    left_out = []
    for unit in range(20):
        rest = np.arange(20) != unit
        kappas = [cohen_kappa_score(ratings[rest], reference[rest]) for ratings in (before, after)]
        left_out.append(kappas[1] - kappas[0])
    variance = 19 / 20 * np.sum((np.array(left_out) - np.mean(left_out)) ** 2) + 2 * (1 / 20 / 0.5) ** 2
    assert found.estimate == pytest.approx(0.1)
    assert found.interval[1] - 0.1 == pytest.approx(scipy_stats.t.ppf(0.975, 19) * math.sqrt(variance))
    assert "imagined" in found.method


@pytest.mark.parametrize(
    ("n", "better", "worse", "size"), [(100, 0.2, 0.0, 1), (200, 0.0, 0.03, 1), (200, 0.2, 0.0, 2)]
)
def test_coverage_is_95_percent_where_few_ratings_change(n: int, better: float, worse: float, size: int) -> None:
    # Before: 85 % right. Labels halved, so that kappa is 2 Po - 1. Without the imagined groups 0.89.
    rng, runs, missed = np.random.default_rng(n), 500, 0
    truth = 2 * (0.15 * better - 0.85 * worse)
    for _ in range(runs):
        reference, right = rng.integers(0, 2, n), rng.random(n) < 0.85
        u = np.repeat(rng.random(n // size), size)
        becomes = np.where(right, u >= worse, u < better)
        old, new = (np.where(flag, reference, 1 - reference) for flag in (right, becomes))
        low, high = stats.kappa_change(old, new, reference, groups=np.arange(n) // size).interval or (-2, 2)
        missed += not low <= truth <= high
    assert stats.clopper_pearson(missed, runs, level=0.99).interval[0] <= 0.05


def test_many_labels_on_many_units_need_no_table_of_both() -> None:
    rng = np.random.default_rng(1)
    old, new, reference = rng.integers(0, 300, (3, 5000))
    tracemalloc.start()
    found = stats.kappa_change(old, new, reference)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 20e6  # 7.2 GB as a table of labels for each unit
    assert found.estimate == pytest.approx(cohen_kappa_score(new, reference) - cohen_kappa_score(old, reference))
