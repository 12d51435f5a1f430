"""Missing values as a result, and the equivalence rule."""

from __future__ import annotations

import numpy as np
import pytest

from recuse import stats


def test_failure_gap_by_hand() -> None:
    # 1 of 20 against 3 of 10, no other rows in it.
    missing = [True] + [False] * 19 + [True] * 3 + [False] * 7 + [True] * 5
    group = ["a"] * 20 + ["b"] * 10 + ["c"] * 5
    found = stats.failure_gap(missing, group=group, a="a", b="b")
    assert (found.rate_a, found.rate_b) == (0.05, 0.3)
    assert found.estimate == pytest.approx(-0.25)
    assert (found.n_a, found.n_b, found.n) == (20, 10, 30)


def test_failure_gap_agrees_with_newcombe_and_the_score_test() -> None:
    from statsmodels.stats.proportion import confint_proportions_2indep, test_proportions_2indep

    missing = np.r_[np.arange(400) < 60, np.arange(500) < 110]
    group = [0] * 400 + [1] * 500
    found = stats.failure_gap(missing, group=group, a=0, b=1)
    assert found.interval == pytest.approx(confint_proportions_2indep(60, 400, 110, 500, method="newcomb"), abs=1e-3)
    theirs = test_proportions_2indep(60, 400, 110, 500, method="score").pvalue
    assert found.pvalue == pytest.approx(theirs, abs=0.003)


def test_failure_gap_holds_its_level_with_clusters() -> None:
    rng, runs, rejected = np.random.default_rng(0), 1000, 0
    cluster, group = np.repeat(np.arange(100), 6), np.tile([0, 1] * 3, 100)
    for _ in range(runs):
        missing = np.where(rng.random(600) < 0.7, rng.random(200)[2 * cluster + group], rng.random(600)) < 0.2
        rejected += stats.failure_gap(missing, group=group, a=0, b=1, cluster=cluster).pvalue <= 0.05
    assert stats.clopper_pearson(rejected, runs, level=0.99).interval[0] <= 0.05


def test_failures_nowhere_are_not_proof_of_no_gap() -> None:
    found = stats.failure_gap([False] * 50, group=["a"] * 20 + ["b"] * 30, a="a", b="b")
    assert found.estimate == 0
    assert found.interval == pytest.approx((-(1 - 0.025 ** (1 / 30)), 1 - 0.025 ** (1 / 20)), abs=1e-8)
    everywhere = stats.failure_gap([True] * 20 + [False] * 20, group=["a"] * 20 + ["b"] * 20, a="a", b="b")
    assert everywhere.estimate == 1
    assert everywhere.pvalue < 1e-4


def test_missing_bounds_by_hand() -> None:
    found = stats.missing_bounds([1, None, 0, 1, None], bounds=(0, 1))
    assert found.estimate == pytest.approx(2 / 3)
    assert (found.low, found.high) == pytest.approx((2 / 5, 4 / 5))
    assert (found.n, found.missing) == (3, 2)
    # Clopper-Pearson's lower limit for 2 of 5 and upper one for 4 of 5.
    low, high = stats.clopper_pearson(2, 5).interval[0], stats.clopper_pearson(4, 5).interval[1]
    assert found.interval == pytest.approx((low, high), abs=1e-8)
    scaled = stats.missing_bounds([3, None, -1, 3, None], bounds=(-1, 3))
    assert scaled.interval == pytest.approx((4 * low - 1, 4 * high - 1), abs=1e-7)


def test_missing_bounds_hold_every_completion() -> None:
    rng = np.random.default_rng(1)
    x, gone, groups = rng.random(300), rng.random(300) < 0.1, rng.integers(0, 80, 300)
    found = stats.missing_bounds(x, missing=gone, bounds=(0, 1), groups=groups)
    for _ in range(50):
        full = stats.clustered_mean(np.where(gone, rng.random(300), x), groups=groups)
        assert found.low <= full.estimate <= found.high
        assert found.interval[0] <= full.interval[0] < full.interval[1] <= found.interval[1]


def test_missing_bounds_cover_the_truth_when_what_is_missing_is_chosen_to_mislead() -> None:
    # A fifth of the ones is missing: what is left says 0.444, the truth is 0.5.
    rng, runs, naive, ours = np.random.default_rng(2), 1000, 0, 0
    for _ in range(runs):
        x = (rng.random(300) < 0.5).astype(float)
        gone = (x == 1) & (rng.random(300) < 0.2)
        found = stats.missing_bounds(x, missing=gone, bounds=(0, 1))
        ours += found.interval[0] <= 0.5 <= found.interval[1]
        low, high = stats.clustered_mean(x[~gone]).interval
        naive += low <= 0.5 <= high
    assert naive / runs < 0.65
    assert stats.clopper_pearson(ours, runs, level=0.99).interval[1] >= 0.95


def test_bounds_of_a_difference_by_hand() -> None:
    # Exposed: 1, 1, missing; others: 0, 1, missing, missing. Least: 2/3 - 3/4; greatest: 3/3 - 1/4.
    values, exposed = [1, 1, None, 0, 1, None, None], np.array([1, 1, 1, 0, 0, 0, 0], dtype=bool)

    def gap(v: np.ndarray, rows: np.ndarray) -> stats.Estimate:
        return stats.risk_difference(v, exposed[rows])

    found = stats.completion_bounds(values, gap, bounds=(0, 1), rises=exposed)
    assert (found.estimate, found.low, found.high) == pytest.approx((0.5, 2 / 3 - 3 / 4, 3 / 4))
    assert (found.n, found.missing, found.pvalue) == (4, 3, 1.0)
    least = stats.risk_difference([1, 1, 0, 0, 1, 1, 1], exposed)
    most = stats.risk_difference([1, 1, 1, 0, 1, 0, 0], exposed)
    assert found.interval == (least.interval[0], most.interval[1])
    # Without missing values it is the statistic itself.
    whole = stats.completion_bounds([1, 1, 0, 0, 1, 1, 1], gap, bounds=(0, 1), rises=exposed)
    assert (whole.estimate, whole.low, whole.high, whole.interval, whole.pvalue) == (
        least.estimate, least.estimate, least.estimate, least.interval, least.pvalue,
    )  # fmt: skip


def test_bounds_of_a_ratio_of_rates_by_hand() -> None:
    first = np.arange(20) < 10
    values = [1.0] * 4 + [None] + [0.0] * 5 + [1.0] * 8 + [None] + [0.0]

    def ratio(v: np.ndarray, rows: np.ndarray) -> stats.Estimate:
        mine, theirs = v[first[rows]], v[~first[rows]]
        return stats.impact_ratio(mine.sum(), mine.size, theirs.sum(), theirs.size)

    found = stats.completion_bounds(values, ratio, bounds=(0, 1), rises=first, null=1.0)
    assert (found.low, found.high) == pytest.approx((0.4 / 0.9, 0.5 / 0.8))
    assert found.pvalue == stats.impact_ratio(5, 10, 8, 10).pvalue
    # The reference may be 0 of 2: no bound above, and the reason.
    few = [1.0, 0.0, 0.0, None]
    first = np.array([1, 1, 0, 0], dtype=bool)
    open_ended = stats.completion_bounds(few, ratio, bounds=(0, 1), rises=first)
    assert (open_ended.low, open_ended.high, open_ended.interval) == (1.0, None, None)
    assert "reference rate is 0" in open_ended.reason


@pytest.mark.parametrize("kind", ["clustered", "stratified"])
def test_no_completion_leaves_the_bounds_of_a_difference(kind: str) -> None:
    rng = np.random.default_rng(5)
    x, gone, exposed = rng.random(240), rng.random(240) < 0.1, rng.random(240) < 0.4
    strata, groups = rng.integers(0, 6, 240), rng.integers(0, 60, 240)

    def gap(v: np.ndarray, rows: np.ndarray) -> stats.Estimate:
        if kind == "clustered":
            return stats.clustered_difference(v, exposed[rows], groups=groups[rows])
        return stats.stratified_difference(v, exposed[rows], strata=strata[rows], groups=groups[rows])

    found = stats.completion_bounds(x, gap, bounds=(0, 1), missing=gone, rises=exposed)
    assert found.low < found.estimate < found.high
    every = np.ones(240, dtype=bool)
    for _ in range(60):
        fill = rng.random(240) if rng.random() < 0.5 else rng.integers(0, 2, 240)
        full = gap(np.where(gone, fill, x), every)
        assert found.low <= full.estimate <= found.high
        assert found.interval[0] <= full.interval[0] < full.interval[1] <= found.interval[1]


def test_bounds_of_a_difference_cover_it_when_what_is_missing_is_chosen_to_mislead() -> None:
    # No difference, but a third of the exposed' ones is missing.
    rng, runs, naive, ours, wrong = np.random.default_rng(6), 1000, 0, 0, 0
    exposed = np.arange(300) < 150

    def gap(v: np.ndarray, rows: np.ndarray) -> stats.Estimate:
        return stats.risk_difference(v, exposed[rows])

    for _ in range(runs):
        x = (rng.random(300) < 0.5).astype(float)
        gone = exposed & (x == 1) & (rng.random(300) < 1 / 3)
        found = stats.completion_bounds(x, gap, bounds=(0, 1), missing=gone, rises=exposed)
        ours += found.interval[0] <= 0 <= found.interval[1]
        wrong += found.pvalue <= 0.05
        seen = gap(x[~gone], ~gone)
        naive += seen.interval[0] <= 0 <= seen.interval[1]
    assert naive / runs < 0.8
    assert stats.clopper_pearson(ours, runs, level=0.99).interval[1] >= 0.95
    assert stats.clopper_pearson(wrong, runs, level=0.99).interval[0] <= 0.05


def test_what_completions_cannot_use_is_refused() -> None:
    def mean(v: np.ndarray, rows: np.ndarray) -> stats.Estimate:
        return stats.clustered_mean(v)

    for refused, match in (
        (lambda: stats.completion_bounds([0.5, 2.0], mean, bounds=(0, 1)), "not between"),
        (lambda: stats.completion_bounds([0.5, None], mean, bounds=(1, 0)), "under the upper"),
        (lambda: stats.completion_bounds([0.5, None], mean, bounds=(0, 1), rises=[True]), "marks in rises"),
        (lambda: stats.completion_bounds([0.5, None], mean, bounds=(0, 1), rises=[0.5, 1]), "rises must be"),
        (lambda: stats.missing_bounds(["a", None], bounds=(0, 1)), "must be numbers"),
        (lambda: stats.missing_bounds([[0.1], [0.2]], bounds=(0, 1)), "one-dimensional"),
        (lambda: stats.missing_bounds([0.1, float("inf")], bounds=(0, 1)), "finite"),
        (lambda: stats.failure_gap([True, False], group=["a", None], a="a", b="b"), "None at place 1"),
    ):
        with pytest.raises(ValueError, match=match):
            refused()


def test_degenerate_missing_values_have_their_stated_answer() -> None:
    gone = stats.missing_bounds([None, None], bounds=(0, 1))
    assert (gone.estimate, gone.low, gone.high) == (None, 0.0, 1.0)
    assert stats.missing_bounds([], bounds=(0, 1)).reason == "no observations"
    full = stats.missing_bounds([0, 1, 1], bounds=(0, 1))
    assert full.interval == pytest.approx(stats.clustered_mean([0, 1, 1]).interval)
    empty = stats.failure_gap([True], group=["a"], a="a", b="b")
    assert (empty.estimate, empty.rate_b, empty.reason) == (None, None, "no rows in group 'b'")
    assert stats.failure_gap([], group=[], a="a", b="b").reason == "no rows in group 'a'"
    with pytest.raises(ValueError, match="None for a missing"):
        stats.missing_bounds([0.5, float("nan")], bounds=(0, 1))
    with pytest.raises(ValueError, match="true or false"):
        stats.failure_gap([0.5], group=["a"], a="a", b="b")


@pytest.mark.parametrize(
    ("interval", "low", "high", "outcome"),
    [
        ((-0.02, 0.03), -0.05, 0.05, "pass"),
        ((-0.05, 0.05), -0.05, 0.05, "pass"),
        ((0.06, 0.1), -0.05, 0.05, "fail"),
        ((-0.2, -0.051), -0.05, 0.05, "fail"),
        ((0.05, 0.1), -0.05, 0.05, "warn"),  # touches the tolerance
        ((-0.2, 0.2), -0.05, 0.05, "warn"),  # not significant is not equal
        ((0.4, 0.9), 0.3, None, "pass"),
        ((0.1, 0.2), 0.3, None, "fail"),
        ((0.1, 0.2), None, 0.15, "warn"),
        (None, -0.05, 0.05, "warn"),
    ],
)
def test_equivalence_rule(
    interval: tuple[float, float] | None, low: float | None, high: float | None, outcome: str
) -> None:
    assert stats.equivalence(interval, low=low, high=high) == outcome


def test_equivalence_agrees_with_two_one_sided_tests() -> None:
    from statsmodels.stats.weightstats import DescrStatsW

    rng = np.random.default_rng(3)
    outcomes = []
    for shift in np.linspace(0, 0.6, 40):
        x = rng.normal(shift, 1, size=100)
        interval = stats.mean_interval(x, level=0.90).interval
        p = DescrStatsW(x).ttost_mean(-0.3, 0.3)[0]
        outcomes.append(stats.equivalence(interval, low=-0.3, high=0.3))
        assert (outcomes[-1] == "pass") == (p <= 0.05)
    assert set(outcomes) == {"pass", "fail", "warn"}


def test_a_true_gap_at_the_edge_passes_or_fails_at_most_at_its_level() -> None:
    rng, runs = np.random.default_rng(4), 2000
    outcomes = [
        stats.equivalence(stats.mean_interval(x).interval, low=-0.2, high=0.2)
        for x in rng.normal(0.2, 0.5, size=(runs, 60))
    ]
    for outcome in ("pass", "fail"):
        assert stats.clopper_pearson(outcomes.count(outcome), runs, level=0.99).interval[0] <= 0.025


def test_a_tolerance_in_the_wrong_order_is_refused() -> None:
    with pytest.raises(ValueError, match="from low to high"):
        stats.equivalence((0, 1), low=0.2, high=0.1)
    with pytest.raises(ValueError, match="from low to high"):
        stats.equivalence((1, 0), low=0.1, high=0.2)
