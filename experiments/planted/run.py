"""How often planted judges are found fit, recused or left open, by the number of pairs, under the shipped gate.

python experiments/planted/run.py > experiments/planted/results.md
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from planted import audited, draw_pairs

from recuse.audits import measure_all
from recuse.gate import decide, load_gate

AUDITS = 200
JUDGES = {
    "innocent, 5 % errors": "skill=2.944",
    "innocent, 12 % errors": "skill=2.0",
    "on the edge: 25 % errors": "skill=1.0986123",
    "35 % errors": "skill=0.619",
    "prefers the first answer (+1.5 log odds)": "skill=2,position=1.5",
    "prefers the longer answer (+1 log odds)": "skill=2,length=1.0",
    "refuses 15 % of asks": "skill=3,refuse=0.15",
    "refuses 30 % where the better answer is second": "skill=3,refuse_ba=0.3",
}


def main() -> None:
    gate = load_gate()
    print("# Outcomes of planted judges\n")
    print(
        f"{AUDITS} simulated audits a row, new pairs in each; the gate that ships. Monte-Carlo error at most 0.035.\n"
    )
    print("| judge | planted | pairs | fit | recuse | inconclusive |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, judge in JUDGES.items():
        for n in (60, 200, 600):
            rng = Random(n)
            outcomes = Counter(
                decide(
                    measure_all(audited(f"fake/{judge},seed={rng.getrandbits(32)}", draw_pairs(rng, n))), gate
                ).outcome
                for _ in range(AUDITS)
            )
            shares = " | ".join(f"{outcomes[o] / AUDITS:.3f}" for o in ("fit", "recuse", "inconclusive"))
            print(f"| {name} | `{judge}` | {n} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
