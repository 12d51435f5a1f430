"""A person keeps what a run found; the command never keeps what was not confirmed, and never overwrites."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from recuse import assets
from recuse.cli import run
from recuse.errors import UsageError
from recuse.library import Bias, Evidence, check_library, load_library, promote, slug, write_bias
from recuse.perturb.edits import EDITS

TONE = Bias(
    id="solemn-tone",
    name="Solemn tone",
    definition='The judge prefers a "solemn" tone \\ with {{braces}}, across\nlines.',
    manifestations=["Grave words win.", "Ein ernster Ton gewinnt – auch mit „Anführungszeichen“."],
    inject="Write gravely.",
    family="cognitive",
    source=["run 12"],
    status="confirmed",
    evidence=[Evidence(effect=0.12, interval=(0.05, 0.19), n=300, groups=280, judge="a/b", teacher="c/d", run="12")],
)


def rejected() -> Bias:
    return TONE.model_copy(update={"id": "rhyme", "name": "Rhyme", "status": "rejected", "evidence": []})


@pytest.fixture
def found(tmp_path: Path) -> Path:
    for bias in (TONE, rejected()):
        write_bias(bias, tmp_path / "run/candidates")
    return tmp_path / "run"


def test_a_bias_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    path = write_bias(TONE, tmp_path / "new/library")
    assert path.name == "solemn-tone.toml"
    assert load_library(tmp_path / "new/library") == {"solemn-tone": TONE}
    with pytest.raises(UsageError, match=r"solemn-tone\.toml exists"):
        write_bias(TONE, tmp_path / "new/library")
    write_bias(TONE.model_copy(update={"status": "rejected"}), path.parent, replace=True)
    assert load_library(path.parent)["solemn-tone"].status == "rejected"


def test_every_seed_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    for bias in load_library().values():
        write_bias(bias, tmp_path)
    assert load_library(tmp_path) == load_library()


def test_a_confirmed_bias_is_kept_whole(found: Path, tmp_path: Path) -> None:
    kept = promote(found, "solemn-tone", library=tmp_path / "mine")
    assert kept == tmp_path / "mine/solemn-tone.toml"
    assert load_library(tmp_path / "mine")["solemn-tone"] == TONE


def test_what_was_not_confirmed_is_kept_only_when_asked_and_keeps_its_status(found: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"did not confirm 'rhyme' \(rejected\).*--unconfirmed"):
        promote(found, "rhyme", library=tmp_path / "mine")
    assert not (tmp_path / "mine").exists()
    promote(found, "rhyme", library=tmp_path / "mine", unconfirmed=True)
    assert load_library(tmp_path / "mine")["rhyme"].status == "rejected"


@pytest.mark.parametrize("id", ["absent", "../candidates/rhyme", "solemn-tone.toml", ""])
def test_an_id_is_a_name_and_never_a_path(found: Path, tmp_path: Path, id: str) -> None:
    with pytest.raises(UsageError, match=r"no candidate .*It has: rhyme, solemn-tone"):
        promote(found, id, library=tmp_path / "mine")


def test_a_run_without_candidates_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no candidates"):
        promote(tmp_path / "no run", "x", library=tmp_path / "mine")
    (tmp_path / "run/candidates").mkdir(parents=True)
    with pytest.raises(UsageError, match="It found none"):
        promote(tmp_path / "run", "x", library=tmp_path / "mine")


def test_a_library_never_loses_what_it_has(found: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    promote(found, "solemn-tone", library=mine)
    with pytest.raises(UsageError, match=r"has 'Solemn tone' already \(solemn-tone\.toml\)"):
        promote(found, "solemn-tone", library=mine)
    write_bias(TONE.model_copy(update={"id": "gravity", "name": "RHYME"}), mine)  # another id, the same name
    with pytest.raises(UsageError, match=r"has 'RHYME' already \(gravity\.toml\)"):
        promote(found, "rhyme", library=mine, unconfirmed=True)


def test_the_installed_library_is_not_written_to(found: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = Path(assets.__file__).parent / "bias_library"
    monkeypatch.setattr(assets, "folder", lambda name: inside)
    with pytest.raises(UsageError, match=r"part of the installation.*--library"):
        promote(found, "solemn-tone")
    checkout = tmp_path / "checkout/bias_library"
    monkeypatch.setattr(assets, "folder", lambda name: checkout)
    assert promote(found, "solemn-tone") == checkout / "solemn-tone.toml"


def test_check_names_every_file_and_what_is_wrong_with_it(tmp_path: Path) -> None:
    write_bias(TONE.model_copy(update={"edit": "whisper"}), tmp_path)
    write_bias(rejected().model_copy(update={"status": "confirmed"}), tmp_path)
    write_bias(rejected().model_copy(update={"id": "rime", "name": "rhyme"}), tmp_path)
    (tmp_path / "broken.toml").write_text("colour = 1")
    problems = check_library(tmp_path, edits=EDITS)
    assert len(problems) == 4
    for wanted in (
        r"broken\.toml, field 'colour': unknown key",
        r"solemn-tone\.toml, field 'edit': there is no edit 'whisper'",
        r"rhyme\.toml, field 'evidence': .*nothing was measured",
        r"rime\.toml, field 'name': rhyme\.toml has the name 'rhyme' too",
    ):
        assert sum(bool(re.search(wanted, problem)) for problem in problems) == 1, wanted


def test_the_shipped_library_is_in_order() -> None:
    assert check_library(edits=EDITS) == []


def test_ids_are_plain_and_free() -> None:
    assert slug("Appeal to Studies!") == "appeal-to-studies"
    assert slug("Ärger über Zahlen") == "arger-uber-zahlen"
    assert slug("24 hours", ()) == "bias-24-hours"
    assert slug("Tone", {"tone", "tone-2"}) == "tone-3"


def test_the_commands_print_and_exit_as_they_promise(
    found: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = str(tmp_path / "mine")
    assert run(["library", "promote", str(found), "solemn-tone", "--library", mine]) == 0
    assert run(["library", "list", "--library", mine]) == 0
    assert run(["library", "show", "solemn-tone", "--library", mine]) == 0
    assert run(["library", "check", "--library", mine]) == 0
    said = capsys.readouterr()
    assert "solemn-tone  cognitive  confirmed  teacher" in said.out
    assert "+0.120 (+0.050 to +0.190), 300 pairs in 280 groups, judge a/b, teacher c/d, run 12" in said.out
    assert "1 bias, all in order." in said.out
    assert said.err == ""
    (tmp_path / "mine/broken.toml").write_text("= 1")
    assert run(["library", "check", "--library", mine]) == 2
    assert run(["library", "promote", str(found), "rhyme", "--library", mine]) == 2
    said = capsys.readouterr()
    assert "broken.toml: not TOML" in said.out
    assert "1 problem in the library" in said.err
    assert "did not confirm 'rhyme'" in said.err


def test_list_and_show_never_pass_control_characters_of_a_model_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_bias(TONE.model_copy(update={"name": "Tone\x1b[2J", "definition": "It\x1b]0;x\x07 wins."}), tmp_path)
    assert run(["library", "list", "--library", str(tmp_path)]) == 0
    assert run(["library", "show", "solemn-tone", "--library", str(tmp_path)]) == 0
    assert not set("\x1b\x07") & set(capsys.readouterr().out)


def test_a_seed_tells_a_teacher_as_much_as_a_sham_does_and_leaves_the_answer_alone() -> None:
    from recuse.perturb.shams import shams

    lengths = [len(sham.instruction) for sham in shams()]
    told = {bias.id: bias.inject for bias in load_library().values() if bias.inject is not None}
    for id, inject in told.items():
        assert 0.9 * min(lengths) <= len(inject) <= 1.1 * max(lengths), id
        assert len(re.findall(r"[.!?](?:\s|$)", inject)) == 2, id
        assert not re.search(r"\b(?:answer|result|conclusion)\b.{0,30}\b(?:change|replace|correct)", inject), id
    assert abs(sum(map(len, told.values())) / len(told) - sum(lengths) / len(lengths)) < 10


def test_attacks_and_only_they_lack_an_instruction_and_every_edit_has_its_bias() -> None:
    library = load_library().values()
    assert {b.id for b in library if b.family == "attack"} == {
        b.id for b in library if b.inject is None and b.id != "position"
    }
    carried = [bias.edit for bias in library if bias.edit is not None]
    assert sorted(carried) == sorted(EDITS)
    grows = ("padding", "verbosity", "code_docstrings", "code_comments")
    assert {b.id for b in library if b.changes_length} == {b.id for b in library if b.edit in grows}
    assert {b.id for b in library if b.code} == {b.id for b in library if (b.edit or "").startswith("code_")}
