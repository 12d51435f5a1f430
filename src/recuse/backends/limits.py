"""How fast calls may start: a rate in requests and tokens a minute, and a concurrency that adapts to throttling."""

from __future__ import annotations

from recuse.errors import UsageError


class RateLimit:
    """Paces calls evenly. A call may start from `free_at` on, whatever its size, and then pushes `free_at` back.

    Even pacing without bursts keeps any minute within the limit (for tokens: plus the one call that began in it),
    also where a provider enforces its limit over seconds.
    """

    def __init__(self, *, requests_per_minute: float | None, tokens_per_minute: float | None) -> None:
        for name, value in (("requests", requests_per_minute), ("tokens", tokens_per_minute)):
            if value is not None and value <= 0:
                raise UsageError(f"{value} {name} a minute is no rate.", hint="Give a number above 0.")
        self._request = 60.0 / requests_per_minute if requests_per_minute else 0.0  # seconds that one uses up
        self._token = 60.0 / tokens_per_minute if tokens_per_minute else 0.0
        self._requests_free = self._tokens_free = float("-inf")

    @property
    def counts_tokens(self) -> bool:
        return self._token > 0

    @property
    def free_at(self) -> float:
        return max(self._requests_free, self._tokens_free)

    def charge(self, now: float, *, tokens: float = 0.0) -> None:
        """Book one request that starts now, with the tokens it is expected to use."""
        if self._request:
            self._requests_free = max(self._requests_free, now) + self._request
        if self._token:
            self._tokens_free = max(self._tokens_free, now) + tokens * self._token

    def correct(self, tokens: float) -> None:
        """Book the difference between the tokens used and the tokens expected (negative: fewer were used)."""
        self._tokens_free += tokens * self._token


class Concurrency:
    """Calls in flight: halved when the provider throttles, one more after a window of answers, `most` at best.

    A quarter of `most` always stays, since Retry-After already spaces the calls and one hung connection must not
    hold up the rest. Calls that started before the last cut say nothing about the new limit and do not cut again.
    """

    def __init__(self, most: int) -> None:
        if most < 1:
            raise UsageError(f"A concurrency of {most} sends nothing.", hint="Give at least 1.")
        self.most = self.limit = most
        self._least = max(1, most // 4)
        self._answers = 0
        self._started = 0
        self._cut = 0

    def start(self) -> int:
        """The number of the call that starts now; `throttle` wants it back."""
        self._started += 1
        return self._started

    def answer(self) -> None:
        if self.limit < self.most:
            self._answers += 1
            if self._answers >= self.limit:
                self.limit += 1
                self._answers = 0

    def throttle(self, number: int) -> None:
        self._answers = 0
        if number > self._cut:
            self.limit = max(self._least, self.limit // 2)
            self._cut = self._started
