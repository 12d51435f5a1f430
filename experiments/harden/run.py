"""Does a changed judge do better? Qwen2.5-Coder-1.5B-Instruct on short TruthfulQA pairs, against variants.toml.

    RECUSE_DATA=DATA python experiments/harden/run.py [--limit N] [--like RUN] [--out DIR]

Without --like, an audit by rule on one half of the pairs comes first (`harden-like-N` under $RECUSE_RUNS, default
recuse-runs), and the variants are compared on the other half; with it, on that half without the run's own questions.
Ledgers lie under $RECUSE_RUNS: a killed run is resumed by the same command. The pairs are read from $RECUSE_DATA and
never stored here. "Short" keeps prompts within a few hundred tokens, a selection: the figures speak of short pairs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
from contextlib import closing
from pathlib import Path

from recuse.backends import Options
from recuse.examine import run_audit
from recuse.harden.config import HardenConfig, plan_harden
from recuse.harden.run import run_harden
from recuse.pairs import load_pairs
from recuse.plan import AuditConfig, plan_audit
from recuse.report.terminal import Phases

JUDGE = "llamacpp/qwen2.5-coder-1.5b"
BIASES = ("authority", "self-praise")
PROMPT = "pairwise/correct"  # of the present judge, as in the known-biases experiment
HERE = Path(__file__).resolve().parent
MOST, PAIRS, CONTEXT = 320, 200, 2048  # characters of a pair, pairs on either side, tokens


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--limit", type=int, default=PAIRS, help="pairs of the audit, and of the comparison")
    parser.add_argument("--like", type=Path, help="a run whose confirmed biases are taken instead")
    parser.add_argument("--out", type=Path, help="the run folder; default: harden-N under $RECUSE_RUNS")
    given = parser.parse_args()
    runs = Path(os.environ.get("RECUSE_RUNS", "recuse-runs")).resolve()
    data = Path(os.environ.get("RECUSE_DATA", "../shared/data")).resolve()
    out = (given.out or runs / f"harden-{given.limit}").resolve()
    like = given.like.resolve() if given.like else runs / f"harden-like-{given.limit}"
    sources = runs / "harden-source"
    _write_halves(data / "truthfulqa/TruthfulQA.csv", sources, _groups(like) if given.like else frozenset())
    os.chdir(sources)  # relative names, so that the runs' configurations name no folder of this machine
    options = Options(max_context=CONTEXT)
    if given.like is None:
        _audit(
            AuditConfig(
                JUDGE, "seen.jsonl", PROMPT, limit=given.limit, biases=BIASES, shams=5, out=like, options=options
            )
        )
    judge = AuditConfig(JUDGE, "new.jsonl", PROMPT, limit=given.limit, out=out, options=options)
    plan = plan_harden(HardenConfig(judge, like, HERE / "variants.toml", biases=BIASES))
    try:
        with Phases() as phases:
            done = run_harden(plan, watch=phases.update)
    finally:
        plan.close()
    print(done.headline)
    for name in ("report.md", "findings.json"):
        shutil.copy(done.folder / name, HERE / name)


def _audit(config: AuditConfig) -> None:
    plan = plan_audit(config)
    try:
        print(run_audit(plan).headline, flush=True)
    finally:
        plan.close()


def _groups(run: Path) -> frozenset[str]:
    import pyarrow.parquet as pq

    return frozenset(pq.read_table(run / "judgements.parquet", columns=["group"])["group"].to_pylist())


def _write_halves(source: Path, folder: Path, without: frozenset[str]) -> None:
    """Short pairs by turns into two files, so that no question is in both; none whose group is in `without`."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        closing(load_pairs(source)) as pairs,
        (folder / "seen.jsonl").open("w", encoding="utf-8") as seen,
        (folder / "new.jsonl").open("w", encoding="utf-8") as new,
    ):
        sides: dict[str, bool] = {}
        for pair in pairs:
            if len(str(pair.prompt)) + len(pair.chosen) + len(pair.rejected) > MOST or pair.group in without:
                continue
            row = {"prompt": pair.prompt, "chosen": pair.chosen, "rejected": pair.rejected, "domain": pair.domain}
            first = sides.setdefault(pair.group, len(sides) % 2 == 0)
            (seen if first else new).write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
