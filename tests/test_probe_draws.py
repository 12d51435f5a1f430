"""How often a prompt is decided: the power that is promised is the power that simulated probes have."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as reference

from recuse.backends.base import Capabilities
from recuse.probes.draws import MOST, decision_draws
from recuse.stats import power_paired_gap

SAMPLES = Capabilities()
DESIGN = {"tolerance": 0.05, "templates": 60, "names": 4, "sd_template": 0.05}


def found(templates: int, names: int, draws: int, gap: float, sd_template: float, runs: int = 2000) -> float:
    """Share of simulated probes whose t-test over templates finds the gap: decisions drawn one by one."""
    rng = np.random.default_rng(1)
    own = rng.normal(gap, sd_template, size=(runs, templates)) if sd_template else np.full((runs, templates), gap)
    size = names * draws
    yes = [rng.binomial(size, np.clip(0.5 + sign * own / 2, 0, 1)) / size for sign in (1, -1)]
    gaps = yes[0] - yes[1]
    t = gaps.mean(1) / (gaps.std(1, ddof=1) / math.sqrt(templates))
    return float((np.abs(t) > reference.t.ppf(0.975, templates - 1)).mean())


def test_simulated_probes_find_a_gap_of_the_tolerance_with_the_power_asked_for():
    plan = decision_draws(SAMPLES, **DESIGN)
    assert plan.n == plan.needed
    assert found(60, 4, plan.n, 0.05, 0.05) == pytest.approx(0.9, abs=0.03)
    assert found(60, 4, plan.n - 2, 0.05, 0.05) < 0.88


def test_the_sign_flip_test_on_whole_decisions_has_that_power_too():
    plan = decision_draws(SAMPLES, tolerance=0.1, templates=40, names=4, sd_template=0.0, power=0.8)
    enough, short = (
        power_paired_gap(0.55, 0.45, templates=40, names=4, seeds=n, runs=400) for n in (plan.n, plan.n - 2)
    )
    assert enough.interval[1] > 0.8 > short.interval[1]


def test_a_product_without_a_gap_stays_inside_the_tolerance_with_a_power_of_point_eight():
    plan = decision_draws(SAMPLES, **DESIGN)
    rng, runs, size = np.random.default_rng(2), 2000, 4 * plan.n
    own = rng.normal(0, 0.05, size=(runs, 60))
    gaps = (rng.binomial(size, 0.5 + own / 2) - rng.binomial(size, 0.5 - own / 2)) / size
    half = reference.t.ppf(0.975, 59) * gaps.std(1, ddof=1) / math.sqrt(60)
    assert (np.abs(gaps.mean(1)) + half < 0.05).mean() == pytest.approx(0.8, abs=0.04)


def test_without_scatter_between_templates_the_number_is_the_textbook_one():
    """Two shares near 1/2: n = 2 p (1 - p) (z + z)^2 / gap^2 decisions a group, a little more for the t-test."""
    plan = decision_draws(SAMPLES, tolerance=0.05, templates=200, names=4, sd_template=0.0, power=0.9)
    textbook = 0.5 * (reference.norm.ppf(0.975) + reference.norm.ppf(0.9)) ** 2 / 0.05**2 / (200 * 4)
    assert plan.n == math.ceil(textbook * 1.02)
    assert plan.calls == 2 * 200 * 4 * plan.n


def test_the_cap_is_kept_and_says_what_can_still_be_found():
    plan = decision_draws(SAMPLES, tolerance=0.025, templates=60, names=4, sd_template=0.02)
    assert plan.needed is not None
    assert plan.n == MOST < plan.needed
    assert f"the cap is {MOST}" in plan.why
    assert found(60, 4, MOST, plan.gap, 0.02) == pytest.approx(0.9, abs=0.03)
    assert decision_draws(SAMPLES, tolerance=0.025, templates=60, names=4, sd_template=0.02, most=200).n == plan.needed


def test_where_templates_scatter_too_much_no_number_of_draws_is_named():
    plan = decision_draws(SAMPLES, tolerance=0.05, templates=20, names=6, sd_template=0.1)
    assert (plan.n, plan.needed) == (MOST, None)
    assert plan.gap > 0.05
    assert "No number of draws" in plan.why
    assert plan.why.endswith("Add templates.")


def test_probabilities_need_one_call_a_prompt_without_heat():
    plan = decision_draws(Capabilities(logprobs=True, seed=True), **DESIGN, seed=3)
    assert (plan.n, plan.needed, plan.calls) == (1, None, 480)
    assert (plan.sampling.temperature, plan.sampling.top_logprobs, plan.sampling.seed) == (0.0, 20, None)


def test_greedy_decoding_is_never_counted_as_draws():
    plan = decision_draws(Capabilities(greedy=True), **DESIGN, temperature=0.0)
    assert (plan.n, plan.calls) == (1, 480)
    assert "greedy" in plan.why
    assert decision_draws(Capabilities(greedy=True), **DESIGN).n > 1


def test_sampled_draws_are_sent_as_the_backend_takes_them():
    fixed = decision_draws(Capabilities(temperature=False, seed=True), **DESIGN, seed=3).sampling
    free = decision_draws(SAMPLES, **DESIGN, seed=3).sampling
    assert (fixed.temperature, fixed.seed, fixed.top_logprobs) == (None, 3, 0)
    assert (free.temperature, free.seed) == (1.0, None)


@pytest.mark.parametrize("wrong", [{"tolerance": 0.0}, {"tolerance": 1.0}, {"templates": 1}, {"names": 0}, {"most": 0}])
def test_a_design_that_says_nothing_is_refused(wrong):
    with pytest.raises(ValueError):
        decision_draws(SAMPLES, **{**DESIGN, **wrong})
