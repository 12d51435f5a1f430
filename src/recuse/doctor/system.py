"""This machine: cores, memory, disk, GPUs, caches, and whether keys are set. No value of a key is ever read further."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from importlib import util
from pathlib import Path
from typing import Any

from recuse.machine import memory
from recuse.machine.memory import Gpu
from recuse.machine.size import hub_cache
from recuse.weights import WEIGHTS, cache_folder

KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "HF_TOKEN")


def system(gpus: Sequence[Gpu], gpu_source: str) -> dict[str, Any]:
    """`gpu_source`: who told of the GPUs, or why there are none."""
    ram = memory.ram()
    return {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "ram": {"total": ram.total, "available": ram.available} if ram else None,
        "disk": {"folder": str(Path.cwd()), "free": _free(Path.cwd())},
        "gpus": [{"name": gpu.name, "total": gpu.total, "free": gpu.free} for gpu in gpus],
        "gpu_source": gpu_source,
    }


def find_gpus(torch_told: Mapping[str, Any] | None) -> tuple[list[Gpu], str]:
    """GPUs as torch sees them where it is installed for CUDA, else as `nvidia-smi` tells them."""
    if torch_told and torch_told.get("gpus"):
        return [Gpu(**gpu) for gpu in torch_told["gpus"]], "torch"
    cards = memory.gpus()
    if not cards:
        return [], "none: neither torch nor nvidia-smi reports a GPU"
    return cards, "nvidia-smi; no torch here that can use them"


def keys() -> dict[str, bool]:
    """Whether each key is set; nothing else about it."""
    return {name: bool(os.environ.get(name, "").strip()) for name in KEYS}


def caches() -> list[dict[str, Any]]:
    folders = {"recuse (hashes, joined weights)": cache_folder(), "hub (models, data sets)": hub_cache()}
    return [
        {"name": name, "folder": str(folder), "exists": folder.is_dir(), "free": _free(folder)}
        for name, folder in folders.items()
    ]


def packaged() -> list[str]:
    """Models whose weights a package has brought here."""
    return [name for name, w in WEIGHTS.items() if all(util.find_spec(package) for package, _ in w.parts)]


def _free(folder: Path) -> int | None:
    """Bytes that may still be written where this folder lies or would lie."""
    for place in (folder, *folder.parents):
        try:
            return shutil.disk_usage(place).free
        except OSError:
            continue
    return None
