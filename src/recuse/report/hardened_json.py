"""`findings.json` of a comparison of judges (`recuse/data/harden.schema.json`), written and read back:

{"schema": 1, "kind": "harden", "headline": str, "judge": str, "pairs": str, "prompt": str, "like": str,
 "level": 0.95, "alpha": 0.05,                        of the intervals; of the correction over the variants
 "primary": str, "margin": number, "margins": {...}, "most_cost": number | null, "winner": str | null,
 "judge_folder": str | null,                          of the winner, inside the run folder
 "present": {"calls": ..., "tokens_in": ..., "tokens_out": ..., "cost": ..., "estimated": bool},
 "variants": [{"id": str, "what": str, "rule": str, "apply": str | null, "judges": [str, ...], "prompt": str,
               "prompt_hash": str | null, "wins": bool,
               "p": number,                           of the whole claim, after Holm over the variants
               "why_not": [str, ...], "effort": {as in present}, "cost_ratio": number | null,
               "findings": [{the fields of a finding of an audit; estimate: variant minus present,
                             "p_adjusted": number | null, "outcome": "better" | "not worse" | "worse" | "unclear" |
                             "turned" | "not measured" | "shown", "margin": number, "p_better": ..., "p_not_worse": ...,
                             "p_worse": ..., "measure": str, "measure_title": str,
                             "better": "lower" | "higher" | "neither",
                             "present": number | null, "present_interval": [low, high] | null,
                             "variant": number | null, "variant_interval": [low, high] | null,
                             "groups_needed": int | null}, ...]}, ...],
 "notes": [str, ...], "usage": {...}, "config": {...}}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from recuse.report.hardened import Cell, Effort, HardenReport, Tried
from recuse.report.jsonable import finding_json, plain, read_finding

_CELL = [f.name for f in fields(Cell) if f.name != "finding"]
_TRIED = [f.name for f in fields(Tried) if f.name not in ("effort", "cells")]
_REPORT = [f.name for f in fields(HardenReport) if f.name not in ("present", "variants", "folder")]


def hardened_json(report: HardenReport) -> dict[str, Any]:
    """The report as plain JSON values. Raises as `jsonable.findings_json` does."""
    shown = {name: getattr(report, name) for name in _REPORT}
    last = {name: shown.pop(name) for name in ("notes", "usage", "config")}
    content = {
        "schema": 1, "kind": "harden", **shown, "present": asdict(report.present),
        "variants": [_variant(v) for v in report.variants], **last,
    }  # fmt: skip
    made: dict[str, Any] = plain(content, "result")
    return made


def hardened_text(report: HardenReport) -> str:
    """`hardened_json` as `findings.json` carries it."""
    return json.dumps(hardened_json(report), indent=2, allow_nan=False) + "\n"


def _variant(variant: Tried) -> dict[str, Any]:
    return {
        **{name: getattr(variant, name) for name in _TRIED},
        "effort": asdict(variant.effort),
        "findings": [_cell(cell) for cell in variant.cells],
    }


def _cell(cell: Cell) -> dict[str, Any]:
    return {**finding_json(cell.finding), **{name: getattr(cell, name) for name in _CELL}}


def read_hardened(content: Mapping[str, Any], folder: Path) -> HardenReport:
    """What `hardened_json` made. Raises KeyError and TypeError for what it did not."""
    return HardenReport(
        **{**{name: content[name] for name in _REPORT}, "notes": tuple(content["notes"])},
        present=Effort(**content["present"]), variants=tuple(map(_read_variant, content["variants"])), folder=folder,
    )  # fmt: skip


def _read_variant(row: Mapping[str, Any]) -> Tried:
    listed = {name: tuple(row[name]) for name in ("judges", "why_not")}
    return Tried(
        **{**{name: row[name] for name in _TRIED}, **listed},
        effort=Effort(**row["effort"]), cells=tuple(map(_read_cell, row["findings"])),
    )  # fmt: skip


def _read_cell(row: Mapping[str, Any]) -> Cell:
    spans = {name: row[name] and tuple(row[name]) for name in ("present_interval", "variant_interval")}
    finding = read_finding({**row, "outcome": None})
    return Cell(finding, **{**{name: row[name] for name in _CELL}, **spans})
