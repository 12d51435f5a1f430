"""The Anthropic adapter against a real HTTP server: what is sent, how replies are read, what each error becomes."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from loopback import Answer, LoopbackServer, Seen, error, message, reply

from recuse.backends import open_backend
from recuse.backends.base import Options
from recuse.errors import AuthError, Incomplete, MissingExtra, ProviderError, RecuseError, UnknownModel
from recuse.types import Ask, Call, Message, Reply, Sampling

pytest.importorskip("anthropic", reason="the extra `anthropic` is not installed")
KEY = "sk-ant-0123456789abcdef"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)


def make_ask(*messages: Message, schema: dict[str, Any] | None = None, **sampling: Any) -> Ask:
    messages = messages or (Message("user", "Which?"),)
    return Ask("p", "AB", messages, Sampling(**sampling), "h", schema=schema)


def judge(server: LoopbackServer, *asks: Ask, **options: Any) -> list[Reply]:
    settings = {"timeout": 5.0, "concurrency": 1, "max_attempts": 2, **options}
    backend = open_backend("anthropic/claude", Options(base_url=server.url, **settings))
    try:
        calls = [Call(str(i), ask, backend.body(ask)) for i, ask in enumerate(asks)]
        return sorted(backend.generate(calls), key=lambda r: int(r.key))
    finally:
        backend.close()


def test_the_request_keeps_system_apart_and_carries_temperature() -> None:
    ask = make_ask(
        Message("system", "You judge."), Message("user", "Which?"), Message("assistant", "("), temperature=0.0, seed=3
    )
    with LoopbackServer(lambda seen: "A") as server:
        judge(server, ask)
    (seen,) = server.seen
    assert seen.path == "/v1/messages"
    assert KEY in seen.headers.get("authorization", "") + seen.headers.get("x-api-key", "")
    assert seen.body == {
        "model": "claude",
        "max_tokens": 16,
        "system": "You judge.",
        "messages": [{"role": "user", "content": "Which?"}, {"role": "assistant", "content": "("}],
        "temperature": 0.0,
    }


def test_a_schema_goes_into_the_output_format() -> None:
    schema = {"type": "object"}
    with LoopbackServer(lambda seen: "{}") as server:
        judge(server, make_ask(schema=schema, temperature=None))
    assert server.seen[0].body["output_config"] == {"format": {"type": "json_schema", "schema": schema}}
    assert "temperature" not in server.seen[0].body


def test_a_reply_is_read_whole() -> None:
    usage = {
        "input_tokens": 20,
        "output_tokens": 3,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 7,
    }
    with LoopbackServer(lambda seen: reply(message("B", thinking="A looks wrong.", usage=usage))) as server:
        (answer,) = judge(server, make_ask())
    assert (answer.text, answer.thinking, answer.finish) == ("B", "A looks wrong.", "stop")
    assert (answer.tokens_in, answer.tokens_out, answer.tokens_cached) == (127, 3, 100)
    assert answer.model == "claude-judge-20260101"


@pytest.mark.parametrize(
    ("stop", "finish"),
    [("end_turn", "stop"), ("max_tokens", "length"), ("refusal", "refusal"), ("stop_sequence", "stop")],
)
def test_how_a_reply_ended_is_kept(stop: str, finish: str) -> None:
    with LoopbackServer(lambda seen: reply(message("", stop=stop))) as server:
        (answer,) = judge(server, make_ask())
    assert (answer.text, answer.finish) == ("", finish)


def test_a_temperature_that_the_model_refuses_is_dropped_once_and_noted() -> None:
    def script(seen: Seen) -> Answer | str:
        if "temperature" in seen.body:
            return error(400, "`temperature` is deprecated for this model.", type="invalid_request_error")
        return "A"

    with LoopbackServer(script) as server:
        replies = judge(server, *(make_ask(Message("user", f"q{i}")) for i in range(4)))
    assert [r.notes for r in replies] == [("temperature not accepted: provider default used",)] * 4
    assert len(server.seen) == 5


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (error(401, "invalid x-api-key", type="authentication_error"), AuthError, "ANTHROPIC_API_KEY"),
        (error(404, "model: claude", type="not_found_error"), UnknownModel, "'claude'"),
        (error(400, "Your credit balance is too low", type="invalid_request_error"), ProviderError, "Add credit"),
    ],
)
def test_what_no_retry_cures_ends_the_run(answer: Answer, kind: type[RecuseError], said: str) -> None:
    with LoopbackServer(lambda seen: answer) as server, pytest.raises(kind, match=said) as caught:
        judge(server, make_ask())
    assert type(caught.value) is kind
    assert len(server.seen) == 1


def test_a_context_that_is_too_long_is_this_asks_error() -> None:
    script = error(400, "prompt is too long: 210000 tokens > 200000 maximum", type="invalid_request_error")
    with LoopbackServer(lambda seen: script) as server:
        (answer,) = judge(server, make_ask())
    assert (answer.finish, len(server.seen)) == ("error", 1)
    assert "too long" in (answer.error or "")


@pytest.mark.parametrize(
    "fault", [error(529, "Overloaded", type="overloaded_error"), Answer(body=b'{"type": "mess'), Answer(body=b"{}")]
)
def test_a_passing_fault_is_tried_again(fault: Answer) -> None:
    with LoopbackServer(lambda seen: fault if seen.number == 1 else "A") as server:
        (answer,) = judge(server, make_ask())
    assert (answer.text, len(server.seen)) == ("A", 2)
    with LoopbackServer(lambda seen: fault) as server, pytest.raises(Incomplete, match="1 ask stayed"):
        judge(server, make_ask(), max_attempts=1)


def test_a_missing_key_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(AuthError, match="ANTHROPIC_API_KEY"):
        open_backend("anthropic/claude")


def test_a_missing_package_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'recuse\[anthropic\]'"):
        open_backend("anthropic/claude")


def test_nothing_is_imported_before_a_backend_is_opened() -> None:
    import subprocess

    code = "import sys, recuse.backends, recuse.backends.openai, recuse.backends.anthropic, recuse.backends.python\n"
    code += "print([m for m in ('openai', 'anthropic', 'httpx2') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
