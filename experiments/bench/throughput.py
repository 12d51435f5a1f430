"""What the order of asks saves an engine, and how much of the engine's own speed recuse keeps.

    python experiments/bench/throughput.py llamacpp [ROUNDS]
    PYTHON_WITH_VLLM experiments/bench/throughput.py vllm FOLDER [ROUNDS]     (FOLDER: experiments/engines/convert.py)

The asks are those of a run that tests biases: made-up pairs in both orders, as they are and with four edits of the
library. Every round asks them three ways, on one engine in one process and in changing order:

    prefix  through recuse (ledger, judgements) in the order in which it sends them
    random  the same in a random order
    alone   the engine itself, without recuse, in the order of `prefix`

Each way starts without what the one before left in the engine's cache. A long run has many times more text than the
cache holds; vLLM's is held so small that this is so here too. Prints tokens that the engine found in its cache, decoded
tokens and judgements a second, then the ratios of each round as medians with ranges, by the clock and by CPU time,
which other work on the machine moves less.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from recuse.asks import Design, by_prefix, make_asks
from recuse.backends import Options, open_backend, vllm
from recuse.judge import Spend, judge
from recuse.judgements import judgements
from recuse.ledger import Ledger
from recuse.library import load_library
from recuse.perturb.arms import ORIGINAL, Arm, variants
from recuse.perturb.rules import edit_all
from recuse.prompts import load_prompt
from recuse.types import Ask, Message, Pair, Sampling

EDITS = ("certainty", "bandwagon", "sycophancy", "emphasis")
PAIRS = 4
SPOKEN = (
    "the old bridge stands near market many years before it was built by hands from stone and water a light road under"
    " north hill every winter since then few have seen how this river turns toward south while people of town walk"
)
SLOTS = 2  # of llama.cpp, as its backend sets them
BLOCKS = 20  # of vLLM's cache, 32 tokens each: 640 tokens, of asks that have 14 times as many


@dataclass(frozen=True)
class Cost:
    seconds: float
    cpu: float  # seconds of all threads; both engines run in this process


@dataclass(frozen=True)
class Way:
    run: Callable[[], Spend]
    forget: Callable[[], object]

    def cost(self) -> tuple[Cost, Spend]:
        self.forget()
        started, used = time.perf_counter(), time.process_time()
        spend = self.run()
        return Cost(time.perf_counter() - started, time.process_time() - used), spend


def planted(n: int) -> list[Pair]:
    """Questions of 30 words and answers of 40, in sentences of ten."""
    rng, known = random.Random(1), SPOKEN.split()

    def text(words: int) -> str:
        return " ".join(" ".join(rng.choices(known, k=10)).capitalize() + "." for _ in range(words // 10))

    return [Pair(f"p{i}", text(30), text(40), text(40), f"p{i}") for i in range(n)]


def asks_of(pairs: Sequence[Pair]) -> list[Ask]:
    design = Design(load_prompt("pairwise/label"), Sampling(max_tokens=1, top_logprobs=20))
    library = load_library()
    arms = [Arm(f"bias:{name}", "bias", bias=name, edit=library[name].edit) for name in EDITS]
    made = edit_all(pairs, arms, seed=0)
    asks = list(make_asks(pairs, design, arm=ORIGINAL.id))
    for arm in arms:
        asks += make_asks(variants(pairs, made[arm.id]), design, arm=arm.id)
    assert len(asks) == 2 * len(pairs) * (1 + len(EDITS)), "an edit left a pair as it was"
    return asks


def through(backend: Any, asks: Sequence[Ask]) -> Callable[[], Spend]:
    """recuse's whole way from asks to judgements, with a new ledger."""
    spec, groups = load_prompt("pairwise/label").spec, {ask.pair: ask.pair for ask in asks}

    def run() -> Spend:
        spend = Spend()
        with tempfile.TemporaryDirectory() as folder:
            ledger = Ledger(Path(folder) / "ledger.sqlite")
            found = list(judgements(judge(lambda: asks, backend, ledger, spend=spend), spec, groups))
            ledger.close()
        assert len(found) == spend.calls == len(asks)
        return spend

    return run


def llamacpp_alone(backend: Any, asks: Sequence[Ask]) -> Callable[[], Spend]:
    """Plain requests to the server, one connection a slot, with what the OpenAI protocol would ask for."""
    import http.client
    from urllib.parse import urlsplit

    address = urlsplit(backend.base_url)
    head = {"Authorization": f"Bearer {backend.key}", "Content-Type": "application/json"}
    wanted = {"max_tokens": 1, "temperature": 0, "logprobs": True, "top_logprobs": 20}
    bodies = [json.dumps({"messages": backend.body(ask)["messages"], **wanted}) for ask in asks]

    def send(waiting: Iterator[str]) -> list[Any]:
        connection = http.client.HTTPConnection(address.hostname or "", address.port)
        usages = []
        for body in waiting:
            connection.request("POST", "/v1/chat/completions", body, head)
            usages.append(json.loads(connection.getresponse().read())["usage"])
        connection.close()
        return usages

    def run() -> Spend:
        spend, waiting = Spend(), iter(bodies)  # the connections share one queue, in order
        with ThreadPoolExecutor(SLOTS) as pool:
            for usage in chain.from_iterable(pool.map(send, [waiting] * SLOTS)):
                spend.calls += 1
                spend.tokens_in += usage["prompt_tokens"]
                spend.tokens_out += usage["completion_tokens"]
                spend.tokens_cached += usage["prompt_tokens_details"]["cached_tokens"]
        return spend

    return run


def vllm_alone(backend: Any, asks: Sequence[Ask]) -> Callable[[], Spend]:
    """`LLM.chat` over the whole list at once."""
    from vllm import SamplingParams

    conversations = [backend.body(ask)["messages"] for ask in asks]
    parameters = SamplingParams(temperature=0.0, max_tokens=1, logprobs=20)

    def run() -> Spend:
        spend = Spend()
        for output in backend._engine.chat(conversations, parameters, use_tqdm=False):
            spend.calls += 1
            spend.tokens_in += len(output.prompt_token_ids)
            spend.tokens_out += len(output.outputs[0].token_ids)
            spend.tokens_cached += output.num_cached_tokens
        return spend

    return run


def llamacpp_forget(backend: Any) -> Callable[[], object]:
    """Every slot reads another prompt, which takes the place of the last one that it held."""
    shown = [(Message("user", f"{i} {SPOKEN}"),) for i in range(SLOTS)]
    return llamacpp_alone(backend, [Ask("none", "text", said, Sampling(max_tokens=1), "none") for said in shown])


def opened(engine: str, folder: str) -> Any:
    if engine == "llamacpp":
        return open_backend("llamacpp/smollm2", Options(max_context=1024, concurrency=SLOTS))
    vllm._ENGINE_CPU["num_gpu_blocks_override"] = BLOCKS
    return open_backend(f"vllm/{folder}", Options(max_context=512, concurrency=2))


def told(name: str, ratios: Sequence[float]) -> str:
    return f"{name} {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"


def main(engine: str, *rest: str) -> None:
    folder = rest[0] if engine == "vllm" else ""
    rounds = int(rest[-1]) if len(rest) > (engine == "vllm") else 3
    asks = asks_of(planted(PAIRS))
    ordered = by_prefix(asks)
    mixed = random.Random(2).sample(asks, len(asks))
    backend = opened(engine, folder)
    if engine == "vllm":
        alone, forget = vllm_alone(backend, ordered), backend._engine.reset_prefix_cache
    else:
        alone, forget = llamacpp_alone(backend, ordered), llamacpp_forget(backend)
    ways = {
        "prefix": Way(through(backend, ordered), forget),
        "random": Way(through(backend, mixed), forget),
        "alone": Way(alone, forget),
    }
    ways["alone"].cost()  # warm
    costs: dict[str, list[Cost]] = {name: [] for name in ways}
    spends: dict[str, list[Spend]] = {name: [] for name in ways}
    for i in range(rounds):
        for name in [*list(ways)[i % 3 :], *list(ways)[: i % 3]]:
            cost, spend = ways[name].cost()
            costs[name].append(cost)
            spends[name].append(spend)
            print(f"round {i}, {name}: {cost.seconds:.1f} s, {cost.cpu:.1f} s of CPU", flush=True)
    backend.close()
    print(f"{engine}: {len(asks)} asks of {spends['prefix'][0].tokens_in / len(asks):.0f} tokens, {rounds} rounds")
    for name in ways:
        cached = statistics.median(s.tokens_cached / s.tokens_in for s in spends[name])
        decoded = statistics.median(s.tokens_out / s.calls for s in spends[name])
        rate = statistics.median(len(asks) / c.seconds for c in costs[name])
        cpu = statistics.median(1000 * c.cpu / len(asks) for c in costs[name])
        print(f"  {name}: {cached:.1%} cached, {decoded:g} decoded, {rate:.2f} a second, {cpu:.0f} ms of CPU each")
    for what, of, to in (("prefix against random", "random", "prefix"), ("share of the engine's", "alone", "prefix")):
        by_clock = [a.seconds / b.seconds for a, b in zip(costs[of], costs[to], strict=True)]
        by_cpu = [a.cpu / b.cpu for a, b in zip(costs[of], costs[to], strict=True)]
        print(f"  {what}: {told('by time', by_clock)}, {told('by CPU time', by_cpu)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
