"""The configuration of this experiment, the arithmetic of its hours, and its pairs."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recuse.pairs import load_pairs
from recuse.prompts import transcript
from recuse.types import Pair

HERE = Path(__file__).resolve().parent
VALIDATION = 4 / 7  # of the held-out questions: validation decides, so it gets the most


def load() -> dict[str, Any]:
    return tomllib.loads((HERE / "config.toml").read_text("utf-8"))


@dataclass(frozen=True)
class Pace:
    """Tokens a second of one GPU: read, and written with `calls_at_once` in flight."""

    read: float
    write: float


def pace(model: Mapping[str, Any], gpu: Mapping[str, float], assumed: Mapping[str, float], *, context: float) -> Pace:
    """Reading is bound by arithmetic, writing by memory.

    read  = share x operations a second / (2 x parameters); two operations a parameter and token: Kaplan et al. 2020,
            section 2.1, attention left out
    write = calls x share x bandwidth / (bytes of the weights + calls x context x bytes of a token's keys and values):
            each step reads all weights once, and what every call has kept (Pope et al. 2022, section 2.1)

    `context`: mean tokens of a call, read and half of those written.
    """
    read = assumed["share_of_operations"] * gpu[model["flops"]] / (2 * model["parameters"])
    calls = assumed["calls_at_once"]
    moved = model["parameters"] * model["weight_bytes"] + calls * context * model["kv_token"]
    return Pace(read, calls * assumed["share_of_bandwidth"] * gpu["bandwidth"] / moved)


def hours(
    work: Mapping[str, float], pace: Pace, *, cached: float, gpus: int = 1, share: float = 1.0, loading: float = 0.0
) -> float:
    """`work`: tokens_in and tokens_out of all calls. `loading`: seconds of all loads, on every GPU at the same time."""
    seconds = work["tokens_in"] * (1 - cached) / pace.read + work["tokens_out"] / pace.write
    return (seconds / (gpus * share) + loading) / 3600


def loading(model: Mapping[str, float], assumed: Mapping[str, float]) -> float:
    return assumed["loads"] * (assumed["start"] + model["parameters"] * model["weight_bytes"] / assumed["read"])


def parts(groups: Iterable[str], *, seed: int) -> dict[str, str]:
    """Validation or test for each question, in the order of a hash of seed and question."""
    ranked = sorted(set(groups), key=lambda group: hashlib.sha256(f"gpu-box:{seed}:{group}".encode()).digest())
    first = round(VALIDATION * len(ranked))
    return {group: "validation" if i < first else "test" for i, group in enumerate(ranked)}


def real_pairs(search: str, held_out: Sequence[str], *, seed: int) -> Iterable[dict[str, Any]]:
    """Rows with the part of each. A question of the search that is held out too is left out of the search."""
    kept = [pair for source in held_out for pair in load_pairs(source, on_bad="skip")]
    part_of = parts((pair.group for pair in kept), seed=seed)
    for pair in load_pairs(search, on_bad="skip"):
        if pair.group not in part_of:
            yield _row(pair, "discovery")
    for pair in kept:
        yield _row(pair, part_of[pair.group])


def stand_ins(lengths: Mapping[str, Mapping[str, int]], *, seed: int) -> Iterable[dict[str, Any]]:
    """Rows without content, as many and as long as the real ones, with as many questions."""
    part_of = parts((f"held_out {i}" for i in range(lengths["held_out"]["groups"])), seed=seed)
    for source, of in lengths.items():
        for i in range(of["pairs"]):
            group = f"{source} {i % of['groups']}"
            row = {name: _text(f"{group} {i} {name} ", of[name]) for name in ("chosen", "rejected")}
            yield {"prompt": _text(f"{group} ", of["question"]), **row, "split": part_of.get(group, "discovery")}


def write(rows: Iterable[Mapping[str, Any]], path: Path) -> int:
    with path.open("w", encoding="utf-8") as file:
        return sum(bool(file.write(json.dumps(row) + "\n")) for row in rows)


def _row(pair: Pair, part: str) -> dict[str, Any]:
    prompt = pair.prompt if isinstance(pair.prompt, str) else transcript(pair.prompt)
    return {"prompt": prompt, "chosen": pair.chosen, "rejected": pair.rejected, "domain": pair.domain, "split": part}


def _text(start: str, characters: int) -> str:
    return (start + "x " * characters)[:characters]
