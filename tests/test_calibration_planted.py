"""Planted judges, asked through the whole audit, held against labels that are known."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from recuse import audit
from recuse.calibration import Beside, Calibrated, calibrate
from recuse.calibration.runs import frozen_labels, read_run
from recuse.types import Finding


def _calibrated(judge: str, folder: Path) -> Calibrated:
    audit(judge, "demo", out=folder)
    run = read_run(folder)
    return calibrate(run.judgements, frozen_labels([run])[0], domains=run.domains)


def _kappa(result: Calibrated) -> Finding:
    return result.measures[0].finding


def test_a_judge_that_refuses_two_in_five_and_errs_nowhere_keeps_kappa_1_with_bounds(tmp_path: Path) -> None:
    result = _calibrated("fake/skill=60,refuse=0.4,seed=3", tmp_path / "run")
    found = _kappa(result)
    assert found.estimate == 1.0
    missing, n = found.details["missing"], 120  # 60 pairs in both orders
    assert 0.25 * n < missing < 0.55 * n
    # every refusal wrong, and the places nearly balanced: about 2 (1 - missing / n) - 1
    low, high = found.details["completions"]
    assert (low, high) == (pytest.approx(1 - 2 * missing / n, abs=0.03), 1.0)
    assert found.bounds is not None
    assert found.bounds[0] < low
    assert result.decision == "inconclusive"
    assert "so many verdicts missing" in result.reason


@pytest.mark.parametrize("always", ["first", "second"])
def test_a_judge_that_always_says_one_place_is_withheld(tmp_path: Path, always: str) -> None:
    result = _calibrated(f"fake/always={always}", tmp_path / "run")
    assert (_kappa(result).estimate, result.decision) == (0.0, "withheld")
    assert result.reason == f"the judge is constant: every verdict that it gave is the {always} answer"


def test_a_good_judge_passes_and_a_coin_is_withheld(tmp_path: Path) -> None:
    assert _calibrated("fake/skill=4,seed=1", tmp_path / "good").decision == "pass"
    coin = _calibrated("fake/skill=0,noise=1,seed=1", tmp_path / "coin")
    assert coin.decision == "withheld"
    assert coin.reason.endswith("lies under 0.6 with its whole interval")
    assert _kappa(coin).interval is not None
    assert _kappa(coin).interval[0] < 0 < _kappa(coin).interval[1]  # type: ignore[index]


def test_probabilities_are_held_against_what_came_true(tmp_path: Path) -> None:
    result = _calibrated("fake/skill=1,noise=0.2,logprobs=1,seed=2", tmp_path / "run")
    found = result.measures[-1].finding
    assert found.id == "calibration.ece"
    run = read_run(tmp_path / "run")
    bins: dict[int, list[float]] = {}
    for j in Beside.of(run.judgements, frozen_labels([run])[0]).judgements:
        chosen = 1 / (1 + math.exp(-(j.logit or 0.0)))
        p, y = (chosen, 1.0) if j.order == "AB" else (1 - chosen, 0.0)
        bins.setdefault(min(math.ceil(p * 10) - 1, 9), []).append(p - y)
    gaps = [abs(sum(gap)) for gap in bins.values()]
    assert found.estimate == pytest.approx(sum(gaps) / found.n)
    assert found.n == sum(len(gap) for gap in bins.values()) == 120
