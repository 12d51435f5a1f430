"""Fit, recuse or inconclusive, by rules fixed in advance."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_audits_by_hand import table

from recuse.audits import measure_all
from recuse.errors import InputError
from recuse.gate import Gate, decide, load_gate


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
    rows = _rows(22, 18)  # 0.45 of 40 against 0.30: one-sided p about 0.02
    alone = decide(measure_all(table(rows)), gate(accuracy__error_rate={"max": 0.3}))
    many = {"failures__rate": {"max": 0.5}, "ties__rate": {"max": 0.5}, "position__consistency": {"min": 0.5}}
    among = decide(measure_all(table(rows)), gate(accuracy__error_rate={"max": 0.3}, **many))
    p_alone = next(f for f in alone.findings if f.id == "accuracy.error_rate").details["p_outside_holm"]
    p_among = next(f for f in among.findings if f.id == "accuracy.error_rate").details["p_outside_holm"]
    assert p_among == pytest.approx(4 * p_alone)
    assert alone.outcome == "recuse" or p_alone >= 0.05


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
    decided = decide(measure_all(table(_rows(32, 8))), gate(accuracy__error_rate={"max": 0.2}))
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


def test_a_gate_that_names_an_unknown_finding_is_refused() -> None:
    with pytest.raises(InputError, match=r"'accuracy\.errorrate'.*Use: .*accuracy\.error_rate"):
        decide(measure_all(table(_rows(4, 0))), gate(accuracy__errorrate={"max": 0.2}))
