"""A benchmark end to end on a small local judge: Qwen2.5-Coder-1.5B-Instruct on short TruthfulQA pairs.

    RECUSE_DATA=DATA python experiments/export/run.py [--limit N] [--run RUN] [--out DIR]

Without --run the biases authority and self-praise go in by rule; no run has confirmed them, and every row says so. The
ledger lies under $RECUSE_RUNS (default recuse-runs), so that a killed run is resumed by the same command. The pairs are
read from $RECUSE_DATA, and neither they nor the rows are stored here: only the card and export.json. "Short" keeps
questions and answers within 320 characters together, all but 5 of 817 pairs.

This judge gives four of five verdicts to the answer shown first, so that it is right in both orders on an eighth of the
pairs: only these and 60 drawn ones are rewritten.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
from contextlib import closing
from pathlib import Path

from recuse.cli.common import stoppable
from recuse.export.benchmark import export_benchmark
from recuse.export.config import ExportConfig, plan_export
from recuse.pairs import load_pairs
from recuse.plan import AuditConfig
from recuse.report.terminal import Phases

JUDGE, PROMPT = "llamacpp/qwen2.5-coder-1.5b", "pairwise/correct"
BIASES = ("authority", "self-praise")
HERE = Path(__file__).resolve().parent
MOST, PAIRS, UNFILTERED = 320, 500, 60


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--limit", type=int, default=PAIRS, help="pairs")
    parser.add_argument("--run", type=Path, help="a run whose confirmed biases are taken instead")
    parser.add_argument("--out", type=Path, help="the set's folder; default: export-benchmark-N under $RECUSE_RUNS")
    given = parser.parse_args()
    runs = Path(os.environ.get("RECUSE_RUNS", "recuse-runs")).resolve()
    data = Path(os.environ.get("RECUSE_DATA", "../shared/data")).resolve()
    out = (given.out or runs / f"export-benchmark-{given.limit}").resolve()
    run = given.run.resolve() if given.run else None
    work = runs / f"export-work-{given.limit}"
    work.mkdir(parents=True, exist_ok=True)
    sources = runs / "export-source"
    _write_short(data / "truthfulqa/TruthfulQA.csv", sources)
    os.chdir(sources)  # a relative name, so that the run's configuration names no folder of this machine
    judge = AuditConfig(JUDGE, "short.jsonl", prompt=PROMPT, limit=given.limit)
    biases = () if run else BIASES
    plan = plan_export(ExportConfig((judge,), out, run=run, biases=biases, unfiltered=UNFILTERED, work=work))
    try:
        with Phases() as phases, stoppable() as stop:  # Ctrl-C waits for the calls in flight
            done = export_benchmark(plan, watch=phases.update, stop=stop)
    finally:
        plan.close()
    print(done.headline)
    shutil.copy(done.folder / "README.md", HERE / "card.md")
    shutil.copy(done.folder / "export.json", HERE / "export.json")


def _write_short(source: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with closing(load_pairs(source)) as pairs, (folder / "short.jsonl").open("w", encoding="utf-8") as file:
        for pair in pairs:
            if len(str(pair.prompt)) + len(pair.chosen) + len(pair.rejected) <= MOST:
                row = {"prompt": pair.prompt, "chosen": pair.chosen, "rejected": pair.rejected, "domain": pair.domain}
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
