"""The plan for a GPU box: its configuration is one that recuse runs, and its hours are right by hand."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from recuse.discovery.config import DiscoverConfig
from recuse.machine.size import guessed
from recuse.plan import AuditConfig

FOLDER = Path(__file__).parents[1] / "experiments" / "gpu-box"


@pytest.fixture(scope="module")
def modules() -> Any:
    """box.py and plan.py of the experiment."""
    sys.path.insert(0, str(FOLDER))
    import box
    import plan

    yield box, plan
    sys.path.remove(str(FOLDER))
    del sys.modules["box"], sys.modules["plan"]


@pytest.fixture(scope="module")
def box(modules: Any) -> ModuleType:
    return modules[0]  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def config(box: ModuleType) -> dict[str, Any]:
    return box.load()  # type: ignore[no-any-return]


def test_the_configuration_holds_arguments_of_a_discovery_and_models_of_its_sizes(config: dict[str, Any]) -> None:
    known = {f.name for kind in (DiscoverConfig, AuditConfig) for f in fields(kind)}
    assert set(config["discovery"]) <= known
    for role, size in (("judge", 7e9), ("teacher", 72e9)):
        name = config["discovery"][role].removeprefix("vllm/")
        assert guessed(name).parameters == size
        assert guessed(name).weights() == size * config["models"][role]["weight_bytes"]
        assert config["models"][role]["parameters"] == pytest.approx(size, rel=0.1)


def test_the_arithmetic_by_hand(box: ModuleType) -> None:
    """A GPU of 100 operations and 1,000 bytes a second, half of each reached; a model of 5 parameters and 2 bytes.

    Read: 50 / 10 = 5 tokens a second. Write, 4 calls of 10 tokens with 1 byte each: 4 x 500 / (10 + 40) = 40. 900
    tokens in, a third of them cached, are 120 s; 2,400 out are 60 s. Three loads of 7 s and of 10 bytes at 5 a second
    are 27 s.
    """
    gpu = {"bf16": 100.0, "bandwidth": 1000.0}
    assumed = {"share_of_operations": 0.5, "share_of_bandwidth": 0.5, "calls_at_once": 4, "start": 7.0, "read": 5.0,
               "loads": 3}  # fmt: skip
    model = {"parameters": 5, "weight_bytes": 2, "kv_token": 1, "flops": "bf16"}
    speed = box.pace(model, gpu, assumed, context=10)
    assert (speed.read, speed.write) == (5.0, 40.0)
    assert box.loading(model, assumed) == 27.0
    work = {"tokens_in": 900, "tokens_out": 2400}
    assert box.hours(work, speed, cached=1 / 3, loading=27.0) == pytest.approx((120 + 60 + 27) / 3600)
    assert box.hours(work, speed, cached=0.0, gpus=8, share=0.5) == pytest.approx((180 + 60) / 4 / 3600)


def test_what_a_gpu_holds_leaves_room_for_the_calls_that_are_assumed(config: dict[str, Any]) -> None:
    calls, memory = config["assumed"]["calls_at_once"], config["gpu"]["memory"]
    for model in config["models"].values():
        held = model["parameters"] * model["weight_bytes"] + calls * 2000 * model["kv_token"]
        assert held < 0.92 * memory - 3 * 2**30


def test_stand_ins_are_as_many_and_as_long_as_stated(box: ModuleType, config: dict[str, Any], tmp_path: Path) -> None:
    rows = list(box.stand_ins(config["lengths"], seed=0))
    of = Counter(row["split"] for row in rows)
    held = config["lengths"]["held_out"]
    assert of["discovery"] == 2985
    assert of["validation"] + of["test"] == held["pairs"]
    searched = [row for row in rows if row["split"] == "discovery"]
    assert {len(row["rejected"]) for row in searched} == {config["lengths"]["search"]["rejected"]}
    assert len({row["prompt"] for row in searched}) == 2733
    parted = {row["prompt"]: row["split"] for row in rows if row["split"] != "discovery"}
    assert Counter(parted.values()) == {"validation": 301, "test": 226}  # 4 of 7 questions of 527


def test_the_stated_figures_are_those_of_the_dry_run(modules: Any, config: dict[str, Any], tmp_path: Path) -> None:
    box, plan = modules
    pairs = tmp_path / "pairs.jsonl"
    box.write(box.stand_ins(config["lengths"], seed=0), pairs)
    found, stated = plan.figures(config, plan.dry_run(config, pairs)), json.loads((FOLDER / "figures.json").read_text())
    for role in ("judge", "teacher"):  # wordings of prompts may change and move tokens by a little
        assert found[role]["calls_by_kind"] == stated[role]["calls_by_kind"]
        for name in ("tokens_in", "tokens_out", "hours_of_one", "hours_of_eight"):
            assert found[role][name] == pytest.approx(stated[role][name], rel=0.05)
    assert plan.table(stated) in (FOLDER / "README.md").read_text()
    # Every pair of validation in both orders: original, two placebos, ten shams, thirty candidates; and so on.
    validation = sum(1 for line in pairs.read_text().splitlines() if '"split": "validation"' in line)
    test = config["lengths"]["held_out"]["pairs"] - validation
    verdicts = validation * (3 + 10 + 30) + test * (3 + 2 * 30) + 2985 * (1 + 3 + 1) + 30 * 60
    assert found["judge"]["calls_by_kind"]["verdicts"] == 2 * verdicts


@pytest.mark.data
def test_the_stand_ins_cost_what_the_published_pairs_cost(
    modules: Any, config: dict[str, Any], data_dir: Path, tmp_path: Path
) -> None:
    box, plan = modules
    folder = data_dir / "biasscope"
    rows = list(
        box.real_pairs(str(folder / "rewardbench_filtered.parquet"), [str(folder / "judge_bench.parquet")], seed=0)
    )
    assert Counter(row["split"] == "discovery" for row in rows) == {True: 2985, False: 619}
    said = []
    for number, made in enumerate((rows, box.stand_ins(config["lengths"], seed=0))):
        path = tmp_path / f"{number}.jsonl"
        box.write(made, path)
        said.append(plan.dry_run(config, path))
    real, stand_in = said
    for role in ("judge", "teacher"):
        for name in ("calls", "tokens_in", "tokens_out"):
            assert stand_in[role][name] == pytest.approx(real[role][name], rel=0.05), (role, name)
