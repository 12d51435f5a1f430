"""The calls of one run over several replicas: new ones, those of lost replicas, and those that no replica survived."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence

from recuse.backends.retry import unanswered
from recuse.errors import Incomplete
from recuse.types import Call

_RESUME = "Run the same command again to resume."
_BLOCK = 32  # calls of one pair that go out together at most
_ALONE = 2  # losses after which a call is asked alone, so that it takes no other with it
_GIVEN_UP = 3  # losses after which it stays unanswered


class Work:
    """Hands out calls by the block: consecutive calls of one pair, which share their prefix."""

    def __init__(self, calls: Iterable[Call]) -> None:
        self._new = iter(calls)
        self._again: deque[Call] = deque()  # goes before the new ones
        self._alone: deque[Call] = deque()
        self._losses: Counter[str] = Counter()
        self._unanswered = 0
        self._stopped: Incomplete | None = None

    def block(self) -> list[Call]:
        """The next block; empty where there is none, for now."""
        block: list[Call] = []
        while len(block) < _BLOCK and (call := self._next()) is not None:
            if block and call.ask.pair != block[0].ask.pair:
                self._again.appendleft(call)
                break
            block.append(call)
        return block

    def alone(self) -> list[Call]:
        """A call that was lost with every replica that worked on it, for a replica that does nothing else."""
        return [self._alone.popleft()] if self._alone else []

    def lose(self, begun: Sequence[Call], waiting: Sequence[Call]) -> None:
        """Take back the calls of a lost replica. Any of those that it had begun may be what killed it."""
        self._losses.update(call.key for call in begun)
        for call in begun:
            if self._losses[call.key] == _ALONE:
                self._alone.append(call)
            elif self._losses[call.key] >= _GIVEN_UP:
                self._unanswered += 1
        again = [call for call in begun if self._losses[call.key] < _ALONE]
        self._again.extendleft(reversed([*again, *waiting]))

    def stop(self, why: Incomplete) -> None:
        """Take no new calls: a replica stopped for a reason that will stop the others."""
        self._new = iter(())
        self._stopped = why

    def left(self) -> bool:
        """Whether there is anything to hand out."""
        if not (self._again or self._alone) and (call := self._next()) is not None:
            self._again.append(call)
        return bool(self._again or self._alone)

    def conclude(self) -> None:
        """Raise Incomplete where calls stayed unanswered."""
        if self._stopped is not None:
            raise self._stopped
        if self._unanswered:
            why = f"lost {_GIVEN_UP} times with the replica that worked on it, the last time alone."
            raise Incomplete(unanswered(self._unanswered, why), hint=_RESUME)

    def _next(self) -> Call | None:
        return self._again.popleft() if self._again else next(self._new, None)
