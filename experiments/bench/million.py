"""A run of a million judgements: time, replies a second, memory and ledger size, and what resuming it costs.

    python experiments/bench/million.py [PAIRS]        default 500,000 pairs, that is 1,000,000 calls

An instant judge (`fake/` with log-probabilities), the ledger on. Four runs, each in a process of its own, so that the
peak memory is its own: a fresh one, the same once it is finished, one that is stopped half-way, and that one resumed.
`owned` is memory that the process owns at its peak, `peak` counts the mapped file of the pairs and the libraries too,
which the system may drop at any time. Seconds rest on what else the machine does; the CPU time does less.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from random import Random

JUDGE = "fake/skill=2,logprobs=1"


def write(path: Path, pairs: int) -> None:
    rng = Random(0)
    with path.open("w") as file:
        for i in range(pairs):
            row = {
                "prompt": f"Question {i}: " + "why " * 30,
                "chosen": f"Right {i}. " + "x" * rng.randint(60, 120),
                "rejected": "y" * rng.randint(60, 120),
            }
            file.write(json.dumps(row) + "\n")


class Owned(threading.Thread):
    """The largest memory of this process, in MiB, that is no mapped file; looked at twenty times a second."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most = 0.0

    def run(self) -> None:
        while True:
            for line in Path("/proc/self/status").read_text().splitlines():
                if line.startswith("RssAnon"):
                    self.most = max(self.most, int(line.split()[1]) / 1024)
            time.sleep(0.05)


def measure(name: str, source: str, out: str, *, stop_after: int | None) -> None:
    from recuse.errors import Interrupted
    from recuse.examine import run_audit
    from recuse.judge import Spend
    from recuse.plan import AuditConfig, plan_audit

    owned, stop = Owned(), threading.Event()
    first: list[float] = []  # when the first call of this process was answered, when the last one was
    done = 0

    def watch(spend: Spend, total: int) -> None:
        nonlocal done
        done = spend.done
        if spend.calls == 1 and not first:
            first.append(time.perf_counter() - started)
        if spend.done == total:
            first.append(time.perf_counter() - started)
        if spend.calls == stop_after:
            stop.set()

    owned.start()
    started, used = time.perf_counter(), time.process_time()
    plan = plan_audit(AuditConfig(JUDGE, source, out=Path(out)))
    loaded = time.perf_counter() - started
    result = None
    with suppress(Interrupted):
        result = run_audit(plan, watch=watch, stop=stop)
    wall, cpu = time.perf_counter() - started, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = (Path(out) / "ledger.sqlite").stat().st_size / 2**20
    asked = f", {result.usage['calls']:,} calls and {result.usage['from_ledger']:,} from the ledger" if result else ""
    print(
        f"{name}: {wall:.0f} s, {cpu:.0f} s of CPU ({1e6 * cpu / done:.0f} µs a judgement){asked}; pairs loaded after "
        f"{loaded:.0f} s, first and last reply after {', '.join(f'{t:.0f} s' for t in first) or 'none'}; "
        f"owned {owned.most:.0f} MiB, peak {peak:.0f} MiB, ledger {size:.0f} MiB",
        flush=True,
    )


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        name, source, out, after = sys.argv[2:]
        measure(name, source, out, stop_after=int(after) or None)
        return
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 500_000
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "pairs.jsonl"
        write(source, pairs)
        runs = (("fresh", "whole", 0), ("finished", "whole", 0), ("stopped", "half", pairs), ("resumed", "half", 0))
        for name, out, after in runs:
            command = [sys.executable, __file__, "--one", name, str(source), f"{folder}/{out}", str(after)]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
