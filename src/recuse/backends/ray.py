"""The same model on many machines: `ray/3*vllm/MODEL`, or `ray/1-8*vllm/MODEL` for as many as there are, up to eight.

Any backend may stand behind the star. Each replica is a Ray actor with an engine of its own; Ray places the actors,
adds machines where it can, and starts an actor again whose process or machine was lost. Here stays what Ray does not
know: which calls belong together, and who has which of them. Calls go out in blocks that share a prefix, replies come
back as they are ready, and the calls of a lost replica go to the others.

How many machines answer is no part of what was asked: the backend bears the model's own name, and a run that began on
one machine goes on on eight.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from recuse import __version__
from recuse.backends import HEAVY, Backend, Options, open_backend
from recuse.backends.ray_cluster import Cluster, connect
from recuse.backends.ray_replica import GROUPS, Facts, Replica, address_of
from recuse.backends.ray_work import Work
from recuse.errors import Incomplete, ProviderError, RecuseError, UsageError
from recuse.types import Ask, Call, Reply

_ON_GPU = frozenset({"vllm", "hf", "hf-reward"})
_RESTARTS = 8  # of one replica: a machine that breaks whatever it is given must not be tried for ever
_AHEAD = 32  # calls that wait at a replica at most, so that the last ones of a phase are shared out evenly
_WAKE = 1.0  # seconds after which a wait looks up, so that Ctrl-C is seen
_PATIENCE = 30.0  # seconds without enough replicas after which the user is told what is waited for
_log = logging.getLogger(__name__)


def open(model: str, options: Options) -> RayBackend:
    """`options.replicas` engines of `model` ("provider/model"); returns when the fewest of them are ready.

    Raises MissingExtra without Ray, UsageError for a RAY_ADDRESS that nobody answers at, and what opening the model
    raises, here or in a replica.
    """
    assert options.replicas is not None
    fewest, most = options.replicas
    # Limits on the rate hold for all replicas together.
    rpm, tpm = (limit and limit / most for limit in (options.requests_per_minute, options.tokens_per_minute))
    inner = replace(options, replicas=None, requests_per_minute=rpm, tokens_per_minute=tpm)
    # What is cheap to open is opened here too: it forms requests, and what is wrong with the name is said at once.
    own = None if model.partition("/")[0] in HEAVY else open_backend(model, inner)
    try:
        cluster = connect()
    except BaseException:
        if own is not None:
            own.close()
        raise
    backend = RayBackend(model, cluster, own, address=address_of(model, inner))
    try:
        backend.start(inner, fewest=fewest, most=most)
    except BaseException:
        backend.close()
        raise
    return backend


@dataclass(eq=False)
class _Seat:
    """A replica as the driver sees it."""

    actor: Any
    starting: Any  # what will bring its facts; None: it is ready
    stream: Any = None  # its replies; None: it was given nothing
    turn: int = -1
    given: dict[str, Call] = field(default_factory=dict)  # calls without a reply, in the order in which they were given
    waiting: int = 0  # those of them that its engine has not begun
    closed: bool = True  # it was told that this turn brings no more calls
    replies: int = 0

    @property
    def wants(self) -> bool:
        """Whether it may have more: as many calls wait for its engine as are at work in it."""
        return not self.closed and self.waiting < min(max(1, len(self.given) - self.waiting), _AHEAD)


class RayBackend:
    """See `Backend` for the contract of each method. Used from one thread, one `generate` at a time."""

    def __init__(self, model: str, cluster: Cluster, own: Backend | None, *, address: Mapping[str, str]) -> None:
        self.name = model
        self._cluster, self._ray, self._own = cluster, cluster.ray, own
        self._facts: Facts | None = None  # of all replicas
        if own is not None:
            self._facts = Facts(__version__, own.versions(), own.capabilities, own.body, "here", address)
        self._seats: list[_Seat] = []
        self._turn = 0
        self._lost = 0  # how often a replica was lost
        self._fault: Exception | None = None  # why the last one was given up

    def start(self, options: Options, *, fewest: int, most: int) -> None:
        """Ask Ray for the replicas and wait for the fewest."""
        gpus = self._gpus(options)
        if self._cluster.ours and gpus * fewest > self._cluster.gpus:
            raise UsageError(
                f"{fewest} replicas of {self.name} need {gpus * fewest} GPUs, and this machine has "
                f"{self._cluster.gpus:g}.",
                hint="Ask for fewer, or name a cluster in RAY_ADDRESS.",
            )
        # In a cluster's books a replica takes a CPU too; on this machine as many as were asked for share what there is.
        cpus = 0 if self._cluster.ours else 1
        actor = self._ray.remote(
            max_restarts=_RESTARTS, concurrency_groups=GROUPS, scheduling_strategy="SPREAD",
            num_gpus=gpus, num_cpus=cpus,
        )(Replica)  # fmt: skip
        for _ in range(most):
            made = actor.remote(self.name, options, str(Path.cwd()))
            # One more try: a machine that is lost now costs a start, a model that breaks while it loads costs two.
            self._seats.append(_Seat(made, _facts_of(made, tries=1)))
        told, each = time.monotonic(), f", each on {cpus} CPU and {gpus} GPUs of the cluster" if cpus else ""
        while (ready := sum(seat.starting is None for seat in self._seats)) < fewest:
            if len(self._seats) < fewest and self._fault is not None:
                raise self._fault
            for _ in self._listen(Work(())):
                pass
            told = self._wait_said(told, f"{ready} of {fewest} replicas are ready{each}")
        self.capabilities = self._known.capabilities

    def body(self, ask: Ask) -> dict[str, Any]:
        form = self._known.body
        assert form is not None
        return form(ask)

    def generate(self, calls: Iterable[Call]) -> Iterator[Reply]:
        work, told = Work(calls), time.monotonic()
        try:
            while True:
                for seat in self._seats:
                    self._hand_out(seat, work)
                if any(seat.stream is not None for seat in self._seats):
                    told = time.monotonic()
                elif not work.left():
                    break
                elif not self._seats:
                    hint = "Run the same command again to resume."
                    raise Incomplete(f"No replica of {self.name} is left: {self._fault}", hint=hint)
                yield from self._listen(work)
                told = self._wait_said(told, "no replica is ready")
        finally:
            for seat in self._seats:
                self._take_back(seat)
        work.conclude()

    def versions(self) -> dict[str, str]:
        return dict(self._known.versions)

    @property
    def progress(self) -> str:
        """Replies of each replica, for the line of progress."""
        shares = " + ".join(f"{seat.replies:,}" for seat in self._seats)
        return f"by replica {shares}" + (f", {self._lost} lost" if self._lost else "")

    def close(self) -> None:
        """Stop the replicas, and Ray where it was started here. Idempotent."""
        while self._seats:
            self._ray.kill(self._seats.pop().actor)
        self._cluster.leave()
        if self._own is not None:
            self._own.close()

    @property
    def _known(self) -> Facts:
        assert self._facts is not None
        return self._facts

    def _gpus(self, options: Options) -> int:
        """GPUs of one replica. Where none was named, one for an engine that uses it, if the cluster has any."""
        if options.tensor_parallel is not None:
            return options.tensor_parallel
        uses = self.name.partition("/")[0] in _ON_GPU and options.device != "cpu"
        return int(uses and self._cluster.gpus > 0)

    def _hand_out(self, seat: _Seat, work: Work) -> None:
        if seat.starting is None and seat.stream is None:
            if block := work.block():
                self._begin(seat)
                self._give(seat, block)
            elif block := work.alone():
                self._begin(seat)
                self._give(seat, block)
                self._give(seat, [])
        while seat.wants:
            self._give(seat, work.block())

    def _begin(self, seat: _Seat) -> None:
        self._turn += 1
        seat.turn, seat.closed = self._turn, False
        seat.stream = seat.actor.answer.options(num_returns="streaming", concurrency_group="replies").remote(seat.turn)

    def _give(self, seat: _Seat, block: list[Call]) -> None:
        """Hand a block to a replica; an empty one says that its turn brings no more.

        It is told at once: an engine with room for more calls would wait for them and not work.
        """
        seat.actor.feed.remote(seat.turn, block)
        seat.given |= {call.key: call for call in block}
        seat.waiting += len(block)
        seat.closed = not block

    def _listen(self, work: Work) -> Iterator[Reply]:
        """What the replicas say next: replies, that one is ready, that one is lost."""
        speaking = {seat.starting or seat.stream: seat for seat in self._seats if seat.starting or seat.stream}
        if not speaking:
            return
        first, _ = self._ray.wait(list(speaking), num_returns=1, timeout=_WAKE)
        if not first:
            return
        ready, _ = self._ray.wait(list(speaking), num_returns=len(speaking), timeout=0)
        for spoken in ready or first:
            seat = speaking[spoken]
            if seat.starting is not None:
                self._admit(seat)
            else:
                yield from self._hear(seat, work)

    def _hear(self, seat: _Seat, work: Work) -> list[Reply]:
        errors = self._ray.exceptions
        try:
            begun, replies = self._ray.get(next(seat.stream))
        except StopIteration:
            seat.stream = None
            if seat.given:  # an engine that ended without a word on some calls
                work.lose(*self._take_back(seat))
            return []
        except errors.RayTaskError as error:
            self._take_back(seat)
            if not isinstance(error.cause, Incomplete):
                raise _plain(error) from None
            work.stop(error.cause)
            return []
        except errors.RayError:
            self._lost += 1
            begun_calls, waiting = self._take_back(seat)
            work.lose(begun_calls, waiting)
            _log.warning(
                "Ray lost a replica of %s: its %d calls go to the others.", self.name, len(begun_calls) + len(waiting)
            )
            seat.starting = _facts_of(seat.actor, tries=-1)
            return []
        seat.waiting -= begun
        for reply in replies:
            del seat.given[reply.key]
        seat.replies += len(replies)
        return list(replies)

    def _take_back(self, seat: _Seat) -> tuple[list[Call], list[Call]]:
        """End the turn of a replica; gives the calls that it had begun and those that waited."""
        if seat.turn >= 0:
            seat.actor.halt.remote(seat.turn)
        calls = list(seat.given.values())
        begun = len(calls) - seat.waiting
        seat.given, seat.waiting, seat.closed, seat.stream, seat.turn = {}, 0, True, None, -1
        return calls[:begun], calls[begun:]

    def _admit(self, seat: _Seat) -> None:
        """Take a replica that is ready, or give it up."""
        errors = self._ray.exceptions
        try:
            facts: Facts = self._ray.get(seat.starting)
        except errors.RayTaskError as error:
            return self._dismiss(seat, _plain(error))
        except errors.RayError as error:
            said = " ".join(str(error).split())[:300]
            return self._dismiss(seat, ProviderError(f"A replica of {self.name} does not come up: {said}"))
        if differs := _differences(self._facts, facts):
            hint = "Install the same packages and weights, and set the same addresses, on every machine."
            return self._dismiss(seat, ProviderError(f"The replicas of {self.name} differ: {differs}.", hint=hint))
        self._facts = self._facts or facts
        seat.starting = None
        return None

    def _dismiss(self, seat: _Seat, why: Exception) -> None:
        self._fault = why
        self._seats.remove(seat)
        self._ray.kill(seat.actor)
        if self._seats:
            _log.warning("Ray goes on without a replica: %s", why)

    def _wait_said(self, told: float, state: str) -> float:
        """Say what is waited for, where nothing was said for long; gives the time of the last word."""
        now = time.monotonic()
        if now - told < _PATIENCE:
            return told
        _log.warning("Waiting for %s: %s.", self.name, state)
        return now


def _facts_of(actor: Any, *, tries: int) -> Any:
    """A promise of the replica's facts; Ray asks again after `tries` losses, -1: while it starts the actor again."""
    return actor.facts.options(max_task_retries=tries).remote()


def _plain(error: Any) -> Exception:
    """What a replica raised, as it would have been raised here; a fault of the program keeps its far traceback."""
    cause: Exception = error.cause
    return cause if isinstance(cause, RecuseError) else error


def _differences(known: Facts | None, found: Facts) -> str:
    """What of a replica is not as it is in the others; empty where all is."""
    if known is None:
        return ""
    ours, theirs = ({"recuse": f.recuse, **f.versions, **f.address} for f in (known, found))
    return "; ".join(
        f"{name} {theirs.get(name, 'missing')} on {found.host}, {ours.get(name, 'missing')} elsewhere"
        for name in sorted(ours.keys() | theirs.keys())
        if ours.get(name) != theirs.get(name)
    )
