"""Every finding on small tables whose values are worked out by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import false_discovery_control

from recuse.audits import Measure, Table, measure_all
from recuse.audits.domains import _two_sided
from recuse.types import Judgement, Preference, Reason

WORDS: dict[str, Preference | None] = {"c": "chosen", "r": "rejected", "t": "tie", "-": None}


def _reason(letter: str) -> Reason | None:
    return "refused" if letter == "-" else None


def judged(rows: dict[str, tuple[str, str]], *, groups: dict[str, str] | None = None) -> list[Judgement]:
    """`rows`: pair -> what the judge preferred in AB and in BA, one letter a repeat ("c", "r", "t", "-")."""
    return [
        Judgement(pair, (groups or {}).get(pair, pair), order, WORDS[letter], repeat=repeat, reason=_reason(letter))
        for pair, orders in rows.items()
        for order, letters in zip(("AB", "BA"), orders, strict=True)
        for repeat, letter in enumerate(letters)
    ]  # fmt: skip


def table(rows: dict[str, tuple[str, str]], *, groups: dict[str, str] | None = None, **more: object) -> Table:
    return Table.build(judged(rows, groups=groups), **more)  # type: ignore[arg-type]


def found(t: Table) -> dict[str, Measure]:
    return {m.finding.id: m for m in measure_all(t)}


def estimate(t: Table, id: str) -> float | None:
    return found(t)[id].finding.estimate


ROWS = {"1": ("c", "c"), "2": ("c", "r"), "3": ("t", "r"), "4": ("r", "r"), "5": ("-", "c"), "6": ("c", "t")}


def test_the_error_rate_averages_orders_and_counts_a_tie_as_half() -> None:
    errors = [Fraction(0), Fraction(1, 2), Fraction(3, 4), Fraction(1), Fraction(1, 4)]  # pair 5 has one order only
    assert estimate(table(ROWS), "accuracy.error_rate") == pytest.approx(float(sum(errors) / 5))


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
    # first: pair 2 in AB and BA, pair 3 half in AB and in BA, pair 6 in AB and half in BA, pairs 1 and 4 once;
    # pair 5 has no verdict in AB, so that its BA says nothing about position
    per_pair = [0.5, 1.0, 0.75, 0.5, 0.75]
    assert estimate(table(ROWS), "position.first_rate") == pytest.approx(sum(per_pair) / 5)


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
    finding = found(table(ROWS))["length.effect"].finding
    assert finding.estimate is None
    assert "not known" in (finding.reason or "")


def test_a_pair_of_unknown_length_is_left_out_of_the_length_effect_alone() -> None:
    rows = {"1": ("c", "r"), "2": ("r", "r"), "3": ("c", "c"), "4": ("r", "r")}
    finding = found(table(rows, lengths={"1": (10, 20), "2": (10, 30), "3": (30, 10)}))["length.effect"].finding
    assert finding.estimate == pytest.approx(0.75)
    assert finding.details["unknown_length"] == 1


def test_one_order_only_leaves_position_unmeasured() -> None:
    t = Table.build([Judgement(str(i), str(i), "AB", "chosen") for i in range(5)])
    for id in ("position.first_rate", "position.consistency", "accuracy.consistent"):
        finding = found(t)[id].finding
        assert finding.estimate is None
        assert finding.reason == "no pair was asked in both orders"
    assert estimate(t, "accuracy.error_rate") == 0.0


def test_without_gold_nothing_is_said_about_errors() -> None:
    measures = found(Table.build([], without_gold=judged(ROWS)))
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


def test_rows_without_gold_count_for_position_and_failures_and_not_for_errors() -> None:
    graded, ungraded = judged({"1": ("c", "c"), "2": ("r", "r")}), judged({"3": ("c", "r"), "4": ("-", "-")})
    measures = found(Table.build(graded, without_gold=ungraded))
    assert measures["accuracy.error_rate"].finding.estimate == 0.5
    assert measures["accuracy.pooled"].finding.n == 2
    assert measures["position.first_rate"].finding.estimate == pytest.approx((0.5 + 0.5 + 1.0) / 3)
    assert measures["failures.rate"].finding.estimate == pytest.approx(1 / 4)


def test_an_order_that_was_not_recorded_may_be_anything_in_the_bounds() -> None:
    # An always-first judge, whose verdicts with the better answer second were mostly not recorded: the error is 1/2.
    rows = judged({str(i): ("c", "r") for i in range(100)})
    lost = [j for j in rows if not (j.order == "BA" and int(j.pair) >= 30)]
    finding = found(Table.build(lost))["accuracy.error_rate"].finding
    assert finding.estimate == 0.5
    assert finding.n == 30
    assert finding.details["one_order_only"] == 70
    assert finding.bounds is not None
    assert finding.bounds[0] < 0.5 * 30 / 100 < 0.5 < finding.bounds[1]


def test_missing_verdicts_in_one_order_do_not_shift_the_estimates() -> None:
    # Half of the pairs lack their BA verdict, at random: the others still cancel position.
    rows = {str(i): ("c", "c" if i % 2 else "-") for i in range(40)}
    measures = found(table(rows))
    assert measures["position.first_rate"].finding.estimate == 0.5
    assert measures["accuracy.error_rate"].finding.estimate == 0.0


def test_repeats_weigh_no_more_than_their_pair() -> None:
    rows = {str(i): ("c" * 9, "r" * 9) for i in range(10)} | {str(i): ("c", "c") for i in range(10, 50)}
    measures = found(table(rows))
    assert measures["accuracy.order_gap"].finding.estimate == pytest.approx(10 / 50)
    assert measures["accuracy.order_gap"].finding.n == 50
    assert measures["position.first_rate"].finding.estimate == pytest.approx((10 * 1.0 + 40 * 0.5) / 50)
    assert measures["position.first_rate"].finding.p == pytest.approx(2 / 2**10)


def test_orders_weigh_the_same_however_many_repeats_each_has() -> None:
    assert estimate(table({"1": ("ccccc", "r")}), "accuracy.error_rate") == 0.5


def test_repeats_that_were_numbered_apart_are_matched_by_rank() -> None:
    rows = [Judgement(str(i), str(i), "AB", "chosen", repeat=0) for i in range(5)]
    rows += [Judgement(str(i), str(i), "BA", "chosen", repeat=1) for i in range(5)]
    assert estimate(Table.build(rows), "position.consistency") == 1.0


def test_nothing_answered_is_not_measured_anywhere() -> None:
    measures = found(table({str(i): ("-", "-") for i in range(5)}, lengths={str(i): (1, 2) for i in range(5)}))
    for id, measure in measures.items():
        if id != "failures.rate" and not id.startswith("failures."):
            assert measure.finding.estimate is None or id == "accuracy.average", id
            assert measure.finding.reason or id == "accuracy.average", id
    assert measures["failures.rate"].finding.estimate == 1.0


def test_the_findings_of_an_audit_have_the_same_ids_whatever_the_judge_did() -> None:
    perfect, silent = table({"1": ("c", "c"), "2": ("c", "c")}), table({"1": ("-", "-"), "2": ("-", "-")})
    assert list(found(perfect)) == list(found(silent))


def test_a_hard_domain_with_long_wrong_answers_does_not_pose_as_a_length_bias() -> None:
    # Errors: 2 in 5 in domain h, none in e, whatever the length; the wrong answer is longer in 4 of 5 and 1 of 5.
    rows, domains, lengths = {}, {}, {}
    for i in range(200):
        domain, longer = ("h", i % 5 != 0) if i < 100 else ("e", i % 5 == 0)
        wrong = domain == "h" and (i // 5) % 5 < 2
        rows[str(i)] = ("r", "r") if wrong else ("c", "c")
        domains[str(i)], lengths[str(i)] = domain, (10, 20) if longer else (20, 10)
    apart = found(table(rows, lengths=lengths))["length.effect"].finding
    within = found(table(rows, lengths=lengths, domains=domains))["length.effect"].finding
    assert apart.estimate == pytest.approx(0.4 * (80 / 100 - 20 / 100))
    assert within.estimate == pytest.approx(0.0, abs=1e-12)
    assert "within strata" in within.method


def test_a_length_slope_by_hand() -> None:
    # Right answer twice as long: right in 30 of 40; half as long: right in 10 of 40. So the slope is log(3) a doubling.
    rows, lengths = {}, {}
    for i in range(80):
        longer, right = (i < 40), (i < 30 or 40 <= i < 50)
        rows[str(i)], lengths[str(i)] = ("c", "c") if right else ("r", "r"), (20, 10) if longer else (10, 20)
    assert estimate(table(rows, lengths=lengths), "length.slope") == pytest.approx(np.log(3.0))


def test_the_mass_outside_the_labels_is_averaged_over_orders_and_pairs() -> None:
    rows = [
        Judgement(pair, pair, order, "chosen", outside=mass)
        for pair, masses in {"1": (0.1, 0.3), "2": (0.0, 0.2)}.items()
        for order, mass in zip(("AB", "BA"), masses, strict=True)
    ]
    assert estimate(Table.build(rows), "labels.outside_mass") == pytest.approx(0.15)  # type: ignore[arg-type]


def test_domain_comparisons_are_benjamini_hochberg_adjusted() -> None:
    rows = {
        f"{d}{i}": ("r", "r") if i < wrong else ("c", "c")
        for d, wrong in zip("abcd", (2, 3, 4, 9), strict=True)
        for i in range(20)
    }
    measures = found(table(rows, domains={p: p[0] for p in rows}))
    adjusted = [measures[f"domain.error_rate:{d}"].finding.details["p_against_others"] for d in "abcd"]
    values = np.array([1.0 if r[0] == "r" else 0.0 for r in rows.values()])
    names = np.array([p[0] for p in rows])
    raw = [_two_sided(values, names == d, np.arange(80)) for d in "abcd"]
    assert adjusted == pytest.approx(list(false_discovery_control(raw)))
    assert adjusted != pytest.approx(raw)
