"""`recuse report` and `recuse compare`: a run's files are written again to the byte, and two runs held together."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from discovered_example import EXAMPLE as DISCOVERED
from scipy import stats
from test_report_probed import EXAMPLE as PROBED

from recuse.cli import run
from recuse.report.casefile import read_cases
from recuse.report.discovered_html import discovered_html
from recuse.report.jsonable import discovered_text, probed_text
from recuse.report.probed_html import probed_html

JUDGE = "fake/skill=1.2,position=0.7,logprobs=1"


def audit(folder: Path, *options: str, judge: str = JUDGE, pairs: str = "demo") -> None:
    code = run(["audit", "--judge", judge, "--pairs", pairs, "--out", str(folder), "--quiet", *options])
    assert code in (0, 1, 3)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An audit with biases in the answers."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    audit(folder, "--biases", "authority,emoji", "--shams", "5")
    return folder


def test_every_form_is_the_one_that_the_run_wrote(whole: Path, tmp_path: Path) -> None:
    for form, name in (("html", "report.html"), ("md", "report.md"), ("json", "findings.json")):
        out = tmp_path / name
        assert run(["report", str(whole), "--format", form, "--out", str(out)]) == 0
        assert out.read_bytes() == (whole / name).read_bytes()


def test_no_model_is_needed_and_the_pairs_may_be_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = tmp_path / "pairs.jsonl"
    rows = [{"prompt": f"{i}?", "chosen": f"yes {i}", "rejected": f"no {i}"} for i in range(8)]
    pairs.write_text("".join(json.dumps(row) + "\n" for row in rows))
    audit(tmp_path / "run", pairs=str(pairs))
    written = (tmp_path / "run" / "report.html").read_bytes()
    pairs.unlink()
    (tmp_path / "run" / "report.html").unlink()
    monkeypatch.setattr("recuse.plan.open_backend", None)
    assert run(["report", str(tmp_path / "run")]) == 0
    assert (tmp_path / "run" / "report.html").read_bytes() == written


def test_cases_say_what_the_ledger_and_the_verdicts_say(whole: Path) -> None:
    cases, total = read_cases(whole)
    rows = pq.read_table(whole / "judgements.parquet").to_pylist()
    shown = [
        r for r in rows if r["arm"] == "original" or r["arm"].startswith(("bias:", "placebo:")) or r["arm"] == "placebo"
    ]
    assert total == len(cases) == len({(r["pair"], r["arm"]) for r in shown})
    said = {(r["pair"], r["arm"], r["order"]): r["prefers"] for r in rows}
    place = {("AB", "chosen"): "A", ("AB", "rejected"): "B", ("BA", "chosen"): "B", ("BA", "rejected"): "A"}
    assert {c.arm for c in cases} >= {"original", "bias:authority", "bias:emoji"}
    for case in cases:
        for one in case.said:
            assert one.says == said[case.pair, case.arm, one.order]
            if one.replies:  # a request that two arms share is kept under the first
                assert one.replies == (place[one.order, one.says],)
    originals = {c.pair: c for c in cases if c.arm == "original"}
    assert all(c.said[0].replies for c in originals.values())
    for case in cases:
        if case.arm != "original":
            assert case.untouched == originals[case.pair].rejected != case.rejected
            assert case.chosen == originals[case.pair].chosen
            assert case.before == {s.order: s.says for s in originals[case.pair].said}


def test_junit_fails_where_the_audit_says_recuse(whole: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(["report", str(whole), "--format", "junit", "--out", "-"]) == 0
    root = ET.fromstring(capsysbinary.readouterr().out)
    primaries = [f for f in json.loads((whole / "findings.json").read_text())["findings"] if f["outcome"]]
    assert int(root.attrib["tests"]) == len(primaries) == len(list(root.iter("testcase")))
    assert (
        int(root.attrib["failures"])
        == sum(f["outcome"] == "recuse" for f in primaries)
        == len(list(root.iter("failure")))
    )
    assert int(root.attrib["errors"]) == sum(f["outcome"] == "inconclusive" for f in primaries)


def test_a_discovery_and_a_probe_come_back_whole(tmp_path: Path) -> None:
    for name, text, page in (
        ("discovery", discovered_text(DISCOVERED), discovered_html(DISCOVERED)),
        ("probe", probed_text(PROBED), probed_html(PROBED)),
    ):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "findings.json").write_text(text)
        assert run(["report", str(folder)]) == 0
        assert (folder / "report.html").read_text() == page
        assert run(["report", str(folder), "--format", "json"]) == 0
        assert (folder / "report.json").read_text() == text


def test_recorded_verdicts_keep_the_words_of_their_judge(tmp_path: Path) -> None:
    rows = [
        {"pair": f"p{i}", "order": order, "gold": "A", "text": f"Because {i}. [[{'A' if order == 'AB' else 'B'}]]"}
        for i in range(6)
        for order in ("AB", "BA")
    ]
    path = tmp_path / "verdicts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run(["audit", "--verdicts", str(path), "--out", str(tmp_path / "run"), "--quiet"]) in (0, 1, 3)
    cases, _ = read_cases(tmp_path / "run")
    assert {s.replies for c in cases for s in c.said if c.pair == "p3"} == {
        ("Because 3. [[A]]",),
        ("Because 3. [[B]]",),
    }
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Because 3. [[A]]" in page
    assert "The texts of these pairs are not known" in page


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "holds no run: there is no findings.json"),
        ("{", "not the findings of a run"),
        ("[]", "not the findings of a run"),
        ('{"schema": 1}', "not the findings of a run (KeyError"),
        ('{"schema": 2, "kind": "audit"}', "findings of schema 2"),
        ('{"schema": 1, "kind": "song"}', "kind 'song'"),
    ],
)
def test_a_folder_that_holds_no_run_is_one_sentence(
    content: str | None, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        (tmp_path / "findings.json").write_text(content)
    assert run(["report", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert len(told.strip().splitlines()) == 1


def test_a_run_that_stopped_and_a_form_that_is_none_say_what_to_do(
    tmp_path: Path, whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run.toml").write_text("")
    assert run(["report", str(tmp_path)]) == 2
    assert "is not finished" in capsys.readouterr().err
    assert run(["report", str(whole), "--format", "pdf"]) == 2
    assert "html, md, json, junit" in capsys.readouterr().err
    assert run(["report", str(whole), "--out", str(tmp_path / "no" / "r.html")]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_a_damaged_file_of_cases_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    audit(tmp_path / "run", "--limit", "6")
    (tmp_path / "run" / "cases.parquet").write_bytes(b"no parquet")
    assert run(["report", str(tmp_path / "run")]) == 2
    assert "the cases of the run cannot be read" in capsys.readouterr().err
    (tmp_path / "run" / "cases.parquet").unlink()
    assert run(["report", str(tmp_path / "run")]) == 0
    assert 'id="cases"' not in (tmp_path / "run" / "report.html").read_text()


def compared(capsys: pytest.CaptureFixture[str], *folders: Path) -> dict[str, Any]:
    capsys.readouterr()
    assert run(["compare", *map(str, folders), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_differences_are_paired_by_pair(tmp_path: Path, whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    audit(tmp_path / "b", "--biases", "authority,emoji", "--shams", "5", judge="fake/skill=3,position=0.1,logprobs=1")
    found = compared(capsys, whole, tmp_path / "b")
    values: list[dict[str, float]] = []
    for folder in (whole, tmp_path / "b"):
        errors: dict[str, list[float]] = {}
        for row in pq.read_table(folder / "judgements.parquet").to_pylist():
            if row["arm"] == "original":
                errors.setdefault(row["pair"], []).append(float(row["prefers"] == "rejected"))
        values.append({pair: sum(e) / len(e) for pair, e in errors.items()})
    gaps = np.array([values[1][pair] - values[0][pair] for pair in values[0]])
    error = next(row for row in found["findings"] if row["id"] == "accuracy.error_rate")
    assert error["change"]["estimate"] == pytest.approx(gaps.mean())
    assert error["change"]["estimate"] == pytest.approx(error["b"]["estimate"] - error["a"]["estimate"])
    low, high = stats.t.interval(0.95, len(gaps) - 1, gaps.mean(), stats.sem(gaps))
    assert error["change"]["interval"] == pytest.approx([low, high], abs=0.02)
    assert found["shared_pairs"] == len(gaps) == 60
    assert [d["key"] for d in found["differs"]] == ["judge"]
    paired = {row["id"] for row in found["findings"] if row["change"]}
    assert {"position.first_rate", "failures.rate", "bias.authority.effect", "bias.emoji.vs_original"} <= paired
    for row in found["findings"]:
        if row["id"].endswith((".effect", ".vs_original")) and row["change"]:
            assert row["change"]["estimate"] == pytest.approx(row["b"]["estimate"] - row["a"]["estimate"])
    assert run(["compare", str(whole), str(tmp_path / "b")]) == 0
    assert "60 shared pairs" in capsys.readouterr().out.replace("\n", " ")


def test_a_run_beside_itself_has_no_difference(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = compared(capsys, whole, whole)
    assert found["differs"] == []
    assert {row["change"]["estimate"] for row in found["findings"] if row["change"]} == {0.0}


def test_what_neither_run_measured_is_counted_and_not_shown(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = compared(capsys, whole, whole)["findings"]
    empty = [row for row in rows if row["a"]["estimate"] is None]
    assert run(["compare", str(whole), str(whole)]) == 0
    shown = capsys.readouterr().out
    assert empty
    assert f"Not shown: {len(empty)} that neither run measured" in shown
    assert "not measured" not in shown


def test_runs_without_shared_pairs_stand_side_by_side(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text("".join(json.dumps({"prompt": f"{i}?", "chosen": "y", "rejected": "n"}) + "\n" for i in range(8)))
    audit(tmp_path / "b", pairs=str(pairs))
    found = compared(capsys, whole, tmp_path / "b")
    assert found["shared_pairs"] == 0
    assert all(row["change"] is None for row in found["findings"])
    assert found["notes"] == ["The two stand side by side: no pair was judged in both."]


def test_runs_of_two_kinds_are_not_compared(whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "findings.json").write_text(probed_text(PROBED))
    assert run(["compare", str(whole), str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert f"{whole} holds an audit" in told
    assert f"{tmp_path} a probe" in told
