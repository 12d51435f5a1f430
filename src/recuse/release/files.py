"""Files for a build server, replaced whole so that it never picks up half of one; and its summary page."""

from __future__ import annotations

import os
from pathlib import Path

from recuse import assets
from recuse.errors import UsageError

SUMMARY = "GITHUB_STEP_SUMMARY"  # the variable with which GitHub Actions names the file of its summary page


def write_whole(path: Path, content: str | bytes) -> None:
    """Raises UsageError where the file cannot be written."""
    try:
        assets.write_whole(path, content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content)
    except OSError as error:
        raise _unwritten(path, error) from None


def append_summary(content: str) -> bool:
    """Append to the summary page of the build; False where there is none."""
    if not (place := os.environ.get(SUMMARY)):
        return False
    try:
        with Path(place).open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{content}\n")
    except OSError as error:
        raise _unwritten(Path(place), error) from None
    return True


def _unwritten(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"{path} cannot be written ({error.strerror}).", hint="Name a file in a folder that you may write."
    )
