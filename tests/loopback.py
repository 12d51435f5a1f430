"""A real HTTP server on loopback that speaks chat completions and Anthropic's messages, with scripted faults.

    with LoopbackServer(script) as server:
        client = openai.OpenAI(base_url=server.openai_url, ...)     # or anthropic: server.url

`script(seen)` decides each answer from what was asked (`Seen`): an `Answer`, made by `reply`, `error` or by hand. A
plain string stands for `reply(text)`. `server.seen` keeps every request in order of arrival.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Seen:
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    number: int  # of this request, from 1
    attempt: int  # how many requests with these messages came so far, this one included

    @property
    def text(self) -> str:
        """The last message."""
        return str(self.body["messages"][-1]["content"])

    def draw(self, salt: str = "") -> float:
        """A number in [0, 1) that depends on the messages and the attempt, never on thread timing."""
        digest = hashlib.sha256(f"{salt}|{self.attempt}|{json.dumps(self.body['messages'])}".encode()).digest()
        return int.from_bytes(digest[:6]) / 2**48


@dataclass(frozen=True)
class Answer:
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    hang: bool = False  # never answer; ends when the server closes
    cut: bool = False  # close the connection in the middle of the body
    drip: float = 0.0  # seconds during which blanks trickle in before the body


Script = Callable[[Seen], Answer | str]
HANG = Answer(hang=True)
MALFORMED = Answer(body=b'{"choices": [{"mess')


def chat(
    text: str | None,
    *,
    finish: str = "stop",
    tokens: list[tuple[str, dict[str, float]]] | None = None,
    usage: dict[str, Any] | None = None,
    model: str = "judge-2026-01-01",
    **message: Any,
) -> dict[str, Any]:
    """A chat completion. `tokens` are the decoded tokens, each with its alternatives and their log probabilities."""
    logprobs = None
    if tokens is not None:
        logprobs = {
            "content": [
                {
                    "token": token,
                    "logprob": alternatives.get(token, -20.0),
                    "bytes": list(token.encode()),
                    "top_logprobs": [
                        {"token": t, "logprob": p, "bytes": list(t.encode())} for t, p in alternatives.items()
                    ],
                }
                for token, alternatives in tokens
            ]
        }
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "logprobs": logprobs,
                "message": {"role": "assistant", "content": text, **message},
            }
        ],
        "usage": usage or {"prompt_tokens": 7, "completion_tokens": 1, "total_tokens": 8},
    }


def message(
    text: str, *, stop: str = "end_turn", thinking: str | None = None, usage: dict[str, Any] | None = None
) -> dict[str, Any]:
    """A message in Anthropic's form."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    if thinking is not None:
        blocks.insert(0, {"type": "thinking", "thinking": thinking, "signature": "s"})
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-judge-20260101",
        "content": blocks,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage or {"input_tokens": 7, "output_tokens": 1},
    }


def reply(body: dict[str, Any]) -> Answer:
    return Answer(body=json.dumps(body).encode())


def error(status: int, text: str = "no", *, headers: Mapping[str, str] | None = None, **fields: Any) -> Answer:
    """An error as both providers nest it; `fields` such as code, type and param stand beside the message."""
    return Answer(status, json.dumps({"error": {"message": text, **fields}}).encode(), headers or {})


def storm(
    calm: Script,
    *,
    throttled: float = 0.3,
    failed: float = 0.1,
    hung: float = 0.05,
    cut: float = 0.05,
    retry_after: float = 0.01,
    seed: int = 0,
) -> Script:
    """`calm`, but the given shares of all requests meet a fault, drawn from the request itself and `seed`."""

    def script(seen: Seen) -> Answer | str:
        draw = seen.draw(f"storm {seed}")
        if draw < throttled:
            return error(429, "slow down", headers={"Retry-After": str(retry_after)})
        if draw < throttled + failed:
            return error(500, "internal")
        if draw < throttled + failed + hung:
            return HANG
        if draw < throttled + failed + hung + cut:
            return Answer(body=b'{"id": "x", "choices": [', cut=True)
        return calm(seen)

    return script


class LoopbackServer:
    """Serves on a free port of 127.0.0.1 inside its `with` block, whose end raises what failed in the script."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.seen: list[Seen] = []
        self.broken: list[Exception] = []
        self.closing = threading.Event()
        self._attempts: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.owner = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def openai_url(self) -> str:
        return f"{self.url}/v1"

    def __enter__(self) -> LoopbackServer:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        if self.broken and exception[0] is None:
            raise self.broken[0]

    def answer(self, path: str, headers: Mapping[str, str], body: dict[str, Any]) -> Answer:
        with self._lock:
            what = json.dumps(body.get("messages"))
            self._attempts[what] += 1
            seen = Seen(path, headers, body, len(self.seen) + 1, self._attempts[what])
            self.seen.append(seen)
        try:
            answer = self.script(seen)
        except Exception as exception:  # noqa: BLE001 - a broken script would look like a broken provider
            self.broken.append(exception)
            return error(500, f"the script failed: {exception!r}")
        if isinstance(answer, str):
            return reply(message(answer) if path.endswith("/messages") else chat(answer))
        return answer


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # threads that hang on purpose end by themselves
    request_queue_size = 128
    owner: LoopbackServer

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that give up in the middle are part of the plan."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        owner = self.server.owner
        answer = owner.answer(self.path, {k.lower(): v for k, v in self.headers.items()}, body)
        if answer.hang:
            owner.closing.wait(30)
            self.close_connection = True
            return
        length = len(answer.body) + (100 if answer.cut else 0) + (1000 if answer.drip else 0)
        head = f"HTTP/1.1 {answer.status} X\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items()) + "\r\n"
        self.wfile.write(head.encode() + (b"" if answer.drip else answer.body))
        if answer.drip:
            for _ in range(1000):
                if owner.closing.wait(answer.drip / 1000):
                    break
                self.wfile.write(b" ")
            self.wfile.write(answer.body)
        self.close_connection = self.close_connection or answer.cut

    def log_message(self, *arguments: object) -> None:
        """Nothing on the terminal."""
