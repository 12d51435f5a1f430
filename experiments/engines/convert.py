"""Packaged GGUF weights as a folder in the form of transformers, for vLLM and transformers: the same weights, float32.

    python experiments/engines/convert.py smollm2        prints the folder; converts on first use (half a minute)

The folder lies in the cache ($RECUSE_CACHE, by default ~/.cache/recuse). Needs transformers, accelerate and gguf.
"""

from __future__ import annotations

import fcntl
import shutil
import sys
from pathlib import Path

from recuse import weights


def converted(name: str) -> Path:
    """The folder of the model `name`; processes that want it at once wait for the first."""
    gguf = weights.path_of(name)
    folder = weights.cache_folder() / f"{name}-float32"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            unfinished = folder.with_suffix(".part")
            shutil.rmtree(unfinished, ignore_errors=True)
            _convert(gguf, unfinished)
            unfinished.rename(folder)  # last, so that the folder's existence means that it is whole
    return folder


def _convert(gguf: Path, folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    # float32 holds every value of a quantised block exactly; bfloat16 would round most of them.
    model = AutoModelForCausalLM.from_pretrained(
        gguf.parent,
        gguf_file=gguf.name,
        dtype=torch.float32,
        quantization_config=GgufConfig(dequantize=True),
    )
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name).save_pretrained(folder)


if __name__ == "__main__":
    print(converted(sys.argv[1]))
