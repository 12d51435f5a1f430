"""Calls that go out in batch files come back each once, whatever becomes of the files; nothing is paid for twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from batch_runs import Run, dies, left_open, make_asks, once, said
from batch_world import Asked, BatchServer
from loopback import Answer, error

from recuse.backends import batch_run, batch_send
from recuse.backends.base import Options
from recuse.batches import Batches, cancel, journals
from recuse.errors import Incomplete, ProviderError, UsageError
from recuse.lab.engines import Engines, Model, Role
from recuse.ledger import Ledger
from recuse.prices import Price

WAYS = ["openai", "anthropic"]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("anthropic", reason="the extra `anthropic` is not installed")
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "sk-test-0123456789abcdef")
    monkeypatch.setattr(batch_run, "_FIRST", 0.01)
    monkeypatch.setattr(batch_run, "_LONGEST", 0.02)
    monkeypatch.setattr(batch_send, "_ARRIVAL", 0.01)


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server() -> Iterator[BatchServer]:
    with BatchServer(said) as server:
        yield server


@pytest.fixture
def run(tmp_path: Path, server: BatchServer, way: str) -> Run:
    return Run(tmp_path, server, way)


def test_all_but_the_first_call_go_out_in_one_file_and_every_ask_gets_its_own_reply(run: Run) -> None:
    found = run.session(make_asks(30))
    assert once(run.server, 30)
    assert [len(batch.requests) for batch in run.server.batches.values()] == [29]
    assert sum(one.reply.batched for one in found) == 29
    assert run.states == ["fetched"]
    assert "waiting for 1 batch" in run.told


def test_a_batch_costs_half(run: Run) -> None:
    run.session(make_asks(11), price=Price(1e6, 0.0, batched=True))
    assert run.spend.cost == 7 + 10 * 3.5  # seven tokens in each; the first call went out by itself


def test_files_hold_no_more_than_the_provider_takes(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = f"recuse.backends.batch_{run.way}.{'OpenAI' if run.way == 'openai' else 'Anthropic'}Desk"
    monkeypatch.setattr(f"{desk}.most_calls", 4)
    run.session(make_asks(14))
    assert [len(batch.requests) for batch in run.server.batches.values()] == [4, 4, 4, 1]
    monkeypatch.setattr(f"{desk}.most_bytes", 1000)
    run.session(make_asks(12, first=100))
    files = [file for id, file in run.server.files.items() if id.startswith("file_")]
    assert all(len(file) <= 1000 for file in files)
    assert max(map(len, files), default=900) > 700
    assert once(run.server, 26)


@pytest.mark.parametrize("fate", ["expired", "missing", "unreadable", "overloaded", "no message"])
def test_what_has_no_reply_goes_into_another_file(run: Run, fate: str) -> None:
    odd = {
        "overloaded": error(529, "busy", type="overloaded_error"),
        "no message": Answer(body=b'{"object": "nothing"}'),
    }.get(fate, fate)
    run.server.fate = lambda name, body, time: odd if time == 0 and int(name[:2], 16) % 3 == 0 else ""
    run.session(make_asks(20))
    first, second = run.server.batches.values()
    assert {name[:32] for name, _ in second.requests} == {n[:32] for n, _ in first.requests if int(n[:2], 16) % 3 == 0}
    assert run.states == ["fetched", "fetched"]


def test_what_never_gets_a_reply_ends_the_run_after_three_files_and_keeps_the_rest(run: Run) -> None:
    bad = make_asks(6)[4].messages[-1].content
    run.server.fate = lambda name, body, time: "expired" if body["messages"][-1]["content"] == bad else ""
    with pytest.raises(Incomplete, match=r"1 ask stayed unanswered.*expired.*same command"):
        run.session(make_asks(6))
    assert [len(batch.requests) for batch in run.server.batches.values()] == [5, 1, 1]
    run.server.fate = lambda name, body, time: ""
    run.session(make_asks(6))
    assert run.spend.reused == 5


def test_a_request_that_is_rejected_for_good_is_a_reply_and_the_others_are_not_asked_again(run: Run) -> None:
    asks = make_asks(5)
    bad = asks[3].messages[-1].content
    run.server.fate = lambda name, body, time: (
        error(400, "prompt is too long: 9 tokens > 8 maximum", type="invalid_request_error")
        if body["messages"][-1]["content"] == bad
        else ""
    )
    with pytest.raises(AssertionError, match="reply to"):  # the session's own check of texts
        run.session(asks)
    ledger = Ledger(run.folder / "ledger.sqlite")
    assert ledger.totals()["finish"] == {"error": 1, "stop": 4}
    assert once(run.server, 5)


def test_a_refused_setting_shows_at_the_first_call_and_no_file_carries_it(run: Run) -> None:
    def fussy(body: dict[str, Any]) -> str | Answer:
        if "temperature" in body:
            return error(400, "`temperature` is not supported", type="invalid_request_error", param="temperature")
        return said(body)

    run.server.judge = fussy
    found = run.session(make_asks(8))
    assert {one.reply.notes for one in found} == {("temperature not accepted: provider default used",)}
    assert len(run.server.live) == 2
    assert all("temperature" not in body for batch in run.server.batches.values() for _, body in batch.requests)


def test_a_setting_that_only_a_batch_refuses_is_left_out_the_next_time_also_by_a_later_session(run: Run) -> None:
    run.server.fate = lambda name, body, time: (
        error(400, "`temperature` is not supported", type="invalid_request_error") if "temperature" in body else ""
    )
    found = run.session(make_asks(8))
    noted = [one.reply.notes for one in found if one.reply.batched]
    assert noted == [("temperature not accepted: provider default used",)] * 7
    first, second = run.server.batches.values()
    assert len(first.requests) == len(second.requests) == 7
    run.stop.set()
    assert run.states == ["fetched", "fetched"]


def test_after_a_lost_answer_the_batch_is_looked_for_before_it_is_sent_again(run: Run) -> None:
    create = "/batches" if run.way == "openai" else "/messages/batches"
    cut = Answer(body=b'{"id": "bat', cut=True)
    run.server.lost = lambda asked: cut if (asked.method, asked.path, asked.number) == ("POST", create, 1) else None
    run.session(make_asks(7))
    assert once(run.server, 7)
    assert len(run.server.batches) == 1


def test_a_file_that_was_turned_away_is_sent_again(run: Run) -> None:
    create = "/batches" if run.way == "openai" else "/messages/batches"
    run.server.faults = lambda asked: (
        error(429, "slow down", headers={"Retry-After": "0.01"})
        if (asked.method, asked.path) == ("POST", create) and asked.number < 3
        else None
    )
    run.session(make_asks(7))
    assert once(run.server, 7)


def test_a_file_that_is_turned_away_while_others_are_at_work_waits_for_them(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = f"recuse.backends.batch_{run.way}.{'OpenAI' if run.way == 'openai' else 'Anthropic'}Desk"
    monkeypatch.setattr(f"{desk}.most_calls", 4)
    create = "/batches" if run.way == "openai" else "/messages/batches"

    def one_at_a_time(asked: Asked) -> Answer | None:
        at_work = any(batch.state == "in_progress" for batch in run.server.batches.values())
        if (asked.method, asked.path) == ("POST", create) and at_work:
            return error(429, "too many batches", headers={"Retry-After": "0.01"})
        return None

    run.server.faults = one_at_a_time
    run.session(make_asks(14))
    assert once(run.server, 14)
    assert max(len(batch.requests) for batch in run.server.batches.values()) == 4


def test_a_file_that_is_too_large_is_halved(run: Run) -> None:
    create = "/batches" if run.way == "openai" else "/messages/batches"
    run.server.faults = lambda asked: (
        error(413, "too large") if (asked.method, asked.path, asked.number) == ("POST", create, 1) else None
    )
    run.session(make_asks(13))
    assert [len(batch.requests) for batch in run.server.batches.values()] == [6, 6]
    assert run.states == ["unsent", "fetched", "fetched"]


def test_a_server_that_is_gone_while_we_wait_is_waited_for(run: Run) -> None:
    rng = Random(3)
    run.server.faults = lambda asked: error(503, "down") if asked.method == "GET" and rng.random() < 0.6 else None
    run.session(make_asks(7))
    assert once(run.server, 7)


def test_a_server_that_stays_away_ends_the_session_and_a_later_one_fetches_what_came(run: Run) -> None:
    run.server.faults = lambda asked: error(503, "down") if asked.method == "GET" else None
    with pytest.raises(Incomplete, match=r"1 batch with 6 calls at the server at .*does not answer.*same command"):
        run.session(make_asks(7))
    assert run.states == ["sent"]
    run.server.faults = lambda asked: None
    run.session(make_asks(7))
    assert once(run.server, 7)
    assert run.states == ["fetched"]


def test_a_session_that_died_before_it_knew_the_id_is_taken_up_by_the_next(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    dies(run, "recuse.backends.batch_run._Session._named", monkeypatch)
    assert run.states == ["kept"]
    if run.way == "anthropic":  # whose batches bear no name: it may be another's, and must not be ended
        (noted,) = Batches(run.folder / "ledger.sqlite", judge="").all()
        assert not cancel(noted)
    run.session(make_asks(7))
    assert once(run.server, 7)
    assert run.states == ["fetched"]


def test_a_batch_that_never_arrived_is_sent_by_the_next_session(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = f"recuse.backends.batch_{run.way}.{'OpenAI' if run.way == 'openai' else 'Anthropic'}Desk"
    dies(run, f"{desk}.send", monkeypatch)
    run.session(make_asks(7))
    assert once(run.server, 7)
    assert run.states == ["unsent", "fetched"]


def test_somebody_elses_batch_of_as_many_requests_is_told_by_its_results(
    tmp_path: Path, server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anthropic's batches bear no name, so one that never arrived may be taken for another's until it has ended."""
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    run = Run(tmp_path / "one", server, "anthropic")
    dies(run, "recuse.backends.batch_anthropic.AnthropicDesk.send", monkeypatch)
    Run(tmp_path / "two", server, "anthropic").session(make_asks(7, first=50))
    run.session(make_asks(7))
    assert once(server, 14)


def test_stopping_leaves_batches_at_work_and_says_how_to_go_on_or_end_them(run: Run) -> None:
    left_open(run, 7)
    run.session(make_asks(9))  # with two asks more
    assert once(run.server, 9)


@pytest.mark.parametrize("seen", [True, False])
def test_of_a_cancelled_batch_what_came_is_kept_and_the_rest_is_asked_by_a_session_after_it(
    run: Run, seen: bool
) -> None:
    """Where it was cancelled while a session waited, that one ends; it must not send again what somebody stopped."""
    run.server.looks = 10_000

    def cancel(asked: Asked) -> None:
        if asked.method == "GET" and seen:
            run.server.batches["batch_0"].state = "cancelled"
        elif asked.method == "GET":
            run.stop.set()

    run.server.lost = cancel
    with pytest.raises(Incomplete, match="the batch was cancelled" if seen else "go on"):
        run.session(make_asks(20))
    run.stop.clear()
    run.server.batches["batch_0"].state = "cancelled"
    run.server.looks = 0
    run.server.lost = lambda asked: None
    run.session(make_asks(20))
    first = run.server.batches["batch_0"].requests
    unasked = {body["messages"][-1]["content"] for name, body in first if int(name[:2], 16) % 2}
    assert {prompt for prompt, times in run.server.paid.items() if times == 2} == unasked
    assert run.states == ["fetched", "fetched"]


def test_an_open_batch_is_awaited_also_where_the_rest_is_asked_one_by_one(run: Run) -> None:
    left_open(run, 7)
    found = run.session(make_asks(12), batch=False)
    assert once(run.server, 12)
    assert sum(one.reply.batched for one in found) == 6
    assert len(run.server.batches) == 1


def test_an_unknown_batch_is_named_with_what_to_do(run: Run) -> None:
    left_open(run, 7)
    run.server.batches.clear()
    with pytest.raises(ProviderError, match=r"does not know the batch batch_0.*6 calls, sent on 20.*--forget \w{16}"):
        run.session(make_asks(7))


def test_a_judge_and_a_teacher_have_each_its_own_batches(run: Run) -> None:
    """Phases of a run go out in files of their own, and the line of progress says what is waited for."""
    url = run.server.openai_url if run.way == "openai" else run.server.url
    options, told = Options(base_url=url, batch=True), list[str]()
    models: dict[Role, Model] = {
        "judge": Model(f"{run.way}/judge", options, None),
        "teacher": Model(f"{run.way}/teacher", options, None),
    }
    with Engines(models, run.folder, watch=lambda phase, done, total, cost: told.append(phase)) as engines:
        engines.ask("judge", make_asks(9), phase="one")
        engines.ask("teacher", make_asks(6), phase="two")
        engines.ask("judge", make_asks(9, first=100), phase="three")
    assert [len(batch.requests) for batch in run.server.batches.values()] == [8, 5, 9]
    assert {"one (waiting for 1 batch)", "two (waiting for 1 batch)", "three"} <= set(told)
    noted = [(journal.path.name, one.judge) for journal in journals(run.folder) for one in journal.all()]
    ledgers = ["ledger.sqlite", "ledger.sqlite", "teacher.sqlite"]
    assert noted == [(file, f"{run.way}/{'teacher' if 'teacher' in file else 'judge'}") for file in ledgers]


def test_a_server_without_batches_is_told_in_one_sentence(run: Run) -> None:
    run.server.faults = lambda asked: (
        Answer(404, b"not found") if "files" in asked.path or "batches" in asked.path else None
    )
    with pytest.raises(UsageError, match=r"takes no batches \(HTTP 404\)\. Leave --batch out\."):
        run.session(make_asks(7))
    run.session(make_asks(7), batch=False)


def test_a_provider_that_has_too_much_under_way_gets_smaller_files(tmp_path: Path, server: BatchServer) -> None:
    """OpenAI limits the tokens that may be under way at once, and says so after it took the file."""
    too_much = {"code": "token_limit_exceeded", "message": "Enqueued token limit reached"}
    server.refuse = lambda batch: too_much if len(batch.requests) > 5 else None
    Run(tmp_path, server, "openai").session(make_asks(17))
    assert once(server, 17)
    assert [len(batch.requests) for batch in server.batches.values()][:2] == [16, 8]


def test_a_batch_that_is_refused_whole_is_told_with_the_reason(tmp_path: Path, server: BatchServer) -> None:
    server.refuse = lambda batch: {"code": "model_not_supported", "message": "The model cannot be used in a batch."}
    run = Run(tmp_path, server, "openai")
    with pytest.raises(ProviderError, match=r"refused a batch: .*cannot be used in a batch"):
        run.session(make_asks(7))
    assert run.states == ["unsent"]


def test_two_phases_of_a_run_await_each_its_own_calls(run: Run) -> None:
    """A phase may be resumed while a batch of the next one is open."""
    left_open(run, 10)
    run.session(make_asks(5))
    assert run.states == ["sent"]
    run.session(make_asks(10))
    assert once(run.server, 10)
    assert run.states == ["fetched"]
