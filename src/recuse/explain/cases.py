"""Each pair with the judge's verdict in both orders beside what most people prefer, and of which kind it is.

Kinds are exclusive and looked for in this order:

    unread    an order has no verdict: refused, cut, unreadable
    agrees    both orders say what people say
    position  the orders name different answers: the verdict goes with the place
    tie       the judge, not the people, sees a tie, in one order or in both
    content   both orders name the same answer, and it is not what people say

Only the last one is a disagreement about what the answers say. Repeats of one order count as their majority, a tie
where there is none. A judge that sees one answer at a time, or was asked in one order only, has no kind "position".
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from recuse.calibration import Labels
from recuse.types import Judgement, Preference

Kind = Literal["unread", "agrees", "position", "tie", "content"]
KINDS: dict[Kind, str] = {
    "agrees": "Judge and people agree in both orders",
    "content": "The judge prefers another answer in both orders",
    "position": "The verdict goes with the place",
    "tie": "The judge sees a tie where people do not",
    "unread": "No verdict in some order",
}


@dataclass(frozen=True, slots=True)
class Seen:
    """A pair that people have labelled and the judge was asked about."""

    pair: str
    group: str
    people: Preference
    verdicts: Mapping[str, Preference | None]  # by order, "AB", "BA" or "-"
    kind: Kind
    errors: float | None  # mean over the orders, a tie half an error; None for "unread" and where people see a tie
    reasons: tuple[str, ...] = ()  # why verdicts are missing
    unsteady: bool = False  # repeats of one order differ

    @property
    def first(self) -> float | None:
        """Share of both orders in which the answer shown first is preferred, ties half; None unless both are read."""
        if None in self.verdicts.values() or set(self.verdicts) != {"AB", "BA"}:
            return None
        ahead = {"AB": {"chosen": 1.0, "rejected": 0.0, "tie": 0.5}, "BA": {"chosen": 0.0, "rejected": 1.0, "tie": 0.5}}
        return sum(ahead[order][said or "tie"] for order, said in self.verdicts.items()) / 2

    @property
    def preferred(self) -> Preference | None:
        """What the judge prefers in every order; None where the orders differ or one has no verdict."""
        said = set(self.verdicts.values())
        return said.pop() if len(said) == 1 else None


def compare(judgements: Sequence[Judgement], labels: Labels) -> list[Seen]:
    """The pairs that have a label of a majority, in the order of the judgements. Others are left out."""
    by_pair: dict[str, list[Judgement]] = defaultdict(list)
    for j in judgements:
        by_pair[j.pair].append(j)
    both = any({j.order for j in found} >= {"AB", "BA"} for found in by_pair.values())
    return [
        _seen(pair, found, people, ("AB", "BA") if both else ())
        for pair, found in by_pair.items()
        if (people := labels.majority(pair)) is not None
    ]


def _seen(pair: str, found: Sequence[Judgement], people: Preference, orders: Sequence[str]) -> Seen:
    """`orders`: those in which other pairs were asked, so that one without a record has no verdict."""
    by_order: dict[str, list[Preference | None]] = defaultdict(list)
    for j in found:
        by_order[j.order].append(j.prefers)
    for order in orders:
        by_order.setdefault(order, [None])
    verdicts = {order: _majority(said) for order, said in sorted(by_order.items())}
    kind = _kind(tuple(verdicts.values()), people)
    graded = kind != "unread" and people != "tie"
    reasons = tuple(sorted({j.reason or "no_verdict" for j in found if j.prefers is None}))
    if len(found) < len(verdicts):
        reasons = (*reasons, "missing")
    return Seen(
        pair, found[0].group, people, verdicts, kind,
        errors=sum(_error(v, people) for v in verdicts.values()) / len(verdicts) if graded else None,
        reasons=reasons if kind == "unread" else (),
        unsteady=any(len(set(said)) > 1 for said in by_order.values()),
    )  # fmt: skip


def _majority(said: Sequence[Preference | None]) -> Preference | None:
    given = Counter(one for one in said if one is not None)
    if not given:
        return None
    best, count = given.most_common(1)[0]
    return best if 2 * count > given.total() else "tie"


def _kind(said: tuple[Preference | None, ...], people: Preference) -> Kind:
    if None in said:
        return "unread"
    if set(said) == {people}:
        return "agrees"
    if {"chosen", "rejected"} <= set(said):
        return "position"
    return "tie" if "tie" in said else "content"


def _error(said: Preference | None, people: Preference) -> float:
    return 0.5 if said == "tie" else float(said != people)
