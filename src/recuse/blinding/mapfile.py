"""The way back from a blinded file, kept apart from it: JSON Lines that only their owner may read.

The first line holds what is the same for all rows, each further line a row of the blinded file:

    {"recuse_blinding_map": 1, "columns": ["answer"], "names": [], "settings": {...}, "signals": [...]}
    {"row": 1, "digest": "…", "names": ["Anna Smith"],
     "spans": {"answer": [[0, 10, "person", "Anna", "[PERSON_1]"]]}}

`row` counts as `recuse.pairs.readers` does. The digest is of the row's blinded texts: a map that lies beside another
version of its file is noticed, whatever stopped in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from recuse.assets import digest
from recuse.blinding import tables
from recuse.blinding.redact import Blinded, Span, unblind
from recuse.blinding.settings import BlindSettings, Signal
from recuse.errors import InputError

SCHEMA = 1
_OTHER = "Give the file and the map of one run of recuse blind."
_LONGEST = 50 * tables.LONGEST  # of a line here, and of a blinded text: both grow with what was replaced


@dataclass(frozen=True, slots=True)
class Header:
    columns: tuple[str, ...]  # the texts that were blinded
    names: tuple[str, ...] = field(repr=False)  # of the list for all rows
    settings: BlindSettings
    signals: tuple[Signal, ...]

    def line(self) -> bytes:
        return tables.as_json({"recuse_blinding_map": SCHEMA, **asdict(self)})


@dataclass(frozen=True, slots=True)
class MapRow:
    row: int
    digest: str
    names: tuple[str, ...] = field(repr=False)
    spans: tuple[Span, ...] = field(repr=False)

    def fits(self, texts: Mapping[str, str]) -> bool:
        """Whether these are the blinded texts that this line was written for."""
        return self.digest == digest_of(texts)

    def unblinded(self, texts: Mapping[str, str]) -> dict[str, str]:
        return {name: unblind(text, [s for s in self.spans if s.field == name]) for name, text in texts.items()}


def digest_of(texts: Mapping[str, str]) -> str:
    return digest(tables.as_json(dict(texts)))


def row_line(row: int, names: tuple[str, ...], blinded: Blinded) -> bytes:
    spans: dict[str, list[list[object]]] = {}
    for span in blinded.spans:
        spans.setdefault(span.field, []).append([span.start, span.end, span.kind, span.original, span.placeholder])
    return tables.as_json({"row": row, "digest": digest_of(blinded.texts), "names": names, "spans": spans})


def read_map(path: Path) -> tuple[Header, Iterator[MapRow]]:
    """The header, and the rows as they are asked for. Raises InputError for a file that is no map, or a torn one."""
    rows = tables.read_table(path, longest=_LONGEST)
    number, first = next(rows)
    try:
        if first["recuse_blinding_map"] != SCHEMA:
            raise ValueError
        signals = tuple(Signal(s["kind"], tuple(s["words"])) for s in first["signals"])
        settings = {**first["settings"], "pronouns": tuple(first["settings"]["pronouns"])}
        header = Header(tuple(first["columns"]), tuple(first["names"]), BlindSettings(**settings), signals)
    except (KeyError, TypeError, ValueError):
        raise _no_map(path, number) from None
    return header, _rows(path, rows)


def _rows(path: Path, rows: Iterator[tuple[int, dict[str, Any]]]) -> Iterator[MapRow]:
    for number, row in rows:
        try:
            spans = tuple(Span(name, *found) for name, listed in row["spans"].items() for found in listed)
            yield MapRow(row["row"], row["digest"], tuple(row["names"]), spans)
        except (KeyError, TypeError, AttributeError):
            raise _no_map(path, number) from None


def _no_map(path: Path, number: int) -> InputError:
    return InputError("this is no line of a blinding map", path=path, row=number, hint="Give OUT.map.jsonl.")


def joined(
    blinded: Path, rows: Iterator[MapRow], *, columns: tuple[str, ...]
) -> Iterator[tuple[int, dict[str, str], MapRow]]:
    """Each row's number, its texts and its line of the map, by number. The texts may have been changed since.

    Raises InputError where the two files do not have the same rows.
    """
    for number, row in tables.read_table(blinded, longest=_LONGEST):
        texts = tables.texts_in(row, columns, path=blinded, number=number, longest=_LONGEST)
        line = next(rows, None)
        if line is None or line.row != number:
            raise InputError("the map has no such row", path=blinded, row=number, hint=_OTHER)
        yield number, texts, line
    if (line := next(rows, None)) is not None:
        raise InputError("the file ends before a row of the map", path=blinded, row=line.row, hint=_OTHER)


def unblind_row(blinded: str | Path, map: str | Path, *, row: int) -> dict[str, str]:
    """The original texts of one row of a blinded file, exactly. Raises InputError where there is no such row."""
    header, rows = read_map(Path(map))
    for number, texts, line in joined(Path(blinded), rows, columns=header.columns):
        if number == row and not line.fits(texts):
            raise InputError("the row is not as it was blinded", path=blinded, row=row, hint=_OTHER)
        if number == row:
            return line.unblinded(texts)
    raise InputError("there is no such row", path=blinded, row=row, hint="Rows count as in the messages of recuse.")
