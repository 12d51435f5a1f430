"""Confidence sequences, e-values and e-value procedures: by hand, by brute force, and under peeking."""

from __future__ import annotations

import numpy as np
import pytest

from recuse import stats
from recuse.stats import sequential

BETS = np.array(sequential.BETS)


def brute_lower(x: np.ndarray, level: float) -> np.ndarray:
    """After each value the largest of 9,999 means whose wealth has reached the limit, with logs and no shortcut."""
    means = np.arange(1, 10_000) / 10_000
    wealth = np.zeros((means.size, x.size))
    for bet in BETS:
        growth = np.cumsum(np.log(1 - bet + bet * x / means[:, None]), axis=1)
        wealth += np.exp(np.minimum(growth, 600)) / BETS.size
    rejected = np.maximum.accumulate(wealth, axis=1) >= 2 / (1 - level)
    return np.array([means[column].max() if column.any() else 0.0 for column in rejected.T])


def test_e_value_by_hand() -> None:
    # Against a half, a bet b multiplies by 1 + b for a one and 1 - b for a nought.
    result = stats.e_value([1, 0, 1], null_mean=0.5)
    assert result.value == pytest.approx(np.mean((1 + BETS) ** 2 * (1 - BETS)))
    assert np.exp(result.running) == pytest.approx(
        [np.mean(1 + BETS), np.mean((1 + BETS) * (1 - BETS)), np.mean((1 + BETS) ** 2 * (1 - BETS))]
    )
    assert result.pvalue == pytest.approx(1 / np.mean(1 + BETS))
    both = stats.e_value([1, 1], null_mean=0.5, alternative="two-sided")
    assert both.value == pytest.approx((np.mean((1 + BETS) ** 2) + np.mean((1 - BETS) ** 2)) / 2)


def test_intervals_agree_with_brute_force() -> None:
    rng = np.random.default_rng(0)
    for x, level in ((rng.choice([0, 0.5, 1], 250), 0.95), (rng.random(130) ** 3, 0.8), (np.ones(45), 0.99)):
        result = stats.confidence_sequence(x, level=level)
        assert result.lower == pytest.approx(brute_lower(x, level), abs=1e-12)
        assert result.upper == pytest.approx(1 - brute_lower(1 - x, level), abs=1e-12)
        assert result.interval == (result.lower[-1], result.upper[-1])
        assert result.estimate == pytest.approx(x.mean())


def test_interval_and_e_value_agree_at_every_unit() -> None:
    x = np.random.default_rng(1).choice([-1, 0, 0, 0.5, 1], 300)
    result = stats.confidence_sequence(x, bounds=(-1, 1))
    for null in (-0.301, -0.101, 0.049, 0.151, 0.301):
        above = np.exp(np.maximum.accumulate(stats.e_value(x, null_mean=null, bounds=(-1, 1)).running)) >= 40
        below = stats.e_value(x, null_mean=null, alternative="less", bounds=(-1, 1)).running
        step = 2 / 10_000  # limits are rounded outwards to the means tried
        assert not ((result.lower > null) & ~above).any()
        assert not (above & (result.lower < null - step)).any()
        assert not ((result.upper < null) & (np.maximum.accumulate(below) < np.log(40))).any()


def test_evidence_depends_neither_on_the_order_nor_on_the_scale() -> None:
    rng = np.random.default_rng(2)
    x = rng.random(100)
    plain = stats.e_value(x, null_mean=0.4)
    assert stats.e_value(rng.permutation(x), null_mean=0.4).log == pytest.approx(plain.log)
    assert stats.e_value(2 * x - 1, null_mean=-0.2, bounds=(-1, 1)).log == pytest.approx(plain.log)
    assert stats.e_value(1 - x, null_mean=0.6, alternative="less").log == pytest.approx(plain.log)


def test_groups_are_the_units_in_order_of_first_appearance() -> None:
    x, groups = [1, 0, 1, 1, 0, 0], ["b", "a", "b", "c", "a", "c"]
    by_group = stats.confidence_sequence(x, groups=groups)
    assert (by_group.n, by_group.groups) == (6, 3)
    assert by_group.lower == pytest.approx(stats.confidence_sequence([1, 0, 0.5]).lower)
    # Equal groups: their sums say what their means say.
    assert stats.confidence_sequence(x, groups=groups, largest_group=2).lower == pytest.approx(by_group.lower)
    # Unequal ones: a group of one beside three of two; the means weigh it fully, the sums by a half.
    x, groups = [1, 0, 1, 1, 0, 0, 1], ["b", "a", "b", "c", "a", "c", "d"]
    assert stats.confidence_sequence(x, groups=groups).estimate == pytest.approx((1 + 0 + 0.5 + 1) / 4)
    sums = stats.confidence_sequence(x, groups=groups, largest_group=2)
    assert sums.estimate == pytest.approx(4 / 7)
    e = stats.e_value(x, null_mean=0.4, groups=groups, largest_group=2).running
    last = np.exp(np.cumsum(np.log1p(np.outer(BETS, np.array([2, 0, 1, 1]) / 2 / 0.4 - [1, 1, 1, 0.5])), axis=1))
    assert np.exp(e) == pytest.approx(last.mean(axis=0))


@pytest.mark.parametrize("kind", ["half", "rare", "nearly constant", "unequal groups"])
def test_the_bound_is_broken_at_most_at_its_level_under_continuous_peeking(kind: str) -> None:
    rng, runs, broken, naive = np.random.default_rng(3), 1500, 0, 0
    for _ in range(runs):
        more: dict[str, object] = {}
        if kind == "unequal groups":  # large groups are right less often; the truth is a ratio of expectations
            sizes = rng.choice([1, 5], size=120)
            groups = np.repeat(np.arange(120), sizes)
            x = (rng.random(120) < np.where(sizes == 1, 0.7, 0.3))[groups].astype(float)
            truth, more = (0.7 + 5 * 0.3) / 6, {"groups": groups, "largest_group": 5}
        elif kind == "nearly constant":
            x, truth = np.where(rng.random(300) < 0.05, rng.random(300) < 0.9, 0.5).astype(float), 0.52
        else:
            truth = 0.5 if kind == "half" else 0.03
            x = (rng.random(300) < truth).astype(float)
        peaks = [stats.e_value(x, null_mean=truth, alternative=side, **more).pvalue for side in ("greater", "less")]
        broken += min(peaks) <= 0.025
        if kind == "half":
            n = np.arange(1, x.size + 1)
            naive += (np.abs(np.cumsum(x) - n / 2) > 1.96 * np.sqrt(n) / 2)[20:].any()
    assert stats.clopper_pearson(broken, runs, level=0.99).interval[0] <= 0.05
    if kind == "half":
        assert naive / runs > 0.25  # what looking after each value does to an interval for a fixed size


def test_an_e_value_is_worth_one_on_average_under_the_null() -> None:
    # Exactly: all 2^10 outcomes of ten draws with a mean of 0.3.
    outcomes = (np.arange(1024)[:, None] >> np.arange(10)) & 1
    chance = np.prod(np.where(outcomes == 1, 0.3, 0.7), axis=1)
    for side in ("greater", "less", "two-sided"):
        values = [stats.e_value(row, null_mean=0.3, alternative=side).value for row in outcomes]
        assert chance @ values == pytest.approx(1.0)


def test_the_sequence_finds_a_real_effect_with_a_price_of_less_than_double_width() -> None:
    x = (np.random.default_rng(4).random(2000) < 0.5).astype(float)
    low, high = stats.confidence_sequence(x).interval
    fixed = stats.wilson_interval(x.sum(), x.size).interval
    assert low < fixed[0] < fixed[1] < high
    assert high - low < 2 * (fixed[1] - fixed[0])


def test_e_benjamini_hochberg_by_hand_and_against_bh_of_the_inverses() -> None:
    from statsmodels.stats.multitest import multipletests

    # Four at 0.05: the largest must be 80, the second 40. 50 and 45: two are at least 40.
    assert stats.e_benjamini_hochberg([50, 1, 45, 2]).rejected.tolist() == [True, False, True, False]
    assert stats.e_benjamini_hochberg([50, 1, 39, 2]).rejected.tolist() == [False] * 4
    rng = np.random.default_rng(5)
    for _ in range(50):
        e = np.round(np.exp(rng.normal(2, 2, size=12)), 1) + 1
        expected = multipletests(1 / e, alpha=0.1, method="fdr_bh")[0]
        assert stats.e_benjamini_hochberg(e, level=0.1).rejected.tolist() == expected.tolist()


def test_e_lond_by_hand_and_later_values_change_nothing() -> None:
    # At 0.05 the first needs 1 * 2 / 0.05 = 40; the second 6 / 0.05 / 2 = 60 after one rejection; then 12 / 0.05 / 2.
    assert stats.e_lond([40, 60, 80]).rejected.tolist() == [True, True, True]
    assert stats.e_lond([39, 60, 240]).rejected.tolist() == [False, False, True]
    assert stats.e_lond([40, 59, 119, 0]).rejected.tolist() == [True, False, False, False]
    e = np.exp(np.random.default_rng(6).normal(4, 3, size=40))
    whole = stats.e_lond(e).rejected
    for size in (1, 7, 25):
        assert stats.e_lond(e[:size]).rejected.tolist() == whole[:size].tolist()


def test_false_discovery_rate_is_held_under_dependence() -> None:
    rng, runs, delta = np.random.default_rng(7), 2000, 3.0
    real = np.arange(10) < 4
    lost: dict[str, list[float]] = {"bh": [], "lond": []}
    found = 0
    for _ in range(runs):
        # Ten effects against one placebo arm: correlation a half. Likelihood ratios are e-values.
        z = (rng.normal(size=10) - rng.normal()) / np.sqrt(2) + delta * real
        e = np.exp(delta * z - delta**2 / 2)
        for name, rejected in (("bh", stats.e_benjamini_hochberg(e).rejected), ("lond", stats.e_lond(e).rejected)):
            lost[name].append((rejected & ~real).sum() / max(1, rejected.sum()))
        found += int((stats.e_benjamini_hochberg(e).rejected & real).sum())
    for shares in lost.values():
        assert np.mean(shares) - 2.6 * np.std(shares) / np.sqrt(runs) <= 0.05
    assert found > 0.2 * 4 * runs


def test_degenerate_input_has_its_stated_answer() -> None:
    empty = stats.confidence_sequence([])
    assert (empty.estimate, empty.interval, empty.reason) == (None, None, "no observations")
    assert stats.confidence_sequence([], groups=[]).reason == "no observations"
    none = stats.e_value([], null_mean=0.5)
    assert (none.value, none.pvalue, none.n) == (1.0, 1.0, 0)
    assert (none.estimate, none.reason) == (None, "no observations")
    assert stats.e_value([0, 1, 1e-320], null_mean=0.5).estimate == pytest.approx(1 / 3)
    with pytest.raises(ValueError, match="strictly between"):
        stats.e_value([0.5], null_mean=1e-320)
    one = stats.confidence_sequence([1])
    assert one.interval == (pytest.approx(0.0067, abs=1e-4), 1.0)
    zeros = stats.confidence_sequence(np.zeros(40)).interval
    assert zeros[0] == 0
    assert zeros[1] > stats.clopper_pearson(0, 40).interval[1]  # the price of looking at any time
    many = stats.e_value(np.ones(5000), null_mean=0.1)
    assert many.value == pytest.approx(np.exp(700.0))
    assert many.log > 5000
    assert stats.e_benjamini_hochberg([]).rejected.size == 0
    assert stats.e_benjamini_hochberg([1e308, np.inf, 0]).rejected.tolist() == [True, True, False]
    assert stats.e_lond([np.inf, 0]).rejected.tolist() == [True, False]


def test_results_are_equal_when_all_their_entries_are_and_cannot_be_altered() -> None:
    x = np.random.default_rng(9).random(20)
    for call in (stats.confidence_sequence, lambda v: stats.e_value(v, null_mean=0.4)):
        assert call(x) == call(x.tolist())
        assert call(x) != call(x[::-1])
    both = stats.e_value(x, null_mean=0.4)
    assert both.estimate == pytest.approx(x.mean())
    for array in (both.running, stats.confidence_sequence(x).lower, stats.e_lond([40, 1]).rejected):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    assert stats.e_lond([40, 1]) == stats.e_lond([40, 1])
    assert stats.e_lond([40, 1]) != stats.e_benjamini_hochberg([40, 1])
    assert (stats.e_lond([40, 1]).n, stats.e_lond([40, 1]).method) == (2, "e-LOND")


def test_a_mean_that_drifts_is_reported_and_leaves_an_interval() -> None:
    result = stats.confidence_sequence(np.r_[np.zeros(200), np.ones(200)])
    assert result.reason is not None
    assert "drifts" in result.reason
    assert (result.lower < result.upper).all()
    assert np.isfinite(result.interval).all()


def test_what_cannot_be_is_refused() -> None:
    for values in ([0.2, 1.5], [0.2, float("nan")]):
        with pytest.raises(ValueError, match=r"between|finite"):
            stats.confidence_sequence(values)
    with pytest.raises(ValueError, match="strictly between"):
        stats.e_value([0.5], null_mean=1.0)
    with pytest.raises(ValueError, match="a group has 2 values"):
        stats.confidence_sequence([0, 1], groups=["a", "a"], largest_group=1)
    with pytest.raises(ValueError, match="needs groups"):
        stats.confidence_sequence([0, 1], largest_group=1)
    for procedure in (stats.e_benjamini_hochberg, stats.e_lond):
        for bad in ([-1.0], [float("nan")]):
            with pytest.raises(ValueError, match="e-values must"):
                procedure(bad)
