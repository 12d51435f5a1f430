"""Every finding on small tables whose values are worked out by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from recuse.audits import Measure, Table, measure_all
from recuse.types import Judgement, Preference, Reason

WORDS: dict[str, Preference | None] = {"c": "chosen", "r": "rejected", "t": "tie", "-": None}


def _reason(letter: str) -> Reason | None:
    return "refused" if letter == "-" else None


def table(rows: dict[str, tuple[str, str]], *, groups: dict[str, str] | None = None, **more: object) -> Table:
    """`rows`: pair -> what the judge preferred in AB and in BA, one letter a repeat ("c", "r", "t", "-")."""
    judgements = [
        Judgement(pair, (groups or {}).get(pair, pair), order, WORDS[letter], repeat=repeat, reason=_reason(letter))
        for pair, orders in rows.items()
        for order, letters in zip(("AB", "BA"), orders, strict=True)
        for repeat, letter in enumerate(letters)
    ]  # fmt: skip
    return Table.build(judgements, **more)  # type: ignore[arg-type]


def found(t: Table) -> dict[str, Measure]:
    return {m.finding.id: m for m in measure_all(t)}


def estimate(t: Table, id: str) -> float | None:
    return found(t)[id].finding.estimate


ROWS = {"1": ("c", "c"), "2": ("c", "r"), "3": ("t", "r"), "4": ("r", "r"), "5": ("-", "c"), "6": ("c", "t")}


def test_the_error_rate_averages_orders_and_counts_a_tie_as_half() -> None:
    errors = [Fraction(0), Fraction(1, 2), Fraction(3, 4), Fraction(1), Fraction(0), Fraction(1, 4)]
    assert estimate(table(ROWS), "accuracy.error_rate") == pytest.approx(float(sum(errors) / 6))


def test_each_order_has_its_own_error_rate_and_the_gap_is_their_difference_on_complete_pairs() -> None:
    t = table(ROWS)
    assert estimate(t, "accuracy.error_rate:AB") == pytest.approx((0 + 0 + 0.5 + 1 + 0) / 5)
    assert estimate(t, "accuracy.error_rate:BA") == pytest.approx((0 + 1 + 1 + 1 + 0 + 0.5) / 6)
    assert estimate(t, "accuracy.order_gap") == pytest.approx((0 + 1 + 0.5 + 0 + 0.5) / 5)


def test_the_pooled_rule_is_the_sign_of_the_sum() -> None:
    # sums: 2, 0, -1, -2, +1 (a missing verdict is 0), +1
    assert estimate(table(ROWS), "accuracy.pooled") == pytest.approx(3 / 6)


def test_the_average_counts_a_missing_verdict_as_wrong() -> None:
    right = [1, 1 / 2, 1 / 4, 0, 1 / 2, 3 / 4]
    assert estimate(table(ROWS), "accuracy.average") == pytest.approx(sum(right) / 6)


def test_accuracy_by_log_odds_cancels_a_position_preference() -> None:
    # The judge always takes the first answer; by the mean of both orders it is right on p and q, wrong on r, torn on s.
    logits = {"p": (3.0, -1.0), "q": (2.0, -1.9), "r": (1.0, -2.0), "s": (1.5, -1.5)}
    judgements = [
        Judgement(pair, pair, order, "chosen" if value > 0 else "rejected", logit=value)
        for pair, values in logits.items()
        for order, value in zip(("AB", "BA"), values, strict=True)
    ]
    t = Table.build(judgements)  # type: ignore[arg-type]
    assert estimate(t, "accuracy.order_averaged") == pytest.approx((1 + 1 + 0 + 0.5) / 4)
    assert estimate(t, "position.first_rate") == 1.0
    assert estimate(t, "position.logit_shift") == pytest.approx((2.0 + 1.95 + 1.5 + 1.5) / 4)


def test_consistency_counts_a_double_tie_and_never_a_missing_verdict() -> None:
    t = table({**ROWS, "7": ("t", "t"), "8": ("-", "-")})
    assert estimate(t, "position.consistency") == pytest.approx(3 / 8)  # 1, 4, 7
    assert estimate(t, "accuracy.consistent") == pytest.approx(1 / 8)  # 1


def test_the_first_rate_is_one_half_where_the_order_decides_nothing() -> None:
    assert estimate(table({"1": ("c", "c"), "2": ("r", "r"), "3": ("t", "t")}), "position.first_rate") == pytest.approx(
        0.5
    )


def test_the_first_rate_counts_first_verdicts_over_both_orders() -> None:
    # first preferred: pair 2 in AB and BA, pair 3 half in AB and in BA, pair 6 in AB and half in BA, pairs 1 and 4 once
    per_pair = [0.5, 1.0, 0.75, 0.5, 0.0, 0.75]
    assert estimate(table(ROWS), "position.first_rate") == pytest.approx(sum(per_pair) / 6)


def test_the_position_test_is_mcnemar_on_discordant_pairs() -> None:
    rows = (
        {f"f{i}": ("c", "r") for i in range(9)}
        | {f"s{i}": ("r", "c") for i in range(2)}
        | {f"n{i}": ("c", "c") for i in range(30)}
    )
    finding = found(table(rows))["position.first_rate"].finding
    tail = sum(Fraction(n, 2**11) for n in (1, 11, 55))  # P(at most 2 of 11) under a fair coin
    assert finding.p == pytest.approx(float(2 * tail), rel=1e-12)
    assert (finding.details["always_first"], finding.details["always_second"]) == (9, 2)


def test_pairs_of_one_question_are_one_unit_of_the_position_test() -> None:
    rows = {f"f{i}": ("c", "r") for i in range(6)}
    alone = found(table(rows))["position.first_rate"].finding
    together = found(table(rows, groups=dict.fromkeys(rows, "g")))["position.first_rate"].finding
    assert alone.p == pytest.approx(2 / 2**6)
    assert together.p == pytest.approx(1.0)
    assert (alone.groups, together.groups) == (6, 1)


def test_stability_is_the_chance_that_two_repeats_disagree() -> None:
    # c c r: 2 of 3 pairs of repeats disagree; c c c: none; mean over the two orders 1/3; second pair: none
    t = table({"1": ("ccr", "ccc"), "2": ("rrr", "ttt")})
    assert estimate(t, "stability.flip_rate") == pytest.approx((1 / 3 + 0) / 2)


@pytest.mark.parametrize(
    ("more", "rows", "reason"),
    [
        ({"deterministic": True}, {"1": ("cc", "cc")}, "deterministic"),
        ({}, {"1": ("c", "c")}, "no pair was asked twice"),
    ],
)
def test_stability_that_cannot_be_had_is_null_with_the_reason(
    more: dict[str, bool], rows: dict[str, tuple[str, str]], reason: str
) -> None:
    finding = found(table(rows, **more))["stability.flip_rate"].finding
    assert finding.estimate is None
    assert reason in (finding.reason or "")


def test_cached_replies_are_no_repeats() -> None:
    judgements = [
        Judgement("1", "1", order, "chosen", repeat=r, fresh=r == 0) for order in ("AB", "BA") for r in range(3)
    ]
    finding = found(Table.build(judgements))["stability.flip_rate"].finding
    assert finding.estimate is None
    assert "cache" in (finding.reason or "")


def test_failures_are_counted_by_reason_over_all_asks() -> None:
    t = table({"1": ("-", "c"), "2": ("-", "-"), "3": ("c", "c"), "4": ("c", "c")})
    finding = found(t)["failures.rate"].finding
    assert finding.estimate == pytest.approx(3 / 8)
    assert finding.details["reasons"] == {"refused": 3}
    assert estimate(t, "failures.order_gap") == pytest.approx(-1 / 4)


def test_the_length_effect_is_the_gap_between_two_error_rates() -> None:
    rows = {"1": ("c", "r"), "2": ("r", "r"), "3": ("c", "c"), "4": ("c", "t"), "5": ("r", "r")}
    lengths = {"1": (10, 20), "2": (10, 30), "3": (30, 10), "4": (20, 10), "5": (15, 15)}
    finding = found(table(rows, lengths=lengths))["length.effect"].finding
    assert finding.details["error_wrong_longer"] == pytest.approx(0.75)
    assert finding.details["error_right_longer"] == pytest.approx(0.125)
    assert finding.estimate == pytest.approx(0.625)
    assert finding.details["equal_length"] == 1


def test_an_unknown_length_is_null_with_the_reason() -> None:
    finding = found(table(ROWS, lengths={"1": (1, 2)}))["length.effect"].finding
    assert finding.estimate is None
    assert "not known" in (finding.reason or "")


def test_one_order_only_leaves_position_unmeasured() -> None:
    t = Table.build([Judgement(str(i), str(i), "AB", "chosen") for i in range(5)])
    for id in ("position.first_rate", "position.consistency", "accuracy.consistent"):
        finding = found(t)[id].finding
        assert finding.estimate is None
        assert finding.reason == "no pair was asked in both orders"
    assert estimate(t, "accuracy.error_rate") == 0.0


def test_without_gold_nothing_is_said_about_errors() -> None:
    measures = found(table(ROWS, gold=False, lengths=dict.fromkeys(ROWS, (1, 2))))
    for id in ("accuracy.error_rate", "accuracy.pooled", "accuracy.consistent", "length.effect"):
        assert measures[id].finding.estimate is None
    assert measures["position.first_rate"].finding.estimate is not None


def test_the_bounds_hold_over_every_completion_of_the_missing_verdicts() -> None:
    rows = {str(i): ("c", "c") for i in range(30)} | {"x": ("-", "-"), "y": ("-", "r"), "z": ("r", "-")}
    finding = found(table(rows))["accuracy.error_rate"].finding
    assert finding.bounds is not None
    for x in ("c", "r"):
        for y in ("c", "r"):
            for z in ("c", "r"):
                complete = {**rows, "x": (x, x), "y": (y, "r"), "z": ("r", z)}
                interval = found(table(complete))["accuracy.error_rate"].finding.interval
                assert interval is not None
                assert finding.bounds[0] <= interval[0] + 1e-12
                assert interval[1] <= finding.bounds[1] + 1e-12


def test_a_perfect_judge_has_an_exact_bound_and_not_an_interval_of_zero_width() -> None:
    finding = found(table({str(i): ("c", "c") for i in range(40)}))["accuracy.error_rate"].finding
    assert finding.interval is not None
    assert finding.interval[0] == 0.0
    assert finding.interval[1] == pytest.approx(1 - 0.025 ** (1 / 40))  # Clopper-Pearson for 0 of 40: 0.088


def test_the_order_of_judgements_changes_nothing() -> None:
    judgements = [
        Judgement(p, p, order, WORDS[letter], reason=None if letter != "-" else "refused")
        for p, orders in ROWS.items()
        for order, letter in zip(("AB", "BA"), orders, strict=True)
    ]
    one = {m.finding.id: m.finding.estimate for m in measure_all(Table.build(judgements))}
    two = {m.finding.id: m.finding.estimate for m in measure_all(Table.build(judgements[::-1]))}
    assert one == two


def test_each_domain_is_compared_with_all_others_and_corrected() -> None:
    rows = {f"a{i}": ("c", "c") for i in range(30)} | {f"b{i}": ("r", "r") for i in range(30)}
    measures = found(table(rows, domains={p: p[0] for p in rows}))
    assert measures["domain.error_rate:a"].finding.estimate == 0.0
    assert measures["domain.error_rate:b"].finding.estimate == 1.0
    assert measures["domain.error_rate:b"].finding.details["p_against_others"] < 1e-6
    assert "domain.error_rate:a" not in found(table(rows, domains=dict.fromkeys(rows, "one")))
