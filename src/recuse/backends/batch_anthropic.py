"""Anthropic's message batches: all requests in one body, and one file of results."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import nullcontext
from datetime import datetime
from functools import partial
from types import ModuleType
from typing import IO, Any

from recuse.backends import http
from recuse.backends.batch import Row, Sent, State, dumps, objects
from recuse.backends.http import Failed

_PATH = "/v1/messages/batches"
# The status of a live request with this type of error.
_STATUS = {
    "invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
    "not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429, "api_error": 500, "timeout_error": 504,
    "overloaded_error": 529,
}  # fmt: skip
_CLOCKS = 900.0  # seconds by which the provider's clock may differ from ours
_ARRIVAL = 7200.0  # seconds within which a batch that was sent has arrived


class AnthropicDesk:
    """See `Desk`. Limits: 100,000 requests or 256 MB (Anthropic's guide to batch processing, 2026)."""

    most_calls = 100_000
    most_bytes = 128_000_000  # half of what is taken, since a body is in memory, twice, when it is sent
    signs = False

    def __init__(self, sdk: ModuleType, client: Any, site: http.Site, timeout: float) -> None:
        self._client, self._timeout = client, timeout
        self._batches = client.messages.batches.with_streaming_response
        self._ask = partial(http.json_of, sdk, site=site, timeout=timeout)
        self._load = partial(http.download, sdk, site=site, timeout=timeout)

    def line(self, name: str, body: Mapping[str, Any]) -> bytes:
        return dumps({"custom_id": name, "params": body}) + b",\n"

    def send(self, own: str, lines: IO[bytes], keep: Callable[[str], None]) -> str:
        """As bytes, so that they are not made into JSON a second time and the size is the one that was counted."""
        import httpx2

        lines.seek(0)
        content = b'{"requests":[' + lines.read().removesuffix(b",\n") + b"]}"
        options = {"headers": {"Content-Type": "application/json"}, "timeout": self._timeout}
        post = partial(self._client.post, _PATH, content=content, cast_to=httpx2.Response, options=options)
        return http.named(self._ask(lambda: nullcontext(post())))

    def find(self, sent: Sent, known: Collection[str]) -> str | None:
        """By time and number of requests, since a batch bears no name of ours until its results are there.

        Whoever reads the results sees by their custom ids whether it was the right one.
        """
        after: dict[str, str] = {}
        while True:
            page = self._ask(lambda: self._batches.list(limit=100, **after))  # noqa: B023 - called at once
            for batch in page.get("data") or []:
                created = datetime.fromisoformat(batch["created_at"]).timestamp()
                if created < sent.at - _CLOCKS:  # they are listed newest first
                    return None
                alike = sum((batch.get("request_counts") or {}).values()) == sent.calls
                if alike and created < sent.at + _ARRIVAL and batch["id"] not in known:
                    return str(batch["id"])
            if not page.get("has_more") or not page.get("data"):
                return None
            after = {"after_id": page["data"][-1]["id"]}

    def look(self, id: str) -> State:
        data = self._ask(lambda: self._batches.retrieve(id))
        ended = data.get("processing_status") == "ended"
        return State(
            id, ended=ended, cancelled=bool(data.get("cancel_initiated_at")), lost=ended and not data.get("results_url")
        )

    def rows(self, state: State) -> Iterator[Row | None]:
        with self._load(lambda: self._batches.results(state.id)) as lines:
            for line in objects(lines):
                yield None if line is None else _row(line)

    def cancel(self, id: str) -> None:
        self._ask(lambda: self._batches.cancel(id))


def _row(line: dict[str, Any]) -> Row | None:
    name, result = str(line.get("custom_id")), line.get("result")
    if not isinstance(result, dict):
        return None
    kind, message, error = result.get("type"), result.get("message"), result.get("error")
    if kind == "succeeded" and isinstance(message, dict):
        return Row(name, body=message)
    if kind in ("expired", "canceled"):
        return Row(name, unasked="expired" if kind == "expired" else "cancelled")
    if kind == "errored" and isinstance(error, dict):
        inner = error.get("error") if isinstance(error.get("error"), dict) else error
        return Row(name, failed=Failed(_STATUS.get(str((inner or {}).get("type")), 500), dumps({"error": inner}), {}))
    return None
