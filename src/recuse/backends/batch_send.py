"""Hands a file of requests to a provider: patiently, and again only after a look whether the first one arrived."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import IO

from recuse.backends import http
from recuse.backends.batch import Desk, Sent
from recuse.backends.retry import RetryPolicy
from recuse.errors import BadRequest, Incomplete, ProviderError, TransientError, UsageError

_THROTTLES = 3  # times in a row that a file is turned away before it waits for others that are at work
_ARRIVAL = 30.0  # seconds until a batch whose sending seemed to fail is listed: a gateway gives up before its server
_NO_BATCHES = (404, 405, 501)
RESUME = "Run the same command again to resume; what is in a batch is not sent twice."


class TurnedAway(Exception):
    """The provider takes no such file, or none now; nothing was paid for."""

    def __init__(self, error: ProviderError | UsageError, *, later: bool) -> None:
        super().__init__(error)
        self.error = error
        self.later = later  # it may be taken once others have ended, or in smaller files


@dataclass
class Sender:
    """`pause` waits for seconds, or raises when the user stops the run."""

    desk: Desk
    site: http.Site
    policy: RetryPolicy
    pause: Callable[[float], None]
    rng: Random = field(default_factory=Random)

    def send(
        self,
        lines: IO[bytes],
        *,
        sent: Callable[[], Sent],
        keep: Callable[[str], None],
        known: Collection[str],
        alone: bool,
    ) -> tuple[str, bool]:
        """The provider's name of the batch that it made of `lines`, and whether it is surely that.

        After a failure it is looked for among those that the provider lists, without `known`, before it is sent again:
        it may have arrived, unless the provider refused it for now. `sent` is asked for what is known of it then,
        `alone`: no other batch is at work, so that it is in vain to wait for one. Raises TurnedAway, or Incomplete
        where it is not known whether it arrived.
        """
        own, throttles, doubt = sent().own, 0, False
        for tries in count(1):
            try:
                return self.desk.send(own, lines, keep), True
            except http.Failed as failed:
                error = self.why(failed)
                if not isinstance(error, TransientError):
                    raise TurnedAway(error, later=failed.status == 413) from None
            except TransientError as fault:
                error = fault
            throttles += error.throttled
            if throttles >= _THROTTLES and not alone:
                raise TurnedAway(error, later=True)
            doubt |= not error.throttled
            self._wait(error, tries, throttles, least=0.0 if error.throttled else _ARRIVAL)
            if doubt and (found := self.find(sent(), known)) is not None:
                return found, self.desk.signs
        raise AssertionError("unreachable")

    def find(self, sent: Sent, known: Collection[str], *, late: bool = False) -> str | None:
        """The provider's name of a batch that may have arrived. `late`: it may be on its way still."""
        for tries in count(1):
            try:
                if (found := self.desk.find(sent, known)) is not None or not late:
                    return found
                self.pause(_ARRIVAL)
                return self.desk.find(sent, known)
            except http.Failed as failed:
                error = self.why(failed)
                if not isinstance(error, TransientError):
                    raise error from None
            except TransientError as fault:
                error = fault
            self._wait(error, tries, tries)
        return None

    def cancel(self, sent: Sent) -> bool:
        """See `Journaled`. Raises what the provider means by a refusal. Never ends a batch that may be another's."""
        if (id := sent.id or (self.find(sent, ()) if self.desk.signs else None)) is None:
            return False
        try:
            self.desk.cancel(id)
        except http.Failed as failed:
            if failed.status in (400, 404, 409):
                return False
            raise self.why(failed) from None
        return True

    def why(self, failed: http.Failed) -> ProviderError | UsageError:
        """Why a file of requests was not taken."""
        if failed.status in _NO_BATCHES:
            return UsageError(
                f"{self.site.subject} takes no batches (HTTP {failed.status}).", hint="Leave --batch out."
            )
        error = http.translate(failed, self.site)
        return (
            ProviderError(f"{self.site.subject} refused a batch: {error}") if isinstance(error, BadRequest) else error
        )

    def _wait(self, error: TransientError, tries: int, throttles: int, *, least: float = 0.0) -> None:
        """Until the next try, `least` seconds or more. Raises Incomplete when there is to be none."""
        wait = self.policy.wait(error, faults=tries, throttles=throttles, row=tries, rng=self.rng)
        if wait is None:
            raise Incomplete(f"A batch could not be sent: {error}", hint=RESUME)
        self.pause(max(wait, least))
