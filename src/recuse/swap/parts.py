"""All that a plan asks of a judge in one mode."""

from __future__ import annotations

from dataclasses import dataclass, field

from recuse.counterfactual.plan import CounterfactualPlan
from recuse.swap.arms import Arm, Blinded, Retest, blind, changes, retest, swaps
from recuse.swap.asking import Key, Round
from recuse.swap.authors import Content, labels
from recuse.swap.modes import Mode
from recuse.swap.rotation import ask
from recuse.swap.shown import Redacts, Texts


@dataclass
class Part:
    """What one mode asks, arm by arm."""

    asked: Round
    swaps: dict[tuple[str, str], Arm] = field(default_factory=dict)
    changes: dict[str, Arm] = field(default_factory=dict)
    retest: Retest | None = None
    blinded: Blinded | None = None
    labels: Arm | None = None
    content: Content | None = None
    rotations: list[list[Key]] = field(default_factory=list)

    @classmethod
    def prepare(cls, mode: Mode, plan: CounterfactualPlan, texts: Texts | None, redactor: Redacts | None) -> Part:
        part = cls(Round(mode))
        asked, floor = part.asked, plan.floor
        if mode.kind == "listwise":
            part.rotations = ask(plan.lineups, asked)
            return part
        if texts is not None:
            part.swaps = swaps(texts, asked)
            part.changes = changes(texts, asked, names=floor.names, synonyms=floor.synonyms)
            part.retest = retest(texts, asked, names=floor.names) if mode.varies else None
            part.blinded = blind(texts, asked, redactor) if redactor is not None else None
        if plan.authors is not None and (mode.kind == "pointwise" or plan.authors.own):
            part.labels = labels(plan.authors, asked)
        if plan.outputs and mode.kind == "pairwise":
            part.content = Content.ask(plan.outputs, asked)
        return part

    @property
    def mode(self) -> Mode:
        return self.asked.mode
