"""Records of a probe: one row a reply, as a flat table that any program can write.

    {"template_id": "bakery", "group": "women", "name": "Ida Sorge", "seed": 3, "stratum": "clear",
     "approved": 1, "approved_reason": null, "reply": "Yes."}

`template_id` and `group` are needed. `name` may be left out where groups are not told by names, `seed` where each input
was answered once. `stratum` and `batch` belong to a template. Every further column is a tag or a metric: a number, true
or false, and null (an empty cell, NaN) where none could be read from the reply.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from recuse import assets
from recuse.errors import InputError, UsageError
from recuse.recorded.rows import Row, as_text, read_rows

KEYS = ("template_id", "group", "name", "seed")
# Columns that decide what is compared with what: every row has them, or none.
_WHOLE = (*KEYS, "stratum", "batch", "prompt", "fresh")
# Columns that are no metrics, whatever they hold.
FIXED = (*KEYS, "stratum", "batch", "prompt", "reply", "finish", "logprobs", "fresh")
RECORDS = "records.parquet"  # in a run folder
FORMS = (".jsonl", ".csv", ".parquet")
_NULL = ("", "null", "none", "nan")
_SAID = {"true": 1.0, "false": 0.0}
_NAN = float("nan")
_LARGEST = 1e140  # sums of squares of larger numbers leave the range of floats


@dataclass(frozen=True, slots=True)
class Records:
    """Checked rows as columns; `number` counts as `recuse.pairs.readers` does."""

    path: str
    number: tuple[int, ...]
    template_id: list[str]
    group: list[str]
    name: list[str]  # "" where a row shows none
    seed: list[str]
    columns: Mapping[str, list[Any]]  # as the file has them; those that each row has
    metrics: tuple[str, ...]  # columns of numbers
    partial: Mapping[str, int] = field(default_factory=dict)  # all other columns, and the first row without it

    def __len__(self) -> int:
        return len(self.template_id)

    def column(self, name: str) -> list[Any]:
        """One column as the file has it. Raises InputError where there is none, or a row lacks it."""
        self._whole(name)
        if name not in self.columns:
            raise InputError("missing column", path=self.path, field=name, hint=f"It has: {', '.join(self.columns)}.")
        return self.columns[name]

    def values(self, metric: str) -> list[float | None]:
        """A metric's numbers, None where the reply gave none.

        Raises InputError for a column that is missing, empty throughout or holds something else than numbers.
        """
        if metric in FIXED:
            raise UsageError(f"{metric!r} is no metric.", hint=f"Columns of numbers: {_listed(self.metrics)}.")
        self._whole(metric)
        if metric not in self.columns:
            raise InputError(
                "missing column", path=self.path, field=metric, hint=f"Columns of numbers: {_listed(self.metrics)}."
            )
        found: list[float | None] = []
        for number, value in zip(self.number, self.columns[metric], strict=True):
            x = _number(value)
            if x is not None and not abs(x) <= _LARGEST:
                shown, what = as_text(value), "is too large a number" if math.isfinite(x) else "is not a number"
                raise InputError(
                    f"{shown if len(shown) <= 60 else shown[:60] + '…'!r} {what}", path=self.path, row=number,
                    field=metric, hint="Give a finite number, and null where the extractor failed.",
                )  # fmt: skip
            found.append(x)
        if all(x is None for x in found):
            raise InputError(
                "the column is empty in all rows", path=self.path, field=metric,
                hint="An extractor that never reads a value measures nothing: correct it.",
            )  # fmt: skip
        return found

    def _whole(self, name: str) -> None:
        if name in self.partial:
            raise InputError(
                "the row lacks this column, which others have", path=self.path, row=self.partial[name], field=name,
                hint="Write null where the extractor failed.",
            )  # fmt: skip

    def of_template(self, name: str) -> dict[str, str | None]:
        """What a column says of each template, as text; None where it says nothing or differs within the template."""
        found: dict[str, str | None] = {}
        for template, value in zip(self.template_id, self.column(name), strict=True):
            text = label(value)
            found[template] = text if found.setdefault(template, text) == text else None
        return found


def read_records(path: Path | str, *, metric: str | None = None) -> Records:
    """The records at `path`: JSONL, JSON, CSV, TSV (each also .gz) or Parquet, or a run folder.

    Raises InputError, naming file, row and field, for a file that cannot be read, a missing column, a row that lacks
    one of template, group, name and seed, rows that stand twice, a name in two groups, a template in two strata or
    batches, and for the column `metric` as `Records.values` does.
    """
    path = file_of(path)
    rows, _ = read_rows(path)
    names = list(dict.fromkeys(key for row in rows for key in row.values))
    for needed in KEYS[:2]:
        if needed not in names:
            raise InputError("missing column", path=path, field=needed, hint=f"It has: {', '.join(names)}.")
    partial: dict[str, int] = {}
    for row in rows:
        for key in names:
            if key not in row.values:
                partial.setdefault(key, row.number)
                if key in _WHOLE:
                    raise row.fail("the row lacks this column, which others have", field=key)
    columns = {key: [row.values[key] for row in rows] for key in names if key not in partial}
    template, group = ([row.word(key) for row in rows] for key in KEYS[:2])
    name, seed = (
        [label(value) or "" for value in columns[key]] if key in columns else [""] * len(rows) for key in KEYS[2:]
    )
    _check_unique(rows, list(zip(template, group, name, seed, strict=True)), known=columns.keys())
    _check_names(rows, group, name)
    for key in ("stratum", "batch"):
        if key in columns:
            _check_whole(rows, template, key)
    numeric = [key for key, column in columns.items() if key not in FIXED and _numeric(column)]
    found = Records(
        str(path), tuple(row.number for row in rows), template, group, name, seed, columns, tuple(numeric), partial
    )  # fmt: skip
    if metric is not None:
        found.values(metric)
    return found


def file_of(path: Path | str) -> Path:
    """The records of a run where `path` is its folder, else `path`. Raises InputError for another folder."""
    path = Path(path)
    if not path.is_dir():
        return path
    if not (path / RECORDS).is_file():
        raise InputError(f"no {RECORDS} in this folder", path=path, hint="Name a finished probe run, or a file.")
    return path / RECORDS


def label(value: Any) -> str | None:
    """A tag's value as text; None where the cell is empty."""
    if value is None:
        return None
    return as_text(value).encode("utf-8", "replace").decode().strip() or None


def _number(value: Any) -> float | None:
    """None where the cell is empty, NaN where it holds no number."""
    if value is None:
        return None
    if isinstance(value, str):
        value = value.strip().lower()
        if value in _NULL:
            return None
        if value in _SAID:
            return _SAID[value]
        if not value.isascii() or "_" in value:  # which float() would take
            return _NAN
    elif not isinstance(value, bool | int | float | Decimal):
        return _NAN
    try:
        return float(value)
    except (ValueError, OverflowError):
        return _NAN


def _numeric(column: Sequence[Any]) -> bool:
    found = [x for value in column if (x := _number(value)) is not None]
    return bool(found) and all(math.isfinite(x) for x in found)


def _check_unique(rows: Sequence[Row], keys: Sequence[tuple[str, ...]], *, known: Iterable[str]) -> None:
    seen: dict[tuple[str, ...], int] = {}
    lacking = [key for key in KEYS[2:] if key not in known]
    for row, key in zip(rows, keys, strict=True):
        if key in seen:
            said = ", ".join(f"{of} {value!r}" for of, value in zip(KEYS, key, strict=True) if of not in lacking)
            more = f" There is no column {' or '.join(lacking)} that could tell them apart." if lacking else ""
            raise row.fail(
                f"{said} stands in row {seen[key]} too", field="template_id",
                hint=f"A copy is no second observation: keep one, or number repeats as seeds.{more}",
            )  # fmt: skip
        seen[key] = row.number


def _check_names(rows: Sequence[Row], group: Sequence[str], name: Sequence[str]) -> None:
    of: dict[str, str] = {}
    for row, side, who in zip(rows, group, name, strict=True):
        folded = " ".join(who.casefold().split())
        if folded and of.setdefault(folded, side) != side:
            raise row.fail(
                f"the name {who!r} stands in the group {of[folded]!r} and in {side!r}", field="name",
                hint="A name that signals both groups tells them not apart: remove it, or the column where groups are "
                "not told by names.",
            )  # fmt: skip


def _check_whole(rows: Sequence[Row], template: Sequence[str], key: str) -> None:
    of: dict[str, str | None] = {}
    for row, one in zip(rows, template, strict=True):
        value = label(row.get(key))
        if of.setdefault(one, value) != value:
            raise row.fail(
                f"the template {one!r} stands in {of[one]!r} and in {value!r}", field=key,
                hint=f"A {key} is of a whole template: part the template, or call the column something else.",
            )  # fmt: skip


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def write_records(path: Path | str, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Write rows as JSONL, CSV or Parquet, by the ending, whole or not at all; a file that is there is replaced.

    Raises UsageError for another ending or a place that cannot be written, and as `records_bytes` does.
    """
    path = Path(path)
    content = records_bytes(rows, form=path.suffix.lower())
    try:
        assets.write_whole(path, content)
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror}).", hint="Name a file in a folder.") from error
    return path


def records_bytes(rows: Iterable[Mapping[str, Any]], *, form: str = ".parquet") -> bytes:
    """The content of such a file. Columns are those of all rows, in order of appearance; a row without one gets null.

    Half a surrogate pair, which UTF-8 cannot hold, becomes a question mark; lists and tables become JSON texts in CSV
    and Parquet. Raises UsageError for no rows, another
    form, and a Parquet column that mixes texts and numbers.
    """
    kept = [{key: _sound(value) for key, value in row.items()} for row in rows]
    names = list(dict.fromkeys(key for row in kept for key in row))
    if not names:
        raise UsageError("There are no rows to write.", hint="Give at least one record.")
    if form == ".jsonl":
        lines = [
            json.dumps({name: row.get(name) for name in names}, ensure_ascii=False, allow_nan=False) for row in kept
        ]
        return "".join(line + "\n" for line in lines).encode()
    full = [{name: _flat(row.get(name)) for name in names} for row in kept]
    if form == ".csv":
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, names)  # its \r\n ends have it quote a lone \r in a text as well
        writer.writeheader()
        writer.writerows(full)
        return text.getvalue().encode()
    if form == ".parquet":
        return _parquet(names, full)
    raise UsageError(f"Records cannot be written as {form!r}.", hint=f"Use one of: {', '.join(FORMS)}.")


def _sound(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {str(key): _sound(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_sound(item) for item in value]
    return value


def _flat(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, Mapping | list) else value


def _parquet(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {}
    for name in names:
        try:
            columns[name] = pa.array([row[name] for row in rows])
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            reason = str(error).splitlines()[0]
            raise UsageError(f"The column {name!r} cannot be one of Parquet ({reason}).", hint="Use JSONL.") from None
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()
