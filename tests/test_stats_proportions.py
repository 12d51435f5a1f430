"""Wilson, Clopper-Pearson and McNemar against published figures, scipy and statsmodels, and what they promise."""

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


def test_mcnemar_rejects_at_most_at_its_level() -> None:
    from scipy.stats import binom

    for n in range(1, 80):
        p = np.array([stats.mcnemar_exact(b, n - b).pvalue for b in range(n + 1)])
        assert binom.pmf(np.arange(n + 1), n, 0.5)[p <= 0.05].sum() <= 0.05


def test_nothing_observed_gives_none_and_the_reason() -> None:
    for result in (stats.wilson_interval(0, 0), stats.clopper_pearson(0, 0)):
        assert result.estimate is None
        assert result.interval is None
        assert result.reason == "no observations"
    assert stats.mcnemar_exact(0, 0).pvalue == 1


@pytest.mark.parametrize(("k", "n"), [(-1, 5), (6, 5), (float("nan"), 5), (1, -2)])
def test_impossible_counts_are_refused(k: float, n: int) -> None:
    with pytest.raises(ValueError, match="between 0 and n"):
        stats.wilson_interval(k, n)
    with pytest.raises(ValueError, match="whole"):
        stats.mcnemar_exact(-1, 2)
