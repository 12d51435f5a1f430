"""Read a file of recorded verdicts into rows whose fields are checked as they are taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from recuse.errors import InputError
from recuse.pairs.readers import read_file
from recuse.pairs.rows import BadRow
from recuse.prompts import canonical

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Row:
    """One row; `number` counts as `recuse.pairs.readers` does."""

    path: str
    number: int
    values: Mapping[str, Any]

    def fail(self, message: str, *, field: str | None = None, hint: str = "Correct the row.") -> InputError:
        return InputError(message, path=self.path, row=self.number, field=field, hint=hint)

    def get(self, field: str) -> Any:
        return self.values.get(field)

    def word(self, field: str) -> str:
        """The field as a non-empty string, numbers included."""
        if field not in self.values:
            raise self.fail("missing column", field=field, hint=f"The row has: {', '.join(sorted(self.values))}.")
        text = as_text(self.values[field]).strip() if self.values[field] is not None else ""
        if not text:
            raise self.fail("empty", field=field)
        if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
            raise self.fail("half of a surrogate pair", field=field)
        return text

    def choice(self, field: str, menu: Mapping[str, T]) -> T:
        """The meaning of the field in `menu`, in any case; the key "null" there stands for an empty field."""
        if field not in self.values:
            self.word(field)
        written = as_text(self.values[field]).strip() or "null"
        for key, meaning in menu.items():
            if key.casefold() == written.casefold():
                return meaning
        raise self.fail(f"{written!r} is none of {', '.join(menu)}", field=field)

    def whole(self, field: str, *, default: int) -> int:
        """The field as an integer of at least 0; `default` where it is absent or empty."""
        if self.get(field) in (None, ""):
            return default
        text = self.word(field)
        if not text.isdecimal():
            raise self.fail(f"{text!r} is not a whole number of at least 0", field=field)
        return int(text)

    def text(self, field: str) -> str | None:
        """Reply text as it is, halves of surrogate pairs apart; None where the file holds none."""
        value = self.get(field)
        if value is None:
            return None
        return as_text(value).encode("utf-8", "replace").decode()

    def adding(self, **values: Any) -> Row:
        return replace(self, values={**self.values, **values})


def as_text(value: Any) -> str:
    """A value as `--where` compares it: JSON's spelling for booleans, null and lists; 1.0 is "1"."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    try:
        return canonical(value)
    except (TypeError, ValueError):  # infinities, and the dates and bytes of Parquet
        return str(value)


def read_rows(path: str | Path) -> tuple[list[Row], bytes]:
    """All rows of a JSONL, JSON, CSV or TSV file (each also .gz) or a Parquet file, and the file's bytes.

    Raises InputError for what is not such a file, naming the row where there is one.
    """
    path = Path(path)
    if not path.exists():
        raise InputError("no such file", path=path, hint="Give a file that exists.")
    rows = []
    for number, values in read_file(path, preset=None):
        if isinstance(values, BadRow):
            raise InputError(str(values), path=path, row=number, field=values.field, hint="Correct the row.")
        rows.append(Row(str(path), number, _without_nan(values)))
    if not rows:
        raise InputError("no rows", path=path, hint="Give a file with at least one row.")
    return rows, path.read_bytes()


def _without_nan(values: Mapping[str, Any]) -> dict[str, Any]:
    """NaN, as table libraries write for an empty cell, becomes None."""
    return {key: None if value != value else value for key, value in values.items()}
