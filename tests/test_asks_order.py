"""The order in which asks are sent: common beginnings are read once, and nothing that is found depends on it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from world import world_pairs

import recuse
from recuse.asks import Design, by_prefix, make_asks
from recuse.prompts import load_prompt
from recuse.types import Ask, Message, Sampling

Order = Callable[[Iterable[Ask]], list[Ask]]


def ask(text: str, *, system: str | None = None, repeat: int = 0) -> Ask:
    messages = (Message("user", text),) if system is None else (Message("system", system), Message("user", text))
    return Ask(text, "AB", messages, Sampling(), "prompt", repeat=repeat)


def rendered(one: Ask) -> str:
    return "".join(f"<{m.role}>{m.content}" for m in one.messages)


def common(a: str, b: str) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def read(asks: Sequence[Ask]) -> int:
    """Characters that a server reads which keeps the prompt before alone."""
    texts = [rendered(one) for one in asks]
    return sum(map(len, texts)) - sum(common(a, b) for a, b in pairwise(texts))


_texts = st.lists(st.text("ab", max_size=5), min_size=1, max_size=5)


@settings(deadline=None)
@given(_texts, st.randoms(use_true_random=False))
def test_every_beginning_is_read_once_and_no_other_order_reads_less(texts: list[str], rng: random.Random) -> None:
    asks = [ask(text, system=rng.choice((None, "s", "sa"))) for text in texts]
    ordered = by_prefix(asks)
    assert sorted(map(id, ordered)) == sorted(map(id, asks))
    beginnings = {rendered(one)[:n] for one in asks for n in range(1, len(rendered(one)) + 1)}
    assert read(ordered) == len(beginnings)
    assert read(ordered) == min(read(order) for order in permutations(asks))


def test_asks_with_one_text_stay_in_their_order() -> None:
    asks = [ask(text, repeat=repeat) for repeat in range(3) for text in ("b", "a")]
    assert [(one.pair, one.repeat) for one in by_prefix(asks)] == [(t, r) for t in "ab" for r in range(3)]
    assert by_prefix([]) == []


def test_the_arms_of_a_pair_share_its_question_and_its_right_answer() -> None:
    """Of n arms the right answer is read once where it stands first, and the question once for both orders."""
    pairs, arms = world_pairs(6), ("original", "bias:a", "bias:b", "sham:1")
    design = Design(load_prompt("pairwise/label"), Sampling(max_tokens=1))
    asks = [one for arm in arms for one in make_asks(
        (recuse.types.Pair(p.id, p.prompt, p.chosen, f"{arm} {p.rejected}", p.group) for p in pairs), design, arm=arm
    )]  # fmt: skip
    sent = by_prefix(asks)
    blocks = [[one.pair for one in sent[i : i + 8]] for i in range(0, len(sent), 8)]
    assert sorted(block[0] for block in blocks) == sorted(p.id for p in pairs)
    assert all(len(set(block)) == 1 for block in blocks)
    views = ["".join("<" if one.view == "AB" else ">" for one in sent[i : i + 8]) for i in range(0, len(sent), 8)]
    assert all("<<<<" in view for view in views)
    longest = max(len(p.prompt) + len(p.chosen) for p in pairs)
    assert read(sent) < sum(len(rendered(one)) for one in asks) - 6 * 3 * min(len(p.chosen) for p in pairs)
    assert read(sent) < read(sorted(asks, key=lambda one: one.arm)) - longest


def shuffled(asks: Iterable[Ask]) -> list[Ask]:
    found = list(asks)
    random.Random(7).shuffle(found)
    return found


def backwards(asks: Iterable[Ask]) -> list[Ask]:
    return by_prefix(asks)[::-1]


def in_order_of(order: Order, out: Path, pairs: Path, patch: Any) -> dict[str, Any]:
    patch.setattr("recuse.lab.engines.by_prefix", order)
    recuse.audit(
        "fake/skill=1.2,pair_sd=0.7,position=0.4,refuse=0.05,likes=surely,like=0.5,seed=3", pairs=str(pairs), out=out,
        biases=("authority", "verbosity"), shams=5, teacher="fake/teacher=1,accuracy=0.8,seed=1",
    )  # fmt: skip
    found: dict[str, Any] = json.loads((out / "findings.json").read_text())
    for name in ("created", "usage", "run"):
        found.pop(name, None)
    return found


def test_findings_are_the_same_in_whatever_order_the_asks_were_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "pairs.jsonl"
    rows = [{"prompt": p.prompt, "chosen": p.chosen, "rejected": p.rejected} for p in world_pairs(16)]
    source.write_text("\n".join(map(json.dumps, rows)))
    orders: dict[str, Order] = {"prefix": by_prefix, "given": list, "shuffled": shuffled, "backwards": backwards}
    found = {name: in_order_of(order, tmp_path / name, source, monkeypatch) for name, order in orders.items()}
    assert found["prefix"]["findings"]
    assert all(one == found["prefix"] for one in found.values())
