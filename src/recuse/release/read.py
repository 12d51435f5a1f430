"""A finished run as the gate reads it: findings.json of an audit, a discovery or a probe, and run.toml beside it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from recuse.errors import InputError, UsageError, fault_of
from recuse.types import Finding

Kind = Literal["audit", "discovery", "probe"]
_FOLDER = "Give the folder of a finished audit, discovery or probe."
_WHOLE = "Make the run again, or give another folder."
# Keys of [run] that say which part of a plan was asked: a nightly run has all of it, a run for a commit a subset.
_PARTS = ("batch", "batches", "subset")

Number = Annotated[float, Field(allow_inf_nan=False)]
Span = tuple[Number, Number]


class _Row(BaseModel):
    """A finding on disk. Fields may be added within schema 1, so that others are let pass."""

    model_config = ConfigDict(strict=True)
    id: str
    title: str
    estimate: Number | None
    interval: Span | None
    n: int = Field(ge=0)
    groups: int = Field(ge=0)
    p: Annotated[float, Field(ge=0.0, le=1.0)] | None
    method: str
    reason: str | None
    bounds: Span | None
    details: dict[str, Any]

    @model_validator(mode="after")
    def _ordered(self) -> _Row:
        for span in (self.interval, self.bounds):
            if span is not None and span[0] > span[1]:
                raise ValueError(f"{span[0]:g} to {span[1]:g} runs backwards")
        return self


class _Candidate(BaseModel):
    model_config = ConfigDict(strict=True)
    findings: list[_Row]


class _Gate(BaseModel):
    model_config = ConfigDict(strict=True)
    tolerances: dict[str, Any]


class _File(BaseModel):
    model_config = ConfigDict(strict=True, populate_by_name=True)
    version: Literal[1] = Field(alias="schema")
    kind: Kind = "audit"
    headline: str
    judge: str = ""
    model: str = ""
    level: float | None = Field(None, gt=0.0, lt=1.0)
    findings: list[_Row]
    candidates: list[_Candidate] = []
    gate: _Gate | None = None
    tables: dict[str, Any] = {}
    config: dict[str, Any] = {}


@dataclass(frozen=True)
class RunRead:
    """What the gate knows of a run. `config` is [run] and [extract] of run.toml, flat; empty where neither is told."""

    folder: Path
    kind: Kind
    model: str
    headline: str
    level: float  # of all intervals
    findings: Mapping[str, Finding]
    config: Mapping[str, Any]
    versions: tuple[str, ...]  # of the model, as the provider reported them
    calibration: Mapping[str, Any] | None  # the rule by which an audit withheld judged metrics
    tables: Mapping[str, Any]

    @property
    def part(self) -> str:
        """Which part of the plan was asked, in words; empty for a run that does not say."""
        return ", ".join(f"{key} {self.config[key]}" for key in sorted(self.config) if key.split(".")[0] in _PARTS)


def read_run(folder: Path) -> RunRead:
    """Raises UsageError for a folder that holds no finished run, and InputError for one that is damaged."""
    path = folder / "findings.json"
    if not path.is_file():
        if (folder / "run.toml").is_file():
            raise UsageError(f"The run in {folder} is not finished.", hint="Run its command again to finish it.")
        raise UsageError(f"{folder} holds no run: there is no findings.json.", hint=_FOLDER)
    try:
        # Through json first: texts of models may hold half of a surrogate pair, which pydantic's own parser refuses.
        plain = json.dumps(json.loads(path.read_bytes()), ensure_ascii=False).encode("utf-8", "replace")
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path=path, hint=_FOLDER) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", path=path, hint=_WHOLE) from None
    try:
        content = _File.model_validate_json(plain)
    except ValidationError as error:
        where, said = fault_of(error)
        raise InputError(f"not the findings of a run: {said}", path=path, field=where, hint=_WHOLE) from None
    told = _settings(folder / "run.toml")
    config = told.get("run") or content.config.get("run") or content.config
    rule = content.gate.tolerances if content.gate else {}
    return RunRead(
        folder,
        content.kind,
        content.model or content.judge,
        content.headline,
        float(content.level or rule.get("level") or config.get("level") or 0.95),
        _by_id(content, path),
        {**dict(flat(config)), **dict(flat({"extract": told.get("extract", {})}))},
        tuple(sorted((told.get("provider") or {}).get("models") or {})),
        rule.get("calibration"),
        content.tables,
    )


def _settings(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"not TOML: {error}", path=path, hint=_WHOLE) from None


def _by_id(content: _File, path: Path) -> dict[str, Finding]:
    found: dict[str, Finding] = {}
    for row in [*content.findings, *(row for one in content.candidates for row in one.findings)]:
        if row.id in found:
            raise InputError(f"the finding {row.id!r} stands twice", path=path, field="findings", hint=_WHOLE)
        found[row.id] = Finding(**{name: getattr(row, name) for name in type(row).model_fields})
    return found


def flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Nested tables as (dotted key, value)."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
