"""Whole runs in batches: as live, over processes that die, and ended from the command line."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from batch_world import Asked, BatchServer
from loopback import error

from recuse.backends import batch_run, batch_send
from recuse.cli import run
from recuse.ledger import Ledger

MODELS = {"openai": "openai/gpt-4o-mini", "anthropic": "anthropic/claude-haiku-4-5"}
# The command line with looks as quick as a test needs them.
QUICK = (
    "import sys; from recuse.backends import batch_run; batch_run._FIRST = batch_run._LONGEST = 0.05; "
    "from recuse.cli import run; sys.exit(run(sys.argv[1:]))"
)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("anthropic", reason="the extra `anthropic` is not installed")
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "sk-test-0123456789abcdef")
    monkeypatch.setattr(batch_run, "_FIRST", 0.01)
    monkeypatch.setattr(batch_send, "_ARRIVAL", 0.01)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def server() -> Iterator[BatchServer]:
    with BatchServer(verdict) as server:
        yield server


def verdict(body: dict[str, Any]) -> str:
    """Mostly A, by a hash of what was shown."""
    return "AB"[hashlib.sha256(body["messages"][-1]["content"].encode()).digest()[0] % 3 == 0]


def command(server: BatchServer, way: str, out: str, *more: str) -> list[str]:
    url = server.openai_url if way == "openai" else server.url
    pairs = ["--pairs", "demo", "--limit", "20", "--quiet"]
    return ["audit", "--judge", MODELS[way], "--base-url", url, *pairs, "--out", out, *more]


def replies(folder: str) -> dict[str, dict[str, Any]]:
    """The rows of a ledger without what tells when and how they came."""
    apart = ("at", "reply_seconds", "reply_batched")
    rows = Ledger(Path(folder) / "ledger.sqlite").rows()
    return {row["key"]: {name: value for name, value in row.items() if name not in apart} for row in rows}


def findings(folder: str) -> Any:
    return json.loads((Path(folder) / "findings.json").read_text())["findings"]


@pytest.mark.parametrize("way", MODELS)
def test_an_audit_finds_the_same_live_and_in_batches(server: BatchServer, way: str) -> None:
    live = run(command(server, way, "live"))
    sent = len(server.live)
    assert run(command(server, way, "batch", "--batch")) == live
    assert len(server.live) == sent + 1
    assert findings("batch") == findings("live")
    assert replies("batch") == replies("live")
    costs = [json.loads(Path(f"{out}/findings.json").read_text())["usage"]["cost"] for out in ("live", "batch")]
    assert costs[1] == pytest.approx(costs[0] * (sent + 1) / (2 * sent))


@pytest.mark.parametrize("way", MODELS)
def test_a_run_that_was_begun_in_batches_may_be_finished_live_and_the_other_way_round(
    server: BatchServer, way: str
) -> None:
    run(command(server, way, "live"))
    server.fate = lambda name, body, time: "expired" if int(name[:2], 16) % 3 else ""
    assert run(command(server, way, "mixed", "--batch")) == 4
    server.fate = lambda name, body, time: ""
    run(command(server, way, "mixed"))
    assert findings("mixed") == findings("live")
    run(command(server, way, "mixed", "--batch"))
    assert replies("mixed") == replies("live")


@pytest.mark.parametrize(
    ("way", "known"),
    [
        ("openai", True),
        ("anthropic", False),
        pytest.param("openai", False, marks=pytest.mark.slow),
        pytest.param("anthropic", True, marks=pytest.mark.slow),
    ],
)
def test_killed_between_sending_and_fetching_a_run_resumes_without_a_second_payment(
    server: BatchServer, way: str, known: bool
) -> None:
    """Once while it waits, and once before it can know that its batch arrived."""
    server.looks = 10_000
    create = "/batches" if way == "openai" else "/messages/batches"

    def kill(asked: Asked) -> None:
        if asked.method == "GET" if known else (asked.method, asked.path) == ("POST", create):
            process.send_signal(signal.SIGKILL)
            process.wait()

    server.lost = kill
    process = subprocess.Popen([sys.executable, "-c", QUICK, *command(server, way, "run", "--batch")])
    assert process.wait(60) == -signal.SIGKILL
    assert len(server.batches) == 1
    server.looks, server.lost = 0, lambda asked: None
    assert run(command(server, way, "run", "--batch")) in (0, 1, 3)
    assert set(server.paid.values()) == {1}
    run(command(server, way, "live"))
    assert findings("run") == findings("live")


def test_an_interrupt_exits_with_130_and_says_what_goes_on(server: BatchServer) -> None:
    server.looks = 10_000
    told = [sys.executable, "-c", QUICK, *command(server, "openai", "run", "--batch")]
    process = subprocess.Popen(told, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"})
    while not any(batch.looks > 2 for batch in server.batches.values()):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "1 batch with 39 calls at the server at 127.0.0.1" in said
    assert "`recuse ledger batches run --cancel`" in said


@pytest.mark.parametrize("way", MODELS)
def test_open_batches_are_listed_ended_and_given_up(
    server: BatchServer, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    server.looks = 10_000
    server.faults = lambda asked: None if asked.method == "POST" or asked.number < 3 else error(503, "down")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_run, "_SILENT", 1)
        assert run(command(server, way, "run", "--batch")) == 4
    assert run(["ledger", "batches", "run"]) == 0
    listed = capsys.readouterr().out
    assert f"{MODELS[way]}  batch_0  39 calls" in listed
    assert listed.strip().endswith("sent")
    assert run(["ledger", "batches", "run", "--cancel"]) == 0
    assert "told to end" in capsys.readouterr().out
    assert server.batches["batch_0"].state == "cancelled"
    server.looks, server.faults = 0, lambda asked: None
    assert run(command(server, way, "run", "--batch")) in (0, 1, 3)
    assert set(server.paid.values()) == {1, 2}  # what it had not answered was asked again
    own = listed.split()[0]
    assert run(["ledger", "batches", "run", "--forget", own]) == 0
    assert "given up" in capsys.readouterr().out
    assert run(["ledger", "batches", "run", "--forget", "nothing"]) == 2
    assert "`recuse ledger batches run` lists them" in capsys.readouterr().err


def test_a_batch_that_was_given_up_is_asked_again(server: BatchServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.looks = 10_000
    server.faults = lambda asked: None if asked.method == "POST" or asked.number < 3 else error(503, "down")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_run, "_SILENT", 1)
        assert run(command(server, "openai", "run", "--batch")) == 4
    server.batches.clear()
    server.looks, server.faults = 0, lambda asked: None
    capsys.readouterr()
    assert run(command(server, "openai", "run", "--batch")) == 2
    said = capsys.readouterr().err
    assert "does not know the batch batch_0" in said
    own = said.split("--forget ")[1].split("`")[0]
    assert run(["ledger", "batches", "run", "--forget", own]) == 0
    assert run(command(server, "openai", "run", "--batch")) in (0, 1, 3)


def test_a_dry_run_says_half_the_price(capsys: pytest.CaptureFixture[str], server: BatchServer) -> None:
    for more in ([], ["--batch"]):
        assert run(command(server, "openai", "run", "--dry-run", *more)) == 0
    whole, half = capsys.readouterr().out.splitlines()
    cost = [float(line.split("at most about ")[2].split()[0]) for line in (whole, half)]
    assert cost[1] == pytest.approx(cost[0] / 2, abs=1e-4)
    assert "halved for batches" in half
    assert server.asked == []


def test_a_discovery_says_that_every_step_waits_for_its_own_batch(
    capsys: pytest.CaptureFixture[str], server: BatchServer
) -> None:
    models = ["--judge", MODELS["openai"], "--teacher", MODELS["openai"], "--base-url", server.openai_url]
    said = []
    for more in ([], ["--batch"]):
        assert run(["discover", *models, "--pairs", "demo", "--dry-run", *more]) == 0
        said.append("every step waits for its own file, minutes to a day" in capsys.readouterr().out)
    assert said == [False, True]
    assert server.asked == []


def test_a_judge_without_batches_is_told_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "--judge", "fake/skill=1", "--pairs", "demo", "--batch"]) == 2
    assert "fake/skill=1 takes no batches. Leave --batch out" in capsys.readouterr().err
