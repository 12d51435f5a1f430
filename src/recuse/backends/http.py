"""What the HTTP adapters share: one request, errors translated, and the settings that a provider refuses."""

from __future__ import annotations

import json
import math
import re
import tempfile
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from threading import Lock
from types import ModuleType
from typing import IO, Any
from urllib.parse import urlsplit

from recuse.errors import AuthError, BadRequest, Incomplete, ProviderError, TransientError, UnknownModel, UsageError
from recuse.types import Call, Reply

_KEY = re.compile(r"\b(?:sk|pk|key|gsk|xai)-[\w*.-]{6,}|(?<=Bearer )\S+")
_TOO_LONG = re.compile(
    r"context[ _](?:length|window|size|limit)|maximum context|available context|prompt is too long"
    r"|too many (?:input )?tokens",
    re.IGNORECASE,
)
_NOT_TAKEN = re.compile(
    r"unsupported|not support|n.t support|unrecogni[sz]ed|unknown|unexpected|unavailable|deprecated"
    r"|extra (?:inputs|fields)|not (?:allowed|permitted|accepted|available|enabled)|only the default|may only be"
    r"|incompatible",
    re.IGNORECASE,
)
_QUOTA = re.compile(r"insufficient_quota|credit balance|billing_(?:error|hard_limit)", re.IGNORECASE)
_FILTERED = {"content_filter", "content_policy_violation", "invalid_prompt", "responsible_ai_policy_violation"}


@dataclass(frozen=True, slots=True)
class Site:
    """Where calls go, for messages to the user."""

    provider: str  # as people write it: "OpenAI"
    model: str
    variable: str  # environment variable of the key
    key: str = field(repr=False)
    base_url: str | None = None  # given by the user

    def __post_init__(self) -> None:
        """Raise UsageError for an address that no request can go to: a retry would not help."""
        if self.base_url is None:
            return
        try:
            parts = urlsplit(self.base_url)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:  # a port that is none
            usable = False
        if not usable:
            raise UsageError("--base-url is not an address.", hint="Write it like http://127.0.0.1:8000/v1.")

    @property
    def where(self) -> str:
        if self.base_url is None:
            return self.provider
        parts = urlsplit(self.base_url)  # without a user and password that the address may carry
        return f"the server at {parts.hostname}:{parts.port}" if parts.port else f"the server at {parts.hostname}"

    @property
    def subject(self) -> str:
        """`where` at the start of a sentence."""
        return self.where[0].upper() + self.where[1:]

    @property
    def is_loopback(self) -> bool:
        return self.base_url is not None and urlsplit(self.base_url).hostname in ("127.0.0.1", "localhost", "::1")

    def redact(self, text: str) -> str:
        """One line of at most 400 characters without keys: ours, and whatever looks like one."""
        if self.key:
            text = text.replace(self.key, "[key]")
        return " ".join(_KEY.sub("[key]", text).split())[:400]


class Failed(Exception):
    """An error as the provider sent it, before it becomes one of ours."""

    def __init__(self, status: int, content: bytes, headers: Mapping[str, str]) -> None:
        super().__init__(status)
        self.status = status
        self.wait = retry_after(headers)
        detail = _error_object(content)
        self.message = str(detail.get("message") or detail.get("detail") or content[:400].decode("utf-8", "replace"))
        self.code = str(detail.get("code") or detail.get("type") or "")
        self.kind = str(detail.get("type") or "")
        self.param = str(detail.get("param") or "")

    @property
    def filtered(self) -> bool:
        """Whether a content filter declined: a refusal, which is a reply."""
        return self.status in (400, 403, 422) and bool({self.code, self.kind} & _FILTERED)


def _error_object(content: bytes) -> dict[str, Any]:
    """The error in a provider's JSON, whether nested under "error", flat, or a bare string; {} for anything else."""
    try:
        body = json.loads(content)
    except ValueError:
        return {}
    error = body.get("error", body) if isinstance(body, dict) else None
    if isinstance(error, str):
        return {"message": error}
    return error if isinstance(error, dict) else {}


def retry_after(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """Seconds to wait by `retry-after-ms` or `retry-after`: seconds, also fractional, or a date (RFC 9110, 10.2.3)."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    try:
        moment = parsedate_to_datetime(headers["retry-after"])
    except (KeyError, ValueError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())


def exchange(
    call: Call,
    *,
    sdk: ModuleType,
    create: Callable[..., AbstractContextManager[Any]],
    read: Callable[..., Reply],
    settings: Settings,
    site: Site,
    timeout: float,
) -> Reply:
    """Send one call with the settings that the provider takes.

    `create` opens the SDK's streaming response, `read(call, data, seconds=, notes=, where=)` makes the reply of it.
    A content filter's refusal is a reply. Raises TransientError, BadRequest, or what ends the run.
    """
    started = time.monotonic()
    while True:
        sent = settings.apply(call.body)
        try:
            data = json_of(sdk, partial(create, **sent), site=site, timeout=timeout)
            break
        except Failed as failed:
            if failed.filtered:
                said = site.redact(failed.message)
                return Reply(call.key, "", "refusal", seconds=time.monotonic() - started, error=said)
            if not settings.learn(failed, sent):
                raise translate(failed, site) from None
    notes = settings.notes(call.body, sent)
    return read(call, data, seconds=time.monotonic() - started, notes=notes, where=site.where)


def chunks(
    sdk: ModuleType, opened: Callable[[], AbstractContextManager[Any]], *, site: Site, timeout: float
) -> Iterator[bytes]:
    """The bytes that one request answers. `opened` gives the SDK's streaming response.

    Streaming gives the deadline a meaning: a read timeout alone never ends a server that sends a blank now and then.
    Raises Failed for an error of the provider, TransientError for a broken or late reply.
    """
    import httpx2

    started = time.monotonic()
    try:
        with opened() as response:
            for chunk in response.iter_bytes():
                yield chunk
                if time.monotonic() - started > timeout:
                    raise TransientError(f"{site.subject} sent no whole reply within {timeout:g} s.")
    except sdk.APIStatusError as error:
        raise Failed(error.status_code, error.response.content, error.response.headers) from None
    except (sdk.APITimeoutError, httpx2.TimeoutException):
        raise TransientError(f"{site.subject} did not answer within {timeout:g} s.") from None
    except (sdk.APIConnectionError, httpx2.HTTPError) as error:
        cause = error.__cause__ or error
        said = site.redact(str(cause)) or type(cause).__name__
        raise TransientError(f"The connection to {site.where} failed: {said}.") from None


def json_of(
    sdk: ModuleType, opened: Callable[[], AbstractContextManager[Any]], *, site: Site, timeout: float
) -> dict[str, Any]:
    """The JSON object that one request answers; raises what `chunks` does, TransientError for anything else."""
    content = b"".join(chunks(sdk, opened, site=site, timeout=timeout))
    try:
        data = json.loads(content)
    except ValueError:
        data = None
    if not isinstance(data, dict):
        said = site.redact(content[:80].decode("utf-8", "replace"))
        raise TransientError(f"{site.subject} sent a reply that is not a JSON object: {said!r}.")
    if isinstance(error_object := data.get("error"), dict):  # routers wrap the failure of a provider behind them so
        code = error_object.get("code")
        raise Failed(code if isinstance(code, int) and 400 <= code < 600 else 502, content, {})
    return data


@contextmanager
def room() -> Iterator[None]:
    """Around work on a temporary file. Raises Incomplete where the disk has no room for it."""
    try:
        yield
    except OSError as error:
        raise Incomplete(
            f"A temporary file cannot be written: {error.strerror}.",
            hint="Free some space, or name another folder in TMPDIR, and run the same command again: it resumes.",
        ) from error


@contextmanager
def download(
    sdk: ModuleType, opened: Callable[[], AbstractContextManager[Any]], *, site: Site, timeout: float
) -> Iterator[IO[bytes]]:
    """What one request answers, whole, as a file without a name; raises what `chunks` and `room` do."""
    with room(), tempfile.TemporaryFile() as file:
        for chunk in chunks(sdk, opened, site=site, timeout=timeout):
            file.write(chunk)
        file.seek(0)
        yield file


def named(data: Mapping[str, Any]) -> str:
    """The id of what was made. Raises TransientError where the answer has none."""
    if not isinstance(id := data.get("id"), str) or not id:
        raise TransientError("The server sent no id of what it was to make.")
    return id


def translate(failed: Failed, site: Site) -> ProviderError:
    """The error of ours for a provider's: what a retry may cure, what ends the run, what only this ask did wrong."""
    said = site.redact(failed.message) or "no reason given"
    status = failed.status
    if status == 402 or (status in (400, 403, 429) and _QUOTA.search(f"{failed.code} {failed.kind} {failed.message}")):
        return ProviderError(
            f"{site.subject} wants payment before it answers: {said}",
            hint="Add credit, then run the same command again to resume.",
        )
    if status in (401, 403):
        return AuthError(
            f"{site.subject} refused the key or the access to {site.model!r} (HTTP {status}): {said}",
            hint=f"Set {site.variable} to a key that is valid there.",
        )
    if status == 404 or "model_not_found" in (failed.code, failed.kind):
        ends = " and that --base-url ends where the API begins (often in /v1)" if site.base_url else ""
        return UnknownModel(
            f"{site.subject} does not know the model {site.model!r}: {said}", hint=f"Check the model's name{ends}."
        )
    if status in (408, 409, 425, 429) or status >= 500:
        return TransientError(
            f"{site.subject}: HTTP {status}: {said}", retry_after=failed.wait, throttled=status == 429
        )
    if status == 413 or "context" in failed.code or _TOO_LONG.search(failed.message):
        return BadRequest(f"HTTP {status}: {said}", kind="context_too_long")
    if status in (400, 422):
        return BadRequest(f"HTTP {status}: {said}")
    return ProviderError(
        f"{site.subject} does not take chat requests (HTTP {status}): {said}", hint="Check the provider and --base-url."
    )


class Settings:
    """Optional settings of a request, without those that the provider refused; shared by the threads of a run.

    `optional` are the names that may go; names that go together share a tuple. `alternatives` maps a name to another
    under which the same value may be sent. What was refused once is never sent again, so learning ends.
    """

    def __init__(self, *optional: tuple[str, ...], alternatives: Mapping[str, str]) -> None:
        self._groups = optional
        self._alternatives = alternatives
        self._refused: frozenset[str] = frozenset()
        self._lock = Lock()

    @property
    def refused(self) -> frozenset[str]:
        """The names that were refused so far."""
        return self._refused

    def adopt(self, refused: Iterable[str]) -> None:
        """Take over what was refused in an earlier session."""
        with self._lock:
            self._refused |= set(refused)

    def apply(self, body: Mapping[str, Any], refused: Container[str] | None = None) -> dict[str, Any]:
        """The body as this provider takes it, or as it went out when `refused` was all that was known."""
        refused = self._refused if refused is None else refused
        sent: dict[str, Any] = {}
        for name, value in body.items():
            final = self._alternatives.get(name, name) if name in refused else name
            if final not in refused:
                sent[final] = value
        return sent

    def learn(self, failed: Failed, sent: Mapping[str, Any]) -> bool:
        """Note the setting that this error refuses; True when the call may be sent again without it."""
        if failed.status not in (400, 403, 422) or _TOO_LONG.search(failed.message):
            return False
        if not _NOT_TAKEN.search(f"{failed.code} {failed.kind} {failed.message}"):
            return False
        groups = (*self._groups, *((name,) for name in self._alternatives))
        named = [(self._place(failed, group), group) for group in groups if any(name in sent for name in group)]
        place, group = min(named, default=(math.inf, ()))
        if place == math.inf:
            return False
        with self._lock:
            self._refused |= set(group)
        return True

    @staticmethod
    def _place(failed: Failed, group: tuple[str, ...]) -> float:
        """Where the error names the group: -1 as its parameter, else the position in the message, else infinity."""
        if any(failed.param.split(".")[0] == name for name in group):
            return -1
        found = [m.start() for name in group if (m := re.search(rf"\b{name}\b", failed.message))]
        return min(found, default=math.inf)

    def notes(self, body: Mapping[str, Any], sent: Mapping[str, Any]) -> tuple[str, ...]:
        """One sentence for every setting of the body that was not sent."""
        return tuple(
            f"{group[0]} not accepted: provider default used"
            for group in (*self._groups, *((name,) for name in self._alternatives))
            if group[0] in body and not {group[0], self._alternatives.get(group[0], "")} & set(sent)
        )
