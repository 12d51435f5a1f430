"""`recuse calibrate` on the folders that real audits leave behind."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from recuse.calibration import Known, Labels, load_labels
from recuse.calibration.runs import LABELS, labels_bytes, read_run
from recuse.cli import run


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    place = tmp_path_factory.mktemp("runs")
    for name, judge in (("old", "fake/skill=3,noise=0.05,seed=1"), ("new", "fake/position=0.4,noise=0.3,seed=2")):
        assert run(["audit", "--judge", judge, "--pairs", "demo", "--out", str(place / name), "--quiet"]) in (0, 1, 3)
    return place / "old", place / "new"


@pytest.fixture
def labels(folders: tuple[Path, Path], tmp_path: Path) -> Path:
    pairs = sorted({row["pair"] for row in pq.read_table(folders[0] / "judgements.parquet").to_pylist()})
    path = tmp_path / "labels.jsonl"
    path.write_text("".join(json.dumps({"pair": pair, "label": "chosen"}) + "\n" for pair in pairs))
    return path


def test_compare_prints_what_moved(folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["calibrate", "compare", *map(str, folders)])
    out = capsys.readouterr().out
    assert code == {"PASS": 0, "FAIL": 1, "WARN": 3}[out.split(":")[0]]
    assert "Agreement with the known better answers, new minus old: " in out
    assert "with people" not in out
    assert "verdicts changed" in out
    assert "Settings that differ: judge (fake/skill=3,noise=0.05,seed=1 before" in out
    assert "No labels of people" in out


def test_compare_as_json_lists_every_changed_verdict(
    folders: tuple[Path, Path], labels: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["calibrate", "compare", *map(str, folders), "--human", str(labels), "--json"])
    found = json.loads(capsys.readouterr().out)
    old, new = (
        {(r["pair"], r["order"]): r["prefers"] for r in pq.read_table(f / "judgements.parquet").to_pylist()}
        for f in folders
    )
    assert len(found["changed"]) == sum(old[key] != new[key] for key in old)
    moved = next(f for f in found["findings"] if f["id"] == "compare.agreement_change")
    right = [sum(v == "chosen" for v in verdicts.values()) / len(old) for verdicts in (old, new)]
    assert moved["estimate"] == pytest.approx(right[1] - right[0])
    assert found["notes"][0].endswith("verdicts changed; whether the judge is another instrument cannot be told: "
                                      "neither was asked twice (--repeats).")  # fmt: skip


@pytest.mark.parametrize("command", ["compare", "panel"])
def test_labels_are_read_from_any_columns_persons_and_words(
    command: str, folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three people, whose majority is the better answer in all but every fifth pair: the same labels in three forms."""
    pairs = sorted({row["pair"] for row in pq.read_table(folders[0] / "judgements.parquet").to_pylist()})
    said = {p: ["chosen", "rejected" if i % 5 == 0 else "chosen", ("rejected", "chosen")[i % 5 > 0]]
            for i, p in enumerate(pairs)}  # fmt: skip
    words = {"chosen": "good", "rejected": "bad"}
    (tmp_path / "plain.jsonl").write_text(
        "".join(json.dumps({"pair": p, "label": labels}) + "\n" for p, labels in said.items())
    )
    (tmp_path / "wide.jsonl").write_text(
        "".join(json.dumps({"item": p, **{f"r{i}": w for i, w in enumerate(of)}}) + "\n" for p, of in said.items())
    )
    (tmp_path / "long.jsonl").write_text("".join(
        json.dumps({"pair": p, "who": f"r{i}", "verdict": words[w]}) + "\n"
        for p, of in said.items() for i, w in enumerate(of)
    ))  # fmt: skip
    forms = {
        "plain": (),
        "wide": ("--key", "item", "--label", "r0,r1,r2"),
        "long": ("--label", "verdict", "--annotator", "who", "--means", "good=chosen", "--means", "bad=rejected"),
    }
    found = {}
    for name, more in forms.items():
        run(["calibrate", command, *map(str, folders), "--human", str(tmp_path / f"{name}.jsonl"), *more, "--json"])
        found[name] = json.loads(capsys.readouterr().out)["findings"]
    assert found["plain"] == found["wide"] == found["long"]
    if command == "panel":
        rows = pq.read_table(folders[0] / "judgements.parquet").to_pylist()
        told = {p: "chosen" if of.count("chosen") > 1 else "rejected" for p, of in said.items()}
        right = sum(r["prefers"] == told[r["pair"]] for r in rows) / len(rows)
        assert any(f["estimate"] == pytest.approx(right) for f in found["wide"])


def test_options_of_labels_go_with_a_file_of_them(
    folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["calibrate", "panel", *map(str, folders), "--label", "x"]) == 2
    assert "go with --human" in capsys.readouterr().err


def test_panel_weighs_judges_by_what_they_got_right(
    folders: tuple[Path, Path], labels: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["calibrate", "panel", *map(str, folders), "--human", str(labels)]) == 0
    out = capsys.readouterr().out
    assert "Kappa with people, the majority vote: " in out
    assert "A panel hides no bias that all its judges share" in out
    run(["calibrate", "panel", *map(str, folders)])
    out = capsys.readouterr().out
    assert "Kappa with the known better answers, the majority vote: " in out
    assert "people say" not in out
    run(["calibrate", "panel", *map(str, folders), "--json"])
    found = json.loads(capsys.readouterr().out)
    assert len(found["judges"]) == 2
    assert found["weights"][found["judges"][0]] > found["weights"][found["judges"][1]]


def test_labels_in_the_folder_are_read_back(folders: tuple[Path, Path], labels: Path, tmp_path: Path) -> None:
    known = [Known(j.pair, "A") for j in read_run(folders[0]).judgements]
    labels.write_text(labels.read_text().replace("chosen", "tie", 1))
    given = load_labels(labels, list({k.pair: k for k in known}.values()))
    copy = tmp_path / "run"
    copy.mkdir()
    for name in ("run.toml", "judgements.parquet", "findings.json"):
        (copy / name).write_bytes((folders[0] / name).read_bytes())
    (copy / LABELS).write_bytes(labels_bytes(given))
    held = read_run(copy).labels
    assert isinstance(held, Labels)
    assert (held.votes, held.places, held.hash) == (given.votes, given.places, given.hash)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["compare", "{old}", "{tmp}"], "holds no finished audit: there is no run.toml"),
        (["panel", "{old}"], "A panel needs two runs or more"),
        (["compare", "{old}", "{broken}"], "the run folder is damaged"),
        (["compare", "{old}", "{old}", "--human", "{tmp}/none.csv"], "no such file"),
        (["compare", "{old}", "{old}", "--human", "{strange}"], "no label matches a pair"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence_and_exit_2(
    folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    broken, strange = tmp_path / "broken", tmp_path / "strange.csv"
    broken.mkdir()
    for name in ("run.toml", "findings.json", "judgements.parquet"):
        (broken / name).write_bytes((folders[0] / name).read_bytes()[:40])
    strange.write_text("pair,label\nnobody,chosen\n")
    names = {"old": folders[0], "tmp": tmp_path, "broken": broken, "strange": strange}
    code = run(["calibrate", *(a.format(**names) for a in arguments)])
    err = capsys.readouterr().err
    assert code == 2
    assert says in err
    assert err.count("\n") == 1


def test_labels_by_text_are_told_that_runs_keep_no_texts(
    folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same file serves `recuse audit --human`, which has the texts."""
    path = tmp_path / "texts.jsonl"
    path.write_text(json.dumps({"prompt": "q", "chosen": "a", "rejected": "b", "label": "chosen"}) + "\n")
    assert run(["calibrate", "panel", *map(str, folders), "--human", str(path)]) == 2
    said = capsys.readouterr().err
    assert "pair ids, since runs keep no texts" in said
    assert "--key" in said


def test_a_usage_error_points_to_the_help_of_its_own_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["calibrate", "compare", "old"]) == 2
    assert capsys.readouterr().err == "recuse: Missing argument 'RUN_NEW'. See recuse calibrate compare --help.\n"
