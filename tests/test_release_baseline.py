"""A baseline is compared where the configuration is the same, and void where it is not, by the key that changed."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from release_world import CONFIG, GAP, finding, write_gate, write_run
from scipy import stats as scipy_stats

from recuse.release import Release, gate_run, load_tolerances, read_run
from recuse.release.baseline import change, differing

DRIFT = {"max_rise": 0.02, "max_fall": 0.02}
FLAT = finding(GAP, 0.0, [-0.01, 0.01])


def compared(place: Path, now: dict, before: dict, **band) -> Release:
    path = write_gate(place / "gate.toml", {GAP: band or DRIFT})
    return gate_run(
        read_run(write_run(place / "now", **now)),
        load_tolerances(path),
        baseline=read_run(write_run(place / "before", **before)),
        path=path,
    )


@pytest.mark.parametrize(
    ("now", "key"),
    [
        ({"config": {**CONFIG, "system_hash": "bbbb"}}, "system_hash (aaaa before, bbbb now)"),
        ({"config": {**CONFIG, "temperature": 0.0}}, "temperature (1.0 before, 0.0 now)"),
        ({"config": {**CONFIG, "tools": ["search"]}}, "tools (unset before, ['search'] now)"),
        ({"config": {**CONFIG, "model": "openai/other"}}, "model (openai/some-model before, openai/other now)"),
        ({"config": {**CONFIG, "engine": {"openai": "3.1"}}}, "engine.openai (3.0 before, 3.1 now)"),
        ({"config": {**CONFIG, "prompt_hash": "p"}}, "prompt_hash (unset before, p now)"),
        (
            {"config": {**CONFIG, "templates": {"bakery": "t9", "courier": "t2"}}},
            "templates.bakery (t1 before, t9 now)",
        ),
        ({"models": {"some-model-2026-06": 9}}, "model version (some-model-2026-01 before, some-model-2026-06 now)"),
        ({"extract": {"yes": {"fold": True}}}, "extract.yes.fold (unset before, True now)"),
    ],
)
def test_a_changed_configuration_voids_the_baseline_and_names_the_key(tmp_path: Path, now: dict, key: str) -> None:
    release = compared(tmp_path, {"findings": [FLAT], **now}, {"findings": [FLAT]})
    assert release.outcome == "inconclusive"
    assert release.void == (key,)
    assert key in release.headline
    # No band on the change: the metric itself passes, and the release still does not.
    release = compared(tmp_path, {"findings": [FLAT], **now}, {"findings": [FLAT]}, max=0.05)
    assert [check.outcome for check in release.checks] == ["pass"]
    assert release.outcome == "inconclusive"
    assert key in release.headline
    assert release.changes == {}


def test_a_metric_outside_its_band_fails_whatever_the_baseline(tmp_path: Path) -> None:
    off = finding(GAP, 0.5, [0.4, 0.6])
    now = {"findings": [off], "config": {**CONFIG, "temperature": 0.0}}
    assert compared(tmp_path, now, {"findings": [FLAT]}, max=0.05).outcome == "fail"


def test_a_folder_that_does_not_tell_its_configuration_voids_the_comparison(tmp_path: Path) -> None:
    before = write_run(tmp_path / "before", [FLAT], config={})
    assert differing(read_run(write_run(tmp_path / "now", [FLAT])), read_run(before)) == (
        f"configuration (not told: {before} has no run.toml)",
    )


def test_paths_and_the_part_of_a_plan_are_no_settings(tmp_path: Path) -> None:
    more = {**CONFIG, "subset": 1, "templates": {"bakery": "t1"}, "pairs": "elsewhere/pairs.jsonl"}
    runs = [read_run(write_run(tmp_path / str(i), [FLAT], config=c)) for i, c in enumerate((CONFIG, more))]
    assert differing(runs[1], runs[0]) == ()
    assert runs[1].part == "subset 1"


@pytest.mark.parametrize(("at", "outcome"), [(0.0, "pass"), (0.03, "inconclusive"), (0.06, "fail"), (-0.06, "fail")])
def test_a_change_is_decided_by_two_independent_intervals(tmp_path: Path, at: float, outcome: str) -> None:
    now = finding(GAP, at, [at - 0.012, at + 0.016])
    before = finding(GAP, 0.0, [-0.009, 0.005])
    release = compared(tmp_path, {"findings": [now]}, {"findings": [before]})
    assert release.outcome == outcome
    value = release.checks[0].value
    assert value.estimate == pytest.approx(at)
    # Zou and Donner by hand: the limits that matter, by Pythagoras.
    assert value.interval == pytest.approx((at - math.hypot(0.012, 0.005), at + math.hypot(0.016, 0.009)))


def test_missing_replies_widen_a_change_by_what_they_widen_either_run(tmp_path: Path) -> None:
    now = finding(GAP, 0.0, [-0.01, 0.01], bounds=[-0.03, 0.01])
    before = finding(GAP, 0.0, [-0.01, 0.01], bounds=[-0.01, 0.05])
    release = compared(tmp_path, {"findings": [now]}, {"findings": [before]}, max_rise=0.02, max_fall=0.02)
    reach = math.hypot(0.01, 0.01)
    assert release.checks[0].value.bounds == pytest.approx((-reach - 0.02 - 0.04, reach))
    assert release.outcome == "inconclusive"


def rows(values: dict[str, float]) -> dict:
    return {
        "per_template": [
            {"metric": "decision", "a": "women", "b": "men", "template_id": id, "gap": gap}
            for id, gap in values.items()
        ]
    }


def test_the_same_templates_are_compared_in_pairs(tmp_path: Path) -> None:
    old = {f"t{i}": 0.3 * (-1) ** i + 0.01 * i for i in range(12)}
    new = {id: gap + 0.005 * ((i % 3) - 1) for i, (id, gap) in enumerate(old.items()) if id != "t11"} | {"new": 0.4}
    sides = []
    for name, values in (("before", old), ("now", new)):
        mean = sum(values.values()) / len(values)
        config = {**CONFIG, "templates": dict.fromkeys(values, "same")}
        folder = write_run(tmp_path / name, [finding(GAP, mean, [mean - 0.2, mean + 0.2])], tables=rows(values),
                           config=config)  # fmt: skip
        sides.append(read_run(folder))
    assert differing(sides[1], sides[0]) == ()
    found = change(sides[1], sides[0], GAP)
    shared = [id for id in old if id in new]
    test = scipy_stats.ttest_rel([new[id] for id in shared], [old[id] for id in shared])
    assert found.interval == pytest.approx(tuple(test.confidence_interval(0.95)))
    assert found.method.endswith("11 templates in both")
    assert found.interval[1] - found.interval[0] < 0.01  # 0.56 by two independent intervals


def test_other_templates_without_their_values_are_not_compared(tmp_path: Path) -> None:
    part = {"findings": [FLAT], "config": {**CONFIG, "subset": 1, "templates": {"bakery": "t1"}}}
    release = compared(tmp_path, part, {"findings": [FLAT]})
    assert release.outcome == "inconclusive"
    assert "different templates" in release.checks[0].why
    assert release.notes[0] == "The run is part of a plan: subset 1."


def test_templates_that_all_change_alike_say_so_instead_of_that_they_cannot_be_paired(tmp_path: Path) -> None:
    sides = []
    for name, count in (("now", 10), ("before", 12)):
        values = {f"t{i}": 0.0 for i in range(count)}
        config = {**CONFIG, "templates": dict.fromkeys(values, "same")}
        folder = write_run(tmp_path / name, [finding(GAP, 0.0, [-0.1, 0.1])], tables=rows(values), config=config)
        sides.append(read_run(folder))
    found = change(*sides, GAP)
    assert found.interval is None
    assert "the change does not differ between those of both" in str(found.reason)


def test_a_change_needs_a_value_on_both_sides(tmp_path: Path) -> None:
    for before, why in (
        ([finding("probe.gap:other:women/men", 0.0, [0, 0])], "the baseline does not have it"),
        ([finding(GAP, None, reason="silent")], "not measured in the baseline: silent"),
        ([{**FLAT, "details": {"suspect": "the swap test failed"}}], "in the baseline: the swap test failed"),
    ):
        release = compared(tmp_path, {"findings": [FLAT]}, {"findings": before})
        assert release.outcome == "inconclusive"
        assert why in release.checks[0].why


def test_a_run_is_no_baseline_of_another_kind(tmp_path: Path) -> None:
    other = write_run(tmp_path / "b", [FLAT], kind="audit")
    assert differing(read_run(write_run(tmp_path / "a", [FLAT])), read_run(other)) == (
        "kind (audit before, probe now)",
    )
