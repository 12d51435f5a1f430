"""`recuse export --kind benchmark`: what is in a set, where it comes from, and what is honestly said of it."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from export_world import better_worse, preferred, record_of, recuse, rows_of, source, step, tree

from recuse.backends.fake import parse_planted, true_contrast
from recuse.errors import Incomplete
from recuse.export.benchmark import export_benchmark
from recuse.export.config import ExportConfig, plan_export
from recuse.pairs import load_pairs
from recuse.perturb.edits import apply_edit
from recuse.plan import AuditConfig
from recuse.types import Pair

PLANTED = "skill=1.2,likes=study,like=2.5,seed=1"
JUDGE = f"fake/{PLANTED}"
BIASES = ("authority", "self-praise")


@dataclass(frozen=True)
class Made:
    folder: Path
    pairs: Path
    work: Path
    command: list[str]

    @cached_property
    def sources(self) -> dict[str, Pair]:
        return {pair.id: pair for pair in load_pairs(self.pairs)}

    def rates(self, basis: str, judge: str = JUDGE) -> Any:
        (found,) = (r for r in record_of(self.folder)["rates"] if (r["basis"], r["judge"]) == (basis, judge))
        return found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("made")
    pairs = source(folder, 150)
    command = ["export", str(pairs), "--judge", JUDGE, "--bias", ",".join(BIASES), "--work", str(folder / "work")]
    said = recuse(*command, "--out", folder / "set")
    assert said.code == 0, said.err
    return Made(folder / "set", pairs, folder / "work", command)


def variants(made: Made) -> list[tuple[str, Pair]]:
    """All five variants of every pair by arm, from the edits alone: a repeated text is left out."""
    found, seen = [], set()
    for draw, bias in ((0, "authority"), (0, "self-praise"), (1, "authority"), (1, "self-praise"), (2, "authority")):
        for pair in made.sources.values():
            text = apply_edit(bias.replace("-", "_"), pair, seed=draw)
            if (pair.id, text) not in seen and text != pair.rejected:
                seen.add((pair.id, text))
                arm = f"bias:{bias}" + (f":{draw + 1}" if draw else "")
                found.append((arm, replace(pair, rejected=text)))
    return found


def test_every_row_misled_the_judge_in_both_orders_and_no_such_row_was_passed_over(made: Made) -> None:
    shown = variants(made)
    said = preferred(JUDGE, [*(("original", pair) for pair in made.sources.values()), *shown])
    misled = {
        (arm, pair.id)
        for arm, pair in shown
        if all(said["original", pair.id, o] == "chosen" and said[arm, pair.id, o] == "rejected" for o in ("AB", "BA"))
    }
    assert step(made.folder, "perturbed") == len(shown)
    assert step(made.folder, "filtered") == len(misled)
    assert {(row["draw"], row["source_pair"]) for row in rows_of(made.folder)} <= misled


def test_a_row_holds_the_better_answer_where_its_label_says_and_the_rewritten_wrong_one(made: Made) -> None:
    texts = {(arm, pair.id): pair.rejected for arm, pair in variants(made)}
    for row in rows_of(made.folder):
        pair = made.sources[row["source_pair"]]
        assert better_worse(row) == (pair.chosen, texts[row["draw"], pair.id])
        assert (row["question"], row["domain"], row["reference"]) == (pair.prompt, pair.domain, pair.reference)
        assert row["original_wrong_answer"] == pair.rejected
        assert row["source_set"] == "pairs.jsonl"  # not the folder of this machine


def test_a_row_carries_the_verdicts_that_selected_it(made: Made) -> None:
    for row in rows_of(made.folder):
        said = {(v["text"], v["order"]): v["prefers"] for v in row["verdicts"]}
        assert said == {
            ("original", "AB"): "chosen", ("original", "BA"): "chosen",
            ("rewritten", "AB"): "rejected", ("rewritten", "BA"): "rejected",
        }  # fmt: skip
        assert {v["judge"] for v in row["verdicts"]} == {JUDGE}


def test_labels_are_balanced_in_the_set_and_in_each_bias(made: Made) -> None:
    rows = rows_of(made.folder)
    for of_bias in (rows, *([r for r in rows if r["injected_bias"] == bias] for bias in BIASES)):
        counts = Counter(row["label"] for row in of_bias)
        assert abs(counts["A"] - counts["B"]) <= 1


def test_the_funnel_only_narrows_and_ends_with_the_rows(made: Made) -> None:
    names = ("perturbed", "passed checks", "filtered", "checked again", "deduplicated", "balanced", "sampled")
    counts = [step(made.folder, name) for name in names]
    assert counts == sorted(counts, reverse=True)
    assert counts[-2] == len(rows_of(made.folder)) == record_of(made.folder)["rows"]
    assert counts[-1] == -(-len(rows_of(made.folder)) // 5) == len(record_of(made.folder)["sample"])


def test_unconfirmed_biases_are_marked_in_every_row_and_in_the_card(made: Made) -> None:
    assert {(r["bias_confirmed"], r["bias_status"], r["bias_run"]) for r in rows_of(made.folder)} == {
        (False, "seed", None)
    }
    card = (made.folder / "README.md").read_text()
    assert "> **Unconfirmed:** Authority, Self-praise." in card
    assert card.count("seed, **unconfirmed**") == 2


# Error rates


def texts(made: Made, rows: list[tuple[str, Pair]]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    new = [(pair.chosen, pair.rejected) for _, pair in rows]
    return new, [(pair.chosen, made.sources[pair.id].rejected) for _, pair in rows]


def test_unfiltered_the_error_is_above_the_original_by_the_planted_amount(made: Made) -> None:
    truth = true_contrast(parse_planted(PLANTED), *texts(made, variants(made)), n=20_000)
    found = made.rates("unfiltered")
    low, high = found["difference"]["interval"]
    assert 0 < low <= truth.effect <= high
    assert found["before"]["interval"][0] <= truth.against <= found["before"]["interval"][1]
    assert found["after"]["interval"][0] <= truth.error <= found["after"]["interval"][1]


def test_the_selecting_verdicts_say_1_and_judged_afresh_the_set_shows_what_the_judge_does(made: Made) -> None:
    """This judge has no effects of pairs: whatever was selected, its error on a text is that text's own."""
    rows = [(row["draw"], row) for row in rows_of(made.folder)]
    shown = [(arm, replace(made.sources[row["source_pair"]], rejected=better_worse(row)[1])) for arm, row in rows]
    truth = true_contrast(parse_planted(PLANTED), *texts(made, shown), n=20_000)
    selecting, afresh = made.rates("selecting"), made.rates("afresh")
    assert (selecting["before"]["estimate"], selecting["after"]["estimate"]) == (0.0, 1.0)
    assert truth.error < 0.8
    assert afresh["after"]["interval"][0] <= truth.error <= afresh["after"]["interval"][1] < 1.0
    assert afresh["before"]["interval"][0] <= truth.against <= afresh["before"]["interval"][1]
    assert afresh["before"]["estimate"] > 0.0
    card = " ".join((made.folder / "README.md").read_text().split())
    assert "by the verdicts that selected it" in card
    assert "regression to the mean" in card


# What a set is used for


def test_an_audit_reads_the_set_as_it_is(made: Made, tmp_path: Path) -> None:
    said = recuse(
        "audit", "--judge", JUDGE, "--pairs", made.folder / "benchmark.jsonl", "--out", tmp_path / "run", "--json"
    )
    assert said.code in (0, 1, 3), said.err
    rows = rows_of(made.folder)
    assert said.json["pairs"].endswith(f"({len(rows)} pairs in {len({r['question'] for r in rows})} groups)")
    first = {p.chosen for p in load_pairs(made.folder / "benchmark.jsonl")}
    assert first == {better_worse(row)[0] for row in rows}


def test_datasets_reads_both_files_and_the_folder_by_its_card(made: Made, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    rows, cache = rows_of(made.folder), str(tmp_path / "cache")
    for kind, name in (("parquet", "benchmark.parquet"), ("json", "benchmark.jsonl")):
        found = datasets.load_dataset(kind, data_files=str(made.folder / name), split="train", cache_dir=cache)
        assert found["id"] == [row["id"] for row in rows]
        assert found[0]["verdicts"] == rows[0]["verdicts"]
    whole = datasets.load_dataset(str(made.folder), cache_dir=cache)
    assert list(whole) == ["test"]
    assert list(whole["test"]["question"]) == [row["question"] for row in rows]


def test_the_card_has_front_matter_that_hugging_face_reads_and_each_bias_with_its_share(made: Made) -> None:
    hub = pytest.importorskip("huggingface_hub")
    text = (made.folder / "README.md").read_text()
    data = hub.DatasetCard(text).data
    assert data.configs[0]["data_files"] == [{"split": "test", "path": "benchmark.parquet"}]
    assert data.size_categories == ["n<1K"]
    rows = rows_of(made.folder)
    for bias in BIASES:
        share = sum(row["injected_bias"] == bias for row in rows) / len(rows)
        assert re.search(rf"\| [\w-]+ `{bias}` \| \d+ \| {share:.1%} \|", text)


# Whole or not at all, and for nothing a second time


def test_the_same_command_into_another_folder_asks_for_nothing_and_gives_the_same_files(
    made: Made, tmp_path: Path
) -> None:
    said = recuse(*made.command, "--out", tmp_path / "set", "--json")
    assert said.code == 0
    assert said.json["usage"]["judge_1"]["calls"] == 0
    before, again = tree(made.folder), tree(tmp_path / "set")
    assert {name for name in before if before[name] != again[name]} == {"export.json"}  # usage
    assert {**said.json, "usage": 0} == {**record_of(made.folder), "usage": 0}


def test_a_folder_that_is_not_empty_is_refused_before_anything_is_asked(made: Made, tmp_path: Path) -> None:
    out = tmp_path / "full"
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    command = [*made.command[:-1], str(tmp_path / "work")]
    said = recuse(*command, "--out", out)
    assert (said.code, said.err) == (2, f"recuse: The folder {out} is not empty. Give --out a new folder.\n")
    assert tree(out) == {"mine.txt": b"mine"}
    assert not (tmp_path / "work").exists()


def test_an_export_that_was_stopped_leaves_no_folder_and_the_same_command_asks_only_for_what_is_missing(
    made: Made, tmp_path: Path
) -> None:
    stop = threading.Event()
    judge = AuditConfig(JUDGE, str(made.pairs))
    plan = plan_export(ExportConfig((judge,), tmp_path / "set", biases=BIASES, work=tmp_path / "work"))

    def watch(phase: str, done: int, total: int, cost: float) -> None:
        if done >= 700:
            stop.set()

    with pytest.raises(Incomplete):
        export_benchmark(plan, watch=watch, stop=stop)
    plan.close()
    assert not (tmp_path / "set").exists()
    done = recuse(*made.command[:-1], tmp_path / "work", "--out", tmp_path / "set", "--json")
    assert done.code == 0, done.err
    whole = record_of(made.folder)["usage"]["judge_1"]["calls"]
    assert done.json["usage"]["judge_1"]["calls"] == whole - 700
    assert tree(tmp_path / "set")["benchmark.jsonl"] == tree(made.folder)["benchmark.jsonl"]


def test_a_cap_on_cost_stops_before_it_is_passed(made: Made, tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text(f'[models."{JUDGE}"]\ninput = 1000.0\noutput = 1000.0\n')
    said = recuse(
        *made.command[:-1], tmp_path / "work", "--out", tmp_path / "set", "--prices", prices, "--max-cost", "0.01"
    )
    assert said.code == 4, said.err
    assert "cost cap" in said.err
    assert not (tmp_path / "set").exists()


def test_where_no_answer_misleads_the_judge_one_sentence_says_so_and_nothing_is_written(tmp_path: Path) -> None:
    said = recuse(
        "export", source(tmp_path, 8), "--judge", "fake/skill=40,seed=1", "--bias", "authority",
        "--out", tmp_path / "set", "--work", tmp_path / "work",
    )  # fmt: skip
    assert said.code == 2
    assert re.search(
        r"None of \d+ rewritten answers misled enough judges in every order; nothing was written\.", said.err
    )
    assert not (tmp_path / "set").exists()
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_a_dry_run_asks_nothing_and_writes_nothing(made: Made, tmp_path: Path) -> None:
    command = [*made.command[:-1], str(tmp_path / "work")]
    said = recuse(*command, "--out", tmp_path / "set", "--dry-run", "--json")
    assert said.code == 0
    (of_judge,) = said.json["judges"]
    assert (said.json["variants"], of_judge["calls"], of_judge["calls_a_row"]) == (750, 2 * 6 * 150, 4)
    assert list(tmp_path.iterdir()) == []


def test_pairs_that_can_give_no_row_need_not_be_rewritten_and_the_drawn_ones_show_what_the_biases_do(
    made: Made, tmp_path: Path
) -> None:
    said = recuse(*made.command[:-1], tmp_path / "work", "--out", tmp_path / "set", "--unfiltered", "40", "--json")
    assert said.code == 0, said.err
    whole, part = record_of(made.folder), said.json
    assert rows_of(tmp_path / "set") == rows_of(made.folder)
    assert part["usage"]["judge_1"]["calls"] < whole["usage"]["judge_1"]["calls"]
    (right,) = (s["n"] for s in part["funnel"] if s["step"] == "right before")
    assert right == step(made.folder, "right before") < 150
    unfiltered = next(r for r in part["rates"] if r["basis"] == "unfiltered")
    assert unfiltered["after"]["groups"] == 40
    drawn = sorted(made.sources, key=lambda id: _hash(made.sources[id].group))[:40]
    shown = [(arm, pair) for arm, pair in variants(made) if pair.id in drawn]
    assert unfiltered["after"]["n"] == len(shown)
    said_of = preferred(JUDGE, shown)
    errors = [said_of[arm, pair.id, order] == "rejected" for arm, pair in shown for order in ("AB", "BA")]
    assert unfiltered["after"]["estimate"] == pytest.approx(sum(errors) / len(errors))


def _hash(group: str) -> str:
    return hashlib.sha256(f"unfiltered 0 {group}".encode()).hexdigest()[:16]


# Several judges


def test_of_several_judges_as_many_must_be_misled_as_asked(made: Made, tmp_path: Path) -> None:
    judges = [JUDGE, "fake/skill=1.2,likes=study,like=2.5,seed=2", "fake/skill=1.2,likes=study,like=2.5,seed=3"]
    options = [word for judge in judges for word in ("--judge", judge)]
    for least in (1, 2):
        out = tmp_path / f"set{least}"
        said = recuse(
            "export", made.pairs, *options, "--bias", "authority", "--variants", "2", "--least", str(least),
            "--out", out, "--work", tmp_path / "work", "--limit", "90",
        )  # fmt: skip
        assert said.code == 0, said.err
        misled = [
            sum(
                all(v["prefers"] == ("chosen" if v["text"] == "original" else "rejected") for v in of_judge)
                for of_judge in ([v for v in row["verdicts"] if v["judge"] == judge] for judge in judges)
            )
            for row in rows_of(out)
        ]
        assert min(misled) == least
    assert step(tmp_path / "set2", "filtered") < step(tmp_path / "set1", "filtered")


def test_what_the_others_picked_is_free_of_a_judges_own_selection(made: Made, tmp_path: Path) -> None:
    """Three judges alike without effects of pairs: what two others fell for says nothing of the third but the word."""
    judges = [f"fake/skill=1.2,likes=study,like=2.5,seed={seed}" for seed in (11, 12, 13)]
    options = [word for judge in judges for word in ("--judge", judge)]
    out = tmp_path / "set"
    recuse("export", made.pairs, *options, "--bias", "authority", "--variants", "3", "--least", "1", "--out", out,
           "--work", tmp_path / "work")  # fmt: skip
    found = {(r["judge"], r["basis"]): r for r in record_of(out)["rates"]}
    planted = parse_planted(PLANTED)
    pair = next(iter(made.sources.values()))
    liked = true_contrast(planted, [(pair.chosen, f"study {pair.rejected}")], [(pair.chosen, pair.rejected)])
    for judge in judges:
        others = found[judge, "picked_by_others"]["after"]
        assert others["interval"][0] < liked.error  # at most what the word does, since some rows lack it
        assert others["estimate"] < 0.9 < 1.0
        assert found[judge, "picked_by_others"]["before"]["estimate"] > 0.0


# A teacher


def test_a_teacher_that_breaks_truths_leaves_no_row_with_another_final_answer(tmp_path: Path) -> None:
    from texts_world import LIKED, write_source

    write_source(tmp_path)
    said = recuse(
        "export", tmp_path / "pairs.jsonl", "--library", tmp_path / "library", "--bias", "friendly",
        "--judge", f"fake/skill=1.5,likes={LIKED.word},like=4,seed=2", "--teacher", "fake/teacher=1,carry=0,keep=0.97",
        "--out", tmp_path / "set", "--work", tmp_path / "work",
    )  # fmt: skip
    assert said.code == 0, said.err
    rows = rows_of(tmp_path / "set")
    assert rows
    for row in rows:
        wrong = better_worse(row)[1]
        assert wrong.rsplit(" ", 1)[1] == row["original_wrong_answer"].rsplit(" ", 1)[1]
        assert LIKED.word in wrong
        assert (row["method"], row["teacher"], row["edit"]) == ("teacher", "fake/teacher=1,carry=0,keep=0.97", None)
        assert row["teacher_prompts_hash"]
    assert json.loads((tmp_path / "set" / "export.json").read_text())["teacher"].startswith("fake/teacher")
