"""Candidates that are decided one by one by e-LOND: what their p-values are worth, and what such a design finds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from instrument import Judge, bare, simulate
from scipy.integrate import quad

from recuse import stats
from recuse.discovery.online import e_value
from recuse.effects.contrast import core
from recuse.effects.plan import Design, _critical_distances, _far_distances, _log_wealth, detectable, groups_needed
from recuse.effects.plan import power_of as planned
from recuse.effects.shams import Shams
from recuse.effects.stream import calibrated, largest_p, needed


def test_a_calibrated_p_is_worth_one_on_average_under_the_null() -> None:
    # Over log p, in which the integrand of E[e] under a uniform p is smooth.
    mean, _ = quad(lambda x: calibrated(np.exp(x)) * np.exp(x), -200, 0)
    assert mean == pytest.approx(1.0, abs=1e-6)
    assert calibrated(0.0) == np.inf


@pytest.mark.parametrize(("place", "before"), [(1, 0), (2, 1), (7, 1), (30, 1)])
def test_what_is_asked_is_where_e_lond_begins_to_reject(place: int, before: int) -> None:
    asked = float(needed(np.array(place), np.array(before), level=0.05))
    earlier = [1e9] * before + [0.0] * (place - before - 1)
    assert bool(stats.e_lond([*earlier, 1.001 * asked]).rejected[-1])
    assert not bool(stats.e_lond([*earlier, 0.999 * asked]).rejected[-1])


def test_the_p_that_is_enough_is_worth_what_is_asked() -> None:
    asked = np.array([40.0, 2200.0, 18600.0])
    enough = largest_p(asked)
    assert [calibrated(p) for p in enough] == pytest.approx(asked.tolist())
    assert enough == pytest.approx([1.3e-3, 1.5e-5, 1.4e-6], rel=0.02)


def test_distances_between_powers_of_ten_are_those_of_the_exact_level() -> None:
    scatter = np.array([0.3, 1.0, 2.5])
    for level in (1.3e-3, 4e-5, 1.4e-6):
        exact = _critical_distances(scatter, 10, level)
        assert _far_distances(scatter, 10, np.full(3, level)) == pytest.approx(exact, rel=0.007)


def test_the_bet_is_foretold_from_mean_and_scatter() -> None:
    rng, judge = np.random.default_rng(0), Judge(gap_sd=0.4, at=0.2)
    found, foretold = [], []
    for _ in range(40):
        scores = simulate(judge, [0.2], rng, groups=100, shams=1)
        gaps = (scores.error[-1] - scores.error[1]).mean(axis=1)
        found.append(stats.e_value(gaps, null_mean=0.0, bounds=(-1.0, 1.0)).log)
        foretold.append(float(_log_wealth(np.array([[gaps.mean()]]), 0.4, 100)[0, 0]))
    assert np.mean(foretold) == pytest.approx(np.mean(found), abs=0.7)  # of about 10


def decided(judge: Judge, effect: float, place: int | None, rng: np.random.Generator, design: Any) -> np.ndarray:
    """Which candidates of one stream are accepted, by the e-values of `--online`; `place` has the effect."""
    values = []
    for block in range(design.blocks):
        first = block * design.each
        effects = [effect if first + i == place else 0.0 for i in range(design.each)]
        scores = simulate(judge, effects, rng, groups=design.groups, shams=10)
        null = Shams.of([bare(scores, f"sham:{i}") for i in range(10)])
        for i in range(design.each):
            found = core(scores, f"bias:{i}")
            above = (found.estimate or 0.0) > 0  # below, the bet has lost, whatever p is
            decision: Any = SimpleNamespace(arm=found.arm, effect=found, p_sham=null.pvalue(found) if above else 1.0)
            validated: Any = SimpleNamespace(stopped={}, scores=scores)
            values.append(e_value(validated, decision))
    return np.array(stats.e_lond(values).rejected)


@pytest.mark.parametrize(
    ("effect", "groups", "blocks", "each", "missing"), [(0.22, 80, 2, 3, 0.0), (0.22, 100, 3, 4, 0.02)]
)
def test_a_real_candidate_of_a_stream_is_found_as_often_as_planned(
    effect: float, groups: int, blocks: int, each: int, missing: float
) -> None:
    rng, runs = np.random.default_rng(5), 120
    judge = Judge(gap_sd=0.4, at=effect, refuses=missing)
    design = SimpleNamespace(groups=groups, blocks=blocks, each=each)
    found = 0
    for _ in range(runs):
        place = int(rng.integers(blocks * each))
        found += bool(decided(judge, effect, place, rng, design)[place])
    plan = Design(candidates=blocks * each, stream=True, missing=missing)
    share = planned(effect, groups, design=plan)
    assert 0.3 < share < 0.9
    # 2.6 standard errors of the simulated share, and the six points by which the plan may be off elsewhere too
    assert found / runs == pytest.approx(share, abs=2.6 * (0.25 / runs) ** 0.5 + 0.06)


def test_a_stream_of_meaningless_instructions_accepts_none_though_they_scatter() -> None:
    rng, design = np.random.default_rng(6), SimpleNamespace(groups=100, blocks=2, each=5)
    judge = Judge(gap_sd=0.3, sham_sd=0.03)
    wrong = sum(decided(judge, 0.0, None, rng, design).any() for _ in range(100))
    assert wrong <= 2  # at a rate of 0.05 at most 1 in 8 such tests would see so few


def test_a_stream_asks_for_more_than_one_test_of_all_and_gains_by_groups_and_by_fewer_candidates() -> None:
    stream, at_once = Design(stream=True), Design()
    assert planned(0.15, 300, design=stream) < planned(0.15, 300, design=at_once)
    assert planned(0.2, 150, design=stream) > planned(0.2, 80, design=stream)
    assert planned(0.2, 100, design=Design(stream=True, candidates=5)) > planned(0.2, 100, design=stream)
    assert planned(0.2, 100, design=Design(stream=True, real=4)) > planned(
        0.2, 100, design=stream
    )  # each helps the next
    found = groups_needed(0.2, design=stream)
    assert found.n is not None
    assert detectable(found.n, design=stream) == pytest.approx(0.2, abs=0.005)
    assert detectable(1, design=stream) is None  # one group is worth at most 1.27 to the bet
