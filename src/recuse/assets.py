"""The files that ship with the package (prompts, biases, demo pairs, the default gate), and files read and written."""

from __future__ import annotations

import hashlib
import os
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from recuse.errors import InputError, UsageError

_PACKAGE = Path(__file__).parent


def folder(name: str) -> Path:
    """The folder `name` ("prompts" or "bias_library"): inside the package in a wheel, at the top of a checkout else.

    An editable install cannot serve top-level folders through importlib.resources, hence the second look.
    """
    for place in (_PACKAGE / name, _PACKAGE.parent.parent / name):
        if place.is_dir():
            return place
    raise UsageError(f"The folder {name!r} is missing from this installation.", hint="Install recuse again.")


def data(name: str) -> Path:
    """A file under `recuse/data`, which is part of the package in every kind of install."""
    path = _PACKAGE / "data" / name
    if not path.is_file():
        raise UsageError(f"The file {name!r} is missing from this installation.", hint="Install recuse again.")
    return path


def digest(content: bytes) -> str:
    """Short name of some content: the first 16 hex digits of its SHA-256."""
    return hashlib.sha256(content).hexdigest()[:16]


def read_toml(path: Path, *, hint: str) -> dict[str, Any]:
    """The content of a TOML file of the user's. Raises InputError, with `hint` where it cannot be read at all."""
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path=path, hint=hint) from None
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 (byte {error.start})", path=path, hint="Save the file as UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not TOML: {error}", path=path, hint="Correct it.") from None


def write_whole(path: Path, content: bytes) -> None:
    """Replace one file whole: neither a reader nor a full disk ever sees half of it. Raises OSError."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as part:
        try:
            part.write(content)
            part.flush()
            os.fsync(part.fileno())
        except BaseException:
            Path(part.name).unlink()
            raise
    Path(part.name).chmod(0o644)
    Path(part.name).replace(path)
