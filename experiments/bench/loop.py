"""Judgements a second of the whole loop with an instant judge and the ledger on, and the memory of a large audit.

    python experiments/bench/loop.py [PAIRS]        default 20,000; the figures in loop.md are of 5,000 and 100,000

Each size runs in a process of its own, so that the peak memory is its own.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def measure(pairs: int) -> None:
    import recuse

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "pairs.jsonl"
        with source.open("w") as file:
            for i in range(pairs):
                row = {
                    "prompt": f"Question {i}: " + "why " * 30,
                    "chosen": f"Right {i}. " + "x" * 90,
                    "rejected": "y" * 100,
                }
                file.write(json.dumps(row) + "\n")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        started, used = time.perf_counter(), time.process_time()
        result = recuse.audit("fake/skill=2,logprobs=1", str(source), out=Path(folder) / "run")
        wall, cpu = time.perf_counter() - started, time.process_time() - used
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        size = (Path(folder) / "run/ledger.sqlite").stat().st_size / 2**20
    calls = result.usage["calls"]
    print(
        f"{pairs:,} pairs, {calls:,} calls: {calls / wall:,.0f} judgements/s ({1e6 * cpu / calls:.0f} µs CPU each), "
        f"memory {before:.0f} -> {peak:.0f} MiB, ledger {size:.0f} MiB"
    )


def main() -> None:
    if len(sys.argv) == 3 and sys.argv[1] == "--one":
        measure(int(sys.argv[2]))
        return
    sizes = [int(size) for size in sys.argv[1:]] or [20_000]
    for size in sizes:
        subprocess.run([sys.executable, __file__, "--one", str(size)], check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "recuse", "--help"], stdout=subprocess.DEVNULL, check=True)
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"recuse --help: {now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime:.2f} s of CPU")


if __name__ == "__main__":
    main()
