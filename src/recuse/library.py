"""The library of known biases: one TOML file each, in `bias_library/` or a folder of the user's own."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from recuse import assets
from recuse.errors import InputError, UsageError, fault_of

_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
_Id = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]*$")]


class Evidence(BaseModel):
    """What one run measured: the effect on the untouched test split, in error rate against the placebo."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    effect: float = Field(ge=-1, le=1)
    interval: tuple[float, float]
    n: int = Field(gt=0)
    groups: int = Field(gt=0)
    judge: _Text
    teacher: _Text | None = None  # None: a rule-based edit
    run: _Text


class Bias(BaseModel):
    """A property of an answer that sways a judge and should not."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: _Id  # the file's name without .toml
    name: _Text
    definition: _Text
    manifestations: list[_Text] = Field(min_length=1)
    inject: _Text | None = None  # what a teacher is told to do to an answer; None: it is not put in by rewriting
    edit: _Text | None = None  # a rule-based edit that carries it, by its name in recuse.perturb.edits
    changes_length: bool = False  # the bias is about length, so its rewrites may differ in length
    code: bool = False  # the bias is about code: it goes only into answers that are code
    family: Literal["cognitive", "social", "formal", "attack"]
    source: list[_Text] = Field(min_length=1)  # literature, or the run that found it
    status: Literal["seed", "candidate", "confirmed", "rejected"]  # seed: known from the literature before any run
    evidence: list[Evidence] = []


def load_library(path: Path | None = None) -> dict[str, Bias]:
    """All biases of a folder, by id in alphabetical order; None: the library that ships with recuse.

    Raises UsageError for a path that is no folder, InputError for an empty folder or a file that is not a bias.
    """
    return {bias.id: bias for bias in map(_read, _files(path))}


def load_bias(id: str, path: Path | None = None) -> Bias:
    """One bias of a library. Raises UsageError naming the known ids."""
    library = load_library(path)
    if id not in library:
        raise UsageError(f"There is no bias {id!r}.", hint=f"Choose one of: {', '.join(library)}.")
    return library[id]


def bias_toml(bias: Bias) -> str:
    """A bias as the text of its file; `load_library` reads it back."""
    import tomli_w

    return tomli_w.dumps(bias.model_dump(mode="json", exclude_none=True), multiline_strings=True)


def write_bias(bias: Bias, folder: Path, *, replace: bool = False) -> Path:
    """Write `folder`/<id>.toml, making the folder where there is none. Raises UsageError for a file that exists."""
    path = folder / f"{bias.id}.toml"
    if path.exists() and not replace:
        raise UsageError(f"{path} exists.", hint="Remove it, or give the bias another id.")
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(bias_toml(bias), encoding="utf-8")
    return path


def check_library(path: Path | None = None, *, edits: Container[str]) -> list[str]:
    """What is wrong with the files of a folder, one sentence each; [] where all is in order. None: the one that ships.

    `edits` are the names of the rule-based edits that exist. Raises as `load_library` for a folder without files.
    """
    problems, known = [], dict[str, str]()
    for file in _files(path):
        try:
            bias = _read(file)
        except InputError as error:
            problems.append(str(error))
            continue
        if bias.edit is not None and bias.edit not in edits:
            problems.append(f"{file}, field 'edit': there is no edit {bias.edit!r}.")
        if bias.status == "confirmed" and not bias.evidence:
            problems.append(f"{file}, field 'evidence': the bias is called confirmed and nothing was measured.")
        first = known.setdefault(bias.name.casefold(), file.name)
        if first != file.name:
            problems.append(f"{file}, field 'name': {first} has the name {bias.name!r} too.")
    return problems


def promote(run: Path, id: str, *, library: Path | None = None, unconfirmed: bool = False) -> Path:
    """Copy a bias that a discovery confirmed from its run folder into a library; returns the new file.

    library      None: the library of this source checkout
    unconfirmed  take one that was not confirmed too; its status stays what it is

    Raises UsageError for a run or an id that is not there, a bias that was not confirmed, an id or a name that the
    library has, and a library that lies in an installed package, which the next installation would overwrite.
    """
    found = run / "candidates"
    if not found.is_dir():
        raise UsageError(f"{run} holds no candidates.", hint="Give the folder of a `recuse discover` run.")
    candidates = load_library(found) if any(found.glob("*.toml")) else {}
    if id not in candidates:
        what = f"It has: {', '.join(candidates)}." if candidates else "It found none."
        raise UsageError(f"The run {run} has no candidate {id!r}.", hint=what)
    bias = candidates[id]
    if bias.status != "confirmed" and not unconfirmed:
        raise UsageError(
            f"The run did not confirm {id!r} ({bias.status}).", hint="--unconfirmed takes it all the same."
        )
    folder = _own_library() if library is None else library
    kept = load_library(folder) if folder.is_dir() and any(folder.glob("*.toml")) else {}
    for other in kept.values():
        if other.id == id or other.name.casefold() == bias.name.casefold():
            raise UsageError(f"{folder} has {other.name!r} already ({other.id}.toml).", hint="Nothing was written.")
    return write_bias(bias, folder)


def _own_library() -> Path:
    folder = assets.folder("bias_library")
    if folder.is_relative_to(Path(__file__).parent):
        raise UsageError(
            "The library that ships is part of the installation, and the next one would overwrite it.",
            hint="Give --library a folder of your own.",
        )
    return folder


def slug(name: str, taken: Container[str] = ()) -> str:
    """An id for a name, "Appeal to studies" -> "appeal-to-studies", with a number where it is taken."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().casefold()
    stem = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:60].rstrip("-")
    stem = stem if stem[:1].isalpha() else f"bias-{stem}".rstrip("-")
    number, id = 1, stem
    while id in taken:
        number += 1
        id = f"{stem}-{number}"
    return id


def _files(path: Path | None) -> list[Path]:
    folder = assets.folder("bias_library") if path is None else path
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder.", hint="Give a folder of bias files (*.toml).")
    files = sorted(folder.glob("*.toml"))
    if not files:
        raise InputError("no bias files", path=folder, hint="Give a folder with at least one *.toml file.")
    return files


def _read(file: Path) -> Bias:
    try:
        bias = Bias.model_validate(assets.read_toml(file, hint="Give a folder of bias files (*.toml)."))
    except ValidationError as error:
        where, said = fault_of(error)
        raise InputError(said, path=file, field=where, hint="Correct the file.") from None
    if bias.id != file.stem:
        raise InputError(
            f"is {bias.id!r} in a file named {file.name!r}", path=file, field="id", hint="Give both the same name."
        )
    return bias
