"""Fit, recuse or inconclusive, by rules fixed in advance."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_audits_by_hand import table

from recuse.audits import GATEABLE, measure_all
from recuse.audits.measure import Measure
from recuse.errors import InputError
from recuse.gate import Gate, check_gate, decide, load_gate
from recuse.types import Finding


def gate(**primary: dict[str, float]) -> Gate:
    named = {name.replace("__", "."): limits for name, limits in primary.items()}
    return Gate.model_validate({"schema": 1, "primary": named})


def outcome(rows: dict[str, tuple[str, str]], **primary: dict[str, float]) -> str:
    return decide(measure_all(table(rows)), gate(**primary)).outcome


def _rows(right: int, wrong: int, missing: int = 0) -> dict[str, tuple[str, str]]:
    letters = ["c"] * right + ["r"] * wrong + ["-"] * missing
    return {str(i): (letter, letter) for i, letter in enumerate(letters)}


def test_fit_needs_the_whole_interval_inside() -> None:
    # 0 of 40 wrong: the exact upper limit is 0.088
    assert outcome(_rows(40, 0), accuracy__error_rate={"max": 0.09}) == "fit"
    assert outcome(_rows(40, 0), accuracy__error_rate={"max": 0.08}) == "inconclusive"


def test_recuse_needs_the_value_significantly_outside() -> None:
    assert outcome(_rows(10, 30), accuracy__error_rate={"max": 0.25}) == "recuse"
    assert outcome(_rows(28, 12), accuracy__error_rate={"max": 0.25}) == "inconclusive"  # 0.30, interval reaches 0.25


def test_missing_verdicts_can_prevent_fit_and_cannot_cause_recusal() -> None:
    # 0 of 200 wrong, 40 missing: 0.167 when all of them are wrong
    assert outcome(_rows(200, 0), accuracy__error_rate={"max": 0.1}) == "fit"
    assert outcome(_rows(200, 0, 40), accuracy__error_rate={"max": 0.1}) == "inconclusive"
    # 30 of 60 wrong and 140 missing: 0.15 when all of them are right
    assert outcome(_rows(30, 30), accuracy__error_rate={"max": 0.25}) == "recuse"
    assert outcome(_rows(30, 30, 140), accuracy__error_rate={"max": 0.25}) == "inconclusive"


def test_a_primary_that_was_not_measured_prevents_fit_and_says_so() -> None:
    decided = decide(
        measure_all(table(_rows(40, 0))), gate(accuracy__error_rate={"max": 0.2}, length__effect={"max": 0.2})
    )
    assert decided.outcome == "inconclusive"
    assert "length.effect was not measured (the lengths of the answers are not known)" in decided.headline


def test_holm_over_the_primaries_raises_the_bar_for_recusal() -> None:
    rows = _rows(38, 22)  # 0.367 against 0.25: the 95 % interval lies outside, one of 98.75 % does not
    many = {"failures__rate": {"max": 0.5}, "ties__rate": {"max": 0.5}, "position__consistency": {"min": 0.5}}
    alone = decide(measure_all(table(rows)), gate(accuracy__error_rate={"max": 0.25}))
    among = decide(measure_all(table(rows)), gate(accuracy__error_rate={"max": 0.25}, **many))
    p_alone, p_among = (d.findings[0].details["p_outside_holm"] for d in (alone, among))
    assert p_among == pytest.approx(4 * p_alone)
    assert p_alone < 0.05 < p_among
    assert (alone.outcome, among.outcome) == ("recuse", "inconclusive")


def test_pairs_of_one_question_weaken_the_case_for_recusal() -> None:
    rows = _rows(10, 30)
    groups = {p: str(int(p) // 8) for p in rows}
    made = gate(accuracy__error_rate={"max": 0.4})
    assert decide(measure_all(table(rows)), made).outcome == "recuse"
    assert decide(measure_all(table(rows, groups=groups)), made).outcome == "inconclusive"


def test_one_recused_primary_decides_whatever_the_others_say() -> None:
    rows = {str(i): ("c", "r") for i in range(60)}  # always the first answer
    decided = decide(
        measure_all(table(rows)), gate(position__first_rate={"min": 0.4, "max": 0.6}, failures__rate={"max": 0.2})
    )
    assert decided.outcome == "recuse"
    assert decided.headline.startswith("RECUSE: position.first_rate 1.000 [0.940, 1.000], tolerance 0.4 to 0.6")


def test_a_judge_that_always_takes_the_second_answer_lies_below() -> None:
    rows = {str(i): ("r", "c") for i in range(60)}
    assert outcome(rows, position__first_rate={"min": 0.4, "max": 0.6}) == "recuse"


def test_inconclusive_says_how_many_pairs_would_decide() -> None:
    decided = decide(measure_all(table(_rows(36, 4))), gate(accuracy__error_rate={"max": 0.2}))
    finding = next(f for f in decided.findings if f.id == "accuracy.error_rate")
    assert decided.outcome == "inconclusive"
    assert 40 < finding.details["pairs_to_decide"] < 400
    n = finding.details["pairs_to_decide"]
    assert outcome(_rows(round(0.9 * n), round(0.1 * n)), accuracy__error_rate={"max": 0.2}) == "fit"


def test_more_pairs_do_not_help_where_missing_verdicts_decide() -> None:
    # 0 of 200 wrong and 40 missing: between 0 and 0.167, on both sides of the tolerance
    decided = decide(measure_all(table(_rows(200, 0, 40))), gate(accuracy__error_rate={"max": 0.1}))
    assert "not decidable with so many verdicts missing" in decided.headline


def test_near_the_tolerance_no_number_of_pairs_decides() -> None:
    for right, wrong in ((32, 8), (799, 201)):  # 0.2 and 0.201 against 0.2
        decided = decide(measure_all(table(_rows(right, wrong))), gate(accuracy__error_rate={"max": 0.2}))
        assert "not decidable near this tolerance" in decided.headline


def test_the_shipped_gate_names_what_an_audit_measures() -> None:
    shipped = load_gate()
    assert set(shipped.primary) <= {m.finding.id for m in measure_all(table(_rows(40, 0)))}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("schema = 1\n[primary.'accuracy.error_rate']\nmaxx = 1", "primary.accuracy.error_rate.maxx"),
        ("schema = 1\n[primary.'accuracy.error_rate']\n", "give min, max or both"),
        ("schema = 1\n[primary.'a']\nmin = 2\nmax = 1", "min must be below max"),
        ("schema = 2\n[primary.'a']\nmin = 0", "field 'schema'"),
        ("schema = 1\n[primary]", "field 'primary'"),
        ("schema = 1\nlevel = 95\n[primary.a]\nmin = 0", "field 'level'"),
        ("schema = ", "not TOML"),
    ],
)
def test_a_wrong_gate_file_is_refused_naming_file_and_key(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "gate.toml"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        load_gate(file)
    assert "gate.toml" in str(caught.value)
    assert says in str(caught.value)


@pytest.mark.parametrize("id", ["accuracy.errorrate", "accuracy.order_gap", "domain.error_rate:law"])
def test_a_gate_that_names_what_no_audit_decides_is_refused_before_anything_is_asked(id: str) -> None:
    with pytest.raises(InputError, match=rf"no audit decides on '{id}'.*Use: .*accuracy\.error_rate"):
        check_gate(Gate.model_validate({"schema": 1, "primary": {id: {"max": 0.2}}}), domains=["maths"])


def test_a_gate_may_name_a_domain_that_the_pairs_have() -> None:
    check_gate(Gate.model_validate({"schema": 1, "primary": {"domain.error_rate:law": {"max": 0.2}}}), domains=["law"])


def test_everything_that_a_gate_may_name_can_recuse_and_has_bounds() -> None:
    rows = {str(i): ("rc", "cr") for i in range(40)}
    lengths = {p: (1, 2) if int(p) % 2 else (2, 1) for p in rows}
    measures = {m.finding.id: m for m in measure_all(table(rows, lengths=lengths))}
    for id in GATEABLE - {"accuracy.three_way", "labels.outside_mass"}:
        assert measures[id].beyond is not None, id
        assert measures[id].finding.bounds is not None, id


def test_an_observational_measure_prevents_fit_and_never_recuses() -> None:
    rows = {str(i): ("r", "r") if i % 2 else ("c", "c") for i in range(200)}
    lengths = {p: (1, 2) if int(p) % 2 else (2, 1) for p in rows}  # every error where the wrong answer is longer
    measures = measure_all(table(rows, lengths=lengths))
    for recuse, outcome in ((True, "recuse"), (False, "inconclusive")):
        made = Gate.model_validate({"schema": 1, "primary": {"length.effect": {"max": 0.2, "recuse": recuse}}})
        assert decide(measures, made).outcome == outcome


def test_pairs_of_one_group_can_neither_pass_nor_fail_and_more_of_them_do_not_help() -> None:
    rows = _rows(10, 30)
    made = gate(accuracy__error_rate={"max": 0.25})
    decided = decide(measure_all(table(rows, groups=dict.fromkeys(rows, "g"))), made)
    assert decided.outcome == "inconclusive"
    assert "not decidable with one group" in decided.headline


def test_the_quoted_number_of_pairs_decides_about_four_times_in_five() -> None:
    made = gate(accuracy__error_rate={"max": 0.25})
    quoted = decide(measure_all(table(_rows(51, 9))), made).findings[0].details["pairs_to_decide"]
    rng, fits = np.random.default_rng(0), 0
    for _ in range(300):
        wrong = int(rng.binomial(quoted, 9 / 60))
        fits += decide(measure_all(table(_rows(quoted - wrong, wrong))), made).outcome == "fit"
    assert 0.70 <= fits / 300 <= 0.90


def test_fit_does_not_hide_a_proven_bias_that_no_tolerance_covers() -> None:
    def effect(status: str) -> Measure:
        found = Finding("bias.x.effect", "X: error added", 0.475, (0.3345, 0.5948), n=40, details={"status": status})
        return Measure(found)

    made, base = gate(accuracy__error_rate={"max": 0.09}), measure_all(table(_rows(40, 0)))
    proven, unproven = (decide([*base, effect(status)], made) for status in ("accepted", "rejected"))
    assert proven.outcome == unproven.outcome == "fit"
    assert proven.headline == (
        "FIT: the one primary lies inside its tolerance; proven, with no tolerance: bias.x.effect 0.475 [0.335, 0.595]."
    )
    assert unproven.headline == "FIT: the one primary lies inside its tolerance."
