"""Known biases, put in by rule, on Qwen2.5-Coder-1.5B-Instruct as a judge of short TruthfulQA pairs.

    RECUSE_DATA=DATA python experiments/known-biases/run.py        an hour on two quiet cores; resumes

The pairs are read from $RECUSE_DATA and never stored here. "Short" keeps questions and answers within 320 characters
together, all but 5 of 817 pairs.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import recuse
from recuse.pairs import load_pairs

JUDGE = "llamacpp/qwen2.5-coder-1.5b"
BIASES = ("authority", "certainty", "self-praise", "attack-verdict")
HERE = Path(__file__).resolve().parent
MOST, PAIRS, SHAMS = 320, 150, 5


def main() -> None:
    runs = Path(os.environ.get("RECUSE_RUNS", "recuse-runs")).resolve()
    data = Path(os.environ.get("RECUSE_DATA", "../shared/data")).resolve()
    prompt = sys.argv[1] if len(sys.argv) > 1 else "pairwise/correct"
    with tempfile.TemporaryDirectory() as folder, closing(load_pairs(data / "truthfulqa/TruthfulQA.csv")) as pairs:
        os.chdir(folder)  # a relative name, so that the run's configuration does not name a temporary folder
        with Path("short.jsonl").open("w") as file:
            for pair in pairs:
                if len(str(pair.prompt)) + len(pair.chosen) + len(pair.rejected) <= MOST:
                    row = {"prompt": pair.prompt, "chosen": pair.chosen, "rejected": pair.rejected}
                    file.write(json.dumps(row) + "\n")
        result = recuse.audit(
            JUDGE, "short.jsonl", prompt=prompt, limit=PAIRS, biases=BIASES, shams=SHAMS, out=runs / "qwen-known"
        )
    for name in ("findings.json", "report.md"):
        (HERE / name).write_bytes((result.folder / name).read_bytes())


if __name__ == "__main__":
    main()
