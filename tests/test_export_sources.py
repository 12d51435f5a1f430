"""Which biases an export takes: what a run confirmed, what the user names, and what it refuses in one sentence."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from export_world import record_of, recuse, rows_of, source, tree

from recuse.assets import folder as shipped
from recuse.errors import InputError, UsageError
from recuse.export.sources import sources
from recuse.library import Bias, Evidence, load_bias, load_library, write_bias

JUDGE = "fake/skill=1.2,likes=study,like=4,seed=1"


def discovery(folder: Path, **status: str) -> Path:
    """A finished discovery with these candidates, as far as an export reads it."""
    (folder / "candidates").mkdir(parents=True)
    for i, (id, said) in enumerate(status.items()):
        evidence = Evidence(effect=0.1 * (i + 1), interval=(0.01, 0.5), n=50, groups=50, judge="fake/x", run="run")
        bias = load_bias("authority").model_copy(update={"id": id, "name": id, "status": said, "evidence": [evidence]})
        write_bias(bias, folder / "candidates")
    (folder / "findings.json").write_text(json.dumps({"schema": 1, "kind": "discovery", "judge": "fake/x"}))
    return folder


def test_a_discovery_gives_its_confirmed_biases_the_strongest_first(tmp_path: Path) -> None:
    run = discovery(tmp_path / "found", weak="confirmed", no="rejected", maybe="candidate", strong="confirmed")
    found = sources(run=run)
    assert [(s.bias.id, s.confirmed, s.judges, s.run) for s in found] == [
        ("strong", True, ("fake/x",), "found"), ("weak", True, ("fake/x",), "found"),
    ]  # fmt: skip
    assert found[0].effect == pytest.approx(0.4)


def test_named_biases_stand_behind_the_confirmed_ones_and_are_marked(tmp_path: Path) -> None:
    run = discovery(tmp_path / "found", study="confirmed")
    assert [(s.bias.id, s.confirmed, s.run) for s in sources(run=run, ids=["emoji", "emoji"])] == [
        ("study", True, "found"), ("emoji", False, None),
    ]  # fmt: skip


def test_a_bias_that_was_promoted_counts_as_confirmed_on_its_judge(tmp_path: Path) -> None:
    evidence = Evidence(effect=0.2, interval=(0.1, 0.3), n=50, groups=50, judge="openai/x", run="r")
    bias = load_bias("authority").model_copy(update={"status": "confirmed", "evidence": [evidence]})
    write_bias(bias, tmp_path / "mine")
    (found,) = sources(ids=["authority"], library=tmp_path / "mine")
    assert (found.confirmed, found.judges, found.effect) == (True, ("openai/x",), 0.2)


def test_the_version_changes_with_any_word_of_the_bias() -> None:
    bias = load_bias("authority")
    assert _version(bias) != _version(bias.model_copy(update={"definition": bias.definition + "."}))


def _version(bias: Bias) -> str:
    from recuse.export.sources import Source

    return Source(bias, False).version


# A real audit of known biases


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("audit")
    pairs = source(folder, 150)
    said = recuse(
        "audit", "--judge", JUDGE, "--pairs", pairs, "--biases", "authority,emoji", "--shams", "5",
        "--out", folder / "known", "--quiet",
    )  # fmt: skip
    assert said.code in (0, 1, 3), said.err
    return folder / "known", pairs


def test_what_an_audit_confirmed_is_exported_as_confirmed_and_its_replies_serve_again(
    audit: tuple[Path, Path], tmp_path: Path
) -> None:
    run, pairs = audit
    before = tree(run)
    said = recuse(
        "export", pairs, "--judge", JUDGE, "--run", run, "--variants", "1", "--out", tmp_path / "set",
        "--work", tmp_path / "work",
    )  # fmt: skip
    assert said.code == 0, said.err
    rows, record = rows_of(tmp_path / "set"), record_of(tmp_path / "set")
    assert {(r["injected_bias"], r["bias_confirmed"], r["bias_run"]) for r in rows} == {("authority", True, "known")}
    assert all(r["bias_confirmed_on"] == [JUDGE] for r in rows)
    assert "Unconfirmed" not in (tmp_path / "set" / "README.md").read_text()
    assert record["usage"]["judge_1"]["calls"] == 4 * len(rows) - 2 * (
        len(rows) - len({r["source_pair"] for r in rows})
    )
    assert tree(run) == before


def test_a_library_that_changed_since_the_audit_is_refused(audit: tuple[Path, Path], tmp_path: Path) -> None:
    shutil.copytree(shipped("bias_library"), tmp_path / "mine")
    bias = load_library(tmp_path / "mine")["emoji"]
    write_bias(bias.model_copy(update={"definition": "Another."}), tmp_path / "mine", replace=True)
    with pytest.raises(InputError, match="not those of the library any more"):
        sources(run=audit[0], library=tmp_path / "mine")


# What is refused


def test_a_run_without_confirmed_biases_is_one_sentence(tmp_path: Path) -> None:
    run = discovery(tmp_path / "found", no="rejected", maybe="candidate")
    said = recuse("export", "demo", "--judge", JUDGE, "--run", run, "--out", tmp_path / "set")
    assert said.code == 2
    assert said.err == (
        f"recuse: {run} confirmed no bias. --bias ID takes any of the library, marked as unconfirmed in every row.\n"
    )
    assert not (tmp_path / "set").exists()


def test_the_same_run_serves_where_a_bias_is_named(tmp_path: Path) -> None:
    run = discovery(tmp_path / "found", no="rejected")
    assert [s.bias.id for s in sources(run=run, ids=["authority"])] == ["authority"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "holds no finished run"),
        ('{"kind": "probe", "findings": []}', "tested no bias"),
        ('{"findings": [{"id": "accuracy.error_rate"}]}', "tested no bias"),
        ("{", "not as recuse writes it"),
        ('{"findings": 3}', "not as recuse writes it"),
    ],
)
def test_a_folder_that_is_no_such_run_is_refused(tmp_path: Path, content: str | None, said: str) -> None:
    if content is not None:
        (tmp_path / "findings.json").write_text(content)
    with pytest.raises((UsageError, InputError), match=said):
        sources(run=tmp_path)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "Which biases?"),
        (["--bias", "nonsense"], "There is no bias 'nonsense'."),
        (["--bias", "position"], "The bias 'position' has no rule-based edit."),
        (["--bias", "authority", "--least", "2"], "--least is 2."),
        (["--bias", "authority", "--variants", "11"], "--variants is 11."),
        (["--bias", "authority", "--judge", JUDGE], "A judge is given twice."),
        (["--bias", "authority", "--kind", "poem"], "--kind is 'poem'."),
        (["--bias", "authority", "--judge", "nobody/x"], "nobody"),
    ],
)
def test_options_that_cannot_be_are_one_sentence(tmp_path: Path, options: list[str], said: str) -> None:
    done = recuse("export", "demo", "--judge", JUDGE, *options, "--out", tmp_path / "set", "--work", tmp_path / "w")
    assert done.code == 2
    assert said in done.err
    assert done.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
