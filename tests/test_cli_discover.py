"""`recuse discover` from the command line: exit codes, output, one clear sentence for what is wrong or was not done."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from texts_world import LIKED, PAIRS, write_source

from recuse.backends import open_backend
from recuse.cli import run
from recuse.discovery.split import split
from recuse.discovery.validate import Validated, validate
from recuse.library import load_library

JUDGE, TEACHER = "python/texts_world:judge", "python/texts_world:teacher"
NAMES = (LIKED.name, LIKED.other_name)


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def recuse(*arguments: str) -> Done:
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run(list(arguments))
    return Done(code, out.getvalue(), err.getvalue())


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_source(tmp_path_factory.mktemp("source"))


def options(source: Path, judge: str = JUDGE, teacher: str = TEACHER) -> list[str]:
    return [
        "discover", "--judge", judge, "--teacher", teacher, "--pairs", str(source / "pairs.jsonl"), "--group", "group",
        "--library", str(source / "library"), "--rounds", "1", "--shams", "5",
    ]  # fmt: skip


@dataclass(frozen=True)
class Run:
    folder: Path
    said: Done
    command: list[str]

    @property
    def findings(self) -> Any:
        return json.loads((self.folder / "findings.json").read_text())


@pytest.fixture(scope="module")
def found(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("found") / "run"
    command = [*options(source), "--out", str(folder)]
    return Run(folder, recuse(*command), command)


def effect_by_hand() -> float:
    """The word turns every verdict on the test part but those that were wrong before: see `texts_world.judge`."""
    test = split(PAIRS).test
    right_before = [hashlib.sha256(pair.prompt.encode()).digest()[0] / 256 >= 0.15 for pair in test]
    return sum(right_before) / len(test)


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


# What a run says


def test_a_discovery_exits_with_0_names_what_it_proved_and_states_the_effect_on_the_test_part(found: Run) -> None:
    (accepted,) = found.findings["candidates"]
    assert found.said.code == 0
    assert accepted["name"] in NAMES
    assert f"1 of 1 candidates proven on held-out pairs: {accepted['name']}." in found.said.out
    assert f"Report: {found.folder / 'report.html'}" in found.said.out.replace("\n", "")
    effect = accepted["findings"][0]
    assert effect["id"] == f"bias.{accepted['id']}.effect"
    assert effect["estimate"] == pytest.approx(effect_by_hand())
    assert (effect["n"], effect["groups"]) == (12, 12)
    assert {p.name for p in found.folder.iterdir()} >= {
        "run.toml", "ledger.sqlite", "teacher.sqlite", "candidates", "findings.json", "report.md", "report.html",
    }  # fmt: skip


def test_json_is_the_findings_file_and_nothing_else_and_a_second_look_costs_nothing(found: Run) -> None:
    before = found.findings
    again = recuse(*found.command, "--json")
    assert (again.code, again.err) == (0, "")
    assert again.json == found.findings
    assert again.json["usage"]["judge"]["calls"] == again.json["usage"]["teacher"]["calls"] == 0
    assert again.json["candidates"] == before["candidates"]
    assert again.json["findings"] == before["findings"]


def test_quiet_prints_the_headline_only(found: Run) -> None:
    said = recuse(*found.command, "--quiet")
    assert (said.code, said.err) == (0, "")
    assert said.out == found.findings["headline"] + "\n"


def test_a_library_reads_what_was_found_and_a_new_run_can_begin_with_it(found: Run, source: Path) -> None:
    (accepted,) = found.findings["candidates"]
    library = load_library(found.folder / "candidates")
    bias = library[accepted["id"]]
    assert (bias.status, bias.name) == ("confirmed", accepted["name"])
    assert bias.evidence[0].effect == pytest.approx(effect_by_hand())
    assert (bias.evidence[0].judge, bias.evidence[0].teacher) == (JUDGE, TEACHER)
    assert LIKED.word in (bias.inject or "")
    begun = recuse(*options(source), "--library", str(found.folder / "candidates"), "--biases", bias.id, "--dry-run")
    assert begun.code == 0


def test_too_few_groups_are_told_before_anything_is_paid_for_and_in_the_report(found: Run) -> None:
    needed = recuse(*found.command, "--dry-run", "--json").json["groups_for"]["validation_groups"]
    sentence = "Too few groups for an effect of 0.1: validation has 16, and finding it nine times in ten among "
    assert found.said.err.startswith(f"{sentence}up to 10 candidates takes {needed}.\n")
    (told,) = (note for note in found.findings["notes"] if note.startswith("Too few"))
    assert told.startswith(f"{sentence}1 candidate takes ")  # the one that was tested
    assert 50 < int(told.removesuffix(".").rpartition(" ")[2]) < needed
    assert 100 < needed < 1000


# What a run would take


def test_a_dry_run_prices_the_discovery_and_leaves_nothing_behind(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: Run
) -> None:
    monkeypatch.chdir(tmp_path)
    prices = tmp_path / "prices.toml"
    prices.write_text(
        f'[models]\n"{JUDGE}" = {{ input = 1.0, output = 2.0 }}\n"{TEACHER}" = {{ input = 3.0, output = 4.0 }}\n'
    )
    command = [*options(source), "--prices", str(prices), "--dry-run"]
    text, said = recuse(*command), recuse(*command, "--json")
    assert (text.code, said.code, text.err, said.err) == (0, 0, "", "")
    assert [p.name for p in tmp_path.iterdir()] == ["prices.toml"]
    used = found.findings["usage"]
    for role, price_in, price_out in (("judge", 1.0, 2.0), ("teacher", 3.0, 4.0)):
        part = said.json[role]
        assert part["cost"] == pytest.approx((part["tokens_in"] * price_in + part["tokens_out"] * price_out) / 1e6)
        assert part["hours"] is None
        assert part["calls"] >= used[role]["calls"] + used[role]["from_ledger"]
        assert f"{role}: at most about {part['calls']:,} calls" in text.out
        assert f"about {part['cost']:.2f} US dollars" in text.out
    assert f"An effect of 0.1 needs {said.json['groups_for']['validation_groups']} of them." in text.out
    assert text.out.rstrip().endswith("Nothing was asked.")


def test_a_dry_run_on_a_run_folder_tells_the_hours_at_its_pace_and_changes_nothing(found: Run) -> None:
    before = tree(found.folder)
    said = recuse(*found.command, "--dry-run", "--json").json
    assert 0 < said["judge"]["hours"] < 1
    assert 0 < said["teacher"]["hours"] < 1
    assert tree(found.folder) == before


def test_a_dry_run_without_a_run_folder_tells_the_hours_at_a_rate_that_somebody_measured(source: Path) -> None:
    command = [*options(source), "--dry-run"]
    said = recuse(*command, "--rate", "12.5", "--json").json
    assert said["judge"]["hours"] == pytest.approx(said["judge"]["calls"] / 12.5 / 3600)
    assert (said["judge"]["rate"], said["teacher"]["rate"], said["teacher"]["hours"]) == (12.5, None, None)
    slow = said["teacher"]["calls"] / 3600 / 2.5
    lines = recuse(*command, "--rate", "1e5", "--teacher-rate", str(slow)).out.splitlines()
    assert lines[0].endswith(", under 0.1 hours at 100000 replies a second")
    assert lines[1].endswith(f", about 2.5 hours at {slow:g} replies a second")


def test_a_rate_that_is_given_goes_before_the_pace_of_the_run_folder(found: Run) -> None:
    at_pace, told = (recuse(*found.command, "--dry-run", *more, "--json").json for more in ([], ["--rate", "0.5"]))
    assert told["judge"]["hours"] == pytest.approx(told["judge"]["calls"] * 2 / 3600)
    assert at_pace["judge"]["hours"] < told["judge"]["hours"]
    assert at_pace["teacher"] == told["teacher"]
    transfer = recuse("discover", "transfer", str(found.folder), "--judge", JUDGE, "--dry-run", "--rate", "2", "--json")
    assert transfer.json["judge"]["hours"] == pytest.approx(transfer.json["judge"]["calls"] / 2 / 3600)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--rate", "5"], "--rate goes with --dry-run alone"),
        (["--teacher-rate", "5"], "--teacher-rate goes with --dry-run alone"),
        (["--rate", "inf", "--dry-run"], "--rate is inf. Give replies a second"),
        (["--rate", "nan", "--dry-run"], "Invalid value for '--rate'"),
        (["--rate", "0", "--dry-run"], "Invalid value for '--rate'"),
    ],
)
def test_a_rate_that_says_nothing_is_refused_before_anything_is_read(words: list[str], sentence: str) -> None:
    done = recuse("discover", "--judge", JUDGE, "--teacher", TEACHER, "--pairs", "no such file", *words)
    assert (done.code, done.out) == (2, "")
    assert sentence in " ".join(done.err.split())
    assert "no such file" not in done.err


def test_the_help_says_what_a_rate_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    for command in (["discover", "--help"], ["discover", "transfer", "--help"]):
        told = recuse(*command).out
        assert "--rate" in told
        assert "--teacher-rate" in told
        assert "replies a second of the judge" in told


# What is refused


def rows(folder: Path, change: Callable[[int, dict[str, Any]], dict[str, Any]]) -> str:
    """The pairs with a change to each row, in another file."""
    lines = (folder / "pairs.jsonl").read_text().splitlines()
    changed = [change(i, json.loads(line)) for i, line in enumerate(lines)]
    (folder / "changed.jsonl").write_text("".join(json.dumps(row) + "\n" for row in changed))
    return str(folder / "changed.jsonl")


def parts(*labels: str) -> Callable[[int, dict[str, Any]], dict[str, Any]]:
    return lambda i, row: {**row, "part": labels[i % len(labels)]}


def overlapping(folder: Path) -> list[str]:
    def change(i: int, row: dict[str, Any]) -> dict[str, Any]:
        return {**parts("discovery", "validation", "test")(i, row), "group": f"g{i // 2}"}

    return ["--pairs", rows(folder, change), "--split-column", "part"]


def odd_bias(line: str) -> Callable[[Path], list[str]]:
    def arguments(folder: Path) -> list[str]:
        (folder / "mine").mkdir()
        (folder / "mine/calm.toml").write_text((folder / "library/calm.toml").read_text() + line)
        return ["--library", str(folder / "mine")]

    return arguments


def equal(folder: Path) -> list[str]:
    return ["--pairs", rows(folder, lambda i, row: {**row, "rejected": row["chosen"]} if i == 4 else row)]


def file_in_the_way(folder: Path) -> list[str]:
    (folder / "taken").write_text("")
    return ["--out", str(folder / "taken"), "--quiet"]


BAD: dict[str, tuple[Callable[[Path], list[str]], str]] = {
    "overlapping splits": (overlapping, "the group 'g0' lies in discovery and in validation"),
    "a part that is none": (
        lambda f: ["--pairs", rows(f, parts("train", "test")), "--split-column", "part"], "has 'train' in 'part'",
    ),
    "a part without pairs": (
        lambda f: ["--pairs", rows(f, parts("discovery", "test")), "--split-column", "part"], "no pairs for validation",
    ),
    "no such split column": (lambda f: ["--split-column", "fold"], "'fold'"),
    "two groups": (
        lambda f: ["--pairs", rows(f, lambda i, row: {**row, "group": f"g{i % 2}"})], "The pairs have 2 groups",
    ),
    "equal answers": (equal, "row 5"),
    "unknown key in a bias file": (odd_bias('weight = 3\n'), "calm.toml, field 'weight'"),
    "a bias file that is no TOML": (odd_bias("weight = \n"), "not TOML"),
    "a library without files": (lambda f: ["--library", str(f)], "no bias files"),
    "unknown bias": (lambda f: ["--biases", "calm,charm"], "There is no bias 'charm'. Choose from: calm, friendly."),
    "few shams": (lambda f: ["--shams", "4"], "--shams is 4"),
    "more shams than there are": (lambda f: ["--shams", "99"], "sham instructions, not 99"),
    "no round": (lambda f: ["--rounds", "0"], "rounds"),
    "a rate over one": (lambda f: ["--fdr", "1.5"], "--fdr is 1.5"),
    "a screen over one": (lambda f: ["--min-effect", "5"], "--min-effect 5"),
    "unknown teacher": (lambda f: ["--teacher", "nobody/x"], "nobody"),
    "a teacher without a price under a cap": (lambda f: ["--max-cost", "1"], "There is no price for python/"),
    "a teacher that the fake world does not know": (lambda f: ["--teacher", "fake/teacher=1,wit=2"], "'wit=2'"),
    "a file in the way": (file_in_the_way, "is a file"),
    "embeddings that are nowhere": (lambda f: ["--similarity", str(f / "nowhere")], "nowhere: no such folder"),
    "a folder that holds no embeddings": (lambda f: ["--similarity", str(f)], "no modules.json: this folder holds no"),
    "more rounds online than groups": (
        lambda f: ["--online", "--rounds", "17"],
        "--online tests each of 17 rounds on groups of its own, and validation has 16",
    ),
    "nothing to search": (lambda f: ["--teacher", ""], "Give --judge, --teacher and --pairs."),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence_and_exit_code_2_and_nothing_is_asked(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_source(tmp_path / "in" if (tmp_path / "in").mkdir() is None else tmp_path)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setattr("recuse.backends.python.PythonBackend.generate", lambda self, calls: pytest.fail("asked"))
    arguments, says = BAD[case]
    said = recuse(*options(folder), *arguments(folder))
    assert (said.code, said.out) == (2, "")
    assert says in said.err
    assert said.err.startswith("recuse: ")
    assert said.err.count("\n") == 1
    assert list(work.iterdir()) == []


def test_a_bias_that_no_teacher_puts_in_is_refused(source: Path) -> None:
    arguments = [word for word in options(source) if word not in ("--library", str(source / "library"))]
    said = recuse(*arguments, "--biases", "position")
    assert said.code == 2
    assert "A teacher cannot put 'position' into an answer" in said.err


def test_a_reward_model_is_no_teacher(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(name: str, options: Any) -> Any:
        backend = open_backend(name, options)
        backend.capabilities = replace(backend.capabilities, explains=False)  # type: ignore[misc]
        return backend

    monkeypatch.setattr("recuse.lab.engines.open_backend", opened)
    said = recuse(*options(source))
    assert said.code == 2
    assert said.err == f"recuse: {TEACHER} writes no text. Give --teacher a model that does.\n"


def test_another_configuration_in_the_same_folder_is_refused_and_changes_nothing(found: Run) -> None:
    before = tree(found.folder)
    said = recuse(*found.command, "--rounds", "2", "--no-racing")
    assert said.code == 2
    assert "holds another run (racing: True there, False now; rounds: 1 there, 2 now)" in said.err
    assert tree(found.folder) == before


# What a run could not do


def module(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> str:
    """A module of the user's own with a function `ask(messages)`, found in the current folder."""
    name = f"mine_{hashlib.sha256(body.encode()).hexdigest()[:12]}"
    (folder / f"{name}.py").write_text(
        "import json\nimport texts_world\nfrom recuse.errors import BadRequest, TransientError\n\n\n"
        f"def ask(messages):\n    last = messages[-1]['content']\n    {body}\n"
    )
    monkeypatch.chdir(folder)
    return f"python/{name}:ask"


SILENT = {
    "empty": "return ''",
    "refused": "return {'text': '', 'finish': 'refusal'}",
    "refused in words": "return \"I'm sorry, but I can't help with that.\"",
    "error": "raise BadRequest('this model writes nothing')",
    "unchanged": "return last.partition('<answer>\\n')[2].partition('\\n</answer>')[0]",
}


@pytest.mark.parametrize("kind", SILENT)
def test_a_teacher_without_an_answer_is_told_in_one_sentence(
    kind: str, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    teacher = module(tmp_path, monkeypatch, SILENT[kind])
    said = recuse(*options(source, teacher=teacher), "--out", "run", "--json")
    assert (said.code, said.err) == (0, "")
    assert said.json["headline"] == "No bias was found: the search named no candidate, so that nothing was tested."
    fault = kind.partition(" ")[0]
    told = f"None of the 24 rewrites for discovery can be used ({fault} 24): try another --teacher."
    assert told in said.json["notes"]
    assert "Nothing could be tested: there is no usable rewrite." in said.json["notes"]
    assert told in (tmp_path / "run/report.md").read_text()
    assert not any("nine times in ten" in note for note in said.json["notes"] if not note.startswith("Too few"))


def test_a_teacher_that_writes_and_cannot_name_what_it_sees_is_counted(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = "return 'Hm.' if '<explanation>' in last else texts_world.teacher(messages)"
    said = recuse(*options(source, teacher=module(tmp_path, monkeypatch, body)), "--out", "run", "--json").json
    (row,) = said["rounds"]
    assert row["mistakes"] > 0
    assert (row["unreadable"], row["named"], row["new"]) == (row["mistakes"], 0, 0)
    assert "Nothing could be tested: the search named no candidate." in said["notes"]
    assert not any("this design finds" in note for note in said["notes"])


def test_a_teacher_that_is_down_ends_the_run_with_4_and_leaves_the_folder_free(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    down = module(tmp_path, monkeypatch, "raise TransientError('the server is down', retry_after=0.0)")
    said = recuse(*options(source, teacher=down), "--out", "run", "--attempts", "2", "--quiet")
    assert said.code == 4
    assert "12 asks stayed unanswered: last error: the server is down." in said.err
    assert not (tmp_path / "run").exists()


def test_a_fault_in_the_users_teacher_is_named_with_its_place(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = recuse(*options(source, teacher=module(tmp_path, monkeypatch, "return last[99999]")), "--out", "run")
    assert said.code == 2
    assert "failed: IndexError: string index out of range" in said.err
    assert "Traceback" not in said.err


def test_a_judge_that_explains_nothing_is_mined_for_nothing_and_the_run_says_so(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mute = module(tmp_path, monkeypatch, "return '' if 'Verdict: A' in last else texts_world.judge(messages)")
    said = recuse(*options(source, judge=mute), "--out", "run", "--json").json
    mistakes = said["rounds"][0]["mistakes"]
    assert mistakes > 0
    assert said["rounds"][0]["explained otherwise"] == mistakes
    assert (
        f"Asked for reasons, the judge came to another verdict, or to none, in {mistakes} of {mistakes} mistakes, "
        f"and in the other order too in {mistakes}, left out." in said["notes"]
    )


def test_a_judge_without_verdicts_is_told_with_an_example(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = module(tmp_path, monkeypatch, "return 'Both have their merits.'")
    said = recuse(*options(source, judge=judge), "--out", "run", "--json").json
    assert (
        "The judge gave no verdict in 24 of 24 judgements of the untouched answers for discovery (mostly no_verdict, "
        "for example: Both have their merits.)." in said["notes"]
    )
    assert "Nothing could be tested: the search named no candidate." in said["notes"]


def test_a_judge_of_single_answers_is_searched_without_reasons_and_the_run_says_so(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = module(tmp_path, monkeypatch, f"return '9' if {LIKED.word!r} in last else str(3 + len(last) % 3)")
    said = recuse(*options(source, judge=judge), "--prompt", "pointwise/score", "--out", "run", "--json").json
    assert any("gives no reasons: the teacher reads its mistakes alone" in note for note in said["notes"])
    assert not any("Asked for reasons" in note for note in said["notes"])
    assert said["prompt"] == "pointwise/score"


def void(validated: Validated) -> Validated:
    gone = [replace(d, status="rejected", effect=replace(d.effect, estimate=None, reason="the arm is void"))
            for d in validated.decisions]  # fmt: skip
    return replace(validated, decisions=tuple(gone))


def without_shams(validated: Validated) -> Validated:
    rejected = [replace(d, status="exploratory") for d in validated.decisions]
    return replace(validated, decisions=tuple(rejected), spread=replace(validated.spread, shams=3))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (void, "Nothing could be tested: no candidate has an effect on the validation part (the arm is void)."),
        (without_shams, "Nothing could be tested: 3 shams are usable, and acceptance needs 5."),
    ],
)
def test_what_could_not_be_tested_is_not_called_a_test_that_found_nothing(
    change: Callable[[Validated], Validated], says: str, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recuse.discovery.run.validate", lambda *arguments: change(validate(*arguments)))
    said = recuse(*options(source), "--out", str(tmp_path / "run"), "--json").json
    assert says in said["notes"]
    assert not any("this design finds" in note for note in said["notes"])
    assert said["candidates"][0]["fate"] != "accepted"


def test_online_with_blocks_too_small_to_find_anything_says_so(source: Path, tmp_path: Path) -> None:
    said = recuse(*options(source), "--online", "--rounds", "16", "--out", str(tmp_path / "run"), "--json")
    assert (said.code, said.err) == (0, "")
    (candidate,) = said.json["candidates"]
    assert candidate["fate"] == "rejected"
    # One group is worth at most 1.27 to the bet, and the first candidate needs 40.
    assert any(
        "With 1 usable validation groups in each block, 1 candidate, one by one by e-LOND," in note
        and "this design finds no effect at all" in note
        for note in said.json["notes"]
    )


HOSTILE = {
    "a path": "../../../escaped",
    "markup": "<script>alert(1)</script> {{question}}",
    "no letter": "???",
    "another script": "偏见",
    "endless": "word " * 2000,
    "control characters": "Bell\\u0007 and\\u0000 null\\r\\nbreak",
    "half a character": "Odd \\ud800 name",
    "quotes": 'It\'s \\"quoted\\" \'\'\' \\"\\"\\" = [x]',
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_whatever_a_teacher_calls_a_bias_the_run_ends_well_and_stays_in_its_folder(
    kind: str, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply = f'{{"bias": {{"name": "{HOSTILE[kind]}", "definition": "d {HOSTILE[kind]}", "manifestation": "m", '
    reply += f'"instruction": "Use the word \\"{LIKED.word}\\"."}}}}'
    body = f"return {reply!r} if '<explanation>' in last else texts_world.teacher(messages)"
    said = recuse(*options(source, teacher=module(tmp_path, monkeypatch, body)), "--out", "run", "--json")
    assert (said.code, said.err) == (0, "")
    assert {p.name for p in tmp_path.iterdir() if p.suffix != ".py"} <= {"run", "__pycache__"}
    if kind == "half a character":  # no text at all: it counts as unreadable
        assert said.json["rounds"][0]["unreadable"] == said.json["rounds"][0]["mistakes"] > 0
        return
    (candidate,) = said.json["candidates"]
    assert candidate["fate"] == "accepted"
    assert load_library(tmp_path / "run/candidates").keys() == {candidate["id"]}
    assert "<script>alert" not in (tmp_path / "run/report.html").read_text()


# Transfer to another judge


# The judge of the fake world, blind to the word that it likes.
BLIND = "texts_world.judge([{**m, 'content': m['content'].replace(texts_world.LIKED.word, 'plain')} for m in messages])"


def transfer(folder: Path, judge: str, *more: str) -> Done:
    return recuse("discover", "transfer", str(folder), "--judge", judge, *more)


def test_a_confirmed_bias_is_tested_on_another_judge_with_the_same_rewrites(
    found: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree(found.folder)
    half = f"return texts_world.judge(messages) if len(last) % 2 else {BLIND}"
    said = transfer(found.folder, module(tmp_path, monkeypatch, half), "--out", "other", "--json")
    assert (said.code, said.err) == (0, "")
    usage = said.json["usage"]["teacher"]
    assert usage["calls"] == 0
    assert usage["from_cache"] > 100
    assert said.json["rounds"] == []
    (there,), (here,) = found.findings["candidates"], said.json["candidates"]
    assert (here["id"], here["definition"], here["instruction"]) == (
        there["id"],
        there["definition"],
        there["instruction"],
    )
    assert 0 < here["findings"][0]["estimate"] < there["findings"][0]["estimate"]
    assert tree(found.folder) == before  # the run that lent its rewrites is as it was
    table = tomllib.loads((tmp_path / "other/run.toml").read_text())["run"]
    assert table["transferred"] == [there["id"]]
    again = transfer(found.folder, f"python/{table['judge'].removeprefix('python/')}", "--out", "other", "--json")
    assert again.json["usage"]["judge"]["calls"] == 0
    assert again.json["candidates"] == said.json["candidates"]


def test_a_judge_without_the_bias_gets_it_rejected(found: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = transfer(found.folder, module(tmp_path, monkeypatch, f"return {BLIND}"), "--out", "other", "--quiet")
    assert (said.code, said.out) == (0, "No bias was proven among 1 candidate.\n")
    assert {b.status for b in load_library(tmp_path / "other/candidates").values()} == {"rejected"}
    nothing = transfer(tmp_path / "other", JUDGE, "--out", "third")
    assert nothing.code == 2
    assert (
        nothing.err
        == "recuse: " + str(tmp_path / "other") + " confirmed no bias. --unconfirmed takes all that it tested.\n"
    )
    taken = transfer(tmp_path / "other", JUDGE, "--out", "third", "--unconfirmed", "--quiet")
    assert taken.code == 0
    assert taken.out.startswith("1 of 1 candidates proven")


def test_a_dry_transfer_counts_no_rounds(found: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = transfer(found.folder, JUDGE, "--dry-run", "--json")
    # 16 validation and 12 test pairs in two orders: original, two placebos, five shams and the bias; then three arms,
    # and two of them beside reworded right answers.
    # And a tenth of the validation pairs once more.
    assert said.json["judge"]["calls"] == 16 * 9 * 2 + 12 * 5 * 2 + 1 * 2
    assert said.json["candidates"] == 1
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_transferred_is_refused_in_one_sentence(
    found: Run, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "unfinished").mkdir()
    (tmp_path / "unfinished/run.toml").write_text((found.folder / "run.toml").read_text())
    recuse("audit", "--judge", "fake/skill=1", "--pairs", "demo", "--out", "audit", "--quiet")
    silent = module(tmp_path, monkeypatch, "return ''")
    recuse(*options(source, teacher=silent), "--out", "nothing", "--quiet")
    for folder, says in (
        (tmp_path / "missing", "holds no finished discovery"),
        (tmp_path / "unfinished", "holds no finished discovery"),
        (tmp_path / "audit", "holds no finished discovery"),
        (tmp_path / "nothing", "confirmed no bias"),
    ):
        said = transfer(folder, JUDGE, "--out", "out")
        assert (said.code, said.err.count("\n")) == (2, 1), folder
        assert says in said.err
    without = recuse("discover", "transfer", str(found.folder))
    assert (without.code, without.err) == (2, "recuse: Which judge is to be tested? Give --judge.\n")
    assert not (tmp_path / "out").exists()


def test_pairs_that_changed_since_the_run_are_not_taken_for_its_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = write_source(tmp_path)
    assert recuse(*options(folder), "--out", "run", "--quiet").code == 0
    pairs = folder / "pairs.jsonl"
    pairs.write_text("".join(pairs.read_text().splitlines(keepends=True)[1:]))
    said = transfer(tmp_path / "run", JUDGE, "--out", "other", "--quiet")
    assert said.code == 2
    assert "the pairs are not those that" in said.err
    assert not (tmp_path / "other").exists()


def test_resume_is_refused_where_there_is_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["discover", "--judge", "fake/skill=1", "--teacher", "fake/teacher=1", "--pairs", "demo", "--resume",
                "--out", str(tmp_path / "none")])  # fmt: skip
    assert code == 2
    assert "no run at" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("judge", ["fake/skill=2", "fake/skill=1"])
def test_a_teacher_that_cannot_write_leaves_nothing_so_that_the_corrected_command_may_use_the_folder(
    judge: str, tmp_path: Path
) -> None:
    def found(teacher: str) -> Done:
        more = ("--limit", "12", "--rounds", "1", "--shams", "5", "--screen-groups", "2")
        asked = ("discover", "--judge", judge, "--teacher", teacher, "--pairs", "demo", *more)
        return recuse(*asked, "--out", str(tmp_path / "run"))

    said = found("fake/skill=2")
    assert said.code == 2
    assert "fake/skill=2 gives verdicts only" in said.err
    assert not (tmp_path / "run").exists()
    assert found("fake/teacher=1").code == 0
