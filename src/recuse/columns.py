"""Judgements in columns: some fifty bytes each, and a `Judgement` only where one is looked at."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Generic, TypeVar, overload

from recuse.types import Judgement

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

ORDERS = ("AB", "BA", "-")
PREFERS = ("chosen", "rejected", "tie", None)
_BY_TEXT = (1, 2, 0)  # the rank of each order among the sorted texts
FRESH, BOUNDED, HAS_LOGIT, HAS_OUTSIDE, HAS_SCORES = (1 << bit for bit in range(5))
_KINDS = {
    "pair": "i", "arm": "h", "order": "b", "repeat": "i", "prefers": "b", "reason": "b", "marks": "B",
    "logit": "d", "outside": "d", "chosen": "d", "rejected": "d",
}  # fmt: skip
_PART = 1 << 14
_Value = TypeVar("_Value")
_Text = TypeVar("_Text")


class Names(Generic[_Text]):
    """Texts by number, each kept once; the first has number 0."""

    def __init__(self, texts: Iterable[_Text] = ()) -> None:
        self.texts: list[_Text] = []
        self.at: dict[_Text, int] = {}
        for text in texts:
            self.number(text)

    def number(self, text: _Text) -> int:
        """The number of a text; a new text gets the next one."""
        found = self.at.get(text)
        if found is None:
            found = self.at[text] = len(self.texts)
            self.texts.append(text)
        return found


class ByPair(Mapping[str, _Value]):
    """A value for each pair, looked up by the pair's id and made from its number."""

    def __init__(self, pairs: Names[str], value: Callable[[int], _Value]) -> None:
        self._pairs, self._value = pairs, value

    def __getitem__(self, pair: str) -> _Value:
        return self._value(self._pairs.at[pair])

    def __iter__(self) -> Iterator[str]:
        return iter(self._pairs.texts)

    def __len__(self) -> int:
        return len(self._pairs.texts)


def as_arrow(texts: Iterable[str | None]) -> pa.ChunkedArray:
    """The texts as one Arrow column, of which few are Python's at a time."""
    import pyarrow as pa

    rest, parts = iter(texts), []
    while part := list(islice(rest, _PART)):
        parts.append(pa.array(part, type=pa.string()))
    return pa.chunked_array(parts, type=pa.string())


class Judgements(Sequence[Judgement]):
    """A sequence to which judgements are added. Its attributes are the columns, one number a judgement:

    `pair`, `arm` and `reason` count in the `Names` of `pairs`, `arms` and `reasons`, `order` in `ORDERS` and `prefers`
    in `PREFERS`; `marks` holds the bits `FRESH` to `HAS_SCORES`; `logit`, `outside`, `chosen` and `rejected` (the two
    scores) are 0 where there is none. A pair has one group.
    """

    pair: array[int]
    arm: array[int]
    order: array[int]
    repeat: array[int]
    prefers: array[int]
    reason: array[int]
    marks: array[int]
    logit: array[float]
    outside: array[float]
    chosen: array[float]
    rejected: array[float]

    def __init__(self, pairs: Names[str] | None = None, groups: Mapping[str, str] | None = None) -> None:
        """`pairs` and `groups` of a caller who knows all pairs beforehand are used as they are; nothing is copied."""
        self.pairs: Names[str] = Names() if pairs is None else pairs
        self.arms: Names[str] = Names()
        self.reasons: Names[str | None] = Names()
        self._own: dict[str, str] = {}
        self.groups: Mapping[str, str] = self._own if groups is None else groups
        for name, kind in _KINDS.items():
            setattr(self, name, array(kind))

    @classmethod
    def of(cls, judgements: Iterable[Judgement]) -> Judgements:
        """The same judgements in columns; those that are in columns already as they are."""
        if isinstance(judgements, Judgements):
            return judgements
        found = cls()
        found.extend(judgements)
        return found

    def extend(self, judgements: Iterable[Judgement]) -> None:
        for judgement in judgements:
            self.append(judgement)

    def append(self, j: Judgement) -> None:
        if self.groups is self._own:
            self._own.setdefault(j.pair, j.group)
        logit, outside, scores = j.logit, j.outside, j.scores
        self.pair.append(self.pairs.number(j.pair))
        self.arm.append(self.arms.number(j.arm))
        self.order.append(ORDERS.index(j.order))
        self.repeat.append(j.repeat)
        self.prefers.append(PREFERS.index(j.prefers))
        self.reason.append(self.reasons.number(j.reason))
        self.marks.append(
            (j.fresh and FRESH)
            | (j.bounded and BOUNDED)
            | (logit is not None and HAS_LOGIT)
            | (outside is not None and HAS_OUTSIDE)
            | (scores is not None and HAS_SCORES)
        )
        self.logit.append(logit or 0.0)
        self.outside.append(outside or 0.0)
        self.chosen.append(scores[0] if scores else 0.0)
        self.rejected.append(scores[1] if scores else 0.0)

    def sort(self) -> None:
        """By pair in the order of `pairs`, then by arm, order and repeat, as `judgements.ordered` sorts a list."""
        import numpy as np

        arms = np.argsort(np.argsort(np.array(self.arms.texts, dtype=str)))
        by_text = np.array(_BY_TEXT)
        keys = (self.column("repeat"), by_text[self.column("order")], arms[self.column("arm")], self.column("pair"))
        rows = np.lexsort(keys) if len(self) else np.zeros(0, dtype=np.int64)
        del keys  # an array that is looked at cannot be replaced
        for name, kind in _KINDS.items():
            setattr(self, name, array(kind, self.column(name)[rows].tobytes()))

    def column(self, name: str) -> np.ndarray:
        """A column as it lies in memory. Nothing can be added while it is in use."""
        import numpy as np

        return np.asarray(getattr(self, name))

    def marked(self, bit: int) -> np.ndarray:
        """Which judgements bear the mark."""
        marked: np.ndarray = (self.column("marks") & bit) != 0
        return marked

    def __len__(self) -> int:
        return len(self.pair)

    def __iter__(self) -> Iterator[Judgement]:
        for row in zip(*(getattr(self, name) for name in _KINDS), strict=True):
            yield self._judgement(*row)

    @overload
    def __getitem__(self, index: int) -> Judgement: ...
    @overload
    def __getitem__(self, index: slice) -> list[Judgement]: ...
    def __getitem__(self, index: int | slice) -> Judgement | list[Judgement]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return self._judgement(*(getattr(self, name)[index] for name in _KINDS))

    def _judgement(
        self, pair: int, arm: int, order: int, repeat: int, prefers: int, reason: int, marks: int, logit: float,
        outside: float, chosen: float, rejected: float,
    ) -> Judgement:  # fmt: skip
        name = self.pairs.texts[pair]
        return Judgement(
            name, self.groups[name], ORDERS[order], PREFERS[prefers], self.arms.texts[arm], repeat,  # type: ignore[arg-type]
            self.reasons.texts[reason],  # type: ignore[arg-type]
            logit if marks & HAS_LOGIT else None, outside if marks & HAS_OUTSIDE else None, bool(marks & FRESH),
            bool(marks & BOUNDED), (chosen, rejected) if marks & HAS_SCORES else None,
        )  # fmt: skip
