"""A judge's audit as a test of a team's own suite, run by pytest's own harness."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import recuse

pytest_plugins = "pytester"

FAIR, FIRST = "fake/skill=6,seed=1", "fake/always=first"


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> None:
    """All that an audit imports: pytester forgets what a test's run has imported, and numpy loads once a process."""
    recuse.audit(FAIR, "demo", limit=4, out=tmp_path_factory.mktemp("imported") / "run")


@pytest.fixture
def suite(imported: None, pytester: pytest.Pytester) -> pytest.Pytester:
    """A folder with pairs. The plugin is named here, whether or not the installed package declares it."""
    pairs = [
        {"prompt": f"Question {n}?", "chosen": f"yes {n}", "rejected": f"no {n}{'!!' * (n % 2)}"} for n in range(120)
    ]
    (pytester.path / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    pytester.plugins = []
    pytester.makeini("[pytest]\naddopts = -p no:recuse -p recuse.pytest -p no:cacheprovider --strict-markers")
    return pytester


def write(suite: pytest.Pytester, body: str) -> None:
    suite.makepyfile(test_it=f"def test_judge(recuse_audit):\n    {body}\n")


def test_a_judge_that_is_fit_passes_and_its_run_is_kept(suite: pytest.Pytester) -> None:
    write(suite, f'assert recuse_audit({FAIR!r}, "pairs.jsonl").outcome == "fit"')
    suite.runpytest().assert_outcomes(passed=1)
    (run,) = (suite.path / ".recuse").iterdir()
    assert run.name.startswith("audit-fake-skill-6")
    assert (run / "report.html").is_file()


def test_a_failure_says_the_headline_and_where_the_report_is(suite: pytest.Pytester) -> None:
    write(suite, f'assert recuse_audit({FIRST!r}, "pairs.jsonl").outcome == "fit"')
    result = suite.runpytest()
    result.assert_outcomes(failed=1)
    (run,) = (suite.path / ".recuse").iterdir()
    headline = json.loads((run / "findings.json").read_text())["headline"]
    result.stdout.fnmatch_lines([
        "E *the outcome is 'recuse', not 'fit'",
        "E * fake/always=first on pairs.jsonl (120 pairs in 120 groups)",
        f"E * {headline[:40]}*",
        f"E * Report: {run / 'report.html'}",
    ])  # fmt: skip
    result.stdout.no_fnmatch_line("*AuditResult(*")


@pytest.mark.parametrize("test", ['"fit" == {}.outcome', '{}.outcome in ("fit", "inconclusive")'])
def test_other_ways_of_asking_fail_as_clearly(suite: pytest.Pytester, test: str) -> None:
    write(suite, "assert " + test.format(f'recuse_audit({FIRST!r}, "pairs.jsonl")'))
    result = suite.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *the outcome is 'recuse', not *fit*", "E * RECUSE*"])


def test_a_second_run_asks_nothing_and_another_gate_decides_on_the_same_replies(suite: pytest.Pytester) -> None:
    (suite.path / "gate.toml").write_text('schema = 1\n[primary."accuracy.error_rate"]\nmax = 0.9\n')
    write(
        suite,
        f'audit = recuse_audit({FIRST!r}, "pairs.jsonl", gate=None)\n'
        f'    again = recuse_audit({FIRST!r}, "pairs.jsonl", gate="gate.toml")\n'
        '    print("calls", audit.result.usage["calls"], again.result.usage["calls"])\n'
        '    assert (audit.outcome, again.outcome) == ("recuse", "fit")\n'
        '    assert again.finding("accuracy.error_rate").estimate == 0.5',
    )
    result = suite.runpytest("-s")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*calls 240 0"])
    suite.runpytest("-s").stdout.fnmatch_lines(["*calls 0 0"])


def test_files_may_lie_beside_the_test(suite: pytest.Pytester) -> None:
    write(suite, f'assert recuse_audit({FAIR!r}, "pairs.jsonl").outcome == "fit"')
    elsewhere = suite.mkdir("evals")
    for name in ("pairs.jsonl", "test_it.py"):
        (suite.path / name).rename(elsewhere / name)
    suite.runpytest().assert_outcomes(passed=1)


def test_a_test_is_skipped_without_the_key_that_it_needs(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOME_API_KEY", raising=False)
    write(suite, f'assert recuse_audit({FAIR!r}, "pairs.jsonl", needs="SOME_API_KEY").outcome == "fit"')
    result = suite.runpytest("-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*SOME_API_KEY is not set, which the audit of fake/skill=6,seed=1 needs"])
    monkeypatch.setenv("SOME_API_KEY", "sk-test")
    suite.runpytest().assert_outcomes(passed=1)


def test_an_audit_that_cannot_run_fails_with_one_sentence_and_no_traceback(suite: pytest.Pytester) -> None:
    write(suite, f'recuse_audit({FAIR!r}, "absent.jsonl")')
    result = suite.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"The audit of {FAIR} did not finish: absent.jsonl: no such file*"])
    result.stdout.no_fnmatch_line("*During handling*")
    result.stdout.no_fnmatch_line("*plan.py*")


def test_audits_can_be_left_out_by_their_mark(suite: pytest.Pytester) -> None:
    suite.makepyfile(test_it="def test_judge(recuse_audit): ...\n\ndef test_other(): ...\n")
    suite.runpytest("-m", "not recuse").assert_outcomes(passed=1, deselected=1)


def test_a_suite_that_does_not_use_the_plugin_loads_nothing_of_it(suite: pytest.Pytester) -> None:
    suite.makepyfile(test_it="import sys\n\ndef test_other():\n    assert 'numpy' not in sys.modules\n")
    result = suite.runpytest_subprocess()
    result.assert_outcomes(passed=1)


def test_comparisons_of_other_things_are_left_alone(suite: pytest.Pytester) -> None:
    suite.makepyfile(test_it="def test_other(): assert 'recuse' == 'fit'\n")
    result = suite.runpytest()
    result.stdout.fnmatch_lines(["E *assert 'recuse' == 'fit'"])
    result.stdout.no_fnmatch_line("*the outcome is*")
    assert not Path(suite.path / ".recuse").exists()
