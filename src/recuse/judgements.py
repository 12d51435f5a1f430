"""Replies become judgements: verdicts read, mapped back to the pair, and put in an order that no timing can change."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from recuse.columns import Judgements, Names
from recuse.judge import Answered
from recuse.types import Ask, Judgement, Preference, Reply, Verdict
from recuse.verdict import read
from recuse.verdict.spec import Spec

_SHOWN = 160  # characters of a reply that an example shows
_SIDES: dict[tuple[str, str], Preference] = {
    ("AB", "A"): "chosen",
    ("AB", "B"): "rejected",
    ("BA", "A"): "rejected",
    ("BA", "B"): "chosen",
}


@dataclass(slots=True)
class Unread:
    """A few replies without a verdict, for people: the first of each reason."""

    examples: dict[str, str] = field(default_factory=dict)

    def note(self, reason: str, reply: Reply) -> None:
        if reason not in self.examples:
            text = " ".join((reply.error or reply.text).split())
            self.examples[reason] = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def judgements(
    answered: Iterable[Answered], spec: Spec | None, groups: Mapping[str, str], unread: Unread | None = None
) -> Iterator[Judgement]:
    """One judgement a pairwise reply; one for the two replies of a judge that scores each answer alone.

    `groups` maps pair ids to their groups. `spec` None: a reward model, whose replies carry a score. The order of the
    output follows the input; `ordered` fixes it. `unread` collects examples of replies without a verdict.
    """
    halves: dict[tuple[str, str, int], Answered] = {}
    for answer in answered:
        ask = answer.ask
        verdict = _read(answer.reply, spec)
        if unread is not None and verdict.reason is not None:
            unread.note(verdict.reason, answer.reply)
        if ask.view in ("AB", "BA"):
            yield _pairwise(ask, answer.reply, verdict, groups[ask.pair], answer.fresh)
            continue
        other = halves.pop((ask.pair, ask.arm, ask.repeat), None)
        if other is None:
            halves[ask.pair, ask.arm, ask.repeat] = answer
        else:
            chosen, rejected = (answer, other) if ask.view == "chosen" else (other, answer)
            yield _from_scores(chosen, rejected, spec, groups[ask.pair])


def ordered(found: Iterable[Judgement], pairs: Iterable[str]) -> list[Judgement]:
    """The judgements sorted by pair (in the order of `pairs`), arm, order and repeat. `gathered` does so for many."""
    rank = {pair: i for i, pair in enumerate(pairs)}
    return sorted(found, key=lambda j: (rank[j.pair], j.arm, j.order, j.repeat))


def gathered(found: Iterable[Judgement], pairs: Names[str], groups: Mapping[str, str]) -> Judgements:
    """The judgements in columns, in the same order."""
    kept = Judgements(pairs, groups)
    kept.extend(found)
    kept.sort()
    return kept


def _read(reply: Reply, spec: Spec | None) -> Verdict:
    if spec is not None:
        return read(reply, spec)
    if reply.score is None or not math.isfinite(reply.score):
        return Verdict(reason="error" if reply.finish == "error" else "no_verdict")
    return Verdict(score=reply.score)


def _pairwise(ask: Ask, reply: Reply, verdict: Verdict, group: str, fresh: bool) -> Judgement:
    order: Literal["AB", "BA"] = "AB" if ask.view == "AB" else "BA"
    prefers: Preference | None = None
    if verdict.outcome is not None:
        prefers = "tie" if verdict.outcome == "tie" else _SIDES[order, verdict.outcome]
    logit = None
    if verdict.p_first is not None and 0.0 < verdict.p_first < 1.0:
        logit = math.log(verdict.p_first) - math.log1p(-verdict.p_first)
        logit = logit if order == "AB" else -logit
    reason = None if prefers else verdict.reason or "no_verdict"
    scores = verdict.scores
    if scores is not None and order == "BA":
        scores = scores[1], scores[0]
    return Judgement(
        ask.pair, group, order, prefers, ask.arm, ask.repeat, reason, logit, verdict.outside, fresh, verdict.bounded,
        scores,
    )  # fmt: skip


def _from_scores(chosen: Answered, rejected: Answered, spec: Spec | None, group: str) -> Judgement:
    ask = chosen.ask
    good, bad = _read(chosen.reply, spec), _read(rejected.reply, spec)
    fresh = chosen.fresh and rejected.fresh
    if good.score is None or bad.score is None:
        reason = (good.reason if good.score is None else bad.reason) or "no_verdict"
        return Judgement(ask.pair, group, "-", None, ask.arm, ask.repeat, reason, fresh=fresh)
    prefers: Preference = "tie"
    if good.score != bad.score:
        prefers = "chosen" if good.score > bad.score else "rejected"
    # A reward model's scores are logits of a Bradley-Terry model: their difference is the log odds.
    logit = good.score - bad.score if spec is None else None
    return Judgement(
        ask.pair, group, "-", prefers, ask.arm, ask.repeat, None, logit, fresh=fresh, scores=(good.score, bad.score)
    )
