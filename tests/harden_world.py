"""Comparisons of planted judges: the command line as it is called, and judgements drawn without it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from world import world_pairs

from recuse.cli import run
from recuse.effects.scores import Scores
from recuse.harden.asking import Effort, Judged
from recuse.harden.rivals import Rival
from recuse.types import Judgement, Preference

EFFORT = Effort(1.0, 100.0, 1.0, None, estimated=False)
# Words that the rule-based edit of the bias "authority" brings, and those of "bandwagon".
AUTHORITY = "professor|professors|experts|authorities|Academy|University"
BANDWAGON = "user|users|agreed|agrees|participants|popular|everybody"
PLAIN = "fake/skill=1.4,noise=0.05,seed=1"
SWAYED = f"fake/skill=1.4,favours={AUTHORITY},favour=1.5,noise=0.05,seed=1"
TRADED = f"fake/skill=1.4,favours={BANDWAGON},favour=1.5,noise=0.05,seed=1"
WORSE = "fake/skill=0.4,noise=0.05,seed=1"


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def variant(self, id: str) -> Any:
        (found,) = (v for v in self.json["variants"] if v["id"] == id)
        return found

    def cell(self, id: str, measure: str) -> Any:
        (found,) = (f for f in self.variant(id)["findings"] if f["id"] == f"{id}:{measure}")
        return found


def recuse(*arguments: object) -> Done:
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run([str(argument) for argument in arguments])
    return Done(code, out.getvalue(), err.getvalue())


def write_pairs(path: Path, n: int, *, seed: int = 0, **more: object) -> Path:
    rows = [
        {"prompt": p.prompt, "chosen": p.chosen, "rejected": p.rejected, "reference": p.reference, **more}
        for p in world_pairs(n, seed=seed)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def judged(name: str, said: Sequence[tuple[Preference | None, Preference | None]], groups: Sequence[str]) -> Judged:
    """A judge that said so of each pair, with the better answer first and second."""
    rows = [
        Judgement(f"p{i}", group, order, prefers, reason=None if prefers else "refused")
        for i, (both, group) in enumerate(zip(said, groups, strict=True))
        for order, prefers in zip(("AB", "BA"), both, strict=True)
    ]  # fmt: skip
    pairs = {f"p{i}": group for i, group in enumerate(groups)}
    return Judged(Rival(name, "", ()), tuple(rows), Scores.build(rows, list(pairs), pairs, {}), EFFORT)
