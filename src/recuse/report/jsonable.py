"""`findings.json`: the machine-readable result, schema 1. Of an audit (`recuse/data/findings.schema.json`):

    {"schema": 1, "outcome": "fit" | "recuse" | "inconclusive", "headline": str,
     "judge": str, "pairs": str, "prompt": str, "looks": int,
     "findings": [{"id": str, "title": str,
                   "estimate": number | null,             null: not measured, and "reason" says why
                   "interval": [low, high] | null,        at the gate's level, 95 % by default
                   "n": int, "groups": int,               observations; independent groups among them
                   "p": number | null,
                   "tolerance": [low | null, high | null] | null,
                   "outcome": "fit" | "recuse" | "inconclusive" | null,   null: nothing decided
                   "method": str, "reason": str | null,
                   "bounds": [low, high] | null,          the interval over all completions of missing verdicts
                   "details": {...}}, ...],
     "notes": [str, ...], "usage": {...}, "gate": {"name": str, "tolerances": {...}}}

Of a discovery (`recuse/data/discovery.schema.json`), with findings as above, their "outcome" and "tolerance" null:

    {"schema": 1, "kind": "discovery", "headline": str, "judge": str, "teacher": str, "pairs": str, "prompt": str,
     "level": number,                                     of the intervals
     "candidates": [{"id": str, "name": str, "definition": str, "instruction": str,
                     "fate": "accepted" | "unproven" | "rejected" | "dropped",   unproven: passed, not confirmed (see
                                                            reasons); dropped: before validation
                     "support": int, "wordings": [str, ...],                cases that named it, and how
                     "reasons": [str, ...],                                 against acceptance
                     "severity": "high" | "medium" | "low" | "under 5 points" | null,   null: not measured on test;
                                                            ", exploratory" follows with a lower screen
                     "findings": [...],                                     test part first, then validation, screen
                     "examples": [{"pair": str, "domain": str | null, "question": str, "chosen": str,
                                   "original": str, "rewritten": str,       the rejected answer before and after
                                   "before": {order: str}, "after": {order: str},   what the judge preferred
                                   "words": str | null,                     the judge's explanation
                                   "origin": str}, ...]}, ...],             part of the data, and which rewriting
     "findings": [...],                                   of the run: shams, second placebo, truth, length
     "rounds": [{...}, ...], "limits": [str, ...], "notes": [str, ...],
     "usage": {"judge": {...}, "teacher": {...}}, "config": {...}}

Of a probe (`recuse/data/probe.schema.json`), with findings as above, their "outcome" and "tolerance" null:

    {"schema": 1, "kind": "probe", "headline": str, "found": bool,        found: a gap beyond chance
     "model": str, "plan": {"path": str, "hash": str, "asked_hash": str, "templates": int, "batches": [str, ...]},
     "level": number, "findings": [...],
     "tables": {"per_template": [...], "per_name": [...], "reasons": [...], "words": [...], "examples": [...],
                "names": [...]},
     "notes": [str, ...], "usage": {...}, "config": {...}}

Of explanations and of comparisons of judges: see `explained_json` and `hardened_json`.

Numbers are not rounded and always finite. Keys keep this order. Fields may be added within schema 1, never changed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from recuse.report.discovered import DiscoverResult, Found, Worked
from recuse.report.probed import ProbeResult
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
        "findings": [finding_json(f) for f in result.findings],
        "notes": result.notes,
        "usage": result.usage,
        "gate": {"name": result.gate_name, "tolerances": result.gate},
    }
    made: dict[str, Any] = plain(content, "result")
    return made


def findings_text(result: AuditResult) -> str:
    """`findings_json` as `findings.json` and standard output carry it: ASCII, indented, one final newline."""
    return json.dumps(findings_json(result), indent=2, allow_nan=False) + "\n"


def discovered_json(result: DiscoverResult) -> dict[str, Any]:
    """A discovery as plain JSON values. Raises as `findings_json` does."""
    content = {
        "schema": 1,
        "kind": "discovery",
        **{name: getattr(result, name) for name in ("headline", "judge", "teacher", "pairs", "prompt", "level")},
        "candidates": [_candidate(c) for c in result.candidates],
        "findings": [finding_json(f) for f in result.findings],
        **{name: getattr(result, name) for name in ("rounds", "limits", "notes", "usage", "config")},
    }
    made: dict[str, Any] = plain(content, "result")
    return made


def discovered_text(result: DiscoverResult) -> str:
    """`discovered_json` as text, like `findings_text`."""
    return json.dumps(discovered_json(result), indent=2, allow_nan=False) + "\n"


def probed_json(result: ProbeResult) -> dict[str, Any]:
    """A probe as plain JSON values. Raises as `findings_json` does."""
    content = {
        "schema": 1,
        "kind": "probe",
        **{name: getattr(result, name) for name in ("headline", "found", "model", "plan", "level")},
        "findings": [finding_json(f) for f in result.findings],
        **{name: getattr(result, name) for name in ("tables", "notes", "usage", "config")},
    }
    made: dict[str, Any] = plain(content, "result")
    return made


def probed_text(result: ProbeResult) -> str:
    """`probed_json` as text, like `findings_text`."""
    return json.dumps(probed_json(result), indent=2, allow_nan=False) + "\n"


def _candidate(found: Found) -> dict[str, Any]:
    shown = {field.name: getattr(found, field.name) for field in fields(found)}
    return {
        **shown,
        "findings": [finding_json(f) for f in found.findings],
        "examples": [{field.name: getattr(e, field.name) for field in fields(Worked)} for e in found.examples],
    }


def finding_json(finding: Finding) -> dict[str, Any]:
    """The fields of a finding, their values as they are."""
    names = ("id", "title", "estimate", "interval", "n", "groups", "p", "tolerance", "outcome", "method", "reason",
             "bounds", "details")  # fmt: skip
    return {name: getattr(finding, name) for name in names}


def read_finding(row: Mapping[str, Any]) -> Finding:
    """What `finding_json` made; other fields are passed over."""
    spans = {name: row[name] and tuple(row[name]) for name in ("interval", "bounds", "tolerance")}
    names = {field.name for field in fields(Finding)}
    return Finding(**{**{name: value for name, value in row.items() if name in names}, **spans})


def plain(value: object, where: str) -> Any:
    """`value` as JSON holds it. Raises ValueError for what is not finite, TypeError for what JSON cannot hold."""
    if hasattr(value, "tolist"):  # numpy scalars and arrays, without importing numpy
        value = value.tolist()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{where} is {value}; write None and a reason instead.")
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, f"{where}[{i}]") for i, item in enumerate(value)]
    raise TypeError(f"{where} is a {type(value).__name__}, which JSON cannot hold.")
