"""Memory of this machine, and what this process holds of it."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_MIB, _KIB = 1 << 20, 1 << 10


@dataclass(frozen=True)
class Ram:
    """Bytes. `available`: what can be had without swapping, what the system would give up for it included."""

    total: int
    available: int
    swap_free: int = 0


@dataclass(frozen=True)
class Gpu:
    name: str
    total: int
    free: int


@dataclass(frozen=True)
class Held:
    """Bytes: resident memory of this process, and of the GPUs what is not free."""

    ram: int
    gpu: int


def ram() -> Ram | None:
    """Memory of this machine under the limit of its control group, if it has one; None where /proc does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        told = {name: int(rest.split()[0]) * _KIB for name, _, rest in (line.partition(":") for line in lines)}
        found = Ram(told["MemTotal"], told["MemAvailable"], told.get("SwapFree", 0))
    except (OSError, ValueError, KeyError, IndexError):
        return None
    limit, used = _group()
    if limit is None or limit >= found.total:
        return found
    return Ram(limit, min(found.available, max(limit - used, 0)), found.swap_free)


def _group() -> tuple[int | None, int]:
    """Limit of this process's control group (version 2) and what of it is in use and cannot be reclaimed."""
    try:
        place = next(line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::"))
        folder = Path("/sys/fs/cgroup") / place.strip("/")
        limit = (folder / "memory.max").read_text().strip()
        if limit == "max":
            return None, 0
        stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        used = int((folder / "memory.current").read_text())
        return int(limit), used - int(stat.get("inactive_file", 0)) - int(stat.get("active_file", 0))
    except (OSError, ValueError, StopIteration):
        return None, 0


def gpus() -> list[Gpu]:
    """GPUs that this process may use, as `nvidia-smi` tells them: nothing is set up on them by asking.

    A slice of a GPU (MIG) is told as the whole of it. Empty where there is no such program or no GPU.
    """
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    query = ["--query-gpu=index,uuid,memory.total,memory.free,name", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run([program, *query], capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    rows = [[part.strip() for part in line.split(",", 4)] for line in done.stdout.splitlines()]
    rows = [row for row in rows if len(row) == 5 and row[2].isdigit() and row[3].isdigit() and _visible(row[0], row[1])]
    return [Gpu(name, int(total) * _MIB, int(free) * _MIB) for _, _, total, free, name in rows]


def _visible(index: str, uuid: str) -> bool:
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is None:
        return True
    names = [name.strip() for name in chosen.split(",")]
    return (
        index in names
        or any(name and uuid.startswith(name) for name in names if not name.isdigit())
        or any(name.startswith("MIG") for name in names)
    )


def on_gpu(device: str | None) -> bool:
    """Whether an engine that torch serves would go to a GPU; False as long as torch is not imported."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return False
    return device is None or device.startswith("cuda")


def held() -> Held:
    """What this process holds after everything that is free was given back to the system: collected, cached blocks of
    torch released, free pages of the C library returned."""
    gc.collect()
    used = 0
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.empty_cache()
        for device in range(torch.cuda.device_count()):
            free, total = torch.cuda.mem_get_info(device)
            used += total - free
    trim()
    return Held(resident(), used)


def trim() -> None:
    """Return free pages of the C library to the system, where it is glibc."""
    import ctypes

    if sys.platform.startswith("linux"):
        give_back = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if give_back is not None:
            give_back(0)


def resident() -> int:
    """Bytes of this process in memory, files that it maps included; 0 where /proc does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
