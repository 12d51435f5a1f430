"""The probe of plan.toml on a model inside this process, kept under this folder; the same command resumes it.

python experiments/lending/run.py llamacpp/smollm2 FOLDER [TEMPLATES]    FOLDER keeps the run

One call for each text: P(yes) is read from the first token's log-probabilities. TEMPLATES takes a subset by stratum.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path

from recuse.probes.asking import ProbeConfig, prepare
from recuse.probes.run import run_probe

HERE = Path(__file__).resolve().parent


def main(model: str, folder: Path, subset: int | None) -> None:
    started = time.monotonic()

    def watch(phase: str, done: int, total: int, cost: float) -> None:
        if done % 100 == 0 or done == total:
            print(f"{phase}: {done:,} of {total:,}, {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)

    plan = Path(os.path.relpath(HERE / "plan.toml"))  # the report names it so
    probing = prepare(ProbeConfig(plan, model, out=folder, subset=subset))
    try:
        result = run_probe(probing, watch=watch)
    finally:
        probing.close()
    name = model.rpartition("/")[2]
    shutil.copy(folder / "findings.json", HERE / f"{name}.findings.json")
    shutil.copy(folder / "report.md", HERE / f"{name}.report.md")
    print(result.headline, *result.notes, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else None)
