"""Every error that a user may see. Each carries what to do (`hint`), whether a retry may help, and its exit code.

Adapters translate a provider's errors into these at the boundary; programmer errors are never relabelled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError


class RecuseError(Exception):
    """Base of all expected errors: printed as one sentence without a traceback."""

    exit_code = 2
    retryable = False

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    def __str__(self) -> str:
        message = super().__str__()
        if not self.hint:
            return message
        return f"{message}{'' if message.endswith(('.', '!', '?')) else '.'} {self.hint}"


class UsageError(RecuseError):
    """A wrong option, name or combination of options."""


class InputError(RecuseError):
    """A file that cannot be used as it is; names the file and, where there is one, the row and the field."""

    def __init__(
        self, message: str, *, path: object = None, row: int | None = None, field: str | None = None, hint: str = ""
    ) -> None:
        where = [str(path)] if path is not None else []
        if row is not None:
            where.append(f"row {row}")
        if field is not None:
            where.append(f"field {field!r}")
        super().__init__(f"{', '.join(where)}: {message}" if where else message, hint=hint)
        self.path, self.row, self.field = path, row, field


class ConfigMismatch(RecuseError):
    """A run folder that holds another configuration; names the keys that differ."""


class MissingExtra(RecuseError):
    """An optional package that is not installed; the hint is the command that installs it."""


class BrokenInstall(RecuseError):
    """An optional package that is installed and fails to import; never called missing."""


class ProviderError(RecuseError):
    """A model provider or engine that refused to work."""


class AuthError(ProviderError):
    """Missing, wrong or unauthorised key."""


class UnknownModel(ProviderError):
    """The provider does not know the model."""


class BadRequest(ProviderError):
    """The provider rejected this one request for good; stored as this ask's reply, the run goes on."""

    def __init__(self, message: str, *, kind: str = "bad_request", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.kind = kind  # "bad_request" | "context_too_long"


class TransientError(ProviderError):
    """Rate limit, server error, broken or slow connection: asked again, never stored."""

    exit_code = 4
    retryable = True

    def __init__(self, message: str, *, retry_after: float | None = None, throttled: bool = False) -> None:
        super().__init__(message)
        self.retry_after = retry_after  # seconds that the provider asked to wait
        self.throttled = throttled  # a rate limit rather than a fault


class Incomplete(RecuseError):
    """A run that stopped cleanly before its end: what was paid for is kept and the same command resumes it."""

    exit_code = 4


class Interrupted(Incomplete):
    """The user stopped the run; the calls in flight were waited for and kept."""

    exit_code = 130


def fault_of(error: ValidationError) -> tuple[str | None, str]:
    """The key of a user's file that is at fault, None for the file as a whole, and what is wrong with it.

    An unknown key goes first: where it is a misspelt one, the right one is missing only for that.
    """
    faults = error.errors()
    first = next((fault for fault in faults if fault["type"] == "extra_forbidden"), faults[0])
    # Where a value may be of several types, the last part of the place is the type that was tried.
    where = ".".join(str(part) for part in first["loc"] if not str(part).startswith("constrained-"))
    said = "unknown key" if first["type"] == "extra_forbidden" else str(first["msg"]).removeprefix("Value error, ")
    return where or None, said
