"""`recuse export --kind preferences`: pairs whose wrong answer carries a bias, for training by preferences (DPO).

Held-out parts and benchmarks are taken out first, whole families at a time; the rest is split by family; each pair is
dealt a bias; untouched pairs are mixed in.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

from recuse.errors import UsageError
from recuse.export.dealing import Dealt, Write, deal_out
from recuse.export.folder import write_whole
from recuse.export.mixing import mixed
from recuse.export.preference_card import preference_card
from recuse.export.preference_plan import PreferenceConfig, PreferencePlan, plan_preferences
from recuse.export.preference_rows import Origin, Row, files_of, rows_of
from recuse.export.rows import public_name
from recuse.lab.bench import Bench
from recuse.lab.engines import Watch
from recuse.perturb.arms import Arm
from recuse.perturb.rules import edit_all
from recuse.perturb.teacher import tally
from recuse.types import Pair

PARTS = ("train", "test")


@dataclass(frozen=True)
class Preferred:
    """A finished export. `record` is the content of export.json."""

    folder: Path
    record: Mapping[str, Any]

    @property
    def headline(self) -> str:
        said = [f"{part}: {self.record['parts'][part]['rows']:,} rows" for part in PARTS]
        return f"{', '.join(said)}; {self.record['pairs']['left_out']:,} pairs left out."


def export_preferences(
    plan: PreferencePlan,
    *,
    watch: Watch = lambda phase, done, total, cost: None,
    stop: Event | None = None,
) -> Preferred:
    """Rewrite, mix and write the set's folder, whole or not at all.

    Raises UsageError where no rewritten answer passed the checks; Incomplete where a teacher stopped early: its replies
    are kept, and the same settings go on.
    """
    if plan.teacher is None:
        dealt, bench = _dealt(plan, partial(_edit, plan))
    else:
        with plan.lab(watch, stop) as lab:
            dealt, bench = _dealt(plan, lab.rewrite)
    if not dealt:
        raise UsageError(
            f"None of {_tried(bench):,} rewritten answers passed the checks ({_faults(bench)}); nothing was written.",
            hint="Try other biases, or another teacher.",
        )
    config = plan.config
    origin = Origin(config.pairs, plan.source.hash, config.teacher, {s.bias.id: s for s in plan.sources})
    parts: dict[str, list[Row]] = {}
    for part in PARTS:
        pairs = plan.part(part)
        ids = {pair.id for pair in pairs}
        chosen = mixed([d for d in dealt if d.pair.id in ids], pairs, mix=config.mix, seed=config.seed)
        parts[part] = rows_of(*chosen, origin, seed=config.seed)
    if not parts["train"]:
        raise UsageError("The training part has no rewritten answer.", hint="Give more pairs, or a smaller --test.")
    record = _record(plan, dealt, bench, parts)
    files = files_of(parts)
    files["README.md"] = preference_card(record).encode()
    files["export.json"] = (json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode()
    write_whole(config.out, files)
    return Preferred(config.out, record)


def _dealt(plan: PreferencePlan, write: Write) -> tuple[list[Dealt], Bench]:
    config = plan.config
    return deal_out(plan.pairs, plan.arms, plan.biases, write, per_pair=config.per_pair, seed=config.seed)


def _edit(plan: PreferencePlan, bench: Bench, work: Sequence[tuple[Arm, Sequence[Pair]]]) -> None:
    for arm, pairs in work:
        made = edit_all(pairs, [arm], seed=plan.config.seed, run_code=plan.config.run_code)[arm.id]
        bench.rewrites.setdefault(arm.id, {}).update(made)


def _tried(bench: Bench) -> int:
    return sum(len(of_arm) for of_arm in bench.rewrites.values())


def _all_faults(bench: Bench) -> dict[str, int]:
    """By reason, in alphabetical order: the faults of the checks."""
    tallied = tally(r for of_arm in bench.rewrites.values() for r in of_arm.values())
    return dict(sorted((str(fault), n) for fault, n in tallied.faults.items()))


def _faults(bench: Bench) -> str:
    found = _all_faults(bench)
    return ", ".join(f"{n:,} {fault}" for fault, n in found.items()) or "no bias suits these answers"


def _record(
    plan: PreferencePlan, dealt: Sequence[Dealt], bench: Bench, parts: Mapping[str, Sequence[Row]]
) -> dict[str, Any]:
    config, passed = plan.config, Counter(d.arm.bias for d in dealt)
    return {
        "schema": 1,
        "kind": "preferences",
        "name": config.out.resolve().name,
        "pairs": {"source": public_name(config.pairs), "hash": plan.source.hash, "count": len(plan.source),
                  "groups": plan.source.groups, "left_out": len(plan.source) - len(plan.pairs), "used": len(plan.pairs),
                  "families": len(set(plan.home.values()))},
        "left_out": [asdict(one) for one in plan.left],
        "teacher": public_name(config.teacher) if config.teacher else None,
        "biases": [
            {"id": s.bias.id, "name": s.bias.name, "version": s.version, "status": s.bias.status,
             "confirmed": s.confirmed, "confirmed_on": [public_name(judge) for judge in s.judges], "run": s.run,
             "tried": len(bench.rewrites.get(arm.id, {})), "passed": passed[s.bias.id],
             **{part: sum(row["injected_bias"] == s.bias.id for row in rows) for part, rows in parts.items()}}
            for s, arm in zip(plan.sources, plan.arms, strict=True)
        ],
        "faults": _all_faults(bench),
        "parts": {part: _counts(plan, part, rows) for part, rows in parts.items()},
        "settings": {"mix": config.mix, "test": config.test, "per_pair": config.per_pair, "seed": config.seed},
        "notes": _notes(plan, bench, parts),
    }  # fmt: skip


def _counts(plan: PreferencePlan, part: str, rows: Sequence[Row]) -> dict[str, Any]:
    kinds = Counter(row["kind"] for row in rows)
    pairs = {row["source_pair"] for row in rows}
    return {
        "rows": len(rows), "rewritten": kinds["rewritten"], "untouched": kinds["untouched"], "pairs": len(pairs),
        "families": len({plan.home[id] for id in pairs}),
    }  # fmt: skip


def _notes(plan: PreferencePlan, bench: Bench, parts: Mapping[str, Sequence[Row]]) -> list[str]:
    config, notes = plan.config, list(plan.source.notes)
    if unsure := [s.bias.id for s in plan.sources if not s.confirmed]:
        notes.append(f"Not confirmed on any judge: {', '.join(unsure)}.")
    notes += [f"The arm {arm} is void: {why}." for arm, why in sorted(bench.void.items())]
    notes += [
        f"The texts of {one.unread:,} pairs of {one.name} could not be read again: of those the pairs themselves and "
        "their groups were left out, and nothing that is nearly the same."
        for one in plan.left if one.unread
    ]  # fmt: skip
    if not any(one.what != "benchmark" for one in plan.left):
        notes.append("No held-out part of a run was named, so none was taken out.")
    if config.test and not parts["test"]:
        notes.append("The test part has no rewritten answer, so there is none.")
    return notes


def preferences(config: PreferenceConfig) -> Preferred:
    """The Python form of `recuse export --kind preferences`."""
    plan = plan_preferences(config)
    try:
        return export_preferences(plan)
    finally:
        plan.close()
