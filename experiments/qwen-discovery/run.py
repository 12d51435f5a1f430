"""A discovery in which Qwen2.5-Coder-1.5B-Instruct is the judge and the teacher, on short real pairs.

    RECUSE_DATA=DATA python experiments/qwen-discovery/run.py       two hours on two quiet cores; resumes

The pairs are read from $RECUSE_DATA and never stored here. "Short" keeps answers and questions within a few hundred
characters, which is a selection: the figures speak of short pairs.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from contextlib import closing
from pathlib import Path

import recuse
from recuse.pairs import load_pairs

MODEL = "llamacpp/qwen2.5-coder-1.5b"
PAIRS = 96
BIASES = ("authority", "certainty", "concreteness", "self-praise")
HERE = Path(__file__).resolve().parent


def main() -> None:
    runs = Path(os.environ.get("RECUSE_RUNS", "recuse-runs")).resolve()
    data = Path(os.environ.get("RECUSE_DATA", "../shared/data")).resolve()
    source = data / "truthfulqa/TruthfulQA.csv"
    with tempfile.TemporaryDirectory() as folder, closing(load_pairs(source)) as pairs:
        os.chdir(folder)  # a relative name, so that the run's configuration does not name a temporary folder
        with Path("short.jsonl").open("w") as file:
            for pair in pairs:
                lengths = (len(pair.chosen), len(pair.rejected))
                if len(str(pair.prompt)) <= 160 and min(lengths) >= 40 and lengths[1] >= 60 and max(lengths) <= 160:
                    row = {"prompt": pair.prompt, "chosen": pair.chosen, "rejected": pair.rejected}
                    file.write(json.dumps(row) + "\n")
        started = time.monotonic()
        result = recuse.discover(
            MODEL, MODEL, "short.jsonl", out=runs / "qwen-discovery", prompt="pairwise/correct", limit=PAIRS, rounds=2,
            biases=BIASES, shams=5, most_candidates=2, screen_groups=12, fractions=(0.34, 0.33, 0.33),
        )  # fmt: skip
    print(result.headline, f"{(time.monotonic() - started) / 60:.0f} minutes", flush=True)
    for name in ("findings.json", "report.md"):
        (HERE / name).write_bytes((result.folder / name).read_bytes())


if __name__ == "__main__":
    main()
