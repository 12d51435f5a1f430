"""Preference sets end to end on short TruthfulQA pairs: by rule, and by a small local model that rewrites.

    RECUSE_DATA=DATA python experiments/export/preferences.py [--teacher MODEL --limit N] [--run RUN] [--not-from RUN]

Without --run the biases authority and self-praise (by a teacher: authority and certainty) are put in; no run has
confirmed them, and every row says so. Writes the set under $RECUSE_RUNS (default recuse-runs), and here its card and
export.json alone, as preferences-rule.* or preferences-teacher.*; `trl_check.py` then says whether TRL takes it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

from recuse.export.preference_plan import PreferenceConfig, plan_preferences
from recuse.export.preferences import export_preferences
from recuse.pairs import load_pairs
from recuse.report.terminal import Phases

HERE = Path(__file__).resolve().parent
MOST = 320  # characters of question and answers together: a small model rewrites short answers in seconds
RULE, TAUGHT = ("authority", "self-praise"), ("authority", "certainty")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--teacher", help="provider/model that rewrites; default: by rule")
    parser.add_argument("--limit", type=int, help="pairs")
    parser.add_argument("--run", type=Path, help="a run whose confirmed biases are taken instead")
    parser.add_argument(
        "--not-from", type=Path, action="append", default=[], help="a run whose held-out pairs stay out"
    )
    given = parser.parse_args()
    runs = Path(os.environ.get("RECUSE_RUNS", "recuse-runs")).resolve()
    data = Path(os.environ.get("RECUSE_DATA", "../shared/data")).resolve()
    kind = "teacher" if given.teacher else "rule"
    sources, out = runs / "export-source", runs / f"export-preferences-{kind}"
    config = PreferenceConfig(
        "short.jsonl", out, run=given.run and given.run.resolve(), not_from=tuple(p.resolve() for p in given.not_from),
        biases=() if given.run else TAUGHT if given.teacher else RULE, limit=given.limit, teacher=given.teacher,
    )  # fmt: skip
    _write_short(data / "truthfulqa/TruthfulQA.csv", sources)
    os.chdir(sources)  # a relative name, so that the run's configuration names no folder of this machine
    plan = plan_preferences(replace(config, work=runs / "export-preferences-work"))
    try:
        with Phases() as phases:
            done = export_preferences(plan, watch=phases.update)
    finally:
        plan.close()
    print(done.headline)
    shutil.copy(out / "README.md", HERE / f"preferences-{kind}.card.md")
    shutil.copy(out / "export.json", HERE / f"preferences-{kind}.export.json")


def _write_short(source: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "short.jsonl").open("w", encoding="utf-8") as file:
        for pair in load_pairs(source):
            if len(str(pair.prompt)) + len(pair.chosen) + len(pair.rejected) <= MOST:
                row = {"prompt": pair.prompt, "chosen": pair.chosen, "rejected": pair.rejected, "domain": pair.domain}
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
