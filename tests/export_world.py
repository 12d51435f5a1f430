"""Exports of the fake world: the command line as it is called, its pairs in a file, and its judges asked directly."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from world import world_pairs

from recuse.asks import Design, make_asks
from recuse.backends import open_backend
from recuse.cli import run
from recuse.prompts import load_prompt
from recuse.types import Call, Pair, Sampling
from recuse.verdict import read

DESIGN = Design(load_prompt("pairwise/label"), Sampling(temperature=None, max_tokens=4))


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def recuse(*arguments: object) -> Done:
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run([str(argument) for argument in arguments])
    return Done(code, out.getvalue(), err.getvalue())


def source(folder: Path, n: int, *, seed: int = 0, **more: str) -> Path:
    """`n` pairs of the world in two domains, as a file."""
    path = folder / "pairs.jsonl"
    rows = [
        {"prompt": p.prompt, "chosen": p.chosen, "rejected": p.rejected, "reference": p.reference,
         "domain": ("sums", "lists")[i % 3 == 0], **more}
        for i, p in enumerate(world_pairs(n, seed=seed))
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "benchmark.jsonl").read_text(encoding="utf-8").splitlines()]


def record_of(folder: Path) -> Any:
    return json.loads((folder / "export.json").read_text(encoding="utf-8"))


def step(folder: Path, name: str) -> int:
    (found,) = (s["n"] for s in record_of(folder)["funnel"] if s["step"] == name)
    return int(found)


def better_worse(row: Mapping[str, Any]) -> tuple[str, str]:
    a, b = str(row["response_A"]), str(row["response_B"])
    return (a, b) if row["label"] == "A" else (b, a)


def preferred(judge: str, shown: Sequence[tuple[str, Pair]]) -> dict[tuple[str, str, str], str]:
    """What a judge prefers, asked without ledger and lab: by arm, pair and order "chosen" or "rejected"."""
    calls = [
        Call(str(i), ask, {}) for i, ask in enumerate(a for arm, p in shown for a in make_asks([p], DESIGN, arm=arm))
    ]
    asks = {call.key: call.ask for call in calls}
    said = {}
    assert DESIGN.prompt is not None
    for reply in open_backend(judge).generate(calls):
        ask = asks[reply.key]
        first = read(reply, DESIGN.prompt.spec).outcome == "A"
        said[ask.arm, ask.pair, ask.view] = "chosen" if first == (ask.view == "AB") else "rejected"
    return said


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
