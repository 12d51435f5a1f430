"""Fairness measures by their formulas, flips above the noise of repeated runs, and alarms for live records."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recuse import stats
from recuse.cli import run
from recuse.probes.fairness import demographic_parity, equalised_odds
from recuse.probes.outcomes import Outcomes, read_outcomes
from recuse.probes.redraws import flips
from recuse.probes.weeks import weekly
from recuse.stats.sequential import BETS

Row = Mapping[str, Any]


def _write(path: Path, rows: Sequence[Row]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def _table(values: Sequence[float | None], side: Sequence[str], **columns: Any) -> Outcomes:
    return Outcomes("t", "y", None, {}, tuple(values), {"side": tuple(side)}, **columns)


def test_parity_and_equalised_odds_are_largest_minus_smallest_rate(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    side, gold = rng.choice(list("abc"), 900), rng.integers(0, 2, 900)
    y = rng.random(900) < 0.2 + 0.3 * gold + 0.1 * (side == "b")
    rows = [{"side": s, "gold": int(g), "y": bool(v)} for s, g, v in zip(side, gold, y, strict=True)]
    table = read_outcomes(_write(tmp_path / "t.jsonl", rows), outcome="y", by=["side"], gold="gold")

    def spread(kept: np.ndarray) -> float:
        rates = [y[kept & (side == s)].mean() for s in "abc"]
        return float(max(rates) - min(rates))

    odds = equalised_odds(table, ("side",))
    assert odds is not None
    assert demographic_parity(table, ("side",)).difference == pytest.approx(spread(np.ones(900, dtype=bool)))
    assert odds.true_positive.difference == pytest.approx(spread(gold == 1))
    assert odds.false_positive.difference == pytest.approx(spread(gold == 0))
    assert odds.difference == max(spread(gold == 1), spread(gold == 0))
    assert {name: one.n for name, one in odds.true_positive.slices.items()} == {
        f"side={s}": int(((side == s) & (gold == 1)).sum()) for s in "abc"
    }


def test_gold_labels_are_read_like_the_outcomes_and_failures_are_no_zeros() -> None:
    table = _table(
        [1.0, 0.0, None, 1.0, 1.0, 0.0], "aaabbb", gold=(1.0, 1.0, 1.0, 1.0, 1.0, None)
    )  # fmt: skip
    odds = equalised_odds(table, ("side",))
    assert odds is not None
    assert odds.true_positive.difference == 0.5  # 1 of 2 against 2 of 2; the failure is no third
    assert odds.true_positive.failures == {"side=a": 1, "side=b": 0}
    assert (odds.without_gold, odds.difference) == (1, None)
    assert odds.reason == "no two slices have outcomes of cases whose gold is negative"


def _sets(draws: Sequence[tuple[str, str, Sequence[float | None]]], **columns: Any) -> Outcomes:
    """(set, side, outcomes of its runs)."""
    flat = [(one, side, y) for one, side, own in draws for y in own]
    return _table([y for *_, y in flat], [side for _, side, _ in flat], same=tuple(one for one, *_ in flat), **columns)


def test_flips_and_noise_of_one_set_by_hand() -> None:
    """3 of 5 against 1 of 5: 0.6 * 0.8 + 0.4 * 0.2 differ; within, 6 of 10 pairs of runs and 4 of 10."""
    found = flips(_sets([("t", "a", [1, 1, 1, 0, 0]), ("t", "b", [1, 0, 0, 0, 0])]), "side")
    assert found is not None
    assert found.flip_rate is not None
    assert found.noise is not None
    assert found.above is not None
    assert found.flip_rate.estimate == pytest.approx(0.56)
    assert found.noise.estimate == pytest.approx(0.5)
    assert found.above.estimate == pytest.approx(0.06)


def test_what_is_above_the_noise_is_the_squared_gap_on_average() -> None:
    """Over all outcomes of five runs at 0.3 and five at 0.7, weighed by their probability: 0.16."""
    expected = 0.0
    for k, j in product(range(6), repeat=2):
        chance = math.comb(5, k) * 0.3**k * 0.7 ** (5 - k) * math.comb(5, j) * 0.7**j * 0.3 ** (5 - j)
        found = flips(_sets([("t", "a", [1] * k + [0] * (5 - k)), ("t", "b", [1] * j + [0] * (5 - j))]), "side")
        assert found is not None
        assert found.above is not None
        expected += chance * (found.above.estimate or 0.0)
    assert expected == pytest.approx(0.4**2)


def test_sampling_at_temperature_one_is_no_flip_and_a_tag_that_decides_is() -> None:
    rng = np.random.default_rng(3)

    def drawn(p: float) -> list[float]:
        return [float(x) for x in rng.random(5) < p]

    sampled = flips(_sets([(f"t{i}", side, drawn(p)) for i, p in enumerate(rng.random(40)) for side in "ab"]), "side")
    swapped = flips(_sets([(f"t{i}", s, drawn(p)) for i in range(40) for s, p in (("a", 0.9), ("b", 0.4))]), "side")
    assert sampled is not None
    assert swapped is not None
    assert sampled.flip_rate is not None
    assert sampled.above is not None
    assert swapped.above is not None
    assert (sampled.flip_rate.estimate or 0.0) > 0.25  # which alone would look like a finding
    assert (sampled.above.pvalue or 0.0) > 0.05
    assert (swapped.above.pvalue or 1.0) < 0.001


def test_an_input_that_was_run_four_times_gives_a_reason_and_no_figure() -> None:
    found = flips(_sets([("t", "a", [1] * 5), ("t", "b", [1] * 4)]), "side")
    assert found is not None
    assert found.above is None
    assert found.reason == "'t' with side = 'b' was run 4 times; the noise is measured from 5 runs on"


def test_runs_with_different_prompts_are_no_repeats() -> None:
    found = flips(_sets([("t", "a", [1] * 5), ("t", "b", [1] * 5)], prompt=(*"ppppq", *"rrrrr")), "side")
    assert found is not None
    assert found.reason == "the rows of 't' with side = 'a' have different prompts, so they are no repeats"


def test_a_set_left_with_one_answer_is_counted_out() -> None:
    table = _sets(
        [("t", "a", [1, None, None, None, None]), ("t", "b", [1] * 5), ("u", "a", [1] * 5), ("u", "b", [0] * 5)]
    )
    found = flips(table, "side")
    assert found is not None
    assert found.above is not None
    assert (found.sets, found.left_out, found.above.estimate) == (1, 1, 1.0)


def _live(rng: np.random.Generator, rates: Mapping[str, float], *, days: int, each: int) -> Outcomes:
    """`each` cases a day and side, at rates that drift from week to week for all sides alike."""
    y, side, when = [], [], []
    for day in range(days):
        drift = 0.6 + 0.4 * math.sin(day / 7) ** 2
        for name, rate in rates.items():
            y += (rng.random(each) < rate * drift).astype(float).tolist()
            side += [name] * each
            when += [datetime(2026, 1, 5) + timedelta(days=day)] * each
    return _table(y, side, when=tuple(when))


def test_looking_every_week_raises_no_false_alarm_where_weekly_tests_do() -> None:
    rng, alarms, naive = np.random.default_rng(8), 0, 0
    for _ in range(40):
        table = _live(rng, {"a": 0.6, "b": 0.6}, days=84, each=6)
        weeks, found = weekly(table, ("side",))
        alarms += any(one.since for one in found)
        tests = [
            stats.two_proportion_test(round((a.estimate or 0) * a.n), a.n, round((b.estimate or 0) * b.n), b.n).pvalue
            for a, b in (week.slices.values() for week in weeks)
        ]
        naive += any((p or 0.0) < 0.05 for p in tests)
    assert alarms <= 3
    assert naive >= 10  # of 40: 1 - 0.95 ** 12 is 0.46


def test_a_real_gap_is_found_and_dated() -> None:
    table = _live(np.random.default_rng(9), {"a": 0.3, "b": 0.8}, days=56, each=12)
    weeks, alarms = weekly(table, ("side",))
    raised = {(one.slice, one.kind): one.since for one in alarms if one.since}
    assert set(raised) == {("side=a", "under_floor"), ("side=a", "lower")}
    assert len(weeks) == 8
    assert raised["side=a", "lower"] <= raised["side=a", "under_floor"] < weeks[-1].week


def test_failures_of_one_slice_raise_an_alarm_of_their_own() -> None:
    table = _live(np.random.default_rng(10), {"a": 0.6, "b": 0.6}, days=56, each=12)
    values = tuple(None if s == "a" and i % 4 == 0 else y for i, (y, s) in enumerate(
        zip(table.values, table.tags["side"], strict=True)))  # fmt: skip
    _, alarms = weekly(_table(values, table.tags["side"], when=table.when), ("side",))
    assert {(one.slice, one.kind) for one in alarms if one.since} == {("side=a", "answers_less")}


def test_the_e_value_is_the_wealth_of_the_bets_by_hand() -> None:
    """Three cases of a, of which none is positive, beside six of b, all positive: each match is -1 of [-1, 1]."""
    table = _table([0.0] * 3 + [1.0] * 6, "aaabbbbbb", when=(datetime(2026, 1, 6),) * 9)
    _, alarms = weekly(table, ("side",))
    found = next(one for one in alarms if (one.slice, one.kind) == ("side=a", "lower"))
    # At the null mean of one half, a bet on "less" wins its whole stake times one.
    assert found.e == pytest.approx(sum((1 + bet) ** 3 for bet in BETS) / len(BETS))
    assert found.matches == 3


def test_weeks_are_those_of_the_calendar_and_a_cluster_counts_once_in_each() -> None:
    when = [datetime(2025, 12, 28), datetime(2025, 12, 29), datetime(2026, 1, 4), datetime(2026, 1, 5)] * 2
    table = _table([1.0] * 8, "aaaabbbb", when=tuple(when), cluster=("p",) * 8)
    weeks, alarms = weekly(table, ("side",))
    assert [(week.week, week.monday) for week in weeks] == [
        ("2025-W52", "2025-12-22"), ("2026-W01", "2025-12-29"), ("2026-W02", "2026-01-05")
    ]  # fmt: skip
    assert [week.slices["side=a"].n for week in weeks] == [1, 2, 1]
    assert all(date.fromisoformat(week.monday).weekday() == 0 for week in weeks)
    assert {one.matches for one in alarms} == {3}


def test_the_command_prints_all_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"side": side, "age": "old" if i % 2 else "young", "set": f"s{i // 5}", "gold": "yes" if i % 3 else "no",
         "y": "yes" if i % (2 if side == "a" else 3) == 0 else "no", "day": f"2026-01-{1 + i % 28:02}"}
        for side in "ab" for i in range(150)
    ]  # fmt: skip
    path = _write(tmp_path / "t.jsonl", rows)
    command = ["probe", "slices", str(path), "--outcome", "y", "--by", "side,age", "--positive", "yes",
               "--gold", "gold", "--group", "set", "--time", "day", "--counterfactual", "set"]  # fmt: skip
    assert run([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    side = found["cuts"]["side"]
    assert side["demographic_parity"]["difference"] == pytest.approx(75 / 150 - 50 / 150)
    assert side["equalised_odds"]["false_positive"]["slices"]["side=b"]["rate"] == 1.0
    assert side["counterfactual_flips"]["sets"] == 30
    assert "was run" in found["cuts"]["age"]["counterfactual_flips"]["reason"]
    assert found["cuts"]["side,age"]["weeks"] == []
    assert run(command) == 0
    out = capsys.readouterr().out
    for line in ("By side and age", "Demographic parity: difference 0.167", "Equalised odds: ", "2026-W05",
                 "Counterfactual flips: not measured ('s0' with age = 'old' was run 4"):  # fmt: skip
        assert line in out
