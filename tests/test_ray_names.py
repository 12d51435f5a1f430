"""`ray/N*provider/model` before any Ray is there: what the name means, what is no part of a run, what is handed out."""

from __future__ import annotations

import pickle
import socket
import time
from importlib import util
from pathlib import Path

import pytest
from instant import make_ask

from recuse.backends import Options, open_backend, settled
from recuse.backends.ray import _differences
from recuse.backends.ray_replica import Facts, Replica
from recuse.backends.ray_work import Work
from recuse.cli import run
from recuse.discovery.config import DiscoverConfig
from recuse.errors import Incomplete, MissingExtra, UsageError
from recuse.plan import AuditConfig
from recuse.probes.asking import ProbeConfig
from recuse.types import Call


@pytest.mark.parametrize(
    ("name", "model", "replicas"),
    [
        ("ray/3*vllm/Qwen/Qwen2.5-7B", "vllm/Qwen/Qwen2.5-7B", (3, 3)),
        ("ray/1-8*fake/skill=2,noise=0.1", "fake/skill=2,noise=0.1", (1, 8)),
        ("vllm/ray/2*fake", "vllm/ray/2*fake", None),
    ],
)
def test_the_replicas_are_an_option_and_the_name_is_the_models_own(
    name: str, model: str, replicas: tuple[int, int] | None
) -> None:
    assert settled(name, Options(timeout=7.0)) == (model, Options(timeout=7.0, replicas=replicas))


@pytest.mark.parametrize("name", ["ray/vllm/m", "ray/0*vllm/m", "ray/3-2*vllm/m", "ray/2*", "ray/2*ray/2*fake/skill=1"])
def test_replicas_that_nobody_can_count_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match=r"does not say how many replicas .* Write ray/3\*provider/model"):
        open_backend(name)


def test_batches_of_a_provider_have_one_sender() -> None:
    with pytest.raises(UsageError, match="--batch goes without ray"):
        settled("ray/2*openai/m", Options(batch=True))


def test_no_configuration_keeps_the_number_of_machines_in_a_models_name() -> None:
    judge = AuditConfig("ray/4*fake/skill=2", "demo", teacher="ray/1-2*fake/teacher=1")
    assert (judge.judge, judge.options.replicas) == ("fake/skill=2", (4, 4))
    assert (judge.teacher, judge.teacher_options.replicas) == ("fake/teacher=1", (1, 2))
    found = DiscoverConfig(judge, "ray/3*fake/teacher=1")
    assert (found.teacher, found.teacher_options.replicas) == ("fake/teacher=1", (3, 3))
    probe = ProbeConfig(Path("plan.toml"), "ray/2*fake/always=yes")
    assert (probe.model, probe.options.replicas) == ("fake/always=yes", (2, 2))


def test_a_block_is_the_calls_of_one_pair() -> None:
    work = Work(calls("a", "a", "b", "c", "c", "c"))
    assert [[call.ask.pair for call in block] for block in iter(work.block, [])] == [["a"] * 2, ["b"], ["c"] * 3]
    assert not work.left()
    assert [len(block) for block in iter(Work(calls(*["a"] * 70)).block, [])] == [32, 32, 6]


def test_calls_of_a_lost_replica_go_before_new_ones_and_only_begun_ones_are_suspected() -> None:
    work = Work(calls("a", "a", "b", "c"))
    first = work.block()
    work.lose(first[:1], first[1:])
    assert keys(work.block()) == ["a0", "a1"]
    work.lose(first[:1], first[1:])
    assert [keys(block) for block in iter(work.block, [])] == [["a1"], ["b2"], ["c3"]]
    assert keys(work.alone()) == ["a0"]
    work.conclude()


def test_a_call_that_no_replica_survives_is_given_up_after_it_was_asked_alone() -> None:
    work = Work(calls("a", "b"))
    work.lose(work.block(), [])
    work.lose(work.block(), [])
    assert keys(work.block()) == ["b1"]
    work.lose(work.alone(), [])
    assert not work.left()
    with pytest.raises(Incomplete, match="1 ask stayed unanswered: lost 3 times"):
        work.conclude()


def test_an_engines_own_exception_travels_as_one_that_every_driver_can_make(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that cannot be made again looked like a lost replica, and each of its calls was asked three times."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("of_its_own.py").write_text(
        "from recuse.errors import UsageError\n"
        "class Odd(UsageError):\n"
        "    def __init__(self, what, where):\n"
        "        super().__init__(f'{what} at {where}')\n"
        "def judge(messages):\n"
        "    raise Odd('no luck', 'layer 3')\n"
    )
    replica = Replica("python/of_its_own:judge", Options(), str(tmp_path))
    made = open_backend("python/of_its_own:judge")
    ask = make_ask("a")
    replica.feed(1, [Call("a0", ask, made.body(ask))])
    replica.feed(1, [])
    with pytest.raises(RuntimeError, match="Odd: no luck at layer 3") as raised:
        list(replica.answer(1))
    assert type(pickle.loads(pickle.dumps(raised.value))) is RuntimeError


def test_a_replica_whose_environment_names_another_server_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise its calls would be answered by another model, in silence."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")

    def facts(address: str | None, base_url: str | None = None) -> Facts:
        monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
        if address:
            monkeypatch.setenv("OPENAI_BASE_URL", address)
        return Replica("openai/m", Options(base_url=base_url), ".").facts()

    here, there = facts("http://user:word@127.0.0.1:8000/v1"), facts(None)
    assert _differences(here, there).startswith("OPENAI_BASE_URL missing on ")
    assert _differences(here, there).endswith(" http://127.0.0.1:8000/v1 elsewhere")
    assert not _differences(here, facts("http://127.0.0.1:8000/v1"))
    url = "http://127.0.0.1:8000/v1"
    assert not _differences(facts("http://127.0.0.1:9000/v1", base_url=url), facts(None, base_url=url))


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    find = util.find_spec
    monkeypatch.setattr(util, "find_spec", lambda name, *rest: None if name == "ray" else find(name, *rest))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(MissingExtra, match=r"pip install 'recuse\[ray\]'"):
        open_backend("ray/2*fake/skill=2")


def test_what_is_wrong_with_the_model_is_said_before_ray_is_looked_for() -> None:
    with pytest.raises(UsageError, match="no option 'skil=2'"):
        open_backend("ray/2*fake/skil=2")


@pytest.mark.parametrize("address", ["closed port", "no address", "ray://127.0.0.1:10001"])
def test_a_cluster_that_cannot_be_reached_is_one_sentence_within_seconds(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as free:  # a port at which nobody listens
        free.bind(("127.0.0.1", 0))
        given = address.replace("closed port", f"127.0.0.1:{free.getsockname()[1]}")
        monkeypatch.setenv("RAY_ADDRESS", given)
        started = time.monotonic()
        out = tmp_path / "run"
        assert run(["audit", "--judge", "ray/2*fake/skill=2", "--pairs", "demo", "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert time.monotonic() - started < 10
    assert given in said
    assert "RAY_ADDRESS" in said
    assert "Traceback" not in said
    assert not out.exists()


def calls(*pairs: str) -> list[Call]:
    return [Call(f"{pair}{i}", make_ask(pair), {}) for i, pair in enumerate(pairs)]


def keys(block: list[Call]) -> list[str]:
    return [call.key for call in block]
