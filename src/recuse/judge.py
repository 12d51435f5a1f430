"""The one loop: asks -> ledger -> backend -> ledger -> replies. Everything that spends money goes through here."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, compress

from recuse.backends.base import Backend
from recuse.backends.batch import Journaled
from recuse.batches import Batches
from recuse.errors import Incomplete, Interrupted
from recuse.ledger import Ahead, Found, Ledger, key_of
from recuse.prices import Price
from recuse.prompts import canonical
from recuse.types import Ask, Call, Reply

_RESUME = "Run the same command again to resume; nothing that finished is asked twice."
CHARS_PER_TOKEN = 3.0  # low on purpose: a cap on cost must not be passed because text was dense


@dataclass(slots=True)
class Spend:
    """What a run has used. `reused` counts replies found in this run's ledger, `cached` those in a shared cache."""

    calls: int = 0
    reused: int = 0
    cached: int = 0
    failures: int = 0  # replies with finish "error" or "refusal"
    cut: int = 0  # replies that the token limit ended, beyond the single token of a label
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    cost: float = 0.0
    models: dict[str, int] = field(default_factory=dict)  # version that the provider reported -> replies
    notes: dict[str, int] = field(default_factory=dict)
    again: int = 0  # asks whose reply this process has counted before, for another ask or in another phase
    counted: bytearray = field(default_factory=bytearray, repr=False)  # by row of the ledger: whether it was

    @property
    def done(self) -> int:
        return self.calls + self.reused + self.cached + self.again

    def count_once(self, row: int, ask: Ask, reply: Reply, price: Price | None) -> bool:
        """`count` for a row of the ledger, unless it was counted already; whether it was new."""
        if row >= len(self.counted):
            self.counted.extend(bytes(row + 1 - len(self.counted) + 4096))
        if self.counted[row]:
            return False
        self.counted[row] = 1
        self.count(ask, reply, price)
        return True

    def count(self, ask: Ask, reply: Reply, price: Price | None) -> None:
        """Tokens, failures and notes of one reply, whether it was paid for now or in an earlier session of the run."""
        self.failures += reply.finish in ("error", "refusal")
        self.cut += reply.finish == "length" and ask.sampling.max_tokens > 1
        self.tokens_in += reply.tokens_in or 0
        self.tokens_out += reply.tokens_out or 0
        self.tokens_cached += reply.tokens_cached or 0
        if price:
            self.cost += price.of(reply.tokens_in or 0, reply.tokens_out or 0, batched=reply.batched)
        if reply.model:
            self.models[reply.model] = self.models.get(reply.model, 0) + 1
        for note in reply.notes:
            self.notes[note] = self.notes.get(note, 0) + 1


def usage_of(spend: Spend, price: Price | None, seconds: float) -> dict[str, int | float | None]:
    """What a run has used, as its findings tell it."""
    return {
        "calls": spend.calls, "from_ledger": spend.reused, "from_cache": spend.cached, "tokens_in": spend.tokens_in,
        "tokens_out": spend.tokens_out, "tokens_cached": spend.tokens_cached, "cost": spend.cost if price else None,
        "seconds": round(seconds, 1),
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Answered:
    ask: Ask
    reply: Reply
    fresh: bool  # a call of this run, not a hit in a shared cache


def estimate_tokens(ask: Ask) -> tuple[int, int]:
    """Upper guess of (input, output) tokens of one ask, before it is sent."""
    characters = sum(len(m.content) + 12 for m in ask.messages)
    return int(characters / CHARS_PER_TOKEN) + 8, ask.sampling.max_tokens


def judge(
    asks: Callable[[], Iterable[Ask]],
    backend: Backend,
    ledger: Ledger,
    *,
    spend: Spend,
    cache: Ledger | None = None,
    price: Price | None = None,
    max_cost: float | None = None,
    stop: threading.Event | None = None,
    on_reply: Callable[[Spend], None] = lambda spend: None,
) -> Iterator[Answered]:
    """Yield every ask with its reply in no fixed order: first those that the ledger holds, then others as they come.

    `asks` is called once or twice and must give the same asks: those up to the last that the ledger answers are gone
    through first, and made a second time where some of them lack a reply, so that none is held. Each call that is paid
    for is committed to the ledger before it is yielded. Setting `stop` ends the run after the calls in flight.

    Raises Incomplete when the cost cap or `stop` ended the run early, or when asks stayed unanswered.
    """
    run = _Run(backend, ledger, cache, spend, price, max_cost, stop or threading.Event())
    left, lacking = iter(asks()), bytearray()  # by ask: whether the ledger lacks its reply
    if run.watermark:
        known = Ahead(ledger, run.watermark)
        for ask in left:
            if run.stop.is_set():
                raise run.interrupted()
            found = known.find(run.call(ask)[0].key)
            lacking.append(found is None)
            if found is not None:
                yield run.reuse(ask, found)
                on_reply(spend)
                if known.spent:
                    break
    if any(lacking):
        left = chain(compress(asks(), lacking), left)
    if isinstance(backend, Journaled):
        backend.keep_in(Batches(ledger.path, judge=backend.name), stop=run.stop, tell=lambda: on_reply(spend))
    for reply in backend.generate(run.todo(left)):
        yield from run.take(reply)
        yield from run.drain()
        on_reply(spend)
    yield from run.drain()
    if run.ended:
        raise run.ended


class _Run:
    def __init__(
        self,
        backend: Backend,
        ledger: Ledger,
        cache: Ledger | None,
        spend: Spend,
        price: Price | None,
        max_cost: float | None,
        stop: threading.Event,
    ) -> None:
        self.backend, self.ledger, self.cache, self.spend = backend, ledger, cache, spend
        self.price, self.max_cost, self.stop = price, max_cost, stop
        self.waiting: dict[str, list[Ask]] = {}  # asks that share a key are sent once
        self.calls: dict[str, tuple[Call, str]] = {}  # with the request as canonical JSON
        self.found: list[Answered] = []
        self.reserved = 0.0  # what the calls in flight may cost at most
        self.ended: Incomplete | None = None
        self.watermark = ledger.last_row  # rows above it were written by this process

    def call(self, ask: Ask) -> tuple[Call, str]:
        """What is sent for an ask, and the request as canonical JSON."""
        body = self.backend.body(ask)
        text = canonical(body)
        return Call(key_of(self.backend.name, text, ask.prompt, ask.repeat), ask, body), text

    def interrupted(self) -> Interrupted:
        return Interrupted("Stopped by the user.", hint=_RESUME)

    def todo(self, asks: Iterable[Ask]) -> Iterator[Call]:
        for ask in asks:
            if self.stop.is_set():
                self.ended = self.interrupted()
                return
            call, body = self.call(ask)
            if call.key in self.waiting:
                self.waiting[call.key].append(ask)
                continue
            if (known := self.ledger.find(call.key)) is not None:  # the same request as that of an ask before
                if known.row > self.watermark:
                    self.spend.again += 1
                    self.found.append(Answered(ask, known.reply, known.fresh))
                else:
                    self.found.append(self.reuse(ask, known))
                continue
            if self._from_cache(call, body):
                continue
            if not self._afford(ask):
                said = f"Stopped before the cost cap of {self.max_cost:g}: {self.spend.cost:.4f} spent."
                self.ended = Incomplete(said, hint=_RESUME)
                return
            self.waiting[call.key], self.calls[call.key] = [ask], (call, body)
            yield call

    def reuse(self, ask: Ask, found: Found) -> Answered:
        """A row that was written before: paid for in an earlier session, or taken from another run's ledger."""
        if found.fresh and not self.spend.count_once(found.row, ask, found.reply, self.price):
            self.spend.again += 1
        else:
            self.spend.reused += 1
        return Answered(ask, found.reply, found.fresh)

    def _from_cache(self, call: Call, body: str) -> bool:
        hit = self.cache.find(call.key) if self.cache is not None else None
        if hit is None:
            return False
        self.ledger.put(call, hit.reply, fresh=False, body=body)
        self.spend.cached += 1
        self.found.append(Answered(call.ask, hit.reply, fresh=False))
        return True

    def _afford(self, ask: Ask) -> bool:
        if self.max_cost is None or self.price is None:
            return True
        worst = self.price.of(*estimate_tokens(ask))
        if self.spend.cost + self.reserved + worst > self.max_cost:
            return False
        self.reserved += worst
        return True

    def take(self, reply: Reply) -> Iterator[Answered]:
        call, body = self.calls.pop(reply.key)
        row = self.ledger.put(call, reply, body=body)
        if self.cache is not None:
            self.cache.put(call, reply, body=body)
        if self.price and self.max_cost is not None:
            self.reserved -= self.price.of(*estimate_tokens(call.ask))
        self.spend.calls += 1
        self.spend.count_once(row, call.ask, reply, self.price)
        for ask in self.waiting.pop(reply.key):
            yield Answered(ask, reply, fresh=True)

    def drain(self) -> Iterator[Answered]:
        found, self.found = self.found, []
        yield from found
