"""llama.cpp inside this process (xllamacpp), reached through its own server on loopback: no torch, no key."""

from __future__ import annotations

import http.client
import json
import secrets
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from recuse import weights
from recuse.backends import pool
from recuse.backends.base import Capabilities, Options, require
from recuse.backends.chat import free_cores, is_label, settings
from recuse.backends.http import Failed, Site, translate
from recuse.backends.openai import read_reply
from recuse.errors import InputError, TransientError
from recuse.machine import fit
from recuse.types import Ask, Call, Reply

# Reading the prompt is what costs on a CPU, and all slots share its cores. A second slot fills the pause between two
# calls (1.69 and 1.73 asks a second with 1 and 2 slots); more bring nothing and scatter the prompt cache.
_SLOTS = 2
_CONTEXT = 4096  # tokens a slot; its keys and values take 90 MiB for SmolLM2, 115 MiB for a Qwen of 1.5 billion
# Alternatives read at the first token: a sure judge leaves the other label far below the 20 that an API would show.
_DEPTH = 256


def open(model: str, options: Options) -> LlamaCpp:
    """A GGUF file, or packaged weights by name (see `recuse.weights`). Loading takes seconds.

    Raises MissingExtra without xllamacpp or the weights' package, InputError for a file that cannot be loaded,
    ProviderError for one that is too large for the memory.
    """
    path = weights.path_of(model) if model in weights.WEIGHTS else Path(model).expanduser().absolute()
    if not path.is_file():
        known = ", ".join(f"llamacpp/{name}" for name in weights.WEIGHTS)
        raise InputError("no such file", path=path, hint=f"Give a GGUF file, or one of: {known}.")
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise InputError("not a GGUF file", path=path, hint="Use hf/… for a folder in the form of transformers.")
    xllamacpp = require("xllamacpp", "llamacpp")
    fit.check(f"llamacpp/{model}", str(path), gpu=False)
    slots = options.concurrency or _SLOTS
    key = secrets.token_urlsafe(24)
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # any free one
    params.api_keys = [key]
    params.n_parallel = slots
    params.n_ctx = slots * (options.max_context or _CONTEXT)
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = free_cores()
    params.use_jinja = True
    params.ui = False
    params.verbosity = -1  # nothing on standard error
    params.cache_ram_mib = 0  # else states of old prompts are kept aside, up to 8 GiB
    try:
        server = xllamacpp.Server(params)
    except RuntimeError:
        raise InputError(
            "llama.cpp cannot load this file: it is damaged, of an unknown architecture, or too large for the memory",
            path=path,
            hint="Compare its sha256 with the publisher's.",
        ) from None
    return LlamaCpp(model, path, server, slots=slots, site=Site("llama.cpp", model, "", key, server.listening_address))


class LlamaCpp:
    """See `Backend` for the contract of each method."""

    def __init__(self, model: str, path: Path, server: Any, *, slots: int, site: Site) -> None:
        self.name = f"llamacpp/{model}"
        self.base_url = f"{site.base_url}/v1"  # also speaks OpenAI's and Anthropic's protocol, with `key`
        self.key = site.key
        self._path, self._server, self._slots, self._site = path, server, slots, site
        self._idle: list[http.client.HTTPConnection] = []  # kept alive for the threads of the next calls
        properties = self._request("GET", "/props")
        self.capabilities = Capabilities(
            logprobs=True,
            seed=True,
            choice=True,
            schema=True,
            greedy=True,
            local=True,
            max_context=properties["default_generation_settings"]["n_ctx"],
        )

    @staticmethod  # a Ray driver forms requests without the weights
    def body(ask: Ask) -> dict[str, Any]:
        body = settings(ask)
        # The server's own defaults cut the distribution that is sampled from.
        body |= {"top_k": 0, "top_p": 1.0, "min_p": 0.0}
        if ask.schema is not None:
            body["response_format"] = {"type": "json_schema", "json_schema": {"schema": dict(ask.schema)}}
        elif ask.sampling.choice and ask.labels:
            body["grammar"] = "root ::= " + " | ".join(json.dumps(label, ensure_ascii=False) for label in ask.labels)
        return body

    def generate(self, calls: Iterable[Call]) -> Iterator[Reply]:
        # As many as there are slots: a call that waits inside the server would only look slow.
        options = Options(concurrency=self._slots)
        return pool.run(self._send, calls, options=options)

    def versions(self) -> dict[str, str]:
        return {"xllamacpp": metadata.version("xllamacpp"), "weights": weights.fingerprint(self._path)}

    def close(self) -> None:
        """Stop the server and free the weights. Idempotent."""
        while self._idle:
            self._idle.pop().close()
        self._server = None

    def _send(self, call: Call) -> Reply:
        started = time.monotonic()
        sent = {name: value for name, value in call.body.items() if name != "labels"}
        if "top_logprobs" in sent:
            sent |= {"logprobs": True, "top_logprobs": max(_DEPTH, sent["top_logprobs"])}
        data = self._request("POST", "/v1/chat/completions", sent)
        reply = read_reply(call, data, seconds=time.monotonic() - started, where="llama.cpp")
        kept = _kept(reply.logprobs, wanted=call.ask.sampling.top_logprobs, labels=call.ask.labels)
        return replace(reply, logprobs=kept, model=self._path.name)

    def _request(self, method: str, path: str, sent: object = None) -> dict[str, Any]:
        """One exchange. There is no deadline: a slow call is slow, never lost."""
        address = urlsplit(self.base_url)
        try:
            connection = self._idle.pop()  # not looked at before: another thread may take the last one
        except IndexError:
            connection = http.client.HTTPConnection(address.hostname or "", address.port)
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        try:
            connection.request(method, path, json.dumps(sent) if sent is not None else None, headers)
            response = connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise TransientError(f"llama.cpp broke the connection: {type(error).__name__}: {error}.") from None
        self._idle.append(connection)
        if response.status != 200:
            raise translate(Failed(response.status, content, dict(response.headers)), self._site)
        data: dict[str, Any] = json.loads(content)
        return data


def _kept(
    logprobs: tuple[tuple[str, float], ...] | None, *, wanted: int, labels: tuple[str, ...]
) -> tuple[tuple[str, float], ...] | None:
    """The first `wanted` alternatives and all spellings of the labels below them."""
    if logprobs is None:
        return None
    return logprobs[:wanted] + tuple(pair for pair in logprobs[wanted:] if is_label(pair[0], labels))
