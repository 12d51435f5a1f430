"""When a failed call is sent again, and what is said of those without an answer. Pure: no clock, no sleep, no state."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from recuse.errors import TransientError

# A rate limit is no fault of the call: it may be met this many times as often as a fault before the call is given up.
_PATIENCE = 5


def unanswered(asks: int, why: str) -> str:
    """How a run ends in which `asks` calls were given up. `why` says of them all, or of the last, what happened."""
    return f"{asks:,} {'ask' if asks == 1 else 'asks'} stayed unanswered: {why}"


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """`max_attempts` faults, or five times as many rate limits, end a call. Seconds throughout."""

    max_attempts: int = 8
    first: float = 0.5  # upper bound of the first wait
    longest: float = 60.0  # upper bound of any wait that we choose
    longest_asked: float = 600.0  # a provider that asks for more, such as a daily quota, is not waited for

    def wait(self, error: TransientError, *, faults: int, throttles: int, row: int, rng: Random) -> float | None:
        """Seconds until the next try; None when the call is given up.

        `faults` and `throttles` count this call's failures so far, this one included; `row` the faults of all calls
        since the last answer to any. Retry-After is honoured, with a tenth on top at most, so that calls refused
        together do not return together; else the wait is uniform between 0 and an exponential bound ("full jitter",
        Brooker, AWS Architecture Blog, 2015). The bound grows with a fault only while nobody gets answers: in a storm
        of independent faults the last call of a thousand waited 16 s without this, in an outage it should.
        """
        if faults >= self.max_attempts or throttles >= self.max_attempts * _PATIENCE:
            return None
        if error.retry_after is not None:
            if error.retry_after > self.longest_asked:
                return None
            return error.retry_after * (1 + 0.1 * rng.random())
        doublings = min(throttles if error.throttled else min(faults, row), 30) - 1
        return rng.uniform(0, min(self.longest, self.first * 2.0**doublings))


@dataclass(slots=True)
class Breaker:
    """Notices a provider that is down, so that a run ends instead of trying every ask in vain.

    Down means `faults` faults in a row without an answer between them, and either none ever came (a wrong address, a
    server not started) or the last one lies `seconds` back. Rate limits come from a live provider and do not count.
    """

    faults: int = 50
    seconds: float = 60.0
    row: int = 0
    last_answer: float | None = None

    def answer(self, now: float) -> None:
        self.row = 0
        self.last_answer = now

    def fault(self, now: float) -> bool:
        """Count one fault; True when the provider counts as down."""
        self.row += 1
        return self.row >= self.faults and (self.last_answer is None or now - self.last_answer >= self.seconds)
