"""The same small discovery through two engines on the same weights: which verdicts differ, and how near were they?

    RECUSE_DATA=DATA python experiments/engines/discovery.py run hf/FOLDER runs/hf              (FOLDER: see convert.py)
    RECUSE_DATA=DATA PYTHON_WITH_VLLM experiments/engines/discovery.py run vllm/FOLDER runs/vllm
    python experiments/engines/discovery.py differences runs/hf runs/vllm --out discovery.json

The teacher is the fake one, whose rewrites depend on texts alone, and two candidates are given to validation, so that
both judges see the same texts. Verdicts are compared text by text, by what was asked.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

from recuse.backends import Options
from recuse.discovery.config import DiscoverConfig, plan_discovery
from recuse.discovery.merge import Candidate
from recuse.discovery.run import run_discovery
from recuse.discovery.transfer import Transferred
from recuse.ledger import Ledger
from recuse.library import Bias
from recuse.plan import AuditConfig
from recuse.prompts import load_prompt
from recuse.types import Reply
from recuse.verdict import read

PAIRS, PROMPT = 30, "pairwise/correct"


def run(judge: str, out: Path) -> None:
    data = Path(os.environ.get("RECUSE_DATA", "../shared/data")).resolve()
    audit = AuditConfig(
        judge, str(data / "llmbar/llmbar_419.jsonl"), prompt=PROMPT, limit=PAIRS, out=out,
        options=Options(max_context=2048),
    )  # fmt: skip
    config = DiscoverConfig(audit, "fake/teacher=1,carry=0.5,seed=1", rounds=1, shams=5, racing=False)
    candidates = tuple(Candidate(candidate(word), 0, (), ()) for word in ("lighthouse", "violin"))
    started, plan = time.monotonic(), plan_discovery(config)
    try:
        result = run_discovery(plan, given=Transferred(out.parent / "none", candidates, plan.audit.pairs.hash))
    finally:
        plan.close()
    print(f"{result.headline} {result.usage['judge']['calls']} calls, {time.monotonic() - started:.0f} seconds")


def candidate(word: str) -> Bias:
    return Bias(
        id=word, name=f"Talk of a {word}", definition=f"The judge prefers an answer that speaks of a {word}.",
        manifestations=[f"the word {word}"], inject=f'Work the word "{word}" into the reasoning.', family="cognitive",
        source=["made up"], status="candidate",
    )  # fmt: skip


def verdicts(folder: Path) -> dict[tuple[str, str, str, str], dict[str, Any]]:
    """By pair, arm, view and request: the outcome and the log odds of the first answer."""
    spec, found = load_prompt(PROMPT).spec, {}
    with_ledger = Ledger.existing(folder)
    for row in with_ledger.rows():
        if row["view"] not in ("AB", "BA") or row["arm"].startswith("explain"):
            continue
        pairs = row.get("reply_logprobs")
        reply = Reply(row["key"], row["reply_text"], logprobs=tuple(map(tuple, pairs)) if pairs else None)
        verdict = read(reply, spec)
        messages = json.dumps(json.loads(row["body"])["messages"])
        found[row["pair"], row["arm"], row["view"], messages] = {"outcome": verdict.outcome, "p_first": verdict.p_first}
    with_ledger.close()
    return found


def differences(first: Path, second: Path) -> dict[str, Any]:
    import math

    a, b = verdicts(first), verdicts(second)
    both = sorted(a.keys() & b.keys())
    rows = []
    largest = 0.0
    for key in both:
        odds = [math.log(p / (1 - p)) for v in (a[key], b[key]) if (p := v["p_first"]) is not None and 0 < p < 1]
        if len(odds) == 2:
            largest = max(largest, abs(odds[0] - odds[1]))
        if a[key]["outcome"] != b[key]["outcome"]:
            rows.append({"pair": key[0], "arm": key[1], "view": key[2], "log_odds": odds})
    return {
        "asked_of_both": len(both), "only_first": len(a.keys() - b.keys()), "only_second": len(b.keys() - a.keys()),
        "largest_difference_of_log_odds": largest, "verdicts_that_differ": len(rows), "they": rows,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    ask = commands.add_parser("run")
    ask.add_argument("judge")
    ask.add_argument("out", type=Path)
    compare = commands.add_parser("differences")
    compare.add_argument("first", type=Path)
    compare.add_argument("second", type=Path)
    compare.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    if given.command == "run":
        run(given.judge, given.out)
    else:
        given.out.write_text(json.dumps(differences(given.first, given.second), indent=1) + "\n")


if __name__ == "__main__":
    main()
