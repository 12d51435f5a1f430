"""The backend protocol: calls in, replies out as they complete, from an offline engine or from a pool of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlsplit, urlunsplit

from recuse.extras import require
from recuse.types import Ask, Call, Reply


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a backend can do; the flow adapts to it and the report says so."""

    logprobs: bool = False  # alternatives at the first decoded token
    temperature: bool = True  # honours sampling.temperature
    seed: bool = False  # honours sampling.seed
    choice: bool = False  # restricts the reply to the ask's labels
    schema: bool = False  # restricts the reply to a JSON schema
    explains: bool = True  # writes text of its own; a reward model does not
    teaches: bool = True  # writes what it is told to; a planted judge gives verdicts and explains them
    greedy: bool = False  # at temperature 0 a repeated call returns the same reply, so it is no repeat
    max_context: int | None = None  # tokens, where known
    local: bool = False  # runs on this machine: no price, no rate limit


@dataclass(frozen=True, slots=True)
class Options:
    """What a user may say about how a judge is reached, rather than about what it is asked."""

    base_url: str | None = None
    concurrency: int | None = None  # calls in flight at most; None: the backend's default
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    timeout: float = 120.0  # seconds for one call
    max_attempts: int = 12  # tries of one ask, of which 1,000 asks survive a storm of 20 % faults 999 times in 1,000
    trust_remote_code: bool = False
    allow_pickle: bool = False
    device: str | None = None
    tensor_parallel: int | None = None  # over how many GPUs vLLM splits a model
    memory_share: float | None = None  # of a GPU's memory that vLLM may take
    max_context: int | None = None
    batch: bool = False  # send calls in batch files, at half the price, where the provider has them
    replicas: tuple[int, int] | None = None  # fewest and most engines that Ray spreads the calls over


def public_address(address: str | None) -> str | None:
    """An address without what may be secret in it: a user, a password, a query."""
    if address is None:
        return None
    parts = urlsplit(address)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


class Backend(Protocol):
    name: str  # provider/model as the user wrote it
    capabilities: Capabilities

    def body(self, ask: Ask) -> dict[str, Any]:
        """The request as it will be sent, without secrets: what the ledger's key is computed from. JSON values only."""
        ...

    def generate(self, calls: Iterable[Call]) -> Iterator[Reply]:
        """Yield one reply a call, in any order, as they complete; pull from `calls` with bounded look-ahead.

        Raises AuthError or UnknownModel at once. A call that the provider rejects for good is a Reply with finish
        "error". Calls that stay unanswered after the retry policy raise Incomplete, after all others were yielded.
        """
        ...

    def versions(self) -> dict[str, str]:
        """Package and model versions that determine the replies, for run.toml."""
        ...

    def close(self) -> None: ...


Send = Callable[[Call], Reply]

__all__ = ["Backend", "Capabilities", "Options", "Send", "require"]
