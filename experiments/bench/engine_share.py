"""How much of an engine's own speed a backend keeps: the same prompts to the engine itself and through `generate`.

    python experiments/bench/engine_share.py llamacpp
    PYTHON_WITH_VLLM experiments/bench/engine_share.py vllm FOLDER      (FOLDER: see experiments/engines/convert.py)

Both ways run in one process on one loaded engine, by turns and in changing order, since other work on the machine
moves the speed more than the backend does. Every block asks the same prompts in the same order and finds the same
prompt cache: vLLM's is emptied, a slot of llama.cpp holds the last prompt of the block before. Prints the share of each
round (time of the engine alone / time through the backend), the median and its spread; the same for CPU time, which
other work on the machine moves less.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from recuse.asks import Design, make_asks
from recuse.backends import Backend, Options, open_backend
from recuse.pairs import load_pairs
from recuse.prompts import load_prompt
from recuse.types import Call, Sampling

PAIRS = 8
ROUNDS = 7


def calls_for(backend: Backend) -> list[Call]:
    sampling = Sampling(max_tokens=1, top_logprobs=20)
    asks = make_asks(list(load_pairs("demo"))[:PAIRS], Design(load_prompt("pairwise/label"), sampling))
    return [Call(str(i), ask, backend.body(ask)) for i, ask in enumerate(asks)]


def llamacpp_alone(backend: Any, calls: list[Call]) -> Callable[[], int]:
    """Plain requests to the server, as many at once as it has slots, with what the OpenAI protocol would ask for."""
    import http.client
    from urllib.parse import urlsplit

    address = urlsplit(backend.base_url)
    head = {"Authorization": f"Bearer {backend.key}", "Content-Type": "application/json"}
    bodies = [
        json.dumps(
            {
                "messages": call.body["messages"],
                "max_tokens": 1,
                "temperature": 0,
                "logprobs": True,
                "top_logprobs": 20,
            }
        )
        for call in calls
    ]

    def ask(half: list[str]) -> int:
        connection = http.client.HTTPConnection(address.hostname or "", address.port)
        for body in half:
            connection.request("POST", "/v1/chat/completions", body, head)
            json.loads(connection.getresponse().read())
        connection.close()
        return len(half)

    def run() -> int:
        with ThreadPoolExecutor(2) as pool:
            return sum(pool.map(ask, [bodies[0::2], bodies[1::2]]))

    return run


def vllm_alone(backend: Any, calls: list[Call]) -> Callable[[], int]:
    """`LLM.chat` over the whole list at once."""
    from vllm import SamplingParams

    engine = backend._engine
    conversations = [call.body["messages"] for call in calls]
    parameters = SamplingParams(temperature=0.0, max_tokens=1, logprobs=20)

    def run() -> int:
        engine.reset_prefix_cache()
        return len(engine.chat(conversations, parameters, use_tqdm=False))

    return run


def through(backend: Any, calls: list[Call]) -> Callable[[], int]:
    def run() -> int:
        if hasattr(backend, "_engine"):
            backend._engine.reset_prefix_cache()
        return sum(1 for _ in backend.generate(calls))

    return run


def _cost(run: Callable[[], int]) -> tuple[float, float]:
    """Seconds and CPU seconds of all threads; the engine runs in this process."""
    started, used = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - started, time.process_time() - used


def main(engine: str, folder: str = "") -> None:
    name = "llamacpp/smollm2" if engine == "llamacpp" else f"vllm/{folder}"
    backend = open_backend(name, Options(max_context=1024))
    calls = calls_for(backend)
    alone = (llamacpp_alone if engine == "llamacpp" else vllm_alone)(backend, calls)
    ways = {"alone": alone, "through": through(backend, calls)}
    for run in ways.values():
        run()  # warm
    shares: dict[str, list[float]] = {"time": [], "CPU": []}
    for i in range(ROUNDS):
        spent = {way: _cost(ways[way]) for way in sorted(ways, reverse=bool(i % 2))}
        for clock, (alone_s, through_s) in zip(shares, zip(spent["alone"], spent["through"], strict=True), strict=True):
            shares[clock].append(alone_s / through_s)
        alone_rate, through_rate = (len(calls) / spent[way][0] for way in ("alone", "through"))
        print(
            f"round {i}: alone {alone_rate:.2f}/s, through {through_rate:.2f}/s, "
            f"share {shares['time'][-1]:.3f}, of CPU {shares['CPU'][-1]:.3f}"
        )
    for clock, found in shares.items():
        middle = statistics.median(found)
        print(f"{engine}: share by {clock} {middle:.3f} (median of {ROUNDS}; {min(found):.3f} to {max(found):.3f})")
    backend.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
