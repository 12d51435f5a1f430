"""A judge as a folder: judge.toml, its prompt, and what it was shown to do.

`recuse audit --judge-config` reads it, and so does `recuse.inspect`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import tomli_w
from pydantic import BaseModel, ConfigDict, ValidationError

from recuse.assets import read_toml
from recuse.backends.base import public_address
from recuse.blinding.pairs import Blinds
from recuse.errors import InputError, UsageError, fault_of
from recuse.harden.rivals import APPLY, Asker, Rival
from recuse.plan import AuditConfig
from recuse.prompts import load_prompt
from recuse.run import RunFolder

FOLDER, _FILE, _PROMPT = "judge", "judge.toml", "prompt.md"
_HINT = "Give --judge-config the folder `judge` of a `recuse harden` run."


class _Judge(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    judge: str
    base_url: str | None = None
    prompt: str
    prompt_hash: str
    temperature: float | Literal["default"]
    max_tokens: int
    choice: bool = False
    names: str | None = None
    names_file: str | None = None
    signals: str | None = None


class _Rule(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    kind: Literal["both orders", "majority"]
    judges: list[str]
    apply: str


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    schema_: Literal[1]
    judge: _Judge
    rule: _Rule | None = None
    evidence: dict[str, Any] = {}


def write_judge(run: RunFolder, rival: Rival, evidence: Mapping[str, Any]) -> Path:
    """The folder of a rival inside its run: what it takes to ask it again, with copies of the files that it needs."""
    folder = run.subfolder(FOLDER)
    assert rival.wording is not None
    first = rival.askers[0]
    run.write(f"{FOLDER}/{_PROMPT}", rival.wording.text)
    table: dict[str, Any] = {"schema": 1, "judge": {**_settings(first, rival), **_blinds(run, first)}}
    if rival.rule != "alone":
        names = [asker.seat.model.name for asker in rival.askers]
        table["rule"] = {"kind": rival.rule, "judges": names, "apply": APPLY[rival.rule]}
    table["evidence"] = dict(evidence)
    run.write(f"{FOLDER}/{_FILE}", tomli_w.dumps(table))
    return folder


def withdraw_judge(run: RunFolder) -> None:
    """Take away what an earlier end of the same run named, where nothing wins any more."""
    (run.path / FOLDER / _FILE).unlink(missing_ok=True)


def _settings(asker: Asker, rival: Rival) -> dict[str, Any]:
    sampling = asker.design.sampling
    assert rival.wording is not None
    address = public_address(asker.config.options.base_url)
    return {
        "judge": asker.seat.model.name, **({"base_url": address} if address else {}), "prompt": _PROMPT,
        "prompt_hash": rival.wording.prompt.hash,
        "temperature": "default" if asker.config.temperature is None else float(asker.config.temperature),
        "max_tokens": sampling.max_tokens, "choice": sampling.choice,
    }  # fmt: skip


def _blinds(run: RunFolder, asker: Asker) -> dict[str, str]:
    blinds = asker.blinds or asker.config.blinds
    if blinds is None:
        return {}
    said = {"names": blinds.names} if blinds.names else {}
    for name, path, copy in (
        ("names_file", blinds.names_file, "names.txt"),
        ("signals", blinds.signals, "signals.toml"),
    ):
        if path is not None:
            run.replace(f"{FOLDER}/{copy}", path.read_bytes())
            said[name] = copy
    return said


def judge_of(folder: Path, config: AuditConfig) -> AuditConfig:
    """An audit's configuration with the judge of `folder` in place of its own.

    An address in `config` stands before the one that is written down. Raises UsageError for a folder that holds no
    judge, and for a judge that is a rule over several calls; InputError for a file or prompt that was changed.
    """
    found = _read(folder)
    judge = found.judge
    if found.rule is not None:
        raise UsageError(
            f"The judge in {folder} is a rule over several calls, which nobody can ask as one: {found.rule.apply}",
            hint=f"Its evidence stands in {folder / _FILE}; the calls beneath it can be audited with "
            f"--judge {found.rule.judges[0]} --prompt {folder / judge.prompt}.",
        )
    prompt = folder / judge.prompt
    if not prompt.is_file() or load_prompt(str(prompt)).hash != judge.prompt_hash:
        raise InputError(
            "is not the prompt that was tested" if prompt.is_file() else "is missing", path=prompt,
            hint="Restore it, or audit it as a judge of its own with --judge and --prompt.",
        )  # fmt: skip
    return replace(
        config, judge=judge.judge, prompt=str(prompt), max_tokens=judge.max_tokens, choice=judge.choice,
        temperature=None if judge.temperature == "default" else judge.temperature,
        options=replace(config.options, base_url=config.options.base_url or judge.base_url),
        blinds=Blinds.of(judge.names, *(folder / f if f else None for f in (judge.names_file, judge.signals))),
    )  # fmt: skip


def is_judge(folder: Path) -> bool:
    return (folder / _FILE).is_file()


def evidence_of(folder: Path) -> Mapping[str, Any]:
    """What spoke for the judge where it won. Raises as `judge_of`."""
    return _read(folder).evidence


def _read(folder: Path) -> _File:
    file = folder / _FILE
    if not is_judge(folder):
        raise UsageError(f"{folder} holds no judge.", hint=_HINT)
    content = read_toml(file, hint=_HINT)
    try:
        content["schema_"] = content.pop("schema", None)
        return _File.model_validate(content)
    except ValidationError as error:
        where, said = fault_of(error)
        field = where.replace("schema_", "schema") if where else None
        raise InputError(said, path=file, field=field, hint="Restore the file as it was.") from None
