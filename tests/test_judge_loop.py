"""The loop asks everything once, keeps what was paid for, and stops cleanly."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from instant import Backwards, Instant, make_ask

from recuse.errors import AuthError, Incomplete, Interrupted
from recuse.judge import Spend, estimate_tokens, judge
from recuse.ledger import Ledger
from recuse.prices import Price
from recuse.types import Call

ASKS = [make_ask(f"p{i}") for i in range(50)]


def _texts(backend: Instant, ledger: Ledger, **options: object) -> tuple[dict[str, str], Spend]:
    spend = Spend()
    answered = judge(lambda: ASKS, backend, ledger, spend=spend, **options)  # type: ignore[arg-type]
    return {a.ask.pair: a.reply.text for a in answered}, spend


def test_every_ask_is_sent_once_and_a_second_run_sends_nothing(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l.sqlite")
    backend = Instant(lambda call: call.ask.pair)
    texts, spend = _texts(backend, ledger)
    assert texts == {ask.pair: ask.pair for ask in ASKS}
    assert (spend.calls, len(set(backend.sent)), spend.tokens_in) == (50, 50, 500)
    again, spend = _texts(backend, ledger)
    assert again == texts
    assert (spend.calls, spend.reused, len(backend.sent)) == (0, 50, 50)


def test_the_order_of_replies_changes_nothing(tmp_path: Path) -> None:
    one, _ = _texts(Instant(lambda call: call.key), Ledger(tmp_path / "1.sqlite"))
    two, _ = _texts(Backwards(lambda call: call.key), Ledger(tmp_path / "2.sqlite"))
    assert one == two


@pytest.mark.parametrize("died_after", [0, 1, 17, 49])
def test_a_run_that_died_resumes_without_repeating_a_finished_call(tmp_path: Path, died_after: int) -> None:
    class Dies(Instant):
        def generate(self, calls):  # type: ignore[no-untyped-def]
            for i, reply in enumerate(super().generate(calls)):
                if i == died_after:
                    raise RuntimeError("power cut")
                yield reply

    ledger = Ledger(tmp_path / "l.sqlite")
    with pytest.raises(RuntimeError, match="power cut"):
        _texts(Dies(), ledger)
    assert len(ledger) == died_after
    backend = Instant(lambda call: "A")
    texts, spend = _texts(backend, ledger)
    assert len(texts) == 50
    assert (spend.reused, len(backend.sent)) == (died_after, 50 - died_after)


def test_two_asks_with_the_same_request_cost_one_call(tmp_path: Path) -> None:
    same = [make_ask(f"p{i}", text="one question") for i in range(3)]
    spend, backend = Spend(), Instant()
    got = list(judge(lambda: same, backend, Ledger(tmp_path / "l.sqlite"), spend=spend))
    assert sorted(a.ask.pair for a in got) == ["p0", "p1", "p2"]
    assert (len(backend.sent), spend.calls) == (1, 1)


def test_the_same_request_while_the_first_is_in_flight_costs_one_call(tmp_path: Path) -> None:
    same = [make_ask(f"p{i}", text="one question") for i in range(3)]
    spend, backend = Spend(), Backwards()  # takes ten calls before it answers
    got = list(judge(lambda: same, backend, Ledger(tmp_path / "l.sqlite"), spend=spend))
    assert sorted(a.ask.pair for a in got) == ["p0", "p1", "p2"]
    assert len(backend.sent) == 1


def test_repeats_of_one_request_are_calls_of_their_own(tmp_path: Path) -> None:
    repeats = [make_ask("p", repeat=r) for r in range(4)]
    backend = Instant()
    assert len(list(judge(lambda: repeats, backend, Ledger(tmp_path / "l.sqlite"), spend=Spend()))) == 4
    assert len(set(backend.sent)) == 4


def test_a_shared_cache_saves_calls_and_its_hits_are_not_fresh(tmp_path: Path) -> None:
    cache = Ledger(tmp_path / "cache.sqlite")
    _texts(Instant(), Ledger(tmp_path / "1.sqlite"), cache=cache)
    backend, spend = Instant(), Spend()
    second = Ledger(tmp_path / "2.sqlite")
    got = list(judge(lambda: ASKS, backend, second, spend=spend, cache=cache))
    assert (len(backend.sent), spend.cached, len(second)) == (0, 50, 50)
    assert not any(a.fresh for a in got)
    assert not any(a.fresh for a in judge(lambda: ASKS, backend, second, spend=Spend()))


def test_the_cost_cap_is_never_passed_and_the_run_resumes(tmp_path: Path) -> None:
    price = Price(input=100.0, output=0.0)  # 10 tokens in: 0.001 a call
    ledger, spend, backend = Ledger(tmp_path / "l.sqlite"), Spend(), Backwards()
    with pytest.raises(Incomplete, match=r"cost cap of 0\.02"):
        list(judge(lambda: ASKS, backend, ledger, spend=spend, price=price, max_cost=0.02))
    worst = price.of(*estimate_tokens(ASKS[0]))
    assert spend.cost == pytest.approx(0.001 * len(backend.sent))
    assert 0.02 - 10 * worst - 0.001 <= spend.cost <= 0.02 + 1e-12
    done = len(backend.sent)
    texts, spend = _texts(backend, ledger, price=price, max_cost=1.0)
    assert len(texts) == 50
    assert (spend.reused, spend.calls) == (done, 50 - done)


def test_stopping_waits_for_what_is_in_flight_and_keeps_it(tmp_path: Path) -> None:
    stop, ledger = threading.Event(), Ledger(tmp_path / "l.sqlite")

    def answer(call: Call) -> str:
        if call.ask.pair == "p12":
            stop.set()
        return "A"

    backend = Backwards(answer)
    got = []
    with pytest.raises(Interrupted, match="resume"):
        got.extend(judge(lambda: ASKS, backend, ledger, spend=Spend(), stop=stop))
    assert len(ledger) == len(backend.sent) == 20


def test_an_authentication_error_ends_the_run_with_what_was_paid_for_kept(tmp_path: Path) -> None:
    class Refused(Instant):
        def generate(self, calls):  # type: ignore[no-untyped-def]
            yield next(iter(super().generate(calls)))
            raise AuthError("The key was rejected.")

    ledger = Ledger(tmp_path / "l.sqlite")
    with pytest.raises(AuthError):
        _texts(Refused(), ledger)
    assert len(ledger) == 1
