"""When a call is tried again, how fast calls may start, and what HTTP says about waiting: pure rules, no clock."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random

import pytest

from recuse.backends.http import retry_after
from recuse.backends.limits import Concurrency, RateLimit
from recuse.backends.retry import Breaker, RetryPolicy, unanswered
from recuse.errors import TransientError, UsageError

FAULT = TransientError("HTTP 500")
THROTTLED = TransientError("HTTP 429", throttled=True)


def wait(policy: RetryPolicy, error: TransientError, faults: int, throttles: int = 0) -> float | None:
    return policy.wait(error, faults=faults, throttles=throttles, row=faults, rng=Random(1))


def test_retry_after_is_waited_for_and_at_most_a_tenth_longer() -> None:
    asked = TransientError("HTTP 429", retry_after=20.0, throttled=True)
    waits = [RetryPolicy().wait(asked, faults=0, throttles=1, row=0, rng=Random(seed)) for seed in range(200)]
    assert min(waits) >= 20.0
    assert max(waits) <= 22.0
    assert len(set(waits)) == 200  # calls refused together do not return together


def test_backoff_has_full_jitter_under_a_doubling_bound() -> None:
    policy = RetryPolicy(max_attempts=20, first=0.5, longest=60.0)
    rng = Random(7)
    for faults, bound in ((1, 0.5), (2, 1.0), (5, 8.0), (12, 60.0)):
        waits = [policy.wait(FAULT, faults=faults, throttles=0, row=faults + 3, rng=rng) or 0.0 for _ in range(2000)]
        assert 0 <= min(waits) < 0.01 * bound
        assert 0.99 * bound < max(waits) <= bound
        assert (
            abs(sum(waits) / len(waits) - bound / 2) < 4 * bound / (12 * len(waits)) ** 0.5
        )  # uniform: sd = bound/sqrt(12)


def test_backoff_stays_short_while_other_calls_get_answers() -> None:
    waits = [RetryPolicy().wait(FAULT, faults=6, throttles=0, row=1, rng=Random(seed)) or 0.0 for seed in range(500)]
    assert max(waits) <= 0.5


def test_a_call_is_given_up_after_its_attempts() -> None:
    assert wait(RetryPolicy(max_attempts=3), FAULT, faults=2) is not None
    assert wait(RetryPolicy(max_attempts=3), FAULT, faults=3) is None


def test_a_rate_limit_is_met_with_more_patience_than_a_fault() -> None:
    assert wait(RetryPolicy(max_attempts=3), THROTTLED, faults=0, throttles=14) is not None
    assert wait(RetryPolicy(max_attempts=3), THROTTLED, faults=0, throttles=15) is None


def test_a_wait_of_hours_is_not_sat_through() -> None:
    assert (
        wait(RetryPolicy(), TransientError("HTTP 429", retry_after=7200.0, throttled=True), faults=0, throttles=1)
        is None
    )


def test_a_provider_that_never_answered_counts_as_down_after_fifty_faults() -> None:
    breaker = Breaker()
    assert [breaker.fault(0.0) for _ in range(50)] == [False] * 49 + [True]


def test_a_provider_that_answered_gets_a_minute_to_come_back() -> None:
    breaker = Breaker()
    breaker.answer(100.0)
    assert not any(breaker.fault(159.0) for _ in range(500))
    assert breaker.fault(160.0)
    breaker.answer(161.0)
    assert not breaker.fault(500.0)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Sun, 01 Feb 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Sun, 01 Feb 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, now=datetime(2026, 2, 1, 12, 0, 0, tzinfo=UTC)) == seconds


def test_no_minute_holds_more_requests_than_the_limit() -> None:
    limit = RateLimit(requests_per_minute=30, tokens_per_minute=None)
    now, starts = 0.0, []
    for _ in range(200):
        now = max(now, limit.free_at)
        starts.append(now)
        limit.charge(now)
    assert max(sum(t <= s < t + 60 for s in starts) for t in starts) == 30
    assert starts[-1] == pytest.approx(199 * 2.0)


def test_tokens_hold_calls_back_in_proportion_and_estimates_are_corrected() -> None:
    limit = RateLimit(requests_per_minute=None, tokens_per_minute=6000)  # a hundred a second
    limit.charge(0.0, tokens=500)
    assert limit.free_at == pytest.approx(5.0)
    limit.correct(-300)
    assert limit.free_at == pytest.approx(2.0)


def test_concurrency_halves_once_for_calls_that_were_in_flight_together() -> None:
    gate = Concurrency(16)
    numbers = [gate.start() for _ in range(16)]
    for number in numbers:
        gate.throttle(number)
    assert gate.limit == 8
    gate.throttle(gate.start())
    assert gate.limit == 4


def test_concurrency_grows_by_one_for_a_window_of_answers_and_never_above_its_limit() -> None:
    gate = Concurrency(8)
    gate.throttle(gate.start())
    assert gate.limit == 4
    grown = []
    for _ in range(40):
        gate.answer()
        grown.append(gate.limit)
    assert grown[3 - 1] == 4
    assert grown[4 - 1] == 5  # after 4 answers
    assert grown[4 + 5 - 1] == 6  # after 5 more
    assert grown[-1] == 8


def test_a_quarter_of_the_concurrency_always_stays() -> None:
    gate = Concurrency(8)
    for _ in range(20):
        gate.throttle(gate.start())
    assert gate.limit == 2


def test_rates_and_concurrency_of_zero_are_refused() -> None:
    with pytest.raises(UsageError, match="requests a minute"):
        RateLimit(requests_per_minute=0, tokens_per_minute=None)
    with pytest.raises(UsageError, match="sends nothing"):
        Concurrency(0)


def test_one_ask_is_one_ask() -> None:
    assert unanswered(1, "last error: busy") == "1 ask stayed unanswered: last error: busy"
    assert unanswered(12_000, "lost.") == "12,000 asks stayed unanswered: lost."
