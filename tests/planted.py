"""Simulated audits of judges whose biases are known: the real flow from pairs to findings, without files."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from recuse.asks import Design, make_asks
from recuse.audits import Table
from recuse.backends import open_backend
from recuse.judge import Answered
from recuse.judgements import judgements
from recuse.prompts import load_prompt
from recuse.types import Call, Pair, Sampling

PROMPT = load_prompt("pairwise/label")
DESIGN = Design(PROMPT, Sampling(temperature=None, max_tokens=4))


def draw_pairs(rng: Random, n: int, *, largest_group: int = 1) -> list[Pair]:
    """`n` pairs whose answers have random lengths; groups of 1 to `largest_group` pairs. Every call draws new pairs."""
    salt, pairs, group = rng.getrandbits(64), [], 0
    while len(pairs) < n:
        group += 1
        for _ in range(rng.randint(1, largest_group)):
            name = f"{salt:x}-{len(pairs)}"
            chosen, rejected = "c" * rng.randint(10, 40), "r" * rng.randint(10, 40)
            pairs.append(Pair(name, f"q {salt:x} {group}", chosen, rejected, f"{salt:x}-g{group}"))
    return pairs[:n]


def audited(judge: str, pairs: list[Pair]) -> Table:
    """The judgements of `judge` on `pairs` in both orders, as the audits take them."""
    backend = open_backend(judge)
    calls = [Call(str(i), ask, {}) for i, ask in enumerate(make_asks(pairs, DESIGN))]
    asks = {call.key: call.ask for call in calls}

    def answered() -> Iterator[Answered]:
        for reply in backend.generate(calls):
            yield Answered(asks[reply.key], reply, fresh=True)

    found = list(judgements(answered(), PROMPT.spec, {p.id: p.group for p in pairs}))
    return Table.build(found, lengths={p.id: (len(p.chosen), len(p.rejected)) for p in pairs})
