"""Pairs, labels and verdicts whose reasons for disagreement are planted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

from world import world_pairs

from recuse.calibration import Labels
from recuse.cli import run
from recuse.types import Judgement, Pair, Preference

_PREFERS: dict[str, Preference | None] = {"c": "chosen", "r": "rejected", "t": "tie", "-": None}
STUDY = "A large study by one team bears that out."


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


def judged(rows: Mapping[str, str]) -> list[Judgement]:
    """Verdicts by pair, one letter an order (AB, BA): c chosen, r rejected, t tie, - none."""
    return [
        Judgement(pair, f"g-{pair}", order, _PREFERS[letter], reason=None if _PREFERS[letter] else "refused")  # type: ignore[arg-type]
        for pair, letters in rows.items()
        for order, letter in zip(("AB", "BA"), letters, strict=True)
    ]


def labels(rows: Mapping[str, str]) -> Labels:
    """One letter a person."""
    votes = {pair: {f"p{i}": _PREFERS[x] for i, x in enumerate(letters)} for pair, letters in rows.items()}
    return Labels(votes, {}, "by hand", "0")


def studied_pairs(n: int, *, share: float = 0.5, seed: int = 0) -> list[Pair]:
    """Pairs of the fake world; in a share of them the wrong answer names a study."""
    rng = Random(seed)
    return [
        Pair(p.id, p.prompt, p.chosen, f"{STUDY} {p.rejected}" if rng.random() < share else p.rejected, p.group)
        for p in world_pairs(n, seed=seed)
    ]


def write_pairs(path: Path, pairs: Iterable[Pair], **columns: Sequence[object]) -> Path:
    """As a file of questions with two answers; the better one stands first and second by turns."""
    with path.open("w") as file:
        for i, pair in enumerate(pairs):
            a, b = (pair.rejected, pair.chosen) if i % 2 else (pair.chosen, pair.rejected)
            better = "B>A" if i % 2 else "A>B"
            row = {"id": pair.id, "question": pair.prompt, "response_A": a, "response_B": b, "label": better}
            file.write(json.dumps({**row, **{name: of[i] for name, of in columns.items()}}) + "\n")
    return path
