"""Anthropic's messages, or any server that speaks its protocol (`--base-url`)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any

from recuse.backends import http, pool
from recuse.backends.base import Capabilities, Options, require
from recuse.backends.batch_anthropic import AnthropicDesk
from recuse.backends.batch_run import Batched, Batching
from recuse.errors import AuthError, TransientError
from recuse.types import Ask, Call, Finish, Reply

_KEY = "ANTHROPIC_API_KEY"
_FILE = 10  # times the timeout of a call that a file of requests or results may take
_FINISH: dict[str, Finish] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


def open(model: str, options: Options) -> AnthropicBackend:
    """The model behind ANTHROPIC_API_KEY, or behind `options.base_url`, where a key is sent only if there is one.

    Raises MissingExtra without the package, AuthError where a key is needed and missing.
    """
    sdk = require("anthropic", "anthropic")
    base_url = options.base_url or os.environ.get("ANTHROPIC_BASE_URL") or None
    key = os.environ.get(_KEY, "")
    if not key and base_url is None:
        raise AuthError("Anthropic needs a key.", hint=f"Set {_KEY}, or name a server of your own with --base-url.")
    site = http.Site("Anthropic", model, _KEY, key, base_url)  # first, since it checks the address
    client = sdk.Anthropic(api_key=key or "none", base_url=base_url, timeout=options.timeout, max_retries=0)
    return AnthropicBackend(sdk, client, site, options)


class AnthropicBackend(Batched):
    """One SDK client, shared by the threads of the pool. See `Backend` for the contract of each method."""

    def __init__(self, sdk: ModuleType, client: Any, site: http.Site, options: Options) -> None:
        self.name = f"anthropic/{site.model}"
        self.capabilities = Capabilities(schema=True, max_context=options.max_context, local=site.is_loopback)
        self._sdk, self._client, self._site, self._options = sdk, client, site, options
        self._settings = http.Settings(("temperature",), ("output_config",), alternatives={})

        self.batching = Batching(
            AnthropicDesk(sdk, client, site, options.timeout * _FILE),
            site,
            self._settings,
            read_reply,
            self._live,
            options,
        )

    def body(self, ask: Ask) -> dict[str, Any]:
        """System messages stand apart; there are no seed and no logprobs to ask for."""
        body: dict[str, Any] = {
            "model": self._site.model,
            "max_tokens": ask.sampling.max_tokens,
            "messages": [{"role": m.role, "content": m.content} for m in ask.messages if m.role != "system"],
        }
        system = "\n\n".join(m.content for m in ask.messages if m.role == "system")
        if system:
            body["system"] = system
        if ask.sampling.temperature is not None:
            body["temperature"] = ask.sampling.temperature
        if ask.schema is not None:
            body["output_config"] = {"format": {"type": "json_schema", "schema": dict(ask.schema)}}
        return body

    def versions(self) -> dict[str, str]:
        return {"anthropic": self._sdk.__version__}

    def close(self) -> None:
        self._client.close()

    def _live(self, calls: Iterable[Call]) -> Iterator[Reply]:
        return pool.run(self._send, calls, options=self._options)

    def _send(self, call: Call) -> Reply:
        return http.exchange(
            call,
            sdk=self._sdk,
            create=self._create,
            read=read_reply,
            settings=self._settings,
            site=self._site,
            timeout=self._options.timeout,
        )

    def _create(self, **body: Any) -> AbstractContextManager[Any]:
        # The SDK's method knows no temperature; the API does, for the models that allow it.
        extra = {"temperature": body.pop("temperature")} if "temperature" in body else None
        create = self._client.messages.with_streaming_response.create
        opened: AbstractContextManager[Any] = create(**body, extra_body=extra, timeout=self._options.timeout)
        return opened


def read_reply(
    call: Call, data: dict[str, Any], *, seconds: float, notes: tuple[str, ...] = (), where: str = "the server"
) -> Reply:
    """The reply in a message. Raises TransientError for an object that is none."""
    try:
        blocks = data["content"]
        text = "".join(block["text"] for block in blocks if block["type"] == "text")
        thinking = "".join(block["thinking"] for block in blocks if block["type"] == "thinking")
        usage = data.get("usage") or {}
        fresh = usage.get("input_tokens")
        cached = usage.get("cache_read_input_tokens")
        written = usage.get("cache_creation_input_tokens")
    except (KeyError, TypeError, AttributeError):
        raise TransientError(f"A reply of {where} is no message.") from None
    return Reply(
        key=call.key,
        text=text,
        finish=_FINISH.get(str(data.get("stop_reason")), "stop"),
        thinking=thinking or None,
        tokens_in=None if fresh is None else fresh + (cached or 0) + (written or 0),
        tokens_out=usage.get("output_tokens"),
        tokens_cached=cached,
        seconds=seconds,
        model=data.get("model"),
        notes=notes,
    )
