"""`recuse audit` from the command line: exit codes, output, and one clear sentence for what is wrong."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from recuse.cli import run


def audit(*arguments: str) -> int:
    return run(["audit", *arguments])


@pytest.mark.parametrize(("judge", "code"), [("fake/skill=9", 0), ("fake/always=first", 1), ("fake/skill=2.2", 3)])
def test_the_exit_code_is_the_outcome(
    tmp_path: Path, judge: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    gate = tmp_path / "gate.toml"
    gate.write_text(
        "schema = 1\n[primary]\n'accuracy.error_rate' = {max = 0.1}\n'position.first_rate' = {min = 0.3, max = 0.7}\n"
    )
    assert audit("--judge", judge, "--pairs", "demo", "--out", str(tmp_path / "run"), "--gate", str(gate)) == code
    said = capsys.readouterr()
    assert {0: "FIT", 1: "RECUSE", 3: "INCONCLUSIVE"}[code] in said.out
    assert str(tmp_path / "run/report.html") in said.out.replace("\n", "")


def test_json_is_the_findings_file_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    audit("--judge", "fake/skill=2,logprobs=1", "--pairs", "demo", "--out", str(out), "--json")
    said = capsys.readouterr()
    printed = json.loads(said.out)
    assert said.err == ""
    assert printed == json.loads((out / "findings.json").read_text())
    assert printed["schema"] == 1
    by_id = {f["id"]: f for f in printed["findings"]}
    promised = {"accuracy.error_rate", "accuracy.pooled", "accuracy.consistent", "position.first_rate",
                "position.consistency", "length.effect", "stability.flip_rate", "failures.rate"}  # fmt: skip
    assert promised <= set(by_id)
    assert by_id["stability.flip_rate"]["estimate"] is None
    assert by_id["stability.flip_rate"]["reason"]
    error = by_id["accuracy.error_rate"]
    assert error["interval"][0] <= error["estimate"] <= error["interval"][1]
    assert (error["n"], error["groups"]) == (60, 60)


def test_quiet_prints_the_outcome_line_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    audit("--judge", "fake/always=first", "--pairs", "demo", "--out", str(tmp_path / "run"), "--quiet")
    said = capsys.readouterr()
    assert said.out.startswith("RECUSE: ")
    assert said.out.count("\n") == 1
    assert said.err == ""


def test_the_run_folder_holds_what_determines_the_result_and_every_judgement(tmp_path: Path) -> None:
    out = tmp_path / "run"
    audit("--judge", "fake/skill=1", "--pairs", "demo", "--out", str(out), "--quiet")
    names = {p.name for p in out.iterdir()}
    assert {"run.toml", "ledger.sqlite", "judgements.parquet", "findings.json", "report.md", "report.html"} <= names
    content = tomllib.loads((out / "run.toml").read_text())
    assert content["run"]["pairs_count"] == 60
    assert len(content["run"]["prompt_hash"]) == len(content["run"]["pairs_hash"]) == 16 or content["run"]["pairs_hash"]
    assert {"recuse", "numpy", "scipy", "python"} <= set(content["versions"])
    rows = pq.read_table(out / "judgements.parquet").to_pylist()
    wrong = sum(row["prefers"] == "rejected" for row in rows)
    findings = {f["id"]: f for f in json.loads((out / "findings.json").read_text())["findings"]}
    assert len(rows) == 120
    assert findings["accuracy.error_rate"]["estimate"] == pytest.approx(wrong / 120)


def test_a_second_look_costs_nothing_and_is_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "run")
    for _ in range(2):
        audit("--judge", "fake/skill=1", "--pairs", "demo", "--out", out, "--json")
    first, second = capsys.readouterr().out.split("\n}\n")[:2]
    one, two = json.loads(first + "}"), json.loads(second + "}")
    assert one["findings"] == two["findings"]
    assert (two["usage"]["calls"], two["usage"]["from_ledger"]) == (0, 120)
    assert (one["looks"], two["looks"]) == (1, 2)


def test_repeats_of_a_sampling_judge_measure_stability(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    audit("--judge", "fake/skill=1", "--pairs", "demo", "--repeats", "3", "--out", str(tmp_path / "r"), "--json")
    findings = {f["id"]: f for f in json.loads(capsys.readouterr().out)["findings"]}
    # P(disagree) = 2 p (1 - p) with p = sigmoid(1) = 0.731: 0.393
    low, high = findings["stability.flip_rate"]["interval"]
    assert low < 0.393 < high


def test_a_dry_run_says_calls_tokens_and_money_and_asks_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text("date = '2026-01-01'\n[models]\n'python/json:dumps' = { input = 1000000.0, output = 0.0 }\n")
    code = audit("--judge", "python/json:dumps", "--pairs", "demo", "--dry-run", "--json", "--prices", str(prices))
    said = json.loads(capsys.readouterr().out)
    assert code == 0
    assert said["calls"] == 120
    assert said["cost"] == pytest.approx(said["tokens_in"])  # one currency unit a token
    assert not Path("recuse-runs").exists() or "json-dumps" not in str(list(Path("recuse-runs").iterdir()))


def test_pointwise_judges_are_compared_by_their_scores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    audit(
        "--judge",
        "fake/skill=4",
        "--pairs",
        "demo",
        "--prompt",
        "pointwise/score",
        "--out",
        str(tmp_path / "r"),
        "--json",
    )
    findings = {f["id"]: f for f in json.loads(capsys.readouterr().out)["findings"]}
    assert findings["accuracy.error_rate"]["estimate"] < 0.25
    assert findings["position.first_rate"]["estimate"] is None
    assert findings["position.first_rate"]["reason"].startswith("each answer was judged alone")


@pytest.mark.parametrize("prompt", ["pairwise/label_tie", "pairwise/reason", "pairwise/json"])
def test_every_pairwise_prompt_reads_a_good_judge_as_good(
    tmp_path: Path, prompt: str, capsys: pytest.CaptureFixture[str]
) -> None:
    audit("--judge", "fake/skill=4", "--pairs", "demo", "--prompt", prompt, "--out", str(tmp_path / "r"), "--json")
    findings = {f["id"]: f for f in json.loads(capsys.readouterr().out)["findings"]}
    assert findings["failures.rate"]["estimate"] == 0
    assert findings["accuracy.error_rate"]["estimate"] < 0.15


BAD = {
    "no pairs": (["--judge", "fake/skill=1"], "Give --judge and --pairs"),
    "unknown provider": (["--judge", "gpt4", "--pairs", "demo"], "'gpt4' does not name a judge"),
    "missing file": (["--judge", "fake/skill=1", "--pairs", "nowhere.jsonl"], "nowhere.jsonl"),
    "unknown prompt": (["--judge", "fake/skill=1", "--pairs", "demo", "--prompt", "nope"], "no prompt 'nope'"),
    "unknown option": (["--judge", "fake/skill=1", "--pairs", "demo", "--frobnicate"], "--frobnicate"),
    "bad repeats": (["--judge", "fake/skill=1", "--pairs", "demo", "--repeats", "0"], "--repeats"),
    "bad temperature": (
        ["--judge", "fake/skill=1", "--pairs", "demo", "--temperature", "hot"],
        "--temperature is 'hot'",
    ),
    "bad column": (["--judge", "fake/skill=1", "--pairs", "demo", "--column", "prompt"], "ROLE=COLUMN"),
    "both kinds": (["--verdicts", "x.jsonl", "--judge", "fake/skill=1"], "--verdicts goes without"),
    "bad gate": (["--judge", "fake/skill=1", "--pairs", "demo", "--gate", "nope.toml"], "nope.toml"),
    "no price": (
        ["--judge", "python/json:dumps", "--pairs", "demo", "--max-cost", "1"],
        "no price for python/json:dumps",
    ),
    "missing key": (["--judge", "openai/gpt-4o-mini", "--pairs", "demo"], "OPENAI_API_KEY"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence_and_exit_code_2(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)
    arguments, says = BAD[case]
    assert audit(*arguments) == 2
    said = capsys.readouterr()
    assert says in said.err
    assert said.err.startswith("recuse: ")
    assert said.err.count("\n") == 1
    assert "Traceback" not in said.err
    assert list(tmp_path.iterdir()) == []  # nothing half written


def test_another_configuration_in_the_same_folder_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "run")
    audit("--judge", "fake/skill=1", "--pairs", "demo", "--out", out, "--quiet")
    before = sorted((p.name, p.stat().st_mtime_ns) for p in Path(out).iterdir())
    assert audit("--judge", "fake/skill=2", "--pairs", "demo", "--out", out, "--limit", "10") == 2
    said = capsys.readouterr().err
    assert "judge: 'fake/skill=1' there, 'fake/skill=2' now" in said
    assert "pairs_count" in said
    assert sorted((p.name, p.stat().st_mtime_ns) for p in Path(out).iterdir()) == before


def test_the_version_and_a_command_without_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("recuse 0.")
    run([])
    assert "audit" in capsys.readouterr().out


def test_a_bug_exits_with_70_and_is_not_called_the_users_fault(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("recuse.examine.plan_audit", lambda config: 1 / 0)
    assert audit("--judge", "fake/skill=1", "--pairs", "demo") == 70
    assert "internal error (ZeroDivisionError)" in capsys.readouterr().err


def test_threads_faults_and_chunks_change_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for name, judge, concurrency in (
        ("a", "skill=1,fail=0.3", "16"),
        ("b", "skill=1,fail=0.3", "1"),
        ("c", "skill=1", "1"),
    ):
        audit(
            "--judge",
            f"fake/{judge}",
            "--pairs",
            "demo",
            "--concurrency",
            concurrency,
            "--out",
            str(tmp_path / name),
            "--json",
        )
        printed.append(json.loads(capsys.readouterr().out)["findings"])
    assert printed[0] == printed[1] == printed[2]
    rows = [pq.read_table(tmp_path / name / "judgements.parquet").to_pylist() for name in "abc"]
    assert rows[0] == rows[1] == rows[2]
