"""The public sets come out with the counts that their own descriptions state."""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from recuse.errors import InputError
from recuse.pairs import load_pairs

pytestmark = pytest.mark.data


def jsonl(path: Path) -> list[dict[str, Any]]:
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in content.decode().splitlines()]


def test_judgebench_has_one_equal_pair_and_the_two_forms_agree(data_dir: Path) -> None:
    path = data_dir / "biasscope" / "judge_bench.parquet"
    table = pq.read_table(path).to_pylist()
    equal = [i for i, row in enumerate(table, start=1) if row["response_A"] == row["response_B"]]
    with pytest.raises(InputError, match="the two answers are equal") as caught:
        load_pairs(path)
    assert [caught.value.row] == equal
    found = load_pairs(path, on_bad="skip")
    assert found.preset == "judgebench"
    assert len(found) == 620 - 1
    assert found.groups == 528 - 1, "the question of the equal pair has no other"
    assert f"1 row was skipped as faulty: equal answers (row {equal[0]})." in found.notes
    assert found.balance == {"A": 336, "B": 284 - 1, "unknown": 0}
    assert found.domains == Counter(row["domain"] for row in table if row["response_A"] != row["response_B"])
    parts = [
        load_pairs(data_dir / "judgebench" / f"judgebench_{model}.jsonl.gz", on_bad="skip")
        for model in ("claude-3-5-sonnet-20240620", "gpt-4o-2024-05-13")
    ]
    assert [len(part) for part in parts] == [269, 350]
    both = {pair.id: pair.domain for part in parts for pair in part}
    assert both == {pair.id: pair.domain for pair in found}


def test_rewardbench_is_always_a(data_dir: Path) -> None:
    found = load_pairs(data_dir / "biasscope" / "rewardbench_filtered.parquet")
    assert (found.preset, len(found)) == ("rewardbench", 2985)
    assert "The better answer stood first in 2,985 of 2,985 rows of the source." in found.notes
    assert set(found.domains) == {"Chat", "Chat Hard", "Safety", "Reasoning"}


def test_llmbar_and_its_place_in_rewardbench(data_dir: Path) -> None:
    found = load_pairs(data_dir / "llmbar" / "llmbar_419.jsonl")
    assert (found.preset, len(found)) == ("llmbar", 419)
    assert found.domains == {"GPTInst": 92, "GPTOut": 47, "Manual": 46, "Natural": 100, "Neighbor": 134}
    rewardbench = load_pairs(data_dir / "biasscope" / "rewardbench_filtered.parquet")
    texts = {(p.prompt, p.chosen, p.rejected) for p in rewardbench}
    assert sum((p.prompt, p.chosen, p.rejected) in texts for p in found) >= 400, "rewardbench holds the llmbar pairs"
    processed = data_dir / "llmbar" / "processed_human_466.jsonl.gz"
    kept = load_pairs(processed, on_bad="skip")
    rows = jsonl(processed)
    sound = {
        (r["input"], r[f"output_{r['label']}"], r[f"output_{3 - r['label']}"])
        for r in rows
        if r["output_1"] != r["output_2"] and r["output_1"].strip() and r["output_2"].strip()
    }
    assert len(rows) == 466
    assert {(p.prompt, p.chosen, p.rejected) for p in kept} == sound
    assert len(kept) == len(sound)


def test_evalbiasbench_is_always_a(data_dir: Path) -> None:
    path = data_dir / "evalbiasbench" / "biasbench.json"
    found = load_pairs(path)
    assert found.preset == "evalbiasbench"
    assert found.hash == load_pairs(path, preset="evalbiasbench").hash
    assert found.balance == {"A": 80, "B": 0, "unknown": 0}
    assert found.domains["length bias"] == 17
    assert found.domains["concreteness"] == 14
    assert set(found.domains) == set(json.loads(path.read_bytes()))


def test_mmlu_pro_pairs(data_dir: Path) -> None:
    found = load_pairs(data_dir / "mmlu_pro_pairs" / "mmlu_pro_correct_vs_wrong.jsonl.gz")
    assert (found.preset, len(found)) == ("mmlu-pro-pairs", 560)
    assert found.balance == {"A": 307, "B": 253, "unknown": 0}
    assert found.domains == dict.fromkeys(found.domains, 40)
    assert len(found.domains) == 14
    chosen, rejected = found.lengths()
    assert round(chosen.mean()) == 413
    assert round(rejected.mean()) == 421
    assert round((chosen > rejected).mean(), 2) == 0.49
    assert all(pair.reference and pair.reference in str(pair.prompt) for pair in found)


def test_truthfulqa(data_dir: Path) -> None:
    path = data_dir / "truthfulqa" / "TruthfulQA.csv"
    found = load_pairs(path)
    assert (found.preset, len(found), len(found.domains)) == ("truthfulqa", 817, 38)
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [p.rejected for p in found] == [row["Incorrect Answers"].split(";")[0].strip() for row in rows]
    mapped = load_pairs(path, columns={"prompt": "Question", "chosen": "Best Answer", "rejected": "Incorrect Answers"})
    assert len(mapped) == 817


def test_hh_rlhf_dialogues_share_all_but_the_last_answer(data_dir: Path) -> None:
    path = data_dir / "hh_rlhf_harmless" / "harmless_test_sample300.jsonl"
    found = load_pairs(path)
    assert (found.preset, len(found)) == ("chosen-rejected", 300)
    for pair, row in zip(found, jsonl(path), strict=True):
        talk = [("user", pair.prompt)] if isinstance(pair.prompt, str) else [(m.role, m.content) for m in pair.prompt]
        assert talk[-1][0] == "user"
        for answer, whole in ((pair.chosen, row["chosen"]), (pair.rejected, row["rejected"])):
            names = {"user": "Human", "assistant": "Assistant"}
            rebuilt = "".join(f"\n\n{names[role]}: {text}" for role, text in [*talk, ("assistant", answer)])
            assert "".join(rebuilt.split()) == "".join(whole.split())


def test_pandalm_majorities(data_dir: Path) -> None:
    path = data_dir / "pandalm" / "testset_999_three_annotators.jsonl.gz"
    found = load_pairs(path)
    votes: dict[tuple[str, str, frozenset[str]], Counter[str]] = {}
    ties = empty = other = 0
    for row in jsonl(path):
        winner = Counter(row[f"annotator{i}"] for i in (1, 2, 3)).most_common(1)[0][0]
        texts = [row["response1"], row["response2"]]
        if winner == 0:
            ties += 1
        elif not row["instruction"].strip() or "" in texts:
            empty += 1
        elif not all(isinstance(text, str) for text in texts):
            other += 1
        else:
            key = (row["instruction"], row["input"], frozenset(texts))
            votes.setdefault(key, Counter())[texts[winner - 1]] += 1
    assert found.preset == "pandalm"
    assert found.notes[0] == f"{999 - ties - empty - other} rows are votes on {len(votes)} pairs; the majority counts."
    assert f"{ties} rows were left out: a tie names no better answer." in found.notes
    assert f"{empty} rows were left out: empty text." in found.notes
    assert f"{other} rows were left out: wrong type." in found.notes
    assert Counter(p.chosen for p in found) == Counter(counted.most_common(1)[0][0] for counted in votes.values())
