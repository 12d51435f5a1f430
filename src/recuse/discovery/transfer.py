"""The confirmed biases of one run, to be tested on another judge.

What was found on one judge is a candidate for another, never a finding. The other judge sees the same pairs, so the
teacher's rewrites of the first run serve again, and only the judgements are new.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from recuse import assets
from recuse.blinding.pairs import Blinds
from recuse.discovery.config import DiscoverConfig
from recuse.discovery.merge import Candidate
from recuse.discovery.rounds import Discovered
from recuse.errors import InputError, UsageError
from recuse.lab.engines import LEDGERS
from recuse.library import bias_toml, load_library
from recuse.plan import AuditConfig
from recuse.run import RunFolder


@dataclass(frozen=True)
class Transferred:
    """Candidates from another run, in the order of their ids."""

    run: Path
    candidates: tuple[Candidate, ...]
    pairs_hash: str

    @property
    def teacher_ledger(self) -> Path:
        return self.run / LEDGERS["teacher"]

    def run_table(self) -> dict[str, Any]:
        texts = "".join(bias_toml(candidate.bias) for candidate in self.candidates)
        return {
            "transferred": [candidate.bias.id for candidate in self.candidates],
            "transferred_hash": assets.digest(texts.encode()),
        }

    def check_pairs(self, found: str) -> None:
        """Raise InputError where the pairs, by their hash, are not those of the run any more."""
        if found != self.pairs_hash:
            raise InputError(
                f"the pairs are not those that {self.run} was made with: their content has changed",
                hint="Restore the file, or discover anew.",
            )

    def found(self) -> Discovered:
        return Discovered(candidates={c.bias.id: c for c in self.candidates}, given=True)


def load_run(run: Path, *, unconfirmed: bool = False) -> Transferred:
    """The confirmed biases of a finished run, or all that it tested. Raises UsageError where there are none."""
    folder = run / "candidates"
    if not (run / "findings.json").is_file() or not folder.is_dir():
        raise UsageError(f"{run} holds no finished discovery.", hint="Give the folder of a `recuse discover` run.")
    wanted = ("confirmed", "rejected", "candidate") if unconfirmed else ("confirmed",)
    biases = [b for b in (load_library(folder) if any(folder.iterdir()) else {}).values() if b.status in wanted]
    if not biases:
        raise UsageError(f"{run} confirmed no bias.", hint="--unconfirmed takes all that it tested.")
    fresh = [b.model_copy(update={"status": "candidate", "evidence": []}) for b in biases]
    return Transferred(run, tuple(Candidate(b, 0, (), ()) for b in fresh), str(read_run(run).get("pairs_hash")))


def transfer_config(run: Path, judge: AuditConfig) -> DiscoverConfig:
    """The settings of `run` with another judge: the same pairs, parts, teacher and rules of acceptance."""
    table = read_run(run)
    try:
        audit = replace(
            judge, pairs=table["pairs"], preset=table.get("preset") if table.get("preset") != "columns" else None,
            columns=table.get("columns", {}), group=table.get("group"), limit=table.get("limit"), seed=table["seed"],
            skip_bad=table.get("skip_bad", False), blinds=Blinds.from_table(table.get("blinded", {})),
        )  # fmt: skip
        return DiscoverConfig(
            audit, table["teacher"], teacher_options=replace(judge.options, base_url=table.get("teacher_base_url")),
            teacher_tokens=table.get("teacher_tokens"), min_effect=table["min_effect"], fdr=table["fdr"],
            shams=table["shams"], fractions=tuple(table["fractions"]), split_column=table.get("split_column"),
            racing=table["racing"], verify=table["verify"],
        )  # fmt: skip
    except KeyError as error:
        raise InputError(
            f"no {error.args[0]!r} in the table [run]", path=run / "run.toml", hint="Give a run of this version."
        ) from None


def read_run(run: Path) -> Mapping[str, Any]:
    """The `[run]` table of a run folder."""
    if not (run / "run.toml").is_file():
        raise UsageError(f"There is no run at {run}.", hint="Give the folder of a `recuse discover` run.")
    table: Mapping[str, Any] = RunFolder(run, {}).read().get("run", {})
    return table
