"""What a user is told of batches that are waited for, or cannot be."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from recuse.backends import http
from recuse.backends.batch import Sent
from recuse.backends.batch_send import RESUME
from recuse.errors import Incomplete, Interrupted, ProviderError, UsageError


@dataclass(frozen=True, slots=True)
class Words:
    """The errors that end a session; `batches` with `calls` are waited for then."""

    site: http.Site
    place: str  # the run folder
    batches: int
    calls: int

    def silent(self, error: Exception) -> Incomplete:
        return Incomplete(f"{self._awaited} at {self.site.where}, which does not answer: {error}", hint=RESUME)

    def stopped(self) -> Interrupted:
        if not self.batches:
            return Interrupted("Stopped by the user.", hint=RESUME)
        return Interrupted(
            f"Stopped by the user; {self._awaited} at {self.site.where} go on.",
            hint="Run the same command again to fetch what came, or end them with "
            f"`recuse ledger batches {self.place} --cancel`.",
        )

    def elsewhere(self, sent: Sent, address: str) -> UsageError:
        """`address`: where the run goes now; empty for the provider's own."""
        first, now = (given or self.site.provider for given in (sent.address, address))
        return UsageError(
            f"A batch of {sent.calls:,} calls was sent to {first} and is open still, and this run goes to {now}.",
            hint=f"Go to {first} again, or give the batch up with `{self._forget(sent)}`: what it holds is then asked, "
            "and paid for, again.",
        )

    def not_ours(self, sent: Sent) -> ProviderError:
        return ProviderError(
            f"The results of the batch {sent.id} at {self.site.where} bear none of the names that its {sent.calls:,} "
            "requests were sent with, so nobody can tell which answers which.",
            hint=f"Leave --batch out there, and give it up with `{self._forget(sent)}`.",
        )

    def gone(self, sent: Sent) -> ProviderError:
        day = datetime.fromtimestamp(sent.at, UTC).date()
        return ProviderError(
            f"{self.site.subject} does not know the batch {sent.id}, or no longer has its results ({sent.calls:,} "
            f"calls, sent on {day}): it was deleted, is too old, or belongs to another key.",
            hint=f"Set the key that it was sent with, or give it up with `{self._forget(sent)}`: what it holds is then "
            "asked, and paid for, again.",
        )

    @property
    def _awaited(self) -> str:
        return f"{counted(self.batches)} with {self.calls:,} calls"

    def _forget(self, sent: Sent) -> str:
        return f"recuse ledger batches {self.place} --forget {sent.own}"


def counted(batches: int) -> str:
    return "1 batch" if batches == 1 else f"{batches:,} batches"
