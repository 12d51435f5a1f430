"""OpenAI's batches: a file of requests, uploaded; a batch made of it; files of results and of errors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from types import ModuleType
from typing import IO, Any

from recuse.backends import http
from recuse.backends.batch import Row, Sent, State, dumps, objects
from recuse.backends.http import Failed

_URL = "/v1/chat/completions"
_OURS = "recuse"  # the name under which our own name of a batch stands in its metadata
_ENDED = ("completed", "expired", "cancelled", "failed")
_CLOCKS = 900.0  # seconds by which the provider's clock may differ from ours


class OpenAIDesk:
    """See `Desk`. Limits of a file: 50,000 requests and 200 MB (OpenAI's reference of `batches.create`, 2026)."""

    most_calls = 50_000
    most_bytes = 200_000_000
    signs = True

    def __init__(self, sdk: ModuleType, client: Any, site: http.Site, timeout: float) -> None:
        self._timeout = timeout
        self._batches = client.batches.with_streaming_response
        self._files = client.files.with_streaming_response
        self._ask = partial(http.json_of, sdk, site=site, timeout=timeout)
        self._load = partial(http.download, sdk, site=site, timeout=timeout)

    def line(self, name: str, body: Mapping[str, Any]) -> bytes:
        return dumps({"custom_id": name, "method": "POST", "url": _URL, "body": body}) + b"\n"

    def send(self, own: str, lines: IO[bytes], keep: Callable[[str], None]) -> str:
        lines.seek(0)
        named = (f"recuse-{own}.jsonl", lines, "application/jsonl")
        file = http.named(self._ask(lambda: self._files.create(file=named, purpose="batch", timeout=self._timeout)))
        keep(file)
        return http.named(
            self._ask(
                lambda: self._batches.create(
                    input_file_id=file, endpoint=_URL, completion_window="24h", metadata={_OURS: own}
                )
            )
        )

    def find(self, sent: Sent, known: Collection[str]) -> str | None:
        """By our name in its metadata, or by the file it was made of."""
        after: dict[str, str] = {}
        while True:
            page = self._ask(lambda: self._batches.list(limit=100, **after))  # noqa: B023 - called at once
            for batch in page.get("data") or []:
                ours = (batch.get("metadata") or {}).get(_OURS) == sent.own
                if (ours or (sent.file and batch.get("input_file_id") == sent.file)) and batch["id"] not in known:
                    return str(batch["id"])
                if batch.get("created_at", sent.at) < sent.at - _CLOCKS:  # they are listed newest first
                    return None
            if not page.get("has_more") or not page.get("data"):
                return None
            after = {"after": page["data"][-1]["id"]}

    def look(self, id: str) -> State:
        data = self._ask(lambda: self._batches.retrieve(id))
        status = data.get("status")
        files = tuple(file for name in ("output_file_id", "error_file_id") if (file := data.get(name)))
        refused = None
        if status == "failed":
            errors = (data.get("errors") or {}).get("data") or [{"message": "no reason given"}]
            refused = Failed(400, dumps({"error": errors[0]}), {})
        return State(
            id,
            ended=status in _ENDED,
            cancelled=status in ("cancelling", "cancelled"),
            lost=status == "completed" and not files,  # of requests that were paid for
            refused=refused,
            files=files,
        )

    def rows(self, state: State) -> Iterator[Row | None]:
        for file in state.files:
            with self._load(lambda: self._files.content(file)) as lines:  # noqa: B023 - called at once
                for line in objects(lines):
                    yield None if line is None else _row(line)

    def cancel(self, id: str) -> None:
        self._ask(lambda: self._batches.cancel(id))


def _row(line: dict[str, Any]) -> Row | None:
    """A line of the file of results, or of errors: an answer with its status, or a reason why there is none."""
    name, response, error = str(line.get("custom_id")), line.get("response"), line.get("error")
    if isinstance(response, dict):
        status, body = response.get("status_code"), response.get("body")
        if status == 200 and isinstance(body, dict):
            return Row(name, body=body)
        return Row(name, failed=Failed(status if isinstance(status, int) else 500, dumps(body), {}))
    if not isinstance(error, dict):
        return None
    code = str(error.get("code"))
    if code in ("batch_expired", "batch_cancelled"):
        return Row(name, unasked=code.removeprefix("batch_"))
    return Row(name, failed=Failed(500, dumps({"error": error}), {}))
