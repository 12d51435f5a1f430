"""What passes, what fails and what stays open, against values worked out by hand and the level that is promised."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from release_world import FAILURES, GAP, finding, write_gate, write_run
from scipy import stats as scipy_stats

from recuse.release import Release, gate_run, load_tolerances, read_run
from recuse.release.checks import Check, Value, decide, p_outside

BAND = {"min": -0.05, "max": 0.05}


def released(place: Path, findings: list[dict], primary: dict | None = None, **more) -> Release:
    path = write_gate(place / "gate.toml", primary if primary is not None or more else {GAP: BAND}, **more)
    return gate_run(read_run(write_run(place / "run", findings)), load_tolerances(path), path=path)


@pytest.mark.parametrize(
    ("found", "outcome", "why"),
    [
        (finding(GAP, 0.01, [-0.03, 0.05]), "pass", "the whole interval lies inside"),
        (finding(GAP, 0.01, [-0.03, 0.051]), "inconclusive", "reaches over an end"),
        (finding(GAP, 0.10, [0.051, 0.15]), "fail", "the whole interval lies outside"),
        (finding(GAP, -0.10, [-0.15, -0.051]), "fail", "the whole interval lies outside"),
        (finding(GAP, 0.10, [0.05, 0.15]), "inconclusive", "reaches over an end"),
        (finding(GAP, 0.0, [-0.2, 0.2]), "inconclusive", "reaches over an end"),
        (finding(GAP, 0.01, [-0.03, 0.05], bounds=[-0.1, 0.2]), "inconclusive", "missing replies could take it out"),
        (finding(GAP, 0.10, [0.06, 0.14], bounds=[-0.01, 0.2]), "inconclusive", "missing replies could take it back"),
        (finding(GAP, 0.10, [0.07, 0.13], bounds=[0.06, 0.2]), "fail", "the whole interval lies outside"),
        (finding(GAP, 0.01, [-0.03, 0.05], bounds=[0.0, 0.02]), "pass", "the whole interval lies inside"),
        (finding(GAP, None, reason="no reply gave a value"), "inconclusive", "not measured: no reply gave a value"),
        (finding(GAP, 0.0, reason="one template"), "inconclusive", "without an interval: one template"),
        (finding(GAP, 0.0, [-0.01, 0.01], details={"suspect": "the swap test failed"}), "inconclusive", "swap test"),
        (finding(GAP, 0.5, [0.4, 0.6], details={"suspect": True}), "inconclusive", "in doubt"),
        (finding(GAP, 0.02, [0.02, 0.02]), "pass", "inside"),
        (finding(GAP, 0.06, [0.06, 0.06]), "fail", "outside"),
    ],
)
def test_one_metric_is_decided_by_its_whole_interval(tmp_path: Path, found: dict, outcome: str, why: str) -> None:
    release = released(tmp_path, [found])
    assert (release.outcome, release.checks[0].outcome) == (outcome, outcome)
    assert why in release.checks[0].why
    assert release.headline.startswith(outcome.upper())


def test_one_check_fails_exactly_where_its_interval_lies_outside() -> None:
    for low in np.linspace(0.03, 0.07, 81):
        value = Value(low + 0.04, (low, low + 0.08), None, 0.95, 400)
        p = p_outside(value, (None, 0.05))
        check = decide(Check("x", "band", "x", value, (None, 0.05)), adjusted=p, alpha=0.05)
        assert (check.outcome == "fail") == (low > 0.05 + 1e-12)


def test_p_is_that_of_a_normal_estimate_and_holm_multiplies_it(tmp_path: Path) -> None:
    error = 0.02
    half = scipy_stats.norm.ppf(0.975) * error
    names = [f"probe.gap:m{i}:women/men" for i in range(3)]
    findings = [finding(id, at, [at - half, at + half]) for id, at in zip(names, (0.095, 0.0, 0.0), strict=True)]
    release = released(tmp_path, findings, {id: {"max": 0.05} for id in names})
    alone = 2 * scipy_stats.norm.sf((0.095 - 0.05) / error)
    assert alone < 0.05 < 3 * alone
    assert release.checks[0].p == pytest.approx(3 * alone)
    assert release.checks[0].outcome == "inconclusive"
    assert "not after Holm" in release.checks[0].why
    # What cannot fail takes no part in the correction.
    release = released(tmp_path, findings, {id: {"max": 0.05, "recuse": i == 0} for i, id in enumerate(names)})
    assert release.checks[0].p == pytest.approx(alone)
    assert release.outcome == "fail"


def test_what_may_not_fail_prevents_a_pass_only(tmp_path: Path) -> None:
    release = released(tmp_path, [finding(GAP, 0.2, [0.1, 0.3])], {GAP: {"max": 0.05, "recuse": False}})
    assert release.outcome == "inconclusive"
    assert "prevents a pass only" in release.checks[0].why


def test_a_metric_at_its_tolerance_passes_in_at_most_the_nominal_share_of_runs() -> None:
    """Two metrics at the end of their bands: a pass of the whole needs both, and a false fail is rarer than 5 %."""
    rng = np.random.default_rng(1)
    runs, templates, truth = 4000, 40, 0.05
    t = scipy_stats.t.ppf(0.975, templates - 1)
    passed = failed = both = 0
    for sample in rng.normal(truth, 0.05, size=(runs, 2, templates)):
        checks = []
        for gaps in sample:
            error = gaps.std(ddof=1) / np.sqrt(templates)
            reach = t * error
            value = Value(gaps.mean(), (gaps.mean() - reach, gaps.mean() + reach), None, 0.95, templates)
            checks.append(Check("x", "band", "x", value, (-truth, truth)))
        ps = [p_outside(check.value, check.band) for check in checks]
        smallest = min(1.0, 2 * min(ps))  # Holm's first step, on which hangs whether any fails
        done = [decide(check, adjusted=smallest, alpha=0.05) for check in checks]
        passed += done[0].outcome == "pass"
        both += all(check.outcome == "pass" for check in done)
        failed += any(check.outcome == "fail" for check in done)
    slack = 2.58 * np.sqrt(0.025 * 0.975 / runs)
    assert 0.025 - slack < passed / runs < 0.025 + slack  # one metric: two one-sided tests at 2.5 %
    assert both / runs < 0.005
    assert failed / runs < 0.025 + slack  # each is at its own end: half of 5 % over both, by Holm


def test_uneven_failures_prevent_a_pass_until_they_have_a_band(tmp_path: Path) -> None:
    gap, failures = finding(GAP, 0.0, [-0.02, 0.02]), finding(FAILURES, 0.2, [0.15, 0.25], p=1e-6)
    release = released(tmp_path, [gap, failures])
    assert release.outcome == "inconclusive"
    assert FAILURES in release.checks[0].why
    assert released(tmp_path, [gap, failures], {GAP: BAND, FAILURES: {"max": 0.05}}).outcome == "fail"
    assert released(tmp_path, [gap, failures], {GAP: BAND, FAILURES: {"max": 0.3}}).outcome == "pass"
    assert (
        released(tmp_path, [gap, {**failures, "estimate": 0.01, "interval": [-0.02, 0.04], "p": 0.5}]).outcome == "pass"
    )


def test_a_judged_metric_does_not_pass_under_another_rule_than_the_file_has(tmp_path: Path) -> None:
    rule = {"lower": 0.4, "point": 0.6, "withhold": 0.6}
    found = finding("judged.win_rate", 0.5, [0.45, 0.55])
    path = write_gate(tmp_path / "gate.toml", {"judged.win_rate": {"min": 0.4, "max": 0.6}}, calibration=rule)
    for used, outcome in ((rule, "pass"), ({**rule, "lower": 0.1}, "inconclusive"), (None, "inconclusive")):
        tolerances = {"level": 0.95, **({"calibration": used} if used else {})}
        run = write_run(tmp_path / "run", [found], kind="audit", gate={"name": "x", "tolerances": tolerances})
        assert gate_run(read_run(run), load_tolerances(path), path=path).outcome == outcome
    held = finding("judged.win_rate", None, reason="withheld: kappa", details={"withheld": "kappa"})
    run = write_run(tmp_path / "run", [held], kind="audit", gate={"name": "x", "tolerances": {"calibration": rule}})
    assert gate_run(read_run(run), load_tolerances(path), path=path).outcome == "inconclusive"


def slice_(name: str, ratio: float | None, n: int, p: float | None, **more) -> dict:
    return finding(f"slice.ratio:{name}", ratio, None, n=n, p=p, **more)


@pytest.mark.parametrize(
    ("slices", "outcome", "why"),
    [
        ([slice_("dialect=x", 0.66, 300, 0.001), slice_("dialect=y", 0.9, 300, 0.2)], "fail", "dialect=x has a ratio"),
        ([slice_("dialect=x", 0.66, 300, 0.06)], "pass", "none of 1 slices"),
        ([slice_("dialect=x", 0.8, 300, 0.001)], "pass", "none of 1 slices"),
        ([slice_("dialect=x", 0.95, 299, 0.5), slice_("dialect=y", 0.9, 300, 0.2)], "inconclusive", "299 cases"),
        ([slice_("dialect=x", 0.3, 120, 1e-9)], "fail", "0.300"),
        ([slice_("dialect=x", None, 300, None, reason="no rate")], "inconclusive", "no rate"),
        ([slice_("dialect=x", 0.5, 300, None)], "inconclusive", "no p-value"),
        ([slice_("dialect=x", 0.5, 300, 1e-6, details={"suspect": "so"})], "inconclusive", "in doubt"),
        ([slice_("dialect=x", 0.5, 300, 1e-6, details={"clustered": {"p": 0.2}})], "pass", "none of"),
        (
            [slice_("dialect=x", 0.9, 300, 0.4, details={"failure_gap": {"p": 1e-6}})],
            "inconclusive",
            "lacks an outcome",
        ),
        ([slice_("dialect=x,age=old", 0.1, 20, 1e-6), slice_("dialect=x", 0.9, 300, 0.2)], "pass", "none of 1"),
    ],
)
def test_the_worst_slice_rule(tmp_path: Path, slices: list[dict], outcome: str, why: str) -> None:
    release = released(tmp_path, slices, worst_slice={"by": ["dialect"]})
    assert (release.outcome, release.checks[0].id) == (outcome, "worst_slice")
    assert why in release.checks[0].why
    if len(slices) == 2 and "," in slices[0]["id"]:  # without `by` the intersection is judged too
        assert released(tmp_path, slices, worst_slice={}).outcome == "fail"
