"""Every reply ever paid for, in one SQLite file in the run folder.

A reply is committed the moment it arrives: in WAL mode a commit costs some 30 microseconds (no fsync), and a killed
process loses only what was still in flight. A machine that loses its power may lose the last replies that its system
had not written out, seconds of them; never what came before. Replies are facts: nothing here updates or deletes one.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
import zlib
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from recuse.errors import Incomplete, InputError, UsageError
from recuse.prompts import canonical
from recuse.types import Call, Reply

SCHEMA = 1
# Pages of 4 KiB that gather in the log before they go into the file, which waits for the disk. SQLite's own 1,000 fill
# up every 400 replies, since keys fall on pages anywhere: a reply took 140 to 190 microseconds, and 50 to 140 by these.
_LOG_PAGES = 10_000
_BLOCK, _AHEAD = 512, 8192  # rows read at once, and held at most, by `Ahead`
_TABLES = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS replies (
    key TEXT PRIMARY KEY, pair TEXT NOT NULL, arm TEXT NOT NULL, view TEXT NOT NULL, repeat INTEGER NOT NULL,
    prompt TEXT NOT NULL, judge TEXT NOT NULL, body BLOB NOT NULL, reply TEXT NOT NULL, fresh INTEGER NOT NULL,
    at REAL NOT NULL, checksum TEXT NOT NULL);
"""


def call_key(judge: str, body: Mapping[str, Any], prompt: str, sample: int) -> str:
    """Identity of one call: SHA-256 over tagged canonical JSON, 32 hex digits. Changing this changes every key.

    `judge` is provider/model, `body` the request as sent, `prompt` the prompt file's hash, `sample` the repeat.
    """
    return key_of(judge, canonical(body), prompt, sample)


def key_of(judge: str, body: str, prompt: str, sample: int) -> str:
    """`call_key` of a request that is canonical JSON already."""
    text = f"recuse-call-1\n{_head(judge, prompt, sample)}\n{body}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@lru_cache(maxsize=256)
def _head(judge: str, prompt: str, sample: int) -> str:
    return canonical([judge, prompt, sample])


def _checksum(key: str, reply: bytes) -> str:
    """What tells an altered reply from the one that came; the key already tells an altered request."""
    return hashlib.sha256(b"recuse-reply-1\n" + key.encode() + b"\n" + reply).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Damage:
    key: str
    what: str


@dataclass(frozen=True, slots=True)
class Found:
    row: int
    fresh: bool  # a call of this run rather than a hit in a shared cache
    reply: Reply


class Ledger:
    """One file of replies. Used from one thread; several processes may share a file that serves as a cache."""

    def __init__(self, path: Path, *, judge: str = "") -> None:
        self.path, self.judge = path, judge
        try:
            self._db = sqlite3.connect(path, isolation_level=None, timeout=30.0, cached_statements=16)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute(f"PRAGMA wal_autocheckpoint={_LOG_PAGES}")
            self._db.executescript(_TABLES)
            self._db.execute("INSERT OR IGNORE INTO meta VALUES ('schema', ?)", (str(SCHEMA),))
            (found,) = self._db.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone()
        except sqlite3.Error as error:
            raise translate(error, path) from error
        if found != str(SCHEMA):
            raise InputError(
                f"ledger of schema {found}, this version reads {SCHEMA}",
                path=path,
                hint="Use the version of recuse that wrote it.",
            )

    @classmethod
    def existing(cls, path: Path) -> Ledger:
        """Open a ledger to read it; raises UsageError where there is none."""
        file = path / "ledger.sqlite" if path.is_dir() else path
        if not file.is_file():
            raise UsageError(f"There is no ledger at {path}.", hint="Give a run folder or a ledger.sqlite file.")
        return cls(file)

    def find(self, key: str) -> Found | None:
        row = self._db.execute("SELECT rowid, fresh, reply FROM replies WHERE key = ?", (key,)).fetchone()
        return None if row is None else self.opened(key, *row)

    def block(self, after: int) -> list[tuple[str, int, bool, bytes]]:
        """Key, number, freshness and reply as it is stored, of the rows that follow the number `after`."""
        query = "SELECT key, rowid, fresh, CAST(reply AS BLOB) FROM replies WHERE rowid > ? ORDER BY rowid LIMIT ?"
        return list(self._select(query, (after, _BLOCK)))

    def opened(self, key: str, row: int, fresh: bool, reply: str | bytes) -> Found:
        """A row as it is stored, read. Raises InputError for a damaged one."""
        try:
            return Found(row, bool(fresh), _load(key, reply))
        except (ValueError, TypeError) as error:
            raise self._damaged(key, str(error)) from None

    @property
    def last_row(self) -> int:
        """The number of the newest row, 0 in an empty ledger; rows written later have higher numbers."""
        (row,) = self._db.execute("SELECT coalesce(max(rowid), 0) FROM replies").fetchone()
        return int(row)

    def put(self, call: Call, reply: Reply, *, fresh: bool = True, body: str | None = None) -> int:
        """Commit one reply; gives the number of its row. `body`: the request as canonical JSON, where it is at hand.

        Keeping the first of two replies to one key is deliberate: facts do not change. Raises Incomplete when the disk
        is full; what was committed before stays intact.
        """
        ask = call.ask
        text, body = _dump(reply), canonical(call.body) if body is None else body
        row = (
            call.key, ask.pair, ask.arm, ask.view, ask.repeat, ask.prompt, self.judge,
            zlib.compress(body.encode("utf-8", "surrogatepass"), 1), text,
            int(fresh), time.time(), _checksum(call.key, text.encode()),
        )  # fmt: skip
        try:
            written = self._db.execute("INSERT OR IGNORE INTO replies VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", row)
        except sqlite3.Error as error:
            raise translate(error, self.path) from error
        if written.rowcount:
            return int(written.lastrowid or 0)
        kept = self.find(call.key)
        return kept.row if kept else 0

    def __len__(self) -> int:
        (count,) = self._db.execute("SELECT count(*) FROM replies").fetchone()
        return int(count)

    def times(self) -> list[float]:
        """When each reply was kept, in seconds since the epoch, in rising order."""
        return [row[0] for row in self._select("SELECT at FROM replies ORDER BY at")]

    def replies(self, wanted: Container[tuple[str, str]]) -> Iterator[tuple[tuple[str, str, str, int], Reply]]:
        """Pair, arm, view and repeat with the reply, of rows whose pair and arm are `wanted`.

        Asks with the same request share a row, which bears the names of the first of them.
        """
        query = "SELECT pair, arm, view, repeat, key, CAST(reply AS BLOB) FROM replies ORDER BY rowid"
        for pair, arm, view, repeat, key, reply in self._select(query):
            if (pair, arm) in wanted:
                try:
                    yield (pair, arm, view, repeat), _load(key, reply)
                except (ValueError, TypeError) as error:
                    raise self._damaged(key, str(error)) from None

    def rows(self) -> Iterator[dict[str, Any]]:
        """Every row as plain values: the columns of the table, `body` as JSON text and the fields of the reply.

        Raises InputError naming the key of a row that is damaged.
        """
        for row in self._stored():
            body, fault = _opened(row)
            if fault:
                raise self._damaged(row["key"], fault)
            reply = json.loads(row["reply"])
            shown = {name: value for name, value in row.items() if name not in ("body", "reply", "checksum")}
            yield {**shown, "body": body, **{f"reply_{k}": v for k, v in reply.items()}}

    def verify(self) -> list[Damage]:
        """Check the file, every key against its request and every reply against its checksum; empty means intact."""
        problems = [Damage("", str(row[0])) for row in self._select("PRAGMA integrity_check") if row[0] != "ok"]
        faults = ((row["key"], _opened(row)[1]) for row in self._stored())
        return problems + [Damage(key, fault) for key, fault in faults if fault]

    def _damaged(self, key: str, fault: str) -> InputError:
        hint = "Restore the file from a copy; `recuse ledger verify` lists every such row."
        return InputError(f"the row {key} is damaged ({fault})", path=self.path, hint=hint)

    def _stored(self) -> Iterator[dict[str, Any]]:
        """The table as it is; replies as bytes, since SQLite refuses to hand out text that is no UTF-8."""
        names = ("key", "pair", "arm", "view", "repeat", "prompt", "judge", "fresh", "at", "body", "checksum", "reply")
        columns = f"{', '.join(names[:-1])}, CAST(reply AS BLOB)"
        for row in self._select(f"SELECT {columns} FROM replies ORDER BY rowid"):
            yield dict(zip(names, row, strict=True))

    def _select(self, query: str, values: tuple[int, ...] = ()) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._db.execute(query, values)
        except sqlite3.Error as error:
            raise translate(error, self.path) from error

    def totals(self) -> dict[str, Any]:
        """Counts over all replies: replies, fresh, by finish, by view and arm, tokens, seconds and model versions."""
        totals: dict[str, Any] = {"replies": 0, "fresh": 0, "tokens_in": 0, "tokens_out": 0, "seconds": 0.0}
        kinds: dict[str, Counter[str]] = {name: Counter() for name in ("finish", "view", "arm", "model")}
        for row in self.rows():
            totals["replies"] += 1
            totals["fresh"] += row["fresh"]
            for name in ("tokens_in", "tokens_out", "seconds"):
                totals[name] += row.get(f"reply_{name}") or 0
            kinds["finish"][row.get("reply_finish", "stop")] += 1
            kinds["view"][row["view"]] += 1
            kinds["arm"][row["arm"]] += 1
            kinds["model"][row.get("reply_model") or "not reported"] += 1
        return {**totals, **{name: dict(sorted(count.items())) for name, count in kinds.items()}}

    def export(self, out: Path) -> int:
        """Write all rows to a Parquet file, replacing it whole; returns their number.

        Raises UsageError where it cannot be written and InputError for a damaged row; neither leaves a file behind.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        fields = {
            "key": pa.string(), "pair": pa.string(), "arm": pa.string(), "view": pa.string(), "repeat": pa.int64(),
            "prompt": pa.string(), "judge": pa.string(), "fresh": pa.int64(), "at": pa.float64(), "body": pa.string(),
            "reply_text": pa.string(), "reply_finish": pa.string(), "reply_thinking": pa.string(),
            "reply_logprobs": pa.string(), "reply_score": pa.float64(), "reply_tokens_in": pa.int64(),
            "reply_tokens_out": pa.int64(), "reply_tokens_cached": pa.int64(), "reply_seconds": pa.float64(),
            "reply_model": pa.string(), "reply_error": pa.string(), "reply_notes": pa.string(),
            "reply_batched": pa.bool_(),
        }  # fmt: skip
        part = out.with_name(out.name + ".part")
        count = 0
        try:
            with part.open("wb") as file, pq.ParquetWriter(file, pa.schema(list(fields.items()))) as writer:
                rows = self.rows()
                while batch := list(islice(rows, 2000)):
                    for row in batch:
                        row.setdefault("reply_finish", "stop")
                        for name in ("reply_logprobs", "reply_notes"):
                            row[name] = json.dumps(row[name]) if name in row else None
                    writer.write_table(pa.Table.from_pylist(batch, schema=writer.schema))
                    count += len(batch)
            part.replace(out)
        except OSError as error:
            raise UsageError(
                f"{out} cannot be written: {error.strerror}.", hint="Name a file in a folder that exists and is yours."
            ) from error
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)
        return count

    def close(self) -> None:
        self._db.close()


class Ahead:
    """Looks rows up that are wanted nearly in the order in which they were written: blocks of them are read ahead, a
    tenth of the work of finding one by one. What is not in the block at hand is found as ever."""

    def __init__(self, ledger: Ledger, last: int) -> None:
        self._ledger, self._last = ledger, last  # rows up to number `last` are wanted
        self._read = 0
        self._rows: dict[str, tuple[int, bool, bytes]] = {}

    def find(self, key: str) -> Found | None:
        row = self._rows.pop(key, None)
        if row is None and self._read < self._last and len(self._rows) < _AHEAD:
            for other, number, fresh, reply in self._ledger.block(self._read):
                self._rows[other], self._read = (number, fresh, reply), number
            row = self._rows.pop(key, None)
        return self._ledger.find(key) if row is None else self._ledger.opened(key, *row)

    @property
    def spent(self) -> bool:
        """Whether every row was found."""
        return self._read >= self._last and not self._rows


_DEFAULTS = asdict(Reply(key="", text=""))
_ENCODER = json.JSONEncoder(ensure_ascii=True, allow_nan=False)


def _dump(reply: Reply) -> str:
    """The fields that differ from their defaults, as JSON; the text always."""
    values = {
        name: value
        for name in _DEFAULTS
        if name != "key" and ((value := getattr(reply, name)) != _DEFAULTS[name] or name == "text")
    }
    return _ENCODER.encode(values)


def _load(key: str, text: str | bytes) -> Reply:
    values = json.loads(text)
    if (pairs := values.get("logprobs")) is not None:
        values["logprobs"] = tuple((token, logprob) for token, logprob in pairs)
    if "notes" in values:
        values["notes"] = tuple(values["notes"])
    return Reply(key=key, **values)


def _opened(row: Mapping[str, Any]) -> tuple[str, str]:
    """The request of a row as JSON text, and what is wrong with the row: nothing in an intact one."""
    try:
        body = zlib.decompress(row["body"]).decode("utf-8", "surrogatepass")
        _load(row["key"], row["reply"])
    except (zlib.error, ValueError, TypeError) as error:
        return "", f"unreadable: {error}"
    if key_of(row["judge"], body, row["prompt"], row["repeat"]) != row["key"]:
        return body, "the stored request does not give this key"
    if _checksum(row["key"], row["reply"]) != row["checksum"]:
        return body, "the reply is not the one that was stored"
    return body, ""


def translate(error: sqlite3.Error, path: Path) -> Exception:
    """The error of ours for SQLite's, about the ledger at `path`."""
    text = str(error)
    if "full" in text or "disk I/O" in text:
        return Incomplete(
            f"The disk that holds {path} is full.", hint="Free some space and run the same command again: it resumes."
        )
    if "locked" in text or "busy" in text:
        return Incomplete(f"{path} is in use by another process.", hint="Wait for it, then run the same command again.")
    if "not a database" in text or "malformed" in text:
        return InputError(f"not a ledger ({text})", path=path, hint="Give another file or folder.")
    if "unable to open" in text or "readonly" in text:
        return InputError(f"cannot be opened ({text})", path=path, hint="Check the folder and its permissions.")
    if "no such column" in text or "columns but" in text:
        return InputError(f"a ledger of another version ({text})", path=path, hint="Start a new run folder.")
    return error
