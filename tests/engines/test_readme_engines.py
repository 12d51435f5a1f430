"""The README's lines for judges on one's own machine, on small real weights in place of the models they name."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from importlib import util
from pathlib import Path

import pytest

pytestmark = [pytest.mark.engine, pytest.mark.slow]
README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
_VLLM = os.environ.get("RECUSE_VLLM_PYTHON") or (sys.executable if util.find_spec("vllm") else None)
_NEEDS = {"vllm": None, "hf": "transformers", "hf-reward": "transformers", "llamacpp": "xllamacpp"}


def _lines() -> dict[str, str]:
    """Provider -> its line of the README."""
    found = re.findall(r"^(recuse audit --judge (vllm|hf|hf-reward|llamacpp)/.*?)(?:\s+#.*)?$", README, re.MULTILINE)
    return {provider: line for line, provider in found}


def test_the_readme_has_a_line_for_every_engine() -> None:
    assert set(_lines()) == set(_NEEDS)


@pytest.mark.parametrize("provider", sorted(_NEEDS))
def test_the_line_runs(provider: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    needs = _NEEDS[provider]
    if needs and util.find_spec(needs) is None:
        pytest.skip(f"needs {needs}: pip install 'recuse[{provider.partition('-')[0]}]'")
    if provider == "vllm" and _VLLM is None:
        pytest.skip("needs vLLM: set RECUSE_VLLM_PYTHON to an interpreter that has it")
    (rows,) = re.findall(r"<!-- file: pairs\.jsonl -->\n```json\n(.*?)```", README, re.DOTALL)
    (tmp_path / "pairs.jsonl").write_text(rows)
    model = request.getfixturevalue("smollm2" if provider == "llamacpp" else "smollm2_folder")
    if provider == "hf-reward":
        from test_hf_reward import _model

        model = _model(tmp_path / "reward", model, outputs=1)
    line = re.sub(r"--judge \S+", f"--judge {provider}/{model}", _lines()[provider])
    python = str(_VLLM) if provider == "vllm" else sys.executable
    done = subprocess.run(
        [python, "-m", *shlex.split(line)], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode in (0, 1, 3), done.stderr[-2000:]
    assert len(list(tmp_path.glob("recuse-runs/*/findings.json"))) == 1
