"""Two models of a run: one in memory at a time where both hold weights, one address, one cap on what both cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import recuse
from recuse.backends.base import Capabilities, Options
from recuse.errors import Incomplete, UsageError
from recuse.judge import Spend, judge
from recuse.lab.engines import Engines, Model, describe_teacher
from recuse.ledger import Ledger
from recuse.plan import AuditConfig, plan_audit
from recuse.prices import Price
from recuse.types import Ask, Call, Message, Reply, Sampling


class Weights:
    """A backend that knows which of its kind are in memory."""

    alive: set[str]
    most: int

    def __init__(self, name: str, options: Options) -> None:
        self.name, self.options = name, options
        self.capabilities = Capabilities(local=True, greedy=True)
        Weights.alive.add(name)
        Weights.most = max(Weights.most, len(Weights.alive))

    def body(self, ask: Ask) -> dict[str, Any]:
        return {"messages": [m.content for m in ask.messages]}

    def generate(self, calls: Iterable[Call]) -> Iterator[Reply]:
        assert self.name in Weights.alive
        for call in calls:
            yield Reply(call.key, "A", tokens_in=10, tokens_out=1)

    def versions(self) -> dict[str, str]:
        return {"weights": self.name}

    def close(self) -> None:
        Weights.alive.discard(self.name)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str | None]]:
    """Names and addresses in the order in which models were opened."""
    Weights.alive, Weights.most, seen = set(), 0, []

    def open_backend(name: str, options: Options | None = None) -> Weights:
        seen.append((name, options.base_url if options else None))
        return Weights(name, options or Options())

    monkeypatch.setattr("recuse.lab.engines.open_backend", open_backend)
    monkeypatch.setattr("recuse.plan.open_backend", open_backend)
    return seen


def asks(*texts: str) -> list[Ask]:
    return [Ask(text, "text", (Message("user", text),), Sampling(), "prompt") for text in texts]


def model(name: str, base_url: str | None = None, price: Price | None = None) -> Model:
    return Model(name, Options(base_url=base_url), price)


def test_of_two_models_with_weights_one_is_in_memory_at_a_time(opened: list[Any], tmp_path: Path) -> None:
    teacher, judged = model("hf/teacher"), model("vllm/judge")
    described = describe_teacher(teacher, judged)
    assert described is not None
    assert (described.backend, described.versions) == (None, {"weights": "hf/teacher"})
    with Engines({"judge": judged, "teacher": teacher}, tmp_path) as engines:
        for role, text in (("teacher", "a"), ("judge", "b"), ("judge", "c"), ("teacher", "d")):
            (found,) = engines.ask(role, asks(text), phase="p")  # type: ignore[arg-type]
            assert found.reply.text == "A"
    assert Weights.most == 1
    assert Weights.alive == set()
    assert [name for name, _ in opened] == ["hf/teacher", "hf/teacher", "vllm/judge", "hf/teacher"]


def test_a_model_behind_a_network_stays_open_beside_one_with_weights(opened: list[Any], tmp_path: Path) -> None:
    teacher, judged = model("openai/teacher"), model("vllm/judge")
    described = describe_teacher(teacher, judged)
    assert described is not None
    with Engines({"judge": judged, "teacher": teacher}, tmp_path) as engines:
        engines.adopt("teacher", described.backend)  # type: ignore[arg-type]
        for role, text in (("judge", "b"), ("teacher", "a"), ("judge", "c")):
            engines.ask(role, asks(text), phase="p")  # type: ignore[arg-type]
    assert [name for name, _ in opened] == ["openai/teacher", "vllm/judge"]


def test_a_teacher_of_the_judges_name_is_the_judge_at_its_address(opened: list[Any]) -> None:
    here = Options(base_url="http://127.0.0.1:1/v1")
    config = AuditConfig("openai/m", "demo", teacher="openai/m", options=here, biases=("authority",))
    plan = plan_audit(config)
    assert opened == [("openai/m", here.base_url)]
    assert plan.config.teacher_options.base_url == here.base_url
    elsewhere = replace(config, teacher_options=Options(base_url="http://127.0.0.1:2/v1"))
    plan_audit(elsewhere)
    assert opened[1:] == [("openai/m", "http://127.0.0.1:2/v1"), ("openai/m", here.base_url)]


def test_one_cap_holds_for_both_models(opened: list[Any], tmp_path: Path) -> None:
    price = Price(1e6, 0.0)  # ten dollars for a reply of ten tokens in
    texts = [f"t{i}" for i in range(8)]
    with Engines(
        {"judge": model("hf/j", price=price), "teacher": model("openai/t", price=price)}, tmp_path, max_cost=100.0
    ) as engines:
        engines.ask("judge", asks(*texts[:5]), phase="p")
        with pytest.raises(Incomplete, match="cost cap"):
            engines.ask("teacher", asks(*texts), phase="p")
        assert engines.cost <= 100.0
        assert engines.spends["teacher"].calls > 0


def test_a_teacher_without_a_price_is_refused_under_a_cap(opened: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recuse.prices.price_of", lambda name, path: Price(1.0, 1.0) if name == "hf/j" else None)
    monkeypatch.setattr("recuse.lab.engines.open_backend", lambda name, options: _Remote(name, options or Options()))
    with pytest.raises(UsageError, match="no price for openai/t"):
        plan_audit(AuditConfig("hf/j", "demo", teacher="openai/t", biases=("authority",), max_cost=1.0))


class _Remote(Weights):
    def __init__(self, name: str, options: Options) -> None:
        super().__init__(name, options)
        self.capabilities = Capabilities()


def test_what_was_paid_for_once_is_counted_once_however_often_it_serves(opened: list[Any], tmp_path: Path) -> None:
    """Two asks with one request, a second phase with the same ask, and a resumed run: always the same tokens."""
    backend, both = Weights("hf/j", Options()), [*asks("same"), replace(asks("same")[0], arm="other"), *asks("own")]
    totals = []
    for _ in range(2):
        ledger, spend = Ledger(tmp_path / "ledger.sqlite", judge="hf/j"), Spend()
        for _ in range(2):
            assert len(list(judge(lambda: both, backend, ledger, spend=spend, price=Price(1e6, 0.0)))) == 3
        ledger.close()
        totals.append((spend.tokens_in, spend.cost, spend.calls + spend.reused))
    assert totals[0] == totals[1] == (20, 20.0, 2)


def test_an_audit_with_biases_pays_for_the_originals_once(tmp_path: Path) -> None:
    first = recuse.audit("fake/skill=1", "demo", limit=10, out=tmp_path / "a")
    both = recuse.audit("fake/skill=1", "demo", limit=10, biases=("authority",), shams=5, out=tmp_path / "b")
    again = recuse.audit("fake/skill=1", "demo", limit=10, biases=("authority",), shams=5, out=tmp_path / "b")
    assert first.usage["calls"] == 20
    assert both.usage["calls"] == 20 * (1 + 1 + 1 + 1 + 5)  # original, bias, placebo, its second draw, five shams
    assert (again.usage["calls"], again.usage["from_ledger"]) == (0, both.usage["calls"])
