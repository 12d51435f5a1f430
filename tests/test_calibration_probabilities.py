"""The reliability curve and its error: by hand, as scikit-learn has it, and with the coverage that it promises."""

from __future__ import annotations

import math

import numpy as np
import pytest
from calibration_world import said
from sklearn.calibration import calibration_curve

from recuse import stats
from recuse.calibration import Beside
from recuse.calibration.probabilities import calibration_error
from recuse.types import Judgement


def test_the_curve_is_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    p = np.r_[rng.beta(0.5, 0.5, 300), np.arange(11) / 10, 0.29]  # edges too
    y = (rng.random(p.size) < p).astype(float)
    for bins in (5, 10, 100):
        true, stated = calibration_curve(y, p, n_bins=bins)
        curve = [b for b in stats.reliability_curve(p, y, bins=bins) if b.n]
        assert [b.observed for b in curve] == pytest.approx(true.tolist())
        assert [b.stated for b in curve] == pytest.approx(stated.tolist())
        counts = [b.n for b in curve]
        error = sum(n * abs(t - s) for n, t, s in zip(counts, true, stated, strict=True)) / sum(counts)
        found = stats.expected_calibration_error(p, y, bins=bins, resamples=10)
        assert found.estimate == pytest.approx(error)


def test_the_error_by_hand() -> None:
    # bins of ten: 0.05 and 0.1 in the first (one of two true), 0.8 in the eighth (one of one true), a tie at 0.55
    found = stats.expected_calibration_error([0.05, 0.1, 0.8, 0.55], [0, 1, 1, 0.5], resamples=10)
    assert found.estimate == pytest.approx((abs(0.15 - 1) + 0.2 + 0.05) / 4)
    curve = stats.reliability_curve([0.05, 0.1, 0.8, 0.55], [0, 1, 1, 0.5])
    assert [b.n for b in curve] == [2, 0, 0, 0, 0, 1, 0, 1, 0, 0]
    assert (curve[1].stated, curve[1].observed) == (None, None)


@pytest.mark.parametrize(("slope", "least"), [(1.0, 0.93), (0.6, 0.88)])
def test_the_interval_covers_the_error_and_reaches_0_without_one(slope: float, least: float) -> None:
    rng = np.random.default_rng(1)
    grid = rng.beta(0.6, 0.6, 200_000)
    place = np.minimum((grid * 10).astype(int), 9)
    off = grid - (0.5 + (grid - 0.5) * slope)
    truth = float(np.abs(np.bincount(place, weights=off)).sum() / grid.size)
    covered = 0
    for seed in range(150):
        p = rng.beta(0.6, 0.6, 150)
        y = (rng.random(150) < 0.5 + (p - 0.5) * slope).astype(float)
        low, high = stats.expected_calibration_error(p, y, resamples=200, seed=seed).interval or (1.0, 0.0)
        covered += low <= truth + 1e-9 and truth <= high
    assert covered >= (least - 0.05) * 150  # two standard errors under the measured coverage


def test_a_pair_in_both_orders_is_one_unit() -> None:
    rng = np.random.default_rng(4)
    p, groups = rng.random(60), np.arange(60)
    y = (rng.random(60) < p).astype(float)
    once = stats.expected_calibration_error(p, y, groups=groups)
    twice = stats.expected_calibration_error(np.r_[p, p], np.r_[y, y], groups=np.r_[groups, groups])
    assert twice.estimate == pytest.approx(once.estimate)
    assert twice.interval == pytest.approx(once.interval)
    assert twice.pvalue == once.pvalue
    assert (twice.n, twice.groups) == (120, 60)


@pytest.mark.parametrize(
    ("p", "y"), [([0.5], [0.5, 1]), ([1.5], [1]), ([0.5], [2]), ([float("nan")], [1]), ([0.5], [-0.1])]
)
def test_what_is_no_probability_is_refused(p: list[float], y: list[float]) -> None:
    with pytest.raises(ValueError):
        stats.expected_calibration_error(p, y)


def test_nothing_stated_gives_no_number() -> None:
    assert stats.expected_calibration_error([], []).reason == "no statements"
    assert stats.expected_calibration_error([0.5, 0.7], [1, 0], groups=[1, 1]).interval is None


def test_the_judges_probability_is_that_of_the_answer_shown_first() -> None:
    # 0.9 for the chosen answer in both orders: 0.9 for the first in AB and 0.1 in BA; people: chosen, rejected, tie
    logit = math.log(9)
    rows = [Judgement(p, p, o, "chosen", logit=logit) for p in "123" for o in ("AB", "BA")]  # type: ignore[arg-type]
    rows.append(Judgement("4", "4", "AB", "chosen"))
    table = Beside.of(rows, said({"1": "c", "2": "r", "3": "t", "4": "c"}))
    found = calibration_error(table, level=0.95).finding
    # stated 0.9, observed (1 + 0 + 0.5) / 3 in the one bin; 0.1 and 0.5 in the other
    assert found.estimate == pytest.approx(0.4)
    assert found.details["without_logits"] == 1
    assert [(b["n"], b["observed"]) for b in found.details["curve"] if b["n"]] == [(3, 0.5), (3, 0.5)]


def test_log_odds_without_limit_are_no_trouble() -> None:
    rows = [Judgement(p, p, "AB", "chosen", logit=x) for p, x in (("1", 900.0), ("2", -900.0))]
    found = calibration_error(Beside.of(rows, said({"1": "c", "2": "r"})), level=0.95).finding
    assert found.estimate == 0.0


def test_a_judge_without_probabilities_says_so() -> None:
    table = Beside.of([Judgement("1", "1", "AB", "chosen")], said({"1": "c"}))
    found = calibration_error(table, level=0.95).finding
    assert (found.estimate, found.reason) == (None, "no log-probabilities on labelled pairs")
