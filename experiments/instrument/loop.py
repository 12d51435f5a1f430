"""Is a planted bias that no library lists found, and how does that depend on the teacher?

    python experiments/instrument/loop.py        some ten minutes of one core; writes loop.json

The whole of `recuse discover` on fakes that see only texts: a judge that likes one word, an explainer that quotes the
word in four of five mistakes, and a teacher that knows the property behind a quoted word with the given probability and
names a wrong one or none otherwise. It slips a word of its own into nine of ten rewrites. 900 pairs, five shams, two
rounds; the planted effect is 40 points.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from world import like_for, world_pairs

from recuse import stats
from recuse.backends.fake import parse_planted
from recuse.backends.fake_world import WORLD
from recuse.discovery.config import DiscoverConfig, plan_discovery
from recuse.discovery.run import run_discovery
from recuse.plan import AuditConfig

PAIRS, POINTS, CARRY, RUNS = 900, 0.40, 0.9, 15
# The teacher slips the liked word into some placebo rewrites too, and what it does there is no part of the contrast.
EFFECT = POINTS * (1 - CARRY / len(WORLD))
ACCURACIES = (0.0, 0.25, 0.5, 0.75, 1.0)
LIBRARY = (
    'id = "tone"\nname = "Friendly tone"\ndefinition = "Prefers friendliness."\nmanifestations = ["warm words"]\n'
    'inject = "Give the answer a friendlier tone."\nfamily = "social"\nstatus = "seed"\nsource = ["a paper"]\n'
)


def one(accuracy: float, seed: int, folder: Path) -> dict[str, Any]:
    (folder / "library").mkdir(parents=True)
    (folder / "library" / "tone.toml").write_text(LIBRARY)
    with (folder / "pairs.jsonl").open("w") as file:
        for p in world_pairs(PAIRS, seed=seed):
            row = {"prompt": p.prompt, "chosen": p.chosen, "rejected": p.rejected, "group": p.group}
            file.write(json.dumps({**row, "reference": p.reference}) + "\n")
    liked = WORLD[seed % len(WORLD)]
    planted = replace(
        parse_planted(f"skill=1.8,pair_sd=0.7,position=0.4,rewrite_sd=0.3,explain=0.8,seed={seed}"), likes=liked.word
    )
    judge = (
        f"fake/skill=1.8,pair_sd=0.7,position=0.4,rewrite_sd=0.3,explain=0.8,seed={seed},likes={liked.word},"
        f"like={like_for(POINTS, planted):.3f}"
    )
    config = DiscoverConfig(
        AuditConfig(judge, str(folder / "pairs.jsonl"), group="group", seed=seed, out=folder / "out"),
        f"fake/teacher=1,accuracy={accuracy},carry={CARRY},seed={seed}",
        library=folder / "library", rounds=2, shams=5, screen_groups=40,
    )  # fmt: skip
    plan = plan_discovery(config)
    try:
        result = run_discovery(plan)
    finally:
        plan.close()
    right = [c for c in result.candidates if c.name in (liked.name, liked.other_name)]
    accepted = [c for c in result.of("accepted") if c in right]
    effect = next((f for c in accepted for f in c.findings if f.id.endswith(".effect")), None)
    return {
        "mistakes": sum(r["mistakes"] for r in result.rounds),
        "named": bool(right),
        "support": max((c.support for c in right), default=0),
        "found": bool(accepted),
        "false": any(c not in right for c in result.of("accepted")),
        "candidates": len(result.candidates),
        "estimate": effect.estimate if effect else None,
        "covers": bool(effect and effect.interval and effect.interval[0] <= EFFECT <= effect.interval[1]),
    }


def main() -> None:
    found: dict[str, Any] = {"runs": RUNS, "planted_effect": EFFECT, "pairs": PAIRS, "by_accuracy": {}}
    for accuracy in ACCURACIES:
        rows = []
        for seed in range(1, RUNS + 1):
            with tempfile.TemporaryDirectory() as folder:
                rows.append(one(accuracy, seed, Path(folder) / "run"))
        share = stats.wilson_interval(sum(r["found"] for r in rows), RUNS)
        measured = [r for r in rows if r["estimate"] is not None]
        found["by_accuracy"][str(accuracy)] = {
            "found": share.estimate, "interval": share.interval, "named": fmean(r["named"] for r in rows),
            "any_false": fmean(r["false"] for r in rows), "mean_candidates": fmean(r["candidates"] for r in rows),
            "mean_mistakes": fmean(r["mistakes"] for r in rows), "mean_support": fmean(r["support"] for r in rows),
            "mean_estimate": fmean(r["estimate"] for r in measured) if measured else None,
            "intervals_that_cover": sum(r["covers"] for r in measured), "of": len(measured),
        }  # fmt: skip
        print(accuracy, found["by_accuracy"][str(accuracy)], flush=True)
    Path(__file__).with_name("loop.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
