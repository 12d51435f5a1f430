"""Verdicts beside what people say: one row a verdict on a labelled pair, both told by place.

A verdict is "A" for the answer shown first and "B" for the second, and people's label is turned to the same places: in
the order BA the chosen answer is B. So kappa does not hang on where the source happens to put the better answer (of
pairs that come as chosen and rejected that is always the same place, and kappa would press towards 0), a judge that
always names the first answer is constant, and each order counts as it was asked. A verdict without an order (each
answer was judged alone) stands in both, as that of a judge whom places do not move. The group stays the unit: two
orders are one observation.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from recuse.calibration.labels import Labels, Place
from recuse.types import Judgement, Preference

OTHER: dict[Place, Place] = {"A": "B", "B": "A"}
_CHOSEN_AT: dict[str, tuple[Place, ...]] = {"AB": ("A",), "BA": ("B",), "-": ("A", "B")}


def placed(preference: Preference | None, chosen_at: Place) -> str | None:
    """A preference as a place: "A", "B" or "tie"."""
    if preference is None or preference == "tie":
        return preference
    return chosen_at if preference == "chosen" else OTHER[chosen_at]


@dataclass(frozen=True)
class Beside:
    """Columns of equal length, one row a verdict. `labels` gives the menu: A, B, and a tie where anyone has said so."""

    judgements: Sequence[Judgement]
    people: Sequence[Preference | None]  # the majority; None where people are split
    at: Sequence[Place]  # where the chosen answer stands
    labels: Labels
    domains: Mapping[str, str | None]

    @classmethod
    def of(
        cls,
        judgements: Sequence[Judgement],
        labels: Labels,
        *,
        domains: Mapping[str, str | None] | None = None,
        split: bool = False,
    ) -> Beside:
        """Verdicts on the untouched answers of pairs that most people label alike; with `split`, of all with labels."""
        rows, said, at = [], [], list[Place]()
        for j in judgements:
            if j.arm != "original" or j.pair not in labels.votes:
                continue
            label = labels.majority(j.pair)
            if label is not None or split:
                for place in _CHOSEN_AT[j.order]:
                    rows.append(j)
                    said.append(label)
                    at.append(place)
        return cls(rows, said, at, labels, domains or {})

    def only(self, kept: Sequence[bool]) -> Beside:
        """The rows that are marked."""
        rows = [i for i, keep in enumerate(kept) if keep]
        people, at = [self.people[i] for i in rows], [self.at[i] for i in rows]
        return Beside([self.judgements[i] for i in rows], people, at, self.labels, self.domains)

    def where(self, domain: str) -> Beside:
        return self.only([self.domains.get(j.pair) == domain for j in self.judgements])

    def __len__(self) -> int:
        return len(self.judgements)

    @cached_property
    def judged(self) -> list[Hashable]:
        """The judge's verdicts by place; None where there is none."""
        return [placed(j.prefers, at) for j, at in zip(self.judgements, self.at, strict=True)]

    @cached_property
    def told(self) -> list[Hashable]:
        """What people say, by place."""
        return [placed(label, at) for label, at in zip(self.people, self.at, strict=True)]

    @cached_property
    def groups(self) -> list[str]:
        return [j.group for j in self.judgements]

    @cached_property
    def pairs(self) -> list[str]:
        """The labelled pairs, each once, in their order."""
        return list(dict.fromkeys(j.pair for j in self.judgements))

    @cached_property
    def menu(self) -> list[str]:
        ties = "tie" in self.judged or any("tie" in votes.values() for votes in self.labels.votes.values())
        return ["A", "B", "tie"] if ties else ["A", "B"]

    @cached_property
    def shown(self) -> list[int]:
        """The first row of each pair in each order, repeats apart: what people are compared with each other on."""
        first: dict[tuple[str, Place], int] = {}
        for i, (j, at) in enumerate(zip(self.judgements, self.at, strict=True)):
            first.setdefault((j.pair, at), i)
        return list(first.values())

    def votes(self, row: int) -> dict[str, str | None]:
        """What each person says of a row's pair, by place."""
        said = self.labels.votes[self.judgements[row].pair]
        return {who: placed(vote, self.at[row]) for who, vote in said.items()}
