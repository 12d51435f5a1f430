"""Impact ratio, risk difference by cluster, and rates by slice: known figures, other libraries, coverage and alarms."""

from __future__ import annotations

import numpy as np
import pytest

from recuse import stats


def test_impact_ratio_gives_the_published_figures() -> None:
    assert stats.impact_ratio(82, 200, 124, 200).estimate == pytest.approx(0.66, abs=0.005)
    assert stats.impact_ratio(82, 200, 124, 200).pvalue == pytest.approx(0.000026, abs=1e-6)
    # Koopman (1984), Biometrics 40:513: 36/40 against 16/80 gives 2.94 to 7.15.
    assert stats.impact_ratio(36, 40, 16, 80).interval == pytest.approx((2.94, 7.15), abs=0.005)


def test_impact_ratio_of_nobody_by_hand() -> None:
    # 0 of 10 against 10 of 10, ratio r: the likeliest rates are r q and q with q = 1 (all of the reference said yes),
    # so the score is -r / sqrt(r (1 - r) / 10), and the limit solves r / (1 - r) = z^2 / 10.
    odds = 1.959963984540054**2 / 10
    result = stats.impact_ratio(0, 10, 10, 10)
    assert result.interval == pytest.approx((0.0, odds / (1 + odds)), abs=1e-9)
    assert result.estimate == 0


@pytest.mark.parametrize(
    "counts", [(82, 200, 124, 200), (12, 30, 18, 30), (0, 10, 5, 10), (10, 10, 3, 10), (1, 1000, 1, 10)]
)
def test_impact_ratio_agrees_with_statsmodels(counts: tuple[int, int, int, int]) -> None:
    # At 10/10 against 10/10 statsmodels returns complex limits, at 0/1 against 1/1 a lower limit of 0.5 over the
    # estimate 0: only cases without such faults are compared.
    from statsmodels.stats.proportion import confint_proportions_2indep

    expected = confint_proportions_2indep(*counts, method="score", compare="ratio", correction=False)
    assert stats.impact_ratio(*counts).interval == pytest.approx(expected, rel=1e-8, abs=1e-9)


def test_impact_ratio_excludes_1_exactly_when_the_z_test_rejects() -> None:
    for k in range(31):
        for k_ref in range(1, 31):
            result = stats.impact_ratio(k, 30, k_ref, 30)
            low, high = result.interval
            assert low <= result.estimate <= high
            assert low < high
            assert result.pvalue == pytest.approx(stats.two_proportion_test(k, 30, k_ref, 30).pvalue)
            assert (low > 1 or high < 1) == (result.pvalue < 0.05)


@pytest.mark.parametrize("sizes", [(10, 10), (30, 30), (10, 100)])
def test_impact_ratio_covers_95_percent(sizes: tuple[int, int]) -> None:
    from scipy.stats import binom

    n, n_ref = sizes
    limits = np.array(
        [[stats.impact_ratio(k, n, r, n_ref).interval for r in range(1, n_ref + 1)] for k in range(n + 1)]
    )
    for ratio in (0.5, 0.8, 1.0):
        coverage = []
        for rate in np.linspace(0.1, 0.9, 33):
            chance = np.outer(
                binom.pmf(np.arange(n + 1), n, ratio * rate), binom.pmf(np.arange(1, n_ref + 1), n_ref, rate)
            )
            covered = (limits[..., 0] <= ratio) & (ratio <= limits[..., 1])
            coverage.append(chance[covered].sum() / chance.sum())
        assert min(coverage) >= 0.93
        assert 0.945 <= np.mean(coverage) <= 0.98


def test_ratios_that_do_not_exist_are_none_with_the_reason() -> None:
    for counts in ((3, 10, 0, 10), (0, 10, 0, 10)):
        result = stats.impact_ratio(*counts)
        assert (result.estimate, result.interval) == (None, None)
        assert result.reason == "the reference rate is 0: there is no ratio"
    for counts in ((0, 0, 3, 10), (3, 10, 0, 0)):
        assert stats.impact_ratio(*counts).reason == "no observations in one of the groups"
    low, high = stats.impact_ratio(10, 10, 10, 10).interval
    assert low < 0.75
    assert high > 1.3
    with pytest.raises(ValueError, match="between 0 and n"):
        stats.impact_ratio(11, 10, 3, 10)


def test_clustered_ratio_of_nobody_by_hand() -> None:
    # No yes in ten clusters against p in the others: MOVER-R's upper limit is u / sqrt(l (2 p - l)), with u and l the
    # exact bounds of either rate.
    exposed = np.repeat([True, False], 10)
    values = np.r_[np.zeros(10), np.repeat([1.0, 0.0], 5)]
    upper = stats.clustered_mean(np.zeros(10)).interval[1]
    lower = stats.clustered_mean(values[10:]).interval[0]
    result = stats.clustered_impact_ratio(values, exposed)
    assert result.estimate == 0
    assert result.interval == pytest.approx((0, upper / np.sqrt(lower * (1 - lower))))
    assert 0.4 < result.interval[1] < 2.5


def test_clustered_ratio_agrees_with_estimating_equations_on_large_samples() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(4)
    groups = np.repeat(np.arange(1500), 4)
    exposed = rng.random(groups.size) < 0.5
    x = np.where(rng.random(groups.size) < 0.5, rng.random(1500)[groups], rng.random(groups.size)) < 0.3 + 0.1 * exposed
    design = sm.add_constant(exposed.astype(float))
    family = sm.families.Poisson()
    fit = sm.GEE(x.astype(float), design, groups=groups, family=family, cov_struct=sm.cov_struct.Independence()).fit()
    result = stats.clustered_impact_ratio(x, exposed, groups=groups)
    assert result.estimate == pytest.approx(np.exp(fit.params[1]))
    assert result.interval == pytest.approx(np.exp(fit.conf_int()[1]), rel=5e-3)


def test_clustered_ratio_excludes_1_exactly_when_the_difference_excludes_0() -> None:
    rng, excluded = np.random.default_rng(5), 0
    for run in range(8):
        groups = np.repeat(np.arange(40), 3)
        exposed = groups % 2 == 0 if run % 2 else np.tile([True, False, True], 40)
        x = rng.random(120) < np.where(exposed, 0.55, 0.3)
        ratio, gap = (f(x, exposed, groups=groups) for f in (stats.clustered_impact_ratio, stats.risk_difference))
        assert ratio.interval[0] <= ratio.estimate <= ratio.interval[1]
        outside = not ratio.interval[0] <= 1 <= ratio.interval[1]
        assert outside == (not gap.interval[0] <= 0 <= gap.interval[1]) == (ratio.pvalue < 0.05)
        excluded += outside
    assert 0 < excluded < 8


def test_clustered_ratio_covers_with_five_clusters_that_answer_alike() -> None:
    # Three answers a cluster, always the same, so that the chance of every outcome is known. As if they were
    # independent, the counts claim three times the data.
    from scipy.stats import binom

    clusters, size = 5, 3
    groups = np.repeat(np.arange(2 * clusters), size)
    limits = np.zeros((2, clusters + 1, clusters, 2))
    for k in range(clusters + 1):
        for k_ref in range(1, clusters + 1):
            x = np.repeat(np.r_[np.arange(clusters) < k, np.arange(clusters) < k_ref], size)
            limits[0, k, k_ref - 1] = stats.clustered_impact_ratio(x, groups < clusters, groups=groups).interval
            counts = size * k, size * clusters, size * k_ref, size * clusters
            limits[1, k, k_ref - 1] = stats.impact_ratio(*counts).interval
    coverage = []
    for ratio in (0.5, 0.8, 1.0):
        for rate in np.linspace(0.1, 0.9, 17):
            chance = np.outer(
                binom.pmf(np.arange(clusters + 1), clusters, ratio * rate),
                binom.pmf(np.arange(1, clusters + 1), clusters, rate),
            )
            held = (limits[..., 0] <= ratio) & (ratio <= limits[..., 1])
            coverage.append((held * chance).sum(axis=(1, 2)) / chance.sum())
    clustered, counted = np.min(coverage, axis=0)
    assert clustered >= 0.94
    assert counted < 0.8


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True])
def test_clustered_ratio_covers_95_percent(shared: bool) -> None:
    rng, runs, covered = np.random.default_rng(6), 1000, 0
    groups = np.repeat(np.arange(60), 4)
    exposed = np.tile([True, True, False, False], 60) if shared else groups % 2 == 0
    rate = np.where(exposed, 0.4, 0.5)
    for _ in range(runs):
        x = np.where(rng.random(groups.size) < 0.6, rng.random(60)[groups], rng.random(groups.size)) < rate
        low, high = stats.clustered_impact_ratio(x, exposed, groups=groups).interval
        covered += low <= 0.8 <= high
    assert stats.clopper_pearson(covered, runs, level=0.99).interval[1] >= 0.95


def test_clustered_ratios_that_do_not_exist_are_none_with_the_reason() -> None:
    none = stats.clustered_impact_ratio([1, 0, 0, 0], [1, 1, 0, 0])
    assert (none.estimate, none.interval, none.pvalue) == (None, None, None)
    assert none.reason == "the reference rate is 0: there is no ratio"
    one = stats.clustered_impact_ratio([1, 0, 1, 0], [1, 1, 0, 0], groups=["a", "b", "c", "c"])
    assert (one.estimate, one.interval) == (1, None)
    assert "no upper limit" in one.reason
    assert "stratum is false" in stats.clustered_impact_ratio([1, 0], [1, 1]).reason
    with pytest.raises(ValueError, match="not between"):
        stats.clustered_impact_ratio([2, 0], [1, 0])


def test_risk_difference_is_the_clustered_one_with_its_test() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(1500), 4)
    exposed = rng.random(groups.size) < 0.5
    shared = rng.random(groups.size) < 0.6
    x = np.where(shared, rng.random(1500)[groups], rng.random(groups.size)) < 0.4 + 0.03 * exposed
    fit = sm.OLS(x.astype(float), sm.add_constant(exposed.astype(float))).fit(
        cov_type="cluster", cov_kwds={"groups": groups}
    )
    result = stats.risk_difference(x, exposed, groups=groups)
    assert result.estimate == pytest.approx(fit.params[1])
    assert result.interval == pytest.approx(fit.conf_int()[1], abs=5e-4)
    assert result.pvalue == pytest.approx(fit.pvalues[1], rel=0.03)
    assert (result.n, result.groups) == (6000, 1500)


def test_risk_difference_and_its_p_agree_about_zero_and_hold_the_level() -> None:
    rng, rejected, runs = np.random.default_rng(8), 0, 1000
    groups = np.repeat(np.arange(60), 3)
    exposed = np.arange(60)[groups] % 2 == 0
    for _ in range(runs):
        x = np.where(rng.random(180) < 0.6, rng.random(60)[groups], rng.random(180)) < 0.4
        result = stats.risk_difference(x, exposed, groups=groups)
        assert (result.pvalue < 0.05) == (not result.interval[0] <= 0 <= result.interval[1])
        rejected += result.pvalue < 0.05
    assert stats.clopper_pearson(rejected, runs, level=0.99).interval[0] <= 0.05


def test_risk_difference_of_an_empty_side_is_none() -> None:
    result = stats.risk_difference([0, 1, 1], [True, True, True])
    assert (result.estimate, result.pvalue) == (None, None)
    assert "stratum is false" in result.reason


def test_slice_table_gives_the_published_figures() -> None:
    worst, best = stats.slice_table({"b": (124, 200), "a": (82, 200)})
    assert (worst.name, best.name) == ("a", "b")
    assert worst.ratio == pytest.approx(0.66, abs=0.005)
    assert worst.pvalue == pytest.approx(0.000026, abs=1e-6)
    assert worst.interval == pytest.approx((0.344, 0.479), abs=0.0006)
    assert best.interval == pytest.approx((0.551, 0.684), abs=0.0006)
    assert (worst.flag, worst.reasons) == ("review", ("ratio under 0.8",))
    assert (best.ratio, best.pvalue, best.flag, best.reasons) == (1.0, None, "ok", ())


def test_slice_table_agrees_with_statsmodels() -> None:
    from statsmodels.stats.proportion import proportion_confint, proportions_ztest

    counts = {f"s{i}": (k, n) for i, (k, n) in enumerate([(150, 300), (120, 310), (90, 205), (200, 380)])}
    best = max(counts, key=lambda name: counts[name][0] / counts[name][1])
    for row in stats.slice_table(counts):
        assert row.interval == pytest.approx(proportion_confint(row.k, row.n, method="wilson"))
        if row.name != best:
            k, n = counts[best]
            assert row.pvalue == pytest.approx(proportions_ztest([row.k, k], [row.n, n])[1])
            assert row.ratio == pytest.approx(row.k / row.n / (k / n))


def test_a_tiny_slice_is_reviewed_and_does_not_hide_a_gap_between_large_ones() -> None:
    rows = {row.name: row for row in stats.slice_table({"tiny": (1, 1), "high": (450, 500), "low": (300, 500)})}
    assert rows["low"].ratio == pytest.approx(2 / 3)
    assert rows["low"].pvalue < 1e-20
    assert rows["tiny"].ratio == pytest.approx(1 / 0.9)
    assert rows["tiny"].reasons == ("fewer than 100 cases",)
    assert rows["high"].ratio == 1
    assert stats.worst_slice_rule([1, 450, 300], [1, 500, 500])


def test_four_fifths_exactly_is_no_alarm() -> None:
    for low, high in ((24, 30), (36, 45), (56, 70), (72, 90)):
        assert [row.flag for row in stats.slice_table({"low": (low, 100), "high": (high, 100)})] == ["ok", "ok"]
        assert not stats.worst_slice_rule([low, high], 100, alpha=1)


def test_slices_without_cases_or_yes_have_their_stated_answer() -> None:
    empty, full = sorted(stats.slice_table({"full": (80, 100), "empty": (0, 0)}), key=lambda row: row.name)
    assert (empty.rate, empty.interval, empty.ratio, empty.flag) == (None, None, None, "review")
    assert empty.reasons == ("no cases",)
    assert full.flag == "ok"
    for row in stats.slice_table({"a": (0, 200), "b": (0, 150)}):
        assert (row.rate, row.ratio, row.flag) == (0, None, "review")
        assert row.reasons == ("no slice has a positive rate, so there is no ratio",)
        assert row.interval[1] > 0.01
    assert stats.slice_table({}) == []
    assert [row.rate for row in stats.slice_table({"a": (0, 0)})] == [None]
    assert not stats.worst_slice_rule([0, 0], [200, 0])
    assert not stats.worst_slice_rule([], [])
    with pytest.raises(ValueError, match="between 0 and n"):
        stats.slice_table({"a": (3, 2)})
    with pytest.raises(ValueError, match="between 0 and n"):
        stats.worst_slice_rule([3, 2], [2, 2])


@pytest.mark.parametrize("floor", [0, -1, 1.5, float("nan"), "most"])
def test_senseless_thresholds_of_slices_are_refused(floor: float) -> None:
    for call in (
        lambda: stats.slice_table({"a": (1, 2)}, floor=floor),
        lambda: stats.worst_slice_rule([1], [2], floor=floor),
        lambda: stats.worst_slice_rule([1], [2], alpha=floor),
    ):
        with pytest.raises(ValueError, match=r"floor|alpha"):
            call()
    with pytest.raises(ValueError, match="smallest number of cases"):
        stats.slice_table({"a": (1, 2)}, smallest=-1)
    with pytest.raises(ValueError, match=r"slice 'a': k must lie between"):
        stats.slice_table({"a": (3, 2)})
    with pytest.raises(ValueError, match=r"slice 'a': a pair"):
        stats.slice_table({"a": 3})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="equal length"):
        stats.worst_slice_rule([[1, 2], [3]], 9)


def test_worst_slice_rule_decides_as_the_table_does() -> None:
    rng = np.random.default_rng(5)
    n = rng.integers(20, 400, size=(300, 4))
    k = rng.binomial(n, rng.uniform(0.2, 0.6, size=(300, 4)))
    blocked = stats.worst_slice_rule(k, n)
    for yes, cases, verdict in zip(k, n, blocked, strict=True):
        rows = stats.slice_table({str(i): (int(yes[i]), int(cases[i])) for i in range(4)})
        alarms = [r for r in rows if r.ratio is not None and r.ratio < 0.8 and r.pvalue is not None and r.pvalue < 0.05]
        assert bool(verdict) == bool(alarms)
    assert 0.1 < blocked.mean() < 0.9


@pytest.mark.parametrize(
    ("rates", "share", "digits"),
    [([0.5] * 8, 0.115, 0.01), ([0.3] * 8, 0.505, 0.015), ([0.35] + [0.5] * 7, 0.996, 0.003)],
)
def test_worst_slice_rule_blocks_as_published(rates: list[float], share: float, digits: float) -> None:
    k = np.random.default_rng(6).binomial(300, rates, size=(20_000, 8))
    assert stats.worst_slice_rule(k, 300).mean() == pytest.approx(share, abs=digits)


def test_four_fifths_alarm_of_two_small_slices_rings_falsely_in_47_percent() -> None:
    rng, runs = np.random.default_rng(7), 2000
    alarms = {}
    for rates in ((0.4, 0.4), (0.28, 0.4)):
        flags = [
            any(row.flag == "review" for row in stats.slice_table({"a": (a, 30), "b": (b, 30)}, smallest=1))
            for a, b in rng.binomial(30, rates, size=(runs, 2)).tolist()
        ]
        alarms[rates] = float(np.mean(flags))
    assert alarms[0.4, 0.4] == pytest.approx(0.47, abs=0.03)
    assert 1 - alarms[0.28, 0.4] == pytest.approx(0.3, abs=0.03)  # a real gap of 0.70 is missed as often
