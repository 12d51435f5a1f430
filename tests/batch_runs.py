"""One run folder over several sessions in batches, and what may end a session."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from batch_world import Asked, BatchServer

from recuse.backends import open_backend, progress_of
from recuse.backends.base import Options
from recuse.batches import Batches
from recuse.errors import Interrupted
from recuse.judge import Answered, Spend, judge
from recuse.ledger import Ledger
from recuse.prices import Price
from recuse.types import Ask, Message, Sampling


def make_asks(n: int, *, first: int = 0, **sampling: Any) -> list[Ask]:
    settings = Sampling(**{"temperature": 0.0, "max_tokens": 9, **sampling})
    return [
        Ask(f"p{i}", "AB", (Message("user", f"Which of {i}? é\u2028"),), settings, "h") for i in range(first, first + n)
    ]


def said(body: dict[str, Any]) -> str:
    """A reply that tells which request it answers."""
    return f"reply to {body['messages'][-1]['content']}"


class Run:
    """One run folder over several sessions, each with a backend of its own, as separate processes would have."""

    def __init__(self, folder: Path, server: BatchServer, way: str) -> None:
        self.folder, self.server, self.way = folder, server, way
        self.stop, self.told, self.spend = threading.Event(), [], Spend()  # type: ignore[var-annotated]

    def session(
        self, asks: list[Ask], *, batch: bool = True, price: Price | None = None, **options: Any
    ) -> list[Answered]:
        url = self.server.openai_url if self.way == "openai" else self.server.url
        given = Options(base_url=url, batch=batch, **{"timeout": 5.0, **options})
        backend, self.spend = open_backend(f"{self.way}/judge", given), Spend()
        ledger = Ledger(self.folder / "ledger.sqlite", judge=backend.name)
        try:
            found = list(
                judge(
                    lambda: asks, backend, ledger, spend=self.spend, stop=self.stop, price=price,
                    on_reply=lambda spend: self.told.append(progress_of(backend)),
                )
            )  # fmt: skip
        finally:
            backend.close()
            ledger.close()
        for one in found:
            wanted = f"reply to {one.ask.messages[-1].content}"
            assert one.reply.text == wanted, f"{one.reply.text!r} instead of {wanted!r}"
        assert {one.ask.pair for one in found} == {ask.pair for ask in asks}
        return found

    @property
    def states(self) -> list[str]:
        return [noted.state for noted in Batches(self.folder / "ledger.sqlite", judge="").all()]


def once(server: BatchServer, n: int) -> bool:
    """Whether each of `n` requests was paid for once."""
    return sorted(server.paid.values()) == [1] * n


def dies(run: Run, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that ends without another word at the function `where`."""

    def power_cut(*_: object, **__: object) -> None:
        raise RuntimeError("power cut")

    with monkeypatch.context() as context:
        context.setattr(where, power_cut)
        with pytest.raises(RuntimeError, match="power cut"):
            run.session(make_asks(7))


def left_open(run: Run, n: int) -> None:
    """A session that is stopped while its batch is at work; the batch ends after it."""

    def look(asked: Asked) -> None:
        if asked.method == "GET":
            run.stop.set()

    run.server.looks, run.server.lost = 10_000, look
    with pytest.raises(
        Interrupted, match=rf"1 batch with {n - 1} calls at .* go on.*ledger batches {run.folder} --cancel"
    ):
        run.session(make_asks(n))
    run.stop.clear()
    run.server.looks, run.server.lost = 0, lambda asked: None
