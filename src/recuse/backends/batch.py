"""The nouns of provider batches: a file of requests, what the journal knows of it, what a provider says of it."""

from __future__ import annotations

import json
import secrets
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from threading import Event
from typing import IO, Any, Protocol, runtime_checkable

from recuse.backends.http import Failed, Settings, room
from recuse.types import Call


@dataclass(frozen=True, slots=True)
class Sent:
    """A batch as the journal knows it."""

    own: str  # our name of it, 16 hex digits; part of the custom id of each of its requests
    at: float  # when it was about to be sent, seconds since the epoch
    calls: int
    address: str  # of the server, as the user gave it; empty for the provider's own
    refused: tuple[str, ...]  # settings that the requests went without, since the provider refuses them
    file: str | None = None  # the provider's name of the uploaded requests, where they are uploaded
    id: str | None = None  # the provider's name of the batch; None: it may have arrived or not
    keys: frozenset[str] = frozenset()  # of its calls that have no reply in the ledger


class Journal(Protocol):
    """What is kept of batches beside the ledger's replies; each method commits before it returns."""

    @property
    def place(self) -> str:
        """The run folder, for a sentence to the user."""
        ...

    def open(self) -> list[Sent]:
        """Batches that were not closed, oldest first."""
        ...

    def intend(self, own: str, keys: Collection[str], *, address: str, refused: Collection[str]) -> Sent:
        """Keep a batch that is about to be sent."""
        ...

    def name(self, own: str, *, file: str | None = None, id: str | None = None) -> None:
        """Keep what the provider calls its file or the batch."""
        ...

    def close(self, own: str, state: str) -> None:
        """Keep that nothing of it is awaited any more, and why."""
        ...


@runtime_checkable
class Journaled(Protocol):
    """A backend that may have calls under way when its process ends."""

    def keep_in(self, journal: Journal, *, stop: Event, tell: Callable[[], None]) -> None:
        """To be called before `generate`. Setting `stop` ends the wait; `tell` is called before anything is sent, and
        whenever the backend's `progress` says something new."""
        ...

    def cancel(self, sent: Sent) -> bool:
        """Tell the provider to end a batch; False where it has none that is surely this one, or it has ended."""
        ...


@dataclass(frozen=True, slots=True)
class State:
    """What a provider says of a batch."""

    id: str
    ended: bool
    cancelled: bool = False  # it was told to end, and has ended or will
    lost: bool = False  # its results are no longer kept
    refused: Failed | None = None  # why it took none of the requests
    files: tuple[str, ...] = ()  # where its results are


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a batch's results: the body of a reply, an error, or the reason why there is neither."""

    name: str  # custom id
    body: dict[str, Any] | None = None
    failed: Failed | None = None
    unasked: str = ""  # "expired", "cancelled"


class Desk(Protocol):
    """A provider's endpoints for batches. Its methods raise Failed as the provider said it, or TransientError."""

    most_calls: int
    most_bytes: int
    signs: bool  # whether its batches bear our name, so that one that `find` gives is surely ours

    def line(self, name: str, body: Mapping[str, Any]) -> bytes:
        """One request as it stands in the file, with its end."""
        ...

    def send(self, own: str, lines: IO[bytes], keep: Callable[[str], None]) -> str:
        """Send the requests; gives the provider's name of the batch. `keep` is told that of the file before."""
        ...

    def find(self, sent: Sent, known: Collection[str]) -> str | None:
        """The provider's name of a batch that may have arrived, where it lists one that may be this; none of
        `known`."""
        ...

    def look(self, id: str) -> State: ...

    def rows(self, state: State) -> Iterator[Row | None]:
        """The results of a batch that ended, in any order; None for a line that cannot be read."""
        ...

    def cancel(self, id: str) -> None: ...


class Pack:
    """Requests that will go out as one file, within the provider's limits; the lines lie on disk."""

    def __init__(self, desk: Desk, settings: Settings, *, most_calls: int) -> None:
        self.own = secrets.token_hex(8)
        self.calls: dict[str, Call] = {}
        self.refused = settings.refused
        with room():
            self._lines: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        self._desk, self._settings, self._most = desk, settings, min(most_calls, desk.most_calls)
        self._bytes = 0

    def add(self, call: Call) -> bool:
        """Take one more request; False where it belongs into another file. The first one is always taken.

        Raises Incomplete where the disk is full, as `whole` does.
        """
        line = self._desk.line(custom_id(call.key, self.own), self._settings.apply(call.body, self.refused))
        if self.calls and (len(self.calls) >= self._most or self._bytes + len(line) > self._desk.most_bytes):
            return False
        self.calls[call.key] = call
        self._bytes += len(line)
        with room():
            self._lines.write(line)
        return True

    def whole(self) -> IO[bytes]:
        """The requests, all of them on disk."""
        with room():
            self._lines.flush()
        return self._lines

    def close(self) -> None:
        with suppress(OSError):  # a full disk was told before
            self._lines.close()


def custom_id(key: str, own: str) -> str:
    """The name of a request in its batch, 49 characters: whose it is, and which batch of ours it came in."""
    return f"{key}-{own}"


def dumps(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


def objects(lines: IO[bytes]) -> Iterator[dict[str, Any] | None]:
    """The JSON object of each line that is not blank; None for a line that holds none."""
    for line in lines:
        if line.strip():
            try:
                value = json.loads(line)
            except ValueError:
                value = None
            yield value if isinstance(value, dict) else None
