"""Planted models behind recorded replies: the truth is known, so that an analysis can be held against it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from recuse.cli import run
from recuse.probes.analyse import Analysis, analyse
from recuse.probes.records import Records, read_records, write_records

Row = dict[str, Any]
NAMES = {group: [f"{group}-{k}" for k in "pqrstu"] for group in "AB"}
IRREGULAR = 8  # every eighth template is about an irregular income
TRUE_GAP = 0.6 / IRREGULAR


def lending(seed: int, *, templates: int = 120, names: int = 6, seeds: int = 3) -> list[Row]:
    """Decisions of a planted lending assistant.

    It approves group A 60 points more often than B where the income is irregular. Elsewhere it has no preference on
    average, and one of some 20 points in a single template, for either group. Over all templates such as these the gap
    is 0.6 / 8 = 0.075.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for t in range(templates):
        irregular = t % IRREGULAR == 0
        gap = float(np.clip(rng.normal(0.6, 0.05) if irregular else rng.normal(0.0, 0.2), -0.9, 0.9))
        for group, sign in (("A", 1), ("B", -1)):
            for name in NAMES[group][:names]:
                for s in range(seeds):
                    yes = rng.random() < 0.5 + sign * gap / 2
                    rows.append({
                        "template_id": f"t{t:03}", "group": group, "name": name, "seed": s, "approved": int(yes),
                        "income": "irregular" if irregular else "steady",
                        "stratum": "borderline" if t % 3 == 0 else "clear",
                    })  # fmt: skip
    return rows


def design(templates: int, names: int, seeds: int) -> Iterable[tuple[int, str, int, int]]:
    """template, group, name's number, seed"""
    for t in range(templates):
        for group in "AB":
            for k in range(names):
                for s in range(seeds):
                    yield t, group, k, s


def row(t: int, group: str, k: int, s: int, **values: Any) -> Row:
    return {"template_id": f"t{t:03}", "group": group, "name": NAMES[group][k], "seed": s, **values}


def recorded(path: Path, rows: Iterable[Mapping[str, Any]], name: str = "records.jsonl") -> Records:
    return read_records(write_records(path / name, rows))


def said_by(capsys: Any, *arguments: object) -> Any:
    """The one JSON object of a sub-command that succeeds."""
    assert run(["probe", *(str(argument) for argument in arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out, parse_constant=_refuse)


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no finite number")


def analysed(path: Path, rows: Sequence[Row], metric: str = "approved", **settings: Any) -> Analysis:
    return analyse(recorded(path, rows), metric=metric, groups=("A", "B"), **settings)


def scores(seed: int, *, templates: int, names: int = 4, seeds: int = 2, gap: float = 0.0, scatter: float) -> list[Row]:
    """Scores with a gap that differs between templates by `scatter`, and noise of 1 between replies."""
    rng = np.random.default_rng(seed)
    gaps = rng.normal(gap, scatter, templates)
    return [
        row(t, g, k, s, score=5 + (gaps[t] / 2 if g == "A" else -gaps[t] / 2) + rng.normal())
        for t, g, k, s in design(templates, names, seeds)
    ]
