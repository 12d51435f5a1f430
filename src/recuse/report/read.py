"""A finished run read back as what its report is made from: no model is asked, and no number is computed again.

Of an audit, findings.json and run.toml hold all but the cases, which `casefile` reads from the run's verdicts and its
ledger; of every other kind, findings.json holds everything.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from recuse.errors import InputError, UsageError
from recuse.report.casefile import read_cases
from recuse.report.discovered import DiscoverResult, Found, Worked
from recuse.report.explained import ExplainReport
from recuse.report.explained_json import read_explained
from recuse.report.hardened import HardenReport
from recuse.report.hardened_json import read_hardened
from recuse.report.jsonable import read_finding
from recuse.report.probed import ProbeResult
from recuse.report.result import AuditResult
from recuse.types import Finding

Result = AuditResult | DiscoverResult | ProbeResult | HardenReport | ExplainReport
_HINT = "Run the command of the run again: it asks for nothing that its ledger holds, and writes its files anew."


def read_result(folder: Path) -> Result:
    """Raises UsageError for a folder that holds no finished run, and InputError for one that is damaged."""
    path = folder / "findings.json"
    if not path.is_file():
        if (folder / "run.toml").is_file():
            raise UsageError(f"The run in {folder} is not finished: there is no findings.json.", hint=_HINT)
        raise UsageError(f"{folder} holds no run: there is no findings.json.", hint="Give the folder of a run.")
    try:
        content = json.loads(path.read_bytes())
        kind = content.get("kind", "audit")
        if content["schema"] != 1 or kind not in _READ:
            raise InputError(f"findings of schema {content['schema']}, kind {kind!r}, are not known here", path=path)
        return _READ[kind](content, folder)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path=path, hint=_HINT) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        said = f"{type(error).__name__}: {error}"
        raise InputError(f"not the findings of a run ({said})", path=path, hint=_HINT) from None


def _audit(content: Mapping[str, Any], folder: Path) -> AuditResult:
    cases, of_cases = read_cases(folder)
    return AuditResult(
        **{name: content[name] for name in ("judge", "pairs", "prompt", "outcome", "headline", "looks", "usage")},
        findings=_findings(content["findings"]), gate=content["gate"]["tolerances"], gate_name=content["gate"]["name"],
        config=_config(folder / "run.toml"), notes=tuple(content["notes"]), cases=cases, of_cases=of_cases,
        folder=folder,
    )  # fmt: skip


def _discovery(content: Mapping[str, Any], folder: Path) -> DiscoverResult:
    names = ("judge", "teacher", "pairs", "prompt", "headline", "config", "usage", "level")
    return DiscoverResult(
        **{name: content[name] for name in names}, candidates=tuple(map(_candidate, content["candidates"])),
        findings=_findings(content["findings"]), rounds=tuple(content["rounds"]), limits=tuple(content["limits"]),
        notes=tuple(content["notes"]), folder=folder,
    )  # fmt: skip


def _candidate(row: Mapping[str, Any]) -> Found:
    own = {field.name for field in fields(Found)}
    listed = {name: tuple(row[name]) for name in ("wordings", "reasons")}
    examples = tuple(Worked(**{field.name: one[field.name] for field in fields(Worked)}) for one in row["examples"])
    plain = {name: value for name, value in row.items() if name in own}
    return Found(**{**plain, **listed, "findings": _findings(row["findings"]), "examples": examples})


def _probe(content: Mapping[str, Any], folder: Path) -> ProbeResult:
    names = ("model", "plan", "headline", "found", "tables", "config", "usage", "level")
    return ProbeResult(
        **{name: content[name] for name in names}, findings=_findings(content["findings"]),
        notes=tuple(content["notes"]), folder=folder,
    )  # fmt: skip


_READ: Mapping[str, Callable[[Mapping[str, Any], Path], Result]] = {
    "audit": _audit,
    "discovery": _discovery,
    "probe": _probe,
    "harden": read_hardened,
    "explain": read_explained,
}


def _findings(rows: list[Mapping[str, Any]]) -> tuple[Finding, ...]:
    return tuple(map(read_finding, rows))


def _config(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path=path, hint=_HINT) from None
