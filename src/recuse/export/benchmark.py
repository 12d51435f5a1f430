"""`recuse export --kind benchmark`: from pairs and biases to a folder with an adversarial set."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from recuse.errors import UsageError
from recuse.export.card import card
from recuse.export.config import ExportConfig, ExportPlan, plan_export
from recuse.export.desk import Desk
from recuse.export.folder import write_whole
from recuse.export.rates import Rates, afresh_scores, original_rate, picked_by_others, rates
from recuse.export.rows import Row, jsonl, names_of, parquet, public_name, row_digest, rows_of
from recuse.export.select import (
    LIKE,
    SAMPLE,
    Item,
    Said,
    balanced,
    items_of,
    places,
    sample,
    unanimous,
    without_duplicates,
)
from recuse.export.sheet import INTERFACE, as_csv, as_tasks
from recuse.export.truth import look_again
from recuse.export.variants import Variants, edited, rewritten
from recuse.export.verify import FILES, TARGET, record_bytes
from recuse.judge import usage_of
from recuse.lab.bench import Bench
from recuse.lab.engines import Watch
from recuse.perturb.arms import ORIGINAL
from recuse.perturb.teacher import tally
from recuse.run import RunFolder, default_folder
from recuse.types import Finding, Pair

_RIGHT = (ORIGINAL.id, "chosen")


@dataclass(frozen=True)
class Exported:
    """A finished export. `record` is the content of export.json."""

    folder: Path
    work: Path  # the run folder with the ledgers
    record: Mapping[str, Any]

    @property
    def headline(self) -> str:
        rows, pairs = self.record["rows"], self.record["pairs"]["count"]
        return (
            f"{rows:,} rows from {pairs:,} pairs; release {'ready' if self.record['release']['ready'] else 'blocked'}."
        )


def export_benchmark(
    plan: ExportPlan,
    *,
    watch: Watch = lambda phase, done, total, cost: None,
    stop: threading.Event | None = None,
) -> Exported:
    """Rewrite, judge, select and write the set's folder, whole or not at all.

    Raises Incomplete when it stopped early: the work folder then holds every reply that came, and the same settings
    resume it. Raises UsageError where no row is left.
    """
    config, settings = plan.config, plan.run_table()
    work = config.work or default_folder("export", plan.first.config.judge, settings)
    with RunFolder(work, settings) as run:
        with Desk(plan, run, stop=stop, watch=watch) as desk:
            benches = [Bench("export", plan.pairs) for _ in plan.judges]
            drawn = plan.drawn()
            made = _variants(plan, desk, _worth_rewriting(plan, desk, benches, drawn))
            for i, bench in enumerate(benches):
                bench.rewrites = {arm: dict(of_arm) for arm, of_arm in made.usable.items()}
                desk.lab(i).judge(bench, [ORIGINAL.id, *made.usable])
            chosen = _chosen(plan, desk, made, benches, drawn)
            found = [one for i in range(len(plan.judges)) for one in _rates(plan, desk, i, benches[i], chosen)]
        record, rows = _record(plan, desk, made, chosen, benches, found)
        sampled = [row for row in rows if row["id"] in set(record["sample"])]
        write_whole(
            config.out,
            {
                FILES["rows"]: jsonl(rows),
                FILES["table"]: parquet(rows),
                FILES["card"]: card(record).encode("utf-8", "backslashreplace"),
                "verification.csv": as_csv(sampled),
                "verification.labelstudio.json": as_tasks(sampled),
                "verification.labelstudio.xml": INTERFACE.encode(),
                FILES["record"]: record_bytes(record),
            },
        )
        return Exported(config.out, run.path, record)


@dataclass(frozen=True)
class _Chosen:
    """The items after each step; `faults` are those of the second look."""

    every: Sequence[Item]
    unfiltered: Sequence[Item]  # of the pairs that were rewritten whatever the judges said of them
    filtered: Sequence[Item]
    true: Sequence[Item]
    single: Sequence[Item]
    final: Sequence[Item]
    right_before: int  # pairs
    faults: Mapping[str, int]


def _worth_rewriting(
    plan: ExportPlan, desk: Desk, benches: Sequence[Bench], drawn: Collection[str]
) -> tuple[Pair, ...]:
    """The drawn pairs, and those that may give a row since enough judges were right on them."""
    if len(drawn) == len(plan.pairs):
        return plan.pairs
    for i, bench in enumerate(benches):
        desk.lab(i).judge(bench, [ORIGINAL.id])
    right = _right_before(plan, _said(plan, benches))
    return tuple(pair for pair in plan.pairs if pair.id in drawn or pair.id in right)


def _variants(plan: ExportPlan, desk: Desk, pairs: Sequence[Pair]) -> Variants:
    config = plan.first.config
    if plan.teacher is None:
        return edited(pairs, plan.arms, seed=config.seed, run_code=config.run_code)
    return rewritten(desk.lab(0), pairs, plan.arms, plan.sources)


def _said(plan: ExportPlan, benches: Sequence[Bench]) -> list[Said]:
    views = [2 if "AB" in judge.design.views else 1 for judge in plan.judges]
    return [unanimous(bench.judged, views=n) for bench, n in zip(benches, views, strict=True)]


def _right_before(plan: ExportPlan, said: Sequence[Said]) -> set[str]:
    """The pairs on which enough judges took the better answer in every order."""
    right = Counter(pair for of_judge in said for (arm, pair), to in of_judge.items() if (arm, to) == _RIGHT)
    return {pair for pair, judges in right.items() if judges >= plan.least}


def _chosen(plan: ExportPlan, desk: Desk, made: Variants, benches: Sequence[Bench], drawn: Collection[str]) -> _Chosen:
    said, seed = _said(plan, benches), plan.first.config.seed
    every = items_of(made, plan.pairs, said)
    filtered = [item for item in every if len(item.fooled) >= plan.least]
    looked = look_again(filtered, {arm.id: arm for arm in plan.arms}, desk.lab(0)) if filtered else {}
    true = [item for item in filtered if not looked[item.key]]
    single = without_duplicates(true)
    final = balanced(single, seed=seed)
    if not final:
        raise UsageError(_nothing(plan, made, filtered), hint="Give more pairs, other biases or a smaller --least.")
    faults = Counter(fault for found in looked.values() for fault in found)
    unfiltered = [item for item in every if item.pair.id in drawn]
    right = len(_right_before(plan, said))
    return _Chosen(every, unfiltered, filtered, true, single, final, right, dict(sorted(faults.items())))


def _nothing(plan: ExportPlan, made: Variants, filtered: Sequence[Item]) -> str:
    if not made.passed:
        return f"None of {made.tried:,} rewritten answers passed the checks; nothing was written."
    if not filtered:
        return f"None of {made.passed:,} rewritten answers misled enough judges in every order; nothing was written."
    return f"None of {len(filtered):,} rewritten answers that misled the judges kept its truth; nothing was written."


def _rates(plan: ExportPlan, desk: Desk, i: int, bench: Bench, chosen: _Chosen) -> list[Rates]:
    name, scores = names_of(plan)[i], bench.scores()
    id = f"judge_{i + 1}"
    found = [
        rates(scores, [item.key for item in chosen.unfiltered], judge=name, basis="unfiltered", id=id),
        rates(scores, [item.key for item in chosen.final], judge=name, basis="selecting", id=id),
    ]
    if not desk.fixed(i):
        originals = list({item.pair.id: item.pair for item in chosen.final}.values())
        shown = [(ORIGINAL.id, pair) for pair in originals] + [
            (item.arm, replace(item.pair, rejected=item.text)) for item in chosen.final
        ]
        verdicts = desk.afresh(i, shown, phase="export: judging afresh")
        again = afresh_scores(verdicts, scores, chosen.final)
        found.append(rates(again, [item.key for item in chosen.final], judge=name, basis="afresh", id=id))
    if plan.least < len(plan.judges):
        picked = picked_by_others(chosen.every, i, least=plan.least)
        found.append(rates(scores, picked, judge=name, basis="picked_by_others", id=id))
    return found


def _record(
    plan: ExportPlan, desk: Desk, made: Variants, chosen: _Chosen, benches: Sequence[Bench], found: Sequence[Rates]
) -> tuple[dict[str, Any], list[Row]]:
    config, seed = plan.first.config, plan.first.config.seed
    names, where = names_of(plan), places(chosen.final, seed=seed)
    rows = rows_of(plan, chosen.final, where, [bench.judged for bench in benches])
    picked = sample(chosen.final, seed=seed)
    counts = Counter(item.bias for item in chosen.final)
    record: dict[str, Any] = {
        "schema": 1,
        "kind": "benchmark",
        "name": plan.config.out.name,
        "rows": len(rows),
        "pairs": {"source": public_name(config.pairs), "hash": plan.first.pairs.hash, "count": len(plan.pairs),
                  "groups": plan.first.pairs.groups},
        "judges": [
            {"name": names[i], "prompt": p.prompt.id if p.prompt else None,
             "prompt_hash": p.prompt.hash if p.prompt else None, "alone": "AB" not in p.design.views,
             "deterministic": desk.fixed(i), "reported": sorted(desk.spends[i]["judge"].models)}
            for i, p in enumerate(plan.judges)
        ],
        "least": plan.least,
        "teacher": public_name(config.teacher) if config.teacher else None,
        "biases": [
            {"id": s.bias.id, "name": s.bias.name, "version": s.version, "status": s.bias.status,
             "confirmed": s.confirmed, "confirmed_on": [public_name(judge) for judge in s.judges], "run": s.run,
             "rows": counts[s.bias.id], "share": counts[s.bias.id] / len(rows)}
            for s in plan.sources
        ],
        "domains": dict(sorted(Counter(item.pair.domain or "" for item in chosen.final).items())),
        "labels": dict(sorted(Counter({"A": 0, "B": 0} | Counter(where)).items())),
        "funnel": _funnel(plan, made, chosen, len(picked)),
        "lost": {"the checks": dict(tally(r for of_arm in made.made.values() for r in of_arm.values()).faults),
                 "the second look": dict(chosen.faults)},
        "originals": [
            {"judge": names[i],
             **_plain(original_rate(benches[i].scores(), judge=names[i], id=f"judge_{i + 1}"))}
            for i, p in enumerate(plan.judges)
        ],
        "rates": [
            {"judge": one.judge, "basis": one.basis, "title": one.before.title.rpartition(":")[0],
             "before": _plain(one.before), "after": _plain(one.after), "difference": _plain(one.difference)}
            for one in found
        ],
        "settings": {"variants": plan.config.variants, "seed": seed, "near_duplicate": LIKE, "sample": SAMPLE,
                     "target": TARGET},
        "sample": [rows[i]["id"] for i in picked],
        "digests": {row["id"]: row_digest(row) for row in rows},
        "verification": None,
        "release": {"ready": False, "why": "people have not verified the sample yet"},
        "notes": [*plan.notes, *(f"The arm {arm} is void: {why}." for arm, why in sorted(made.void.items()))],
        "usage": _usage(plan, desk),
    }  # fmt: skip
    return record, rows


def _funnel(plan: ExportPlan, made: Variants, chosen: _Chosen, sampled: int) -> list[dict[str, Any]]:
    again = f"; {made.repeated:,} further draws said what another had said" if made.repeated else ""
    drawn = len(plan.drawn())
    whose = "of all pairs" if drawn == len(plan.pairs) else f"of these pairs and of {drawn:,} drawn whatever was said"
    steps = [
        ("original", len(plan.pairs), "pairs"),
        ("right before", chosen.right_before, "pairs on which enough judges took the better answer, in every order"),
        ("perturbed", made.tried, f"rewritten wrong answers, {whose}{again}"),
        ("passed checks", made.passed, "length, refusal, talk of the bias, final answer"),
        ("filtered", len(chosen.filtered), "enough judges right before and wrong after, in every order"),
        ("checked again", len(chosen.true), "the final answer is still that of the wrong answer"),
        ("deduplicated", len(chosen.single), "near-duplicates removed"),
        ("balanced", len(chosen.final), "over biases and domains; the better answer as often first as second"),
        ("sampled", sampled, "rows that people are to verify"),
    ]  # fmt: skip
    return [{"step": step, "n": n, "what": what} for step, n, what in steps]


def _plain(finding: Finding) -> dict[str, Any]:
    names = ("id", "title", "estimate", "interval", "n", "groups", "bounds", "method", "reason")
    return {**{name: getattr(finding, name) for name in names}, "no_verdict": finding.details["no_verdict"]}


def _usage(plan: ExportPlan, desk: Desk) -> dict[str, Any]:
    usage = {
        f"judge_{i}": usage_of(spends["judge"], p.price, 0.0)
        for i, (p, spends) in enumerate(zip(plan.judges, desk.spends, strict=True), start=1)
    }
    if plan.teacher is not None:
        usage["teacher"] = usage_of(desk.spends[0]["teacher"], plan.first.teacher_price, 0.0)
    for counted in usage.values():
        counted.pop("seconds")
    return usage


def benchmark(config: ExportConfig) -> Exported:
    """The Python form of `recuse export --kind benchmark`."""
    plan = plan_export(config)
    try:
        return export_benchmark(plan)
    finally:
        plan.close()
