"""Pairs with other texts under the same ids."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from recuse.pairs import load_pairs
from recuse.types import Message, Pair


def upper(pair: Pair) -> Pair:
    prompt = pair.prompt
    shouted = prompt.upper() if isinstance(prompt, str) else tuple(Message(m.role, m.content.upper()) for m in prompt)
    return replace(pair, prompt=shouted, chosen=pair.chosen.upper(), rejected="same")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    talk = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "yes"}]
    rows = [
        {"prompt": "one", "chosen": "a", "rejected": "b", "reference": "r", "domain": "x", "names": ["Ann"]},
        {"prompt": talk, "chosen": "c", "rejected": "d", "reference": None, "domain": None, "names": []},
        {"prompt": "one", "chosen": "e", "rejected": "f", "reference": None, "domain": "x", "names": ["Bo"]},
    ]
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_only_the_texts_change_and_ids_groups_and_other_columns_stay(source: Path) -> None:
    before = load_pairs(source)
    after = before.changed(upper, by="upper")
    assert [p.prompt for p in after] == [
        "ONE", (Message("user", "HELLO"), Message("assistant", "YES")), "ONE",
    ]  # fmt: skip
    assert [(p.chosen, p.rejected) for p in after] == [("A", "same"), ("C", "same"), ("E", "same")]
    for old, new in zip(before, after, strict=True):
        kept = ("id", "group", "domain", "reference", "gold", "meta")
        assert [getattr(old, name) for name in kept] == [getattr(new, name) for name in kept]
    assert after.column("row").tolist() == before.column("row").tolist()
    assert [p.chosen for p in before] == ["a", "c", "e"]  # untouched


def test_the_hash_tells_the_changed_set_from_its_source_and_from_another_change(source: Path) -> None:
    pairs = load_pairs(source)
    hashes = [pairs.hash, pairs.changed(upper, by="upper").hash, pairs.changed(upper, by="other").hash]
    assert len(set(hashes)) == 3
    assert pairs.changed(upper, by="upper").hash == hashes[1]


def test_a_limited_set_keeps_its_sample(source: Path) -> None:
    some = load_pairs(source, limit=2, seed=1)
    assert [p.id for p in some.changed(upper, by="upper")] == [p.id for p in some]
