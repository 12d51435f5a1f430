"""`recuse blind` from the command line: exit codes, what is said where, and one clear sentence for what is wrong."""

from __future__ import annotations

import csv
import gzip
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recuse.cli import run

ROWS = [
    {"id": i, "answer": f"{who} thinks that {pronoun} can do it.", "names": [who], "sex": sex}
    for i, (who, pronoun, sex) in enumerate([("Ann Lee", "she", "f"), ("Bo Roy", "he", "m")] * 30)
]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def blind(*arguments: object) -> int:
    return run(["blind", *map(str, arguments)])


def test_a_clean_file_is_0_and_verifies_by_map_and_by_names(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.jsonl"
    assert blind(source, "--text", "answer", "--names", "names", "--out", out) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert "60 rows blinded: person 60, pronoun 60." in said.out
    assert "no known name and no listed word is left" in said.out
    written = [json.loads(line) for line in out.read_text().splitlines()]
    assert {row["answer"] for row in written} == {"[PERSON_1] thinks that [PRONOUN] can do it."}
    assert [row.keys() for row in written] == [{"id": 0, "answer": 0, "sex": 0}.keys()] * 60
    names = tmp_path / "names.txt"
    names.write_text("Ann Lee\nBo Roy\n")
    assert blind("--verify", out, "--text", "answer", "--map", tmp_path / "out.map.jsonl") == 0
    assert blind("--verify", out, "--text", "answer", "--names-file", names) == 0


def test_a_leak_is_1_and_its_place_alone_is_told(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, names = tmp_path / "out.jsonl", tmp_path / "names.txt"
    names.write_text("Ann Lee\nBo Roy\n")
    blind(source, "--text", "answer", "--names", "names", "--out", out)
    lines = out.read_text().splitlines(keepends=True)
    lines[2] = lines[2].replace("[PERSON_1] thinks that", "[PERSON_1] says that Ann L\u200bee’s friend and he")
    out.write_text("".join(lines))
    capsys.readouterr()
    for known in (("--map", tmp_path / "out.map.jsonl"), ("--names-file", names)):
        assert blind("--verify", out, "--text", "answer", *known) == 1
        said = capsys.readouterr()
        assert "not safe to use" in said.err
        assert "row 3, field 'answer', character 21: name" in said.err
        assert "row 3, field 'answer', character 43: pronoun" in said.err
        assert not any(secret in said.err + said.out for secret in ("Ann", "Lee", "friend"))


def test_out_is_written_on_a_leak_with_a_warning(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from recuse.blinding.redact import Blinded, Redactor

    monkeypatch.setattr(Redactor, "redact", lambda self, texts, names: Blinded(texts, (), {}))
    out = tmp_path / "out.jsonl"
    assert blind(source, "--text", "answer", "--names", "names", "--out", out, "--group", "sex") == 1
    said = capsys.readouterr()
    assert len(out.read_text().splitlines()) == 60
    assert "names" not in json.loads(out.read_text().splitlines()[0])
    assert "not safe to use: 1" in said.err
    assert "and 1" in said.err  # more leaks than are listed
    assert "Ann" not in said.err + said.out
    assert "measured once there is no leak" in said.out


def test_what_is_left_of_the_group_is_said_with_its_words(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    proxy = tmp_path / "proxy.jsonl"
    rows = [
        {**row, "answer": row["answer"] + f" Item {row['id'] // 2}." + " Netball." * (row["sex"] == "f")}
        for row in ROWS
    ]
    proxy.write_text("".join(json.dumps(row) + "\n" for row in rows))
    common = ("--text", "answer", "--names", "names", "--out", tmp_path / "out.jsonl", "--group", "sex")
    assert blind(proxy, *common, "--unit", "id") == 0
    said = capsys.readouterr()
    assert "AUC 1.000" in said.out
    assert "Words that carried it: " in said.out
    assert "netball" in said.out
    assert "warning: the blinded texts still tell 'f' against 'm'" in said.err
    assert blind(source, *common) == 0
    said = capsys.readouterr()
    assert "cannot be measured: all texts are equal, so that nothing in them can tell" in said.out
    assert said.err == ""
    signals = tmp_path / "signals.toml"
    signals.write_text('[club]\nwords = ["netball"]\n')
    assert blind(proxy, *common, "--signals", signals) == 0
    said = capsys.readouterr()  # [CLUB] stands where the word stood: the place of a signal is a signal
    assert "[club]" in said.out
    paired = tmp_path / "paired.jsonl"
    paired.write_text(
        "".join(json.dumps({**row, "answer": f"{row['answer']} {i // 2}."}) + "\n" for i, row in enumerate(ROWS))
    )
    assert blind(paired, *common) == 0
    said = capsys.readouterr()
    assert "AUC 0.500" in said.out
    assert "60 texts, 30 units" in said.out
    assert said.err == ""


def test_a_row_is_unblinded_for_the_auditor(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, way_back = tmp_path / "out.jsonl", tmp_path / "out.map.jsonl"
    blind(source, "--text", "answer", "--names", "names", "--out", out)
    capsys.readouterr()
    assert blind("--unblind", out, "--map", way_back, "--row", 4) == 0
    assert json.loads(capsys.readouterr().out) == {"answer": ROWS[3]["answer"]}
    assert blind("--unblind", out, "--map", way_back, "--row", 61) == 2


def test_a_packed_source_and_a_spreadsheet(tmp_path: Path) -> None:
    packed = tmp_path / "in.csv.gz"
    with gzip.open(packed, "wt", newline="") as file:
        table = csv.writer(file)
        table.writerows([["text", "who"], ['Ann said: "I go"', "Ann"], ["Ann\nLee", '["Ann Lee"]']])
    assert blind(packed, "--text", "text", "--names", "who", "--out", tmp_path / "out.csv") == 0
    assert (tmp_path / "out.csv").read_text() == 'text\n"[PERSON_1] said: ""I go"""\n[PERSON_1]\n'


# --- bad input


def rows(*found: object) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in found)


LONG = b'{"text": "' + b"a" * 10_000_000 + b'", "names": []}\n'
SOURCES: dict[str, tuple[bytes, str]] = {
    "missing text": (rows({"names": []}), "row 1, field 'text': there is no such column (found: names)"),
    "missing later": (rows({"text": "x", "names": []}, {"text": "x"}), "row 2, field 'names': there is no such column"),
    "text a number": (rows({"text": 7, "names": []}), "field 'text': this is of type int"),
    "names a number": (rows({"text": "x", "names": 7}), "field 'names': this is no list of names"),
    "names of numbers": (rows({"text": "x", "names": [7]}), "field 'names': this is no list of names"),
    "names an object": (rows({"text": "x", "names": {"a": "b"}}), "field 'names': this is no list of names"),
    "empty name": (rows({"text": "x", "names": ["Ann", " "]}), "field 'names': name 2 is empty or has no letters"),
    "no letters": (rows({"text": "x", "names": ["\u200b-"]}), "name 1 is empty or has no letters"),
    "a pronoun": (rows({"text": "x", "names": ["Herself"]}), "name 1 is a pronoun too"),
    "torn list": (rows({"text": "x", "names": '["Ann"'}), "this is no whole JSON list"),
    "binary": (b"PK\x03\x04\0\0\x08", "row 1: this is no text file"),
    "broken UTF-8": (b'{"text": "\xff", "names": []}\n', "row 1: byte 11 of the line is not UTF-8"),
    "half a surrogate": (b'{"text": "\\ud800", "names": []}\n', "the text holds half of a surrogate pair"),
    "torn": (rows({"text": "x", "names": []}) + b'{"text": "Ann', "row 2: the line is not whole JSON"),
    "ten megabytes": (rows({"text": "x", "names": []}) + LONG, "row 2: the line is longer than 8,000,000 bytes"),
    "empty": (b"", "no rows"),
}  # fmt: skip


@pytest.mark.parametrize("fault", SOURCES)
def test_a_bad_source_is_one_sentence_and_nothing_is_written(
    tmp_path: Path, fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    content, sentence = SOURCES[fault]
    path = tmp_path / "in.jsonl"
    path.write_bytes(content)
    assert blind(path, "--text", "text", "--names", "names", "--out", tmp_path / "out.jsonl") == 2
    said = capsys.readouterr()
    assert sentence in said.err
    assert said.err.count("\n") == 1
    assert "Herself" not in said.err
    assert [found.name for found in tmp_path.iterdir()] == ["in.jsonl"]


LISTS: dict[str, tuple[bytes, str]] = {
    "empty line": (b"Ann Lee\n\nBo Roy\n", "row 2: this name is empty"),
    "blank line": ("Ann Lee\n \u200b\t\n".encode(), "row 2: this name is empty"),
    "pronoun": (b"Ann Lee\nShe\n", "row 2: this name is a pronoun too"),
    "binary": (b"\x7fELF\0\0", "row 1: this is no text file"),
    "latin 1": (b"Ann\nZo\xeb\n", "row 2: this is not UTF-8"),
    "one long line": (b"a" * 10_000_000, "row 1: the line is longer than 100,000 bytes"),
    "nothing": (b"", "no names"),
}


@pytest.mark.parametrize("fault", LISTS)
def test_a_bad_list_of_names_is_one_sentence(
    source: Path, tmp_path: Path, fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    content, sentence = LISTS[fault]
    names = tmp_path / "names.txt"
    names.write_bytes(content)
    for arguments in ((source, "--out", tmp_path / "out.jsonl"), ("--verify", source)):
        assert blind(*arguments, "--text", "answer", "--names-file", names) == 2
        said = capsys.readouterr().err
        assert sentence in said
        assert said.count("\n") == 1
        assert not any(secret in said for secret in ("Ann", "She\n"))
    assert not (tmp_path / "out.jsonl").exists()


def test_wrong_options_are_one_sentence(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, text, names = tmp_path / "out.jsonl", ("--text", "answer"), ("--names", "names")
    (tmp_path / "folder.jsonl").mkdir()
    cases: list[tuple[Sequence[Any], str]] = [
        ((), "A file to blind and --out are needed"),
        ((source, *text, *names), "--out are needed"),
        ((source, "--out", out, *text), "the names are needed"),
        ((source, "--out", out, *names), "columns of texts"),
        ((source, "--out", source, *text, *names), "is the source itself"),
        ((source, "--out", tmp_path / "out.csv", *text, *names), "does not end in .jsonl"),
        ((source, "--out", tmp_path / "folder.jsonl", *text, *names), "is a folder"),
        ((source, "--out", tmp_path / "no/out.jsonl", *text, *names), "There is no folder"),
        ((source, "--out", out, *text, *text, *names), "be different"),
        ((source, "--out", out, "--text", "names", *names), "be different"),
        ((source, "--out", out, *text, *names, "--map", out), "goes without --map"),
        ((source, "--out", out, *text, *names, "--unit", "id"), "goes without --unit"),
        ((source, "--out", out, *text, *names, "--group", "sex", "--warn-above", "60"), "--warn-above is 60"),
        ((source, "--out", out, *text, *names, "--group", "none"), "no such column"),
        ((source, "--out", out, *text, *names, "--group", "id"), "60 groups"),
        ((source, "--out", out, *text, *names, "--ordinary-words", "x"), "ordinary_words"),
        ((source, "--out", out, *text, *names, "--signals", source), "not TOML"),
        ((source, "--out", out, *text, "--detect", tmp_path / "none"), "no such folder"),
        ((tmp_path / "none.jsonl", "--out", out, *text, *names), "no such file"),
        ((tmp_path / "none.txt", "--out", out, *text, *names), "the ending is not known"),
        (("--verify", source, *text), "what must not be there"),
        (("--verify", source, *text, "--map", tmp_path / "none.jsonl"), "no such file"),
        (("--verify", source, *text, "--map", source), "no line of a blinding map"),
        (("--verify", source, "--names-file", source), "Without a map the columns"),
        (("--verify", source, *text, "--map", source, "--out", out), "goes without --out"),
        (("--unblind", source), "--map FILE --row N"),
    ]
    for arguments, sentence in cases:
        assert blind(*arguments) == 2, arguments
        said = capsys.readouterr().err
        assert sentence in said, arguments
        assert said.count("\n") == 1, said


def test_a_parquet_of_another_kind_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"text": ["x"], "names": [1.5]}), path)
    assert blind(path, "--text", "text", "--names", "names", "--out", tmp_path / "out.parquet") == 2
    assert "row 1, field 'names': this is no list of names" in capsys.readouterr().err
    mixed = pa.table({"text": ["Ann"] * 3000, "names": [["Ann"]] * 2999 + [["she"]]})
    pq.write_table(mixed, path)
    assert blind(path, "--text", "text", "--names", "names", "--out", tmp_path / "out.parquet") == 2
    assert "row 3000, field 'names': name 1 is a pronoun too" in capsys.readouterr().err
    assert [found.name for found in tmp_path.iterdir()] == ["in.parquet"]
    path.write_bytes(b"no parquet at all")
    assert blind(path, "--text", "text", "--names", "names", "--out", tmp_path / "out.parquet") == 2
    assert "Parquet" in capsys.readouterr().err


def test_time_grows_with_the_length_of_hostile_lines_only_in_step(tmp_path: Path) -> None:
    hostile = ("a" * 50, "Ann " * 12, "A.L." * 12, "-' " * 16, "she'" * 12, "*_~" * 16, "[PERSON_1" * 5, "\u0301" * 50)

    def seconds(times: int) -> float:
        path = tmp_path / "in.jsonl"
        path.write_bytes(rows(*({"text": piece * times} for piece in hostile)))
        (tmp_path / "names.txt").write_text("Ann Lee\n")
        start = time.process_time()
        assert (
            blind(path, "--text", "text", "--names-file", tmp_path / "names.txt", "--out", tmp_path / "out.jsonl") == 0
        )
        return time.process_time() - start

    seconds(10)
    short, long = seconds(100), seconds(1600)
    assert long < 16 * 3 * max(short, 0.02)  # quadratic would be 256 times
