"""Chat completions: OpenAI, or any server that speaks its protocol (`--base-url`)."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

from recuse.backends import http, pool
from recuse.backends.base import Capabilities, Options
from recuse.backends.batch_openai import OpenAIDesk
from recuse.backends.batch_run import Batched, Batching
from recuse.errors import AuthError, TransientError
from recuse.types import Ask, Call, Finish, Reply

_KEY = "OPENAI_API_KEY"
_THINK_END = "</think>"
_FILE = 10  # times the timeout of a call that a file of requests or results may take
_FINISH: dict[str, Finish] = {"length": "length", "content_filter": "refusal"}


def open(model: str, options: Options) -> OpenAIBackend:
    """The model behind OPENAI_API_KEY, or behind `options.base_url`, where a key is sent only if there is one.

    Raises AuthError where a key is needed and missing.
    """
    base_url = options.base_url or os.environ.get("OPENAI_BASE_URL") or None
    key = os.environ.get(_KEY, "")
    if not key and base_url is None:
        raise AuthError(
            "OpenAI needs a key.", hint=f"Set {_KEY}, or name a server of your own with --base-url http://HOST:PORT/v1."
        )
    import openai

    site = http.Site("OpenAI", model, _KEY, key, base_url)  # first, since it checks the address
    client = openai.OpenAI(api_key=key or "none", base_url=base_url, timeout=options.timeout, max_retries=0)
    return OpenAIBackend(openai, client, site, options)


class OpenAIBackend(Batched):
    """One SDK client, shared by the threads of the pool. See `Backend` for the contract of each method."""

    def __init__(self, sdk: ModuleType, client: Any, site: http.Site, options: Options) -> None:
        self.name = f"openai/{site.model}"
        self.capabilities = Capabilities(
            logprobs=True, seed=True, schema=True, max_context=options.max_context, local=site.is_loopback
        )
        self._sdk, self._client, self._site, self._options = sdk, client, site, options
        self._settings = http.Settings(
            ("temperature",),
            ("seed",),
            ("logprobs", "top_logprobs"),
            ("response_format",),
            alternatives={"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"},
        )

        self.batching = Batching(
            OpenAIDesk(sdk, client, site, options.timeout * _FILE),
            site,
            self._settings,
            read_reply,
            self._live,
            options,
        )

    def body(self, ask: Ask) -> dict[str, Any]:
        sampling = ask.sampling
        # Newer OpenAI models take only the second name, other servers often only the first.
        limit = "max_tokens" if self._site.base_url else "max_completion_tokens"
        body: dict[str, Any] = {
            "model": self._site.model,
            "messages": [{"role": m.role, "content": m.content} for m in ask.messages],
            limit: sampling.max_tokens,
        }
        if sampling.temperature is not None:
            body["temperature"] = sampling.temperature
        if sampling.seed is not None:
            body["seed"] = sampling.seed + ask.repeat  # one seed for all repeats would make them one observation
        if sampling.top_logprobs:
            body["logprobs"] = True
            body["top_logprobs"] = min(sampling.top_logprobs, 20)
        if ask.schema is not None:
            schema = dict(ask.schema)
            # Strict mode, which guarantees the schema, accepts only closed objects with every property required.
            strict = schema.get("additionalProperties") is False and set(schema.get("required", ())) == set(
                schema.get("properties", ())
            )
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "reply", "schema": schema, "strict": strict},
            }
        return body

    def versions(self) -> dict[str, str]:
        return {"openai": self._sdk.__version__}

    def close(self) -> None:
        self._client.close()

    def _live(self, calls: Iterable[Call]) -> Iterator[Reply]:
        return pool.run(self._send, calls, options=self._options)

    def _send(self, call: Call) -> Reply:
        return http.exchange(
            call,
            sdk=self._sdk,
            create=self._client.chat.completions.with_streaming_response.create,
            read=read_reply,
            settings=self._settings,
            site=self._site,
            timeout=self._options.timeout,
        )


def read_reply(
    call: Call, data: dict[str, Any], *, seconds: float, notes: tuple[str, ...] = (), where: str = "the server"
) -> Reply:
    """The reply in a chat completion. Raises TransientError for an object that is none."""
    try:
        choice = data["choices"][0]
        message = choice["message"]
        content = message.get("content")
        usage = data.get("usage") or {}
        tokens = (choice.get("logprobs") or {}).get("content") or []
    except (KeyError, IndexError, TypeError, AttributeError):
        raise TransientError(f"A reply of {where} is no chat completion.") from None
    text = _text(content)
    finish = _FINISH.get(str(choice.get("finish_reason")), "stop")
    if message.get("refusal"):
        text, finish = text or message["refusal"], "refusal"
    logprobs = first_logprobs(tokens, text)
    if logprobs is None and "logprobs" in call.body and not any(note.startswith("logprobs") for note in notes):
        notes = (*notes, "logprobs asked for, none delivered")
    return Reply(
        key=call.key,
        text=text,
        finish=finish,
        thinking=message.get("reasoning_content") or message.get("reasoning") or None,
        logprobs=logprobs,
        tokens_in=usage.get("prompt_tokens"),
        tokens_out=usage.get("completion_tokens"),
        tokens_cached=(usage.get("prompt_tokens_details") or {}).get("cached_tokens"),
        seconds=seconds,
        model=data.get("model"),
        notes=notes,
    )


def _text(content: str | list[dict[str, Any]] | None) -> str:
    """The text of a message; some servers deliver it in parts."""
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content if part.get("type") == "text")
    return content or ""


def first_logprobs(tokens: list[dict[str, Any]], text: str) -> tuple[tuple[str, float], ...] | None:
    """Alternatives at the first visible token of `text`; None where there are none.

    Servers that report the tokens of the reasoning too list them first, so the text is looked for at the end of the
    tokens; reasoning inside the text ends with </think>. Blank tokens and minus infinity, which JSON has no form for,
    are left out; the decoded token itself is always among the alternatives.
    """
    spelled = "".join(entry.get("token") or "" for entry in tokens)
    visible = text.rpartition(_THINK_END)[2].lstrip()
    if not visible:
        return None
    start = spelled.find(visible) if spelled.lstrip().startswith(visible) else spelled.rfind(visible)
    if start < 0:  # tokens that hold parts of a character do not spell the text
        start = spelled.rfind(_THINK_END) + len(_THINK_END) if _THINK_END in spelled else 0
    end = 0
    for entry in tokens:
        token = entry.get("token") or ""
        end += len(token)
        if end > start and token.strip():
            found = {a.get("token"): a.get("logprob") for a in [entry, *(entry.get("top_logprobs") or [])]}
            return tuple((t, p) for t, p in found.items() if t is not None and p is not None and math.isfinite(p))
    return None
