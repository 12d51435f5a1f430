"""The same 40 pairs in both orders through llama.cpp, transformers and vLLM on the same weights.

Each engine runs in a process of its own (experiments/engines/compare.py); vLLM in the interpreter that
$RECUSE_VLLM_PYTHON names, or in this one where it is installed. The differences are written beside the weights, or to
$RECUSE_ENGINE_REPORT.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import util
from pathlib import Path
from typing import Any

import pytest

from recuse import weights

pytestmark = [pytest.mark.engine, pytest.mark.slow]
_COMPARE = Path(__file__).parents[2] / "experiments" / "engines" / "compare.py"
_VLLM = os.environ.get("RECUSE_VLLM_PYTHON") or (sys.executable if util.find_spec("vllm") else None)


def _compare(python: str, *arguments: str) -> None:
    done = subprocess.run([python, str(_COMPARE), *arguments], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.fixture(scope="module")
def comparisons(smollm2: Path, smollm2_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[Any, Any]:
    for package, extra in (("xllamacpp", "llamacpp"), ("transformers", "hf")):
        if util.find_spec(package) is None:
            pytest.skip(f"needs {package}: pip install 'recuse[{extra}]'")
    out = tmp_path_factory.mktemp("engines")
    runs = {"llamacpp": (sys.executable, "llamacpp/smollm2"), "hf": (sys.executable, f"hf/{smollm2_folder}")}
    if _VLLM:
        runs["vllm"] = (_VLLM, f"vllm/{smollm2_folder}")
    for name, (python, model) in runs.items():
        _compare(python, "judge", model, str(out / f"{name}.json"))
    report = Path(os.environ.get("RECUSE_ENGINE_REPORT") or weights.cache_folder() / "engine-differences.json")
    _compare(sys.executable, "differences", *(str(out / f"{name}.json") for name in runs), "--out", str(report))
    found = json.loads(report.read_text())["comparisons"]
    return {tuple(one["engines"]): one for one in found}


def test_all_engines_see_the_same_tokens_and_answer_every_ask(comparisons: dict[Any, Any]) -> None:
    for one in comparisons.values():
        assert one["asks"] == one["measured"] == one["same_tokens"] == 80


def test_verdicts_agree_wherever_the_log_odds_are_clear(comparisons: dict[Any, Any]) -> None:
    for one in comparisons.values():
        assert one["clear"] >= 60
        assert one["clear_but_differing"] == 0
        assert one["averaged"]["clear_but_differing"] == 0


def test_llama_cpp_stays_within_what_its_rounded_activations_explain(comparisons: dict[Any, Any]) -> None:
    """It multiplies 8-bit activations: measured 0.08 on average, 0.24 at most, of log odds that spread by 0.25."""
    one = comparisons["llamacpp", "hf"]
    assert one["mean_shift"] < 0.15
    assert one["largest_shift"] < 0.5


@pytest.mark.skipif(_VLLM is None, reason="needs vLLM: set RECUSE_VLLM_PYTHON to an interpreter that has it")
def test_vllm_and_transformers_give_the_same_log_odds(comparisons: dict[Any, Any]) -> None:
    """Measured 4e-5."""
    assert comparisons["hf", "vllm"]["largest_shift"] < 1e-3
    assert comparisons["hf", "vllm"]["averaged"]["clear_but_differing"] == 0
