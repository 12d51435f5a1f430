"""`findings.json`: the machine-readable result, schema 1 (`recuse/data/findings.schema.json`).

    {"schema": 1, "outcome": "fit" | "recuse" | "inconclusive", "headline": str,
     "judge": str, "pairs": str, "prompt": str, "looks": int,
     "findings": [{"id": str, "title": str,
                   "estimate": number | null,             null: not measured, and "reason" says why
                   "interval": [low, high] | null,        at the gate's level, 95 % by default
                   "n": int, "groups": int,               observations; independent groups among them
                   "p": number | null,
                   "tolerance": [low | null, high | null] | null,
                   "outcome": "fit" | "recuse" | "inconclusive" | null,   null: not a primary
                   "method": str, "reason": str | null,
                   "bounds": [low, high] | null,          the interval over all completions of missing verdicts
                   "details": {...}}, ...],
     "notes": [str, ...], "usage": {...}, "gate": {"name": str, "tolerances": {...}}}

Numbers are not rounded and always finite. Keys keep this order. Fields may be added within schema 1, never changed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from recuse.report.result import AuditResult
from recuse.types import Finding


def findings_json(result: AuditResult) -> dict[str, Any]:
    """The result as plain JSON values. Raises ValueError for NaN or infinity, TypeError for what JSON cannot hold;
    both name the place."""
    content = {
        "schema": 1,
        "outcome": result.outcome,
        "headline": result.headline,
        "judge": result.judge,
        "pairs": result.pairs,
        "prompt": result.prompt,
        "looks": result.looks,
        "findings": [_finding(f) for f in result.findings],
        "notes": result.notes,
        "usage": result.usage,
        "gate": {"name": result.gate_name, "tolerances": result.gate},
    }
    plain: dict[str, Any] = _plain(content, "result")
    return plain


def findings_text(result: AuditResult) -> str:
    """`findings_json` as `findings.json` and standard output carry it: ASCII, indented, one final newline."""
    return json.dumps(findings_json(result), indent=2, allow_nan=False) + "\n"


def _finding(finding: Finding) -> dict[str, Any]:
    names = ("id", "title", "estimate", "interval", "n", "groups", "p", "tolerance", "outcome", "method", "reason",
             "bounds", "details")  # fmt: skip
    return {name: getattr(finding, name) for name in names}


def _plain(value: object, where: str) -> Any:
    if hasattr(value, "tolist"):  # numpy scalars and arrays, without importing numpy
        value = value.tolist()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{where} is {value}; write None and a reason instead.")
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, f"{where}[{i}]") for i, item in enumerate(value)]
    raise TypeError(f"{where} is a {type(value).__name__}, which JSON cannot hold.")
