"""The discovery of config.toml, on a machine with GPUs and a connection to the hub.

    recuse doctor --judge vllm/Qwen/Qwen2.5-7B-Instruct --teacher vllm/RedHatAI/Qwen2.5-72B-Instruct-FP8-dynamic
    python experiments/gpu-box/run.py          one GPU of 141 GB
    python experiments/gpu-box/run.py 8        eight of them, a replica of each model on each (needs ray)

It resumes by the same command. With other GPUs than one the replies may differ in the last digits, never the plan.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from box import load, real_pairs, write

import recuse


def main() -> None:
    config, gpus = load(), int(sys.argv[1]) if len(sys.argv) > 1 else 1
    given = dict(config["discovery"])
    models = [given.pop(role) for role in ("judge", "teacher")]
    if gpus > 1:
        models = [f"ray/{gpus}*{name}" for name in models]
    runs = Path(os.environ.get("RECUSE_RUNS", "recuse-runs")).resolve()
    runs.mkdir(parents=True, exist_ok=True)
    os.chdir(runs)  # a relative name, so that the run's configuration does not name this machine's folders
    pairs = Path("gpu-box-pairs.jsonl")
    if not pairs.is_file():
        sources = config["pairs"]
        print(write(real_pairs(sources["search"], sources["held_out"], seed=given["seed"]), pairs), "pairs")
    result = recuse.discover(*models, str(pairs), out=runs / "gpu-box", **given)
    print(result.headline, result.folder / "report.html")


if __name__ == "__main__":
    main()
