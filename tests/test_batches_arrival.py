"""A batch whose sending or fetching seemed to fail is neither paid for again nor asked for in a hurry."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from batch_runs import Run, dies, make_asks, once, said
from batch_world import Asked, Batch, BatchServer
from loopback import Answer, error

from recuse.backends import batch_run, batch_send
from recuse.errors import Incomplete, ProviderError, UsageError

CREATE = {"openai": "/batches", "anthropic": "/messages/batches"}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("anthropic", reason="the extra `anthropic` is not installed")
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "sk-test-0123456789abcdef")
    monkeypatch.setattr(batch_run, "_FIRST", 0.01)
    monkeypatch.setattr(batch_run, "_LONGEST", 0.02)
    monkeypatch.setattr(batch_send, "_ARRIVAL", 0.01)


@pytest.fixture
def server() -> Iterator[BatchServer]:
    with BatchServer(said) as server:
        yield server


@pytest.fixture(params=CREATE)
def run(request: pytest.FixtureRequest, tmp_path: Path, server: BatchServer) -> Run:
    return Run(tmp_path, server, request.param)


def slow(server: BatchServer, seconds: float) -> None:
    """The first batch is made only so long after the gateway before the server gave up."""
    make, first = server._made, threading.Event()

    def late(batch: Batch) -> Answer:
        if first.is_set():
            return make(batch)
        first.set()

        def arrive() -> None:
            with server.lock:
                make(batch)

        threading.Timer(seconds, arrive).start()
        return error(504, "gateway timeout")

    server._made = late  # type: ignore[method-assign]


def test_a_batch_that_arrives_after_its_gateway_gave_up_is_not_sent_again(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_send, "_ARRIVAL", 1.0)
    slow(run.server, 0.4)
    run.session(make_asks(7))
    assert once(run.server, 7)


def test_a_batch_that_arrives_after_its_sender_was_killed_is_not_sent_again(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow(run.server, 0.8)
    dies(run, "recuse.backends.batch_send.Sender.why", monkeypatch)
    monkeypatch.setattr(batch_send, "_ARRIVAL", 1.5)
    run.session(make_asks(7))
    assert once(run.server, 7)


def test_two_files_of_one_size_whose_names_are_unknown_are_told_apart(
    tmp_path: Path, server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anthropic's batches bear no name; each of the two may be taken for the other until it has ended."""
    run, named = Run(tmp_path, server, "anthropic"), batch_run._Session._named
    monkeypatch.setattr("recuse.backends.batch_anthropic.AnthropicDesk.most_calls", 3)

    def cut(self: Any, batch: Any, id: str, *, sure: bool) -> None:
        if sure:
            raise RuntimeError("power cut")
        named(self, batch, id, sure=sure)

    server.looks = 10_000
    with monkeypatch.context() as context:
        context.setattr(batch_run._Session, "_named", cut)
        for _ in range(2):
            with pytest.raises(RuntimeError, match="power cut"):
                run.session(make_asks(7))
    assert run.states == ["kept", "kept"]
    server.looks = 0
    run.session(make_asks(7))
    assert once(server, 7)
    assert run.states == ["fetched", "fetched"]


def test_a_batch_at_another_address_is_not_taken_for_one_that_never_arrived(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    dies(run, "recuse.backends.batch_run._Session._named", monkeypatch)
    with BatchServer(said) as other:
        with pytest.raises(UsageError, match=r"6 calls was sent to http://127\S+ and is open still.*--forget \w{16}"):
            Run(run.folder, other, run.way).session(make_asks(7))
        assert not other.asked
    run.session(make_asks(7))
    assert once(run.server, 7)


def test_a_file_that_is_refused_for_now_is_not_taken_for_anothers_batch(tmp_path: Path, server: BatchServer) -> None:
    """Its results would show the mistake, but only when that batch has ended."""
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    Run(tmp_path / "one", server, "anthropic").session(make_asks(7, first=50))
    server.asked.clear()
    server.faults = lambda asked: (
        error(429, "slow down", headers={"Retry-After": "0.01"})
        if (asked.method, asked.path) == ("POST", CREATE["anthropic"]) and asked.number == 2
        else None
    )
    Run(tmp_path / "two", server, "anthropic").session(make_asks(7))
    assert once(server, 14)
    assert ("GET", CREATE["anthropic"]) not in {(asked.method, asked.path) for asked in server.asked}


def test_a_finished_batch_without_any_results_is_not_sent_again(tmp_path: Path, server: BatchServer) -> None:
    """It was paid for, and the files may only be late."""
    tell, run = server._told, Run(tmp_path, server, "openai")

    def bare(batch: Batch) -> dict[str, Any]:
        return {name: value for name, value in tell(batch).items() if not name.endswith("put_file_id")} | {
            "error_file_id": None
        }

    server._told = bare  # type: ignore[method-assign]
    with pytest.raises(ProviderError, match=r"batch_0, or no longer has its results .*--forget"):
        run.session(make_asks(7))
    server._told = tell  # type: ignore[method-assign]
    run.session(make_asks(7))
    assert once(server, 7)


def test_results_without_the_names_of_their_requests_end_the_run_and_nothing_is_sent_again(run: Run) -> None:
    """A file after the other was sent and paid for, for ever."""
    results = run.server._results

    def renamed(batch: Batch) -> tuple[bytes, bytes]:
        lines = [f'{{"custom_id": "request-{i}", "result": {{"type": "expired"}}}}' for i in range(len(batch.requests))]
        return "\n".join(lines).replace('"result": {', '"error": {"code": "batch_expired"}, "result": {').encode(), b""

    run.server._results = renamed  # type: ignore[method-assign]
    with pytest.raises(ProviderError, match=r"batch_0 at .* bear none of the names that its 6 requests .*--forget"):
        run.session(make_asks(7))
    assert run.states == ["sent"]
    run.server._results = results  # type: ignore[method-assign]
    run.session(make_asks(7))
    assert once(run.server, 7)


def test_results_that_cannot_be_had_are_asked_for_with_a_pause_each_time(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_run, "_FIRST", 0.05)
    monkeypatch.setattr(batch_run, "_LONGEST", 0.05)

    def down(asked: Asked) -> Answer | None:
        results = asked.path.endswith(("/content", "/results"))
        return error(503, "down") if results and asked.number <= 6 else None

    run.server.faults = down
    began = time.monotonic()
    run.session(make_asks(7))
    assert time.monotonic() - began > 6 * 0.05
    assert once(run.server, 7)


def test_a_full_disk_for_temporary_files_is_one_sentence_and_loses_nothing(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    real, made = tempfile.TemporaryFile, []

    def full(which: int) -> Any:
        made.append(which)
        return Path("/dev/full").open("r+b", buffering=0) if len(made) == which else real()

    for which in (1, 2):  # the file of requests, then that of results
        made.clear()
        with monkeypatch.context() as context:
            context.setattr(tempfile, "TemporaryFile", lambda which=which: full(which))
            with pytest.raises(Incomplete, match=r"No space left on device.*TMPDIR"):
                run.session(make_asks(7))
    assert run.states == ["sent"]
    run.session(make_asks(7))
    assert once(run.server, 7)
