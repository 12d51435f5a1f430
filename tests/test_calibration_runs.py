"""Two releases of a judge on one frozen set, and several judges beside each other."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from calibration_world import by_place, judged, said
from sklearn.metrics import cohen_kappa_score

from recuse import stats
from recuse.calibration import Labels
from recuse.calibration.compare import Compared, compare_runs
from recuse.calibration.labels import votes_hash
from recuse.calibration.panel import PanelFound, panel
from recuse.calibration.runs import Run, frozen_labels
from recuse.errors import UsageError
from recuse.types import Finding

DETERMINISTIC = {"stability.flip_rate": {"reason": "deterministic: greedy decoding repeats itself"}}


def run(
    rows: Mapping[str, str],
    *,
    judge: str = "openai/m",
    models: tuple[str, ...] = ("m-1",),
    labels: Labels | None = None,
    findings: Mapping[str, Any] | None = None,
    folder: str = "run",
    **settings: object,
) -> Run:
    judgements = judged(rows, orders="AB BA" if len(next(iter(rows.values()))) == 2 else "AB")
    return Run(Path(folder), judge, {"judge": judge, **settings}, models, judgements, {}, findings or {}, labels)


def finding(found: Compared | PanelFound, id: str) -> Finding:
    return next(f for f in found.findings if f.id == id)


def world(n: int, right: float, seed: int) -> dict[str, str]:
    rng = np.random.default_rng(seed)
    return {str(i): "".join("r" if x > right else "c" for x in rng.random(2)) for i in range(n)}


def test_change_of_kappa_is_the_difference_and_its_jackknife() -> None:
    rng = np.random.default_rng(0)
    reference = rng.choice(["A", "B", "tie"], 120)
    old, new = (np.where(rng.random(120) < share, reference, rng.choice(["A", "B"], 120)) for share in (0.8, 0.5))
    groups = np.arange(120) // 2
    found = stats.kappa_change(old, new, reference, groups=groups)
    everything = [cohen_kappa_score(new, reference) - cohen_kappa_score(old, reference)]
    left_out = [
        cohen_kappa_score(new[groups != g], reference[groups != g])
        - cohen_kappa_score(old[groups != g], reference[groups != g])
        for g in range(60)
    ]
    assert found.estimate == pytest.approx(everything[0])
    error = math.sqrt(59 / 60 * np.sum((np.array(left_out) - np.mean(left_out)) ** 2))
    assert found.interval == pytest.approx((everything[0] - 2.00100 * error, everything[0] + 2.00100 * error), abs=1e-4)
    assert (found.n, found.groups) == (120, 60)


def test_change_of_kappa_covers_the_true_one() -> None:
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(200):
        reference, u, other = rng.integers(0, 2, 60), rng.random(60), rng.random(60)
        v = np.where(rng.random(60) < 0.7, u, other)
        old, new = np.where(u < 0.9, reference, 1 - reference), np.where(v < 0.75, reference, 1 - reference)
        low, high = stats.kappa_change(old, new, reference).interval or (0, 0)
        covered += low <= 2 * (0.75 - 0.9) <= high
    assert covered >= 0.90 * 200  # 0.95, less three standard errors


def test_change_of_kappa_without_change_or_units() -> None:
    same = stats.kappa_change(list("ABAB"), list("ABAB"), list("ABBA"))
    assert (same.estimate, same.interval, same.reason) == (0.0, None, "no rating changed")
    none = stats.kappa_change(["A", None], [None, "B"], ["A", "B"])
    assert (none.estimate, none.reason) == (None, "no unit has all three ratings")
    assert "0/0" in (stats.kappa_change(list("AAA"), list("AAA"), list("AAA")).reason or "")
    with pytest.raises(ValueError, match="3, 2, 3 ratings"):
        stats.kappa_change(list("ABA"), list("AB"), list("ABA"))


def test_a_fall_fails_and_kappas_are_scikit_learns() -> None:
    old, new, labels = run(world(200, 0.9, 1)), run(world(200, 0.6, 2)), said(dict.fromkeys(world(200, 1, 0), "c"))
    found = compare_runs(old, new, labels)
    assert found.outcome == "fail"
    assert found.headline.startswith("FAIL: agreement with people -0.")
    kappas = [cohen_kappa_score(*by_place(r.judgements, labels)) for r in (old, new)]
    assert finding(found, "compare.kappa:old").estimate == pytest.approx(kappas[0])
    assert finding(found, "compare.kappa_change").estimate == pytest.approx(kappas[1] - kappas[0])
    between = cohen_kappa_score(by_place(old.judgements, labels)[0], by_place(new.judgements, labels)[0])
    assert finding(found, "compare.kappa_between").estimate == pytest.approx(between)
    hits = [sum(j.prefers == "chosen" for j in r.judgements) / 400 for r in (old, new)]
    assert finding(found, "compare.agreement_change").estimate == pytest.approx(hits[1] - hits[0])
    p = finding(found, "compare.agreement_change").p
    assert p is not None
    assert p < 0.001


def test_the_changed_verdicts_are_listed() -> None:
    found = compare_runs(run({"1": "cc", "2": "c-"}), run({"1": "rc", "2": "ct"}), said({"1": "c", "2": "r"}))
    told = [(c.pair, c.order, c.before, c.after, c.people) for c in found.changed]
    assert told == [("1", "AB", "chosen", "rejected", "chosen"), ("2", "BA", None, "tie", "rejected")]
    assert finding(found, "compare.changed_rate").estimate == 0.5


def test_the_same_verdicts_pass_where_the_set_is_large_enough() -> None:
    labels = said(dict.fromkeys(world(200, 1, 0), "c"))
    rows = world(200, 0.8, 1)
    assert compare_runs(run(rows), run(rows), labels).outcome == "pass"
    few = {name: rows[name] for name in list(rows)[:20]}
    assert compare_runs(run(few), run(few), labels).outcome == "warn"  # 20 pairs do not exclude a fall of 0.05


def test_verdicts_that_came_to_fail_widen_the_bounds_and_are_no_fall() -> None:
    rows = dict.fromkeys(map(str, range(100)), "cc")
    gone = {name: "c-" if int(name) < 30 else "cc" for name in rows}
    found = compare_runs(run(rows), run(gone), said(dict.fromkeys(rows, "c")))
    moved = finding(found, "compare.agreement_change")
    assert moved.estimate == 0.0
    assert moved.bounds is not None
    assert moved.bounds[0] < -0.15 < moved.bounds[1]  # all 30 wrong: -0.15
    assert found.outcome == "warn"


def test_another_version_under_the_same_name_is_told() -> None:
    rows = world(200, 0.8, 1)
    labels = said(dict.fromkeys(rows, "c"))
    found = compare_runs(run(rows, models=("m-1",), seed=0), run(rows, models=("m-2",), seed=1), labels)
    assert found.outcome == "warn"
    assert (
        "The provider reported the version m-1 before and m-2 now under the same name: another judge until shown not."
        in found.notes
    )
    assert "Settings that differ: seed (0 before, 1 now)." in found.notes


@pytest.mark.parametrize(
    ("noise", "says", "another"),
    [
        ((0.10, 0.20), "more than from call to call (at most 0.200): the judge is another instrument", True),
        ((0.30, 0.60), "which its own changes from call to call (up to 0.600) can explain", False),
        (None, "cannot be told", False),
    ],
)
def test_an_instrument_is_another_where_it_changes_more_than_from_call_to_call(
    noise: tuple[float, float] | None, says: str, another: bool
) -> None:
    findings = {"stability.flip_rate": {"interval": noise, "reason": None if noise else "no pair was asked twice"}}
    rows = world(300, 1.0, 1)
    new = {name: "rr" if int(name) % 2 else letters for name, letters in rows.items()}  # half of the verdicts
    labels = said({name: "cr"[int(name) % 4 // 2] for name in rows})
    found = compare_runs(run(rows, findings=findings), run(new, findings=findings), labels)
    assert any(says in note for note in found.notes)
    assert ("another one" in found.headline or found.outcome == "warn") or not another


def test_a_greedy_judge_that_changes_is_another_instrument() -> None:
    rows = world(400, 0.8, 1)
    new = {**rows, "0": "rc"} if rows["0"] != "rc" else {**rows, "0": "cc"}
    labels = said(dict.fromkeys(rows, "c"))
    found = compare_runs(run(rows, findings=DETERMINISTIC), run(new, findings=DETERMINISTIC), labels)
    assert found.outcome == "warn"
    assert "yet the judge is another one" in found.headline
    assert any("though both runs decode greedily" in note for note in found.notes)


def test_runs_of_different_pairs_or_labels_are_refused() -> None:
    with pytest.raises(UsageError, match="no pair in common"):
        compare_runs(run({"1": "cc"}), run({"2": "cc"}), said({"1": "c"}))
    with pytest.raises(UsageError, match="No pair that both runs judged has a label"):
        compare_runs(run({"1": "cc"}), run({"1": "cc"}), said({"9": "c"}))
    one, two = (
        Labels(votes, {}, "x", votes_hash(votes))
        for votes in ({"1": {"p": "chosen"}, "2": {"p": "tie"}}, {"1": {"p": "chosen"}, "2": {"p": None}})
    )  # type: ignore[var-annotated]
    with pytest.raises(UsageError, match=r"different labels \(1 pairs, first: 2\)"):
        frozen_labels([run({"1": "cc"}, labels=one), run({"1": "cc"}, labels=two)])
    assert frozen_labels([run({"1": "cc"}), run({"1": "cc"}, labels=two)])[0] is two


def test_without_labels_the_gold_stands_in_unless_there_is_none() -> None:
    labels, notes = frozen_labels([run({"1": "cc"}), run({"1": "cr"})])
    assert labels.majority("1") == "chosen"
    assert "No labels of people" in notes[0]
    no_gold = {"accuracy.error_rate": {"reason": "the source does not say which answer is better"}}
    with pytest.raises(UsageError, match="came without a better answer"):
        frozen_labels([run({"1": "cc"}, findings=no_gold), run({"1": "cr"})])


def test_a_panel_by_hand() -> None:
    # two good judges and one bad: the majority is right wherever two are
    rows = {"a": "ccccccccrr", "b": "ccccccrrcc", "c": "crrrrrrrrr"}
    runs = [run({str(i): x for i, x in enumerate(letters)}, judge=name) for name, letters in rows.items()]
    labels = said({str(i): "c" for i in range(10)})
    found = panel(runs, labels)
    assert [finding(found, f"panel.agreement:{x}").estimate for x in (*"abc", "majority")] == [0.8, 0.8, 0.1, 0.6]
    assert found.weights == pytest.approx({"a": math.log(9 / 3), "b": math.log(9 / 3), "c": 0.0})
    assert finding(found, "panel.all_wrong").estimate == 0.0
    assert finding(found, "panel.all_wrong").details["if_independent"] == pytest.approx(0.2 * 0.2 * 0.9)
    assert "hides no bias that all its judges share" in found.notes[-1]
    assert "against people here" in found.notes[-1]


def test_weights_help_where_judges_err_apart_and_a_shared_error_stays() -> None:
    apart = [world(400, share, seed) for seed, share in ((1, 0.9), (2, 0.6), (3, 0.55))]
    labels = said(dict.fromkeys(apart[0], "c"))
    found = panel([run(rows, judge=f"j{i}") for i, rows in enumerate(apart)], labels)
    majority, weighted, best = (finding(found, f"panel.agreement:{x}").estimate for x in ("majority", "weighted", "j0"))
    assert majority is not None
    assert weighted is not None
    assert best is not None
    assert weighted > majority + 0.05
    assert weighted == pytest.approx(best, abs=0.02)
    shared = {n: "rr" if int(n) % 5 == 0 else x for n, x in world(400, 1.0, 4).items()}  # one in five, for all of them
    fooled = panel([run(shared, judge=f"j{i}") for i in range(3)], labels)
    alpha = finding(fooled, "panel.alpha").estimate
    assert alpha == pytest.approx(1.0)  # perfect agreement, and
    assert finding(fooled, "panel.agreement:majority").estimate == 0.8
    wrong = finding(fooled, "panel.all_wrong")
    assert (wrong.estimate, wrong.details["if_independent"]) == (pytest.approx(0.2), pytest.approx(0.008))


def test_the_weighted_vote_is_not_graded_by_the_labels_that_weigh_it() -> None:
    # guesses: weights fitted and graded on the same labels would show the better guesser as better than chance
    gaps = []
    for seed in range(30):
        rows = [{n: x[0] for n, x in world(60, 0.5, 100 * seed + i).items()} for i in range(5)]
        labels = said(dict.fromkeys(rows[0], "c"))
        found = panel([run(r, judge=f"j{i}") for i, r in enumerate(rows)], labels)
        share = finding(found, "panel.agreement:weighted").estimate
        assert share is not None
        gaps.append(share - 0.5)
    assert np.mean(gaps) < 0.03


def test_missing_and_tied_votes() -> None:
    runs = [run({"1": "c", "2": "-", "3": "c"}, judge="a"), run({"1": "r", "2": "-", "3": "-"}, judge="b")]
    found = panel(runs, said({"1": "c", "2": "c", "3": "c"}))
    majority = finding(found, "panel.kappa:majority").details
    assert majority["missing"] == 1  # nobody answered pair 2
    assert majority["confusion"]["judge_by_people"] == [[1, 0, 0], [0, 0, 0], [1, 0, 0]]  # pair 1 is a tie of votes


def test_a_panel_of_one_judge_twice_names_the_folders() -> None:
    found = panel([run({"1": "c"}, folder="x/old"), run({"1": "c"}, folder="x/new")], said({"1": "c"}))
    assert found.judges == ("openai/m (old)", "openai/m (new)")


def test_a_panel_keeps_judges_apart_whose_folders_are_called_alike_and_takes_no_run_twice() -> None:
    rows = {"1": "c", "2": "r"}
    turned = {"1": "r", "2": "c"}
    labels = said({"1": "c", "2": "r"})
    found = panel([run(rows, folder="old/run"), run(turned, folder="new/run")], labels)
    assert sorted(name.split("(")[1] for name in found.judges) == ["new/run)", "old/run)"]
    assert [finding(found, f"panel.agreement:{name}").estimate for name in found.judges] == [1.0, 0.0]
    with pytest.raises(UsageError, match="given twice"):
        panel([run(rows, folder="old/run"), run(rows, folder="old/../old/run")], labels)


def test_a_weighted_vote_without_any_weight_counts_heads() -> None:
    rows = [{"1": "c"}, {"1": "c"}, {"1": "r"}]  # one group: nothing on which to measure a weight for it
    found = panel([run(r, judge=f"j{i}") for i, r in enumerate(rows)], said({"1": "c"}))
    assert finding(found, "panel.agreement:weighted").estimate == 1.0
    assert finding(found, "panel.agreement:majority").estimate == 1.0
