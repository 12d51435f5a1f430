"""A provider in a storm: half of all requests fail in four ways, and still every ask is answered once and the same."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from loopback import LoopbackServer, Script, Seen, storm

import recuse
from recuse.backends import open_backend
from recuse.backends.base import Options
from recuse.ledger import Ledger
from recuse.types import Ask, Call, Message, Sampling

N = 1000


def verdict(seen: Seen) -> str:
    return "AB"[hashlib.sha256(seen.text.encode()).digest()[0] % 2]


def texts(script: Script, options: dict[str, float]) -> tuple[dict[str, str], Counter[str], int]:
    with LoopbackServer(script) as server:
        backend = open_backend("openai/judge", Options(base_url=server.openai_url, **options))  # type: ignore[arg-type]
        asks = [Ask(f"p{i}", "AB", (Message("user", f"question {i}"),), Sampling(), "h") for i in range(N)]
        replies = list(backend.generate(Call(ask.pair, ask, backend.body(ask)) for ask in asks))
        backend.close()
    return {r.key: r.text for r in replies}, Counter(r.key for r in replies), len(server.seen)


def test_a_storm_changes_nothing_but_the_number_of_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    options = {"concurrency": 32, "timeout": 0.5, "max_attempts": 12}
    calm, _, requests = texts(verdict, options | {"timeout": 30.0})
    assert requests == N
    stormy, answered, requests = texts(storm(verdict), options)
    assert set(answered.values()) == {1}
    assert stormy == calm
    assert set(calm.values()) == {"A", "B"}
    # Half of the requests fail, so about twice as many are needed: geometric, sd = sqrt(N * 0.5) / 0.5 = 45.
    assert 1800 < requests < 2400


def test_an_audit_in_a_storm_finds_what_the_calm_one_finds_and_keeps_each_reply_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    source = tmp_path / "pairs.jsonl"
    rows = [
        {"prompt": f"question {i}", "chosen": f"right {i}", "rejected": f"wrong {i} {'!' * (i % 9)}"}
        for i in range(N // 2)
    ]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    findings = {}
    for name, script, timeout in (("calm", verdict, 30.0), ("storm", storm(verdict, seed=1), 0.75)):
        options = Options(concurrency=32, timeout=timeout)
        with LoopbackServer(script) as server:
            result = recuse.audit(
                "openai/judge", str(source), out=tmp_path / name, options=replace(options, base_url=server.openai_url)
            )
        findings[name] = result.findings
        with closing(Ledger.existing(tmp_path / name)) as ledger:
            assert len(ledger) == N
            assert ledger.verify() == []
    assert findings["storm"] == findings["calm"]
    assert all(f.estimate is not None for f in findings["calm"] if f.id == "accuracy.error_rate")
