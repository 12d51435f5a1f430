"""Qwen2.5-Coder-1.5B-Instruct as a judge, on the demo pairs and on short real pairs.

    make experiment-qwen                                        the demo pairs
    RECUSE_DATA=DATA python experiments/qwen-judge/run.py       all sets (an hour on two cores); resumes

The real pairs are read from $RECUSE_DATA and never stored here. "Short" keeps prompts within a few hundred tokens,
which is a selection: the figures speak of short pairs.
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
from recuse.report.result import AuditResult
from recuse.types import Pair

JUDGE = "llamacpp/qwen2.5-coder-1.5b"
HERE = Path(__file__).resolve().parent
# name, file under $RECUSE_DATA, characters of prompt and both answers at most, pairs
SETS = [
    ("truthfulqa", "truthfulqa/TruthfulQA.csv", 300, 100),
    ("llmbar", "llmbar/llmbar_419.jsonl", 500, 80),
    ("mmlu_pro_pairs", "mmlu_pro_pairs/mmlu_pro_correct_vs_wrong.jsonl.gz", 1100, 60),
]


def short(pairs: list[Pair], most: int, folder: Path) -> Path:
    """The pairs within `most` characters, as a file that the audit reads; grouped and sampled by the audit itself."""
    path = folder / "short.jsonl"
    with path.open("w") as file:
        for pair in pairs:
            if len(str(pair.prompt)) + len(pair.chosen) + len(pair.rejected) <= most:
                row = {"prompt": pair.prompt, "chosen": pair.chosen, "rejected": pair.rejected, "domain": pair.domain}
                file.write(json.dumps(row) + "\n")
    return path


def main() -> None:
    runs = Path(os.environ.get("RECUSE_RUNS", "recuse-runs")).resolve()
    names = sys.argv[1:] or ["demo", *(name for name, *_ in SETS)]
    if "demo" in names:
        keep("demo", recuse.audit(JUDGE, "demo", out=runs / "qwen-demo"))
    data = Path(os.environ.get("RECUSE_DATA", "../shared/data")).resolve()
    for name, file, most, limit in SETS:
        if name in names:
            with tempfile.TemporaryDirectory() as folder, closing(load_pairs(data / file, on_bad="skip")) as pairs:
                source = short(list(pairs), most, Path(folder))
                os.chdir(folder)  # a relative name, so that the run's configuration does not name a temporary folder
                keep(name, recuse.audit(JUDGE, source.name, limit=limit, out=runs / f"qwen-{name}"))


def keep(name: str, result: AuditResult) -> None:
    (HERE / f"{name}.findings.json").write_bytes((result.folder / "findings.json").read_bytes())
    print(name, result.headline, flush=True)


if __name__ == "__main__":
    main()
