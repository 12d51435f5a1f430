"""The library of known biases: one TOML file each, in `bias_library/` or a folder of the user's own."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Container
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from recuse import assets
from recuse.errors import InputError, UsageError

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
    family: Literal["cognitive", "social", "formal", "attack"]
    source: list[_Text] = Field(min_length=1)  # literature, or the run that found it
    status: Literal["seed", "candidate", "confirmed", "rejected"]  # seed: known from the literature before any run
    evidence: list[Evidence] = []


def load_library(path: Path | None = None) -> dict[str, Bias]:
    """All biases of a folder, by id in alphabetical order; None: the library that ships with recuse.

    Raises UsageError for a path that is no folder, InputError for an empty folder or a file that is not a bias.
    """
    folder = assets.folder("bias_library") if path is None else path
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder.", hint="Give a folder of bias files (*.toml).")
    files = sorted(folder.glob("*.toml"))
    if not files:
        raise InputError("no bias files", path=folder, hint="Give a folder with at least one *.toml file.")
    return {bias.id: bias for bias in map(_read, files)}


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


def _read(file: Path) -> Bias:
    try:
        bias = Bias.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 (byte {error.start})", path=file, hint="Save it as UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not TOML: {error}", path=file, hint="Correct it.") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(str(first["msg"]), path=file, field=where, hint="Correct the file.") from None
    if bias.id != file.stem:
        raise InputError(
            f"is {bias.id!r} in a file named {file.name!r}", path=file, field="id", hint="Give both the same name."
        )
    return bias
