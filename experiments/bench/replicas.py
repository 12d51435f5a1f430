"""What a detour over Ray costs: the same calls to a judge that takes 100 ms, plain and over 1, 2 and 4 replicas.

    python experiments/bench/replicas.py [--nap 0.1] [--calls 480] [--rounds 3]

Every form runs through the loop that audits use, with a ledger, in turn; the time to start is told apart.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from recuse.backends import Backend, Options, open_backend
from recuse.judge import Spend, judge
from recuse.ledger import Ledger
from recuse.types import Ask, Message, Sampling

JUDGE = "import time\ndef nap(messages):\n    time.sleep({nap})\n    return 'A'\n"
TEXT = "One of two answers of ordinary length, as a judge reads them. " * 40  # 2,500 characters


def asks(n: int, turn: int) -> Iterator[Ask]:
    """`n` asks, two a pair, that no earlier turn has made."""
    for i in range(n):
        message = Message("user", f"{turn} {i} {TEXT}")
        yield Ask(f"{turn}-{i // 2}", ("AB", "BA")[i % 2], (message,), Sampling(), "prompt", ("A", "B"))  # type: ignore[arg-type]


def timed(backend: Backend, n: int, turn: int, folder: Path) -> float:
    """Seconds for `n` calls."""
    ledger = Ledger(folder / f"{turn}.sqlite", judge=backend.name)
    started = time.monotonic()
    done = sum(1 for _ in judge(lambda: asks(n, turn), backend, ledger, spend=Spend()))
    seconds = time.monotonic() - started
    ledger.close()
    assert done == n
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nap", type=float, default=0.1)
    parser.add_argument("--calls", type=int, default=480)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.chdir(folder)
        (folder / "napping.py").write_text(JUDGE.format(nap=given.nap))
        options, turn, found = Options(concurrency=8), 0, dict[str, list[float]]()
        backends: dict[str, Backend] = {}
        for form in ("", "ray/1*", "ray/2*", "ray/4*"):
            started = time.monotonic()
            backends[form] = open_backend(f"{form}python/napping:nap", options)
            print(f"{form or 'plain':7} opened in {time.monotonic() - started:.1f} s", flush=True)
            timed(backends[form], 16, -len(backends), folder)  # threads and connections are made once
        for _ in range(given.rounds):
            for form, backend in backends.items():
                turn += 1
                found.setdefault(form, []).append(timed(backend, given.calls, turn, folder))
        plain = statistics.median(found[""])
        ideal = given.calls * given.nap / 8
        print(
            f"{given.calls} calls of {given.nap * 1000:g} ms, eight at a time a replica; without any cost {ideal:.2f} s"
        )
        for form, seconds in found.items():
            middle, replicas = statistics.median(seconds), int(form[4]) if form else 1
            span = f"{min(seconds):.2f} to {max(seconds):.2f}"
            print(f"{form or 'plain':7} {middle:6.2f} s ({span}); to plain, by replica {middle * replicas / plain:.3f}")
        for backend in backends.values():
            backend.close()


if __name__ == "__main__":
    main()
