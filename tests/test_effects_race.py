"""Stages, futility, and planning: what a design finds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

from recuse import stats
from recuse.effects.contrast import Effect
from recuse.effects.plan import Design, detectable, groups_needed, power_of
from recuse.effects.race import futile, plan_stages


def seen(estimate: float, groups: int, sd: float = 0.4) -> Effect:
    return Effect("bias:x", "placebo", estimate, se=sd / groups**0.5, p=0.5, n=groups, groups=groups)


def test_stages_part_the_groups_the_same_way_in_any_order() -> None:
    names = [f"group {i}" for i in range(200)]
    stages = plan_stages(names, shares=(0.1, 0.5, 1.0))
    assert [len(stage) for stage in stages] == [20, 80, 100]
    assert frozenset().union(*stages) == set(names)
    assert plan_stages([*names[::-1], *names], shares=(0.1, 0.5, 1.0)) == stages
    assert plan_stages(names, shares=(0.1, 0.5, 1.0), seed=1) != stages
    assert plan_stages([], shares=(0.5, 1.0)) == (frozenset(), frozenset())
    with pytest.raises(ValueError, match="must rise to 1"):
        plan_stages(names, shares=(0.5, 0.2, 1.0))


def test_the_chance_to_pass_is_that_of_simulated_continuations() -> None:
    # With a flat prior: draw the true effect about the estimate, then the rest of the groups about that.
    rng, at, total, sd = np.random.default_rng(0), 60, 300, 0.4
    for estimate in (-0.05, -0.02, -0.009, 0.0):
        truth = rng.normal(estimate, sd / at**0.5, size=200_000)
        rest = rng.normal(truth, sd / (total - at) ** 0.5)
        passing = np.mean((at * estimate + (total - at) * rest) / total >= 0.05)
        below, above = (futile(seen(estimate, at), total, chance=passing + step) for step in (-0.004, 0.004))
        assert below is None
        assert above is not None
        assert above.startswith("stopped after 60 of 300 groups")


def test_a_hopeless_candidate_stops_and_a_promising_or_finished_one_goes_on() -> None:
    assert futile(seen(-0.1, 60), 300) is not None
    assert futile(seen(0.05, 60), 300) is None
    assert futile(seen(-0.1, 300), 300) is None
    assert futile(seen(-0.5, 19), 300) is None
    assert futile(Effect("bias:x", "placebo", None, reason="no pair has a usable text in both arms"), 300) is None


def test_power_grows_with_groups_and_effect_and_falls_with_scatter_and_candidates() -> None:
    assert power_of(0.1, 300) > power_of(0.1, 150) > power_of(0.1, 50)
    assert power_of(0.15, 150) > power_of(0.08, 150)
    plain = power_of(0.1, 300, design=Design(real=2))
    assert plain > power_of(0.1, 300, design=Design(real=2, sham_sd=0.03))
    assert plain > power_of(0.1, 300, design=Design(real=2, gap_sd=0.5))
    assert plain > power_of(0.1, 300, design=Design(real=1, candidates=100))
    assert power_of(0.0, 300) <= 0.01


@pytest.mark.parametrize(
    ("gap_sd", "sham_sd", "shams", "real"), [(0.4, 0.0, 10, 1), (0.3, 0.03, 5, 2), (0.5, 0.01, 20, 4)]
)
def test_power_by_table_is_that_of_every_predictive_p(gap_sd: float, sham_sd: float, shams: int, real: int) -> None:
    plan = Design(gap_sd=gap_sd, sham_sd=sham_sd, shams=shams, real=real)
    error = gap_sd / 200**0.5
    own, scatter, found = error / 2**0.5, np.hypot(error / 2**0.5, sham_sd), 0
    for shared, *others in np.random.default_rng(0).standard_normal((200, 1 + shams + real)):
        known, new = (own * shared + scatter * np.array(part) for part in (others[:shams], others[shams:]))
        p = np.ones(plan.candidates)
        for i, estimate in enumerate(new + 0.1):
            alone = stats.predictive_pvalue(float(estimate), own, known, np.full(shams, own)).pvalue
            p[i] = max(float(ndtr(-estimate / error)), alone or 0.0)
        rejected = np.array(stats.benjamini_hochberg(p).tolist())[:real] <= plan.fdr
        found += int((rejected & (new + 0.1 >= 0.05)).sum())
    # A candidate or two may lie at the very threshold.
    assert power_of(0.1, 200, design=plan, runs=200) == pytest.approx(found / 200 / real, abs=0.011)


def test_groups_needed_and_detectable_effect_are_each_others_inverse() -> None:
    found = groups_needed(0.1, power=0.9)
    assert found.n is not None
    assert found.power is not None
    assert found.power >= 0.9
    assert power_of(0.1, found.n - max(2, found.n // 20)) < 0.9
    assert detectable(found.n, power=0.9) == pytest.approx(0.1, abs=0.003)
    assert groups_needed(0.1, design=Design(gap_sd=0.2)).n < found.n
    # The shams' scatter does not average out over groups: beside 3 points, 8 are never found in nine of ten runs.
    hopeless = groups_needed(0.08, design=Design(sham_sd=0.03))
    assert (hopeless.n, hopeless.reason) == (None, "more than 100000 groups are needed")
    assert detectable(5, design=Design(gap_sd=1.0)) is None


def test_a_senseless_design_is_refused() -> None:
    with pytest.raises(ValueError, match="acceptance needs 5 shams"):
        Design(shams=4)
    with pytest.raises(ValueError, match="gap_sd"):
        Design(gap_sd=0)
    with pytest.raises(ValueError, match="real"):
        Design(candidates=2, real=3)


@pytest.mark.parametrize(
    ("groups", "missing", "simulated", "runs"),
    [(240, 0.03, 0.450, 250), (285, 0.01, 0.81, 100), (480, 0.03, 0.83, 100)],
)
def test_the_plan_knows_what_missing_verdicts_cost(groups: int, missing: float, simulated: float, runs: int) -> None:
    """Beside the simulated judges of experiments/instrument with two real candidates, by the pairs that were left."""
    planned = power_of(0.1, groups, design=Design(real=2, gap_sd=0.41, missing=missing))
    assert planned == pytest.approx(simulated, abs=2.6 * (0.25 / runs) ** 0.5)
    assert planned < power_of(0.1, groups, design=Design(real=2, gap_sd=0.41))


def test_a_share_of_missing_verdicts_is_a_share() -> None:
    with pytest.raises(ValueError, match="missing must lie"):
        Design(missing=1.0)
