"""Rows of JSONL, CSV, TSV and Parquet, one at a time, and the same form written again."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from recuse.errors import InputError, UsageError
from recuse.pairs.readers import read_file
from recuse.pairs.rows import BadRow

FORMS = (".jsonl", ".csv", ".tsv", ".parquet")
LONGEST = 8_000_000  # bytes of a line, characters of a text: what is longer is no text that a judge reads
_ROWS, _CHARACTERS = 1024, 4_000_000  # Parquet rows are held until there are so many, or so much text


def form_of(path: Path) -> str:
    """One of `FORMS`, by the ending. Raises InputError for any other."""
    form = Path(path.name.lower().removesuffix(".gz")).suffix
    if form not in FORMS or (form == ".parquet" and path.name.lower().endswith(".gz")):
        raise InputError("the ending is not known", path=path, hint=f"Use one of: {', '.join(FORMS)}.")
    return form


def first_row(path: Path) -> int:
    """The number of the first row, as `recuse.pairs.readers` counts them: the header of a table is row 1."""
    return 2 if form_of(path) in (".csv", ".tsv") else 1


def read_table(path: Path, *, longest: int = LONGEST) -> Iterator[tuple[int, dict[str, Any]]]:
    """(number, row), see `recuse.pairs.readers`. Holds one row, of Parquet some.

    Raises InputError for a file that is missing, empty, binary under the name of a text file or has a line longer than
    `longest`, and for the first faulty row.
    """
    form = form_of(path)
    if not path.exists():
        raise InputError("no such file", path=path, hint="Give a file that exists.")
    if form != ".parquet":
        check_lines(path, longest=longest)
    number = 0
    for number, row in read_file(path, preset=None):
        if isinstance(row, BadRow):
            raise InputError(str(row), path=path, row=number, field=row.field, hint="Correct the row.")
        yield number, row
    if not number:
        raise InputError("no rows", path=path, hint="Give a file with at least one row.")


def check_lines(path: Path, *, longest: int = LONGEST) -> None:
    """Raise InputError for a file that is no text, or has a line of more bytes than `longest`. Holds one line."""
    opened = gzip.open if path.name.lower().endswith(".gz") else open
    try:
        with opened(path, "rb") as file:
            number = 0
            while line := file.readline(longest + 1):
                number += 1
                if b"\0" in line:
                    raise InputError("this is no text file", path=path, row=number, hint="Give it as UTF-8 text.")
                if len(line) > longest:
                    raise InputError(
                        f"the line is longer than {longest:,} bytes", path=path, row=number, hint="Part or remove it."
                    )
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"cannot be read ({getattr(error, 'strerror', None) or error})", path=path, hint="Check the file."
        ) from None


class Rows(Protocol):
    """Takes rows that all have the same columns."""

    def write(self, row: dict[str, Any]) -> None: ...

    def close(self) -> None:
        """Writes what is still held; the file stays open."""
        ...


def writer(file: BinaryIO, source: Path, *, dropped: str | None, texts: Sequence[str]) -> Rows:
    """Writes rows of `source` into `file` in its form, without the column `dropped`; `texts` hold text."""
    form = form_of(source)
    if form == ".parquet":
        return _Parquet(file, source, dropped, texts)
    if form == ".jsonl":
        return _JsonLines(file)
    return _Separated(file, "\t" if form == ".tsv" else ",")


class _JsonLines:
    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, row: dict[str, Any]) -> None:
        self._file.write(as_json(row))

    def close(self) -> None: ...


def as_json(value: Any) -> bytes:
    """A line of JSON; half a surrogate pair, which UTF-8 cannot hold, is written as the escape that it came as."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(value).encode() + b"\n"


class _Separated:
    def __init__(self, file: BinaryIO, delimiter: str) -> None:
        self._text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        self._writer = csv.writer(self._text, delimiter=delimiter, lineterminator="\n")
        # The writer quotes its own line end only, and a reader stumbles over any other: such rows are quoted whole.
        self._quoting = csv.writer(self._text, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
        self._header: list[str] = []

    def write(self, row: dict[str, Any]) -> None:
        if not self._header:
            self._header = list(row)
            self._put(self._header)
        self._put(list(row.values()))

    def _put(self, values: list[str]) -> None:
        (self._quoting if any("\r" in value for value in values) else self._writer).writerow(values)

    def close(self) -> None:
        self._text.flush()
        self._text.detach()


class _Parquet:
    def __init__(self, file: BinaryIO, source: Path, dropped: str | None, texts: Sequence[str]) -> None:
        self._file, self._source, self._dropped, self._texts = file, source, dropped, texts
        self._writer: Any = None  # opened with the first rows: by then the source is known to be sound
        self._schema: Any = None
        self._rows: list[dict[str, Any]] = []
        self._characters = 0

    def write(self, row: dict[str, Any]) -> None:
        self._rows.append(row)
        self._characters += sum(len(row[field] or "") for field in self._texts)
        if len(self._rows) >= _ROWS or self._characters >= _CHARACTERS:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self._writer is None:
            fields = [field for field in pq.read_schema(self._source) if field.name != self._dropped]
            self._schema = pa.schema(
                [pa.field(field.name, pa.string()) if field.name in self._texts else field for field in fields]
            )
            self._writer = pq.ParquetWriter(self._file, self._schema)
        self._writer.write_batch(pa.RecordBatch.from_pylist(self._rows, schema=self._schema))
        self._rows, self._characters = [], 0

    def close(self) -> None:
        if self._rows:
            self._flush()
        if self._writer is not None:
            self._writer.close()


def texts_in(
    row: dict[str, Any], columns: Sequence[str], *, path: Path, number: int, longest: int = LONGEST
) -> dict[str, str]:
    """The texts of a row by column, without those that are null.

    Raises InputError for a column that is not there, a value that is no text, and a text longer than `longest`.
    """
    texts = {}
    for column in columns:
        value = value_in(row, column, path=path, number=number)
        if value is None:
            continue
        where: dict[str, Any] = {"path": path, "row": number, "field": column}
        if not isinstance(value, str):
            raise InputError(
                f"this is of type {type(value).__name__}, where text is needed", **where, hint="Name a column of texts."
            )
        if len(value) > longest:
            raise InputError(f"the text is longer than {longest:,} characters", **where, hint="Part or remove it.")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InputError("the text holds half of a surrogate pair", **where, hint="Correct the row.") from None
        texts[column] = value
    return texts


def value_in(row: dict[str, Any], column: str, *, path: Path, number: int) -> Any:
    """The value of a column. Raises InputError where the row lacks it."""
    if column not in row:
        found = ", ".join(row)
        listed = found if len(found) <= 90 else f"{found[:87]}..."
        raise InputError(
            f"there is no such column (found: {listed})", path=path, row=number, field=column, hint="Name another one."
        )
    return row[column]


def same_form(source: Path, out: Path, *, beside: Path) -> None:
    """Raise UsageError unless `out` has the ending of `source`, unpacked, and lies in a folder that exists, and neither
    it nor the file `beside` it is the source."""
    form = form_of(source)
    if out.suffix.lower() != form:
        raise UsageError(f"{out} does not end in {form}, the form of {source}.", hint=f"Name it {out.stem}{form}.")
    if not out.parent.is_dir():
        raise UsageError(f"There is no folder {out.parent}.", hint="Make it first.")
    for path in (out, beside):
        if path.is_dir():
            raise UsageError(f"{path} is a folder.", hint="Give the name of a file.")
        if path.exists() and source.exists() and path.samefile(source):
            raise UsageError(f"{path} is the source itself.", hint="Give another name: the source stays as it is.")
