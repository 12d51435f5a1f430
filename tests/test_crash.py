"""A run that is killed, interrupted or starved resumes: the findings are the same and no finished call is repeated."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import zlib
from collections import Counter
from pathlib import Path
from random import Random

import pytest

# A judge that says by a hash of what it was shown, and writes down every call that it finished.
JUDGE = """
import hashlib, time
from pathlib import Path

def ask(messages):
    seen = hashlib.sha256(messages[-1]["content"].encode()).hexdigest()
    time.sleep(0.004)
    with open("calls.log", "a") as log:
        log.write(seen + "\\n")
    return "AB"[int(seen[:2], 16) % 3 == 0]
"""


def _command(out: str, *more: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "recuse",
        "audit",
        "--judge",
        "python/slow_judge:ask",
        "--pairs",
        "demo",
        "--out",
        out,
        *more,
    ]


def _findings(folder: Path) -> object:
    return json.loads((folder / "findings.json").read_text())["findings"]


def _kept(ledger: Path) -> set[str]:
    import hashlib

    if not ledger.is_file():
        return set()
    with sqlite3.connect(ledger) as db:
        bodies = [json.loads(zlib.decompress(body)) for (body,) in db.execute("SELECT body FROM replies")]
    return {hashlib.sha256(body["messages"][-1]["content"].encode()).hexdigest() for body in bodies}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "slow_judge.py").write_text(JUDGE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_killed_at_ten_random_points_the_findings_are_identical_and_no_finished_call_is_repeated(place: Path) -> None:
    subprocess.run(_command("calm", "--quiet"), check=False)
    (place / "calls.log").unlink()
    rng, kills = Random(7), 0
    log = place / "calls.log"
    for kill in range(10):
        process = subprocess.Popen(_command("stormy", "--quiet"), stdout=subprocess.DEVNULL)
        goal = (len(log.read_text().splitlines()) if log.is_file() else 0) + rng.randint(1, 11)
        while process.poll() is None and (not log.is_file() or len(log.read_text().splitlines()) < goal):
            time.sleep(0.001)
        process.kill()
        process.wait()
        kills += process.returncode == -signal.SIGKILL
        before = Counter(log.read_text().split())
        kept = _kept(place / "stormy/ledger.sqlite")
        assert len(kept) >= len(before) - 1 - kill  # what was in flight at each kill is all that was lost
        lost = set(before) - kept
        assert len(lost) <= 1
    assert kills == 10
    subprocess.run(_command("stormy", "--quiet"), check=False)
    counts = Counter(log.read_text().split())
    assert len(counts) == 120
    assert sum(counts.values()) <= 120 + kills
    assert _findings(place / "stormy") == _findings(place / "calm")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_exits_with_130_keeps_what_was_paid_for_and_resumes(place: Path, number: signal.Signals) -> None:
    process = subprocess.Popen(_command("run", "--quiet"), stderr=subprocess.PIPE, text=True)
    log = place / "calls.log"
    while not log.is_file() or len(log.read_text().splitlines()) < 10:
        time.sleep(0.002)
    process.send_signal(number)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "resume" in said
    assert len(_kept(place / "run/ledger.sqlite")) == len(log.read_text().splitlines())
    assert not (place / "run/findings.json").exists()
    assert subprocess.run(_command("run", "--quiet"), check=False).returncode in (0, 1, 3)
    assert len(log.read_text().splitlines()) == 120


def test_two_processes_on_one_run_are_refused_clearly(place: Path) -> None:
    command = _command("run", "--judge", "fake/slow=0.5,skill=1")
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as first:
        while not (place / "run/ledger.sqlite").is_file():
            time.sleep(0.01)
        second = subprocess.run(command, capture_output=True, text=True, check=False)
        first.kill()
    assert second.returncode == 2
    assert "Another process is working in run" in second.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_ends_the_run_with_4_and_it_resumes(place: Path) -> None:
    resource = pytest.importorskip("resource")

    def small() -> None:  # no file may grow past 40 kB: writes fail as on a full disk
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))

    done = subprocess.run(
        _command("run", "--quiet"),
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=small,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 4
    assert "full" in done.stderr
    verify = subprocess.run(
        [sys.executable, "-m", "recuse", "ledger", "verify", "run"], capture_output=True, text=True, check=False
    )
    assert "all intact" in verify.stdout
    assert subprocess.run(_command("run", "--quiet"), check=False).returncode in (0, 1, 3)
