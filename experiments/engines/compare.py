"""The same pairs through several engines on the same weights: do they agree?

    python experiments/engines/compare.py judge llamacpp/smollm2 llamacpp.json
    python experiments/engines/compare.py judge hf/FOLDER hf.json                 (FOLDER: see convert.py)
    PYTHON_WITH_VLLM experiments/engines/compare.py judge vllm/FOLDER vllm.json
    python experiments/engines/compare.py differences llamacpp.json hf.json vllm.json --out differences.json

`judge` asks one engine about the first 40 demo pairs in both orders and keeps the log odds of the first answer, from
the probabilities of the first token. `differences` compares every two engines; a verdict can only be expected to agree
where both log odds are further than `GAP` from even. Since a judge that always takes the first answer would agree
whatever the engine did, the preference with the order averaged out is compared as well.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from itertools import combinations
from pathlib import Path
from typing import Any

from recuse.asks import Design, make_asks
from recuse.backends import Options, open_backend
from recuse.ledger import call_key
from recuse.pairs import load_pairs
from recuse.prompts import load_prompt
from recuse.types import Call, Sampling
from recuse.verdict import read

PAIRS = 40
GAP = 0.25  # log odds of one ask
GAP_AVERAGED = 0.1  # log odds with the order averaged out; half of two shifts, mostly of one direction


def judge(model: str) -> dict[str, Any]:
    """Log odds of the first answer for every pair and order, with the engine's versions and its seconds."""
    prompt = load_prompt("pairwise/label")
    pairs = list(load_pairs("demo"))[:PAIRS]
    asks = list(make_asks(pairs, Design(prompt, Sampling(max_tokens=1, top_logprobs=20))))
    started = time.monotonic()
    backend = open_backend(model, Options(max_context=1024))
    opened = time.monotonic()
    calls = {}
    for ask in asks:
        body = backend.body(ask)
        key = call_key(backend.name, body, ask.prompt, ask.repeat)
        calls[key] = Call(key, ask, body)
    rows = []
    for reply in backend.generate(calls.values()):
        ask, verdict = calls[reply.key].ask, read(reply, prompt.spec)
        odds = math.log(verdict.p_first / (1 - verdict.p_first)) if verdict.p_first is not None else None
        rows.append(
            {
                "pair": ask.pair,
                "view": ask.view,
                "text": reply.text,
                "tokens": reply.tokens_in,
                "outcome": verdict.outcome,
                "logit": odds,
                "outside": verdict.outside,
                "error": reply.error,
            }
        )
    seconds = time.monotonic() - opened
    result = {
        "engine": model.partition("/")[0],
        "versions": backend.versions(),
        "seconds_to_open": round(opened - started, 1),
        "seconds": round(seconds, 1),
        "rows": sorted(rows, key=lambda row: (row["pair"], row["view"])),
    }
    backend.close()
    return result


def differences(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Every two engines: the largest difference in log odds, and the asks where the outcomes differ."""
    report: dict[str, Any] = {"gap": GAP, "engines": {r["engine"]: r["versions"] for r in results}, "comparisons": []}
    for a, b in combinations(results, 2):
        theirs = {(row["pair"], row["view"]): row for row in b["rows"]}
        both = [(row, theirs[row["pair"], row["view"]]) for row in a["rows"]]
        measured = [(x, y) for x, y in both if x["logit"] is not None and y["logit"] is not None]
        shifts = [abs(x["logit"] - y["logit"]) for x, y in measured]
        differing = [
            {"pair": x["pair"], "view": x["view"], a["engine"]: x["logit"], b["engine"]: y["logit"]}
            for x, y in measured
            if x["outcome"] != y["outcome"]
        ]
        clear = [(x, y) for x, y in measured if min(abs(x["logit"]), abs(y["logit"])) > GAP]
        report["comparisons"].append(
            {
                "engines": [a["engine"], b["engine"]],
                "asks": len(both),
                "measured": len(measured),
                "same_tokens": sum(x["tokens"] == y["tokens"] for x, y in both),
                "largest_shift": max(shifts, default=None),
                "mean_shift": sum(shifts) / len(shifts) if shifts else None,
                "clear": len(clear),
                "clear_but_differing": sum(x["outcome"] != y["outcome"] for x, y in clear),
                "differing": differing,
                "averaged": _averaged(a, b),
            }
        )
    return report


def _averaged(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    """Preferences for the better answer with the order averaged out, and where the two engines differ on the sign."""
    mine, theirs = _preferences(a["rows"]), _preferences(b["rows"])
    both = [(pair, mine[pair], theirs[pair]) for pair in sorted(mine.keys() & theirs.keys())]
    clear = [(x, y) for _, x, y in both if min(abs(x), abs(y)) > GAP_AVERAGED]
    return {
        "pairs": len(both),
        "largest_shift": max((abs(x - y) for _, x, y in both), default=None),
        "clear": len(clear),
        "clear_but_differing": sum(x * y < 0 for x, y in clear),
        "differing": [{"pair": pair, a["engine"]: x, b["engine"]: y} for pair, x, y in both if x * y < 0],
    }


def _preferences(rows: list[dict[str, Any]]) -> dict[str, float]:
    odds = {(row["pair"], row["view"]): row["logit"] for row in rows if row["logit"] is not None}
    return {
        pair: (odds[pair, "AB"] - odds[pair, "BA"]) / 2
        for pair in {pair for pair, _ in odds}
        if (pair, "AB") in odds and (pair, "BA") in odds
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, dest="command")
    one = commands.add_parser("judge")
    one.add_argument("model")
    one.add_argument("out", type=Path)
    all_ = commands.add_parser("differences")
    all_.add_argument("results", type=Path, nargs="+")
    all_.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    found = (
        judge(given.model)
        if given.command == "judge"
        else differences([json.loads(p.read_text()) for p in given.results])
    )
    given.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
