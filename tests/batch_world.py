"""Providers on loopback that take batches, OpenAI's way and Anthropic's, with what may go wrong.

    with BatchServer(judge) as server: ...      # server.openai_url, server.url

`judge(body)` gives the text of a reply, or an `Answer` of loopback for an error. `server.faults` is called with each
request before it is obeyed, `server.lost` after; an `Answer` from it is what the client gets instead. `server.fate`
says what becomes of a request in a batch: "", "expired", "cancelled", "missing", "unreadable", or an `Answer`. Of a
batch that was cancelled half the requests were answered, those whose custom id begins with an even byte.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from loopback import Answer, chat, error, message, reply

Judge = Callable[[dict[str, Any]], str | Answer]


@dataclass
class Asked:
    """A request to an endpoint, live or of batches."""

    method: str
    path: str
    number: int  # of this method and path so far, this one included


@dataclass
class Batch:
    id: str
    way: str  # "openai" or "anthropic"
    requests: list[tuple[str, dict[str, Any]]]  # custom id, body
    metadata: dict[str, str]
    file: str = ""
    looks: int = 0
    state: str = "in_progress"
    created: float = field(default_factory=time.time)
    refused: dict[str, str] | None = None


class BatchServer:
    def __init__(self, judge: Judge, *, looks: int = 1) -> None:
        self.judge, self.looks = judge, looks  # looks at a batch before it has ended
        self.faults: Callable[[Asked], Answer | None] = lambda asked: None
        self.lost: Callable[[Asked], Answer | None] = lambda asked: None
        self.fate: Callable[[str, dict[str, Any], int], str | Answer] = lambda name, body, time: ""
        self.refuse: Callable[[Batch], dict[str, str] | None] = lambda batch: None
        self.asked: list[Asked] = []
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, Batch] = {}
        self.live: list[dict[str, Any]] = []  # bodies that came one by one
        self.broken: list[Exception] = []
        self.closing = threading.Event()
        self.lock = threading.RLock()
        self._counts: Counter[tuple[str, str]] = Counter()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.owner = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def openai_url(self) -> str:
        return f"{self.url}/v1"

    @property
    def paid(self) -> Counter[str]:
        """How often each prompt was taken, live or in a batch."""
        batched = [body for batch in self.batches.values() if not batch.refused for _, body in batch.requests]
        return Counter(str(body["messages"][-1]["content"]) for body in [*self.live, *batched])

    def __enter__(self) -> BatchServer:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        if self.broken and exception[0] is None:
            raise self.broken[0]

    def answer(self, method: str, target: str, content: bytes) -> Answer:
        parts = urlsplit(target)
        path = parts.path.removeprefix("/v1")
        with self.lock:
            shown = re.sub(r"(batch|file|res)_\d+", r"\1", path)
            self._counts[method, shown] += 1
            asked = Asked(method, shown, self._counts[method, shown])
            self.asked.append(asked)
            try:
                if (fault := self.faults(asked)) is not None:
                    return fault
                done = self._obey(method, path, parse_qs(parts.query), content)
                return self.lost(asked) or done
            except Exception as exception:  # noqa: BLE001 - a broken script would look like a broken provider
                self.broken.append(exception)
                return error(500, repr(exception))

    def _obey(self, method: str, path: str, query: dict[str, list[str]], content: bytes) -> Answer:
        match [method, *path.strip("/").split("/")]:
            case ["POST", "chat", "completions"] | ["POST", "messages"]:
                body = json.loads(content)
                self.live.append(body)
                return self._reply(body, "openai" if "chat" in path else "anthropic")
            case ["POST", "files"]:
                id = f"file_{len(self.files)}"
                self.files[id] = _uploaded(content)
                return reply({"id": id, "object": "file", "purpose": "batch"})
            case ["GET", "files", id, "content"]:
                return Answer(body=self.files[id]) if id in self.files else error(404, "No such file")
            case ["POST", "batches"]:
                made = json.loads(content)
                lines = [json.loads(line) for line in self.files[made["input_file_id"]].splitlines()]
                requests = [(line["custom_id"], line["body"]) for line in lines]
                return self._made(Batch("", "openai", requests, made.get("metadata") or {}, made["input_file_id"]))
            case ["POST", "messages", "batches"]:
                requests = [(one["custom_id"], one["params"]) for one in json.loads(content)["requests"]]
                return self._made(Batch("", "anthropic", requests, {}))
            case ["GET", "batches"] | ["GET", "messages", "batches"]:
                return self._listed(query)
            case ["GET", "messages", "batches", id, "results"]:
                return Answer(body=self._results(self.batches[id])[0])
            case ["POST", *_, id, "cancel"]:
                self.batches[id].state = "cancelled"
                return reply(self._told(self.batches[id]))
            case ["GET", *_, id]:
                if id not in self.batches:
                    return error(404, f"No batch found with id '{id}'.")
                self._pass_time(self.batches[id])
                return reply(self._told(self.batches[id]))
        return Answer(404, b"not found")

    def _made(self, batch: Batch) -> Answer:
        names = [name for name, _ in batch.requests]
        assert len(set(names)) == len(names)
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names)
        batch.id = f"batch_{len(self.batches)}"
        batch.refused = self.refuse(batch)
        self.batches[batch.id] = batch
        return reply(self._told(batch))

    def _listed(self, query: dict[str, list[str]]) -> Answer:
        newest = list(self.batches.values())[::-1]
        after = (query.get("after") or query.get("after_id") or [""])[0]
        if after:
            newest = newest[[batch.id for batch in newest].index(after) + 1 :]
        page = newest[:2]  # short, so that clients turn pages
        return reply({"object": "list", "data": [self._told(b) for b in page], "has_more": len(newest) > 2})

    def _pass_time(self, batch: Batch) -> None:
        batch.looks += 1
        if batch.state == "in_progress" and batch.looks > self.looks:
            batch.state = "failed" if batch.refused else "completed"

    def _told(self, batch: Batch) -> dict[str, Any]:
        ended = batch.state != "in_progress"
        if batch.way == "anthropic":
            created = datetime.fromtimestamp(batch.created, UTC).isoformat()
            counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
            counts["succeeded" if ended else "processing"] = len(batch.requests)
            return {
                "id": batch.id, "type": "message_batch", "processing_status": "ended" if ended else "in_progress",
                "request_counts": counts, "created_at": created, "expires_at": created, "ended_at": None,
                "cancel_initiated_at": created if batch.state == "cancelled" else None, "archived_at": None,
                "results_url": f"{self.url}/v1/messages/batches/{batch.id}/results" if ended else None,
            }  # fmt: skip
        told = {
            "id": batch.id, "object": "batch", "endpoint": "/v1/chat/completions", "completion_window": "24h",
            "created_at": int(batch.created), "status": batch.state, "metadata": batch.metadata,
            "input_file_id": batch.file,
        }  # fmt: skip
        if batch.refused:
            return {**told, "errors": {"object": "list", "data": [batch.refused]}}
        if ended:
            done, failed = self._results(batch)
            names = {"output_file_id": f"res_{batch.id}_o", "error_file_id": f"res_{batch.id}_e"}
            self.files |= {names["output_file_id"]: done, names["error_file_id"]: failed}
            told |= names
        return told

    def _results(self, batch: Batch) -> tuple[bytes, bytes]:
        """Backwards, since no order is promised; what failed lies in a file of its own at OpenAI."""
        done: list[str] = []
        failed: list[str] = []
        before = [b for b in self.batches.values() if b.created < batch.created]
        for name, body in batch.requests[::-1]:
            key = name.partition("-")[0]
            fate = self.fate(name, body, sum(key == n.partition("-")[0] for b in before for n, _ in b.requests))
            if batch.state == "cancelled" and not fate and int(name[:2], 16) % 2:
                fate = "cancelled"
            if fate == "unreadable":
                done.append(f'{{"custom_id": "{name}", "resp')
            elif fate != "missing":
                answer = fate if isinstance(fate, Answer) else self._reply(body, batch.way) if not fate else None
                line = _line(name, batch.way, answer, str(fate))
                (done if answer is not None and answer.status == 200 else failed).append(line)
        if batch.way == "anthropic":
            done, failed = done + failed, []
        return "\n".join(done).encode() + b"\n", "\n".join(failed).encode()

    def _reply(self, body: dict[str, Any], way: str) -> Answer:
        said = self.judge(body)
        if isinstance(said, Answer):
            return said
        return reply(chat(said) if way == "openai" else message(said))


def _line(name: str, way: str, answer: Answer | None, fate: str) -> str:
    content: dict[str, Any] = json.loads(answer.body) if answer is not None else {}
    if way == "openai":
        response = {"status_code": answer.status, "request_id": "r", "body": content} if answer is not None else None
        wrong = {"code": f"batch_{fate}", "message": f"This request {fate}."} if answer is None else None
        return json.dumps({"id": "x", "custom_id": name, "response": response, "error": wrong})
    if answer is None:
        result: dict[str, Any] = {"type": "canceled" if fate == "cancelled" else fate}
    elif answer.status == 200:
        result = {"type": "succeeded", "message": content}
    else:
        result = {"type": "errored", "error": {"type": "error", **content}}
    return json.dumps({"custom_id": name, "result": result})


def _uploaded(content: bytes) -> bytes:
    """The file in a multipart form."""
    boundary = content.split(b"\r\n", 1)[0]
    for part in content.split(boundary):
        head, _, body = part.partition(b"\r\n\r\n")
        if b'name="file"' in head:
            return body.removesuffix(b"\r\n")
    raise AssertionError("a form without a file")


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    owner: BatchServer

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that give up in the middle are part of the plan."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        answer = self.server.owner.answer(self.command, self.path, content)
        if answer.hang:
            self.server.owner.closing.wait(30)
            self.close_connection = True
            return
        length = len(answer.body) + (100 if answer.cut else 0)
        head = f"HTTP/1.1 {answer.status} X\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items()) + "\r\n"
        self.wfile.write(head.encode() + answer.body)
        self.close_connection = self.close_connection or answer.cut

    def log_message(self, *arguments: object) -> None:
        """Nothing on the terminal."""
