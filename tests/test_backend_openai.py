"""The OpenAI adapter against a real HTTP server: what is sent, how replies are read, what each error becomes."""

from __future__ import annotations

import json
import math
import socket
import time
from contextlib import closing
from typing import Any

import pytest
from loopback import HANG, MALFORMED, Answer, LoopbackServer, Script, Seen, chat, error, reply

from recuse.backends import open_backend
from recuse.backends.base import Backend, Options
from recuse.backends.openai import first_logprobs
from recuse.errors import AuthError, Incomplete, ProviderError, RecuseError, UnknownModel
from recuse.plan import AuditConfig, plan_audit
from recuse.types import Ask, Call, Message, Reply, Sampling

KEY = "sk-test-0123456789abcdef"
SCHEMA = {"type": "object", "properties": {"v": {"type": "string"}}, "required": ["v"], "additionalProperties": False}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def make_ask(text: str = "Which?", *, schema: dict[str, Any] | None = None, **sampling: Any) -> Ask:
    messages = (Message("system", "You judge."), Message("user", text))
    return Ask("p", "AB", messages, Sampling(**sampling), "h", ("A", "B"), schema)


def judge(server: LoopbackServer, asks: list[Ask], **options: Any) -> list[Reply]:
    settings = {"timeout": 5.0, "concurrency": 1, "max_attempts": 2, **options}
    backend = open_backend("openai/judge", Options(base_url=server.openai_url, **settings))
    try:
        calls = [Call(str(i), ask, backend.body(ask)) for i, ask in enumerate(asks)]
        return sorted(backend.generate(calls), key=lambda r: int(r.key))
    finally:
        backend.close()


def one(script: Script, ask: Ask | None = None, **options: Any) -> tuple[Reply, list[Seen]]:
    with LoopbackServer(script) as server:
        (answer,) = judge(server, [ask or make_ask()], **options)
    return answer, server.seen


def fails(script: Script, **options: Any) -> tuple[RecuseError, list[Seen]]:
    with LoopbackServer(script) as server, pytest.raises(RecuseError) as caught:
        judge(server, [make_ask()], **options)
    assert KEY not in str(caught.value)
    return caught.value, server.seen


def test_the_body_is_sent_as_it_is_and_holds_no_secret() -> None:
    ask = make_ask(temperature=0.0, max_tokens=9, seed=4, top_logprobs=20, schema=SCHEMA)
    answer, (seen,) = one(lambda seen: reply(chat("A", tokens=[("A", {"A": -0.1})])), ask)
    with LoopbackServer(lambda seen: "A") as server:
        body = open_backend("openai/judge", Options(base_url=server.openai_url)).body(ask)
    assert seen.body == body == json.loads(json.dumps(body))
    assert body == {
        "model": "judge",
        "messages": [{"role": "system", "content": "You judge."}, {"role": "user", "content": "Which?"}],
        "max_tokens": 9,
        "temperature": 0.0,
        "seed": 4,
        "logprobs": True,
        "top_logprobs": 20,
        "response_format": {"type": "json_schema", "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True}},
    }
    assert (seen.path, seen.headers["authorization"]) == ("/v1/chat/completions", f"Bearer {KEY}")
    assert answer.notes == ()


def test_openai_itself_is_asked_with_max_completion_tokens() -> None:
    backend = open_backend("openai/gpt-4o-mini")
    body = backend.body(make_ask(max_tokens=3, temperature=None))
    assert body["max_completion_tokens"] == 3
    assert not {"max_tokens", "temperature", "seed", "logprobs", "response_format"} & set(body)
    assert not backend.capabilities.local
    backend.close()


def test_a_missing_key_names_the_variable_and_a_server_of_ones_own_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(AuthError, match=r"OPENAI_API_KEY.*--base-url"):
        open_backend("openai/gpt-4o-mini")
    answer, _ = one(lambda seen: "B")
    assert answer.text == "B"


def test_a_reply_is_read_whole() -> None:
    usage = {"prompt_tokens": 120, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 64}}
    answer, _ = one(lambda seen: reply(chat("A", usage=usage)))
    assert (answer.text, answer.finish, answer.model) == ("A", "stop", "judge-2026-01-01")
    assert (answer.tokens_in, answer.tokens_out, answer.tokens_cached) == (120, 2, 64)
    assert 0 < answer.seconds < 5


@pytest.mark.parametrize(
    ("body", "text", "finish"),
    [
        (chat("The answer is", finish="length"), "The answer is", "length"),
        (chat("", finish="content_filter"), "", "refusal"),
        (chat(None, refusal="I can't help with that."), "I can't help with that.", "refusal"),
        (chat(None), "", "stop"),
        (chat([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "B"}]), "B", "stop"),  # type: ignore[arg-type]
    ],
)
def test_how_a_reply_ended_is_kept(body: dict[str, Any], text: str, finish: str) -> None:
    answer, _ = one(lambda seen: reply(body))
    assert (answer.text, answer.finish) == (text, finish)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_is_kept_apart_from_the_text(field: str) -> None:
    answer, _ = one(lambda seen: reply(chat("B", **{field: "A looks wrong."})))
    assert (answer.text, answer.thinking) == ("B", "A looks wrong.")


def entries(*tokens: tuple[str, dict[str, float]]) -> list[dict[str, Any]]:
    body = chat("", tokens=list(tokens))
    content: list[dict[str, Any]] = body["choices"][0]["logprobs"]["content"]
    return content


AB = {" A": -0.2, " B": -1.7}


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ([(" A", AB), (".", {".": 0.0})], " A."),
        ([("\n", {"\n": 0.0}), (" A", AB)], "\n A"),
        ([("Hm", {}), (" B", {}), (" A", AB)], "A"),  # the server's reasoning parser took "Hm B" out of the text
        ([("<think>", {}), ("A", {}), ("</think>", {}), ("\n\n", {}), (" A", AB)], "<think>A</think>\n\n A"),
        ([(" A", AB), ("\ufffd", {}), ("\ufffd", {})], "A é"),  # halves of a character do not spell the text
    ],
)
def test_log_probabilities_are_those_of_the_first_visible_token(
    tokens: list[tuple[str, dict[str, float]]], text: str
) -> None:
    assert dict(first_logprobs(entries(*tokens), text) or ()) == AB


def test_the_decoded_token_is_among_its_alternatives_and_infinities_are_not() -> None:
    found = entries(("A", {"B": -3.0, "C": -math.inf}))
    assert dict(first_logprobs(found, "A") or ()) == {"A": -20.0, "B": -3.0}
    assert first_logprobs([], "A") is None
    assert first_logprobs(found, "") is None


def test_log_probabilities_that_were_asked_for_and_not_delivered_are_noted() -> None:
    answer, _ = one(lambda seen: "A", make_ask(top_logprobs=5))
    assert (answer.logprobs, answer.notes) == (None, ("logprobs asked for, none delivered",))


def refusing(name: str, status: int, text: str, **fields: Any) -> Script:
    return lambda seen: error(status, text, **fields) if name in seen.body else "A"


@pytest.mark.parametrize(
    ("name", "refusal", "note"),
    [
        (
            "temperature",
            error(400, "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) "
                  "value is supported.", param="temperature", code="unsupported_value"),
            "temperature not accepted: provider default used",
        ),
        ("seed", error(422, "seed: Extra inputs are not permitted"), "seed not accepted: provider default used"),
        (
            "top_logprobs",
            error(403, "You are not allowed to request logprobs from this model."),
            "logprobs not accepted: provider default used",
        ),
        ("max_tokens", error(400, "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
                             "'max_completion_tokens' instead.", param="max_tokens"), None),
    ],
)  # fmt: skip
def test_a_refused_setting_is_dropped_once_for_all_and_noted(name: str, refusal: Answer, note: str | None) -> None:
    asks = [make_ask(f"q{i}", temperature=0.0, seed=1, top_logprobs=5) for i in range(6)]

    def script(seen: Seen) -> Answer:
        if name in seen.body:
            return refusal
        tokens = [("A", {"A": -0.1})] if "logprobs" in seen.body else None
        return reply(chat("A", tokens=tokens))

    with LoopbackServer(script) as server:
        replies = judge(server, asks)
    assert [r.text for r in replies] == ["A"] * 6
    assert [r.notes for r in replies] == [() if note is None else (note,)] * 6
    assert len(server.seen) == 7  # one refusal, then never again
    last = server.seen[-1].body
    assert ("logprobs" in last) == (name != "top_logprobs")
    assert last.get("max_completion_tokens", last.get("max_tokens")) == 16


def test_calls_in_flight_together_learn_a_refusal_together() -> None:
    asks = [make_ask(f"q{i}", temperature=0.0) for i in range(40)]
    with LoopbackServer(refusing("temperature", 400, "temperature is not supported")) as server:
        replies = judge(server, asks, concurrency=8)
    assert {r.notes for r in replies} == {("temperature not accepted: provider default used",)}
    assert len(server.seen) <= 40 + 8


def test_a_value_out_of_range_is_an_error_and_drops_nothing() -> None:
    script = refusing(
        "max_tokens", 400, "max_tokens cannot be greater than 8", param="max_tokens", code="invalid_value"
    )
    answer, seen = one(script)
    assert (answer.finish, len(seen)) == ("error", 1)
    assert "cannot be greater" in (answer.error or "")


@pytest.mark.parametrize(
    "answer",
    [
        error(400, "This model's maximum context length is 2048 tokens.", code="context_length_exceeded"),
        error(400, "the request exceeds the available context size", type="exceed_context_size_error", n_ctx=2048),
        error(400, "'max_tokens' is too large: 5. This model's maximum context length is unsupported", code=400),
    ],
)
def test_a_context_that_is_too_long_is_this_asks_error_and_asked_once(answer: Answer) -> None:
    found, seen = one(lambda seen: answer)
    assert (found.finish, found.text, len(seen)) == ("error", "", 1)
    assert "context" in (found.error or "")


@pytest.mark.parametrize("code", ["content_filter", "invalid_prompt"])
def test_a_filtered_request_is_a_refusal(code: str) -> None:
    answer, seen = one(lambda seen: error(400, "flagged", code=code))
    assert (answer.finish, answer.text, answer.error, len(seen)) == ("refusal", "", "flagged", 1)


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (error(401, f"Incorrect API key provided: {KEY}.", code="invalid_api_key"), AuthError, "OPENAI_API_KEY"),
        (error(403, "Country not supported"), AuthError, "Country not supported"),
        (error(404, "The model `judge` does not exist", code="model_not_found"), UnknownModel, "'judge'"),
        (error(429, "You exceeded your quota", code="insufficient_quota"), ProviderError, "Add credit"),
        (error(402, "Insufficient balance"), ProviderError, "Add credit"),
        (error(405, "Method not allowed"), ProviderError, "HTTP 405"),
    ],
)
def test_what_no_retry_cures_ends_the_run_after_one_call_and_says_what_to_do(
    answer: Answer, kind: type[RecuseError], said: str
) -> None:
    found, seen = fails(lambda seen: answer)
    assert type(found) is kind
    assert said in str(found)
    assert len(seen) == 1


def test_a_wrong_path_hints_at_the_base_url() -> None:
    found, _ = fails(lambda seen: Answer(404, b"not found"))
    assert isinstance(found, UnknownModel)
    assert "/v1" in str(found)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (error(429, "slow down", headers={"Retry-After": "0"}), "HTTP 429: slow down"),
        (error(500, "oops"), "HTTP 500: oops"),
        (Answer(503, b"<html>busy</html>"), "HTTP 503"),
        (error(408), "HTTP 408"),
        (HANG, "did not answer within 0.3 s"),
        (Answer(body=b" ", drip=20.0), "no whole reply within 0.3 s"),
        (Answer(body=b'{"choices": [', cut=True), "connection to the server at 127.0.0.1"),
        (MALFORMED, "not a JSON object"),
        (Answer(body=b'{"object": "nothing"}'), "no chat completion"),
        (Answer(body=b'{"error": {"message": "upstream failed", "code": 502}}'), "HTTP 502: upstream failed"),
    ],
)
def test_a_passing_fault_is_tried_again_and_never_becomes_a_reply(fault: Answer, said: str) -> None:
    answer, seen = one(lambda seen: fault if seen.number == 1 else "A", timeout=0.3)
    assert (answer.text, answer.finish, len(seen)) == ("A", "stop", 2)
    found, seen = fails(lambda seen: fault, timeout=0.3, max_attempts=1)
    assert isinstance(found, Incomplete)
    assert "1 ask stayed unanswered" in str(found)
    assert said in str(found)


def test_retry_after_is_honoured() -> None:
    started = time.monotonic()
    answer, _ = one(lambda seen: error(429, headers={"Retry-After": "0.4"}) if seen.number == 1 else "A")
    assert answer.text == "A"
    assert time.monotonic() - started >= 0.4


def test_a_server_that_is_not_there_is_named_without_its_password() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: refuses
        url = f"http://user:secret@127.0.0.1:{taken.getsockname()[1]}/v1"
        backend: Backend = open_backend("openai/judge", Options(base_url=url, concurrency=1, max_attempts=1))
        ask = make_ask()
        with pytest.raises(Incomplete, match=r"the server at 127\.0\.0\.1:\d+ failed: .*refused") as caught:
            list(backend.generate([Call("0", ask, backend.body(ask))]))
        assert "secret" not in str(caught.value)
        assert backend.capabilities.local


@pytest.mark.parametrize(
    ("address", "kept"),
    [
        ("http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1"),
        ("https://api.openai.com/v1/", None),  # where the SDK goes by itself
        ("", None),
    ],
)
def test_another_address_in_the_environment_makes_another_run(
    address: str, kept: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    with closing(plan_audit(AuditConfig("openai/m", "demo"))) as plan:
        assert plan.run_table()["base_url"] == kept
    with closing(
        plan_audit(AuditConfig("openai/m", "demo", options=Options(base_url="http://127.0.0.1:8/v1")))
    ) as plan:
        assert plan.run_table()["base_url"] == "http://127.0.0.1:8/v1"
