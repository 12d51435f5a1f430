"""A hub that does not answer is said at once and in one sentence, and a model that is here already is never asked for.

Nothing leaves loopback: HF_ENDPOINT is a closed port, or a server of the test that counts what it is asked.
"""

from __future__ import annotations

import logging
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from recuse import hub, weights
from recuse.errors import UnknownModel

pytest.importorskip("huggingface_hub", reason="needs huggingface_hub: pip install 'recuse[data]'")
NAME = "no/such-model"


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache, no proxy, no switch."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name in ("SENTENCE_TRANSFORMERS_HOME", "VLLM_USE_MODELSCOPE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> str:
    """A hub that refuses connections."""
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    return "http://127.0.0.1:9"


class _Hub(ThreadingHTTPServer):
    status = 200
    asked = 0


class _Answers(BaseHTTPRequestHandler):
    server: _Hub

    def do_HEAD(self) -> None:
        self.server.asked += 1
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Hub]:
    server = _Hub(("127.0.0.1", 0), _Answers)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    yield server
    server.shutdown()
    server.server_close()


def test_a_closed_hub_is_one_sentence_with_its_address_and_both_ways_out(closed: str) -> None:
    start = time.monotonic()
    with pytest.raises(UnknownModel) as caught:
        weights.model_source(NAME)
    assert time.monotonic() - start < 3
    assert str(caught.value).startswith(
        f"'{NAME}' is neither a folder here nor a model that the hub gave: the hub {closed} cannot be reached ("
    )
    assert str(caught.value).endswith("or the hub name owner/model with a connection to the hub.")
    with pytest.raises(UnknownModel, match="Another way out"):
        weights.model_source(NAME, hint="Another way out.")


def test_a_hub_that_is_silent_is_waited_for_no_longer_than_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        start = time.monotonic()
        said = hub.unreachable(seconds=0.3)
        assert time.monotonic() - start < 3
    assert said is not None
    assert "timed out" in said


@pytest.mark.parametrize(
    ("status", "reachable"), [(200, True), (404, True), (401, True), (429, True), (502, False), (503, False)]
)
def test_any_answer_is_one_but_a_gateways_that_nobody_is_behind_it(
    answering: _Hub, status: int, reachable: bool
) -> None:
    answering.status = status
    if reachable:
        assert weights.model_source(NAME) == NAME
    else:
        with pytest.raises(UnknownModel, match=f"{status}|Bad Gateway|Unavailable"):
            weights.model_source(NAME)
    assert answering.asked == 1


def test_a_proxy_of_the_environment_is_what_is_asked(answering: _Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{answering.server_port}")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://hub.invalid")
    assert weights.model_source(NAME) == NAME
    assert answering.asked == 1


@pytest.mark.parametrize("switch", ["offline", "ALL_PROXY", "VLLM_USE_MODELSCOPE"])
def test_where_nothing_can_be_told_nothing_is_asked(
    answering: _Hub, monkeypatch: pytest.MonkeyPatch, switch: str
) -> None:
    answering.status = 503
    if switch == "offline":
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    else:
        monkeypatch.setenv(switch, "socks5://127.0.0.1:9")
    assert weights.model_source(NAME) == NAME
    assert answering.asked == 0


def _download(cache: Path, name: str) -> None:
    snapshot = cache / f"models--{name.replace('/', '--')}" / "snapshots" / "0123abc"
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text("{}")


def test_what_was_downloaded_needs_no_hub(closed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _download(tmp_path / "hub", NAME)
    assert weights.model_source(NAME) == NAME
    _download(tmp_path / "own", "sentence-transformers/tiny")
    with pytest.raises(UnknownModel):
        weights.model_source("tiny")
    monkeypatch.setenv("SENTENCE_TRANSFORMERS_HOME", str(tmp_path / "own"))
    assert weights.model_source("tiny") == "tiny"
    # What a failed look-up leaves behind is no model.
    (tmp_path / "hub/models--no--other/snapshots").mkdir(parents=True)
    with pytest.raises(UnknownModel):
        weights.model_source("no/other")


def test_a_logger_is_quiet_within_and_as_before_afterwards() -> None:
    logger = logging.getLogger("huggingface_hub")
    before = logger.level
    within = []

    def load() -> None:
        with hub.errors_only("huggingface_hub"):
            within.append(logger.level)
            raise OSError

    with pytest.raises(OSError):
        load()
    assert within == [logging.ERROR]
    assert logger.level == before != logging.ERROR


_COMMAND = """
import sys, time
from recuse.backends import open_backend
from recuse.discovery.similar import load_embeddings
from recuse.errors import RecuseError
start = time.monotonic()
try:
    load_embeddings(sys.argv[2]) if sys.argv[1] == "similar" else open_backend(f"{sys.argv[1]}/{sys.argv[2]}")
except RecuseError as error:
    print(time.monotonic() - start, type(error).__name__, error)
"""


@pytest.mark.parametrize("engine", ["hf", "hf-reward", "vllm", "similar"])
def test_every_loader_says_it_before_it_imports_its_engine(engine: str, tmp_path: Path) -> None:
    env = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", _COMMAND, engine, NAME], capture_output=True, text=True, timeout=60, check=True, env=env
    )
    seconds, kind, said = done.stdout.strip().split(" ", 2)
    assert (kind, done.stderr) == ("UnknownModel", "")
    assert "the hub http://127.0.0.1:9 cannot be reached" in said
    assert "--similarity" in said if engine == "similar" else "owner/model" in said
    assert float(seconds) < 10
