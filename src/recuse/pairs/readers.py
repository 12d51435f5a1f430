"""Local files as a stream of (row number, row). Rows count as a person would find them.

JSONL: the line of the file. CSV and TSV: the row of a spreadsheet, the header being row 1. JSON, Parquet: the record,
from 1. A faulty row comes as a BadRow in the row's place, so that the caller may skip it; a file that cannot be read on
raises InputError.
"""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from recuse.errors import InputError
from recuse.pairs.rows import BadRow

Rows = Iterator[tuple[int, dict[str, Any] | BadRow]]

SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".parquet")  # all but Parquet also with .gz
_BATCH = 1024  # Parquet rows held as Python objects at a time
_FIELD = 2**31 - 1  # characters in one CSV field; the default of 131,072 is less than a long answer may have


def read_file(path: Path, *, preset: str | None) -> Rows:
    """Rows of `path` by its suffix. Unless a preset other than evalbiasbench is named, which is published so, a .json
    file may also be an object of arrays of rows."""
    if path.is_dir():
        raise InputError("this is a directory", path=path, hint="Name one of its files.")
    if not path.exists():
        raise InputError(
            "no such file", path=path, hint="Give a file, a data set as hf:org/name[:config][:split], or demo."
        )
    if not path.is_file():
        raise InputError("this is no regular file", path=path, hint="Write its content to a file first.")
    name = path.name.lower()
    packed = name.endswith(".gz")
    suffix = Path(name.removesuffix(".gz")).suffix
    if suffix == ".parquet" and not packed:
        return _parquet(path)
    if suffix == ".jsonl":
        return _jsonl(path, packed)
    if suffix == ".json":
        return _json(path, packed, preset in (None, "evalbiasbench"))
    if suffix in {".csv", ".tsv"}:
        return _csv(path, packed, "\t" if suffix == ".tsv" else ",")
    raise InputError(
        f"the ending {path.suffix!r} is not known", path=path, hint=f"Use one of: {', '.join(SUFFIXES)} (or .gz)."
    )


def _lines(path: Path, packed: bool) -> Iterator[bytes]:
    try:
        with gzip.open(path, "rb") if packed else path.open("rb") as file:
            for i, line in enumerate(file):
                yield line.removeprefix(b"\xef\xbb\xbf") if i == 0 else line
    except gzip.BadGzipFile:
        raise InputError(
            "this is not sound gzip", path=path, hint="Compress it again, or take the .gz off its name."
        ) from None
    except (EOFError, zlib.error):
        raise InputError("the gzip stream is cut or broken", path=path, hint="Fetch or compress it again.") from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path, hint="Check the file.") from None


def _jsonl(path: Path, packed: bool) -> Rows:
    for number, line in enumerate(_lines(path, packed), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line.decode())
        except UnicodeDecodeError as error:
            yield number, BadRow("broken UTF-8", f"byte {error.start + 1} of the line is not UTF-8")
        except (ValueError, RecursionError) as error:
            yield number, BadRow("torn JSON", f"the line is not whole JSON ({_brief(error)})")
        else:
            yield number, value if isinstance(value, dict) else BadRow("wrong type", "the line is not a JSON object")


def _brief(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at column {error.colno}"
    return "too deeply nested" if isinstance(error, RecursionError) else str(error).split(";")[0]


def _json(path: Path, packed: bool, of_arrays: bool) -> Rows:
    """The whole file is held in memory, unlike every other form."""
    content = b"".join(_lines(path, packed))
    try:
        value = json.loads(content.decode()) if content.strip() else []
    except UnicodeDecodeError as error:
        raise InputError(f"byte {error.start + 1} is not UTF-8", path=path, hint="Save it as UTF-8.") from None
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise InputError(f"this is not whole JSON ({_brief(error)})", path=path, row=line, hint="Correct it.") from None
    if of_arrays and isinstance(value, dict) and all(_is_rows(part) for part in value.values()):
        value = [row for part in value.values() for row in part]
    if not isinstance(value, list):
        raise InputError(
            "this is not a JSON array of rows", path=path, hint="Write one object a line and name it .jsonl."
        )
    for number, row in enumerate(value, start=1):
        yield number, row if isinstance(row, dict) else BadRow("wrong type", "the row is not a JSON object")


def _is_rows(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(row, dict) for row in value[:1])


def _csv(path: Path, packed: bool, delimiter: str) -> Rows:
    csv.field_size_limit(_FIELD)
    # Bytes that are no UTF-8 pass as lone surrogates: a broken row neither ends the reading nor hides its number.
    lines = (line.decode(errors="surrogateescape") for line in _lines(path, packed))
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    header: list[str] | None = None
    number = 0
    while True:
        number += 1
        try:
            values = next(reader, None)
        except csv.Error as error:
            raise InputError(
                f"the quoting is broken ({error})", path=path, row=number, hint="Save it again with quoted fields."
            ) from None
        if values is None:
            return
        if not values:
            continue
        if header is None:
            header = values
            if twice := {name for name in header if header.count(name) > 1}:
                raise InputError("the column stands twice in the header", path=path, row=number, field=min(twice),
                                 hint="Rename one.")  # fmt: skip
            if len(header) == 1:
                _check_delimiter(header[0], delimiter, path)
            continue
        yield number, _record(header, values)


def _check_delimiter(only: str, delimiter: str, path: Path) -> None:
    """Raises InputError where the only column's name holds what another program parts columns by."""
    advice = {";": "Save it with commas.", "\t": "Name it .tsv.", ",": "Name it .csv."}
    for other, hint in advice.items():
        if other != delimiter and other in only:
            name = {"\t": "tabs"}.get(other, repr(other))
            raise InputError(
                f"the header is one column, {only[:60]!r}, that seems to be parted by {name}", path=path, hint=hint
            )


def _record(header: list[str], values: list[str]) -> dict[str, Any] | BadRow:
    if len(values) != len(header):
        return BadRow("wrong number of fields", f"{len(values)} fields stand under {len(header)} column names")
    for name, value in zip(header, values, strict=True):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            return BadRow("broken UTF-8", f"character {error.start + 1} is not UTF-8", name)
    return dict(zip(header, values, strict=True))


def _parquet(path: Path) -> Rows:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            names = file.schema_arrow.names
            if twice := {name for name in names if names.count(name) > 1}:
                raise InputError("the column stands twice", path=path, field=min(twice), hint="Rename one.")
            for batch in file.iter_batches(batch_size=_BATCH):
                for row in _records(batch):
                    number += 1
                    yield number, row
    except pa.ArrowInvalid as error:
        reason = str(error).split(".")[0].split("\n")[0]
        raise InputError(f"this is not sound Parquet ({reason})", path=path, hint="Write or fetch it again.") from None
    except OSError as error:
        raise InputError(f"cannot be read ({str(error).splitlines()[0]})", path=path, hint="Fetch it again.") from None


def _records(batch: Any) -> Iterator[dict[str, Any] | BadRow]:
    try:
        yield from batch.to_pylist()
    except UnicodeDecodeError:
        for i in range(batch.num_rows):
            try:
                yield batch.slice(i, 1).to_pylist()[0]
            except UnicodeDecodeError as error:
                yield BadRow("broken UTF-8", f"a text holds the bytes {error.object[error.start : error.end]!r}")
