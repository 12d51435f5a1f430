"""A model under test, as the probes of fixed prompts reach it: one backend, one ledger, one run folder."""

from __future__ import annotations

import json
import platform
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from recuse.backends import Backend, Options, open_backend, settle
from recuse.backends.base import public_address
from recuse.errors import UsageError
from recuse.judge import Answered, Spend, estimate_tokens, usage_of
from recuse.lab.engines import Engines, Model, Role, Watch
from recuse.prices import Price, date_of, priced
from recuse.probes.pages import write_pages
from recuse.probes.records import RECORDS, records_bytes
from recuse.run import RunFolder, default_folder
from recuse.types import Ask, Finding, Reply, Sampling
from recuse.verdict.text import split_thinking

Send = Callable[[Sequence[Ask], str], list[Answered]]  # asks and the name of the phase


@dataclass(frozen=True)
class Reached:
    """How a probe is told to reach its model. `max_tokens`: room for every reply, where a model may think first."""

    model: str
    out: Path | None = None
    temperature: float | None = 1.0
    max_tokens: int | None = None
    seed: int = 0
    options: Options = field(default_factory=Options)
    prices: Path | None = None
    max_cost: float | None = None

    def __post_init__(self) -> None:
        settle(self, "model", "options")


@dataclass(frozen=True)
class Found:
    """What a probe makes of the replies: one row a reply (or chain of replies), and what they show.

    `tables` holds the numbers as JSON values under the probe's own name.
    """

    headline: str
    findings: tuple[Finding, ...]
    rows: Sequence[Mapping[str, Any]]
    tables: Mapping[str, Any]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Product:
    """A model that is open; nothing is asked yet."""

    reached: Reached
    backend: Backend
    price: Price | None
    notes: tuple[str, ...]

    @classmethod
    def open(cls, reached: Reached) -> Product:
        """Raises UsageError for a model that writes no text or has no price under a cap, and what opening it raises."""
        backend = open_backend(reached.model, reached.options)
        can = backend.capabilities
        if not can.explains:
            backend.close()
            raise UsageError(f"{reached.model} writes no text.", hint="Give --model one that does.")
        price = priced(
            reached.model,
            reached.prices,
            local=can.local,
            capped=reached.max_cost is not None,
            batched=reached.options.batch,
        )
        return cls(reached, backend, price, () if can.temperature else ("This model takes no temperature.",))

    @property
    def temperature(self) -> float | None:
        return self.reached.temperature if self.backend.capabilities.temperature else None

    @property
    def varies(self) -> bool:
        """Whether a repeated call may bring another reply."""
        return self.temperature != 0.0

    def sampling(self, tokens: int) -> Sampling:
        seed = self.reached.seed if self.backend.capabilities.seed and self.varies else None
        return Sampling(temperature=self.temperature, max_tokens=max(tokens, self.reached.max_tokens or 0), seed=seed)

    def run_table(self, probe: str, of_probe: Mapping[str, Any]) -> dict[str, Any]:
        """All that determines the replies: the `[run]` table of run.toml."""
        temperature = "provider default" if self.temperature is None else self.temperature
        return {
            "probe": probe, "model": self.reached.model, "base_url": public_address(self.reached.options.base_url),
            "seed": self.reached.seed, "temperature": temperature, "max_tokens": self.reached.max_tokens,
            "engine": dict(self.backend.versions()), **of_probe,
        }  # fmt: skip

    def estimate(self, asks: Sequence[Ask]) -> dict[str, Any]:
        """Calls, tokens and money before anything is sent; tokens are an upper guess from characters."""
        tokens = [estimate_tokens(ask) for ask in asks]
        tokens_in, tokens_out = (sum(pair[i] for pair in tokens) for i in (0, 1))
        cost = self.price.of(tokens_in, tokens_out) if self.price else None
        return {
            "model": self.reached.model, "calls": len(tokens), "tokens_in": tokens_in, "tokens_out": tokens_out,
            "cost": cost,
            "prices_dated": (date_of(self.reached.prices) or None) if cost else None,
        }  # fmt: skip

    def close(self) -> None:
        self.backend.close()


def carry_out(
    product: Product,
    probe: str,
    of_probe: Mapping[str, Any],
    plan: Mapping[str, Any],
    work: Callable[[Send], Found],
    *,
    level: float,
    watch: Watch = lambda phase, done, total, cost: None,
    stop: threading.Event | None = None,
) -> tuple[dict[str, Any], Path]:
    """Let `work` ask and measure, and write run.toml, records.parquet and findings.json.

    Returns the content of findings.json and the folder. Raises Incomplete when it stopped early; the same configuration
    resumes it, and a finished run measures again without a call.
    """
    reached, table, started = product.reached, product.run_table(probe, of_probe), time.monotonic()
    with RunFolder(reached.out or default_folder(probe, reached.model, table), table) as run:

        def told(phase: str, done: int, total: int, cost: float) -> None:
            run.kept = True
            watch(phase, done, total, cost)

        models: dict[Role, Model] = {"product": Model(reached.model, reached.options, product.price)}
        with Engines(models, run.path, reached.max_cost, stop, told) as engines:
            engines.adopt("product", product.backend)
            found = work(lambda asks, phase: engines.ask("product", asks, phase=phase))
            spend = engines.spends["product"]
        usage = usage_of(spend, product.price, time.monotonic() - started)
        versions = {"python": platform.python_version(), **{p: version(p) for p in ("recuse", "numpy", "scipy")}}
        run.record(versions=versions, usage=usage, provider={"models": spend.models, "notes": spend.notes})
        content = {
            "schema": 1, "kind": "probe", "headline": found.headline, "model": reached.model, "plan": dict(plan),
            "level": level, "findings": [asdict(finding) for finding in found.findings], "tables": dict(found.tables),
            "notes": [*product.notes, *found.notes, *_notes(spend)], "usage": usage,
            "config": {key: value for key, value in table.items() if value is not None},
        }  # fmt: skip
        run.replace(RECORDS, records_bytes(found.rows))
        write_pages(run, content, found.findings, level=level)
        run.write("findings.json", json.dumps(content, indent=2, allow_nan=False) + "\n")
        return content, run.path


def _notes(spend: Spend) -> list[str]:
    notes = [f"{note} ({count:,} replies)." for note, count in sorted(spend.notes.items())]
    if spend.cut:
        notes.append(f"{spend.cut:,} replies were cut by the token limit: give --max-tokens more if that matters.")
    if spend.models:
        notes.append("The provider reported the model as " + ", ".join(sorted(spend.models)) + ".")
    return notes


def spoken(reply: Reply) -> str:
    """A reply's text without its thinking: what stands in the conversation when it goes on."""
    return split_thinking(reply.text.strip())[0].strip() if reply.finish in ("stop", "length") else ""
