"""Rates and differences of two rates against published figures, scipy and statsmodels, and what they promise."""

from __future__ import annotations

import decimal
from decimal import Decimal

import numpy as np
import pytest

from recuse import stats


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [(82, 200, 0.344, 0.479), (124, 200, 0.551, 0.684), (12, 30, 0.246, 0.577), (12, 30, 0.25, 0.58)],
)
def test_wilson_gives_the_published_figures(k: int, n: int, low: float, high: float) -> None:
    interval = stats.wilson_interval(k, n).interval
    assert interval == pytest.approx((low, high), abs=0.0055 if high == 0.58 else 0.0006)


def test_wilson_of_a_large_sample_gives_the_published_figure() -> None:
    assert stats.wilson_interval(240, 600).interval == pytest.approx((0.36, 0.44), abs=0.005)


def test_clopper_pearson_by_hand() -> None:
    # 0 of n: (1 - u)^n = 0.025. And 1 of 1 mirrors it.
    assert stats.clopper_pearson(0, 40).interval == pytest.approx((0.0, 1 - 0.025 ** (1 / 40)))
    assert stats.clopper_pearson(1, 1).interval == pytest.approx((0.025, 1.0))


@pytest.mark.parametrize(("k", "n"), [(0, 10), (1, 10), (5, 10), (10, 10), (3, 1000), (700, 1000)])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_intervals_agree_with_scipy(k: int, n: int, level: float) -> None:
    from scipy.stats import binomtest

    reference = binomtest(k, n)
    for mine, method in ((stats.wilson_interval, "wilson"), (stats.clopper_pearson, "exact")):
        expected = reference.proportion_ci(level, method)
        assert mine(k, n, level=level).interval == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_wilson_keeps_its_precision_for_tiny_shares() -> None:
    # With 1 of a thousand million the textbook form loses half its digits; forty digits keep them.
    with decimal.localcontext(prec=40):
        z, n = Decimal("1.959963984540054235524594430520551"), Decimal(10) ** 9
        p, c = 1 / n, z**2 / n
        expected = (p + c / 2 - (c * p * (1 - p) + c**2 / 4).sqrt()) / (1 + c)
    assert stats.wilson_interval(1, 10**9).interval[0] == pytest.approx(float(expected), rel=1e-12)


def test_clopper_pearson_never_covers_less_than_it_says() -> None:
    from scipy.stats import binom

    n = 25
    limits = np.array([stats.clopper_pearson(k, n).interval for k in range(n + 1)])
    for p in np.linspace(0.005, 0.995, 199):
        covered = (limits[:, 0] <= p) & (p <= limits[:, 1])
        assert binom.pmf(np.arange(n + 1), n, p)[covered].sum() >= 0.95


def test_wilson_covers_95_percent_on_average() -> None:
    from scipy.stats import binom

    n, shares = 60, np.linspace(0.05, 0.95, 400)
    limits = np.array([stats.wilson_interval(k, n).interval for k in range(n + 1)])
    covered = [binom.pmf(np.arange(n + 1), n, p)[(limits[:, 0] <= p) & (p <= limits[:, 1])].sum() for p in shares]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.005)


def test_mcnemar_by_hand_and_against_statsmodels() -> None:
    from statsmodels.stats.contingency_tables import mcnemar

    # 1 and 5: 2 * (C(6,0) + C(6,1)) / 64
    assert stats.mcnemar_exact(1, 5).pvalue == pytest.approx(14 / 64)
    assert stats.mcnemar_exact(1, 5).estimate == pytest.approx(-4 / 6)
    for b, c in ((0, 1), (3, 3), (10, 25), (400, 500)):
        expected = mcnemar([[7, b], [c, 9]], exact=True).pvalue
        assert stats.mcnemar_exact(b, c).pvalue == pytest.approx(expected, rel=1e-9)


def test_mcnemar_of_many_pairs_keeps_its_precision() -> None:
    # scipy.special.bdtr says 0.61 instead of 0.50 for the lower half of 10^8 coins; the normal limit is the reference.
    from scipy.stats import norm

    b, c = 49_990_000, 50_010_000
    expected = 2 * norm.cdf((b + 0.5 - (b + c) / 2) / np.sqrt((b + c) / 4))
    assert stats.mcnemar_exact(b, c).pvalue == pytest.approx(expected, rel=1e-3)


def test_mcnemar_interval_excludes_0_exactly_when_it_rejects() -> None:
    from scipy.stats import binomtest

    for b in range(15):
        for c in range(1, 15):
            result = stats.mcnemar_exact(b, c)
            low, high = result.interval
            assert low <= result.estimate <= high
            assert (low > 0 or high < 0) == (result.pvalue < 0.05)
            expected = binomtest(b, b + c).proportion_ci(0.95, "exact")
            assert (low, high) == pytest.approx((2 * expected.low - 1, 2 * expected.high - 1))


def test_mcnemar_rejects_at_most_at_its_level() -> None:
    from scipy.stats import binom

    for n in range(1, 80):
        p = np.array([stats.mcnemar_exact(b, n - b).pvalue for b in range(n + 1)])
        assert binom.pmf(np.arange(n + 1), n, 0.5)[p <= 0.05].sum() <= 0.05


@pytest.mark.parametrize(
    ("counts", "p", "digits"), [((82, 200, 124, 200), 0.000026, 1e-6), ((12, 30, 18, 30), 0.12, 0.005)]
)
def test_two_proportion_z_gives_the_published_figures(
    counts: tuple[int, int, int, int], p: float, digits: float
) -> None:
    result = stats.two_proportion_test(*counts)
    assert result.pvalue == pytest.approx(p, abs=digits)
    assert result.estimate == pytest.approx(counts[0] / counts[1] - counts[2] / counts[3])


def test_two_proportion_tests_agree_with_statsmodels_and_scipy() -> None:
    from scipy.stats import barnard_exact, fisher_exact
    from statsmodels.stats.proportion import confint_proportions_2indep, proportions_ztest

    sides = {"two-sided": "two-sided", "greater": "larger", "less": "smaller"}
    for k1, n1, k2, n2 in ((82, 200, 124, 200), (1, 12, 6, 20), (0, 10, 5, 10), (400, 401, 380, 400)):
        table = [[k1, k2], [n1 - k1, n2 - k2]]
        for alternative, name in sides.items():
            result = stats.two_proportion_test(k1, n1, k2, n2, alternative=alternative)
            assert result.pvalue == pytest.approx(proportions_ztest([k1, k2], [n1, n2], alternative=name)[1])
            newcombe = confint_proportions_2indep(k1, n1, k2, n2, method="newcomb", compare="diff")
            assert result.interval == pytest.approx(newcombe, abs=1e-9)
        exact = stats.two_proportion_test(k1, n1, k2, n2, method="exact")
        barnard = n1 * n2 <= 40_000
        reference = barnard_exact(table) if barnard else fisher_exact(table)
        assert exact.pvalue == pytest.approx(reference.pvalue)
        assert exact.method.startswith("Barnard's" if barnard else "Fisher's")


def test_exact_two_proportion_test_holds_its_level_where_z_does_not() -> None:
    from scipy.stats import binom

    first, second = 12, 15
    shares = np.linspace(0.005, 0.995, 199)
    weights = [(binom.pmf(np.arange(first + 1), first, q), binom.pmf(np.arange(second + 1), second, q)) for q in shares]
    sizes = {}
    for method in ("z", "exact"):
        rejected = np.array(
            [
                [
                    stats.two_proportion_test(a, first, b, second, method=method).pvalue <= 0.05
                    for b in range(second + 1)
                ]
                for a in range(first + 1)
            ]
        )
        sizes[method] = max(float(own @ rejected @ other) for own, other in weights)
    assert sizes["exact"] <= 0.05
    assert sizes["z"] > 0.06


def test_newcombe_gives_his_published_intervals() -> None:
    # Stat Med 1998, 17:873: 56/70 and 48/80; 17:2635: 36, 12, 2, 0. Altman et al. (2000): 14, 5, 0, 22, 1 % to 23 %.
    assert stats.newcombe_difference(56, 70, 48, 80).interval == pytest.approx((0.0524, 0.3339), abs=5e-5)
    assert stats.newcombe_paired(36, 12, 2, 0).interval == pytest.approx((0.0569, 0.3404), abs=5e-5)
    assert stats.newcombe_paired(14, 5, 0, 22).interval == pytest.approx((0.011, 0.226), abs=6e-4)


def test_newcombe_paired_by_hand_where_the_answers_are_unrelated() -> None:
    # 10, 10, 10, 10: phi is 0, so the interval is that of two independent samples of 40.
    paired, independent = stats.newcombe_paired(10, 10, 10, 10), stats.newcombe_difference(20, 40, 20, 40)
    assert paired.interval == pytest.approx(independent.interval)
    assert (paired.estimate, paired.n) == (0, 40)


def test_newcombe_p_is_the_level_at_which_the_interval_meets_0() -> None:
    for result, again in (
        (stats.newcombe_paired(36, 12, 2, 0), lambda level: stats.newcombe_paired(36, 12, 2, 0, level=level)),
        (stats.newcombe_paired(5, 2, 9, 30), lambda level: stats.newcombe_paired(5, 2, 9, 30, level=level)),
        (
            stats.newcombe_difference(56, 70, 48, 80),
            lambda level: stats.newcombe_difference(56, 70, 48, 80, level=level),
        ),
    ):
        nearer = min(again(1 - result.pvalue).interval, key=abs)
        assert nearer == pytest.approx(0, abs=1e-9)
    # Nobody in either arm changed, or as many each way: nothing speaks for a difference.
    assert stats.newcombe_paired(3, 4, 4, 2).pvalue == stats.newcombe_difference(3, 9, 3, 9).pvalue == 1


@pytest.mark.parametrize(("n", "most"), [(10, 0.0705), (20, 0.0605)])
def test_newcombe_paired_p_has_its_stated_level(n: int, most: float) -> None:
    from scipy.stats import multinomial

    tables = [(a, b, c, n - a - b - c) for a in range(n + 1) for b in range(n + 1 - a) for c in range(n + 1 - a - b)]
    rejected = np.array([stats.newcombe_paired(*table).pvalue <= 0.05 for table in tables])
    levels = [
        multinomial.pmf(np.array(tables), n, ((1 - q) * s, q / 2, q / 2, (1 - q) * (1 - s)))[rejected].sum()
        for q in (0.1, 0.2, 0.4, 0.6, 0.9)
        for s in (0.02, 0.1, 0.5)
    ]
    assert 0.05 < max(levels) <= most


@pytest.mark.parametrize(("cells", "n"), [((0.3, 0.2, 0.1, 0.4), 50), ((0.85, 0.08, 0.02, 0.05), 100)])
def test_newcombe_intervals_cover_95_percent(cells: tuple[float, ...], n: int) -> None:
    rng, runs, truth = np.random.default_rng(3), 2000, cells[1] - cells[2]
    paired = sum(
        low <= truth <= high
        for low, high in (stats.newcombe_paired(*row).interval for row in rng.multinomial(n, cells, runs).tolist())
    )
    rates = cells[0] + cells[1], cells[0] + cells[2]
    counts = np.column_stack([rng.binomial(n, rate, runs) for rate in rates]).tolist()
    independent = sum(
        low <= truth <= high for low, high in (stats.newcombe_difference(a, n, b, n).interval for a, b in counts)
    )
    for covered in (paired, independent):
        assert stats.clopper_pearson(covered, runs, level=0.99).interval[1] >= 0.95
        assert covered / runs <= 0.98


def test_two_rates_of_0_or_1_have_no_evidence_and_no_zero_width() -> None:
    for k1, k2 in ((0, 0), (10, 20)):
        for method in ("z", "exact"):
            for alternative in ("two-sided", "greater", "less"):
                result = stats.two_proportion_test(k1, 10, k2, 20, method=method, alternative=alternative)
                assert (result.estimate, result.pvalue) == (0, 1)
            assert result.interval[1] - result.interval[0] > 0.3
    assert stats.newcombe_paired(0, 0, 0, 10).interval[1] > 0.2
    assert stats.newcombe_paired(10, 0, 0, 0).interval[0] < -0.2


def test_an_empty_sample_has_no_difference() -> None:
    for result in (
        stats.two_proportion_test(0, 0, 3, 5),
        stats.newcombe_difference(3, 5, 0, 0),
        stats.newcombe_paired(0, 0, 0, 0),
    ):
        assert (result.estimate, result.interval, result.pvalue) == (None, None, None)
        assert "no observations" in result.reason


def test_wrong_two_sample_input_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and n"):
        stats.two_proportion_test(6, 5, 1, 5)
    with pytest.raises(ValueError, match="whole counts"):
        stats.two_proportion_test(1.5, 5, 1, 5, method="exact")
    with pytest.raises(ValueError, match="z or exact"):
        stats.two_proportion_test(1, 5, 1, 5, method="t")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="whole"):
        stats.newcombe_paired(1, -1, 2, 3)


@pytest.mark.parametrize("wrong", [2.5, float("inf"), float("nan"), "five", None, np.ma.masked, 10**400, 1e300])
def test_a_number_of_units_must_be_whole_and_finite(wrong: object) -> None:
    for call in (
        lambda: stats.wilson_interval(1, wrong),
        lambda: stats.clopper_pearson(1, wrong),
        lambda: stats.mcnemar_exact(1, wrong),
        lambda: stats.two_proportion_test(1, 5, 1, wrong),
        lambda: stats.newcombe_difference(1, wrong, 1, 5),
        lambda: stats.newcombe_paired(1, wrong, 1, 5),
        lambda: stats.impact_ratio(1, 5, 1, wrong),
        lambda: stats.slice_table({"a": (1, wrong)}),
        lambda: stats.worst_slice_rule(
            [1, 1], np.ma.array([3, 4], mask=[0, 1]) if wrong is np.ma.masked else [3, wrong]
        ),
    ):
        with pytest.raises(ValueError, match=r"whole|finite|numbers|masked"):
            call()


def test_whole_counts_give_the_float_next_to_the_true_rate() -> None:
    from fractions import Fraction

    for k1, n1, k2, n2 in ((3, 10, 1, 10), (7, 10, 1, 5), (56, 70, 48, 80), (1, 3, 1, 7)):
        difference, ratio = Fraction(k1, n1) - Fraction(k2, n2), Fraction(k1, n1) / Fraction(k2, n2)
        assert stats.newcombe_difference(k1, n1, k2, n2).estimate == float(difference)
        assert stats.impact_ratio(k1, n1, k2, n2).estimate == float(ratio)


def test_nothing_observed_gives_none_and_the_reason() -> None:
    for result in (stats.wilson_interval(0, 0), stats.clopper_pearson(0, 0)):
        assert result.estimate is None
        assert result.interval is None
        assert result.reason == "no observations"
    nothing = stats.mcnemar_exact(0, 0)
    assert (nothing.estimate, nothing.interval, nothing.pvalue, nothing.reason) == (
        None,
        None,
        1,
        "no discordant pairs",
    )


@pytest.mark.parametrize(("k", "n"), [(-1, 5), (6, 5), (float("nan"), 5), (1, -2)])
def test_impossible_counts_are_refused(k: float, n: int) -> None:
    with pytest.raises(ValueError, match=r"between 0 and n|finite|whole number"):
        stats.wilson_interval(k, n)
    with pytest.raises(ValueError, match="whole"):
        stats.mcnemar_exact(-1, 2)
