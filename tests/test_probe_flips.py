"""`recuse probe analyse`: a decision that flips, held against how often one text is decided differently."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from recorded_world import Row, analysed, design, row, scores


def sampler(seed: int, *, seeds: int, gap: float = 0.0) -> list[Row]:
    rng = np.random.default_rng(seed)
    rows = []
    for t, g, k, s in design(40, 4, seeds):
        sign = 1 if (g == "A") == (t % 2 == 0) else -1  # the templates favour A and B in turn: no gap on average
        rows.append(row(t, g, k, s, approved=int(rng.random() < 0.5 + sign * gap / 2)))
    return rows


def test_a_model_that_only_samples_flips_often_and_not_above_its_noise(tmp_path: Path) -> None:
    found = analysed(tmp_path, sampler(2, seeds=5)).flips
    assert found is not None
    assert found.rate.estimate == pytest.approx(0.5, abs=0.05)
    assert found.noise.estimate == pytest.approx(0.5, abs=0.05)
    assert found.above_noise.interval is not None
    assert found.above_noise.interval[0] < 0 < found.above_noise.interval[1]
    assert found.runs == 5


def test_decisions_that_follow_the_group_flip_above_noise_even_without_a_gap(tmp_path: Path) -> None:
    result = analysed(tmp_path, sampler(3, seeds=5, gap=0.6))
    found = result.flips
    assert result.gap.found.interval is not None
    assert result.gap.found.interval[0] < 0 < result.gap.found.interval[1]
    assert found is not None
    # p = 0.8, q = 0.2: 0.68 of pairs differ, 0.32 of redraws; the excess is (p - q)^2 = 0.36.
    assert found.rate.estimate == pytest.approx(0.68, abs=0.03)
    assert found.noise.estimate == pytest.approx(0.32, abs=0.03)
    assert found.above_noise.estimate == pytest.approx(0.36, abs=0.04)
    for above in (found.above_noise, found.above_names):
        assert above.interval is not None
        assert above.interval[0] > 0.2


def test_flips_and_noise_by_hand(tmp_path: Path) -> None:
    decisions = {("A", 0): [1, 1, 1, 1, 0], ("B", 0): [0, 0, 0, 1, None]}
    rows = [row(0, g, k, s, approved=x) for (g, k), draws in decisions.items() for s, x in enumerate(draws)]
    found = analysed(tmp_path, rows, least_names=1).flips
    assert found is not None
    assert found.rate.estimate == pytest.approx(3 / 4)  # of the four seeds with both
    # A: 4 of 10 pairs of draws differ; B: 3 of 6.
    assert found.noise.estimate == pytest.approx((4 / 10 + 3 / 6) / 2)
    assert found.names.estimate is None


def test_fewer_than_five_runs_and_cached_replies_give_no_floor(tmp_path: Path) -> None:
    three = analysed(tmp_path, sampler(2, seeds=3))
    cached = analysed(tmp_path, [one | {"fresh": one["seed"] < 3} for one in sampler(2, seeds=6)])
    for found in (three, cached):
        assert found.flips is not None
        assert found.flips.rate.estimate is not None
        assert found.flips.noise.estimate is None
        assert found.flips.above_noise.estimate is None
        assert any("has to be run 5 times, the least was run 3" in note for note in found.notes)


def test_runs_of_one_name_with_other_texts_are_not_runs_of_one_input(tmp_path: Path) -> None:
    rows = [one | {"prompt": f"text {one['seed'] % 2}"} for one in sampler(2, seeds=6)]
    found = analysed(tmp_path, rows).flips
    assert found is not None
    assert found.runs == 3


def test_scores_have_no_flips(tmp_path: Path) -> None:
    assert analysed(tmp_path, scores(1, templates=8, scatter=0.3), "score").flips is None
