"""Holm, Benjamini-Hochberg and the planning figure."""

from __future__ import annotations

import numpy as np
import pytest

from recuse import stats


def test_adjustments_by_hand() -> None:
    assert stats.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert stats.benjamini_hochberg([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.04, 0.04])
    assert stats.holm([0.6, 0.9]).tolist() == [1.0, 1.0]
    assert stats.holm([]).size == 0


def test_adjustments_agree_with_statsmodels() -> None:
    from statsmodels.stats.multitest import multipletests

    rng = np.random.default_rng(0)
    for size in (1, 2, 7, 50):
        p = np.round(rng.random(size) ** 3, 2)  # with ties
        assert stats.holm(p) == pytest.approx(multipletests(p, method="holm")[1])
        assert stats.benjamini_hochberg(p) == pytest.approx(multipletests(p, method="fdr_bh")[1])


def test_family_error_and_false_discovery_rate_are_held() -> None:
    rng, runs = np.random.default_rng(1), 4000
    p = rng.random((runs, 10))
    p[:, :4] **= 8  # four real effects
    false_holm = np.array([(stats.holm(row)[4:] <= 0.05).any() for row in p])
    rejected = np.array([stats.benjamini_hochberg(row) <= 0.05 for row in p])
    rate = (rejected[:, 4:].sum(axis=1) / np.maximum(rejected.sum(axis=1), 1)).mean()
    assert stats.clopper_pearson(int(false_holm.sum()), runs, level=0.99).interval[0] <= 0.05
    assert rate == pytest.approx(0.05 * 6 / 10, abs=0.01)  # BH's rate is the level times the share of true nulls


@pytest.mark.parametrize("bad", [[0.1, float("nan")], [-0.1], [1.2]])
def test_what_is_no_pvalue_is_refused(bad: list[float]) -> None:
    for adjust in (stats.holm, stats.benjamini_hochberg):
        with pytest.raises(ValueError, match="between 0 and 1"):
            adjust(bad)


def test_pairs_needed_by_hand() -> None:
    # Half width 0.1 at n = 100 and 0.05 of room: four times the pairs.
    assert stats.pairs_needed(0.2, (0.1, 0.3), 100, None, 0.25) == 400
    assert stats.pairs_needed(0.3, (0.2, 0.4), 100, None, 0.25) == 400
    assert stats.pairs_needed(0.5, (0.4, 0.6), 100, 0.45, 0.6) == 400
    assert stats.pairs_needed(0.1, (0.05, 0.15), 100, 0.2, None) == 100
    assert stats.pairs_needed(0.25, (0.2, 0.3), 100, None, 0.25) is None
    assert stats.pairs_needed(0.251, (0.2, 0.3), 100, None, 0.25) is None
    assert stats.pairs_needed(0.251, (0.201, 0.3), 100, None, 0.25, max_factor=1e4) == pytest.approx(250_000, abs=1)
    assert stats.pairs_needed(0.0, (0.0, 0.09), 40, 0.0, 0.05) == pytest.approx(130, abs=1)


def test_the_pairs_needed_do_decide_about_half_the_time() -> None:
    # True rate as estimated: the interval's far end then lies inside with probability a half.
    estimate, n = 0.2, 100
    needed = stats.pairs_needed(estimate, stats.wilson_interval(20, 100).interval, n, None, 0.25)
    k = np.random.default_rng(2).binomial(needed, estimate, size=2000)
    inside = np.mean([stats.wilson_interval(int(v), needed).interval[1] <= 0.25 for v in k])
    assert 0.35 < inside < 0.7
