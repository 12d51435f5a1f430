"""`recuse audit --biases` on code: what only code can carry is measured there, and told unmeasured elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recuse.cli import run
from recuse.examine import audit, run_audit
from recuse.plan import AuditConfig, plan_audit
from recuse.report.result import AuditResult

JUDGE = "fake/skill=0.8,seed=3"


def source(folder: Path, *, code: int, prose: int, wrong_labels: int = 0) -> str:
    """Pairs of code with tests, of which the last `wrong_labels` call the right code the worse one, and of prose."""
    rows: list[dict[str, Any]] = []
    for i in range(code):
        right = f"def add_{i}(a, b):\n    s = a + b\n    return s\n"
        answers = [right, right.replace("+", "-")]
        if i >= code - wrong_labels:
            answers.reverse()
        tests = [f"assert add_{i}(1, 2) == 3"]
        rows.append({"prompt": f"Write add_{i}(a, b).", "chosen": answers[0], "rejected": answers[1], "tests": tests})
    for i in range(prose):
        name = f"No. {i}"
        rows.append({"prompt": f"Who won race {name}?", "chosen": f"It was Ann in {name}.", "rejected": "It was Bob."})
    path = folder / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def audited(folder: Path, pairs: str, *biases: str, **settings: Any) -> AuditResult:
    return audit(JUDGE, pairs, out=folder / "run", biases=biases, shams=5, **settings)


def finding(result: AuditResult, id: str) -> Any:
    return next(f for f in result.findings if f.id == id)


def test_a_bias_of_code_is_measured_on_the_pairs_that_are_code(tmp_path: Path) -> None:
    result = audited(tmp_path, source(tmp_path, code=12, prose=8), "code-comments", "emoji")
    comments = finding(result, "bias.code-comments.effect")
    assert comments.n == 12
    assert finding(result, "bias.emoji.effect").estimate is None  # the prose is too short for it, and code has no place
    assert any(note.startswith("Not measured, since no pair was changed: Emoji.") for note in result.notes)


def test_without_code_the_biases_of_code_are_told_unmeasured_and_count_in_no_correction(tmp_path: Path) -> None:
    result = audited(tmp_path, source(tmp_path, code=0, prose=12), "code-types", "code-names", "authority")
    for id in ("bias.code-types.effect", "bias.code-names.effect"):
        assert finding(result, id).estimate is None
        assert finding(result, id).reason == "no pair was changed"
    measured = finding(result, "bias.authority.effect")
    assert measured.estimate is not None
    assert measured.details["q"] == pytest.approx(max(measured.details["p_flip"], measured.details["p_sham"]))
    assert not any(f.id == "bias.code-types.vs_original" for f in result.findings)
    nothing = audited(tmp_path / "none", str(tmp_path / "pairs.jsonl"), "code-types")
    assert "Not measured, since no pair was changed: Type hints." in nothing.notes


def test_tests_run_only_when_asked_for_and_pairs_that_they_deny_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = source(tmp_path, code=6, prose=2, wrong_labels=2)
    told = audited(tmp_path / "run", pairs, "code-names", run_code=True)
    assert finding(told, "bias.code-names.effect").n == 4
    assert any("tests of 6 pairs were run" in note and "2 of them are left out" in note for note in told.notes)
    monkeypatch.setattr("recuse.perturb.checks.run_tests", lambda code, meta: pytest.fail("it was run"))
    untold = audited(tmp_path / "plain", pairs, "code-names")
    assert finding(untold, "bias.code-names.effect").n == 6
    none = audited(tmp_path / "prose", source(tmp_path, code=0, prose=12), "authority", run_code=True)
    assert any("no pair brings tests" in note for note in none.notes)


def test_running_code_is_an_option_of_its_own_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = source(tmp_path, code=4, prose=0)
    assert run(["audit", "--judge", JUDGE, "--pairs", pairs, "--run-code"]) == 2
    assert "--run-code go with --biases" in capsys.readouterr().err
    assert run(["audit", "--verdicts", pairs, "--run-code"]) == 2
    assert "--verdicts goes without --run-code" in capsys.readouterr().err
    for command in ("audit", "discover"):
        assert run([command, "--help"]) == 0
        assert "Model output is then executed" in " ".join(capsys.readouterr().out.replace("\u2502", " ").split())


def test_the_progress_never_passes_its_total(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    config = AuditConfig(JUDGE, source(tmp_path, code=0, prose=6), out=tmp_path / "run", biases=("authority",), shams=5)
    run_audit(plan_audit(config), watch=lambda spend, total: told.append((spend.done, total)))
    assert all(done <= total for done, total in told)
    assert told[-1][0] == told[-1][1]
