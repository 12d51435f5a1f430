"""The comparison by itself: differences by hand, missing verdicts, the rule by which a variant wins, and its level."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from harden_world import judged
from scipy.stats import binomtest

from recuse import stats
from recuse.harden.decide import Decided, decide
from recuse.harden.measures import (
    CONSISTENCY,
    ERROR,
    FAILURES,
    KAPPA,
    Compared,
    Measured,
    compare,
    compare_kappa,
    measures_of,
)
from recuse.harden.variants import Variant, Variants
from recuse.types import Finding, Preference

Said = tuple[Preference | None, Preference | None]
RIGHT: Said = ("chosen", "chosen")
WRONG: Said = ("rejected", "rejected")
SPLIT: Said = ("chosen", "rejected")
SILENT: Said = (None, "chosen")
BY_ID = {m.id: m for m in measures_of([], people=True)}


def groups(n: int) -> list[str]:
    return [f"g{i}" for i in range(n)]


def rule(*ids: str, **more: object) -> Variants:
    return Variants(variants=[Variant(id=id, temperature=1.0) for id in ids], **more)  # type: ignore[arg-type]


def test_differences_are_those_of_the_pairs_by_hand() -> None:
    present = judged("present", [RIGHT, WRONG, SPLIT, WRONG], groups(4))
    variant = judged("v", [RIGHT, RIGHT, RIGHT, SPLIT], groups(4))
    error = compare(present, variant, BY_ID[ERROR], margin=0.05)
    # 0, -1, -1/2, -1/2 by pair
    assert error.finding.estimate == pytest.approx(-0.5)
    assert (error.base.estimate, error.own.estimate) == (0.625, 0.125)
    # Flips of three gaps of one sign: 2 of 8 patterns are as far out.
    assert error.finding.p == pytest.approx(2 / 8)
    same = compare(present, variant, BY_ID[CONSISTENCY], margin=0.05)
    assert same.finding.estimate == pytest.approx((0 + 0 + 1 - 1) / 4)
    assert compare(present, variant, BY_ID[FAILURES], margin=0.05).finding.estimate == 0.0


def test_the_p_of_not_worse_is_that_of_the_interval() -> None:
    rng = Random(4)
    said = [[rng.choice((RIGHT, WRONG, SPLIT)) for _ in range(150)] for _ in range(2)]
    present, variant = judged("present", said[0], groups(150)), judged("v", said[1], groups(150))
    found = compare(present, variant, BY_ID[ERROR], margin=0.05)
    assert found.finding.interval is not None
    high = found.finding.interval[1]
    for margin, shown in ((high + 0.001, True), (high - 0.001, False)):
        assert (compare(present, variant, BY_ID[ERROR], margin=margin).p_not_worse < 0.05) is shown


def test_the_group_is_the_unit() -> None:
    said = [RIGHT] * 40
    worse = [WRONG, RIGHT] * 20
    apart, together = groups(40), [f"g{i // 10}" for i in range(40)]
    many, few = (
        compare(judged("present", worse, of), judged("v", said, of), BY_ID[ERROR], margin=0.05)
        for of in (apart, together)
    )
    assert many.finding.estimate == few.finding.estimate == -0.5
    assert (many.finding.groups, few.finding.groups) == (40, 4)
    assert few.finding.p == pytest.approx(2 / 2**4)
    assert many.p_better < 0.05 <= few.p_better


def test_a_variant_that_falls_silent_where_it_would_err_is_not_better() -> None:
    present = judged("present", [WRONG] * 20 + [RIGHT] * 60, groups(80))
    silent = judged("v", [SILENT] * 20 + [RIGHT] * 60, groups(80))
    mended = judged("w", [RIGHT] * 20 + [RIGHT] * 60, groups(80))
    error = compare(present, silent, BY_ID[ERROR], margin=0.05)
    assert error.p_better > 0.05 > compare(present, mended, BY_ID[ERROR], margin=0.05).p_better
    # Those 20 may be right or wrong in the order without a verdict: from -1 to -1/2 each.
    assert error.finding.bounds is not None
    assert error.finding.bounds[0] <= -0.25 <= -0.125 <= error.finding.bounds[1]
    assert compare(present, silent, BY_ID[FAILURES], margin=0.05).p_worse < 0.05


def test_kappa_with_the_better_answer_moves_as_the_two_kappas_do() -> None:
    present = judged("present", [RIGHT] * 30 + [WRONG] * 30, groups(60))
    variant = judged("v", [RIGHT] * 45 + [WRONG] * 15, groups(60))
    found = compare_kappa(present, variant, BY_ID["agreement.kappa"], None, margin=0.05)
    # Balanced places: kappa is 1 - 2 x error.
    assert (found.base.estimate, found.own.estimate) == (pytest.approx(0.0), pytest.approx(0.5))
    assert found.finding.estimate == pytest.approx(0.5)
    assert (
        compare_kappa(present, variant, BY_ID[KAPPA], None, margin=0.05).finding.reason == "no judged pair has a label"
    )


def cell(
    id: str, estimate: float, *, better: float, not_worse: float, arms: bool = False, own: float = 0.0
) -> Compared:
    measured = Measured(id, id, "lower", (-1.0, 1.0), ("a", "b") if arms else None)
    found = stats.Estimate(own, (own - 0.01, own + 0.01), 100, 100, "")
    base = replace(found, estimate=0.2, interval=(0.19, 0.21))
    finding = Finding(id, id, estimate, (estimate - 0.02, estimate + 0.02), 100, 100, better)
    return Compared(measured, finding, base, found, 0.05, better, not_worse, 1.0)


def decided(*variants: list[Compared], cost: float | None = 1.0, **more: object) -> Decided:
    ids = [f"v{i}" for i in range(len(variants))]
    compared = dict(zip(ids, variants, strict=True))
    return decide(compared, rule(*ids, **more), ratios=dict.fromkeys(ids, cost))


def test_the_whole_claim_is_corrected_over_the_variants() -> None:
    one = [cell(ERROR, -0.1, better=0.02, not_worse=0.0), cell(FAILURES, 0.0, better=1.0, not_worse=0.03)]
    none = [cell(ERROR, 0.0, better=1.0, not_worse=1.0), cell(FAILURES, 0.0, better=1.0, not_worse=1.0)]
    assert decided(one).winner == "v0"
    both = decided(one, none)
    assert both.winner is None
    # The larger part, 0.03, times two.
    assert both.verdicts[0].p == pytest.approx(0.06)
    assert "not after the correction over 2 variants" in both.verdicts[0].why[0]


def test_a_bias_that_turns_keeps_a_variant_from_winning() -> None:
    found = decided(
        [
            cell(ERROR, -0.1, better=0.001, not_worse=0.0),
            cell("bias.x.effect", -0.5, better=0.001, not_worse=0.0, arms=True, own=-0.3),
        ]
    )
    assert found.winner is None
    assert found.verdicts[0].cell("bias.x.effect").outcome == "turned"
    assert "punishes" in found.verdicts[0].why[0]


def test_what_a_verdict_costs_decides_only_where_a_ratio_was_set() -> None:
    good = [cell(ERROR, -0.1, better=0.001, not_worse=0.0)]
    assert decided(good, cost=9.0).winner == "v0"
    dear = decided(good, cost=9.0, cost_ratio=3.0)
    assert dear.winner is None
    assert "9.00 times" in dear.verdicts[0].why[0]
    assert decided(good, cost=2.9, cost_ratio=3.0).winner == "v0"


def test_of_several_that_win_the_best_is_named_and_said_not_to_be_tested() -> None:
    found = decided([cell(ERROR, -0.1, better=0.001, not_worse=0.0)], [cell(ERROR, -0.2, better=0.001, not_worse=0.0)])
    assert found.winner == "v1"
    assert "1 more would do as well" in found.headline


def test_how_many_groups_would_settle_it_follows_the_kind_of_interval() -> None:
    few = judged("present", [RIGHT] * 10, groups(10))
    alike = (
        decide({"v0": [compare(few, few, BY_ID[ERROR], margin=0.05)] * 2}, rule("v0"), ratios={}).verdicts[0].cells[1]
    )
    assert alike.outcome == "unclear"
    enough = alike.groups_needed
    assert enough is not None
    # Where nothing differs the bound narrows with the number of groups: with that many it is about the margin.
    many = judged("present", [RIGHT] * enough, groups(enough))
    interval = compare(many, many, BY_ID[ERROR], margin=0.05).finding.interval
    assert interval is not None
    assert interval[1] == pytest.approx(0.05, rel=0.25)


def draw(rng: Random, n: int, error: float) -> list[Said]:
    def one() -> Preference:
        return "rejected" if rng.random() < error else "chosen"

    return [(one(), one()) for _ in range(n)]


def simulated(seed: int, errors: tuple[float, ...], n: int = 40) -> Decided:
    """Variants beside a judge that errs in 0.3, by independent draws; the error rate alone decides."""
    rng, of = Random(f"harden-{seed}"), groups(n)
    present = judged("present", draw(rng, n, 0.3), of)
    compared = {}
    for i, error in enumerate(errors):
        variant = judged(f"v{i}", draw(rng, n, error), of)
        compared[f"v{i}"] = [compare(present, variant, BY_ID[ERROR], margin=0.05)]
    return decide(compared, rule(*compared), ratios={})


def test_variants_that_are_no_better_seldom_win() -> None:
    wins = sum(simulated(seed, (0.3, 0.3, 0.3)).winner is not None for seed in range(150))
    # One side of a two-sided 0.05, over three variants together.
    assert binomtest(wins, 150, 0.05, alternative="greater").pvalue > 0.01
    assert sum(simulated(seed, (0.3, 0.05, 0.3)).winner == "v1" for seed in range(20)) > 17


def test_the_very_same_verdicts_never_win() -> None:
    said = draw(Random(1), 200, 0.3)
    present, twin = judged("present", said, groups(200)), judged("v0", said, groups(200))
    compared = [compare(present, twin, BY_ID[id], margin=0.05) for id in (ERROR, CONSISTENCY, FAILURES)]
    found = decide({"v0": compared}, rule("v0"), ratios={})
    assert found.winner is None
    assert found.verdicts[0].p == 1.0
    assert [c.outcome for c in found.verdicts[0].cells] == ["not worse"] * 3


def test_what_keeps_a_variant_from_winning_is_told_with_its_interval() -> None:
    found = decided([cell(ERROR, -0.01, better=0.9, not_worse=0.0), cell(FAILURES, 0.04, better=1.0, not_worse=0.9)])
    error, failures = found.verdicts[0].why
    assert error == f"{ERROR} is not proven to be better (difference -0.010 [-0.030, +0.010])"
    assert "(difference +0.040 [+0.020, +0.060])" in failures
