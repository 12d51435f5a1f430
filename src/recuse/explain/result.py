"""What `recuse explain` found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recuse.explain.cases import Kind, Seen
from recuse.explain.crossed import Cell
from recuse.explain.faults import ReaderFault
from recuse.explain.inject import Injected
from recuse.explain.model import ErrorModel
from recuse.explain.recommend import Confirmed
from recuse.explain.themes import Themes
from recuse.types import Finding, Pair

LIMITS = (
    "People's majority is taken for right; where people err, a judge that is right counts as wrong.",
    "Kinds are of verdicts, not of causes: a pair whose verdict goes with the place may hold a disagreement about "
    "content too, which the place hides.",
    "Features go with errors; the model changes no answer, so it proves no cause, and what it does not measure may "
    "stand behind what it does.",
    "What a judge says of its reasons need not be what led to its verdict: themes describe its words.",
)
OVERLAP = "Shares of themes overlap and add up to no whole: one explanation may carry several."
APART = "Each explanation is counted in the theme that it lies nearest to, however far that is."


@dataclass(frozen=True)
class Example:
    """A disagreement, for people to look at."""

    seen: Seen
    pair: Pair | None  # turned: its chosen answer is the one that people prefer
    domain: str | None
    words: str | None


@dataclass(frozen=True)
class ExplainResult:
    headline: str
    judge: str
    pairs: str
    people: str  # where their labels are from
    level: float
    counts: Mapping[Kind, int]
    findings: tuple[Finding, ...]  # shares of the kinds, position, then whatever else was measured
    reader: ReaderFault | None  # None: the verdicts have one reading
    model: ErrorModel | None  # None: the texts are not known
    injected: Injected | None  # None: no judge was asked
    themes: Themes
    theme_names: Sequence[str]  # pairs of the documents of the themes, by place
    reasons: str  # where the explanations are from
    crossed: tuple[Cell, ...]
    confirmed: tuple[Confirmed, ...]
    paragraph: str | None  # for the judge's prompt; None: nothing is confirmed
    unproven: tuple[str, ...]  # what goes with errors, without proof of a cause
    examples: Mapping[Kind, Sequence[Example]]
    notes: tuple[str, ...]
    usage: Mapping[str, Any]
    limits: tuple[str, ...] = LIMITS
    config: Mapping[str, Any] = field(default_factory=dict)
    folder: Path = Path()
