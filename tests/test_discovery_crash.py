"""A discovery that is killed, interrupted or starved resumes: the result is the same and no finished call is repeated.

Every run is a process of its own, in which the fake models write down each call that they finish.
"""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from world import world_pairs

from recuse.backends.fake_world import WORLD

LIKED = WORLD[1].word
JUDGE = f"fake/skill=2.5,pair_sd=0.3,position=0.3,explain=1,likes={LIKED},like=6,seed=5"
TEACHER = "fake/teacher=1,accuracy=0.9,carry=0.5,seed=4"
LEDGERS = ("ledger.sqlite", "teacher.sqlite")

# The command with fake models that take a while and log each finished call, and that may kill itself before a file.
DRIVER = """
import os, signal, sys, time
from recuse import run
from recuse.backends.fake import Fake
from recuse.cli import main

log = os.open("calls.log", os.O_CREAT | os.O_APPEND | os.O_WRONLY)
plain, replace = Fake._reply, run.RunFolder.replace
delay, doomed = float(sys.argv[1]), sys.argv[2]

def reply(self, call):
    time.sleep(delay)
    said = plain(self, call)
    os.write(log, f"{call.key}\\n".encode())
    return said

def write(self, name, content):
    if name == doomed or name.startswith(doomed + "/"):
        os.kill(os.getpid(), signal.SIGKILL)
    return replace(self, name, content)

Fake._reply, run.RunFolder.replace = reply, write
main(sys.argv[3:])
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with pairs and a library, whose runs end in an accepted bias and some 1,500 calls."""
    folder = tmp_path_factory.mktemp("source")
    rows = [
        {"prompt": p.prompt, "chosen": p.chosen, "rejected": p.rejected, "group": p.group, "reference": p.reference}
        for p in world_pairs(90, seed=3)
    ]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "library").mkdir()
    (folder / "library/tone.toml").write_text(
        'id = "tone"\nname = "Friendly tone"\ndefinition = "Prefers friendliness."\nmanifestations = ["warm words"]\n'
        'inject = "Give the answer a friendlier tone."\nfamily = "social"\nstatus = "seed"\nsource = ["a paper"]\n'
    )
    return folder


class Place:
    """A folder in which a run is started again and again; the run folder is `run`."""

    def __init__(self, folder: Path, source: Path) -> None:
        self.folder, self.run, self.log = folder, folder / "run", folder / "calls.log"
        self.arguments = [
            "discover", "--judge", JUDGE, "--teacher", TEACHER, "--pairs", str(source / "pairs.jsonl"),
            "--group", "group", "--library", str(source / "library"), "--rounds", "2", "--shams", "5", "--out", "run",
            "--quiet",
        ]  # fmt: skip

    def command(self, *more: str, delay: float = 0.0, doomed: str = "") -> list[str]:
        return [sys.executable, "-c", DRIVER, str(delay), doomed, *self.arguments, *more]

    def start(self, *more: str, delay: float = 0.001) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*more, delay=delay), cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def finish(self, *more: str, doomed: str = "", **options: Any) -> subprocess.CompletedProcess[str]:
        command = self.command(*more, doomed=doomed)
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False, **options)

    def calls(self) -> list[str]:
        """The keys of all calls that were finished so far, in order."""
        return self.log.read_text().split() if self.log.is_file() else []

    def wait_for(self, count: int, process: subprocess.Popen[str]) -> None:
        size = 33 * count  # a key and the end of its line
        while process.poll() is None and (not self.log.is_file() or self.log.stat().st_size < size):
            time.sleep(0.001)

    def kept(self) -> dict[str, str]:
        """Every row of both ledgers by its key, read from copies so that the run recovers its files by itself."""
        rows: dict[str, str] = {}
        with tempfile.TemporaryDirectory() as copies:
            for file in self.run.glob("*.sqlite*"):
                shutil.copy(file, copies)
            for name in LEDGERS:
                if (Path(copies) / name).is_file():
                    with sqlite3.connect(Path(copies) / name) as db:
                        query = "SELECT key, judge || arm || view || repeat || fresh || reply FROM replies"
                        rows.update(db.execute(query).fetchall())
                    db.close()
        return rows

    def result(self) -> dict[str, Any]:
        """findings.json but for times, and for whether a reply came from a call or from the ledger."""
        found: dict[str, Any] = json.loads((self.run / "findings.json").read_text())
        for usage in (found["usage"], found["config"]["usage"]):
            for used in usage.values():
                del used["seconds"]
                used["calls"] += used.pop("from_ledger")
        return found

    def candidates(self) -> dict[str, str]:
        return {file.name: file.read_text() for file in (self.run / "candidates").iterdir()}


@pytest.fixture(scope="module")
def calm(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = Place(tmp_path_factory.mktemp("calm"), source)
    done = place.finish()
    assert (done.returncode, done.stderr) == (0, "")
    return place


@pytest.fixture
def place(source: Path, tmp_path: Path) -> Place:
    return Place(tmp_path, source)


def test_the_undisturbed_run_accepts_a_bias_and_makes_each_call_once(calm: Place) -> None:
    assert [c["fate"] for c in calm.result()["candidates"]] == ["accepted"]
    counts = Counter(calm.calls())
    assert set(counts.values()) == {1}
    assert counts.keys() == calm.kept().keys()
    used = json.loads((calm.run / "findings.json").read_text())["usage"]
    assert used["judge"]["calls"] + used["teacher"]["calls"] == len(counts)


@pytest.mark.slow
def test_killed_at_ten_random_points_the_result_is_identical_and_no_finished_call_is_repeated(
    place: Place, calm: Place
) -> None:
    total = len(calm.calls())
    goals = sorted(Random(11).sample(range(1, total - total // 20), 10))
    for kill, goal in enumerate(goals, start=1):
        process = place.start()
        place.wait_for(goal, process)
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert not (place.run / "findings.json").exists()
        calls, kept = Counter(place.calls()), place.kept()
        assert len(calls.keys() - kept.keys()) <= 1  # what was in flight
        assert sum(calls.values()) - len(kept) <= kill
    done = place.finish()
    assert (done.returncode, done.stderr) == (0, "")
    counts = Counter(place.calls())
    assert counts.keys() == set(calm.calls())
    assert sum(counts.values()) <= total + len(goals)
    assert place.kept() == calm.kept()  # texts, and that each was a call of this run
    assert place.result() == calm.result()
    assert place.candidates() == calm.candidates()


def test_killed_while_the_report_is_written_the_run_counts_as_unfinished_and_writes_it_whole(
    place: Place, calm: Place
) -> None:
    shutil.copytree(calm.run, place.run, ignore=shutil.ignore_patterns("*.json", "*.md", "*.html", "candidates"))
    for file in ("candidates", "report.html", "findings.json"):
        assert place.finish(doomed=file).returncode == -signal.SIGKILL
        assert not (place.run / "findings.json").exists()
    assert place.finish().returncode == 0
    assert place.calls() == []
    assert place.result() == calm.result()
    assert place.candidates() == calm.candidates()


@pytest.mark.parametrize(("number", "at"), [(signal.SIGINT, 10), (signal.SIGTERM, 700)])
def test_an_interrupt_exits_with_130_keeps_what_was_paid_for_and_resumes(
    place: Place, calm: Place, number: signal.Signals, at: int
) -> None:
    process = place.start()
    place.wait_for(at, process)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Run the same command again to resume" in said
    assert "Traceback" not in said
    assert place.kept().keys() == set(place.calls())
    assert not (place.run / "findings.json").exists()
    assert place.finish().returncode == 0
    assert set(Counter(place.calls()).values()) == {1}
    assert place.result() == calm.result()


def test_a_second_process_in_the_same_folder_is_refused_and_changes_nothing(place: Place) -> None:
    with place.start(delay=0.05) as first:
        place.wait_for(3, first)
        second = place.finish()
        going = first.poll() is None
        first.kill()
    assert going
    assert second.returncode == 2
    assert second.stderr == "recuse: Another process is working in run. Wait for it, or give --out another folder.\n"
    assert set(Counter(place.calls()).values()) == {1}


def test_a_full_disk_ends_the_run_with_4_and_it_resumes(place: Place, calm: Place) -> None:
    resource = pytest.importorskip("resource")

    def small() -> None:  # no file may grow past 1.5 MB: writes fail as on a full disk
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_500_000, 1_500_000))

    done = place.finish(preexec_fn=small)
    assert done.returncode == 4
    assert "is full" in done.stderr
    assert "Traceback" not in done.stderr
    calls, kept = place.calls(), place.kept()
    assert len(kept) > 100
    assert len(calls) - len(kept) <= 1  # the reply for which there was no room
    assert place.finish().returncode == 0
    assert len(place.calls()) <= len(calm.calls()) + 1
    assert place.result() == calm.result()


def test_a_cost_cap_ends_the_run_with_4_and_a_higher_one_finishes_it(place: Place, calm: Place) -> None:
    prices = place.folder / "prices.toml"
    named = "".join(f'"{name}" = {{ input = 1.0, output = 1.0 }}\n' for name in (JUDGE, TEACHER))
    prices.write_text(f"[models]\n{named}")
    done = place.finish("--prices", str(prices), "--max-cost", "0.0004")
    assert done.returncode == 4
    assert "cost cap of 0.0004" in done.stderr
    assert not (place.run / "findings.json").exists()
    before = len(place.calls())
    assert place.finish("--prices", str(prices), "--max-cost", "10").returncode == 0
    assert len(place.calls()) == len(calm.calls()) >= before
    assert set(Counter(place.calls()).values()) == {1}


# What a full disk does to a new folder, and to a new file.
FULL = {
    "folder": """
import pathlib
plain_mkdir = pathlib.Path.mkdir

def mkdir(self, *arguments, **more):
    if self.name == "candidates":
        raise OSError(28, "No space left on device")
    plain_mkdir(self, *arguments, **more)

pathlib.Path.mkdir = mkdir
""",
    "file": """
import tempfile

def full(*arguments, **more):
    raise OSError(28, "No space left on device")

tempfile.NamedTemporaryFile = full
""",
}


def test_a_disk_that_fills_up_at_the_report_ends_the_run_with_4_and_it_is_written_later(
    place: Place, calm: Place
) -> None:
    shutil.copytree(calm.run, place.run, ignore=shutil.ignore_patterns("*.json", "*.md", "*.html", "candidates"))
    for broken in FULL.values():
        command = place.command()
        command[2] = broken + DRIVER
        done = subprocess.run(command, cwd=place.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 4
        assert "is full. Free some space and run the same command again." in done.stderr
        assert "Traceback" not in done.stderr
        assert not (place.run / "findings.json").exists()
    assert place.finish().returncode == 0
    assert place.calls() == []
    assert place.result() == calm.result()
