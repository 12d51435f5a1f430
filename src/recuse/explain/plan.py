"""What `recuse explain` is told, and the plan that is ready to run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from recuse.discovery.similar import Embeddings, load_embeddings
from recuse.explain.cases import Kind, Seen, compare
from recuse.explain.further import Asking, explaining, injecting, plan_asking
from recuse.explain.material import Material, Source, gather
from recuse.explain.people import turned
from recuse.explain.recommend import Confirmed, from_discovery
from recuse.library import Bias, load_library
from recuse.plan import Plan
from recuse.types import Pair


@dataclass(frozen=True)
class ExplainConfig:
    source: Source
    asking: Asking | None = None  # None: nothing is asked
    library: Path | None = None
    discovery: Path | None = None  # a discovery on the same judge, whose confirmed biases count
    similarity: str | None = None  # sentence embeddings by which themes are found; None: by words
    out: Path | None = None
    level: float = 0.95
    seed: int = 0


@dataclass(frozen=True)
class ExplainPlan:
    config: ExplainConfig
    given: Material
    library: Mapping[str, Bias]
    discovered: tuple[Confirmed, ...]
    notes: tuple[str, ...]
    judge: Plan | None = None  # for further asks
    similarity: Embeddings | None = None

    @cached_property
    def seen(self) -> list[Seen]:
        return compare(self.given.judgements, self.given.labels)

    def clear(self, seen: Seen) -> bool:
        """Whether the texts are known and one answer is the one that people prefer."""
        return seen.errors is not None and seen.pair in self.given.texts

    def pair(self, seen: Seen) -> Pair:
        """The pair by the name that the judgements give it, turned to people."""
        return turned(self.given.texts[seen.pair], seen.people)

    def of_kind(self, kind: Kind) -> list[Pair]:
        """The clear pairs of a kind, turned to people."""
        return [self.pair(seen) for seen in self.seen if seen.kind == kind and self.clear(seen)]

    def run_table(self) -> dict[str, Any]:
        """All that determines the result."""
        config, given, source = self.config, self.given, self.config.source
        asking = config.asking
        return {
            "judge": given.judge, "judge_run": source.run and str(source.run), "verdicts": source.verdicts
            and str(source.verdicts), "format": source.format, "where": list(source.where), "pairs": source.pairs,
            "hash": given.hash, "people": given.labels.source, "labels_hash": given.labels.hash, "seed": config.seed,
            "level": config.level, "discovery": config.discovery and str(config.discovery),
            "library": config.library and str(config.library),
            "similarity": dict(self.similarity.identity) if self.similarity else None,
            "asked": self.judge.run_table() if self.judge else None,
            "steps": asking.steps if asking else None, "most": asking.most if asking else None,
        }  # fmt: skip

    def estimate(self) -> dict[str, Any]:
        """Pairs by what becomes of them, and what further asks may take at most: less where a run lends its replies."""
        right, wrong = self.of_kind("agrees"), self.of_kind("content")
        said: dict[str, Any] = {"pairs": len(self.seen), "right": len(right), "wrong": len(wrong)}
        asking = self.config.asking
        if asking is None or self.judge is None:
            return {**said, "injecting": None, "explaining": None}
        return {
            **said, "injecting": asdict(injecting(asking, self.judge, right)),
            "explaining": asdict(explaining(asking, self.judge, wrong)),
        }  # fmt: skip

    def close(self) -> None:
        if self.judge is not None:
            self.judge.close()


def plan_explain(config: ExplainConfig) -> ExplainPlan:
    """Read the inputs and open the judge, where one is asked; nothing is asked yet. Raises UsageError and InputError
    for what does not fit together."""
    given = gather(config.source)
    library = load_library(config.library)
    discovered, notes = from_discovery(config.discovery, given.judge)
    similarity = load_embeddings(config.similarity) if config.similarity else None
    judge = plan_asking(config.asking, config.source, given.run) if config.asking else None
    return ExplainPlan(config, given, library, tuple(discovered), tuple(notes), judge, similarity)
