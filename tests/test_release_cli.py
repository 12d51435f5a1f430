"""`recuse gate` on the folders of real audits and discoveries: exit codes, what is written, and bad input."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest
from json_schema import check
from release_world import CONFIG, GAP, finding, write_gate, write_run
from report_example import HOSTILE

from recuse import assets
from recuse.cli import run
from recuse.release import load_tolerances, read_run

SHIPPED = str(assets.data("gate.toml"))
BAND = {GAP: {"min": -0.05, "max": 0.05}}


@pytest.fixture(scope="module")
def audits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("audits")
    for name, judge in (("good", "skill=9"), ("bad", "always=first"), ("unsure", "skill=1.3,seed=3")):
        assert run(["audit", "--judge", f"fake/{judge}", "--pairs", "demo", "--out", str(place / name), "--quiet"]) != 2
    return place


def gate(*arguments: object) -> int:
    return run(["gate", *map(str, arguments)])


@pytest.mark.parametrize(("name", "code"), [("good", 0), ("bad", 1), ("unsure", 3)])
def test_an_audit_is_decided_by_its_own_gate_file_as_the_audit_decided_it(
    audits: Path, name: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gate(audits / name, "--tolerances", SHIPPED, "--json") == code
    said = capsys.readouterr()
    found = json.loads(said.out)
    audit = json.loads((audits / name / "findings.json").read_text())
    words = {"fit": "pass", "recuse": "fail", "inconclusive": "inconclusive"}
    assert said.err == ""
    assert found["outcome"] == words[audit["outcome"]]
    decided = {f["id"]: f for f in audit["findings"] if f["outcome"]}
    assert {one["id"]: one["outcome"] for one in found["checks"]} == {
        id: words[one["outcome"]] for id, one in decided.items()
    }
    for one in found["checks"]:
        assert one["estimate"] == decided[one["id"]]["estimate"]
        assert one["band"] == decided[one["id"]]["tolerance"]
    assert found["run"]["kind"] == "audit"
    assert found["tolerances"]["hash"] == assets.digest(Path(SHIPPED).read_bytes())


def test_another_judge_voids_the_baseline_of_an_audit(audits: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gate(audits / "good", "--tolerances", SHIPPED, "--baseline", audits / "unsure", "--json") == 3
    found = json.loads(capsys.readouterr().out)
    assert found["baseline"]["void"] == ["judge (fake/skill=1.3,seed=3 before, fake/skill=9 now)"]
    assert [one["outcome"] for one in found["checks"]] == ["pass"] * 4
    assert gate(audits / "good", "--tolerances", SHIPPED, "--baseline", audits / "good", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["baseline"]["changes"]["accuracy.error_rate"]["estimate"] == 0.0


def test_a_discovery_is_read_with_the_findings_of_its_candidates(tmp_path: Path) -> None:
    own = finding("bias.authority.effect", 0.02, [-0.01, 0.04])
    more = {"candidates": [{"id": "authority", "findings": [own]}], "judge": "fake/x", "kind": "discovery"}
    folder = write_run(tmp_path / "run", [finding("sham.scatter", 0.01, [0.0, 0.02])], **more)
    bands = write_gate(tmp_path / "gate.toml", {"bias.authority.effect": {"max": 0.05}, "sham.scatter": {"max": 0.1}})
    assert gate(folder, "--tolerances", bands) == 0
    assert set(read_run(folder).findings) == {"bias.authority.effect", "sham.scatter"}


def test_junit_has_a_testcase_a_check_and_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ids = [f"probe.gap:m{i}:women/men" for i in range(3)]
    found = [
        finding(ids[0], 0.0, [-0.01, 0.01]),
        finding(ids[1], 0.5, [0.4, 0.6]),
        finding(ids[2], None, reason="no reply gave a value"),
    ]
    folder = write_run(tmp_path / "run", found)
    before = write_run(tmp_path / "before", found, config={**CONFIG, "temperature": 0.0})
    bands = write_gate(tmp_path / "gate.toml", {id: {"max": 0.05} for id in ids})
    out = tmp_path / "gate.xml"
    assert gate(folder, "--tolerances", bands, "--junit", out, "--baseline", before) == 1
    root = xml.parse(out).getroot()
    assert {key: root.get(key) for key in ("tests", "failures", "errors")} == {
        "tests": "4", "failures": "1", "errors": "2"
    }  # fmt: skip
    cases = {case.get("name"): case for case in root.iter("testcase")}
    assert list(cases) == [*ids, "baseline"]
    assert [child.tag for child in cases[ids[0]]] == ["system-out"]
    assert cases[ids[1]].find("failure").get("message") == "the whole interval lies outside the band"
    assert cases[ids[2]].find("error").get("message") == "not measured: no reply gave a value"
    assert "temperature (0.0 before, 1.0 now)" in cases["baseline"].find("error").get("message")
    capsys.readouterr()


def test_what_models_and_data_wrote_stays_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for i, (name, whole) in enumerate(HOSTILE.items()):
        text = whole[:50_000]
        id = "probe.gap:<b>|`x`:a/b" if name in ("surrogate", "long") else text
        found = [finding(GAP, 0.0, [-0.01, 0.01], title=text), finding(id, None, reason=text)]
        folder = write_run(tmp_path / "run", found, model=text)
        bands = write_gate(tmp_path / "gate.toml", {**BAND, id: {"max": 1.0}})
        page, report = tmp_path / f"{i}.md", tmp_path / f"{i}.xml"
        assert gate(folder, "--tolerances", bands, "--markdown", page, "--junit", report) == 3
        written = page.read_text(encoding="utf-8")
        rows = [line for line in written.splitlines() if line.startswith("|")]
        assert len(rows) == 4
        assert len({row.count("|") for row in rows}) == 1  # no cell is opened or closed by a title
        assert not re.search(r"<(?!http)|(?<!\\)\]\(|(?<!\\)!\[", written)
        assert len(list(xml.parse(report).getroot().iter("testcase"))) == 2
    assert "\x1b" not in capsys.readouterr().out


def test_the_summary_page_is_appended_to_where_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_run(tmp_path / "run", [finding(GAP, 0.0, [-0.01, 0.01])])
    bands = write_gate(tmp_path / "gate.toml", BAND)
    page = tmp_path / "summary.md"
    page.write_text("# before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    assert gate(folder, "--tolerances", bands) == 0
    assert page.read_text() == "# before\n"
    assert gate(folder, "--tolerances", bands, "--summary", "--markdown", tmp_path / "m.md") == 0
    assert page.read_text() == f"# before\n{(tmp_path / 'm.md').read_text()}\n"
    monkeypatch.delenv("GITHUB_STEP_SUMMARY")
    assert gate(folder, "--tolerances", bands, "--summary") == 0
    assert "GITHUB_STEP_SUMMARY is not set" in capsys.readouterr().err


def test_a_file_is_replaced_whole_and_a_place_that_cannot_be_written_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_run(tmp_path / "run", [finding(GAP, 0.0, [-0.01, 0.01])])
    bands = write_gate(tmp_path / "gate.toml", BAND)
    (tmp_path / "out").mkdir()
    target = tmp_path / "out" / "gate.xml"
    target.write_text("old" * 10_000)
    assert gate(folder, "--tolerances", bands, "--junit", target) == 0
    xml.parse(target)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["gate.xml"]
    assert gate(folder, "--tolerances", bands, "--junit", tmp_path / "no" / "gate.xml") == 2
    assert "no/gate.xml cannot be written (No such file or directory). Name a file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("schema = 1\n[primary]\n'probe.gap:x:a/b' = {max = 1.0}\n",
         f"field 'primary': the run has no 'probe.gap:x:a/b'. It has: {GAP}."),
        ("schema = 1\n", "nothing to decide"),
        ("schema = 2\n[primary.x]\nmax = 1\n", "field 'schema'"),
        ("schema = 1\n[primary.x]\nmx = 1\n", "field 'primary.x.mx': unknown key"),
        ("schema = 1\n[primary.x]\n", "field 'primary.x': give min, max, max_rise or max_fall. Correct this key."),
        ("schema = 1\n[primary.x]\nmin = 1\nmax = 0\n", "field 'primary.x': min must be below max"),
        ("schema = 1\n[primary.x]\nmax_rise = -1\n", "field 'primary.x.max_rise'"),
        ("schema = 1\n[primary.x]\nmax = nan\n", "field 'primary.x.max'"),
        ("schema = 1\n[primary.x]\nmax = true\n", "field 'primary.x.max'"),
        ("schema = 1\n[primary.x]\nmax = '0.05'\n", "field 'primary.x.max'"),
        ("schema = 1\n[worst_slice]\nflor = 0.8\n", "field 'worst_slice.flor'"),
        ("schema = 1\n[worst_slice]\n", "field 'worst_slice': the run has none of these slices"),
        ("schema = 1\nlevel = 0.99\n[primary]\n", "nothing to decide"),
        (f"schema = 1\nlevel = 0.99\n[primary.'{GAP}']\nmax = 1\n", "field 'level': asks for intervals at 0.99"),
        (f"schema = 1\n[primary.'{GAP}']\nmax_rise = 0.1\n", "compare with an earlier run. Give it with --baseline."),
        ("schema = 1\n[calibration]\nlow = 1\n[primary.x]\nmax = 1\n", "field 'calibration.low'"),
        ("schema 1", "not TOML"),
        (None, "cannot be read (No such file or directory). Give a gate.toml file."),
    ],
)  # fmt: skip
def test_a_bad_gate_file_gives_one_sentence(
    tmp_path: Path, content: str | None, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, bands = write_run(tmp_path / "run", [finding(GAP, 0.0, [-0.01, 0.01])]), tmp_path / "gate.toml"
    if content is not None:
        bands.write_text(content)
    assert gate(folder, "--tolerances", bands) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.startswith(f"recuse: {bands}")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": 2}, "field 'schema': not the findings of a run"),
        ({"kind": "recipe"}, "field 'kind'"),
        ({"findings": [finding(GAP, 0.0, [0.1, -0.1])]}, "0.1 to -0.1 runs backwards"),
        ({"findings": [finding(GAP, 0.0, [-0.1, 0.1, 0.2])]}, "field 'findings.0.interval'"),
        ({"findings": [finding(GAP, "0.0", [-0.1, 0.1])]}, "field 'findings.0.estimate'"),
        ({"findings": [finding(GAP, float("nan"), [-0.1, 0.1])]}, "field 'findings.0.estimate'"),
        ({"findings": [finding(GAP, 0.0, [-0.1, 0.1], p=2)]}, "field 'findings.0.p'"),
        ({"findings": [{"id": GAP}]}, "field 'findings.0.title'"),
        ({"findings": [finding(GAP, 0.0), finding(GAP, 0.1)]}, f"the finding '{GAP}' stands twice"),
    ],
)
def test_a_damaged_run_gives_one_sentence(
    tmp_path: Path, change: dict, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_run(tmp_path / "run", [finding(GAP, 0.0, [-0.01, 0.01])])
    path = folder / "findings.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    assert gate(folder, "--tolerances", write_gate(tmp_path / "gate.toml", BAND)) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_torn_an_unfinished_and_an_empty_folder_are_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bands = write_gate(tmp_path / "gate.toml", BAND)
    folder = write_run(tmp_path / "run", [finding(GAP, 0.0, [-0.01, 0.01])])
    text = (folder / "findings.json").read_text()
    for spoil, said in (
        (
            lambda: (folder / "findings.json").write_text(text[:100]),
            "findings.json: not JSON: ",
        ),
        (lambda: (folder / "findings.json").write_text(text) and (folder / "run.toml").write_text("x"), "not TOML"),
        (lambda: (folder / "findings.json").unlink(), "is not finished. Run its command again to finish it."),
        (lambda: (folder / "run.toml").unlink(), "holds no run: there is no findings.json. Give the folder"),
        (lambda: folder.rmdir(), "holds no run"),
    ):
        spoil()
        assert gate(folder, "--tolerances", bands) == 2
        error = capsys.readouterr().err
        assert said in error
        assert error.count("\n") == 1


def test_every_gate_file_of_an_audit_is_one_of_a_release() -> None:
    from recuse.gate import load_gate

    ours, theirs = load_tolerances(Path(SHIPPED)), load_gate()
    assert {id: band.level for id, band in ours.primary.items()} == {
        id: (band.min, band.max) for id, band in theirs.primary.items()
    }
    assert [band.recuse for band in ours.primary.values()] == [band.recuse for band in theirs.primary.values()]
    assert (ours.level, ours.calibration) == (theirs.level, theirs.calibration)


def test_help_loads_nothing_heavy_for_it() -> None:
    import subprocess
    import sys

    code = (
        "import sys; from recuse.cli import run; run(['gate', '--help']);"
        "print(sorted({'numpy', 'scipy', 'pyarrow'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_a_probe_by_hand_is_one_by_the_schema(tmp_path: Path) -> None:
    """What these tests write has the form of findings that probes write."""
    schema = json.loads(assets.data("probe.schema.json").read_text())
    content = json.loads((write_run(tmp_path, [finding(GAP, 0.0, [-0.01, 0.01])]) / "findings.json").read_text())
    check(content["findings"][0], schema["$defs"]["finding"], whole=schema)


def test_the_example_workflow_uses_options_that_there_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each of its commands, with a plan, a run and bands that are not there, ends at the missing file."""
    text = (Path(__file__).parent.parent / "experiments" / "ci" / "gate.yml").read_text(encoding="utf-8")
    commands = [line.split(" || ")[0] for line in re.findall(r"(?:^|: )\s*(recuse .*)$", text, re.MULTILINE)]
    assert len(commands) == 3
    for command in commands:
        words = [str(tmp_path / word) if word.endswith(".toml") or word == "run" else word for word in command.split()]
        words[2] = "run" if words[1] == "probe" else words[2]
        assert run(words[1:]) == 2
        error = capsys.readouterr().err
        assert "cannot be read (No such file or directory)" in error
        assert "option" not in error.casefold()
