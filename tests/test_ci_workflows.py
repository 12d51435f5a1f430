"""The workflows that the README points to: each command of theirs runs as it stands, with a provider on loopback."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from loopback import LoopbackServer, Seen

ROOT = Path(__file__).parent.parent
PAIRS = 40


def commands(name: str) -> list[list[str]]:
    """The words of every `recuse` command of a workflow, in order."""
    text = (ROOT / "experiments" / "ci" / name).read_text(encoding="utf-8")
    return [shlex.split(line) for line in re.findall(r"(?:^\s*|: )(recuse .*)$", text, re.MULTILINE)]


def right(seen: Seen) -> str:
    """A judge that knows the better answer, wherever it stands."""
    return "A" if seen.text.index("yes") < seen.text.index("nope") else "B"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    rows = [
        {"prompt": f"Question {n}?", "chosen": f"yes {n}", "rejected": f"nope {n}" if n % 2 else f"nope {n} nope"}
        for n in range(PAIRS)
    ]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "gate.toml").write_text('schema = 1\n[primary."accuracy.error_rate"]\nmax = 0.25\n')
    (tmp_path / "judge.md").write_bytes((ROOT / "prompts/pairwise/label.md").read_bytes())
    return tmp_path


def run(words: list[str], folder: Path, server: LoopbackServer) -> int:
    environment = {"PATH": "", "OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": server.openai_url}
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1, 3), done.stderr
    return done.returncode


def test_a_judge_that_is_fit_passes_and_its_report_is_written(repository: Path) -> None:
    audit, junit, markdown = commands("judge.yml")
    with LoopbackServer(right) as server:
        assert run(audit, repository, server) == 0
        asked = len(server.seen)
        assert asked == 2 * PAIRS
        for report in (junit, markdown):
            assert run(report, repository, server) == 0
        again = [*audit[: audit.index("--out")], "--out", "later", "--quiet"]
        assert run(again, repository, server) == 0
        assert len(server.seen) == asked  # another run folder, as on another build machine, with the cache
    suite = ElementTree.parse(repository / "judge.xml").getroot()
    assert list(suite.iter("failure")) == []
    assert "accuracy.error_rate" in (repository / "judge.xml").read_text()
    assert "FIT" in (repository / "summary.md").read_text()


def test_a_judge_that_is_recused_fails_the_job_and_its_report_says_so(repository: Path) -> None:
    audit, junit, markdown = commands("judge.yml")
    with LoopbackServer(lambda seen: "A") as server:
        assert run(audit, repository, server) == 1
        assert run(junit, repository, server) == run(markdown, repository, server) == 0
    assert list(ElementTree.parse(repository / "judge.xml").getroot().iter("failure"))
    assert "RECUSE" in (repository / "summary.md").read_text()
