"""What makes a run of a million judgements ordinary, counted on a small one; `experiments/bench/million.py` times a
large one."""

from __future__ import annotations

import json
import random
import threading
import tracemalloc
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from instant import Backwards, Instant, make_ask

from recuse.audits import Table
from recuse.columns import Judgements, Names
from recuse.conclude import _parquet
from recuse.errors import Interrupted
from recuse.examine import run_audit
from recuse.judge import Spend, judge
from recuse.judgements import gathered, ordered
from recuse.ledger import Ahead, Ledger
from recuse.plan import AuditConfig, Plan, plan_audit
from recuse.report.case import OUTCOMES, outcome_of
from recuse.report.casefile import select
from recuse.types import Ask, Judgement

PAIRS = 2_000
JUDGE = "fake/skill=2,position=0.3,noise=0.1,refuse=0.02,logprobs=1"


def drawn(rng: random.Random, pairs: int) -> list[Judgement]:
    """Judgements of every kind, in random order: pairs, arms, orders and repeats are each there once."""
    found = []
    for pair in range(pairs):
        for arm in ("original", "bias:b", "placebo", "bias:a", "sham:1"):
            for order in ("AB", "BA") if pair % 7 else ("-",):
                for repeat in range(rng.choice((1, 1, 3))):
                    prefers = rng.choice(("chosen", "rejected", "tie", None))
                    scores = (rng.random(), rng.random()) if rng.random() < 0.5 else None
                    found.append(
                        Judgement(
                            f"p{pair}", f"g{pair // 3}", order, prefers, arm, repeat,  # type: ignore[arg-type]
                            None if prefers else rng.choice(("refused", "truncated")),
                            rng.choice((None, 0.0, rng.gauss(0, 2))), rng.choice((None, 0.0, rng.random())),
                            rng.random() < 0.8, rng.random() < 0.2, scores,
                        )
                    )  # fmt: skip
    rng.shuffle(found)
    return found


def test_columns_give_back_what_was_put_in_and_sort_as_a_list_does() -> None:
    found = drawn(random.Random(1), 60)
    pairs = [f"p{i}" for i in range(60)]
    kept = Judgements.of(found)
    assert list(kept) == found
    assert (kept[7], kept[-1], kept[3:5]) == (found[7], found[-1], found[3:5])
    groups = {j.pair: j.group for j in found}
    assert list(gathered(found, Names(pairs), groups)) == ordered(found, pairs)
    assert list(gathered([], Names(pairs), groups)) == []


def test_the_worst_cases_are_those_that_sets_of_verdicts_give() -> None:
    found = drawn(random.Random(2), 40)
    said: dict[tuple[str, str], list[str]] = {}
    for j in found:
        if j.repeat == 0 and not j.arm.startswith("sham"):
            said.setdefault((j.pair, j.arm), []).append(j.prefers or "none")
    rank = list(OUTCOMES).index
    worst = sorted(said, key=lambda key: (rank(outcome_of(said[key])), key[1] != "original"))
    assert select(found) == worst
    assert select(found, most=9) == worst[:9]
    assert select([]) == []


def test_the_parquet_file_holds_every_field_of_every_judgement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recuse.conclude._ROWS", 100)  # many parts
    found = drawn(random.Random(3), 30)
    graded = [j for j in found if j.pair not in ("p1", "p2")]
    domains = {f"p{i}": "even" for i in range(0, 30, 2)}
    table = Table.build(graded, without_gold=[j for j in found if j.pair == "p1"], domains=domains)
    (tmp_path / "j.parquet").write_bytes(_parquet(Judgements.of(found), table))
    for row, j in zip(pq.read_table(tmp_path / "j.parquet").to_pylist(), found, strict=True):
        known = {"p1": False, "p2": None}.get(j.pair, True)
        domain = None if j.pair == "p2" else domains.get(j.pair)
        assert row.pop("gold") is known
        assert row.pop("domain") == domain
        scores = row.pop("score_chosen"), row.pop("score_rejected")
        assert Judgement(**row, scores=None if scores == (None, None) else scores) == j


def test_a_judgement_takes_some_tens_of_bytes() -> None:
    def many(n: int) -> Iterator[Judgement]:
        plain = Judgement("", "", "AB", "chosen", logit=1.5, outside=0.02)
        for i in range(n):
            yield replace(plain, pair=ids[i // 2], group=ids[i // 2], order="BA" if i % 2 else "AB")

    ids = [f"{i:020x}" for i in range(20_000)]
    pairs, groups = Names(ids), dict(zip(ids, ids, strict=True))
    tracemalloc.start()
    kept = gathered(many(2 * len(ids)), pairs, groups)
    taken = tracemalloc.get_traced_memory()[0] / len(kept)
    tracemalloc.stop()
    assert len(kept) == 40_000
    assert taken < 60


class Counting(Instant):
    """Counts the requests that were made to know their keys."""

    made = 0

    def body(self, ask: Ask) -> dict[str, object]:
        self.made += 1
        return super().body(ask)


def test_a_finished_run_is_gone_through_once_and_a_cut_one_goes_on_where_it_was_cut(tmp_path: Path) -> None:
    asks, passes = [make_ask(f"p{i}") for i in range(3_000)], []

    def again() -> Iterable[Ask]:
        passes.append(1)
        return iter(asks)

    ledger, stop = Ledger(tmp_path / "l.sqlite"), threading.Event()

    def watch(spend: Spend) -> None:
        if spend.calls == 1_500:
            stop.set()

    with pytest.raises(Interrupted):
        list(judge(again, Backwards(), ledger, spend=Spend(), stop=stop, on_reply=watch))
    cut = len(ledger)
    assert 1_500 <= cut < 1_520
    for sent in (3_000 - cut, 0):
        backend, spend, passes = Counting(), Spend(), []
        got = [a.ask.pair for a in judge(again, backend, ledger, spend=spend)]
        assert sorted(got) == sorted(ask.pair for ask in asks)
        assert (len(backend.sent), spend.reused) == (sent, 3_000 - sent)
        assert (len(passes), backend.made) == (1, 3_000)


def test_asks_that_were_left_out_before_the_cut_are_asked_and_equal_ones_answered(tmp_path: Path) -> None:
    asks = [make_ask(f"p{i}", text=f"question {i % 900}") for i in range(2_000)]
    ledger, some = Ledger(tmp_path / "l.sqlite"), [ask for i, ask in enumerate(asks[:700]) if i % 10 != 3]
    list(judge(lambda: some, Instant(lambda call: call.ask.messages[0].content), ledger, spend=Spend()))
    backend, spend = Instant(lambda call: call.ask.messages[0].content), Spend()
    got = {a.ask.pair: a.reply.text for a in judge(lambda: asks, backend, ledger, spend=spend)}
    assert got == {ask.pair: ask.messages[0].content for ask in asks}
    assert (len(set(backend.sent)), len(backend.sent), spend.done) == (270, 270, 2_000)


def test_reading_ahead_finds_what_looking_up_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recuse.ledger._BLOCK", 7)
    monkeypatch.setattr("recuse.ledger._AHEAD", 20)
    ledger, asks = Ledger(tmp_path / "l.sqlite"), [make_ask(f"p{i}") for i in range(200)]
    backend = Instant(lambda call: call.ask.pair)
    list(judge(lambda: asks, backend, ledger, spend=Spend()))
    for order in (backend.sent, backend.sent[::-1], random.Random(4).sample(backend.sent, 200)):
        known = Ahead(ledger, ledger.last_row)
        wanted = [key for key in order for key in (key, "none", key)]
        assert [known.find(key) for key in wanted] == [ledger.find(key) for key in wanted]
    known = Ahead(ledger, ledger.last_row)
    for key in backend.sent:
        assert not known.spent
        known.find(key)
    assert known.spent


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pairs") / "pairs.jsonl"
    rows = ({"prompt": f"Question {i}", "chosen": f"Right {i}", "rejected": "Wrong"} for i in range(PAIRS))
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


def test_an_audit_that_was_cut_ends_as_one_that_was_not(source: Path, tmp_path: Path) -> None:
    def plan(name: str) -> Plan:
        return plan_audit(AuditConfig(JUDGE, str(source), out=tmp_path / name))

    whole = run_audit(plan("whole"))
    stop = threading.Event()
    with pytest.raises(Interrupted):
        run_audit(plan("cut"), watch=lambda spend, total: stop.set() if spend.calls == PAIRS else None, stop=stop)
    resumed, finished = run_audit(plan("cut")), run_audit(plan("cut"))
    assert (resumed.usage["calls"], resumed.usage["from_ledger"]) == (PAIRS, PAIRS)
    assert (finished.usage["calls"], finished.usage["from_ledger"]) == (0, 2 * PAIRS)
    assert whole.findings == resumed.findings == finished.findings
    files = [(tmp_path / name / "judgements.parquet").read_bytes() for name in ("whole", "cut")]
    assert files[0] == files[1]
