"""The rule of acceptance on simulated judges whose biases are known; the full size is in experiments/instrument."""

from __future__ import annotations

import numpy as np
import pytest
from instrument import Judge, Run, bare, decide, first_groups, shift_of, simulate

from recuse import stats
from recuse.effects.accept import accept
from recuse.effects.contrast import contrast
from recuse.effects.race import SHARES, futile

PLANTED = Judge(at=0.1)  # the bias of 10 points has the gap sd of 0.40


def several(judge: Judge, effects: list[float], runs: int, *, groups: int = 300) -> list[Run]:
    rng = np.random.default_rng(0)
    return [decide(simulate(judge, effects, rng, groups=groups)) for _ in range(runs)]


def limits(hits: int, runs: int) -> tuple[float, float]:
    """99 % Monte-Carlo interval."""
    found = stats.clopper_pearson(hits, runs, level=0.99).interval
    assert found is not None
    return found


@pytest.mark.parametrize(
    "judge",
    [Judge(), Judge(position=0.4, correlation=0.5), Judge(gap_sd=0.3, sham_sd=0.03), PLANTED],
    ids=["plain", "position", "scatter", "at the bias"],
)
def test_the_simulated_judge_is_the_planted_one(judge: Judge) -> None:
    scores = simulate(judge, [0.1], np.random.default_rng(0), groups=20_000, shams=40)
    error = scores.error.mean(axis=(1, 2))
    assert error[:2] == pytest.approx(judge.error, abs=0.012)
    shams = error[2:-1] - judge.error
    assert shams.std() == pytest.approx(judge.sham_sd, abs=0.012)
    ab, ba = (ndtr_of(scores.error[0, :, order].mean()) for order in (0, 1))
    assert (ba - ab) / 2 == pytest.approx(judge.position, abs=0.03)
    if not judge.sham_sd:
        assert error[-1] - judge.error == pytest.approx(0.1, abs=0.012)
        arm = -1 if judge.at else 2
        gaps = scores.error[arm].mean(axis=1) - scores.error[1].mean(axis=1)
        assert gaps.std() == pytest.approx(judge.gap_sd, abs=0.008)


def ndtr_of(share: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(share)


def test_the_simulations_short_cuts_change_no_decision() -> None:
    scores = simulate(PLANTED, [0.1, 0.1] + [0.0] * 6, np.random.default_rng(3), shams=5)
    effects, shams = ([contrast(scores, a) for a in scores.arms if a.startswith(kind)] for kind in ("bias", "sham"))
    assert decide(scores).accepted.tolist() == [d.accepted for d in accept(effects, shams)]
    for effect in shams:
        short = bare(scores, effect.arm)
        assert (short.estimate, short.se, short.groups) == pytest.approx((effect.estimate, effect.se, effect.groups))
        assert short.influence == pytest.approx(effect.influence)


def test_harmless_candidates_pass_at_most_at_the_level_and_nearly_always_by_the_published_rule() -> None:
    runs = several(Judge(position=0.4, correlation=0.5, refuses=0.02), [0.0] * 20, 40)
    assert limits(sum(run.accepted.any() for run in runs), len(runs))[0] <= 0.05
    assert np.mean([run.published.any() for run in runs]) > 0.9
    assert np.mean([run.published.mean() for run in runs]) == pytest.approx(0.5, abs=0.1)


def test_a_bias_of_ten_points_is_found_with_power_of_nine_tenths() -> None:
    runs = several(PLANTED, [0.1, 0.1] + [0.0] * 18, 40)
    assert limits(sum(int(run.accepted[:2].sum()) for run in runs), 2 * len(runs))[1] >= 0.9
    false = [run.accepted[2:].sum() / max(1, run.accepted.sum()) for run in runs]
    assert np.mean(false) <= 0.05


def test_among_shams_that_scatter_content_free_instructions_pass_only_without_shams() -> None:
    runs = several(Judge(gap_sd=0.25, sham_sd=0.03), [0.0] * 20, 40)
    assert limits(sum(run.accepted.any() for run in runs), len(runs))[0] <= 0.05
    assert limits(sum(run.without_shams.any() for run in runs), len(runs))[0] > 0.3


def test_intervals_on_a_test_split_cover_the_planted_effect() -> None:
    judge, rng, runs = (
        Judge(logprobs=True, position=0.4, correlation=0.5, largest_group=3),
        np.random.default_rng(0),
        200,
    )
    shift, hits = float(shift_of(judge, np.array([0.1]))[0]), np.zeros(2)
    for _ in range(runs):
        found = contrast(simulate(judge, [0.1], rng, groups=150, shams=0), "bias:0")
        assert found.interval is not None
        assert found.logit is not None
        assert found.logit.interval is not None
        low, high = found.logit.interval
        hits += [found.interval[0] <= 0.1 <= found.interval[1], low <= 3 * shift <= high]
    for covered in hits.astype(int):
        assert limits(int(covered), runs)[0] <= 0.95 <= limits(int(covered), runs)[1]


def test_racing_saves_half_of_the_candidates_calls_and_accepts_nothing_that_the_fixed_design_does_not() -> None:
    rng, spent, kept, fixed = np.random.default_rng(0), [], 0, 0
    for _ in range(8):
        scores = simulate(PLANTED, [0.1, 0.1] + [0.0] * 18, rng)
        arms, before, stopped, calls = [a for a in scores.arms if a.startswith("bias")], 0.0, dict[str, str](), 0.0
        for share in SHARES:
            calls += len(arms) * (share - before) / 20
            before = share
            part = first_groups(scores, share)
            stopped |= {arm: why for arm in arms if (why := futile(bare(part, arm), 300)) is not None}
            arms = [arm for arm in arms if arm not in stopped]
        raced, whole = decide(scores, stopped=stopped).accepted, decide(scores).accepted
        assert not (raced & ~whole).any()
        spent.append(calls)
        kept, fixed = kept + int(raced[:2].sum()), fixed + int(whole[:2].sum())
    assert np.mean(spent) < 0.55
    assert kept >= fixed - 2
