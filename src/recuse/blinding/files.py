"""Blind the texts of a file, keep the way back apart, and check the result as it lies on the disk.

OUT has the form, the rows and the columns of its source, less the column of names. Both files are written under other
names, checked, and then put in their places, the map first: whenever it stops, there is no half of either.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from recuse.blinding import tables
from recuse.blinding.detect import NamesDetector
from recuse.blinding.mapfile import Header, joined, read_map, row_line
from recuse.blinding.redact import Redactor
from recuse.blinding.settings import BlindSettings, Signal
from recuse.blinding.verify import find_leaks
from recuse.errors import InputError, RecuseError, UsageError

_SHOWN = 20  # leaks that are named; the others are counted
_TOGETHER = 32  # rows whose texts a detector sees at once


@dataclass(frozen=True, slots=True)
class LeakAt:
    """Where something is left, in characters of one text; what it says is kept nowhere."""

    row: int
    field: str
    offset: int
    kind: str


@dataclass(frozen=True, slots=True)
class Checked:
    """What the second check found in a blinded file."""

    rows: int
    leaks: Mapping[str, int]  # by kind; empty: clean
    first: tuple[LeakAt, ...]
    changed: int = 0  # rows that are not as the map has them


@dataclass(frozen=True, slots=True)
class BlindedFile:
    """A blinded file with its map. Not safe to use unless `checked.leaks` is empty."""

    out: Path
    map: Path
    rows: int
    nameless: int  # rows for which no name was known
    replaced: Mapping[str, int]  # by kind
    kept: Mapping[str, int] = field(repr=False)  # words that stayed because of their position or a setting
    checked: Checked = Checked(0, {}, ())


def map_path(out: str | Path) -> Path:
    """Where the map of a blinded file lies: OUT.map.jsonl beside OUT.jsonl."""
    return Path(out).with_suffix(".map.jsonl")


def blind_file(
    source: str | Path,
    out: str | Path,
    *,
    text: Sequence[str],
    names_column: str | None = None,
    names: Sequence[str] = (),
    detector: NamesDetector | None = None,
    settings: BlindSettings = BlindSettings(),  # noqa: B008 - frozen
    signals: Sequence[Signal] = (),
) -> BlindedFile:
    """Blind the columns `text` of a JSONL, CSV, TSV or Parquet file into `out`, a file of the same form.

    names_column  the names of a row: a list, in a table a JSON list or names parted by semicolons; it is not in `out`
    names         names that hold for every row
    detector      finds further names in the texts of each row

    The texts of a row share their persons; null stays null. `out` is written on a leak too. Memory does not grow with
    the number of rows. Raises InputError for a file, row or name that cannot be used, UsageError for a wrong choice of
    columns or of `out`, RecuseError where the disk refuses; nothing is written then.
    """
    source, out = Path(source), Path(out)
    if not text or len(set(text)) < len(text) or names_column in text:
        raise UsageError("The columns of texts and of names must be named, and be different.")
    tables.same_form(source, out, beside=map_path(out))
    redactor = Redactor(settings, signals)
    header = Header(tuple(text), tuple(names), settings, tuple(signals))
    replaced: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    rows = nameless = 0
    known = _Names(source, names_column, tuple(names), detector, redactor)
    with _drafts(source, out) as (draft, secret):
        with (
            _opened(draft) as file,
            _opened(secret) as way_back,
            closing(tables.writer(file, source, dropped=names_column, texts=text)) as written,
        ):
            way_back.write(header.line())
            for row, texts, bearers in known.of(tables.read_table(source), text):
                blinded = redactor.redact(texts, (*names, *bearers))
                row.pop(names_column or "", None)
                written.write({**row, **blinded.texts})
                way_back.write(row_line(tables.first_row(source) + rows, bearers, blinded))
                replaced.update(span.kind for span in blinded.spans)
                kept.update(blinded.kept)
                rows += 1
                nameless += not (names or bearers)
        checked = verify_file(draft, map=secret)
        if checked.changed:
            raise RecuseError(f"{out} does not read back as it was written.", hint="Please report this.")
        secret.replace(map_path(out))
        draft.replace(out)
    return BlindedFile(out, map_path(out), rows, nameless, dict(replaced), dict(kept), checked)


def verify_file(
    blinded: str | Path,
    *,
    text: Sequence[str] = (),
    map: str | Path | None = None,
    names: Sequence[str] = (),
    settings: BlindSettings = BlindSettings(),  # noqa: B008 - frozen
    signals: Sequence[Signal] = (),
) -> Checked:
    """Look for known names and listed words in a blinded file, by other means than those that took them out.

    text    the columns to look at; default: those of the map
    map     the map of the file: its settings hold; the names of its rows, by number, and its signals beside those given
    names   names that may stand in no row

    Raises InputError for a file that cannot be read and for a map that has other rows, UsageError without columns.
    """
    blinded, checked = Path(blinded), _Leaks()
    if map is not None:
        header, lines = read_map(Path(map))
        text = tuple(text) or header.columns
        if unknown := [column for column in text if column not in header.columns]:
            raise InputError("the map knows no such column", path=map, field=unknown[0], hint="Name a blinded column.")
        settings, signals = header.settings, tuple(dict.fromkeys((*header.signals, *signals)))
        for number, texts, line in joined(blinded, lines, columns=header.columns):
            checked.changed += not line.fits(texts)
            bearers = (*header.names, *line.names, *names)
            checked.add(number, {name: texts[name] for name in text if name in texts}, bearers, settings, signals)
        return checked.found()
    if not text:
        raise UsageError("Without a map the columns of texts must be named.", hint="Add --text COLUMN.")
    for number, row in tables.read_table(blinded):
        texts = tables.texts_in(row, text, path=blinded, number=number)
        checked.add(number, texts, tuple(names), settings, tuple(signals))
    return checked.found()


def read_names(path: str | Path, *, settings: BlindSettings = BlindSettings()) -> tuple[str, ...]:  # noqa: B008
    """One name a line, in UTF-8. Raises InputError for an empty line, and for what is no name, naming the line."""
    path = Path(path)
    if not path.is_file():
        raise InputError("no such file", path=path, hint="Give a text file with one name a line.")
    tables.check_lines(path, longest=100_000)
    redactor, found = Redactor(settings), []
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                name = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
            except UnicodeDecodeError:
                raise InputError("this is not UTF-8", path=path, row=number, hint="Save it as UTF-8.") from None
            if problem := _problem(redactor, name):
                raise InputError(f"this name {problem}", path=path, row=number, hint="Correct or remove the line.")
            found.append(name)
    if not found:
        raise InputError("no names", path=path, hint="Give at least one, one a line.")
    return tuple(dict.fromkeys(found))


class _Leaks:
    """Counts leaks and keeps the first."""

    def __init__(self) -> None:
        self.rows = self.changed = 0
        self._kinds: Counter[str] = Counter()
        self._first: list[LeakAt] = []

    def add(
        self, row: int, texts: Mapping[str, str], names: tuple[str, ...], settings: BlindSettings,
        signals: Sequence[Signal],
    ) -> None:  # fmt: skip
        self.rows += 1
        for name, text in texts.items():
            for leak in find_leaks(text, names, settings=settings, signals=signals):
                self._kinds[leak.kind] += 1
                if len(self._first) < _SHOWN:
                    self._first.append(LeakAt(row, name, leak.offset, leak.kind))

    def found(self) -> Checked:
        return Checked(self.rows, dict(self._kinds), tuple(self._first), self.changed)


@dataclass(frozen=True, slots=True)
class _Names:
    """Where the names of a row come from."""

    source: Path
    column: str | None
    listed: tuple[str, ...]
    detector: NamesDetector | None
    redactor: Redactor

    def of(
        self, rows: Iterator[tuple[int, dict[str, Any]]], columns: Sequence[str]
    ) -> Iterator[tuple[dict[str, Any], dict[str, str], tuple[str, ...]]]:
        """Each row, its texts and the names that hold for it alone."""
        while together := list(islice(rows, _TOGETHER if self.detector else 1)):
            texts = [tables.texts_in(row, columns, path=self.source, number=number) for number, row in together]
            detected = self._detected(texts)
            for (number, row), own, more in zip(together, texts, detected, strict=True):
                yield row, own, tuple(dict.fromkeys((*self._given(row, number), *more)))

    def _given(self, row: dict[str, Any], number: int) -> tuple[str, ...]:
        if self.column is None:
            return ()
        value = tables.value_in(row, self.column, path=self.source, number=number)
        return names_in(value, self.redactor, path=self.source, row=number, field=self.column)

    def _detected(self, texts: Sequence[Mapping[str, str]]) -> list[tuple[str, ...]]:
        if self.detector is None:
            return [() for _ in texts]
        found = iter(self.detector.find([text for own in texts for text in own.values()]))
        proposed = [[name for _ in own for name in next(found)] for own in texts]
        return [tuple(name for name in names if _problem(self.redactor, name) is None) for names in proposed]


def names_in(value: Any, redactor: Redactor, **where: Any) -> tuple[str, ...]:
    """The names that a cell holds: a list, a JSON list, or parted by semicolons; None and an empty cell name nobody.

    `where` tells the path, row and field. Raises InputError for what is no list, and for a name that cannot be used.
    """
    if isinstance(value, str):
        value = _parted(value, where)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise InputError("this is no list of names", **where, hint='Give a list of texts, such as ["Anna Smith"].')
    for place, name in enumerate(value, 1):
        if problem := _problem(redactor, name):
            raise InputError(f"name {place} {problem}", **where, hint="Correct or remove the name.")
    return tuple(value)


def _parted(value: str, where: Mapping[str, Any]) -> Any:
    """The names in a cell of a table: a JSON list, or parted by semicolons; an empty cell names nobody."""
    if not value.strip():
        return None
    if not value.lstrip().startswith("["):
        return [name.strip() for name in value.split(";")]
    try:
        return json.loads(value)
    except ValueError:
        raise InputError("this is no whole JSON list", **where, hint='Write it as ["Anna Smith"].') from None


def _problem(redactor: Redactor, name: str) -> str | None:
    """Why a name cannot be used, without the name."""
    if "\0" in name:
        return "holds a null character"
    try:
        redactor.redact({}, (name,))
    except InputError as error:
        return "is a pronoun too" if "pronoun" in str(error) else "is empty or has no letters"
    return None


@contextmanager
def _drafts(source: Path, out: Path) -> Iterator[tuple[Path, Path]]:
    """Names for OUT and its map while they are written; what is left of them at the end is removed."""
    way_back = map_path(out)
    drafts = tuple(path.with_name(f".{os.getpid()}.{path.name}") for path in (out, way_back))
    # OUT is no wider open than its source; the map is its owner's alone from the first byte on.
    modes = (source.stat().st_mode & 0o666 if source.exists() else 0o666, 0o600)
    try:
        for path, mode in zip(drafts, modes, strict=True):
            path.unlink(missing_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
        yield drafts[0], drafts[1]
    except OSError as error:
        raise RecuseError(f"{out} cannot be written ({error.strerror or error}).", hint="Check its folder.") from None
    finally:
        for path in drafts:
            path.unlink(missing_ok=True)


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """Open for writing; on the disk, not in a cache, when it is closed."""
    with path.open("r+b") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
