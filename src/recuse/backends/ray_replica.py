"""One engine in a Ray actor: calls come in by the block, replies go out as a stream."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, TypeVar

from recuse import __version__, errors
from recuse.backends import HEAVY, Backend, Capabilities, Options, open_backend
from recuse.backends.base import public_address
from recuse.types import Ask, Call, Reply

T = TypeVar("T")
Said = tuple[int, list[Reply]]  # calls that the engine has begun since the last word, and the replies that came
GROUPS = {"replies": 1}  # a thread of its own beside that of the actor, which hears orders in their order


@dataclass(frozen=True)
class Facts:
    """What the driver needs to know of a replica's engine, which it cannot open itself."""

    recuse: str  # its version
    versions: Mapping[str, str]
    capabilities: Capabilities
    body: Callable[[Ask], dict[str, Any]] | None  # None: the driver has the backend open itself
    host: str
    address: Mapping[str, str]  # where its calls go, as `address_of` says


class Replica:
    """An engine and a queue for each turn, a turn being one stream of replies.

    All work of the engine happens in one thread of its own, as it would in a process without Ray.
    """

    def __init__(self, name: str, options: Options, folder: str) -> None:
        self._name, self._options, self._folder = name, options, folder
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="recuse-engine")
        self._backend: Backend | None = None
        self._inboxes: dict[int, SimpleQueue[list[Call]]] = {}
        self._halted = -1  # turns up to this one are over

    def facts(self) -> Facts:
        """Open the engine, where that is still to do. Raises what opening it raises."""
        backend = _result(self._thread.submit(self._opened))
        address = address_of(self._name, self._options)
        body = backend.body if self._name.partition("/")[0] in HEAVY else None
        return Facts(__version__, backend.versions(), backend.capabilities, body, os.uname().nodename, address)

    def feed(self, turn: int, block: list[Call]) -> None:
        """Queue calls for a turn; an empty block says that there are no more."""
        if turn > self._halted:
            self._inbox(turn).put(block)

    def halt(self, turn: int) -> None:
        """End a turn, and those before it, whatever they still hold."""
        self._halted = max(self._halted, turn)
        for begun in [n for n in self._inboxes if n <= turn]:
            self._inbox(begun).put([])

    def answer(self, turn: int) -> Iterator[Said]:
        """Ask the engine what `feed` brings for this turn; what is ready together comes together."""
        said: SimpleQueue[int | Reply | None] = SimpleQueue()
        work = self._thread.submit(self._work, turn, said)
        work.add_done_callback(lambda _: said.put(None))
        ended = False
        while not ended:
            news = [said.get()]
            while not said.empty():
                news.append(said.get())
            ended = None in news
            yield sum(n for n in news if isinstance(n, int)), [n for n in news if isinstance(n, Reply)]
        self._inboxes.pop(turn, None)
        _result(work)  # raises what the engine raised

    def _inbox(self, turn: int) -> SimpleQueue[list[Call]]:
        return self._inboxes.setdefault(turn, SimpleQueue())

    def _opened(self) -> Backend:
        if self._backend is None:
            with suppress(OSError):  # relative paths mean the driver's folder, where this machine has it too
                os.chdir(self._folder)
            self._backend = open_backend(self._name, self._options)
        return self._backend

    def _work(self, turn: int, said: SimpleQueue[int | Reply | None]) -> None:
        # A turn that is halted lets go of the engine's generator, which abandons what is in flight.
        for reply in self._opened().generate(self._calls(turn, said)):
            said.put(reply)
            if turn <= self._halted:
                break

    def _calls(self, turn: int, said: SimpleQueue[int | Reply | None]) -> Iterator[Call]:
        """The calls of a turn. Only an engine with nothing to do, or with room for more, waits here for the driver."""
        inbox = self._inbox(turn)
        while turn > self._halted and (block := inbox.get()):
            said.put(len(block))
            yield from block


def address_of(name: str, options: Options) -> dict[str, str]:
    """The address that this machine's environment gives for a provider, by its variable; what was asked for goes first,
    and is the same everywhere."""
    variable = f"{name.partition('/')[0].upper()}_BASE_URL"
    given = None if options.base_url else public_address(os.environ.get(variable))
    return {variable: given} if given else {}


def _result(work: Future[T]) -> T:
    """What `work` came to. An exception of an engine's own class is raised as a RuntimeError that tells of it.

    The driver may lack that class, or be unable to make one again; to Ray this looks like a replica that was lost.
    """
    try:
        return work.result()
    except Exception as error:
        if type(error).__module__ in ("builtins", errors.__name__):
            raise
        raise RuntimeError(f"{type(error).__name__}: {error}") from error
