"""The models of an export: one that holds weights at a time, texts of any kind, and a folder that is whole."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from export_world import better_worse, record_of, recuse, rows_of, source, tree
from texts_world import LIKED, write_source

from recuse import plan as planning
from recuse.backends import Options, open_backend
from recuse.errors import UsageError
from recuse.export.folder import write_whole
from recuse.export.rows import names_of, public_name
from recuse.lab import engines
from recuse.pairs import load_pairs
from recuse.types import Call, Reply

JUDGES = [f"fake/skill=1.5,likes={LIKED.word},like=4,seed={seed}" for seed in (1, 2)]


class Counted:
    """A backend that counts as one with weights in this process, and refuses to work once it was closed."""

    open = 0
    most = 0
    greedy = False

    def __init__(self, name: str) -> None:
        self._inner, self._is_open = open_backend(name), True
        self.name, self.body = self._inner.name, self._inner.body
        self.versions = self._inner.versions
        self.capabilities = replace(self._inner.capabilities, temperature=Counted.greedy)
        Counted.open += 1
        Counted.most = max(Counted.most, Counted.open)

    def generate(self, calls: Iterable[Call]) -> Iterator[Reply]:
        assert self._is_open
        return self._inner.generate(calls)

    def close(self) -> None:
        Counted.open -= self._is_open
        self._is_open = False


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(name: str, options: Options | None = None) -> Any:
        return Counted(name)

    monkeypatch.setattr(planning, "open_backend", opened)
    monkeypatch.setattr(engines, "open_backend", opened)
    monkeypatch.setattr(Counted, "open", 0)
    monkeypatch.setattr(Counted, "most", 0)


@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize("judges", [JUDGES[:1], JUDGES], ids=["one judge", "two judges"])
@pytest.mark.parametrize("weights", [True, False], ids=["with weights", "behind a network"])
def test_of_models_with_weights_one_is_open_at_a_time_and_all_are_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, judges: list[str], weights: bool
) -> None:
    if weights:
        monkeypatch.setattr(engines, "HEAVY", frozenset({"fake"}))
    write_source(tmp_path)
    options = [word for judge in judges for word in ("--judge", judge)]
    said = recuse(
        "export", tmp_path / "pairs.jsonl", *options, "--library", tmp_path / "library", "--bias", "friendly,calm",
        "--least", "1", "--teacher", "fake/teacher=1,carry=0", "--out", tmp_path / "set", "--work", tmp_path / "work",
    )  # fmt: skip
    assert said.code == 0, said.err
    assert Counted.open == 0
    assert not weights or Counted.most == 1


@pytest.mark.usefixtures("counted")
def test_of_a_judge_that_decodes_greedily_the_card_says_that_asking_again_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Counted, "greedy", True)
    said = recuse(
        "export", source(tmp_path, 60), "--judge", "fake/skill=1,likes=study,like=3,seed=1", "--bias", "authority",
        "--out", tmp_path / "set", "--work", tmp_path / "work",
    )  # fmt: skip
    assert said.code == 0, said.err
    assert {r["basis"] for r in record_of(tmp_path / "set")["rates"]} == {"unfiltered", "selecting"}
    assert "asked again about the same text it says the same" in (tmp_path / "set" / "README.md").read_text()


def test_a_judge_that_scores_one_answer_at_a_time_needs_no_order(tmp_path: Path) -> None:
    said = recuse(
        "export", source(tmp_path, 60), "--judge", "fake/skill=3,likes=study,like=4,seed=1", "--bias", "authority",
        "--prompt", "pointwise/score", "--out", tmp_path / "set", "--work", tmp_path / "work",
    )  # fmt: skip
    assert said.code == 0, said.err
    for row in rows_of(tmp_path / "set"):
        verdicts = [(v["text"], v["order"], v["prefers"]) for v in row["verdicts"]]
        assert verdicts == [("original", "-", "chosen"), ("rewritten", "-", "rejected")]
    assert "both orders, of" not in (tmp_path / "set" / "README.md").read_text()
    assert record_of(tmp_path / "set")["judges"][0]["alone"] is True


def test_equal_names_of_two_judges_are_told_apart() -> None:
    names = ("llamacpp//a/judge.gguf", "openai/x", "llamacpp//b/judge.gguf")
    plan: Any = SimpleNamespace(judges=[SimpleNamespace(config=SimpleNamespace(judge=name)) for name in names])
    assert names_of(plan) == ("llamacpp/judge.gguf (1)", "openai/x", "llamacpp/judge.gguf (2)")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("demo", "demo"), ("hf:org/name:config", "hf:org/name:config"), ("/home/me/pairs.jsonl", "pairs.jsonl"),
        ("../mine/pairs.jsonl", "pairs.jsonl"), ("openai/gpt-4o-mini", "openai/gpt-4o-mini"),
        ("vllm/Qwen/Qwen2.5-7B", "vllm/Qwen/Qwen2.5-7B"), ("llamacpp//home/me/x.gguf", "llamacpp/x.gguf"),
        ("hf/./models/x", "hf/x"), ("python/pkg.module:fn", "python/pkg.module:fn"),
    ],
)  # fmt: skip
def test_no_path_of_this_machine_is_published(name: str, shown: str) -> None:
    assert public_name(name) == shown


HOSTILE = (
    "<script>alert(1)</script>", "\x1b[31mred\x1b[0m", "\u202egnp.exe", "line\rend", "a\u2028b\u2029c", "nul\x00byte",
    '"quoted", with commas\nand lines', "=cmd|' /C calc'!A0", "x" * 300_000,
)  # fmt: skip


def test_texts_of_any_kind_go_out_and_come_back_as_they_are(tmp_path: Path) -> None:
    pairs = source(tmp_path, 54)
    rows = [json.loads(line) for line in pairs.read_text().splitlines()]
    for i, row in enumerate(rows):
        text = HOSTILE[i % len(HOSTILE)]
        row["rejected"], row["chosen"] = f"{text}\n{row['rejected']}", f"{text} {row['chosen']}"
    pairs.write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = recuse(
        "export", pairs, "--judge", "fake/skill=1,likes=e,like=0.1,seed=1", "--bias", "authority",
        "--out", tmp_path / "set", "--work", tmp_path / "work",
    )  # fmt: skip
    assert said.code == 0, said.err
    before = {pair.id: pair for pair in load_pairs(pairs)}
    made = rows_of(tmp_path / "set")
    assert {better_worse(row)[0] for row in made} == {before[row["source_pair"]].chosen for row in made}
    assert len(list(load_pairs(tmp_path / "set" / "benchmark.jsonl"))) == len(made)
    sheet = tmp_path / "set" / "verification.csv"
    with sheet.open(newline="", encoding="utf-8-sig") as file:
        csv.field_size_limit(2**31 - 1)
        told = list(csv.DictReader(file))
    for name in ("ann", "bob"):
        with (tmp_path / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, told[0])
            writer.writeheader()
            writer.writerows({**row, "label": "kept"} for row in told)
    back = recuse("export", "verify", tmp_path / "set", tmp_path / "ann.csv", tmp_path / "bob.csv")
    assert back.code == 0, back.err


def test_markup_in_names_is_text_in_the_card(tmp_path: Path) -> None:
    write_source(tmp_path)
    file = tmp_path / "library" / "friendly.toml"
    name = "<img src=x onerror=alert(1)> | [a](http://x.example)"
    file.write_text(file.read_text().replace("Prefers a friendly tone", name))
    said = recuse(
        "export", tmp_path / "pairs.jsonl", "--judge", JUDGES[0], "--library", tmp_path / "library", "--bias",
        "friendly", "--teacher", "fake/teacher=1,carry=0", "--out", tmp_path / "set", "--work", tmp_path / "work",
    )  # fmt: skip
    assert said.code == 0, said.err
    card = (tmp_path / "set" / "README.md").read_text()
    assert "<img" not in card
    assert re.search(r"(?<!\\)\]\(http", card) is None
    assert record_of(tmp_path / "set")["biases"][0]["name"] == name


def test_a_folder_that_cannot_be_made_whole_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        write_whole(tmp_path / "set", {"a.txt": b"a", "b/c.txt": b"no such folder"})
    assert tree(tmp_path) == {}
    write_whole(tmp_path / "set", {"a.txt": b"a"})
    assert tree(tmp_path) == {"set/a.txt": b"a"}
    (tmp_path / "empty").mkdir()
    write_whole(tmp_path / "empty", {"a.txt": b"a"})
    assert tree(tmp_path / "empty") == {"a.txt": b"a"}
