"""`recuse probe power`: the published figures through the command line, and the designs behind a gap."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.power import TTestPower

from recuse import stats
from recuse.cli import run

Printed = pytest.CaptureFixture[str]


def _json(capsys: Printed, *options: str) -> dict[str, Any]:
    assert run(["probe", "power", "--json", *options]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize(
    ("options", "rate"),
    [
        (["--slices", "8", "--n", "300", "--rate", "0.5"], 0.115),
        (["--slices", "8", "--n", "300", "--rate", "0.3"], 0.505),
        (["--slices", "8", "--n", "300", "--rate", "0.5", "--true-ratio", "0.7"], 0.996),
    ],
)
def test_the_worst_slice_gate_blocks_as_often_as_published(capsys: Printed, options: list[str], rate: float) -> None:
    found = _json(capsys, "--rule", "worst-slice", *options)
    assert found["blocking_rate"] == pytest.approx(rate, abs=0.002)
    assert found["missed_rate"] == (1 - found["blocking_rate"] if "--true-ratio" in options else None)


def test_the_blocking_rate_is_that_of_releases_simulated_and_decided_by_the_rule(capsys: Printed) -> None:
    found = _json(
        capsys, "--rule", "worst-slice", "--slices", "5", "--n", "150", "--rate", "0.4", "--true-ratio", "0.8"
    )
    p = np.array([0.4] * 4 + [0.32])
    k = np.random.default_rng(5).binomial(150, p, size=(20_000, 5))
    blocked = stats.worst_slice_rule(k, np.full_like(k, 150)).mean()
    assert found["blocking_rate"] == pytest.approx(blocked, abs=4 * math.sqrt(0.25 / 20_000))


def test_the_four_fifths_alarm_rings_without_cause_in_47_percent(capsys: Printed) -> None:
    small = ["--rule", "four-fifths", "--slices", "2", "--n", "30", "--rate", "0.4"]
    assert _json(capsys, *small)["blocking_rate"] == pytest.approx(0.47, abs=0.005)
    missed = _json(capsys, *small, "--true-ratio", "0.7")["missed_rate"]
    assert missed == pytest.approx(0.3, abs=0.05)  # about three times in ten


def test_templates_for_a_gap_are_those_of_a_paired_t_test(capsys: Printed) -> None:
    """The gap of one template varies by 0.2, and by what four names, twice each, leave of a decision's own scatter."""
    options = ["--rule", "gap", "--sd-template", "0.2", "--rate", "0.5", "--names", "4", "--seeds", "2"]
    found = _json(capsys, *options, "--gap", "0.05")
    sd = math.sqrt(0.2**2 + 2 * 0.25 / 8)
    assert found["templates"] == math.ceil(TTestPower().solve_power(0.05 / sd, power=0.8, alpha=0.05))
    assert found["calls"] == found["templates"] * 2 * 4 * 2
    back = _json(capsys, *options, "--templates", str(found["templates"]))
    assert back["gap"] == pytest.approx(0.05, rel=0.01)
    assert back["gap"] <= 0.05


def test_a_gap_that_names_hide_is_said_to_be_out_of_reach(capsys: Printed) -> None:
    options = ["--rule", "gap", "--gap", "0.02", "--sd-template", "0.1", "--sd-shared", "0.1"]
    found = _json(capsys, *options)
    assert found["templates"] is None
    assert "more names are needed" in found["reason"]
    assert run(["probe", "power", *options]) == 0
    assert "cannot be found so: more names are needed" in capsys.readouterr().out


def test_words_for_people_say_whether_an_alarm_is_false(capsys: Printed) -> None:
    eight = ["probe", "power", "--slices", "8", "--n", "300", "--rate", "0.5"]
    assert run(eight) == 0
    assert "blocks 11.4% of releases, every one of them falsely" in capsys.readouterr().out
    assert run([*eight, "--true-ratio", "0.7"]) == 0
    assert "blocks 99.6% of releases and misses 0.4%" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--n", "300", "--rate", "0.5"], "--rule worst-slice needs --slices."),
        (["--slices", "8", "--n", "300"], "--rule worst-slice needs --rate."),
        (["--slices", "1", "--n", "300", "--rate", "0.5"], "the number of slices must be a whole number of at least 2"),
        (["--slices", "8", "--n", "0", "--rate", "0.5"], "the cases of a slice must be a whole number of at least 1"),
        (["--slices", "8", "--n", "300", "--rate", "1.5"], "rates and the ratio must lie between 0 and 1"),
        (["--slices", "8", "--n", "300", "--rate", "0.9", "--true-ratio", "1.2"], "rates and the ratio must lie"),
        (["--slices", "8", "--n", "300", "--rate", "0.5", "--gap", "0.1"], "--rule worst-slice goes without --gap."),
        (["--rule", "four-fifths", "--slices", "2", "--n", "30", "--rate", "0.4", "--level", "0.9"],
         "--rule four-fifths goes without --level."),
        (["--rule", "gap", "--gap", "0.1"], "--rule gap needs --sd-template"),
        (["--rule", "gap", "--sd-template", "0.2"], "--rule gap needs --gap"),
        (["--rule", "gap", "--sd-template", "0.2", "--gap", "0.1", "--names", "0"], "names must be a whole number"),
        (["--rule", "gap", "--sd-template", "0.2", "--gap", "0.1", "--rate", "1.5"], "the rate must lie between"),
        (["--rule", "gap", "--sd-template", "0.2", "--gap", "0.1", "--n", "300"], "--rule gap goes without --n."),
        (["--rule", "none"], "--rule"),
    ],
)  # fmt: skip
def test_a_question_without_an_answer_is_told_in_one_sentence(capsys: Printed, options: list[str], said: str) -> None:
    assert run(["probe", "power", "--json", *options]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert said in err
