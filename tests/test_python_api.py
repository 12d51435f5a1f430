"""What Python returns is what the command writes: the same findings, outcome and headline from the same inputs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import probe_world
import pytest
from texts_world import LIKED, write_source

import recuse
from recuse import cli
from recuse.errors import UsageError

JUDGE = "fake/skill=1.5,position=0.6,noise=0.1,seed=3"


@pytest.fixture(autouse=True)
def in_a_fresh_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    probe_world.reset()
    monkeypatch.chdir(tmp_path)


def written(folder: str) -> dict[str, Any]:
    return json.loads((Path(folder) / "findings.json").read_text())


def timeless(found: Any) -> Any:
    """A result without what a clock puts into it."""
    if isinstance(found, dict):
        return {key: timeless(value) for key, value in found.items() if key not in ("seconds", "looks")}
    return [timeless(value) for value in found] if isinstance(found, list) else found


def same(by_python: str, by_command: str) -> None:
    assert timeless(written(by_python)) == timeless(written(by_command))


def test_audit_returns_what_the_command_writes() -> None:
    result = recuse.audit(JUDGE, "demo", limit=12, seed=5, out="python")
    code = cli.run(
        ["audit", "--judge", JUDGE, "--pairs", "demo", "--limit", "12", "--seed", "5", "--out", "command", "--quiet"]
    )
    assert code == {"fit": 0, "recuse": 1, "inconclusive": 3}[result.outcome]
    same("python", "command")
    assert (written("command")["outcome"], written("command")["headline"]) == (result.outcome, result.headline)


def test_discover_returns_what_the_command_writes() -> None:
    Path("source").mkdir()
    source = write_source(Path("source"))
    judge, teacher, pairs = "python/texts_world:judge", "python/texts_world:teacher", str(source / "pairs.jsonl")
    result = recuse.discover(
        judge, teacher, pairs, group="group", library=source / "library", rounds=1, shams=5, out="python"
    )
    cli.run([
        "discover", "--judge", judge, "--teacher", teacher, "--pairs", pairs, "--group", "group",
        "--library", str(source / "library"), "--rounds", "1", "--shams", "5", "--out", "command", "--quiet",
    ])  # fmt: skip
    same("python", "command")
    assert written("command")["headline"] == result.headline
    assert [found.name for found in result.candidates] == [LIKED.other_name]


def test_probe_returns_what_the_command_writes() -> None:
    plan = probe_world.write(Path("plan.toml"), probe_world.plan(6, probe={"draws": 2, "temperature": 1.0}))
    result = recuse.probe(plan, "python/probe_world:lender", out="python")
    probe_world.reset()
    assert cli.run(["probe", "run", str(plan), "--model", "python/probe_world:lender", "--out", "command", "-q"]) == 0
    same("python", "command")
    assert written("command")["headline"] == result.headline
    assert result.folder == Path("python")


def test_probe_takes_paths_as_text_and_settings_by_their_names() -> None:
    plan = probe_world.write(Path("plan.toml"), probe_world.plan(6))
    result = recuse.probe(str(plan), "python/probe_world:innocent", out="run", subset=3)
    assert result.config["subset"] == 3
    with pytest.raises(UsageError, match="names no subset"):
        recuse.probe(str(plan), "python/probe_world:innocent", out="other", per_commit=True)


def test_every_public_name_is_there_and_importing_the_package_loads_none_of_them() -> None:
    assert all(getattr(recuse, name) for name in recuse.__all__)
    loaded = "import sys, recuse; print([m for m in sys.modules if m.startswith('recuse.') or m == 'numpy'])"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
