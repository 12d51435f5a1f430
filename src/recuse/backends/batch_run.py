"""Sends calls in batch files and waits for what comes of them, for hours and over several sessions of one run.

calls ─▶ a file ─▶ journal ─▶ provider … ─▶ rows ─▶ replies; a call without a reply goes into another file
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from threading import Event

from recuse.backends import http
from recuse.backends.base import Options, public_address
from recuse.backends.batch import Desk, Journal, Pack, Row, Sent, State
from recuse.backends.batch_send import RESUME, Sender, TurnedAway
from recuse.backends.batch_words import Words, counted
from recuse.backends.retry import RetryPolicy, unanswered
from recuse.errors import BadRequest, Incomplete, RecuseError, TransientError
from recuse.types import Call, Reply

_TRIES = 3  # files that one call may go into
_AWAITED = 100_000  # calls that are awaited at once, so that memory stays flat: a gigabyte for long prompts
_SILENT = 20  # looks in a row without an answer, about 20 minutes, that end a session
_READS = 3  # times that results with an unreadable line are fetched
_FIRST, _LONGEST = 5.0, 60.0  # seconds between looks


def _pauses() -> Iterator[float]:
    wait = _FIRST
    while True:
        yield wait
        wait = min(_LONGEST, wait * 1.5)


@dataclass
class Batching:
    """What a backend's batches need of it. `live` sends calls one by one, `read` makes a reply of a body."""

    desk: Desk
    site: http.Site
    settings: http.Settings
    read: Callable[..., Reply]
    live: Callable[[Iterable[Call]], Iterator[Reply]]
    options: Options
    journal: Journal | None = None
    stop: Event = field(default_factory=Event)
    tell: Callable[[], None] = lambda: None
    progress: str = ""  # what is waited for, for people
    tried: bool = False  # whether a call went out by itself, to show what the provider refuses

    def keep_in(self, journal: Journal, *, stop: Event, tell: Callable[[], None]) -> None:
        self.journal, self.stop, self.tell = journal, stop, tell

    def generate(self, calls: Iterable[Call]) -> Iterator[Reply]:
        """As `Backend.generate`. Calls of an open batch are awaited, also where others are sent one by one."""
        if self.journal is None:
            return self.live(calls)
        found = self.journal.open()
        if not found and not self.options.batch:
            return self.live(calls)
        return _Session(self, self.journal, iter(calls), found).replies()

    def cancel(self, sent: Sent) -> bool:
        return self.sender(time.sleep).cancel(sent)

    def sender(self, pause: Callable[[float], None]) -> Sender:
        return Sender(self.desk, self.site, RetryPolicy(max_attempts=self.options.max_attempts), pause)


class Batched:
    """What a backend whose provider takes batches hands on to its `batching`."""

    batching: Batching

    def generate(self, calls: Iterable[Call]) -> Iterator[Reply]:
        return self.batching.generate(calls)

    def keep_in(self, journal: Journal, *, stop: Event, tell: Callable[[], None]) -> None:
        self.batching.keep_in(journal, stop=stop, tell=tell)

    def cancel(self, sent: Sent) -> bool:
        return self.batching.cancel(sent)

    @property
    def progress(self) -> str:
        """What it waits for, in a few words."""
        return self.batching.progress


@dataclass
class _Open:
    """A batch whose results are not all here."""

    sent: Sent
    left: set[str]  # keys of its calls that nothing is known of
    calls: dict[str, Call] = field(default_factory=dict)  # those of them that were asked for
    sure: bool = False  # whether `sent.id` is surely its
    others: set[str] = field(default_factory=set)  # the provider's names of batches that looked like it and are not
    running: bool = False  # whether this process saw it at work
    reads: int = 0  # of its results


class _Session:
    def __init__(self, own: Batching, journal: Journal, calls: Iterator[Call], found: list[Sent]) -> None:
        self.own, self.journal, self.input = own, journal, calls
        self.desk, self.site = own.desk, own.site
        self.address = public_address(own.site.base_url) or ""
        self.sender = own.sender(self._pause)
        self.batches = {sent.own: _Open(sent, set(sent.keys), sure=sent.id is not None) for sent in found}
        self.of_key: dict[str, _Open] = {}
        self.again: deque[Call] = deque()
        self.tries: dict[str, int] = {}
        self.pack: Pack | None = None
        self.most = own.desk.most_calls
        self.held = False  # whether files wait until one that is at work has ended
        self.ended = False  # the input has no more calls
        self.silent = 0
        self.unanswered, self.last = 0, ""

    def replies(self) -> Iterator[Reply]:
        try:
            yield from self._replies()
        finally:
            if self.pack is not None:
                self.pack.close()

    def _replies(self) -> Iterator[Reply]:
        self._take_up()
        pauses = _pauses()
        while True:
            yield from self._send_out()
            waiting = self._waiting()
            if not waiting:
                if self.ended and not self.again and self.pack is None:
                    break
                self.held = False
                continue
            landed = False
            for batch in waiting:
                state = self._look(batch)
                if state is None:
                    break
                if state.ended:
                    self.own.progress = ""
                    yield from self._land(batch, state)
                    landed |= not batch.calls or batch.sent.own not in self.batches
            if landed:
                pauses = _pauses()
            else:
                self._pause(next(pauses))
        if self.unanswered:
            raise Incomplete(unanswered(self.unanswered, self.last), hint=RESUME)

    def _waiting(self) -> list[_Open]:
        return [batch for batch in self.batches.values() if batch.calls]

    def _take_up(self) -> None:
        """Open batches of earlier sessions. Of some it is not known whether they arrived: they are looked for."""
        for batch in list(self.batches.values()):
            self.own.settings.adopt(batch.sent.refused)
            self.own.tried = True
            if not batch.left:
                self._close(batch, "fetched")
            elif batch.sent.address != self.address:
                raise self._words().elsewhere(batch.sent, self.address)
            elif batch.sent.id is None:
                if (found := self.sender.find(batch.sent, self._known(batch), late=True)) is None:
                    self._close(batch, "unsent")
                else:
                    self._named(batch, found, sure=self.desk.signs)
        self.of_key = {key: batch for batch in self.batches.values() for key in batch.left}

    def _send_out(self) -> Iterator[Reply]:
        """Send all calls that may go out and are in no batch."""
        if not self.own.options.batch:
            yield from self.own.live(self._unsent())
            return
        for call in self._unsent():
            if not self.own.tried:  # a setting or a model that is refused shows now, not after a day
                self.own.tried = True
                yield from self.own.live([call])
                continue
            self.pack = self.pack or self._empty()
            if not self.pack.add(call):
                self._send(self.pack)
                self.pack = self._empty()
                self.pack.add(call)
        if self.pack is not None and self.ended and not self.held:
            pack, self.pack = self.pack, None
            self._send(pack)

    def _unsent(self) -> Iterator[Call]:
        """Calls that are in no open batch: those that are asked again, then those of the input."""
        while not self.held:
            if self.again:
                yield self.again.popleft()
                continue
            if self.ended or sum(len(batch.calls) for batch in self.batches.values()) >= _AWAITED:
                return
            call = next(self.input, None)
            if call is None:
                self.ended = True
            elif (batch := self.of_key.get(call.key)) is not None:
                batch.calls[call.key] = call
            else:
                yield call

    def _empty(self) -> Pack:
        return Pack(self.desk, self.own.settings, most_calls=self.most)

    def _send(self, pack: Pack) -> None:
        if self.own.stop.is_set():
            raise self._words().stopped()
        if pack.refused != self.own.settings.refused:  # learned while it was filled
            stale, pack = pack, self._empty()
            self.again.extend([call for call in stale.calls.values() if not pack.add(call)])
            stale.close()
        try:
            self._submit(pack)
        finally:
            pack.close()

    def _submit(self, pack: Pack) -> None:
        sent = self.journal.intend(pack.own, pack.calls, address=self.address, refused=pack.refused)
        batch = _Open(sent, set(pack.calls), dict(pack.calls), running=True)
        self._tell()

        def keep(file: str) -> None:
            self.journal.name(sent.own, file=file)
            batch.sent = replace(batch.sent, file=file)

        try:
            id, sure = self.sender.send(
                pack.whole(), sent=lambda: batch.sent, keep=keep, known=self._known(batch), alone=not self._waiting()
            )
        except TurnedAway as away:
            self._turned_away(batch, away)
        else:
            self._named(batch, id, sure=sure)

    def _turned_away(self, batch: _Open, away: TurnedAway) -> None:
        """Send its calls later: once what is at work has ended, or in smaller files; raise where that helps nothing."""
        calls = list(batch.calls.values())
        self._close(batch, "unsent")
        if not away.later or (len(calls) == 1 and not self._waiting()):
            raise away.error
        if self._waiting():
            self.held = True
        else:
            self.most = len(calls) // 2
        self.again.extend(calls)

    def _known(self, sought: _Open) -> set[str]:
        """The provider's names of batches that are surely not the one that is sought."""
        return sought.others | {batch.sent.id for batch in self.batches.values() if batch.sent.id and batch.sure}

    def _look(self, batch: _Open) -> State | None:
        """What the provider says of a batch; None where it says nothing now."""
        id = batch.sent.id or ""
        try:
            state = self.desk.look(id)
        except (http.Failed, TransientError) as error:
            self._fault(error, batch)
            return None
        if not state.ended:  # results that cannot be had are silence too
            self.silent = 0
        batch.running |= not state.cancelled
        return state

    def _fault(self, fault: http.Failed | TransientError, batch: _Open) -> None:
        """Go on after a fault while waiting, or raise what it means."""
        if isinstance(fault, http.Failed) and fault.status == 404:
            raise self._words().gone(batch.sent)
        error = http.translate(fault, self.site) if isinstance(fault, http.Failed) else fault
        if not isinstance(error, TransientError):
            raise error
        self.silent += 1
        if self.silent >= _SILENT:
            raise self._words().silent(error)

    def _land(self, batch: _Open, state: State) -> Iterator[Reply]:
        """Read a batch that ended, close it, and see that its calls without a reply are asked again."""
        if state.lost:
            raise self._words().gone(batch.sent)
        if state.refused is not None:
            # OpenAI limits the tokens that may be under way at once, and says so after it has taken the file.
            self._turned_away(
                batch, TurnedAway(self.sender.why(state.refused), later="token_limit" in state.refused.code)
            )
            return
        ours = foreign = unread = 0
        fatal: RecuseError | None = None
        batch.reads += 1
        try:
            for row in self.desk.rows(state):
                if row is None:
                    unread += 1
                    continue
                key, _, own = row.name.partition("-")
                if own != batch.sent.own:
                    foreign += 1
                    continue
                ours += 1
                if (call := batch.calls.pop(key, None)) is None:
                    continue
                try:
                    reply = self._read(batch, call, row, state)
                except TransientError as error:
                    self._ask_again(call, str(error))
                except RecuseError as error:
                    fatal = error
                else:
                    if reply is not None:
                        yield reply
                batch.left.discard(key)
                self.of_key.pop(key, None)
        except (http.Failed, TransientError) as error:
            self._fault(error, batch)
            return
        self.silent, self.held = 0, False
        if foreign and not ours:
            if batch.sure:
                raise self._words().not_ours(batch.sent)
            self._disown(batch, state.id)
            return
        if unread and batch.calls and batch.reads < _READS:
            return
        for key, call in batch.calls.items():
            batch.left.discard(key)
            self.of_key.pop(key, None)
            try:
                self._read(batch, call, Row("", unasked="missing"), state)
            except TransientError as error:
                self._ask_again(call, str(error))
        batch.calls.clear()
        if not batch.left:
            self._close(batch, "fetched")
        if fatal is not None:
            raise fatal

    def _read(self, batch: _Open, call: Call, row: Row, state: State) -> Reply | None:
        """The reply in a row; None for a call that was given up or goes out again without a setting.

        Raises TransientError for one to ask again, and what ends the run.
        """
        settings, site = self.own.settings, self.site
        sent = settings.apply(call.body, batch.sent.refused)
        if row.body is not None:
            reply = self.own.read(call, row.body, seconds=0.0, notes=settings.notes(call.body, sent), where=site.where)
            return replace(reply, batched=True)
        if row.failed is None:
            if state.cancelled and batch.running:  # by somebody, while this process waited: not to be sent again now
                self.unanswered, self.last = self.unanswered + 1, "the batch was cancelled."
                return None
            raise TransientError(f"a batch ended without it ({row.unasked}).")
        if row.failed.filtered:
            return Reply(call.key, "", "refusal", error=site.redact(row.failed.message), batched=True)
        if settings.learn(row.failed, sent):
            self.again.append(call)
            return None
        error = http.translate(row.failed, site)
        if isinstance(error, BadRequest):
            return Reply(call.key, "", "error", error=str(error), batched=True)
        raise error

    def _ask_again(self, call: Call, why: str) -> None:
        self.tries[call.key] = self.tries.get(call.key, 0) + 1
        if self.tries[call.key] < min(_TRIES, self.own.options.max_attempts):
            self.again.append(call)
        else:
            self.unanswered, self.last = self.unanswered + 1, f"last error: {why}"

    def _disown(self, batch: _Open, id: str) -> None:
        """The results are of somebody else's batch: look on for ours, or send its calls anew."""
        batch.others.add(id)
        if (found := self.sender.find(batch.sent, self._known(batch))) is not None:
            self._named(batch, found, sure=self.desk.signs)
            return
        self.again.extend(batch.calls.values())
        self._close(batch, "unsent")

    def _named(self, batch: _Open, id: str, *, sure: bool) -> None:
        if sure:
            self.journal.name(batch.sent.own, id=id)
        batch.sent, batch.sure = replace(batch.sent, id=id), sure
        self.batches[batch.sent.own] = batch

    def _close(self, batch: _Open, state: str) -> None:
        self.journal.close(batch.sent.own, state)
        self.batches.pop(batch.sent.own, None)
        for key in batch.left:
            self.of_key.pop(key, None)

    def _pause(self, seconds: float) -> None:
        self._tell()
        if self.own.stop.wait(seconds):
            raise self._words().stopped()

    def _tell(self) -> None:
        self.own.progress = f"waiting for {counted(len(self._waiting()))}" if self._waiting() else "sending a batch"
        self.own.tell()

    def _words(self) -> Words:
        waiting = self._waiting()
        return Words(self.site, self.journal.place, len(waiting), sum(len(batch.calls) for batch in waiting))
