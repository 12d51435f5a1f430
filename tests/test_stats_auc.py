"""The area under the ROC curve by unit: by hand, against scikit-learn, against resampling, and how often it covers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri
from sklearn.metrics import roc_auc_score

from recuse.stats.auc import auc


def test_the_area_by_hand() -> None:
    # Positives 3, 2, 1 against negatives 2, 0: above, above; tie, above; below, above: 4.5 of 6.
    found = auc([3, 2, 1, 2, 0], [True, True, True, False, False])
    assert found.estimate == 0.75
    assert (found.n, found.groups) == (5, 5)


def test_the_area_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    for n in (5, 50, 500):
        scores, positive = rng.integers(0, n // 2, n), rng.random(n) < 0.3
        positive[:2] = True, False
        groups = rng.integers(0, 5, n)
        for found in (auc(scores, positive), auc(scores, positive, groups=groups, cross_validated=True)):
            assert found.estimate == pytest.approx(roc_auc_score(positive, scores), abs=1e-12)


def test_a_perfect_separation_is_no_certainty() -> None:
    # With ten pairs of units, an area of 0.025 ** (1 / 10) separates all of them once in 40 times.
    found = auc(range(20), [False] * 10 + [True] * 10)
    assert (found.estimate, found.interval) == (1.0, pytest.approx((0.025 ** (1 / 10), 1.0)))
    mirrored = auc(range(20), [True] * 10 + [False] * 10)
    assert (mirrored.estimate, mirrored.interval) == (0.0, pytest.approx((0.0, 1 - 0.025 ** (1 / 10))))


def test_saying_everything_twice_adds_no_evidence() -> None:
    rng = np.random.default_rng(2)
    scores, positive = rng.normal(size=30), rng.random(30) < 0.5
    once = auc(scores, positive)
    twice = auc(np.tile(scores, 2), np.tile(positive, 2), groups=np.tile(np.arange(30), 2))
    assert twice.interval == pytest.approx(once.interval)
    naive = auc(np.tile(scores, 2), np.tile(positive, 2)).interval
    assert naive[1] - naive[0] < 0.8 * (once.interval[1] - once.interval[0])


def test_the_interval_is_as_wide_as_resampling_whole_units_says() -> None:
    rng = np.random.default_rng(3)
    codes = np.repeat(np.arange(60), 4)
    positive = np.repeat(np.arange(60) % 3 > 0, 4)
    scores = rng.normal(size=60)[codes] + 0.5 * rng.normal(size=240) + positive
    drawn = []
    for _ in range(600):
        chosen = np.concatenate([np.flatnonzero(codes == unit) for unit in rng.integers(0, 60, 60)])
        drawn.append(roc_auc_score(positive[chosen], scores[chosen]))
    low, high = auc(scores, positive, groups=codes).interval
    assert high - low == pytest.approx(2 * 2.0 * np.std(drawn), rel=0.12)  # t with 59 degrees of freedom: 2.0


@pytest.mark.parametrize("mixed", [False, True])
def test_the_interval_covers_the_true_area(mixed: bool) -> None:
    rng, true, covered = np.random.default_rng(4), 0.75, 0
    shift = np.sqrt(2) * ndtri(true)  # two normals of variance 1 that lie so far apart
    codes = np.repeat(np.arange(40), 4)
    for _ in range(400):
        positive = np.tile([True, False], 80) if mixed else codes < 20
        own = rng.normal(size=40)[codes] * np.sqrt(0.5) + rng.normal(size=160) * np.sqrt(0.5)
        low, high = auc(own + shift * positive, positive, groups=codes).interval
        covered += low <= true <= high
    assert covered >= 372  # 93 %: two standard errors below 95 %


def test_one_unit_or_one_kind_say_nothing() -> None:
    assert auc([1, 2], [True, False], groups=["a", "a"]).interval == (0.0, 1.0)
    none = auc([1, 2], [False, False])
    assert (none.estimate, none.interval, none.reason) == (None, None, "there are no positives")
    with pytest.raises(ValueError, match="2 values and 3 marks"):
        auc([1, 2], [True, False, True])
