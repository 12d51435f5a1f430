"""A judge that answers at once, for tests of the loop around it: each reply is a function of the request alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from recuse.backends.base import Capabilities
from recuse.types import Ask, Call, Message, Reply, Sampling


class Instant:
    """Counts what it was sent. `answer` maps a call to a reply text; `shuffle` reverses every block of ten."""

    def __init__(self, answer: Callable[[Call], str] = lambda call: "A", *, name: str = "fake/instant") -> None:
        self.name = name
        self.capabilities = Capabilities(temperature=False)
        self.answer = answer
        self.sent: list[str] = []

    def body(self, ask: Ask) -> dict[str, Any]:
        return {"messages": [[m.role, m.content] for m in ask.messages]}

    def generate(self, calls: Iterable[Call]) -> Iterator[Reply]:
        for call in calls:
            self.sent.append(call.key)
            yield Reply(call.key, self.answer(call), tokens_in=10, tokens_out=1)

    def versions(self) -> dict[str, str]:
        return {"instant": "1"}

    def close(self) -> None:
        pass


class Backwards(Instant):
    """The same replies in another order: blocks of ten, each reversed."""

    def generate(self, calls: Iterable[Call]) -> Iterator[Reply]:
        block: list[Call] = []
        for call in calls:
            block.append(call)
            if len(block) == 10:
                yield from super().generate(reversed(block))
                block = []
        yield from super().generate(reversed(block))


def make_ask(pair: str, *, text: str | None = None, repeat: int = 0, max_tokens: int = 4) -> Ask:
    message = Message("user", text if text is not None else f"question {pair}")
    return Ask(pair, "AB", (message,), Sampling(max_tokens=max_tokens), "prompt", ("A", "B"), repeat=repeat)
