"""Run folders as a probe leaves them, made by hand, and gate files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w

GAP = "probe.gap:decision:women/men"
FAILURES = "probe.failure_gap:decision:women/men"
CONFIG = {
    "model": "openai/some-model", "draws": 3, "temperature": 1.0, "system_hash": "aaaa", "seed": 0,
    "engine": {"openai": "3.0"}, "templates": {"bakery": "t1", "courier": "t2"},
}  # fmt: skip


def finding(id: str, estimate: float | None, interval: Sequence[float] | None = None, **more: Any) -> dict[str, Any]:
    found = {
        "id": id, "title": id, "estimate": estimate, "interval": interval, "n": 400, "groups": 40, "p": None,
        "tolerance": None, "outcome": None, "method": "by hand", "reason": None, "bounds": None, "details": {},
    }  # fmt: skip
    return {**found, **more}


def write_run(
    folder: Path,
    findings: Sequence[Mapping[str, Any]],
    *,
    config: Mapping[str, Any] = CONFIG,
    models: Mapping[str, int] | None = None,
    extract: Mapping[str, Any] | None = None,
    **more: Any,
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    content = {
        "schema": 1, "kind": "probe", "headline": "No gap is shown.", "found": False, "model": "openai/some-model",
        "plan": {}, "level": 0.95, "findings": list(findings), "tables": {}, "notes": [], "usage": {},
        "config": dict(config), **more,
    }  # fmt: skip
    (folder / "findings.json").write_text(json.dumps(content), encoding="utf-8")
    told = {"schema": 1, "run": dict(config), "provider": {"models": dict(models or {"some-model-2026-01": 100})}}
    (folder / "run.toml").write_text(tomli_w.dumps({**told, "extract": dict(extract or {})}), encoding="utf-8")
    return folder


def write_gate(path: Path, primary: Mapping[str, Mapping[str, Any]] | None = None, **more: Any) -> Path:
    tables = {"primary": dict(primary)} if primary else {}
    path.write_text(tomli_w.dumps({"schema": 1, **tables, **more}), encoding="utf-8")
    return path
