"""The user's own callable as a judge: found, called with messages, its answers and its mistakes read."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from recuse.backends import open_backend
from recuse.backends.base import Options
from recuse.errors import Incomplete, UsageError
from recuse.types import Ask, Call, Message, Reply, Sampling

MODULE = """
import threading
from recuse.errors import BadRequest, TransientError

threads, tries = set(), []

def text(messages):
    threads.add(threading.current_thread())
    roles = [m["role"] for m in messages]
    messages[0]["content"] = "changed"
    return f"{roles} {messages[-1]['content']}"

def rich(messages):
    return {"text": "A", "logprobs": {"A": -0.1, "B": -2.4}, "finish": "length", "tokens_in": 5, "model": "v2"}

def flaky(messages):
    tries.append(1)
    if len(tries) < 3:
        raise TransientError("busy", retry_after=0.0)
    return "B"

def rejects(messages):
    raise BadRequest("too long for the chain")

def fails(messages):
    raise ValueError("no such chain")

def nothing(messages): pass
def number(messages): return 3
def textless(messages): return {"finish": "stop"}
def typo(messages): return {"text": "A", "logprob": {}}
def odd(messages): return {"text": "A", "finish": "done"}
async def later(messages): return "A"
value = 3
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    path = tmp_path / "my_chain.py"
    path.write_text(MODULE)
    yield path
    for name in [n for n in sys.modules if n.startswith("my_chain")]:
        del sys.modules[name]


def judge(function: str, n: int = 1, **options: int) -> list[Reply]:
    backend = open_backend(f"python/my_chain:{function}", Options(**options))  # type: ignore[arg-type]
    asks = [Ask("p", "AB", (Message("system", "s"), Message("user", f"q{i}")), Sampling(), "h") for i in range(n)]
    return list(backend.generate([Call(str(i), ask, backend.body(ask)) for i, ask in enumerate(asks)]))


@pytest.mark.usefixtures("module")
def test_the_function_gets_the_messages_and_its_text_is_the_reply() -> None:
    assert [(r.key, r.text, r.finish) for r in judge("text", 2)] == [
        ("0", "['system', 'user'] q0", "stop"),
        ("1", "['system', 'user'] q1", "stop"),
    ]
    assert sys.modules["my_chain"].threads == {threading.main_thread()}


@pytest.mark.usefixtures("module")
def test_what_the_function_does_to_its_messages_never_reaches_the_body() -> None:
    backend = open_backend("python/my_chain:text")
    ask = Ask("p", "AB", (Message("user", "q"),), Sampling(), "h")
    call = Call("0", ask, backend.body(ask))
    list(backend.generate([call]))
    assert call.body == {"model": "my_chain:text", "messages": [{"role": "user", "content": "q"}]}


@pytest.mark.usefixtures("module")
def test_a_dict_carries_more_than_text() -> None:
    (reply,) = judge("rich")
    assert (reply.text, reply.finish, reply.tokens_in, reply.model) == ("A", "length", 5, "v2")
    assert reply.logprobs == (("A", -0.1), ("B", -2.4))


@pytest.mark.usefixtures("module")
def test_a_transient_error_is_tried_again_and_a_rejected_ask_is_a_reply() -> None:
    assert judge("flaky")[0].text == "B"
    assert len(sys.modules["my_chain"].tries) == 3
    assert [(r.finish, r.error) for r in judge("rejects", 2)] == [("error", "too long for the chain")] * 2


@pytest.mark.usefixtures("module")
def test_a_transient_error_that_stays_leaves_the_ask_unanswered() -> None:
    with pytest.raises(Incomplete, match="1 ask stayed unanswered: last error: busy"):
        judge("flaky", max_attempts=2)


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("fails", r"my_chain:fails failed: ValueError: no such chain \(my_chain\.py, line 26\)"),
        ("nothing", "returned NoneType"),
        ("number", "returned int"),
        ("textless", "returned dict without a text"),
        ("typo", "unknown field 'logprob'"),
        ("odd", "the finish 'done'"),
        ("absent", "has no function 'absent'"),
        ("value", "has no function 'value'"),
        ("later", "is async"),
    ],
)
@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_mistake_of_the_function_ends_the_run_and_says_where(function: str, said: str, concurrency: int) -> None:
    with pytest.raises(UsageError, match=said):
        judge(function, 5, concurrency=concurrency)


def test_a_module_that_does_not_import_says_why(module: Path) -> None:
    with pytest.raises(UsageError, match="does not name a function"):
        open_backend("python/my_chain")
    with pytest.raises(UsageError, match="No module named 'my_chain_2'"):
        open_backend("python/my_chain_2:f")
    module.with_name("my_chain_3.py").write_text("import my_chain_missing\n")
    with pytest.raises(UsageError, match=r"'my_chain_3' cannot be imported: .*my_chain_missing"):
        open_backend("python/my_chain_3:f")


def test_an_edited_judge_is_another_judge(module: Path) -> None:
    before = open_backend("python/my_chain:text").versions()
    assert open_backend("python/my_chain:rich").versions()["my_chain:rich"] == before["my_chain:text"]
    module.write_text(MODULE + "\n# edited\n")
    assert open_backend("python/my_chain:text").versions() != before
