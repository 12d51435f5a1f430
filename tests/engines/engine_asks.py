"""Asks for tests of engines, and their replies in the order of the asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from recuse.asks import Design, make_asks
from recuse.backends.base import Backend
from recuse.pairs import load_pairs
from recuse.prompts import load_prompt
from recuse.types import Ask, Call, Message, Reply, Sampling


def label_asks(pairs: int, **sampling: Any) -> list[Ask]:
    """Both orders of the first demo pairs under the shipped label prompt, one token each."""
    chosen = Sampling(**{"max_tokens": 1, "top_logprobs": 20, **sampling})
    return list(make_asks(list(load_pairs("demo"))[:pairs], Design(load_prompt("pairwise/label"), chosen)))


def question(
    text: str,
    *,
    labels: tuple[str, ...] = (),
    schema: Mapping[str, Any] | None = None,
    repeat: int = 0,
    **sampling: Any,
) -> Ask:
    settings = Sampling(**{"max_tokens": 8, **sampling})
    return Ask("pair", "AB", (Message("user", text),), settings, "prompt", labels, schema, repeat=repeat)


def answer(backend: Backend, asks: Sequence[Ask]) -> list[Reply]:
    calls = [Call(str(i), ask, backend.body(ask)) for i, ask in enumerate(asks)]
    replies = {reply.key: reply for reply in backend.generate(calls)}
    assert len(replies) == len(calls)
    return [replies[call.key] for call in calls]
