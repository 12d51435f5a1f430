"""One real call to a model, in a process of its own: a broken engine ends that process, and its memory is free after.

python -m recuse.doctor.smoke PROVIDER/MODEL OPTIONS CALLS        prints one JSON object; used by `recuse doctor`
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import redirect_stdout
from dataclasses import asdict
from typing import Any

from recuse.backends import HEAVY, Capabilities, Options, open_backend
from recuse.errors import AuthError, RecuseError

LIMIT = 600.0  # seconds for start and calls together
LOCAL_CALLS = 8  # after a first one, to tell the pace by


def smoke(name: str, options: Options, *, limit: float = LIMIT) -> dict[str, Any]:
    """`state` "answered", "failed" or "slow", seconds to start and of a call, and what went wrong in a sentence."""
    calls = LOCAL_CALLS if name.partition("/")[0] in HEAVY else 0
    command = [sys.executable, "-m", "recuse.doctor.smoke", name, json.dumps(asdict(options)), str(calls)]
    empty = {"name": name, "state": "failed", "start": None, "first": None, "call": None, "calls": 0, "said": ""}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return {**empty, "state": "slow", "said": f"no reply within {limit:g} seconds"}
    try:
        told = json.loads(done.stdout.splitlines()[-1])
        return {**empty, **told}
    except (ValueError, IndexError, TypeError):
        return {**empty, "said": f"its process ended without a word (code {done.returncode})"}


def _call(name: str, options: Options, calls: int) -> dict[str, Any]:
    """Open the model, ask once, then `calls` times more at once."""
    started = time.monotonic()
    backend = open_backend(name, options)
    try:
        opened = time.monotonic()
        asks = _asks(1 + calls, backend.capabilities)
        first = _ask(backend, asks[:1])[0]
        at_once = time.monotonic()
        replies = _ask(backend, asks[1:])
        ended = time.monotonic()
    finally:
        backend.close()
    faults = [reply.error or reply.finish for reply in (first, *replies) if reply.finish in ("error", "refusal")]
    return {
        "state": "failed" if faults else "answered", "start": opened - started, "first": at_once - opened,
        "call": (ended - at_once) / len(replies) if replies else None, "calls": 1 + len(replies),
        "said": faults[0] if faults else first.text.strip()[:40],
    }  # fmt: skip


def _asks(number: int, can: Capabilities) -> list[Any]:
    """Asks as an audit makes them, of the pairs that ship: one token for a label, more where a model may think."""
    from recuse.asks import Design, make_asks
    from recuse.pairs import load_pairs
    from recuse.prompts import load_prompt
    from recuse.types import Sampling

    sampling = Sampling(max_tokens=1 if can.local else 256)
    design = Design(load_prompt("pairwise/label") if can.explains else None, sampling)
    return list(make_asks(list(load_pairs("demo"))[:number], design))[:number]


def _ask(backend: Any, asks: list[Any]) -> list[Any]:
    from recuse.types import Call

    return list(backend.generate([Call(str(i), ask, backend.body(ask)) for i, ask in enumerate(asks)]))


def main(arguments: list[str]) -> None:
    name, options, calls = arguments
    with redirect_stdout(sys.stderr):  # what an engine prints is not the answer
        try:
            told = _call(name, Options(**json.loads(options)), int(calls))
        except AuthError:
            told = {"said": "the provider refused the key"}  # its own words may quote a part of it
        except RecuseError as error:
            told = {"said": str(error)}
        except Exception as error:  # noqa: BLE001 - whatever an engine does, the report goes on
            told = {"said": f"{type(error).__name__}: {str(error)[:200]}"}
    print(json.dumps(told))  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
