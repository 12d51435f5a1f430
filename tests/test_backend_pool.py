"""The pool: every call answered once, look-ahead bounded, faults retried, a clean end in every way a run can end."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from recuse.backends import pool
from recuse.backends.base import Options
from recuse.backends.retry import Breaker, RetryPolicy
from recuse.errors import AuthError, BadRequest, Incomplete, TransientError
from recuse.types import Ask, Call, Message, Reply, Sampling

QUICK = RetryPolicy(max_attempts=5, first=0.001, longest=0.002)


def make_call(number: int) -> Call:
    return Call(str(number), Ask("p", "AB", (Message("user", "x" * 40),), Sampling(max_tokens=10), "h"), {})


def make_calls(n: int) -> Iterator[Call]:
    return (make_call(i) for i in range(n))


def echo(call: Call) -> Reply:
    return Reply(call.key, f"text {call.key}")


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize("concurrency", [1, 2, 8])
def test_every_call_is_answered_once(concurrency: int) -> None:
    replies = list(pool.run(echo, make_calls(500), options=Options(concurrency=concurrency)))
    assert {r.key: r.text for r in replies} == {str(i): f"text {i}" for i in range(500)}
    assert len(replies) == 500


def test_a_concurrency_of_one_uses_no_thread() -> None:
    threads = set()
    list(
        pool.run(
            lambda c: (threads.add(threading.current_thread()), echo(c))[1],
            make_calls(5),
            options=Options(concurrency=1),
        )
    )
    assert threads == {threading.main_thread()}


def test_the_input_is_iterated_in_the_consumers_thread() -> None:
    threads = set()

    def calls() -> Iterator[Call]:
        for call in make_calls(20):
            threads.add(threading.current_thread())
            yield call

    list(pool.run(echo, calls(), options=Options(concurrency=4)))
    assert threads == {threading.current_thread()}


def test_look_ahead_and_calls_in_flight_are_bounded() -> None:
    lock, flying, most = threading.Lock(), 0, 0

    def send(call: Call) -> Reply:
        nonlocal flying, most
        with lock:
            flying += 1
            most = max(most, flying)
        time.sleep(0.002)
        with lock:
            flying -= 1
        return echo(call)

    taken = 0

    def calls() -> Iterator[Call]:
        nonlocal taken
        for call in make_calls(10_000):
            taken += 1
            yield call

    replies = pool.run(send, calls(), options=Options(concurrency=3))
    for _ in range(30):
        next(replies)
    replies.close()
    assert most == 3
    assert taken <= 30 + 4 * 3


def test_replies_come_as_they_complete() -> None:
    release = threading.Event()

    def send(call: Call) -> Reply:
        if call.key == "0":
            assert release.wait(10)
        return echo(call)

    order = []
    for reply in pool.run(send, make_calls(6), options=Options(concurrency=2)):
        order.append(reply.key)
        if len(order) == 5:
            release.set()
    assert sorted(order[:5]) == ["1", "2", "3", "4", "5"]
    assert order[5] == "0"


@pytest.mark.parametrize("concurrency", [1, 4])
def test_transient_errors_are_tried_again_and_leave_no_trace(concurrency: int) -> None:
    tries: Counter[str] = Counter()

    def send(call: Call) -> Reply:
        tries[call.key] += 1
        if tries[call.key] <= int(call.key) % 4:
            raise TransientError("HTTP 500")
        return echo(call)

    replies = list(pool.run(send, make_calls(40), options=Options(concurrency=concurrency), policy=QUICK))
    assert {r.key: r.text for r in replies} == {str(i): f"text {i}" for i in range(40)}
    assert tries == {str(i): i % 4 + 1 for i in range(40)}


def test_a_call_rejected_for_good_is_a_reply_and_the_run_goes_on() -> None:
    sent = Counter[str]()

    def send(call: Call) -> Reply:
        sent[call.key] += 1
        if call.key == "2":
            raise BadRequest("HTTP 400: too long", kind="context_too_long")
        return echo(call)

    replies = {r.key: r for r in pool.run(send, make_calls(5), options=Options(concurrency=2))}
    assert len(replies) == 5
    assert (replies["2"].finish, replies["2"].text, replies["2"].error) == ("error", "", "HTTP 400: too long")
    assert sent["2"] == 1


@pytest.mark.parametrize("concurrency", [1, 4])
def test_calls_that_stay_unanswered_are_counted_after_all_others_were_yielded(concurrency: int) -> None:
    def send(call: Call) -> Reply:
        if call.key in ("3", "7"):
            raise TransientError(f"HTTP 503 for {call.key}")
        return echo(call)

    keys: list[str] = []
    run = pool.run(send, make_calls(10), options=Options(concurrency=concurrency), policy=QUICK)
    with pytest.raises(Incomplete, match=r"2 asks stayed unanswered: last error: HTTP 503 .* to resume") as caught:
        keys.extend(reply.key for reply in run)
    assert sorted(keys) == ["0", "1", "2", "4", "5", "6", "8", "9"]
    assert caught.value.exit_code == 4


def test_a_wrong_key_ends_the_run_at_once() -> None:
    sent = []

    def send(call: Call) -> Reply:
        sent.append(call.key)
        raise AuthError("wrong key")

    with pytest.raises(AuthError, match="wrong key"):
        list(pool.run(send, make_calls(1000), options=Options(concurrency=4)))
    assert len(sent) <= 4


def test_an_error_in_send_is_raised_as_it_is() -> None:
    def send(call: Call) -> Reply:
        raise KeyError("a programmer's mistake")

    for concurrency in (1, 3):
        with pytest.raises(KeyError, match="programmer"):
            list(pool.run(send, make_calls(9), options=Options(concurrency=concurrency)))


def test_system_exit_in_a_worker_does_not_leave_the_run_waiting() -> None:
    def send(call: Call) -> Reply:
        sys.exit(3)

    with pytest.raises(SystemExit):
        list(pool.run(send, make_calls(9), options=Options(concurrency=3)))


def test_a_provider_that_is_down_ends_the_run_long_before_every_ask_was_tried() -> None:
    sent = 0

    def send(call: Call) -> Reply:
        nonlocal sent
        sent += 1
        raise TransientError("connection refused")

    clock = Clock()
    run = pool.run(send, make_calls(100_000), options=Options(concurrency=1), clock=clock, sleep=clock.sleep)
    with pytest.raises(Incomplete, match=r"seems down: 50 calls in a row failed.*connection refused"):
        list(run)
    assert sent == 50
    assert (
        clock.now < 600
    )  # seconds, by jittered waits; measured 80 to 140, where 100,000 asks with a dozen tries each would take weeks


def test_replies_in_flight_are_yielded_when_the_provider_goes_down() -> None:
    go = threading.Event()

    def send(call: Call) -> Reply:
        if call.key == "0":
            assert go.wait(10)
            return echo(call)
        raise TransientError("HTTP 500")

    replies: list[str] = []
    threading.Timer(0.3, go.set).start()
    run = pool.run(send, make_calls(100), options=Options(concurrency=4), policy=QUICK, breaker=Breaker(faults=10))
    with pytest.raises(Incomplete, match="seems down"):
        replies.extend(reply.key for reply in run)
    assert replies == ["0"]


def test_a_throttled_call_waits_without_holding_a_slot() -> None:
    tries: Counter[str] = Counter()
    clock = Clock()

    def send(call: Call) -> Reply:
        tries[call.key] += 1
        if call.key == "0" and tries["0"] == 1:
            raise TransientError("HTTP 429", retry_after=30.0, throttled=True)
        clock.now += 1.0
        return echo(call)

    order = [
        r.key for r in pool.run(send, make_calls(4), options=Options(concurrency=1), clock=clock, sleep=clock.sleep)
    ]
    assert order == ["1", "2", "3", "0"]
    assert 30.0 <= clock.now - 1.0 <= 33.0


def test_requests_a_minute_are_kept() -> None:
    clock, starts = Clock(), []

    def send(call: Call) -> Reply:
        starts.append(clock.now)
        return echo(call)

    options = Options(concurrency=1, requests_per_minute=120)
    assert len(list(pool.run(send, make_calls(50), options=options, clock=clock, sleep=clock.sleep))) == 50
    assert starts == pytest.approx([i * 0.5 for i in range(50)])


def test_tokens_a_minute_are_kept_by_what_calls_really_used() -> None:
    clock, starts = Clock(), []

    def send(call: Call) -> Reply:
        starts.append(clock.now)
        return Reply(call.key, "A", tokens_in=45, tokens_out=5)  # expected: 40 / 4 + 10 = 20

    options = Options(concurrency=1, tokens_per_minute=600)  # ten a second, so five seconds a call
    list(pool.run(send, make_calls(10), options=options, clock=clock, sleep=clock.sleep))
    assert starts == pytest.approx([5.0 * i for i in range(10)])


def test_ending_the_input_ends_the_run_with_every_reply_in_flight() -> None:
    stop = threading.Event()

    def calls() -> Iterator[Call]:
        for call in make_calls(1000):
            if stop.is_set():
                return
            yield call

    sent, answered = [], []

    def send(call: Call) -> Reply:
        sent.append(call.key)
        time.sleep(0.005)
        return echo(call)

    for reply in pool.run(send, calls(), options=Options(concurrency=4)):
        answered.append(reply.key)
        if len(answered) == 10:
            stop.set()
    assert sorted(answered) == sorted(sent)
    assert len(answered) <= 14


def test_closing_hands_out_nothing_more_and_waits_for_nobody() -> None:
    block, sent = threading.Event(), []

    def send(call: Call) -> Reply:
        sent.append(call.key)
        if call.key != "0":
            block.wait(30)
        return echo(call)

    replies = pool.run(send, make_calls(1000), options=Options(concurrency=4))
    next(replies)
    started = time.monotonic()
    replies.close()
    assert time.monotonic() - started < 1.0
    block.set()
    time.sleep(0.1)
    assert len(sent) <= 5
    left = [t for t in threading.enumerate() if t.name == "recuse-call" and t.is_alive()]
    for thread in left:
        thread.join(5)
    assert not [t for t in threading.enumerate() if t.name == "recuse-call"]


def test_an_interrupt_ends_the_process_though_calls_hang() -> None:
    script = """
import os, signal, threading, time
from recuse.backends import pool
from recuse.backends.base import Options
from recuse.types import Ask, Call, Message, Sampling
ask = Ask("p", "AB", (Message("user", "x"),), Sampling(), "h")
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    list(pool.run(lambda call: time.sleep(60), (Call(str(i), ask, {}) for i in range(9)), options=Options()))
except KeyboardInterrupt:
    print("interrupted")
"""
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == "interrupted\n"
    assert time.monotonic() - started < 15


@pytest.mark.parametrize("concurrency", [1, 8])
def test_the_pool_costs_less_than_a_tenth_of_a_millisecond_a_call(concurrency: int) -> None:
    used = time.process_time()
    assert sum(1 for _ in pool.run(echo, make_calls(20_000), options=Options(concurrency=concurrency))) == 20_000
    assert (time.process_time() - used) / 20_000 < 100e-6
