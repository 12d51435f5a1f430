"""What the discovery of config.toml takes: calls and tokens as a dry run says them, and hours by the assumptions there.

    python experiments/gpu-box/plan.py [PAIRS.jsonl]

Without a file (run.py writes one from the hub) it makes pairs of the same number and lengths. Nothing is asked: models
that are planted in code stand in for both, since only their place matters to a dry run (on this machine, no thinking).
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from box import HERE, hours, load, loading, pace, stand_ins, write

from recuse.discovery.config import DiscoverConfig, plan_discovery
from recuse.discovery.estimate import estimate
from recuse.plan import AuditConfig

JUDGE, TEACHER = "fake/skill=1", "fake/teacher=1"


def dry_run(config: dict[str, Any], pairs: Path) -> dict[str, Any]:
    """As `recuse discover --dry-run --json` says it."""
    given = {name: value for name, value in config["discovery"].items() if name not in ("judge", "teacher")}
    audit = AuditConfig(JUDGE, str(pairs), prompt=given.pop("prompt"), seed=given.pop("seed"))
    plan = plan_discovery(DiscoverConfig(audit, TEACHER, **given))
    try:
        return estimate(plan)
    finally:
        plan.close()


def figures(config: dict[str, Any], said: dict[str, Any]) -> dict[str, Any]:
    """Paces, and hours on one GPU and on eight."""
    found: dict[str, Any] = {}
    for role in ("judge", "teacher"):
        work, model, assumed = said[role], config["models"][role], config["assumed"]
        context = (work["tokens_in"] + work["tokens_out"] / 2) / work["calls"]
        speed, loads = pace(model, config["gpu"], assumed, context=context), loading(model, assumed)
        cached = assumed[f"cached_{role}"]
        found[role] = {
            "calls": work["calls"], "tokens_in": work["tokens_in"], "tokens_out": work["tokens_out"],
            "calls_by_kind": work["calls_by_kind"], "read": speed.read, "write": speed.write,
            "hours_of_one": hours(work, speed, cached=cached, loading=loads),
            "hours_of_one_without_cache": hours(work, speed, cached=0.0, loading=loads),
            "hours_of_eight": hours(
                work, speed, cached=cached, loading=loads, gpus=8, share=assumed["share_of_eight"]
            ),
            "hours_of_loading": loads / 3600,
        }  # fmt: skip
    return {**found, "detectable_effect": said["detectable_effect"], "validation_groups": said["validation_groups"]}


def table(found: dict[str, Any]) -> str:
    rows = ["| | judge | teacher | both |", "|---|---|---|---|"]
    for name, form in (
        ("calls", "{:,.0f}"), ("tokens_in", "{:,.0f}"), ("tokens_out", "{:,.0f}"), ("read", "{:,.0f} tokens a second"),
        ("write", "{:,.0f} tokens a second"), ("hours_of_loading", "{:.1f}"), ("hours_of_one", "{:.1f}"),
        ("hours_of_one_without_cache", "{:.1f}"), ("hours_of_eight", "{:.1f}"),
    ):  # fmt: skip
        judge, teacher = found["judge"][name], found["teacher"][name]
        both = "" if name in ("read", "write") else form.format(judge + teacher)
        rows.append(f"| {name.replace('_', ' ')} | {form.format(judge)} | {form.format(teacher)} | {both} |")
    rows += ["", "| calls of kind | judge | teacher |", "|---|---|---|"]
    for role, place in (("judge", "| {0} | {1:,} | |"), ("teacher", "| {0} | | {1:,} |")):
        rows += [place.format(kind, calls) for kind, calls in found[role]["calls_by_kind"].items()]
    return "\n".join(rows)


def main() -> None:
    config = load()
    with tempfile.TemporaryDirectory() as folder:
        pairs = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "pairs.jsonl"
        if len(sys.argv) == 1:
            write(stand_ins(config["lengths"], seed=config["discovery"]["seed"]), pairs)
        found = figures(config, dry_run(config, pairs))
    (HERE / "figures.json").write_text(json.dumps(found, indent=1) + "\n")
    print(table(found))
    print(f"{found['validation_groups']} validation groups find effects from {found['detectable_effect']:.3f} on.")


if __name__ == "__main__":
    main()
