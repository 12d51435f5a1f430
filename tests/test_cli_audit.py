"""`recuse audit` from the command line: exit codes, output, and one clear sentence for what is wrong."""

from __future__ import annotations

import json
import shlex
import sqlite3
import subprocess
import sys
import tomllib
from contextlib import closing
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from loopback import Answer, LoopbackServer, Seen, chat, error, reply

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
    assert said["prices_dated"] == "2026-01-01"
    assert not Path("recuse-runs").exists() or "json-dumps" not in str(list(Path("recuse-runs").iterdir()))


def test_a_dry_run_into_a_folder_that_holds_replies_says_how_many(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text("".join(
        json.dumps({"prompt": f"What is {i}?", "chosen": f"It is {i}.", "rejected": f"It is {i + 1}."}) + "\n"
        for i in range(20)
    ))  # fmt: skip
    command = ["--judge", "fake/skill=2", "--pairs", str(pairs), "--out", str(tmp_path / "run")]
    audit(*command, "--quiet")
    with closing(sqlite3.connect(tmp_path / "run/ledger.sqlite")) as ledger, ledger:
        ledger.execute("DELETE FROM replies WHERE rowid > 7")
    capsys.readouterr()
    assert audit(*command, "--dry-run", "--json") == 0
    assert (said := json.loads(capsys.readouterr().out))["calls"] == 40
    assert said["held"] == 7
    audit(*command, "--dry-run")
    assert f"40 calls (7 replies are in {tmp_path / 'run'} already), at most" in capsys.readouterr().out
    audit(*command, "--dry-run", "--json", "--prompt", "pairwise/json")
    assert "held" not in json.loads(capsys.readouterr().out)  # another run's replies spare nothing


@pytest.mark.parametrize("teacher", ["fake/teacher=1,carry=0,seed=2", None])
def test_a_dry_run_with_biases_counts_what_they_take_of_both_models(
    teacher: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["--judge", "fake/skill=2", "--pairs", "demo", "--limit", "12", "--biases", "authority", "--shams", "5"]
    command += ["--out", str(tmp_path / "run"), *(["--teacher", teacher] if teacher else [])]
    assert audit(*command, "--dry-run") == 0
    text = capsys.readouterr().out
    audit(*command, "--dry-run", "--json")
    said = json.loads(capsys.readouterr().out)
    assert said["calls"] == 12 * 2 * (1 + 3 + 5)  # as it is, the bias, two placebos, five shams
    assert f"{said['calls']} calls" in text
    audit(*command, "--json")
    used = json.loads(capsys.readouterr().out)
    assert 12 * 2 < used["usage"]["calls"] <= said["calls"]
    if teacher:
        (note,) = (note for note in used["notes"] if note.startswith("The teacher was asked"))
        assert 12 * 8 <= int(note.split()[4]) <= said["teacher"]["calls"]
        assert "(teacher)" in text


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
    "no scheme": (["--judge", "openai/x", "--base-url", "127.0.0.1:9/v1", "--pairs", "demo"], "Write it like http://"),
    "bad port": (["--judge", "openai/x", "--base-url", "http://127.0.0.1:99999/v1", "--pairs", "demo"], "--base-url"),
    "endless name": (["--judge", "fake/skill=1", "--pairs", "demo", "--out", "x" * 300], "cannot be written"),
    "option of the other mode": (["--verdicts", "x.jsonl", "--limit", "3"], "--verdicts goes without --limit"),
    "option of recorded verdicts": (
        ["--judge", "fake/skill=1", "--pairs", "demo", "--where", "a=b"],
        "goes without --where",
    ),
    "no reference": (
        ["--judge", "fake/skill=1", "--pairs", "demo", "--prompt", "pairwise/label_reference", "--out", "r"],
        "no reference",
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
    monkeypatch.setattr("recuse.plan.plan_audit", lambda config: 1 / 0)
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


def test_an_unusable_gate_is_refused_before_anything_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gate = tmp_path / "gate.toml"
    for text, says in (("max = nan", "finite"), ("maximum = 1", "maximum")):
        gate.write_text(f"schema = 1\n[primary.'accuracy.error_rate']\n{text}\n")
        assert (
            audit("--judge", "fake/skill=1", "--pairs", "demo", "--gate", str(gate), "--out", str(tmp_path / "r")) == 2
        )
        assert says in capsys.readouterr().err
    assert not (tmp_path / "r").exists()


def test_a_run_that_failed_before_its_first_reply_leaves_the_folder_free(tmp_path: Path) -> None:
    (tmp_path / "judge_that_fails.py").write_text("def ask(messages):\n    raise ValueError('no')\n")
    out = str(tmp_path / "r")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        assert audit("--judge", "python/judge_that_fails:ask", "--pairs", "demo", "--out", out) == 2
    assert not Path(out).exists()
    assert audit("--judge", "fake/skill=9", "--pairs", "demo", "--out", out, "--quiet") in (0, 3)


@pytest.mark.parametrize("code", ["0", "1", "'bye'"])
def test_an_exit_in_the_users_function_is_no_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], code: str
) -> None:
    name = f"judge_that_exits_{abs(hash(code))}"
    (tmp_path / f"{name}.py").write_text(f"import sys\n\n\ndef ask(messages):\n    sys.exit({code})\n")
    monkeypatch.chdir(tmp_path)
    assert audit("--judge", f"python/{name}:ask", "--pairs", "demo") == 2
    assert "SystemExit" in capsys.readouterr().err


def test_what_the_users_function_prints_is_not_our_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "judge_that_talks.py").write_text("def ask(messages):\n    print('hello')\n    return 'A'\n")
    monkeypatch.chdir(tmp_path)
    audit("--judge", "python/judge_that_talks:ask", "--pairs", "demo", "--json")
    said = capsys.readouterr()
    assert json.loads(said.out)["schema"] == 1
    assert "hello" in said.err


def test_a_reader_that_went_away_does_not_change_the_exit_code(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "recuse",
        "audit",
        "--judge",
        "fake/always=first",
        "--pairs",
        "demo",
        "--out",
        str(tmp_path / "r"),
    ]
    whole = subprocess.run(command, capture_output=True, check=False)
    line = " ".join(shlex.quote(word) for word in command)
    for ending in ("| head -c 1 > /dev/null; exit ${PIPESTATUS[0]}", "2>&-", "> /dev/full", ">&-"):
        done = subprocess.run(["bash", "-c", f"{line} {ending}"], capture_output=True, text=True, check=False)
        assert done.returncode == whole.returncode == 1, ending
        assert "Traceback" not in done.stderr


def test_secrets_in_the_address_reach_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    with LoopbackServer(lambda seen: reply(chat("A"))) as server:
        address = server.openai_url.replace("http://", "http://user:hunter2@") + "?key=hunter2"
        audit("--judge", "openai/x", "--base-url", address, "--pairs", "demo", "--out", str(tmp_path / "r"), "--quiet")
    files = [p for p in (tmp_path / "r").iterdir() if p.is_file()]
    assert len(files) >= 6
    assert [p.name for p in files if b"hunter2" in p.read_bytes()] == []


def test_a_refused_temperature_is_not_taken_for_greedy_decoding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def judge(seen: Seen) -> Answer:
        if "temperature" in seen.body:
            return error(400, "Unsupported parameter: 'temperature'", param="temperature", code="unsupported_parameter")
        return reply(chat("A"))

    with LoopbackServer(judge) as server:
        audit(
            "--judge",
            "openai/x",
            "--base-url",
            server.openai_url,
            "--pairs",
            "demo",
            "--out",
            str(tmp_path / "r"),
            "--json",
        )
    printed = json.loads(capsys.readouterr().out)
    stability = next(f for f in printed["findings"] if f["id"] == "stability.flip_rate")
    assert "deterministic" not in stability["reason"]
    assert any("--temperature default" in note for note in printed["notes"])


def test_a_judge_that_thinks_first_is_truncated_and_the_report_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def judge(seen: Seen) -> Answer:
        if seen.body["max_tokens"] < 100:
            return reply(chat("<think>Okay, so", finish="length"))
        return reply(chat("<think>Okay, so the first is right.</think>\n\nA"))

    with LoopbackServer(judge) as server:
        for more in ((), ("--max-tokens", "2048")):
            out = tmp_path / f"r{len(more)}"
            address = ("--base-url", server.openai_url)
            audit("--judge", "openai/x", *address, "--pairs", "demo", "--out", str(out), "--json", *more)
            printed = json.loads(capsys.readouterr().out)
            failures = next(f for f in printed["findings"] if f["id"] == "failures.rate")
            assert failures["estimate"] == (0.0 if more else 1.0)
            assert any("--max-tokens" in note for note in printed["notes"]) != bool(more)
            assert any("No verdict (truncated), for example: <think>Okay" in n for n in printed["notes"]) != bool(more)
