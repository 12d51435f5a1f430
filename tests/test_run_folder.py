"""A run folder has one owner and one configuration."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from recuse.errors import ConfigMismatch, InputError, UsageError
from recuse.run import RunFolder, default_folder

CONFIG = {"judge": "fake/x", "seed": 1, "limit": None, "engine": {"torch": "2"}}


def test_the_configuration_is_written_once_and_the_same_one_resumes(tmp_path: Path) -> None:
    for _ in range(2):
        with RunFolder(tmp_path / "run", CONFIG) as run:
            assert run.read()["run"] == {"judge": "fake/x", "seed": 1, "engine": {"torch": "2"}}


def test_another_configuration_is_refused_and_the_keys_that_differ_are_named(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run", CONFIG):
        pass
    with (
        pytest.raises(ConfigMismatch) as caught,
        RunFolder(tmp_path / "run", {**CONFIG, "seed": 2, "engine": {"torch": "3"}}),
    ):
        pass
    assert "seed: 1 there, 2 now" in str(caught.value)
    assert "engine.torch: '2' there, '3' now" in str(caught.value)
    assert "judge" not in str(caught.value)
    assert tomllib.loads((tmp_path / "run/run.toml").read_text())["run"]["seed"] == 1


def test_recording_keeps_the_configuration(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run", CONFIG) as run:
        run.record(looks=[{"at": 1}])
        run.record(looks=[{"at": 1}, {"at": 2}], provider={"note": None})
    content = tomllib.loads((tmp_path / "run/run.toml").read_text())
    assert content["run"]["judge"] == "fake/x"
    assert [look["at"] for look in content["looks"]] == [1, 2]


def test_a_second_process_is_refused_while_the_first_works_and_admitted_after_it_was_killed(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from recuse.run import RunFolder\n"
        f"with RunFolder(Path({str(tmp_path / 'run')!r}), {CONFIG!r}):\n    print('in', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "in\n"
        with pytest.raises(UsageError, match="Another process"), RunFolder(tmp_path / "run", CONFIG):
            pass
        process.kill()
    with RunFolder(tmp_path / "run", CONFIG) as run:
        assert run.read()["run"]["judge"] == "fake/x"


def test_a_folder_with_something_else_and_a_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match="not empty and holds no run"), RunFolder(tmp_path / "other", CONFIG):
        pass
    assert [p.name for p in (tmp_path / "other").iterdir()] == ["thesis.txt"]
    with pytest.raises(UsageError, match="is a file"), RunFolder(tmp_path / "other" / "thesis.txt", CONFIG):
        pass


def test_a_damaged_run_toml_is_named(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text("a = [")
    with pytest.raises(InputError, match=r"run\.toml: not TOML"), RunFolder(tmp_path, CONFIG):
        pass


def test_a_replaced_file_is_whole_or_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with RunFolder(tmp_path / "run", CONFIG) as run:
        run.write("a.txt", "old")
        monkeypatch.setattr("os.fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(Exception, match="full"):
            run.write("a.txt", "new")
        assert (run.path / "a.txt").read_text() == "old"
        assert sorted(p.name for p in run.path.iterdir()) == ["a.txt", "run.lock", "run.toml"]


def test_the_same_configuration_gets_the_same_folder() -> None:
    one = default_folder("audit", "openai/GPT 4", CONFIG)
    assert one == default_folder("audit", "openai/GPT 4", dict(reversed(CONFIG.items())))
    assert one != default_folder("audit", "openai/GPT 4", {**CONFIG, "seed": 2})
    assert one.name.startswith("audit-openai-gpt-4-")
