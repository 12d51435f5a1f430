"""`recuse export --kind preferences`: the rows, their two forms, and that nothing held out is ever among them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from threading import Event
from typing import Any

import pyarrow.parquet as pq
import pytest
from texts_world import LIKED, PAIRS, write_source

from recuse.cli import run
from recuse.discovery.split import split
from recuse.errors import Incomplete, InputError, UsageError
from recuse.export.preference_plan import PreferenceConfig, plan_preferences
from recuse.export.preferences import export_preferences, preferences
from recuse.ledger import Ledger
from recuse.library import load_bias
from recuse.pairs import load_pairs
from recuse.perturb.edits import apply_edit
from recuse.types import Pair

JUDGE, TEACHER = "python/texts_world:judge", "python/texts_world:teacher"
FILES = {f"{form}-{part}.{end}" for form in ("conversational", "standard") for part in ("train", "test")
         for end in ("parquet", "jsonl")} | {"README.md", "export.json"}  # fmt: skip
EDITS = ("authority", "certainty", "emphasis")


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


def recuse(*arguments: object) -> Done:
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run([str(argument) for argument in arguments])
    return Done(code, out.getvalue(), err.getvalue())


def rows(folder: Path, part: str = "train", form: str = "standard") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(folder / f"{form}-{part}.parquet").to_pylist()
    return found


def both(folder: Path) -> list[dict[str, Any]]:
    return rows(folder) + (rows(folder, "test") if (folder / "standard-test.parquet").exists() else [])


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_source(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("demo") / "set"
    preferences(PreferenceConfig("demo", out, biases=EDITS, seed=4))
    return out


@pytest.fixture(scope="module")
def discovery(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished discovery that confirmed one bias; its parts are dealt by the hash."""
    out = tmp_path_factory.mktemp("discovery") / "run"
    done = recuse(
        "discover", "--judge", JUDGE, "--teacher", TEACHER, "--pairs", world / "pairs.jsonl", "--group", "group",
        "--library", world / "library", "--rounds", 1, "--shams", 5, "--out", out, "--quiet",
    )  # fmt: skip
    assert done.code == 0, done.err
    return out


def write_pairs(path: Path, pairs: list[Pair]) -> None:
    rows_ = [{"prompt": p.prompt, "chosen": p.chosen, "rejected": p.rejected} for p in pairs]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows_))


def questions(pairs: tuple[Pair, ...]) -> set[str]:
    return {str(pair.prompt) for pair in pairs}


def asked(folder: Path) -> set[str]:
    return {row["prompt"].rstrip("\n") for row in both(folder)}


def again(discovery: Path, out: Path, source: Path, **more: Any) -> PreferenceConfig:
    return PreferenceConfig(
        str(source), out, run=discovery, teacher=TEACHER, work=out.parent / f"{out.name}-work", **more
    )


# Rows


def test_a_rewritten_row_is_the_edit_of_its_source_pair_and_an_untouched_one_is_the_pair(demo: Path) -> None:
    source = {pair.id: pair for pair in load_pairs("demo")}
    found = both(demo)
    assert Counter(row["kind"] for row in found) == {"rewritten": 60, "untouched": 60}
    for row in found:
        pair = source[row["source_pair"]]
        assert (row["prompt"], row["chosen"]) == (f"{str(pair.prompt).rstrip()}\n", pair.chosen)
        assert (row["source_set"], row["source_group"], row["domain"]) == ("demo", pair.group, pair.domain)
        if row["kind"] == "untouched":
            assert row["rejected"] == pair.rejected
            assert {row[name] for name in ("injected_bias", "method", "edit", "bias_confirmed", "checks")} == {None}
        else:
            edit = load_bias(row["injected_bias"]).edit
            assert row["rejected"] == apply_edit(edit or "", pair, seed=4) != pair.rejected
            assert (row["method"], row["edit"], row["original_wrong_answer"]) == ("rule", edit, pair.rejected)
            assert (row["bias_confirmed"], row["bias_status"], row["bias_confirmed_on"]) == (False, "seed", [])
            assert row["checks"] == {
                "final_answer": "rule", "attempts": 0, "characters_before": len(pair.rejected),
                "characters_after": len(row["rejected"]),
            }  # fmt: skip
    counts = Counter(row["injected_bias"] for row in found if row["kind"] == "rewritten")
    assert counts["emphasis"] < 20  # answers without a phrase to set off cannot carry it, and went on to the others
    assert abs(counts["authority"] - counts["certainty"]) <= 1


def test_a_question_is_in_one_part_and_ids_are_told_apart(demo: Path) -> None:
    train, test = rows(demo), rows(demo, "test")
    assert (len(train), len(test)) == (108, 12)  # 54 and 6 of 60 questions, each twice
    assert not {row["prompt"] for row in train} & {row["prompt"] for row in test}
    ids = [row["id"] for row in train + test]
    assert len(set(ids)) == len(ids)


def test_both_forms_and_both_files_hold_the_same_rows(demo: Path) -> None:
    assert {path.name for path in demo.iterdir()} == FILES
    for part in ("train", "test"):
        plain, talk = rows(demo, part), rows(demo, part, "conversational")
        for row, turned in zip(plain, talk, strict=True):
            assert turned["prompt"] == [{"role": "user", "content": turned["prompt"][0]["content"]}]
            assert row["prompt"] == f"{turned['prompt'][0]['content'].rstrip()}\n"
            assert turned["chosen"] == [{"role": "assistant", "content": row["chosen"]}]
            assert turned["rejected"] == [{"role": "assistant", "content": row["rejected"]}]
        for form, expected in (("standard", plain), ("conversational", talk)):
            lines = (demo / f"{form}-{part}.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
            assert [json.loads(line) for line in lines] == expected


def test_datasets_reads_both_forms_by_the_card_alone_and_recuse_reads_them_as_pairs(demo: Path, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    for form in ("conversational", "standard"):
        loaded = datasets.load_dataset(str(demo), form, cache_dir=str(tmp_path / "cache"))
        assert {name: split_.num_rows for name, split_ in loaded.items()} == {"train": 108, "test": 12}
        assert list(loaded["train"]) == rows(demo, "train", form)
    assert datasets.get_dataset_default_config_name(str(demo)) == "conversational"
    assert len(load_pairs(demo / "conversational-train.jsonl")) == 108


def test_the_same_command_gives_the_same_set_and_another_seed_another(demo: Path, tmp_path: Path) -> None:
    preferences(PreferenceConfig("demo", tmp_path / "set", biases=EDITS, seed=4))
    assert {p.name: p.read_bytes() for p in demo.iterdir()} == {
        p.name: p.read_bytes() for p in (tmp_path / "set").iterdir()
    }
    preferences(PreferenceConfig("demo", tmp_path / "other", biases=EDITS, seed=5))
    assert rows(demo) != rows(tmp_path / "other")


def test_conversations_keep_their_turns_and_the_standard_form_names_them(tmp_path: Path) -> None:
    talk = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is 2 + 2?"}]
    source = tmp_path / "talks.jsonl"
    answers = [f"It is four, as in case {i}." for i in range(4)]
    source.write_text("".join(
        json.dumps({"prompt": [*talk[:1], {"role": "user", "content": f"What is {i} + 2?"}], "chosen": answers[i],
                    "rejected": f"It is five here, and it was so in case {i}."}) + "\n" for i in range(4)
    ))  # fmt: skip
    preferences(PreferenceConfig(str(source), tmp_path / "set", biases=("authority",), test=0, mix=0))
    found = rows(tmp_path / "set", form="conversational")
    assert {row["prompt"][0]["content"] for row in found} == {"Be brief."}
    assert [turn["role"] for turn in found[0]["prompt"]] == ["system", "user"]
    plain = {row["prompt"] for row in rows(tmp_path / "set")}
    assert "System: Be brief.\n\nUser: What is 1 + 2?\n\nAssistant:\n" in plain


@pytest.mark.parametrize(("mix", "per_pair", "expected"), [
    (0.0, 1, {"rewritten": 60}),
    (0.25, 1, {"rewritten": 60, "untouched": 20}),
    (0.5, 2, {"rewritten": 60, "untouched": 60}),
    (0.2, 2, {"rewritten": 120, "untouched": 30}),
])  # fmt: skip
def test_the_mix_and_the_versions_of_a_pair_by_hand(
    tmp_path: Path, mix: float, per_pair: int, expected: dict[str, int]
) -> None:
    done = preferences(PreferenceConfig("demo", tmp_path / "set", biases=EDITS, mix=mix, per_pair=per_pair, test=0))
    found = rows(tmp_path / "set")
    assert Counter(row["kind"] for row in found) == expected
    assert (done.record["parts"]["train"]["rows"], done.record["parts"]["test"]["rows"]) == (sum(expected.values()), 0)
    assert not (tmp_path / "set/standard-test.parquet").exists()
    rewritten = Counter((r["source_pair"], r["injected_bias"]) for r in found if r["kind"] == "rewritten")
    assert set(rewritten.values()) == {1}


# What was held out


def test_nothing_of_a_discoverys_validation_and_test_parts_is_in_the_set(
    discovery: Path, world: Path, tmp_path: Path
) -> None:
    done = preferences(again(discovery, tmp_path / "set", world / "pairs.jsonl"))
    parts = split(PAIRS)
    assert asked(tmp_path / "set") == questions(parts.discovery)
    held = {pair.id for pair in load_pairs(world / "pairs.jsonl")} - {r["source_pair"] for r in both(tmp_path / "set")}
    assert len(held) == len(parts.validation) + len(parts.test) == done.record["pairs"]["left_out"]
    (left,) = done.record["left_out"]
    assert (left["name"], left["what"], left["near"]) == ("run", "validation and test parts of a discovery", 0)
    assert (
        f"| run | validation and test parts of a discovery | {len(held)} | 0 |"
        in (tmp_path / "set/README.md").read_text()
    )


def test_a_teacher_writes_the_rows_and_the_bias_is_marked_as_confirmed(
    discovery: Path, world: Path, tmp_path: Path
) -> None:
    preferences(again(discovery, tmp_path / "set", world / "pairs.jsonl"))
    rewritten = [row for row in both(tmp_path / "set") if row["kind"] == "rewritten"]
    assert len(rewritten) >= 10  # of 12 pairs: a rewrite may fail a check
    for row in rewritten:
        assert LIKED.word in row["rejected"]
        assert LIKED.word not in row["original_wrong_answer"]
        assert (row["method"], row["teacher"], row["edit"]) == ("teacher", TEACHER, None)
        assert (row["bias_confirmed"], row["bias_confirmed_on"], row["bias_run"]) == (True, [JUDGE], "run")
        assert row["checks"]["attempts"] >= 1


def test_a_held_out_question_stays_out_in_another_file_with_other_answers_other_spelling_or_other_groups(
    discovery: Path, tmp_path: Path
) -> None:
    parts = split(PAIRS)
    (held, also), free = parts.test[:2], parts.discovery[0]
    questions_ = {
        "same": f"  {str(held.prompt).upper()} ", "near": f"{also.prompt} !", "sibling": "What has the group of it?",
        "free": str(free.prompt), "new": "Which of the two is a fruit, an apple or a spoon?",
    }  # fmt: skip
    groups = {"same": "s", "near": "n", "sibling": "s", "free": "f", "new": "w"}
    source = tmp_path / "other.jsonl"
    source.write_text("".join(
        json.dumps({"prompt": q, "chosen": f"It is this one, {name}.", "rejected": f"It is that one, {name}.",
                    "topic": groups[name]}) + "\n" for name, q in questions_.items()
    ))  # fmt: skip
    config = PreferenceConfig(
        str(source), tmp_path / "set", biases=("authority",), not_from=(discovery,), group="topic", test=0
    )
    done = preferences(config)
    assert asked(tmp_path / "set") == {questions_["free"], questions_["new"]}
    (left,) = done.record["left_out"]
    assert (left["same"], left["near"]) == (2, 1)


def test_pairs_of_an_audit_stay_out_as_a_whole_even_where_the_audit_cannot_be_read_again(tmp_path: Path) -> None:
    audited = tmp_path / "audited.jsonl"
    every = list(load_pairs("demo"))
    write_pairs(audited, every[:50])
    done = recuse("audit", "--judge", "fake/skill=1", "--pairs", audited, "--out", tmp_path / "audit", "--quiet")
    assert done.code in (0, 1, 3), done.err
    audited.unlink()
    preferences(PreferenceConfig("demo", tmp_path / "set", biases=EDITS, not_from=(tmp_path / "audit",), test=0))
    assert asked(tmp_path / "set") == questions(tuple(every[50:]))
    write_pairs(audited, every[:50])
    with pytest.raises(UsageError, match="None of the 50 pairs may be used"):
        preferences(PreferenceConfig(str(audited), tmp_path / "none", biases=EDITS, not_from=(tmp_path / "audit",)))
    assert not (tmp_path / "none").exists()


def test_questions_of_a_benchmark_stay_out_and_the_card_says_so_without_any_path(tmp_path: Path) -> None:
    every = list(load_pairs("demo"))
    bench = tmp_path / "secret-place" / "bench.jsonl"
    bench.parent.mkdir()
    bench.write_text("".join(json.dumps({"question": str(p.prompt).upper()}) + "\n" for p in every[:7]))
    source = bench.parent / "mine.jsonl"
    write_pairs(source, every)
    preferences(PreferenceConfig(str(source), tmp_path / "set", biases=EDITS, not_in=(bench,)))
    assert asked(tmp_path / "set") == questions(tuple(every[7:]))
    assert "| bench.jsonl | benchmark | 7 | 0 |" in (tmp_path / "set/README.md").read_text()
    assert not [p.name for p in (tmp_path / "set").iterdir() if b"secret-place" in p.read_bytes()]


@pytest.mark.parametrize("change", ["changed", "gone"])
def test_a_discovery_whose_pairs_are_no_more_what_they_were_is_refused(
    discovery: Path, world: Path, tmp_path: Path, change: str
) -> None:
    file = world / "pairs.jsonl"
    before = file.read_text()
    try:
        if change == "gone":
            file.unlink()
        else:
            file.write_text(before.split("\n", 1)[1])
        with pytest.raises(InputError, match=r"which pairs the run .* holds out cannot be told"):
            preferences(PreferenceConfig("demo", tmp_path / "set", biases=EDITS, not_from=(discovery,)))
    finally:
        file.write_text(before)
    assert not (tmp_path / "set").exists()


def test_a_stopped_export_writes_nothing_and_goes_on_to_the_same_set_without_asking_again(
    discovery: Path, world: Path, tmp_path: Path
) -> None:
    source = world / "pairs.jsonl"
    config, stop = again(discovery, tmp_path / "set", source, library=world / "library", biases=("calm",)), Event()
    plan = plan_preferences(config)
    with pytest.raises(Incomplete):
        export_preferences(plan, watch=lambda phase, done, total, cost: stop.set(), stop=stop)
    plan.close()
    assert not (tmp_path / "set").exists()
    kept = len(Ledger(tmp_path / "set-work/teacher.sqlite"))
    assert kept >= 1
    preferences(config)
    asked_in_all = len(Ledger(tmp_path / "set-work/teacher.sqlite"))
    preferences(replace(config, out=tmp_path / "again"))
    assert len(Ledger(tmp_path / "set-work/teacher.sqlite")) == asked_in_all > kept
    assert both(tmp_path / "again") == both(tmp_path / "set")


# The command


def test_the_command_prints_what_it_wrote_and_json_is_the_record_alone(tmp_path: Path) -> None:
    said = recuse("export", "demo", "--kind", "preferences", "--bias", "authority", "--out", tmp_path / "a", "--quiet")
    assert (said.code, said.out, said.err) == (0, "train: 108 rows, test: 12 rows; 0 pairs left out.\n", "")
    said = recuse("export", "demo", "--kind", "preferences", "--bias", "authority", "--out", tmp_path / "b", "--json")
    assert (said.code, said.err) == (0, "")
    assert json.loads(said.out) == json.loads((tmp_path / "b/export.json").read_text())
    assert "Unconfirmed:** Authority" in (tmp_path / "b/README.md").read_text()


def test_a_dry_run_says_what_would_be_asked_and_writes_nothing(discovery: Path, world: Path, tmp_path: Path) -> None:
    said = recuse(
        "export", world / "pairs.jsonl", "--kind", "preferences", "--run", discovery, "--teacher", TEACHER, "--dry-run",
        "--out", tmp_path / "set", "--json",
    )  # fmt: skip
    told = json.loads(said.out)
    parts = split(PAIRS)
    assert (told["pairs"], told["used"]) == (len(PAIRS), len(parts.discovery))
    assert told["left_out"] == len(parts.validation) + len(parts.test)
    assert told["teacher"]["calls"] == 4 * len(parts.discovery)  # three tries and a verification of each
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--kind", "preferences"], "What is to be exported, and where? Give PAIRS and --out."),
        (["demo", "--kind", "dpo", "--out", "x"], "--kind is 'dpo'. It is benchmark or preferences."),
        (["demo", "--kind", "preferences", "--out", "x"], "Which biases? Give --run RUN"),
        (["demo", "--kind", "preferences", "--out", "x", "--bias", "nonsense"], "There is no bias 'nonsense'."),
        (["demo", "--kind", "preferences", "--out", "x", "--bias", "authority", "--judge", "fake/skill=1"],
         "--kind preferences goes without --judge."),
        (["demo", "--kind", "benchmark", "--out", "x", "--not-in", "y"], "--kind benchmark goes without --not-in."),
        (["demo", "--kind", "preferences", "--out", "x", "--bias", "authority", "--mix", "1"],
         "--mix is 1. Give the share of untouched pairs, from 0 to under 1."),
        (["demo", "--kind", "preferences", "--out", "x", "--bias", "authority", "--test", "1.5"], "--test is 1.5."),
        (["demo", "--kind", "preferences", "--out", "x", "--bias", "authority", "--per-pair", "2"],
         "--per-pair is 2, and only 1 of the biases can be put in."),
        (["demo", "--kind", "preferences", "--out", "x", "--bias", "authority", "--not-from", "nowhere"],
         "There is no run at nowhere."),
        (["demo", "--kind", "preferences", "--out", "x", "--bias", "authority", "--not-in", "nowhere.jsonl"],
         "nowhere.jsonl: no such file"),
        (["demo", "--kind", "preferences", "--out", "x", "--bias", "code-names"],
         "None of 10 rewritten answers passed the checks (10 unchanged); nothing was written."),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = recuse("export", *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_holds_anything_is_refused_and_an_empty_one_is_taken(tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("keep")
    said = recuse("export", "demo", "--kind", "preferences", "--bias", "authority", "--out", tmp_path)
    assert (said.code, "is not empty" in said.err, mine.read_text()) == (2, True, "keep")
    (tmp_path / "empty").mkdir()
    assert (
        recuse("export", "demo", "--kind", "preferences", "--bias", "authority", "--out", tmp_path / "empty").code == 0
    )
    assert {p.name for p in (tmp_path / "empty").iterdir()} == FILES


def test_a_run_folder_that_is_no_audit_and_a_run_without_confirmed_biases_are_refused(
    tmp_path: Path, discovery: Path
) -> None:
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd/run.toml").write_text('schema = 1\n[run]\nkind = "other"\n')
    with pytest.raises(UsageError, match="holds no finished audit or discovery"):
        preferences(PreferenceConfig("demo", tmp_path / "set", biases=EDITS, not_from=(tmp_path / "odd",)))
    audit = tmp_path / "audit"
    recuse("audit", "--judge", "fake/skill=1", "--pairs", "demo", "--biases", "emoji", "--out", audit, "--quiet")
    with pytest.raises(UsageError, match="confirmed no bias"):
        preferences(PreferenceConfig("demo", tmp_path / "set", run=audit))


def dotted(messages: Sequence[Mapping[str, str]]) -> str:
    """A teacher that hands the answer back with a full stop behind it, as a small model does."""
    found = re.search(r"<answer>\n?(.*?)\n?</answer>", messages[-1]["content"], re.DOTALL)
    assert found is not None
    return f"{found[1]}."


def test_a_teacher_that_only_adds_full_stops_puts_no_bias_in_and_gives_no_set(tmp_path: Path) -> None:
    source = tmp_path / "pairs.jsonl"
    write_pairs(
        source,
        [Pair("", f"What is sold in shop {i}?", f"Tea of kind {i}", f"Coffee of kind {i}", "") for i in range(6)],
    )
    config = PreferenceConfig(
        str(source), tmp_path / "set", biases=("authority",), teacher="python/test_export_preferences:dotted",
        work=tmp_path / "work",
    )  # fmt: skip
    with pytest.raises(UsageError, match=r"None of 6 rewritten answers passed the checks \(6 unchanged\)"):
        preferences(config)
    assert not (tmp_path / "set").exists()


def test_names_that_a_model_or_a_file_brought_cannot_break_the_card(tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    library.joinpath("odd.toml").write_text(
        'id = "odd"\nname = "<script>alert(1)</script> | \\n---\\n# Head"\ndefinition = "d"\nmanifestations = ["m"]\n'
        'edit = "authority"\nfamily = "social"\nsource = ["s"]\nstatus = "seed"\n'
    )
    out = tmp_path / "se: t"
    preferences(PreferenceConfig("demo", out, biases=("odd",), library=library))
    card = (out / "README.md").read_text()
    assert "<script>" not in card
    assert card.count("\n---\n") == 1  # the end of the front matter
    assert 'pretty_name: "se: t"' in card
