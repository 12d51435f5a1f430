"""Simulated audits of judges whose biases are known: the real flow from pairs to findings, without files.

And the fake models asked directly, for tests of what they say.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from random import Random

from recuse.asks import Design, make_asks
from recuse.audits import Table
from recuse.backends import open_backend
from recuse.judge import Answered
from recuse.judgements import judgements
from recuse.prompts import Kind, load_prompt
from recuse.types import Ask, Call, Pair, Reply, Sampling

PROMPT = load_prompt("pairwise/label")
DESIGN = Design(PROMPT, Sampling(temperature=None, max_tokens=4))
_TEXT_KINDS: tuple[Kind, ...] = ("rewrite", "verify", "explain", "extract", "merge")


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


def text_ask(name: str, *, pair: str = "p", arm: str = "original", repeat: int = 0, **values: str) -> Ask:
    """An ask for a text by the shipped prompt `name`; holes that are not given stay empty."""
    prompt = load_prompt(name, kinds=_TEXT_KINDS)
    messages = prompt.fill(**{hole: values.get(hole, "") for hole in prompt.holes})
    return Ask(pair, "text", messages, Sampling(), prompt.hash, schema=prompt.schema, arm=arm, repeat=repeat)


def say_all(model: str, asks: Sequence[Ask]) -> list[Reply]:
    """What a model replies, in the order of the asks."""
    calls = [Call(str(i), ask, {}) for i, ask in enumerate(asks)]
    found = {reply.key: reply for reply in open_backend(model).generate(calls)}
    return [found[call.key] for call in calls]


def say(model: str, ask: Ask) -> str:
    return say_all(model, [ask])[0].text


def near(observed: float, expected: float, n: int) -> bool:
    """Within four binomial standard errors: a right model misses once in 16,000 tries, and the draws are fixed."""
    return abs(observed - expected) < 4 * math.sqrt(max(expected * (1 - expected), 0.01) / n)
