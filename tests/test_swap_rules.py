"""The rule of a swap test, its completions and its planning, against hand counts and simulation."""

from __future__ import annotations

import numpy as np
import pytest

from recuse import stats
from recuse.swap.gaps import Gap, Rows, excess, rule, size


def gap_of(pairs, *, bounds=(0.0, 1.0), seed=0, resamples=2000):
    rows = Rows()
    for i, (a, b) in enumerate(pairs):
        rows.add(f"t{i:03}", "a", "x", a)
        rows.add(f"t{i:03}", "b", "y", b)
    return Gap.of(rows, "a", "b", bounds=bounds, level=0.95, seed=seed, resamples=resamples)


def drawn(mean: float, sd: float, n: int, seed: int, **more) -> Gap:
    gaps = np.random.default_rng(seed).normal(mean, sd, n)
    return gap_of([(0.5 + g / 2, 0.5 - g / 2) for g in np.clip(gaps, -1, 1)], **more)


@pytest.mark.parametrize(("sd", "templates"), [(0.1, 325), (0.2, 1300)])
def test_the_number_of_templates_is_the_published_one_at_these_scatters(sd, templates):
    """(1.96 + 1.645)^2 (sd / 0.02)^2 is 325 and 1,300; Student's t asks for a few more."""
    half = 100
    gap = gap_of([(0.5 + s * sd / 2, 0.5 - s * sd / 2) for s in (1, -1) for _ in range(half)])
    exact = sd * np.sqrt(2 * half / (2 * half - 1))
    assert gap.sd == pytest.approx(exact)
    assert 0 <= gap.needed(0.02, level=0.95) - templates * (exact / sd) ** 2 <= 4


def test_without_scatter_it_takes_as_many_as_exclude_a_rare_value_at_the_end_of_the_scale():
    """Share p of unseen gaps of 9 points shifts the mean by 0.1 at p = 0.1 / 9; (1 - p)^n is under 0.025 from n on."""
    gap = gap_of([(5.0, 5.0)] * 20, bounds=(1.0, 10.0))
    needed = gap.needed(0.1, level=0.95)
    assert (1 - 0.1 / 9) ** needed <= 0.025 < (1 - 0.1 / 9) ** (needed - 1)
    for n, inside in ((needed - 1, False), (needed, True)):
        assert gap_of([(5.0, 5.0)] * n, bounds=(1.0, 10.0)).inside(0.1) is inside


def test_missing_verdicts_are_completed_against_fit_and_against_recuse():
    gap = gap_of([(0.9, 0.1)] * 10 + [(None, 0.1)] * 5 + [(None, None)] * 5)
    assert gap.estimate == pytest.approx(0.8)
    assert sorted(gap.low) == pytest.approx([-1.0] * 5 + [-0.1] * 5 + [0.8] * 10)
    assert sorted(gap.high) == pytest.approx([0.8] * 10 + [0.9] * 5 + [1.0] * 5)
    assert gap.beyond(0.02, "greater") > 0.05  # the least completion has a mean of 0.125 with much scatter
    assert gap.careful.worst == pytest.approx((0.125, 0.875))


def test_holm_runs_over_all_gaps_that_are_ruled_on_together():
    """One gap alone is beyond its tolerance; the same one among nineteen others is not."""
    near = next(g for seed in range(200) if 0.01 < (g := drawn(0.09, 0.2, 40, seed)).outside(0.02) < 0.04)
    others = [(drawn(0.0, 0.2, 40, 1000 + i), 0.02) for i in range(19)]
    assert rule([(near, 0.02)], [[]], level=0.95)[0].outcome == "recuse"
    among = rule([(near, 0.02), *others], [[]] * 20, level=0.95)
    assert among[0].outcome == "inconclusive"
    assert among[0].p_outside == pytest.approx(20 * near.outside(0.02))


def test_a_gap_that_was_not_measured_has_no_outcome_and_takes_no_part_in_holm():
    none = gap_of([(None, None)] * 5)
    one = drawn(0.3, 0.1, 30, 1)
    found = rule([(none, 0.02), (one, 0.02)], [[], []], level=0.95)
    assert (found[0].outcome, found[1].outcome) == (None, "recuse")
    assert found[1].p_outside == one.outside(0.02)


def test_excess_is_small_only_where_the_gap_beats_the_floor_in_either_direction():
    gap = drawn(-0.3, 0.1, 60, 1)
    assert excess(gap, [drawn(0.0, 0.1, 60, 2)]) < 0.001
    for floor in (0.3, -0.3):
        assert excess(gap, [drawn(floor, 0.1, 60, 3)]) > 0.05
    assert excess(gap, [drawn(0.0, 0.1, 60, 2), drawn(0.3, 0.1, 60, 3)]) > 0.05


def test_size_is_the_mean_absolute_difference_of_matched_rows():
    rows = Rows()
    for template, side, value in (
        ("t", "a", 5.0), ("t", "a", 7.0), ("t", "b", 6.0), ("t", "b", None), ("u", "a", 1.0), ("u", "b", 4.0),
    ):  # fmt: skip
        rows.add(template, side, "", value)
    assert size(rows, "a", "b") == (1.0 + 3.0) / 2


@pytest.mark.slow
def test_a_judge_at_the_edge_of_the_tolerance_is_failed_at_most_at_the_level():
    """400 simulated runs of 40 templates whose true gap is the tolerance: failed in at most 2.5 %, two-sided 5 %."""
    failed = sum(
        rule([(drawn(0.05, 0.1, 40, seed, resamples=500), 0.05)], [[]], level=0.95)[0].outcome == "recuse"
        for seed in range(400)
    )
    assert stats.clopper_pearson(failed, 400, level=0.99).interval[0] <= 0.025
