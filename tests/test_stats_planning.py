"""Planning figures: against statsmodels and brute force, and whether runs of that size do what was promised."""

from __future__ import annotations

import math

import numpy as np
import pytest

from recuse import stats


def holds(hits: int, runs: int, promised: float) -> bool:
    return stats.clopper_pearson(hits, runs, level=0.99).interval[1] >= promised


@pytest.mark.parametrize(("gap", "sd"), [(0.05, 0.2), (0.5, 0.2), (-0.02, 0.3), (0.15, 0.3)])
def test_templates_needed_agree_with_statsmodels(gap: float, sd: float) -> None:
    from statsmodels.stats.power import TTestPower

    plan = stats.design_for_gap(gap, sd_template=sd)
    assert plan.power == pytest.approx(TTestPower().power(abs(gap) / sd, plan.templates, 0.05))
    assert plan.power >= 0.8 > TTestPower().power(abs(gap) / sd, plan.templates - 1, 0.05)


def test_names_and_seeds_enter_by_hand() -> None:
    # 0.1^2 + 2 * 0.3^2 / 3 + 2 * 0.6^2 / (3 * 4) = 0.01 + 0.06 + 0.06
    parts = {"sd_template": 0.1, "sd_name": 0.3, "sd_seed": 0.6, "names": 3, "seeds": 4}
    whole = stats.design_for_gap(0.1, sd_template=math.sqrt(0.13))
    found = stats.design_for_gap(0.1, **parts)
    assert (found.templates, found.calls) == (whole.templates, whole.templates * 24)
    assert found.power == pytest.approx(whole.power)
    assert stats.detectable_gap(whole.templates, power=whole.power, **parts).gap == pytest.approx(0.1)


def test_detectable_gap_is_found_as_often_as_it_says_down_to_two_templates() -> None:
    from scipy.stats import t

    rng = np.random.default_rng(0)
    for templates in (2, 3, 12):
        gap = stats.detectable_gap(templates, sd_template=1.0).gap
        drawn = rng.normal(gap, 1, size=(20_000, templates))
        reach = t.ppf(0.975, templates - 1) * drawn.std(axis=1, ddof=1) / math.sqrt(templates)
        assert np.mean(np.abs(drawn.mean(axis=1)) > reach) == pytest.approx(0.8, abs=0.012)


def test_the_closed_form_holds_for_yes_or_no_decisions() -> None:
    # Rates 0.45 and 0.6, nothing but decisions vary: variance of a decision about 0.245.
    plan = stats.design_for_gap(0.15, sd_template=0.0, sd_seed=math.sqrt(0.24375), names=2, seeds=2)
    simulated = stats.power_paired_gap(0.6, 0.45, templates=plan.templates, names=2, seeds=2, runs=1000)
    assert simulated.estimate == pytest.approx(plan.power, abs=0.05)
    assert simulated.interval[0] < simulated.estimate < simulated.interval[1]


def test_simulated_probes_have_the_rates_and_the_level_that_they_say() -> None:
    scatter = {"sd_template": 0.8, "sd_gap": 0.5, "sd_name": 0.4}
    level = stats.power_paired_gap(0.2, 0.2, templates=40, names=2, seeds=2, runs=1000, **scatter)
    assert level.interval[0] <= 0.05
    # A gap that all templates share is found more often than one that varies between them.
    steady = stats.power_paired_gap(0.2, 0.35, templates=40, names=2, seeds=2, runs=300, sd_template=0.8)
    varying = stats.power_paired_gap(0.2, 0.35, templates=40, names=2, seeds=2, runs=300, **scatter, seed=1)
    assert steady.estimate > varying.estimate
    assert stats.power_paired_gap(0.0, 1.0, templates=20, runs=5).estimate == 1
    assert stats.power_paired_gap(1.0, 1.0, templates=20, runs=5).estimate == 0


def test_pairs_for_a_half_width_are_the_fewest_with_that_wilson_interval() -> None:
    for rate, half in ((0.2, 0.05), (0.5, 0.1), (0.0, 0.03), (1.0, 0.2)):
        plan = stats.pairs_for_rate(rate, half_width=half)
        for n, enough in ((plan.n, True), (plan.n - 1, False)):
            low, high = stats.wilson_interval(rate * n, n).interval
            assert ((high - low) / 2 <= half) is enough
    assert stats.pairs_for_rate(0.5, half_width=0.6).n == 1


@pytest.mark.parametrize(("rate", "bound"), [(0.2, 0.3), (0.4, 0.3), (0.0, 0.05), (0.98, 0.9)])
def test_pairs_for_a_bound_have_that_exact_power_from_there_on(rate: float, bound: float) -> None:
    from scipy.stats import binom

    def power(n: int) -> float:
        limits = [stats.wilson_interval(k, n).interval for k in range(n + 1)]
        clear = np.array([low > bound if rate > bound else high < bound for low, high in limits])
        return float(binom.pmf(np.arange(n + 1), n, rate)[clear].sum())

    plan = stats.pairs_for_rate(rate, bound=bound)
    assert plan.power == pytest.approx(power(plan.n))
    assert power(plan.n - 1) < 0.8
    assert all(power(n) >= 0.8 for n in range(plan.n, plan.n + 40))


def kappa_intervals(n: int, kappa: float, prevalence: float, runs: int) -> np.ndarray:
    """Of two raters, the second of whom copies the first with the chance that gives this kappa."""
    rng, limits = np.random.default_rng(1), []
    for _ in range(runs):
        first, own = rng.random((2, n)) < prevalence
        second = np.where(rng.random(n) < kappa, first, own)
        limits.append(stats.cohen_kappa(first.astype(int), second.astype(int)).interval)
    return np.array(limits)


def score_sd(kappa: float, p):
    """Bloch & Kraemer's large-sample variance, written out."""
    variance = (1 - kappa) * ((1 - kappa) * (1 - 2 * kappa) + kappa * (2 - kappa) / (2 * p * (1 - p)))
    return np.sqrt(np.maximum(variance, 0))  # below the lowest possible kappa it would be negative


@pytest.mark.parametrize(("kappa", "prevalence"), [(0.8, 0.5), (0.6, 0.9), (0.3, 0.2), (0.0, 0.4)])
def test_large_sample_variance_agrees_with_statsmodels(kappa: float, prevalence: float) -> None:
    from statsmodels.stats.inter_rater import cohens_kappa

    off = (1 - kappa) * prevalence * (1 - prevalence)
    table = np.array([[prevalence - off, off], [off, 1 - prevalence - off]]) * 1e6
    assert score_sd(kappa, prevalence) / 1e3 == pytest.approx(cohens_kappa(table).std_kappa, rel=1e-6)
    wide = stats.labels_for_kappa(kappa, prevalence=prevalence, half_width=0.002)
    assert wide.n == pytest.approx((1.959964 * score_sd(kappa, prevalence) / 0.002) ** 2, rel=0.01)


@pytest.mark.parametrize(("kappa", "prevalence", "threshold"), [(0.8, 0.5, 0.6), (0.7, 0.9, 0.4), (0.3, 0.8, 0.6)])
def test_that_many_labels_clear_the_threshold_as_often_as_promised(
    kappa: float, prevalence: float, threshold: float
) -> None:
    runs, plan = 1000, stats.labels_for_kappa(kappa, prevalence=prevalence, threshold=threshold)
    clear = []
    for truth in (kappa, threshold):
        low, high = kappa_intervals(plan.n, truth, prevalence, runs).T
        clear.append(int(np.count_nonzero(low > threshold if kappa > threshold else high < threshold)))
    assert holds(clear[0], runs, 0.8)
    assert clear[0] / runs < 0.87
    assert stats.clopper_pearson(clear[1], runs, level=0.99).interval[0] <= 0.025


def test_that_many_labels_give_the_half_width() -> None:
    for kappa, prevalence in ((0.7, 0.8), (1.0, 0.5)):
        plan = stats.labels_for_kappa(kappa, prevalence=prevalence, half_width=0.1)
        low, high = kappa_intervals(plan.n, kappa, prevalence, 400).T
        assert np.median(high - low) / 2 == pytest.approx(0.1, rel=0.04)


def test_simulation_and_large_sample_theory_meet() -> None:
    # 0.05 apart: about 3,000 items by theory; the same from simulated studies, to within their error.
    theory = ((1.959964 * score_sd(0.75, 0.6) + 0.841621 * score_sd(0.8, 0.6)) / 0.05) ** 2
    assert stats.labels_for_kappa(0.8, prevalence=0.6, threshold=0.75).n == pytest.approx(theory, rel=0.06)


def test_what_cannot_be_decided_gives_none_and_the_reason() -> None:
    assert stats.pairs_for_rate(0.5, bound=0.5).reason == "the rate is at the bound"
    assert stats.pairs_for_rate(0.5, bound=0.50001).n is None
    assert stats.pairs_for_rate(0.5, half_width=1e-6).n is None
    assert stats.labels_for_kappa(0.5, prevalence=0.5, threshold=0.5).reason == "kappa is at the threshold"
    assert stats.design_for_gap(1e-6, sd_template=1.0).reason == "more than ten million are needed"


def test_extremes_have_their_stated_answer() -> None:
    assert stats.design_for_gap(5.0, sd_template=1e-9).templates == 2
    assert stats.labels_for_kappa(1.0, prevalence=0.5, half_width=0.05).n > 40
    assert stats.labels_for_kappa(1.0, prevalence=0.5, threshold=0.8).n > 10
    assert stats.labels_for_kappa(-0.1, prevalence=0.9, half_width=0.1).n > 10
    assert stats.labels_for_kappa(0.5, prevalence=0.5, half_width=1.5).n == 2  # one item has no kappa
    assert stats.labels_for_kappa(0.5, prevalence=1e-320, threshold=0.4).n is None
    assert stats.labels_for_kappa(1e-200, prevalence=0.5, threshold=0.0).n is None
    assert stats.detectable_gap(30, sd_template=1.0, power=0.03).gap == 0  # less than the level


def test_what_cannot_be_is_refused() -> None:
    for refused, match in (
        (lambda: stats.design_for_gap(0.0, sd_template=1.0), "other than 0"),
        (lambda: stats.design_for_gap(float("nan"), sd_template=1.0), "finite"),
        (lambda: stats.design_for_gap(0.1, sd_template=0.0), "one of them positive"),
        (lambda: stats.design_for_gap(0.1, sd_template=0.1, names=0), "from 1"),
        (lambda: stats.design_for_gap(0.1, sd_template=0.1, power=1.0), "power"),
        (lambda: stats.detectable_gap(1, sd_template=0.1), "one template"),
        (lambda: stats.power_paired_gap(0.5, 1.2, templates=5), "between 0 and 1"),
        (lambda: stats.power_paired_gap(0.5, 0.6, templates=0), "from 1"),
        (lambda: stats.pairs_for_rate(0.5), "one aim"),
        (lambda: stats.pairs_for_rate(0.5, half_width=0.1, bound=0.4), "one aim"),
        (lambda: stats.pairs_for_rate(0.5, half_width=0.0), "positive"),
        (lambda: stats.pairs_for_rate(0.5, bound=1.0), "strictly"),
        (lambda: stats.pairs_for_rate(-0.1, bound=0.5), "between 0 and 1"),
        (lambda: stats.labels_for_kappa(0.5, prevalence=1.0, half_width=0.1), "strictly"),
        (lambda: stats.labels_for_kappa(-0.5, prevalence=0.9, half_width=0.1), "kappa lies"),
    ):
        with pytest.raises(ValueError, match=match):
            refused()
