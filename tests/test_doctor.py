"""`recuse doctor` reports whatever is wrong and exits 0; no part of a key is in what it says."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from json_schema import check
from loopback import LoopbackServer, error
from test_machine_size import LLAMA, QWEN_72B, folder_of, tensors

from recuse import assets
from recuse.backends import Options
from recuse.cli import run
from recuse.doctor import packages
from recuse.doctor.model import examine_model
from recuse.doctor.packages import PACKAGES, Found, Package, look
from recuse.doctor.queue import Pace, advise, pays_from
from recuse.doctor.report import _queue
from recuse.doctor.smoke import smoke
from recuse.doctor.system import find_gpus
from recuse.machine.memory import Gpu, Ram

GB = 10**9
SECRET = "sk-proj-Zq81xJvLm0aTtw7Kd93"
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "HF_TOKEN")


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine with no package, no GPU and no key."""
    monkeypatch.setattr("recuse.doctor.report.look", lambda: [Found(p.module, "missing") for p in PACKAGES])
    monkeypatch.setattr("recuse.doctor.report.packaged", list)
    monkeypatch.setattr("recuse.machine.memory.gpus", list)
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def reported(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert run(["doctor", "--json", *arguments]) == 0
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    check(report, json.loads(Path(assets.data("doctor.schema.json")).read_text("utf-8")))
    return report


def test_a_bare_machine_is_reported_and_the_exit_code_is_0(
    bare: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report = reported(capsys)
    assert {row["state"] for row in report["packages"]} == {"missing"}
    assert report["system"]["gpus"] == []
    assert not any(report["keys"].values())
    assert run(["doctor"]) == 0
    said = capsys.readouterr().out
    assert "none: neither torch nor nvidia-smi reports a GPU" in said
    assert said.count(": missing") == len(PACKAGES)
    assert "Not installed or not working here: hf, vllm." in said


def test_a_key_is_said_to_be_set_and_no_part_of_it_is_shown(
    bare: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in KEYS:
        bare.setenv(name, SECRET)
    assert reported(capsys)["keys"] == dict.fromkeys(KEYS, True)
    for arguments in ([], ["--json"], ["--judge", "openai/gpt-4o-mini"]):
        assert run(["doctor", *arguments]) == 0
        shown = "".join(capsys.readouterr())
        assert not any(SECRET[i : i + 5] in shown for i in range(len(SECRET) - 4))
    bare.setenv("HF_TOKEN", " ")
    assert reported(capsys)["keys"]["HF_TOKEN"] is False


def test_a_refused_key_is_said_in_words_of_our_own(
    bare: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A provider may quote a part of the key that it refuses."""
    bare.setenv("OPENAI_API_KEY", SECRET)
    with LoopbackServer(lambda seen: error(401, f"Incorrect key: {SECRET[:8]}***{SECRET[-4:]}")) as server:
        report = reported(capsys, "--smoke", "--judge", "openai/gpt-4o-mini", "--base-url", server.openai_url)
    (row,) = report["smoke"]
    assert (row["state"], row["said"]) == ("failed", "the provider refused the key")
    assert not any(SECRET[i : i + 5] in json.dumps(report) for i in range(len(SECRET) - 4))


def test_a_broken_engine_ends_its_own_process_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = {
        "good": "LLM = 1",
        "hollow": "",  # imports, and lacks what is used of it
        "torn": "import a_library_that_is_not_there",
        "crashing": "import os; os.abort()",
        "leaving": "import sys; sys.exit(0)",
        "endless": "import time; time.sleep(60)",
    }
    for name, body in bodies.items():
        (tmp_path / f"recuse_probe_{name}.py").write_text(body)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    listed = [Package(f"recuse_probe_{name}", "vllm", "LLM") for name in (*bodies, "absent")]
    found = {f.name.removeprefix("recuse_probe_"): f for f in look(listed, limit=5)}
    assert {name: f.state for name, f in found.items()} == {
        "good": "works", "hollow": "broken", "torn": "broken", "crashing": "broken", "leaving": "broken",
        "endless": "slow", "absent": "missing",
    }  # fmt: skip
    assert found["torn"].error == "ModuleNotFoundError: No module named 'a_library_that_is_not_there'"
    assert "has no attribute 'LLM'" in str(found["hollow"].error)
    assert found["crashing"].error == "its import ended the process (code -6)"
    assert found["absent"].install == "pip install 'recuse[vllm]'"


def test_a_file_of_the_users_is_not_taken_for_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "typer.py").write_text("raise RuntimeError('not the package')")
    monkeypatch.chdir(tmp_path)
    (found,) = look([Package("typer", None, "Typer")])
    assert (found.state, found.version) == ("works", packages._version("typer"))


def test_gpus_are_those_that_torch_sees_and_else_those_of_the_makers_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recuse.machine.memory.gpus", lambda: [Gpu("by nvidia-smi", 2, 1)])
    by_torch = {"cuda": "12.9", "gpus": [{"name": "by torch", "total": 4, "free": 3}]}
    assert find_gpus(by_torch) == ([Gpu("by torch", 4, 3)], "torch")
    cards, source = find_gpus({"cuda": None, "gpus": []})
    assert cards == [Gpu("by nvidia-smi", 2, 1)]
    assert "no torch here that can use them" in source


HERE = Ram(16 * GB, 8 * GB)


def test_what_a_folder_needs_and_whether_it_fits(tmp_path: Path) -> None:
    """One billion parameters: 4 GB in float32 on a CPU, 2 GB on a GPU; 128 KiB a token there, 256 on a CPU."""
    folder = folder_of(tmp_path / "m", LLAMA)
    tensors(folder / "model.safetensors", a=("BF16", [1000, 1000, 1000], 2))
    on_cpu = examine_model(f"hf/{folder}", Options(concurrency=2, max_context=1000), gpus=[], ram=HERE)
    assert (on_cpu["fits"], on_cpu["weights"], on_cpu["kv"]) == ("yes", 4 * GB, 2 * 1000 * 262_144)
    assert examine_model(f"hf/{folder}", Options(), gpus=[], ram=HERE)["fits"] == "no"  # 16 calls of 4,096 tokens
    card = Gpu("card", 16 * GB, 16 * GB)
    on_gpu = examine_model(f"vllm/{folder}", Options(), gpus=[card], ram=HERE)
    assert (on_gpu["fits"], on_gpu["gpus_needed"], on_gpu["kv"]) == ("yes", 1, 16 * 4096 * 131_072)


def test_a_model_of_72_billion_takes_several_gpus(tmp_path: Path) -> None:
    name, cards = f"vllm/{folder_of(tmp_path / 'q', QWEN_72B)}", [Gpu("H100", 80 * GB, 80 * GB)] * 4
    row = examine_model(name, Options(), gpus=cards, ram=HERE)
    assert (row["fits"], row["said"], row["gpus_needed"]) == ("no", "Give --tensor-parallel 4.", 4)
    assert examine_model(name, Options(tensor_parallel=4), gpus=cards, ram=HERE)["fits"] == "yes"
    row = examine_model(name, Options(), gpus=cards[:2], ram=HERE)
    assert (row["fits"], row["said"]) == ("no", "It needs 4 such GPUs, and 2 are here.")
    row = examine_model(name.replace("vllm/", "hf/"), Options(), gpus=cards, ram=HERE)
    assert "only vllm/… splits a model" in row["said"]


def test_gpus_of_replicas_are_counted_for_one_and_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A replica of 4 billion parameters in bfloat16 needs one GPU of 24 GB, one of 72 billion four of 80 GB."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    small, large = "vllm/nobody/Some-4B", f"vllm/{folder_of(tmp_path / 'q', QWEN_72B)}"

    def row(name: str, *, cards: int = 0, size: int = 24 * GB, split: int | None = None) -> tuple[Any, ...]:
        plan = None if cards else size
        options, gpus = Options(tensor_parallel=split), [Gpu("card", size, size)] * cards
        found = examine_model(name, options, gpus=gpus, ram=HERE, plan_for=plan)
        return found["fits"], found["said"], found["gpus_needed"], found["gpus_in_all"]

    assert row(f"ray/2*{small}") == ("unknown", "On such GPUs: 1 GPU a replica, 2 in all.", 1, [2, 2])
    assert row(f"ray/1-8*{small}")[1:] == ("On such GPUs: 1 GPU a replica, 1 to 8 in all.", 1, [1, 8])
    said = "On such GPUs: --tensor-parallel 4, 4 GPUs a replica, 8 to 12 in all."
    assert row(f"ray/2-3*{large}", size=80 * GB)[1:] == (said, 4, [8, 12])
    assert row(small) == ("unknown", "On such GPUs: one GPU is enough.", 1, None)
    assert row(f"ray/2*{small}", cards=2)[:2] == ("yes", "It takes 1 GPU a replica, 2 in all.")
    assert row(f"ray/3*{small}", cards=2)[:2] == ("no", "It needs 1 GPU a replica, 3 in all, and 2 such are here.")
    said = "It takes 1 GPU a replica, 1 to 8 in all. 2 of 8 replicas find room on the 2 that are here."
    assert row(f"ray/1-8*{small}", cards=2)[:2] == ("yes", said)
    # Two a replica, as was asked for, though one would do.
    assert row(f"ray/2*{small}", cards=4, split=2)[1:] == (
        "It takes 2 GPUs a replica, 4 in all.", 1, [4, 4],
    )  # fmt: skip
    said = "Give --tensor-parallel 4: 4 GPUs a replica, 8 in all."
    assert row(f"ray/2*{large}", cards=8, size=80 * GB)[:2] == ("no", said)
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    assert row(f"ray/3*{small}", cards=2)[:2] == ("unknown", "On such GPUs: 1 GPU a replica, 3 in all.")
    bare = examine_model(f"ray/3*{small}", Options(), gpus=[], ram=HERE)
    assert (bare["fits"], bare["gpus_in_all"]) == ("unknown", None)
    assert "--gpu-memory" in bare["said"]


def test_the_memory_of_replicas_on_this_machine_is_that_of_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """4 GB of weights and 0.5 GB of keys and values each, of 8 GB that are free."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    folder = folder_of(tmp_path / "m", LLAMA)
    tensors(folder / "model.safetensors", a=("BF16", [1000, 1000, 1000], 2))
    options = Options(concurrency=2, max_context=1000)
    one, two = (examine_model(f"ray/{n}*hf/{folder}", options, gpus=[], ram=HERE) for n in ("1-2", "2"))
    assert (one["fits"], one["said"]) == (
        "yes",
        "4.5 GB a replica, 4.5 GB to 9.0 GB in all, 8.0 GB of memory are free.",
    )
    assert (two["fits"], two["said"]) == ("no", "4.5 GB a replica, 9.0 GB in all, 8.0 GB of memory are free.")


def test_every_package_of_an_extra_is_looked_for_and_installed_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recuse.doctor.packages.util.find_spec", lambda name: None)
    hints = {found.name: found.install for found in look()}
    assert hints["ray"] == "pip install 'recuse[ray]'"
    assert hints["sentence_transformers"] == "pip install 'recuse[embeddings]'"
    listed = {package.extra for package in PACKAGES}
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert set(project["optional-dependencies"]) - {"all", "dev"} <= listed


def test_a_hub_name_without_files_is_a_guess_for_another_machine() -> None:
    row = examine_model("vllm/nobody/Some-72B-FP8", Options(), gpus=[], ram=HERE, plan_for=80 * GB)
    assert (row["guess"], row["weights"], row["gpus_needed"], row["kv"]) == (True, 72 * GB, 2, None)
    assert row["said"] == "On such GPUs: --tensor-parallel 2."


@pytest.mark.parametrize(
    ("name", "fits", "said"),
    [
        ("gpt-4o-mini", "unknown", "no provider/model"),
        ("nobody/gpt-4o-mini", "unknown", "no provider/model. Write one of: openai/…, anthropic/…, vllm/…"),
        ("vllm/nobody/unnamed", "unknown", "no size in its name"),
        ("llamacpp/no-such.gguf", "unknown", "no size in its name"),
        ("openai/gpt-4o-mini", "elsewhere", "OPENAI_API_KEY is not set"),
        ("fake/skill=1", "elsewhere", "holds no weights here"),
    ],
)
def test_any_name_is_answered_in_a_sentence(
    bare: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, fits: str, said: str
) -> None:
    (row,) = reported(capsys, "--judge", name)["models"]
    assert row["fits"] == fits
    assert said in row["said"]


def test_a_real_call_is_made_to_what_is_named(bare: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (row,) = reported(capsys, "--smoke", "--judge", "fake/skill=1")["smoke"]
    assert (row["state"], row["calls"]) == ("answered", 1)
    assert row["said"] in ("A", "B")


def test_a_judge_that_ends_its_process_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dying.py").write_text(
        "import os, sys, time\ndef die(messages): os._exit(9)\ndef sleep(messages): time.sleep(60)\n"
        "def shout(messages):\n    print('noise')\n    return 'B'\n"
    )
    monkeypatch.chdir(tmp_path)
    assert smoke("python/dying:die", Options())["said"] == "its process ended without a word (code 9)"
    assert smoke("python/dying:sleep", Options(), limit=6)["state"] == "slow"
    assert smoke("python/dying:shout", Options())["said"] == "B"
    missing = smoke("python/dying:nothing", Options())
    assert (missing["state"], missing["said"].split(".")[0]) == (
        "failed",
        "The module 'dying' has no function 'nothing'",
    )


def test_the_number_of_calls_from_which_an_engine_pays() -> None:
    early, late = Pace(5.0, 1.25), Pace(28.0, 1.0)
    number = pays_from(early, late)
    assert number == 93  # 23 seconds more to start, a quarter of a second less a call: 92 calls make them even
    assert late.total(93) < early.total(93)
    assert late.total(92) >= early.total(92)
    assert pays_from(early, Pace(28.0, 1.25)) is None
    assert pays_from(early, Pace(2.0, 1.0)) == 0


def test_paces_are_called_measured_only_where_both_engines_were(
    bare: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = {"hf": Pace(2.0, 0.5), "vllm": Pace(20.0, 0.25)}
    told = advise(["hf", "vllm"], measured, 100)
    assert (told["measured"], told["vllm_pays_from"], told["engine"]) == (True, 73, "vllm")
    assert told["seconds"] == {"hf": 52.0, "vllm": 45.0}
    assert advise(["hf"], {"hf": Pace(2.0, 0.5)}, None)["measured"] is False
    assert reported(capsys, "--calls", "10")["queue"]["engine"] == "hf"
    assert run(["doctor", "--calls", "200000", "--judge", "vllm/nobody/Some-72B"]) == 0
    said = capsys.readouterr().out
    assert "200,000 calls: vllm/… is done first (how long it takes is not known)" in said
    assert "minutes" not in said
    assert "minutes" in "\n".join(_queue(told))


def test_wrong_options_are_usage(bare: pytest.MonkeyPatch) -> None:
    assert run(["doctor", "--calls", "-1"]) == 2
    assert run(["doctor", "--gpu-memory", "much"]) == 2
