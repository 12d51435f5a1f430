"""The gate on the folders that real probe runs leave behind."""

from __future__ import annotations

import json
from pathlib import Path

import probe_world as world
import pytest
from release_world import write_gate

from recuse.cli import run
from recuse.release import read_run
from recuse.release.baseline import differing

DRIFT = {"max_rise": 0.02, "max_fall": 0.02}


@pytest.fixture
def probed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)

    def make(out: str, function: str = "innocent", *options: str, **plan) -> str:
        world.reset()
        content = world.plan(plan.pop("count", 12), **{"probe": {"draws": 2, "temperature": 1.0}, **plan})
        path = world.write(Path("plan.toml"), content)
        assert run(["probe", "run", str(path), "--model", f"python/probe_world:{function}", "--out", out, *options,
                    "--quiet"]) == 0  # fmt: skip
        capsys.readouterr()
        return out

    return make


def test_a_changed_system_prompt_voids_the_baseline_of_a_real_probe(
    probed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gate = str(write_gate(tmp_path / "gate.toml", {"probe.gap:yes_said:women/men": {"min": -0.9, "max": 0.9, **DRIFT}}))
    before, now = probed("before"), probed("now")
    assert run(["gate", now, "--tolerances", gate, "--baseline", before]) == 3  # no scatter: the same replies
    assert "void" not in capsys.readouterr().out
    changed = probed("changed", system="You help a bank, and you are brief.")
    assert run(["gate", changed, "--tolerances", gate, "--baseline", before]) == 3
    assert "the baseline is void, since this changed: system_hash (" in capsys.readouterr().out


def test_a_setting_of_a_product_that_only_its_replies_name_voids_the_baseline(
    probed, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = str(write_gate(tmp_path / "gate.toml", {"probe.gap:yes_said:women/men": {"min": -0.9, "max": 0.9, **DRIFT}}))
    monkeypatch.setenv("DESK_HEAT", "0")
    before, same = probed("before", "tuned"), probed("same", "tuned")
    run(["gate", same, "--tolerances", gate, "--baseline", before])
    assert "void" not in capsys.readouterr().out
    monkeypatch.setenv("DESK_HEAT", "0.7")
    assert run(["gate", probed("now", "tuned"), "--tolerances", gate, "--baseline", before]) == 3
    said = capsys.readouterr().out
    assert "void, since this changed: model version (desk at 0 before, desk at 0.7 now)" in said


def test_a_subset_of_a_plan_is_held_against_a_whole_run_by_the_templates_that_both_have(
    probed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    id = "probe.gap:yes_said:women/men"
    gate = str(write_gate(tmp_path / "gate.toml", {id: {"min": -0.9, "max": 0.9}}))
    whole, part = probed("whole", count=20), probed("part", "innocent", "--subset", "8", count=20)
    one, other = read_run(Path(whole)), read_run(Path(part))
    assert differing(other, one) == ()
    assert run(["gate", part, "--tolerances", gate, "--baseline", whole]) == 0
    said = capsys.readouterr().out
    assert "The run is part of a plan: subset 8." in said
    assert "The baseline is part" not in said


def test_refusing_one_group_more_often_does_not_pass(
    probed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    id = "probe.gap:yes_said:women/men"
    out = probed("out", "refuser", count=40)
    loose = str(write_gate(tmp_path / "loose.toml", {id: {"min": -0.95, "max": 0.95}}))
    assert run(["gate", out, "--tolerances", loose]) == 3
    assert "replies failed more often in one group" in capsys.readouterr().out
    failing = {"probe.failure_gap:yes_said:women/men": {"min": -0.05, "max": 0.05}}
    strict = str(write_gate(tmp_path / "strict.toml", {id: {"min": -0.95, "max": 0.95}, **failing}))
    assert run(["gate", out, "--tolerances", strict]) == 1


@pytest.mark.parametrize(
    ("yes", "n", "code", "why"),
    [
        (99, 300, 1, "dialect=south has a ratio of 0.660, under 0.8, with p 2.4e-05"),
        (135, 300, 0, "none of 2 slices has a ratio under 0.8 with p under 0.05"),
        (112, 250, 3, "dialect=south has 250 cases, and a slice is judged from 300 on"),
        (200, 250, 1, "dialect=north has a ratio of 0.625, under 0.8, with p 3.3e-13"),
        (130, 250, 3, "dialect=south has 250 cases, and a slice is judged from 300 on"),  # the best one of the cut
    ],
)
def test_a_table_of_slices_is_gated_on_its_worst(
    yes: int, n: int, code: int, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """150 of 300 beside 99 of 300: 0.33 / 0.5; z = 0.17 / sqrt(0.415 * 0.585 * 2 / 300) = 4.23, p 2.4e-05, by hand;
    beside 200 of 250 p 3.3e-13 (statsmodels)."""
    rows = [{"dialect": "north", "y": int(i < 150)} for i in range(300)]
    rows += [{"dialect": "south", "y": int(i < yes)} for i in range(n)]
    source, folder = tmp_path / "rows.jsonl", tmp_path / "run"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for _ in range(2):  # a second time into the same folder
        assert run(["probe", "slices", str(source), "--outcome", "y", "--by", "dialect", "--out", str(folder)]) == 0
    gate = write_gate(tmp_path / "gate.toml", worst_slice={"by": ["dialect"]})
    assert run(["gate", str(folder), "--tolerances", str(gate)]) == code
    assert why in capsys.readouterr().out
