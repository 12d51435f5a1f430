"""The folder that an export gives: new or empty, and there as a whole or not at all."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from recuse.errors import UsageError
from recuse.run import RunFolder


def check_free(out: Path) -> None:
    """Raise UsageError unless `out` is new or an empty folder. To be called before anything is paid for, too."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file.", hint="Give --out a new folder.")
    if out.is_dir() and any(out.iterdir()):
        raise UsageError(f"The folder {out} is not empty.", hint="Give --out a new folder.")


def write_whole(out: Path, files: Mapping[str, bytes]) -> None:
    """Write the files into a folder beside `out`, on the same disk, and give it that name at the end.

    Raises UsageError as `check_free` does and where the place cannot be written, Incomplete where the disk is full.
    """
    check_free(out)
    part: Path | None = None
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
        folder = RunFolder(part, {})
        for name, content in files.items():
            folder.replace(name, content)
        part.chmod(0o755)
        part.replace(out)  # an empty folder of that name gives way
        part = None
    except OSError as error:
        raise UsageError(f"{out} cannot be written ({error.strerror}).", hint="Give --out another folder.") from None
    finally:
        if part is not None:
            shutil.rmtree(part, ignore_errors=True)
