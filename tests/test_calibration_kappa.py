"""Kappa with people, what stands beside it, and when a judge's numbers are withheld."""

from __future__ import annotations

import numpy as np
import pytest
from calibration_world import by_place, drawn, judged, said
from pydantic import ValidationError
from sklearn.metrics import cohen_kappa_score, confusion_matrix

from recuse.audits import Table
from recuse.audits.judged import WIN_RATE
from recuse.audits.judged import judged as win_rates
from recuse.calibration import Beside, Calibrated, KappaRule, calibrate, decide
from recuse.errors import InputError
from recuse.types import Finding, Judgement


def finding(result: Calibrated, id: str = "calibration.kappa") -> Finding:
    return next(m.finding for m in result.measures if m.finding.id == id)


def test_kappa_by_hand() -> None:
    # By place: judge A A B B A B, people A A B B B A; observed 4/6, chance 1/2
    judgements = judged({"1": "c", "2": "c", "3": "r", "4": "r", "5": "c", "6": "r"}, orders="AB")
    labels = said({"1": "c", "2": "c", "3": "r", "4": "r", "5": "r", "6": "c"})
    found = finding(calibrate(judgements, labels))
    assert found.estimate == pytest.approx((4 / 6 - 1 / 2) / (1 - 1 / 2))
    assert found.details["confusion"] == {"labels": ["A", "B"], "judge_by_people": [[2, 1], [1, 2]]}
    assert found.details["prevalence"] == {"A": 0.5, "B": 0.5}
    assert found.details["agreement"] == pytest.approx(4 / 6)
    assert (found.n, found.groups) == (6, 6)


def test_kappa_and_confusion_are_those_of_scikit_learn_in_both_orders() -> None:
    rng = np.random.default_rng(3)
    names = [str(i) for i in range(200)]
    rows = {name: "".join(rng.choice(list("cccrt"), 2)) for name in names}
    judgements, labels = judged(rows), said({name: "".join(rng.choice(list("ccrrt-"), 3)) for name in names})
    result = calibrate(judgements, labels)
    first, second = by_place(judgements, labels)
    found = finding(result)
    assert found.estimate == pytest.approx(cohen_kappa_score(first, second))
    assert (
        found.details["confusion"]["judge_by_people"]
        == confusion_matrix(first, second, labels=["A", "B", "tie"]).tolist()
    )
    assert found.n == len(first) < 400  # pairs without a majority stay out, and that is said
    assert (
        f"{200 - len(first) // 2} labelled pairs have no label that most people give: kappa is on the others."
        in result.notes
    )
    assert finding(result, "calibration.agreement").estimate == pytest.approx(
        np.mean(np.array(first) == np.array(second))
    )


def test_kappa_does_not_hang_on_where_the_source_puts_the_better_answer() -> None:
    # 90 of 100 pairs right in both orders; people always say "chosen", which is always the source's first answer
    rows = {str(i): "cc" if i % 10 else "rr" for i in range(100)}
    plain = finding(calibrate(judged(rows), said(dict.fromkeys(rows, "c"))))
    assert plain.estimate == pytest.approx(0.8)  # 2 * 0.9 - 1, since both places are as frequent
    assert "kappa_by_source_place" not in plain.details
    placed = finding(calibrate(judged(rows), said(dict.fromkeys(rows, "c"), places=dict.fromkeys(rows, "A"))))
    assert placed.details["kappa_by_source_place"] == 0.0  # people are constant by source


@pytest.mark.parametrize(
    ("letters", "orders", "what"),
    [("cr", "AB BA", "the first answer"), ("c", "AB", "the first answer"), ("tt", "AB BA", "a tie")],
)
def test_a_constant_judge_is_named_and_withheld(letters: str, orders: str, what: str) -> None:
    rows = {str(i): letters for i in range(400)}
    labels = said({name: "cr"[int(name) % 2] for name in rows})
    result = calibrate(judged(rows, orders=orders), labels)
    assert result.decision == "withheld"
    assert result.reason == f"the judge is constant: every verdict that it gave is {what}"


def test_a_judge_that_always_names_the_sources_answer_is_constant_wherever_that_stands() -> None:
    # chosen is answer A of every second pair; people agree with 95 %, so that kappa by place as shown is high
    rows = {str(i): "cc" if i % 2 else "rr" for i in range(400)}
    places = {name: "A" if int(name) % 2 else "B" for name in rows}
    labels = said({n: rows[n][0] if int(n) % 20 else "cr"[rows[n][0] == "c"] for n in rows}, places=places)  # type: ignore[arg-type]
    result = calibrate(judged(rows), labels)
    assert finding(result).estimate == pytest.approx(0.9)
    assert result.reason == "the judge is constant: every verdict that it gave is the source's answer A"


def test_refusals_leave_kappa_on_the_answers_and_widen_its_bounds() -> None:
    # 40 % refused, the rest right: 1.0 on what it answered; were every refusal wrong, agreement would be 0.6
    rows = {str(i): ("c" if i % 2 else "r") if i % 10 < 6 else "-" for i in range(200)}
    labels = said({name: "c" if int(name) % 2 else "r" for name in rows})
    result = calibrate(judged(rows, orders="AB"), labels)
    found = finding(result)
    assert found.estimate == 1.0
    assert found.n == 120
    assert found.details["missing"] == 80
    assert found.details["completions"] == pytest.approx([0.2, 1.0])  # 2 * 0.6 - 1, labels and verdicts half and half
    assert found.bounds is not None
    assert found.bounds[0] < 0.2
    assert result.decision == "inconclusive"
    assert result.labels_needed is None
    assert "not decidable with so many verdicts missing" in result.reason


def test_pass_rests_on_the_worst_completion_and_withholding_on_the_best() -> None:
    def outcome(wrong: int, missing: int) -> str:
        letters = [
            "-" if i < missing else ("r" if i % 2 else "c") if i < missing + wrong else ("c" if i % 2 else "r")
            for i in range(1000)
        ]
        rows = dict(zip(map(str, range(1000)), letters, strict=True))
        return calibrate(judged(rows, orders="AB"), said({n: "c" if int(n) % 2 else "r" for n in rows})).decision

    assert outcome(150, 0) == "pass"  # 0.70
    assert outcome(150, 100) == "inconclusive"  # 0.67 of the answered; 0.50 to 0.70
    assert outcome(280, 0) == "withheld"  # 0.44
    assert outcome(220, 100) == "inconclusive"  # 0.51 of the answered; 0.36 to 0.56, and 0.56's limit is 0.61
    assert outcome(280, 100) == "withheld"


def test_the_rule_is_the_readers_choice_and_must_make_sense() -> None:
    judgements, labels = drawn(500, 0.5, np.random.default_rng(1))
    assert (
        calibrate(judgements, labels).decision == "inconclusive" or calibrate(judgements, labels).decision == "withheld"
    )
    assert calibrate(judgements, labels, rule=KappaRule(lower=0.2, point=0.3, withhold=0.3)).decision == "pass"
    for wrong in ({"lower": 0.7}, {"withhold": 0.9}, {"least": 0.3}, {"point": 1.5}):
        with pytest.raises(ValidationError):
            KappaRule.model_validate(wrong)


@pytest.mark.parametrize(("wrong", "pairs"), [(9, 50), (18, 60)])
def test_the_number_of_labels_that_would_settle_it_does(wrong: int, pairs: int) -> None:
    # a study that measured kappa 1 - 2 * wrong / pairs, and then many of the size that it asks for at that true kappa
    people = {str(i): "cr"[i % 2] for i in range(pairs)}
    rows = {n: "cr"[people[n] == "c"] if int(n) < wrong else people[n] for n in people}
    result = calibrate(judged(rows, orders="AB"), said(people))
    needed, kappa = result.labels_needed, 1 - 2 * wrong / pairs
    assert result.decision == "inconclusive"
    assert needed is not None
    assert f"about {needed:,} labelled pairs would settle it" in result.reason
    rng = np.random.default_rng(7)

    def settled(n: int) -> int:
        tables = [Beside.of(*drawn(n, kappa, rng)) for _ in range(200)]
        return sum(decide(table, KappaRule(), level=0.95).decision != "inconclusive" for table in tables)

    assert settled(needed) > 0.68 * 200  # planned for 0.80, of which 0.68 is four standard errors lower
    assert settled(pairs) < 0.60 * 200


def test_repeats_and_orders_of_a_pair_are_one_observation() -> None:
    rng = np.random.default_rng(2)
    letters = {str(i): str(rng.choice(list("cccr"))) for i in range(100)}
    labels = said(dict.fromkeys(letters, "c"))
    once = finding(calibrate(judged({n: x * 2 for n, x in letters.items()}), labels))
    again = [
        Judgement(j.pair, j.group, j.order, j.prefers, repeat=r)
        for r in range(4)
        for j in judged({n: x * 2 for n, x in letters.items()})
    ]
    many = finding(calibrate(again, labels))
    assert many.estimate == pytest.approx(once.estimate)
    assert many.groups == once.groups == 100
    assert once.interval is not None
    assert many.interval == pytest.approx(once.interval)


def test_a_judge_of_single_answers_counts_as_one_whom_places_do_not_move() -> None:
    # always "chosen" of pairs that come as chosen and rejected is no constant judge: it sees which is which
    letters = {str(i): "r" if i % 8 == 0 else "c" for i in range(80)}
    alone = [Judgement(p, f"g{p}", "-", {"c": "chosen", "r": "rejected"}[x]) for p, x in letters.items()]  # type: ignore[arg-type]
    labels = said(dict.fromkeys(letters, "c"))
    both = calibrate(judged({p: x * 2 for p, x in letters.items()}), labels)
    result = calibrate(alone, labels)
    assert finding(result).estimate == pytest.approx(0.75) == finding(both).estimate
    assert finding(result).interval == finding(both).interval
    assert finding(result, "calibration.agreement").n == 80
    right = [Judgement(j.pair, j.group, "-", "chosen") for j in alone]
    assert calibrate(right, labels).decision == "pass"


def test_people_are_compared_with_each_other_on_the_same_places() -> None:
    # krippendorff and statsmodels on the labels by place, each pair in both orders
    import krippendorff
    from statsmodels.stats.inter_rater import aggregate_raters
    from statsmodels.stats.inter_rater import fleiss_kappa as fleiss

    rng = np.random.default_rng(5)
    votes = {str(i): "".join(rng.choice(list("ccccrt"), 3)) for i in range(80)}
    labels = said(votes)
    result = calibrate(judged(dict.fromkeys(labels.votes, "cr")), labels)
    codes = {"AB": {"c": 0, "r": 1, "t": 2}, "BA": {"c": 1, "r": 0, "t": 2}}
    matrix = np.array([[codes[order][v] for v in votes[k]] for k in labels.votes for order in ("AB", "BA")])
    alpha = krippendorff.alpha(reliability_data=matrix.T, level_of_measurement="nominal")
    assert finding(result, "calibration.people_alpha").estimate == pytest.approx(alpha)
    assert finding(result, "calibration.people_fleiss").estimate == pytest.approx(fleiss(aggregate_raters(matrix)[0]))
    pairs = finding(result, "calibration.people_alpha").details["two_by_two"]
    assert pairs["p0 / p2"] == pytest.approx(cohen_kappa_score(matrix[:, 0], matrix[:, 2]))


def test_pairs_on_which_people_are_split_count_among_people_and_not_for_the_judge() -> None:
    votes = {"1": "cc", "2": "rr", "3": "cr", "4": "cc"}
    result = calibrate(judged({"1": "c", "2": "r", "3": "c", "4": "c"}, orders="AB"), said(votes))
    assert finding(result).n == 3
    people = finding(result, "calibration.people_alpha")
    assert people.n == 4
    assert people.details["two_by_two"]["p0 / p1"] == pytest.approx(cohen_kappa_score(list("crcc"), list("crrc")))
    # with single people: 8 labels, of which one of the split pair's is not the judge's
    assert finding(result, "calibration.kappa_each").n == 8
    assert finding(result, "calibration.kappa_each").estimate == pytest.approx(
        cohen_kappa_score(list("ccrrcccc"), list("ccrrcrcc"))
    )


def test_a_domain_in_which_the_judge_fails_shows() -> None:
    rows = {f"{d}{i}": ("c" if i % 2 else "r") if d == "law" else "c" for d in ("law", "art") for i in range(60)}
    domains = {name: name[:3] for name in rows}
    result = calibrate(
        judged(rows, orders="AB"), said({n: "c" if int(n[3:]) % 2 else "r" for n in rows}), domains=domains
    )
    assert finding(result, "calibration.kappa:law").estimate == 1.0
    assert finding(result, "calibration.kappa:art").estimate == 0.0


def test_unlabelled_runs_are_refused() -> None:
    with pytest.raises(InputError, match="none of the labelled pairs was judged"):
        calibrate(judged({"1": "cc"}), said({"2": "c"}))


def test_labels_without_any_majority_withhold() -> None:
    result = calibrate(judged({"1": "cc"}), said({"1": "cr"}))
    assert result.decision == "withheld"
    assert "undefined" in result.reason


def test_rewritten_answers_have_no_labels() -> None:
    rows = [*judged({"1": "cc", "2": "rr"}), Judgement("1", "g1", "AB", "rejected", arm="placebo")]
    assert finding(calibrate(rows, said({"1": "c", "2": "r"}))).n == 4


def test_win_rate_by_hand() -> None:
    # A wins pair 1 in both orders, loses pair 2 in both, pair 3: a tie and a win; pair 4 has no place
    rows = {"1": "cc", "2": "cc", "3": "tc", "4": "rr"}
    table = Table.build(judged(rows), domains={"1": "law", "2": "law", "3": "art", "4": "art"})
    found = {m.finding.id: m.finding for m in win_rates(table, {"1": "A", "2": "B", "3": "A"}, level=0.95)}
    assert found[WIN_RATE].estimate == pytest.approx((1 + 0 + 0.75) / 3)
    assert found["judged.win_rate:law"].estimate == 0.5
    assert found["judged.win_rate:art"].estimate == 0.75
    nowhere = win_rates(table, {}, level=0.95)
    assert [m.finding.reason for m in nowhere] == ["the source does not tell its two answers apart by place"]
