"""The swap test of plan.toml on a model inside this process, without pairs: `recuse audit … --swap` does it with them.

python experiments/swap/local.py llamacpp/smollm2 FOLDER    resumes; FOLDER keeps the ledger
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from recuse.backends import Options
from recuse.blinding.redact import Redactor
from recuse.counterfactual.plan import load_plan
from recuse.lab.engines import Engines, Model
from recuse.swap.run import Swap, swap_modes
from recuse.types import Finding

HERE = Path(__file__).resolve().parent


def main(judge: str, folder: Path, name: str) -> None:
    plan, started = load_plan(HERE / "plan.toml"), time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)

    def watch(phase: str, done: int, total: int, cost: float) -> None:
        if done % 100 == 0 or done == total:
            print(f"{phase}: {done:,} of {total:,}, {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)

    with Engines({"judge": Model(judge, Options(), None)}, folder, watch=watch) as engines:
        modes = swap_modes(plan, engines.backend("judge").capabilities)
        swap = Swap.prepare(plan, modes, Redactor())
        found = swap.run(lambda asks: engines.ask("judge", asks, phase="swap"))
    seconds = round(time.monotonic() - started, 1)
    findings = [plain(measure.finding) for measure in found.measures]
    said = {"judge": judge, "asks": len(swap.asks), "seconds": seconds, "failed": found.failed, "notes": found.notes}
    (HERE / f"{name}.findings.json").write_text(json.dumps({**said, "findings": findings}, indent=1) + "\n")
    for finding in (measure.finding for measure in found.measures):
        outcome = finding.outcome or finding.reason or ""
        print(f"{finding.id}: {finding.estimate} {finding.interval} p {finding.p} {outcome}")
    print(*found.notes, found.failed or "", sep="\n")


def plain(finding: Finding) -> dict[str, object]:
    kept = ("id", "title", "estimate", "interval", "bounds", "n", "groups", "p", "outcome", "reason", "details")
    return {key: getattr(finding, key) for key in kept}


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[1].rpartition("/")[2])
