"""One recorded verdict in the source's own terms, and its mapping to a judgement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from recuse.recorded.rows import Row
from recuse.types import Finish, Judgement, Outcome, Preference, Reason, Verdict
from recuse.verdict import read_text
from recuse.verdict.spec import Spec

Gold = Literal["A", "B", "tie"]  # the better answer in the source's own order
_FLIP: dict[Outcome, Outcome] = {"A": "B", "B": "A", "tie": "tie"}
TRUTH: Mapping[str, bool] = {"false": False, "true": True, "0": False, "1": True}


@dataclass(frozen=True, slots=True)
class Entry:
    """A verdict on the source's answers A and B. Both readings are in positions as shown to the judge.

    `swapped`: B was shown first; None: each answer was shown alone, or the order is not known. A reading is None where
    the row does not have it; a reading without outcome carries the reason. `chars` counts the characters of A and B.
    """

    row: Row
    pair: str
    group: str
    swapped: bool | None
    gold: Gold | None
    recorded: Verdict | None
    reread: Verdict | None
    repeat: int = 0
    domain: str | None = None
    chars: tuple[int, int] | None = None
    logit: float | None = None  # log odds for the answer shown first, from the scores of a reward model

    @property
    def reply(self) -> str:
        for field in ("text", "raw_response", "raw", "scores"):
            if text := self.row.text(field):
                return text
        return ""


@dataclass(frozen=True, slots=True)
class Preset:
    """How one published form is read.

    `columns` recognise it; `judge` names the column with the judge's name; an audit is of one value of each column in
    `settings`; `derive` adds columns, splits a row that holds several judges, and drops what judges no pair.
    """

    columns: frozenset[str]
    judge: str
    entry: Callable[[Row], Entry]
    settings: tuple[str, ...] = ()
    derive: Callable[[Row], list[Row]] = lambda row: [row]
    notes: tuple[str, ...] = ()


def decided(outcome: Outcome | None, *, reason: Reason = "no_verdict") -> Verdict:
    """A recorded decision; None becomes a verdict without outcome, for `reason`."""
    return Verdict(outcome, why="recorded") if outcome else Verdict(reason=reason, why="recorded without a decision")


def reread(text: str | None, spec: Spec, *, finish: Finish = "stop", failed: bool = False) -> Verdict:
    """What the text says. `failed`: the source wrote it in place of a reply that never came."""
    if text is None:
        return Verdict(reason="missing", why="no text in the file")
    if failed:
        return Verdict(reason="transport_error", why="the source's mark of a failed request")
    return read_text(text, spec, finish=finish)


def by_score(first: float | None, second: float | None) -> Verdict:
    """The answer with the higher score; equal scores are a tie."""
    if first is None or second is None:
        return Verdict(reason="no_verdict", why="an answer without a score")
    outcome: Outcome = "A" if first > second else "B" if second > first else "tie"
    return Verdict(outcome, scores=(first, second), why="scores compared")


def shown(source: Outcome | None, swapped: bool | None) -> Outcome | None:
    """A decision about the source's answers as a place shown to the judge, and the reverse: it is its own inverse."""
    return _FLIP[source] if source and swapped else source


def judgement(entry: Entry, verdict: Verdict) -> Judgement:
    """Without a better answer in the source, "chosen" stands for its answer A."""
    better = "B" if entry.gold == "B" else "A"
    answer = shown(verdict.outcome, entry.swapped)
    prefers: Preference | None = None
    if answer is not None:
        prefers = "tie" if answer == "tie" else "chosen" if answer == better else "rejected"
    order: Literal["AB", "BA", "-"] = "-"
    if entry.swapped is not None:
        order = "AB" if entry.swapped == (better == "B") else "BA"
    logit = entry.logit if entry.logit is None or order == "AB" else -entry.logit
    return Judgement(
        pair=entry.pair,
        group=entry.group,
        order=order,
        prefers=prefers,
        repeat=entry.repeat,
        reason=None if prefers else verdict.reason or "no_verdict",
        logit=logit,
    )
