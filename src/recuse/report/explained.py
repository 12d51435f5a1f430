"""What the report of an explanation is made from: one frozen record of why a judge and people disagree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recuse.types import Finding

Interval = tuple[float, float] | None


@dataclass(frozen=True)
class Reader:
    """`table`: (kind as recorded, kind as the text says, pairs); `line`: what it comes to, in a sentence or two."""

    verdicts: int
    contradicting: int
    one_sided: int
    line: str
    table: tuple[tuple[str, str, int], ...]

    @property
    def faults(self) -> int:
        return self.contradicting + self.one_sided


@dataclass(frozen=True)
class Features:
    """`titles` by id: what an answer has more of; `left_out` by id: why; `reason`: why there is no model."""

    reason: str | None
    left_out: Mapping[str, str]
    n: int
    titles: Mapping[str, str]


@dataclass(frozen=True)
class Put:
    """Biases put in where the judge was right."""

    pairs: int
    confirmed: tuple[str, ...]


@dataclass(frozen=True)
class Theme:
    """`right`: its share among explanations of right verdicts, where there are any; `change`: share minus that."""

    words: tuple[str, ...]
    share: float
    interval: Interval
    count: int
    stability: float
    right: float | None
    right_interval: Interval
    change: float | None
    difference: Interval  # of `change`
    reason: str | None  # why there is no change
    examples: tuple[tuple[str, str], ...]  # pair, excerpt


@dataclass(frozen=True)
class Themes:
    """`source`: where the explanations are from; `by`: "words", or "embeddings", by which each explanation is in one
    theme; `reason`: why there are no themes."""

    source: str
    by: str
    n: int
    none: int
    several: int
    criterion: str
    reason: str | None
    themes: tuple[Theme, ...]


@dataclass(frozen=True)
class Crossed:
    """A theme against a confirmed bias; `interval` is of `change`, the share minus that among the others."""

    theme: str
    bias: str
    by: str
    share: float
    others: float | None
    change: float | None
    interval: Interval
    reason: str | None
    n: int


@dataclass(frozen=True)
class Proven:
    id: str
    name: str
    effect: float
    interval: Interval
    n: int
    how: str


@dataclass(frozen=True)
class Recommended:
    """`paragraph` None: nothing is confirmed; `unproven`: what goes with errors, without proof of a cause."""

    paragraph: str | None
    confirmed: tuple[Proven, ...]
    unproven: tuple[str, ...]


@dataclass(frozen=True)
class Example:
    """A disagreement; texts are None where they are not known."""

    pair: str
    domain: str | None
    people: str
    verdicts: Mapping[str, str | None]  # by order
    question: str | None
    preferred: str | None
    other: str | None
    words: str | None


@dataclass(frozen=True)
class ExplainReport:
    """A finished explanation. `counts` and `examples` are by kind of disagreement."""

    headline: str
    judge: str
    pairs: str
    people: str
    level: float
    counts: Mapping[str, int]
    findings: tuple[Finding, ...]
    reader: Reader | None
    features: Features | None
    injected: Put | None
    themes: Themes
    crossed: tuple[Crossed, ...]
    recommendation: Recommended
    examples: Mapping[str, tuple[Example, ...]]
    limits: tuple[str, ...]
    notes: tuple[str, ...]
    usage: Mapping[str, Any]
    config: Mapping[str, Any] = field(default_factory=dict)
    folder: Path = Path()

    def of(self, start: str) -> tuple[Finding, ...]:
        """The findings whose id starts so."""
        return tuple(f for f in self.findings if f.id.startswith(start))
