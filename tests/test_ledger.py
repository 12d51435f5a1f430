"""The ledger keeps every reply as it came, once, and knows when it was damaged."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from instant import make_ask
from typer.testing import CliRunner

from recuse.cli.ledger import ledger as commands
from recuse.errors import Incomplete, InputError, UsageError
from recuse.ledger import Ledger, call_key
from recuse.types import Call, Reply


def _call(pair: str, repeat: int = 0) -> Call:
    ask = make_ask(pair, repeat=repeat)
    body = {"b": 1, "a": [ask.messages[0].content]}
    return Call(call_key("fake/x", body, "prompt", repeat), ask, body)


def test_the_key_is_the_hash_of_tagged_canonical_json_written_out_by_hand() -> None:
    text = 'recuse-call-1\n["fake/x","p",2]\n{"a":["ü"],"b":1.5}'
    assert call_key("fake/x", {"b": 1.5, "a": ["ü"]}, "p", 2) == hashlib.sha256(text.encode()).hexdigest()[:32]


@pytest.mark.parametrize(
    "other", [("m2", {"a": 1}, "p", 0), ("m", {"a": 2}, "p", 0), ("m", {"a": 1}, "q", 0), ("m", {"a": 1}, "p", 1)]
)
def test_whatever_determines_a_reply_changes_the_key(other: tuple[str, dict[str, int], str, int]) -> None:
    assert call_key("m", {"a": 1}, "p", 0) != call_key(*other)


def test_a_reply_comes_back_as_it_went_in(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l.sqlite", judge="fake/x")
    call = _call("p1")
    reply = Reply(
        call.key,
        "A\x00 \ud800 ‮é",
        "length",
        "thought",
        ((" A", -0.25), ("Ġ", -7.0)),
        1.5,
        10,
        2,
        5,
        0.125,
        "m-1",
        "e",
        ("n",),
    )
    ledger.put(call, reply)
    found = ledger.find(call.key)
    assert found is not None
    assert found.reply == reply
    assert found.fresh
    assert ledger.find("nothing") is None


def test_the_first_of_two_replies_to_one_key_stays(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l.sqlite", judge="fake/x")
    call = _call("p1")
    ledger.put(call, Reply(call.key, "first"))
    ledger.put(call, Reply(call.key, "second"))
    found = ledger.find(call.key)
    assert found is not None
    assert found.reply.text == "first"
    assert len(ledger) == 1


def test_a_second_reader_sees_a_reply_as_soon_as_put_returns(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l.sqlite", judge="fake/x")
    call = _call("p1")
    ledger.put(call, Reply(call.key, "A"))
    with sqlite3.connect(tmp_path / "l.sqlite") as other:
        assert other.execute("SELECT count(*) FROM replies").fetchone() == (1,)


def test_verify_finds_an_altered_request_and_an_altered_reply(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l.sqlite", judge="fake/x")
    calls = [_call(f"p{i}") for i in range(7)]
    for call in calls:
        ledger.put(call, Reply(call.key, "A"))
    assert ledger.verify() == []
    with sqlite3.connect(tmp_path / "l.sqlite") as db:
        db.execute("UPDATE replies SET repeat = 3 WHERE key = ?", (calls[0].key,))
        db.execute("UPDATE replies SET body = x'00' WHERE key = ?", (calls[1].key,))
        db.execute("UPDATE replies SET reply = '{' WHERE key = ?", (calls[2].key,))
        db.execute("UPDATE replies SET reply = replace(reply, 'A', 'B') WHERE key = ?", (calls[3].key,))
        db.execute("UPDATE replies SET reply = CAST(x'7bff' AS TEXT) WHERE key = ?", (calls[4].key,))
        db.execute("UPDATE replies SET checksum = '' WHERE key = ?", (calls[5].key,))
    found = {problem.key: problem.what for problem in ledger.verify()}
    assert set(found) == {call.key for call in calls[:6]}
    assert found[calls[3].key] == "the reply is not the one that was stored"


def test_the_checksum_is_the_hash_of_key_and_reply_written_out_by_hand(tmp_path: Path) -> None:
    call = _call("p1")
    Ledger(tmp_path / "l.sqlite", judge="fake/x").put(call, Reply(call.key, "A"))
    with sqlite3.connect(tmp_path / "l.sqlite") as db:
        (checksum,) = db.execute("SELECT checksum FROM replies").fetchone()
    text = f'recuse-reply-1\n{call.key}\n{{"text": "A"}}'
    assert checksum == hashlib.sha256(text.encode()).hexdigest()[:32]


def test_an_export_that_meets_a_damaged_row_names_it_and_leaves_nothing(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l.sqlite", judge="fake/x")
    call = _call("p1")
    ledger.put(call, Reply(call.key, "A"))
    with sqlite3.connect(tmp_path / "l.sqlite") as db:
        db.execute('UPDATE replies SET reply = \'{"tokens_in": "many", "text": 1}\'')
    with pytest.raises(InputError, match=rf"l\.sqlite: the row {call.key} is damaged.*verify"):
        ledger.export(tmp_path / "out.parquet")
    with pytest.raises(InputError, match=call.key):
        ledger.totals()
    with sqlite3.connect(tmp_path / "l.sqlite") as db:
        db.execute("UPDATE replies SET reply = '{'")
    with pytest.raises(InputError, match=rf"the row {call.key} is damaged"):
        ledger.find(call.key)
    assert not list(tmp_path.glob("out*"))


def test_an_export_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l.sqlite", judge="fake/x")
    with pytest.raises(UsageError, match=r"none/out\.parquet cannot be written: No such file or directory\. Name") as e:
        ledger.export(tmp_path / "none" / "out.parquet")
    assert e.value.exit_code == 2
    with pytest.raises(UsageError, match=r"cannot be written: Not a directory"):
        ledger.export(tmp_path / "l.sqlite" / "out.parquet")


def test_a_ledger_without_checksums_is_refused_in_one_sentence(tmp_path: Path) -> None:
    call = _call("p1")
    ledger = Ledger(tmp_path / "l.sqlite", judge="fake/x")
    with sqlite3.connect(tmp_path / "l.sqlite") as db:
        db.execute("ALTER TABLE replies DROP COLUMN checksum")
    for use in (ledger.verify, lambda: ledger.put(call, Reply(call.key, "A"))):
        with pytest.raises(InputError, match=r"l\.sqlite: a ledger of another version"):
            use()


def test_the_commands_say_what_they_found(tmp_path: Path) -> None:
    run, out = tmp_path / "l.sqlite", tmp_path / "out.parquet"
    call = _call("p1")
    Ledger(run, judge="fake/x").put(call, Reply(call.key, "A"))
    invoke = CliRunner().invoke
    assert invoke(commands, ["verify", str(run)]).stdout == "1 reply, all intact.\n"
    assert invoke(commands, ["export", str(run), "--out", str(out)]).stdout == f"1 reply in {out}\n"
    with sqlite3.connect(run) as db:
        db.execute("UPDATE replies SET reply = replace(reply, 'A', 'B')")
    result = invoke(commands, ["verify", str(run)])
    assert result.stdout == f"{call.key}: the reply is not the one that was stored\n"
    assert isinstance(result.exception, InputError)
    assert "1 problem in 1 reply." in str(result.exception)


def test_totals_and_export_agree_with_what_was_put(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l.sqlite", judge="fake/x")
    for i in range(5):
        call = _call(f"p{i}")
        ledger.put(
            call, Reply(call.key, "A", "length" if i else "stop", tokens_in=10, logprobs=(("A", -1.0),)), fresh=i > 1
        )
    totals = ledger.totals()
    assert (totals["replies"], totals["fresh"], totals["tokens_in"]) == (5, 3, 50)
    assert totals["finish"] == {"length": 4, "stop": 1}
    assert ledger.export(tmp_path / "out.parquet") == 5
    rows = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert [row["pair"] for row in rows] == [f"p{i}" for i in range(5)]
    assert json.loads(rows[0]["reply_logprobs"]) == [["A", -1.0]]
    assert json.loads(rows[3]["body"]) == {"a": ["question p3"], "b": 1}


def test_a_full_disk_ends_the_run_and_leaves_the_ledger_intact(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l.sqlite", judge="fake/x")
    pages = ledger._db.execute("PRAGMA page_count").fetchone()[0]
    ledger._db.execute(f"PRAGMA max_page_count = {pages + 8}")  # SQLite's own way to say that no room is left

    def fill() -> None:
        for i in range(1000):
            call = _call(f"p{i}")
            ledger.put(call, Reply(call.key, "x" * 500))

    with pytest.raises(Incomplete, match=r"full.*resumes"):
        fill()
    kept = len(ledger)
    assert kept > 5
    assert ledger.verify() == []
    reopened = Ledger(tmp_path / "l.sqlite", judge="fake/x")
    call = _call("p9999")
    reopened.put(call, Reply(call.key, "A"))
    assert len(reopened) == kept + 1


def test_what_is_no_ledger_is_said_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "x.sqlite").write_text("not a database, but long enough to be read as one " * 40)
    with pytest.raises(InputError, match=r"x\.sqlite: not a ledger"):
        Ledger(tmp_path / "x.sqlite")
    with pytest.raises(UsageError, match="no ledger at"):
        Ledger.existing(tmp_path)
