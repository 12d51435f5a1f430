"""The journal of provider batches, a table in the ledger's file: each before it is sent, and what came of it.

    kept (about to be sent) -> sent (the provider's name is known) -> fetched
    unsent: nothing was taken, nothing is paid; forgotten: given up by the user

A batch is paid for when it is sent, so every change is on disk (fsync) before it counts.
"""

from __future__ import annotations

import json
import sqlite3
import time
import zlib
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recuse.backends import Options, open_backend
from recuse.backends.batch import Journaled, Sent
from recuse.errors import UsageError
from recuse.ledger import translate

_TABLE = """
CREATE TABLE IF NOT EXISTS batches (
    own TEXT PRIMARY KEY, judge TEXT NOT NULL, at REAL NOT NULL, calls INTEGER NOT NULL, address TEXT NOT NULL,
    refused TEXT NOT NULL, state TEXT NOT NULL, file TEXT, id TEXT, keys BLOB NOT NULL)
"""
_OPEN = ("kept", "sent")


@dataclass(frozen=True, slots=True)
class Noted:
    """A batch as it stands in the journal."""

    sent: Sent
    judge: str  # provider/model
    state: str

    @property
    def open(self) -> bool:
        return self.state in _OPEN


class Batches:
    """The batches of one ledger; see `Journal` for the contract. Connects for each change: there are few."""

    def __init__(self, path: Path, *, judge: str) -> None:
        self.path, self.judge = path, judge

    @property
    def place(self) -> str:
        return str(self.path.parent)

    def all(self) -> list[Noted]:
        """Every batch that was ever kept, oldest first."""
        with self._connected() as db:
            if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'batches'").fetchone():
                return []
            rows = db.execute(
                "SELECT judge, state, own, at, calls, address, refused, file, id, keys FROM batches ORDER BY rowid"
            ).fetchall()
            return [_noted(db, row) for row in rows]

    def open(self) -> list[Sent]:
        return [noted.sent for noted in self.all() if noted.open]

    def intend(self, own: str, keys: Collection[str], *, address: str, refused: Collection[str]) -> Sent:
        sent = Sent(own, time.time(), len(keys), address, tuple(sorted(refused)), keys=frozenset(keys))
        row = (own, self.judge, sent.at, sent.calls, address, json.dumps(sent.refused), "kept", _packed(sorted(keys)))
        with self._connected() as db:
            db.execute(_TABLE)
            db.execute(
                "INSERT INTO batches (own, judge, at, calls, address, refused, state, keys) VALUES (?,?,?,?,?,?,?,?)",
                row,
            )
        return sent

    def name(self, own: str, *, file: str | None = None, id: str | None = None) -> None:
        with self._connected() as db:
            if file is not None:
                db.execute("UPDATE batches SET file = ? WHERE own = ?", (file, own))
            if id is not None:
                db.execute("UPDATE batches SET id = ?, state = 'sent' WHERE own = ?", (id, own))

    def close(self, own: str, state: str) -> None:
        with self._connected() as db:
            db.execute("UPDATE batches SET state = ?, keys = x'' WHERE own = ?", (state, own))

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.path, isolation_level=None, timeout=30.0)) as db:
                db.execute("PRAGMA synchronous=FULL")
                yield db
        except sqlite3.Error as error:
            raise translate(error, self.path) from error


def journals(run: Path) -> list[Batches]:
    """Those of a run folder's ledgers, or of one ledger file. Raises UsageError where there is none."""
    files = [run] if run.is_file() else sorted(run.rglob("*.sqlite"))
    if not files:
        raise UsageError(f"There is no ledger at {run}.", hint="Give a run folder or a ledger.sqlite file.")
    return [Batches(file, judge="") for file in files]


def cancel(noted: Noted, *, base_url: str | None = None) -> bool:
    """Tell the provider to end a batch; False where it has none that is surely this one, or it has ended.

    `base_url` goes before the address that was kept, which bears no password. Raises what opening the model raises.
    """
    backend = open_backend(noted.judge, Options(base_url=base_url or noted.sent.address or None))
    try:
        return isinstance(backend, Journaled) and backend.cancel(noted.sent)
    finally:
        backend.close()


def _noted(db: sqlite3.Connection, row: tuple[Any, ...]) -> Noted:
    judge, state, own, at, calls, address, refused, file, id, keys = row
    left: frozenset[str] = frozenset()
    if state in _OPEN:
        answered = "SELECT 1 FROM replies WHERE key = ?"
        left = frozenset(key for key in _unpacked(keys) if not db.execute(answered, (key,)).fetchone())
    return Noted(Sent(own, at, calls, address, tuple(json.loads(refused)), file, id, left), judge, state)


def _packed(keys: list[str]) -> bytes:
    return zlib.compress(json.dumps(keys).encode(), 1)


def _unpacked(keys: bytes) -> list[str]:
    found: list[str] = json.loads(zlib.decompress(keys))
    return found
