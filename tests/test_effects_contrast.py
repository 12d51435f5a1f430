"""The effect of an arm: by hand, against the original, and over every completion of what is missing."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from instrument import Judge, simulate

from recuse import stats
from recuse.effects.contrast import contrast, core
from recuse.effects.scores import Scores


def scores(
    errors: dict[str, list[list[float]]],
    *,
    group: list[int] | None = None,
    failed: dict[str, list[list[float]]] | None = None,
    unusable: dict[str, list[int]] | None = None,
    logit: dict[str, list[list[float]]] | None = None,
) -> Scores:
    """Arms with errors by pair and order."""
    arms = tuple(errors)
    error = np.array([errors[arm] for arm in arms], dtype=float)
    shape = error.shape
    gone = np.array([(failed or {}).get(arm, np.zeros(shape[1:])) for arm in arms], dtype=float)
    passed = np.array([[i not in (unusable or {}).get(arm, []) for i in range(shape[1])] for arm in arms])
    odds = np.array([(logit or {}).get(arm, np.zeros(shape[1:])) for arm in arms], dtype=float)
    return Scores(
        arms, tuple(f"p{i}" for i in range(shape[1])), ("AB", "BA"),
        np.array(range(shape[1]) if group is None else group), error, gone, np.ones(shape[:2], dtype=bool), passed,
        odds, np.full(shape, logit is not None),
    )  # fmt: skip


HARMLESS = [[0, 1], [0, 0], [0, 1], [1, 0]]


def test_effect_interval_and_p_are_those_of_group_sums_by_hand() -> None:
    found = contrast(
        scores({"original": HARMLESS, "placebo": HARMLESS, "b": [[1, 1], [1, 1], [0, 1], [0, 0]]}, group=[0, 0, 1, 2]),
        "b",
    )
    # Gaps by pair: 0.5, 1, 0, -0.5. Group sums 1.5, 0, -0.5: of the 4 sign patterns of the two that are not zero,
    # one and the observed sum of 1 are reached by 2 - 0.5 and 2.
    assert found.estimate == pytest.approx(0.25)
    assert found.p == pytest.approx(2 / 4)
    assert (found.n, found.groups) == (4, 3)
    assert (found.error, found.base_error) == (0.625, 0.375)
    # CR1 by hand: residual sums 1.5 - 0.5, 0 - 0.25, -0.5 - 0.25; times 3 / 2, over 4 squared.
    assert found.se == pytest.approx(np.sqrt(1.5 * (1 + 0.0625 + 0.5625) / 16))
    assert found.interval == stats.clustered_mean([0.5, 1, 0, -0.5], groups=[0, 0, 1, 2], bounds=(-1, 1)).interval
    assert found.influence @ found.influence == pytest.approx(found.se**2)


def test_both_orders_stand_apart_with_their_interaction() -> None:
    n = 12
    placebo = [[0.0, 1.0]] * n
    found = contrast(scores({"original": placebo, "placebo": placebo, "b": [[1.0, 0.0]] * n}), "b")
    ab, ba = found.by_order
    assert (found.estimate, ab.estimate, ba.estimate) == (0.0, 1.0, -1.0)
    assert (ab.p_opposite, ba.p_opposite) == (1.0, pytest.approx(2**-n))
    assert not ab.informative
    assert not ba.informative
    assert found.interaction is not None
    assert found.interaction.estimate == -2.0
    assert found.interaction.pvalue == pytest.approx(2 ** (1 - n))


def test_exclusion_is_per_contrast_and_shows_who_was_left_out() -> None:
    original = [[1, 1], [1, 0], [0, 0], [0, 0]]
    table = scores(
        {"original": original, "placebo": HARMLESS, "b": [[1, 1]] * 4, "c": [[1, 1]] * 4},
        unusable={"b": [0], "placebo": [1], "c": [3]},
    )
    found = contrast(table, "b")
    assert found.n == 2
    assert found.estimate == pytest.approx((0.5 + 0.5) / 2)
    assert found.excluded is not None
    assert (found.excluded.n, found.excluded.rate) == (2, 0.5)
    assert (found.excluded.error, found.excluded.error_kept) == (0.75, 0.0)
    # A failed rewrite counts as the original: pair 0 has 1 in the arm, pair 1 has 0.5 in the placebo.
    assert found.itt is not None
    assert found.itt.estimate == pytest.approx(((1 - 0.5) + (1 - 0.5) + 0.5 + 0.5) / 4)


def test_bounds_hold_the_effect_under_every_completion() -> None:
    n = 40
    rng = np.random.default_rng(3)
    full = {arm: rng.integers(0, 2, size=(n, 2)).astype(float) for arm in ("original", "placebo", "b")}
    missing = {"b": np.zeros((n, 2)), "placebo": np.zeros((n, 2))}
    missing["b"][0, 0] = missing["b"][1, 1] = missing["placebo"][1, 0] = 1
    hidden = {arm: np.where(missing.get(arm, 0) == 1, 0.0, e) for arm, e in full.items()}
    found = contrast(
        scores({a: e.tolist() for a, e in hidden.items()}, failed={a: m.tolist() for a, m in missing.items()}), "b"
    )
    assert found.n == n - 2
    ends = []
    for a, b, c in itertools.product((0.0, 1.0), repeat=3):
        arm, base = hidden["b"].copy(), hidden["placebo"].copy()
        arm[0, 0], arm[1, 1], base[1, 0] = a, b, c
        whole = contrast(scores({"original": base.tolist(), "placebo": base.tolist(), "b": arm.tolist()}), "b")
        ends.append(whole.interval)
    assert found.bounds == pytest.approx((min(low for low, _ in ends), max(high for _, high in ends)))
    assert found.failure_rates == pytest.approx((2 / 80, 1 / 80))
    assert found.failures is not None
    assert found.failures.estimate == pytest.approx(1 / 80)


def test_log_odds_lost_by_the_better_answer_are_positive_and_follow_the_orders() -> None:
    n = 10
    errors = {"original": [[0, 0]] * n, "placebo": [[0, 0]] * n, "b": [[0, 0]] * n}
    rng = np.random.default_rng(0)
    base = rng.normal(1, 1, size=(n, 2))
    lost = np.array([0.5, 0.1]) + rng.normal(0, 0.01, size=(n, 2))
    found = contrast(scores(errors, logit={"placebo": base.tolist(), "b": (base - lost).tolist()}), "b")
    assert found.logit is not None
    assert found.logit.estimate == pytest.approx(lost.mean())
    assert found.logit.interval == pytest.approx(stats.mean_interval(lost.mean(axis=1)).interval)
    assert [o.logit.estimate for o in found.by_order if o.logit] == pytest.approx(lost.mean(axis=0).tolist())


def test_nothing_measured_has_a_reason_and_a_ceiling_is_flagged() -> None:
    four = {"original": HARMLESS, "placebo": HARMLESS, "b": HARMLESS}
    nothing = scores(four, unusable={"b": [0, 1, 2, 3]})
    found = contrast(nothing, "b")
    assert (found.estimate, found.reason) == (None, "no pair has a usable text in both arms")
    assert found.itt is not None
    assert found.itt.estimate == 0.0
    undealt = replace(nothing, dealt=np.array([[True] * 4, [True] * 4, [False] * 4]))
    assert contrast(undealt, "b").reason == "no pair was dealt to both arms"
    silent = scores(four, failed={"b": [[1, 0]] * 4})
    assert contrast(silent, "b").reason == "no pair has a verdict in every order of both arms"
    assert contrast(silent, "b").bounds is not None
    high = scores({"original": HARMLESS, "placebo": [[1, 1]] * 4, "b": [[1, 1]] * 4})
    assert contrast(high, "b").ceiling
    # No gap at all: the error is that of the exact interval, never zero.
    assert contrast(high, "b").se == pytest.approx(np.diff(contrast(high, "b").interval)[0] / 2 / 1.959964, rel=1e-6)


def test_the_core_is_the_contrast_and_influences_give_the_covariance_of_two_effects() -> None:
    judge, rng = Judge(largest_group=3), np.random.default_rng(0)
    table = simulate(judge, [0.1], rng, groups=120, shams=1)
    whole, part = contrast(table, "bias:0"), core(table, "bias:0")
    for name in ("estimate", "interval", "se", "p", "p_completed", "n", "groups", "error", "base_error"):
        assert getattr(part, name) == getattr(whole, name)
    drawn, products = [], []
    for _ in range(300):
        table = simulate(judge, [0.1], rng, groups=120, shams=1)
        effects = [core(table, arm) for arm in ("bias:0", "sham:0")]
        drawn.append([effect.estimate for effect in effects])
        products.append(effects[0].influence @ effects[1].influence)
    # Half of a gap's variance is the placebo's.
    assert np.mean(products) == pytest.approx(
        np.cov(np.array(drawn).T)[0, 1], rel=0.3
    )  # three standard errors of the covariance
