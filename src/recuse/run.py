"""The run folder: one owner at a time, one configuration for ever, files replaced whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import tomli_w

from recuse import assets
from recuse.errors import ConfigMismatch, Incomplete, InputError, RecuseError, UsageError
from recuse.prompts import canonical

RUNS = Path("recuse-runs")
_CONFIG = "run.toml"
_OURS = {
    _CONFIG,
    "run.lock",
    *(f"{name}.sqlite{end}" for name in ("ledger", "teacher", "product") for end in ("", "-wal", "-shm")),
}


def default_folder(kind: str, judge: str, config: Mapping[str, Any]) -> Path:
    """A folder name that the same configuration always gets, so that the same command resumes its own run."""
    slug = re.sub(r"[^a-z0-9]+", "-", judge.lower()).strip("-")[-40:].strip("-")
    return RUNS / f"{kind}-{slug}-{assets.digest(canonical(config).encode())[:8]}"


def held(folder: Path, config: Mapping[str, Any], *, ledger: str) -> int:
    """Replies that the folder of a run with this configuration, whatever else it may have, holds in that ledger; 0
    where there is none, or another run."""
    from recuse.ledger import Ledger

    found = _flat(RunFolder(folder, {}).read().get("run", {}))
    wanted = _flat(_without_none(config))
    if not (folder / ledger).is_file() or any(found.get(key) != value for key, value in wanted.items()):
        return 0
    with contextlib.closing(Ledger.existing(folder / ledger)) as known:
        return len(known)


class RunFolder:
    """A run folder, locked while in use. The lock is the kernel's (flock), so a killed process leaves none behind.

    Raises UsageError when the folder holds something else or is in use, ConfigMismatch when it holds another run.
    """

    def __init__(self, path: Path, config: Mapping[str, Any]) -> None:
        self.path = path
        self.kept = False  # whether this run holds anything that was paid for
        self._lock: IO[str] | None = None
        self._new: set[Path] = set()  # what did not exist before: the folder, and the configuration in it
        self._config = _without_none(config)

    def __enter__(self) -> RunFolder:
        try:
            if self.path.exists() and not self.path.is_dir():
                raise UsageError(f"{self.path} is a file.", hint="Give --out a folder.")
            known = {p.name for p in self.path.iterdir()} if self.path.is_dir() else set()
        except OSError as error:
            raise _translate(error, self.path) from error
        if not self.path.is_dir():
            self._new.add(self.path)
        if known and not known & _OURS:
            raise UsageError(f"The folder {self.path} is not empty and holds no run.", hint="Give --out a new folder.")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = (self.path / "run.lock").open("a+")
        except OSError as error:
            raise _translate(error, self.path) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise UsageError(
                f"Another process is working in {self.path}.", hint="Wait for it, or give --out another folder."
            ) from None
        try:
            self._claim()
        except BaseException:
            self._lock.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, RecuseError) and not self.kept:
            self._withdraw()
        if self._lock:
            self._lock.close()

    def _withdraw(self) -> None:
        """Leave no claim behind when a run ended before any reply: the corrected command may use the folder."""
        if self.path / _CONFIG in self._new:
            for name in _OURS:
                (self.path / name).unlink(missing_ok=True)
        if self.path in self._new:
            with contextlib.suppress(OSError):
                self.path.rmdir()

    def _claim(self) -> None:
        """Refuse another configuration, naming what differs; write ours into a new folder."""
        found = self.read()
        if not found:
            self._new.add(self.path / _CONFIG)
            self.write(_CONFIG, tomli_w.dumps({"schema": 1, "run": self._config}))
            return
        old = _flat(found.get("run", {}))
        new = _flat(self._config)
        if differs := sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key)):
            said = "; ".join(
                f"{key}: {old.get(key, 'unset')!r} there, {new.get(key, 'unset')!r} now" for key in differs[:6]
            )
            raise ConfigMismatch(f"{self.path} holds another run ({said}).", hint="Give --out another folder.")

    def read(self) -> dict[str, Any]:
        """The content of run.toml, empty in a new folder."""
        file = self.path / _CONFIG
        if not file.is_file():
            return {}
        try:
            return tomllib.loads(file.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"not TOML: {error}", path=file, hint="Restore the file or use a new folder.") from None

    def record(self, **tables: Any) -> dict[str, Any]:
        """Set top-level tables of run.toml beside the configuration; returns the whole content."""
        content = {**self.read(), **_without_none(tables)}
        self.write(_CONFIG, tomli_w.dumps(content))
        return content

    def subfolder(self, name: str) -> Path:
        """A folder inside, made where it is missing."""
        try:
            (self.path / name).mkdir(exist_ok=True)
        except OSError as error:
            raise _translate(error, self.path / name) from error
        return self.path / name

    def write(self, name: str, text: str) -> Path:
        """Replace one file whole. Raises Incomplete for a full disk, UsageError for a place that cannot be written."""
        return self.replace(name, text.encode("utf-8", "backslashreplace"))

    def replace(self, name: str, content: bytes) -> Path:
        target = self.path / name
        try:
            assets.write_whole(target, content)
        except OSError as error:
            raise _translate(error, target) from error
        return target


def _translate(error: OSError, path: Path) -> Exception:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Incomplete(
            f"The disk that holds {path} is full.", hint="Free some space and run the same command again."
        )
    return UsageError(f"{path} cannot be written ({error.strerror}).", hint="Give --out a folder that you may write.")


def _without_none(value: Any) -> Any:
    """TOML has no null: keys without a value are left out."""
    if isinstance(value, Mapping):
        return {str(k): _without_none(v) for k, v in value.items() if v is not None}
    if isinstance(value, list | tuple):
        return [_without_none(v) for v in value]
    return value


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, f"{prefix}{key}."))
        else:
            flat[prefix + key] = value
    return flat
