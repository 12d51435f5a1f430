"""Is a planted bias that no library lists found, and how does that depend on the teacher?

    python experiments/instrument/loop.py                 some ten minutes of one core; writes loop.json
    python experiments/instrument/loop.py 1.0             the rows of these accuracies alone
    python experiments/instrument/loop.py first_round     where the liked word is lost in the first of 100 searches

The whole of `recuse discover` on fakes that see only texts: a judge that likes one word, an explainer that quotes the
word in four of five mistakes, and a teacher that knows the property behind a quoted word with the given probability and
names a wrong one or none otherwise. It slips a word of its own into nine of ten rewrites. 900 pairs, five shams, two
rounds; the planted effect is 40 points.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from world import like_for, world_pairs

from recuse import stats
from recuse.backends.fake import parse_planted
from recuse.backends.fake_world import WORLD, Property
from recuse.discovery.config import DiscoverConfig, DiscoverPlan, plan_discovery
from recuse.discovery.mine import Explained
from recuse.discovery.run import run_discovery
from recuse.plan import AuditConfig

PAIRS, POINTS, CARRY, RUNS, SEARCHES = 900, 0.40, 0.9, 15, 100
# The teacher slips the liked word into some placebo rewrites too, and what it does there is no part of the contrast.
EFFECT = POINTS * (1 - CARRY / len(WORLD))
ACCURACIES = (0.0, 0.25, 0.5, 0.75, 1.0)
LIBRARY = (
    'id = "tone"\nname = "Friendly tone"\ndefinition = "Prefers friendliness."\nmanifestations = ["warm words"]\n'
    'inject = "Give the answer a friendlier tone."\nfamily = "social"\nstatus = "seed"\nsource = ["a paper"]\n'
)


def planned(accuracy: float, seed: int, folder: Path) -> tuple[DiscoverPlan, Property]:
    """A discovery that is ready to run, and the property whose word the judge likes."""
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
    return plan_discovery(config), liked


def one(accuracy: float, seed: int, folder: Path) -> dict[str, Any]:
    plan, liked = planned(accuracy, seed, folder)
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


class _Explained(Exception):
    """Ends a search once the mistakes of its first round are explained."""


def first_round(seed: int, folder: Path) -> dict[str, int]:
    """How far the liked word comes in the first round: robust flips with it, those whose explanation comes to the
    mistake, and those in which it quotes the word; by the order asked first alone, too."""
    plan, liked = planned(1.0, seed, folder)
    seen: list[Explained] = []

    def enough(explained: Sequence[Explained], **_: object) -> None:
        seen.extend(e for e in explained if liked.word in e.case.rewritten.casefold())
        raise _Explained

    with patch("recuse.discovery.rounds.extract", enough), suppress(_Explained):
        run_discovery(plan)
    plan.close()
    agreed = [e for e in seen if e.words is not None]
    quoting = [e for e in agreed if f'"{liked.word}"' in (e.words or "")]
    return {
        "flips": len(seen), "explained": len(agreed), "quoting": len(quoting),
        "explained_in_one_order": sum(e.orders == 1 for e in agreed),
        "quoting_in_one_order": sum(e.orders == 1 for e in quoting),
    }  # fmt: skip


def lost(rows: list[dict[str, int]], end: str) -> dict[str, int]:
    """Of searches that come to nothing, the stage at which they had nothing left."""
    stages = {
        "no robust flip": "flips",
        "explained otherwise": f"explained{end}",
        "another word quoted": f"quoting{end}",
    }
    found, left = {}, rows
    for stage, count in stages.items():
        found[stage] = sum(row[count] == 0 for row in left)
        left = [row for row in left if row[count]]
    return found


def first_rounds() -> dict[str, Any]:
    rows = []
    for seed in range(1, SEARCHES + 1):
        with tempfile.TemporaryDirectory() as folder:
            rows.append(first_round(seed, Path(folder) / "run"))
    return {
        "searches": SEARCHES, "mean": {key: fmean(row[key] for row in rows) for key in rows[0]},
        "lost": lost(rows, ""), "lost_in_one_order": lost(rows, "_in_one_order"),
    }  # fmt: skip


def row_of(accuracy: float) -> dict[str, Any]:
    rows = []
    for seed in range(1, RUNS + 1):
        with tempfile.TemporaryDirectory() as folder:
            rows.append(one(accuracy, seed, Path(folder) / "run"))
    share = stats.wilson_interval(sum(r["found"] for r in rows), RUNS)
    measured = [r for r in rows if r["estimate"] is not None]
    return {
        "found": share.estimate, "interval": share.interval, "named": fmean(r["named"] for r in rows),
        "any_false": fmean(r["false"] for r in rows), "mean_candidates": fmean(r["candidates"] for r in rows),
        "mean_mistakes": fmean(r["mistakes"] for r in rows), "mean_support": fmean(r["support"] for r in rows),
        "mean_estimate": fmean(r["estimate"] for r in measured) if measured else None,
        "intervals_that_cover": sum(r["covers"] for r in measured), "of": len(measured),
    }  # fmt: skip


def main(wanted: list[str]) -> None:
    file = Path(__file__).with_name("loop.json")
    found: dict[str, Any] = json.loads(file.read_text()) if wanted and file.is_file() else {"by_accuracy": {}}
    found |= {"runs": RUNS, "planted_effect": EFFECT, "pairs": PAIRS}
    for name in wanted or [*map(str, ACCURACIES), "first_round"]:
        if name == "first_round":
            found[name] = first_rounds()
        else:
            found["by_accuracy"][name] = row_of(float(name))
        print(name, found.get(name) or found["by_accuracy"][name], flush=True)
        file.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
