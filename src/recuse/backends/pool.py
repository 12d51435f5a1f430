"""Drives a `send` function over calls with threads: bounded look-ahead, retries, rate limits, replies as they come.

All decisions are taken in the consumer's thread; workers only send. So the input is iterated in one thread, no state
needs a lock, and a run ends cleanly when its input does: replies in flight are still yielded.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from random import Random
from threading import Thread

from recuse.backends.base import Options, Send
from recuse.backends.limits import Concurrency, RateLimit
from recuse.backends.retry import Breaker, RetryPolicy, unanswered
from recuse.errors import BadRequest, Incomplete, TransientError
from recuse.types import Call, Reply

_RESUME = "Run the same command again to resume."
# Calls begun and not yet answered, per slot: enough that waiting calls leave slots to others, and memory stays flat.
_LOOK_AHEAD = 4
_WAKE = 1.0  # seconds: Ctrl-C that comes just before the wait for a reply begins does not end it, and is seen then


def run(
    send: Send,
    calls: Iterable[Call],
    *,
    options: Options,
    concurrency: int = 8,
    policy: RetryPolicy | None = None,
    breaker: Breaker | None = None,
    rng: Random | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Reply]:
    """Yield one reply a call, as they complete.

    `concurrency` is the default where `options` names none; 1 uses no thread.
    `send` raises TransientError for what may be tried again and BadRequest for a call that is rejected for good (it
    becomes a reply with finish "error"); any other exception ends the run at once. Raises Incomplete at the end when
    calls stayed unanswered, or when the provider seems down. Closing the generator abandons the calls in flight.
    """
    pool = _Pool(
        send,
        iter(calls),
        gate=Concurrency(options.concurrency if options.concurrency is not None else concurrency),
        rate=RateLimit(requests_per_minute=options.requests_per_minute, tokens_per_minute=options.tokens_per_minute),
        policy=policy or RetryPolicy(max_attempts=options.max_attempts),
        breaker=breaker or Breaker(),
        rng=rng or Random(),
        clock=clock,
        sleep=sleep,
    )
    try:
        yield from pool.replies()
    finally:
        pool.stop()


@dataclass(slots=True)
class _Task:
    call: Call
    tokens: float = 0.0  # expected, where tokens are limited
    faults: int = 0
    throttles: int = 0
    number: int = 0  # of its latest start


@dataclass
class _Pool:
    send: Send
    calls: Iterator[Call]
    gate: Concurrency
    rate: RateLimit
    policy: RetryPolicy
    breaker: Breaker
    rng: Random
    clock: Callable[[], float]
    sleep: Callable[[float], None]

    def __post_init__(self) -> None:
        self._todo: SimpleQueue[_Task | None] = SimpleQueue()
        self._done: SimpleQueue[tuple[_Task, Reply | BaseException]] = SimpleQueue()
        self._threads = 0
        self._flying = 0
        self._waiting: list[tuple[float, int, _Task]] = []  # a heap: due time, then order of arrival
        self._ended = False  # the input has no more calls, or the provider is down
        self._unanswered = 0
        self._last_error: TransientError | None = None

    def replies(self) -> Iterator[Reply]:
        down = False
        while True:
            self._start_what_may()
            if self._ended and not self._flying and not self._waiting:
                break
            landed = self._land()
            if landed is None:
                continue
            task, outcome = landed
            if isinstance(outcome, Reply):
                self._answered(task, outcome)
                yield outcome
            elif isinstance(outcome, BadRequest):
                self._answered(task, None)
                yield Reply(key=task.call.key, text="", finish="error", error=str(outcome))
            elif isinstance(outcome, TransientError):
                if self._failed(task, outcome) or down:
                    down = self._ended = True
                    self._last_error = outcome
                    self._unanswered += len(self._waiting)
                    self._waiting.clear()
            else:
                raise outcome
        if self._unanswered:
            what = unanswered(self._unanswered, f"last error: {self._last_error}")
            if down:
                what = f"The provider seems down: {self.breaker.row} calls in a row failed. {what}"
            raise Incomplete(what, hint=_RESUME)

    def stop(self) -> None:
        for _ in range(self._threads):
            self._todo.put(None)

    def _start_what_may(self) -> None:
        while self._flying < self.gate.limit:
            now = self.clock()
            if now < self.rate.free_at:
                return
            if self._waiting and self._waiting[0][0] <= now:
                task = heapq.heappop(self._waiting)[2]
            elif self._may_take():
                call = next(self.calls, None)
                if call is None:
                    self._ended = True
                    return
                task = _Task(call, _expected_tokens(call) if self.rate.counts_tokens else 0.0)
            else:
                return
            self.rate.charge(now, tokens=task.tokens)
            self._start(task)

    def _may_take(self) -> bool:
        return not self._ended and self._flying + len(self._waiting) < self.gate.most * _LOOK_AHEAD

    def _start(self, task: _Task) -> None:
        task.number = self.gate.start()
        self._flying += 1
        if self.gate.most == 1:
            self._done.put((task, _attempt(self.send, task.call)))
            return
        if self._flying > self._threads:
            self._threads += 1
            # Daemon threads: an interrupted run must not wait for calls in flight at exit.
            Thread(target=_work, args=(self.send, self._todo, self._done), daemon=True, name="recuse-call").start()
        self._todo.put(task)

    def _land(self) -> tuple[_Task, Reply | BaseException] | None:
        """The next outcome; None when it is time to look again whether a call may start."""
        wait = self._until_next_start()
        if self._flying:
            try:
                task, outcome = self._done.get(timeout=_WAKE if wait is None else min(wait, _WAKE))
            except Empty:
                return None
            self._flying -= 1
            return task, outcome
        if wait:
            self.sleep(wait)
        return None

    def _until_next_start(self) -> float | None:
        """Seconds until a call may start that may not now; None when only a landing can change that."""
        if self._flying >= self.gate.limit or not (self._waiting or self._may_take()):
            return None
        start = self.rate.free_at if self._may_take() else max(self.rate.free_at, self._waiting[0][0])
        return max(0.0, start - self.clock())

    def _answered(self, task: _Task, reply: Reply | None) -> None:
        self.breaker.answer(self.clock())
        self.gate.answer()
        if task.tokens and reply is not None and reply.tokens_in is not None and reply.tokens_out is not None:
            self.rate.correct(reply.tokens_in + reply.tokens_out - task.tokens)

    def _failed(self, task: _Task, error: TransientError) -> bool:
        """Queue another try of the call or give it up; True when the provider counts as down."""
        now = self.clock()
        down = False
        if error.throttled:
            task.throttles += 1
            self.gate.throttle(task.number)
        else:
            task.faults += 1
            down = self.breaker.fault(now)
        wait = self.policy.wait(error, faults=task.faults, throttles=task.throttles, row=self.breaker.row, rng=self.rng)
        if wait is None:
            self._unanswered += 1
            self._last_error = error
        else:
            heapq.heappush(self._waiting, (now + wait, task.number, task))
        return down


def _attempt(send: Send, call: Call) -> Reply | Exception:
    try:
        return send(call)
    except Exception as error:  # noqa: BLE001 - handed to `replies`, which decides or raises it
        return error


def _work(send: Send, todo: SimpleQueue[_Task | None], done: SimpleQueue[tuple[_Task, Reply | BaseException]]) -> None:
    while (task := todo.get()) is not None:
        try:
            done.put((task, _attempt(send, task.call)))
        except BaseException as error:  # noqa: BLE001 - SystemExit in a user's callable must not leave the run waiting
            done.put((task, error))


def _expected_tokens(call: Call) -> float:
    """Four characters a token, plus the limit of the reply, which providers book in advance."""
    return sum(len(m.content) for m in call.ask.messages) / 4 + call.ask.sampling.max_tokens
