"""Blinding a file: every form comes back exactly, the map is its owner's alone, and no stop leaves half a file."""

from __future__ import annotations

import csv
import json
import os
import signal
import stat
import subprocess
import sys
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recuse.blinding.files import LeakAt, blind_file, map_path, verify_file
from recuse.blinding.mapfile import unblind_row
from recuse.blinding.settings import BlindSettings, Signal
from recuse.errors import InputError
from recuse.pairs.readers import read_file

ROWS = [
    {
        "id": 1.10, "answer": "Mr. O'Brien said\r\nhe will go; Ann O’Brien's hat\u2028", "note": None,
        "who": ["Ann O'Brien"],
    },
    {"id": 2, "answer": "No sign at all.", "note": "She,\t\"quoted\"; Zoë", "who": ["Zoë Müller", "Bo"]},
    {"id": 3, "answer": "", "note": "Bo met Zoë Müller. bo!", "who": ["Zoë Müller", "Bo"]},
]  # fmt: skip
LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
TEXTS = st.lists(
    st.sampled_from(["Ann", " O’Brien", "he ", "Herself", "\n", "\r", "\r\n", '"', ",", "\t", "[PERSON_1]", "ﬁ"])
    | st.text(LETTERS, max_size=5),
    max_size=12,
).map("".join)  # fmt: skip


def write(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    elif path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(list(rows)), path)
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            table = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",")
            table.writerow(rows[0])
            table.writerows([json.dumps(v) if isinstance(v, list) else v for v in row.values()] for row in rows)
    return path


def read(path: Path) -> list[Any]:
    return [row for _, row in read_file(path, preset=None)]


@pytest.mark.parametrize("form", ["jsonl", "csv", "tsv", "parquet"])
def test_every_form_is_blinded_in_its_own_and_comes_back(tmp_path: Path, form: str) -> None:
    source, out = write(tmp_path / f"in.{form}", ROWS), tmp_path / f"out.{form}"
    done = blind_file(source, out, text=["answer", "note"], names_column="who")
    found = read(out)
    assert [list(row) for row in found] == [["id", "answer", "note"]] * 3
    assert [row["id"] for row in found] == [row["id"] for row in read(source)]
    assert found[0]["answer"] == "[TITLE] [PERSON_1] said\r\n[PRONOUN] will go; [PERSON_1]'s hat\u2028"
    assert found[2]["note"] == "[PERSON_1] met [PERSON_2]. [PERSON_1]!"
    assert (done.rows, done.nameless, done.checked.leaks, done.checked.rows) == (3, 0, {}, 3)
    assert done.replaced["person"] == 6
    first = 2 if form in ("csv", "tsv") else 1
    for i, row in enumerate(read(source)):
        texts = {name: row[name] for name in ("answer", "note") if row[name] is not None}
        assert unblind_row(out, map_path(out), row=first + i) == texts


@pytest.mark.parametrize("form", ["jsonl", "csv", "tsv", "parquet"])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(TEXTS, min_size=1, max_size=3))
def test_any_text_comes_back_to_the_byte(tmp_path: Path, form: str, texts: list[str]) -> None:
    source, out = tmp_path / f"in.{form}", tmp_path / f"out.{form}"
    write(source, [{"id": i, "text": text} for i, text in enumerate(texts)])
    blind_file(source, out, text=["text"], names=["Ann O'Brien"])
    first = 2 if form in ("csv", "tsv") else 1
    assert [unblind_row(out, map_path(out), row=first + i)["text"] for i in range(len(texts))] == texts


def test_types_of_parquet_columns_stay(tmp_path: Path) -> None:
    table = pa.table(
        {
            "text": pa.array(["Ann went", None, "Ann went"]).dictionary_encode(),
            "small": pa.array([1, 2, None], pa.int16()),
            "when": pa.array([0, 1, 2], pa.timestamp("us", "UTC")),
            "nested": [[{"a": 1}], [], None],
            "who": [["Ann"], None, ["Ann"]],
        }
    )
    pq.write_table(table, tmp_path / "in.parquet")
    done = blind_file(tmp_path / "in.parquet", tmp_path / "out.parquet", text=["text"], names_column="who")
    found = pq.read_table(tmp_path / "out.parquet")
    assert found.column("text").to_pylist() == ["[PERSON_1] went", None, "[PERSON_1] went"]
    assert found.drop_columns("text") == table.drop_columns(["text", "who"])
    assert done.nameless == 1


def test_names_in_a_table_may_be_parted_by_semicolons(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("text,who\nAnn met Bo Li.,Ann; Bo Li\nNobody.,\n", encoding="utf-8")
    done = blind_file(tmp_path / "in.csv", tmp_path / "out.csv", text=["text"], names_column="who")
    assert (tmp_path / "out.csv").read_text() == "text\n[PERSON_1] met [PERSON_2].\nNobody.\n"
    assert done.nameless == 1


def test_the_map_is_its_owners_alone_and_out_no_wider_than_its_source(tmp_path: Path) -> None:
    source, out = write(tmp_path / "in.jsonl", ROWS), tmp_path / "out.jsonl"
    source.chmod(0o640)
    way_back = map_path(out)
    way_back.write_text("an older one, open to all")
    way_back.chmod(0o666)
    before = os.umask(0)
    try:
        blind_file(source, out, text=["answer", "note"], names_column="who", detector=(seen := Watching(tmp_path)))
    finally:
        os.umask(before)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (way_back, out)] == [0o600, 0o640]
    assert seen.modes == [0o600]  # while it was written


class Watching:
    """A detector that finds nothing and looks at the map that is being written."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.modes = folder, list[int]()

    def find(self, texts: Sequence[str]) -> list[tuple[str, ...]]:
        self.modes += [stat.S_IMODE(path.stat().st_mode) for path in self.folder.glob(".*.map.jsonl")]
        return [() for _ in texts]


def test_a_detector_adds_to_the_names_and_its_faults_are_left_out(tmp_path: Path) -> None:
    class Finds:
        def find(self, texts: Sequence[str]) -> list[tuple[str, ...]]:
            return [("Dalia Roy", "she", "...") if "Dalia" in text else () for text in texts]

    rows = [{"text": f"Dalia {i} met Ann, said Roy.", "other": "Dalia"} for i in range(70)] + [
        {"text": "x", "other": "y"}
    ]
    source, out = write(tmp_path / "in.jsonl", rows), tmp_path / "out.jsonl"
    done = blind_file(source, out, text=["text", "other"], names=["Ann"], detector=Finds())
    assert read(out)[69] == {"text": "[PERSON_1] 69 met [PERSON_2], said [PERSON_1].", "other": "[PERSON_1]"}
    assert (done.rows, done.checked.leaks) == (71, {})
    # The check knows what the detector found from the map alone.
    out.write_text(out.read_text().replace("[PERSON_1] 3 met", "Dalia 3 met"))
    assert verify_file(out, map=map_path(out)).first == (LeakAt(4, "text", 0, "name"),)


def test_a_leak_is_named_by_its_place_and_the_file_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from recuse.blinding.redact import Blinded, Redactor

    redact = Redactor.redact

    def blind_to_the_second_row(self: Redactor, texts: dict[str, str], names: Sequence[str]) -> Blinded:
        return Blinded(texts, (), {}) if "sits" in texts.get("text", "") else redact(self, texts, names)

    monkeypatch.setattr(Redactor, "redact", blind_to_the_second_row)
    source = write(tmp_path / "in.jsonl", [{"text": "Ann stands."}, {"text": "So Ann sits, as he said."}])
    done = blind_file(source, tmp_path / "out.jsonl", text=["text"], names=["Ann"])
    assert done.checked.leaks == {"name": 1, "pronoun": 1}
    assert done.checked.first == (LeakAt(2, "text", 3, "name"), LeakAt(2, "text", 16, "pronoun"))
    assert read(tmp_path / "out.jsonl")[1] == {"text": "So Ann sits, as he said."}
    assert "Ann" not in repr(done)


def test_settings_and_signals_hold_in_the_check_too(tmp_path: Path) -> None:
    signals = (Signal("school", ("Morehouse",)),)
    chosen = BlindSettings(pronouns=("xu",), masculine_generics="redact")
    source, out = write(tmp_path / "in.jsonl", [{"text": "Xu went to Morehouse, our hero."}]), tmp_path / "out.jsonl"
    done = blind_file(source, out, text=["text"], names=["Ann"], settings=chosen, signals=signals)
    assert done.checked.leaks == {}
    assert "Morehouse" not in out.read_text()
    out.write_text(json.dumps({"text": "Xu went to Morehouse, our hero."}) + "\n")
    assert verify_file(out, map=map_path(out)).leaks == {"pronoun": 1, "signal:school": 1, "noun": 1}


def test_a_map_of_other_rows_is_refused(tmp_path: Path) -> None:
    source, out = write(tmp_path / "in.jsonl", ROWS), tmp_path / "out.jsonl"
    blind_file(source, out, text=["answer"], names_column="who")
    lines = [line + "\n" for line in out.read_text().split("\n")[:-1]]
    for changed, said in (([*lines, lines[0]], "row 4: the map has no such row"), (lines[:2], "row 3: the file ends")):
        out.write_text("".join(changed))
        with pytest.raises(InputError, match=said):
            verify_file(out, map=map_path(out))
    out.write_text("".join([lines[1], lines[0], lines[2]]))
    assert verify_file(out, map=map_path(out)).changed == 2
    with pytest.raises(InputError, match="row 1: the row is not as it was blinded"):
        unblind_row(out, map_path(out), row=1)
    with pytest.raises(InputError, match="no line of a blinding map"):
        verify_file(out, map=source)


KILLED = """
import os, signal, sys
from pathlib import Path
from recuse.blinding.files import blind_file
at = sys.argv[3]
class Killer:
    calls = 0
    def find(self, texts):
        self.calls += 1
        if at == "writing" and self.calls == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return [() for _ in texts]
replace = Path.replace
def once(self, target):
    replace(self, target)
    if at == "placing":
        os.kill(os.getpid(), signal.SIGKILL)
Path.replace = once
blind_file(sys.argv[1], sys.argv[2], text=["text"], names=["Ann"], detector=Killer())
"""


@pytest.mark.parametrize("at", ["writing", "placing"])
def test_kill_9_leaves_the_old_file_whole(tmp_path: Path, at: str) -> None:
    source = write(tmp_path / "in.jsonl", [{"text": f"Ann went, {i}. " * 50} for i in range(200)])
    out = tmp_path / "out.jsonl"

    def run() -> int:
        arguments = [sys.executable, "-c", KILLED, str(source), str(out), at]
        return subprocess.run(arguments, check=False, capture_output=True).returncode

    assert run() == -signal.SIGKILL
    assert not out.exists()
    blind_file(
        write(tmp_path / "old.jsonl", [{"text": f"{i} Ann"} for i in range(200)]), out, text=["text"], names=["Ann"]
    )
    old = out.read_bytes()
    assert run() == -signal.SIGKILL
    assert out.read_bytes() == old
    if at == "placing":  # the map is the new one: it is not taken for the old file's
        with pytest.raises(InputError, match="not as it was blinded"):
            unblind_row(out, map_path(out), row=7)
    else:
        assert unblind_row(out, map_path(out), row=7) == {"text": "6 Ann"}
    blind_file(source, out, text=["text"], names=["Ann"])
    assert unblind_row(out, map_path(out), row=7) == {"text": "Ann went, 6. " * 50}


def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    def peak(rows: int) -> int:
        source = write(tmp_path / "in.jsonl", [{"text": f"Ann went home, {i}. " * 25} for i in range(rows)])
        tracemalloc.start()
        blind_file(source, tmp_path / "out.jsonl", text=["text"], names=["Ann"])
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(20)  # what is loaded once
    assert peak(700) - peak(100) < 100_000  # the texts of 600 rows are 300,000 characters
