"""A file of verdicts as rows: rows as they are, and another tool's result file by the verdicts that it holds."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recuse.errors import InputError
from recuse.recorded.deepeval import deepeval_rows, is_deepeval
from recuse.recorded.inspect_log import inspect_rows
from recuse.recorded.promptfoo import is_result, promptfoo_rows
from recuse.recorded.rows import Row, read_rows
from recuse.recorded.taken import Taken

_BLANK = dict.fromkeys(("order", "verdict", "grades", "gold", "reason", "text", "format", "finish", "domain", "judge"))


def read_verdicts(path: str | Path) -> tuple[list[Row], bytes, list[str]]:
    """Rows, the file's bytes, and sentences on what was left out.

    Raises InputError as `read_rows` does, and for a result file without a verdict on a pair; MissingExtra for a log of
    Inspect where its package is not installed.
    """
    path = Path(path)
    taken = _taken(path)
    if taken is None:
        rows, content = read_rows(path)
        if all(is_result(row.values) for row in rows):  # promptfoo's .jsonl
            taken = promptfoo_rows([(row.number, _sound(row.values)) for row in rows], {})
        else:
            return rows, content, []
    if not taken.rows:
        why = f" ({' '.join(taken.notes)})" if taken.notes else ""
        raise InputError(
            f"no verdict on a pair of answers{why}", path=path,
            hint="A pair is two answers to one question; `recuse.recorded` says how each tool's file names them.",
        )  # fmt: skip
    rows = [Row(str(path), number, {**_BLANK, **values}) for number, values in taken.rows]
    return rows, path.read_bytes(), taken.notes


def _taken(path: Path) -> Taken | None:
    """Verdicts of a file that is one object; None for any other."""
    name = path.name.lower()
    if not path.is_file():
        return None
    if name.endswith(".eval"):
        return inspect_rows(path)
    if not name.endswith((".json", ".json.gz")):
        return None
    document = _object(path)
    if {"eval", "version", "status"} <= set(document):
        return inspect_rows(path)
    results = document.get("results")
    listed = results.get("results") if isinstance(results, Mapping) else None
    if isinstance(listed, list):
        config = document.get("config")
        numbered = [(number, one) for number, one in enumerate(listed, start=1) if isinstance(one, Mapping)]
        return promptfoo_rows(numbered, config if isinstance(config, Mapping) else {})
    return deepeval_rows(document) if is_deepeval(document) else None


def _object(path: Path) -> Mapping[str, Any]:
    """The file's object; empty for what is none, about which `read_rows` then says what is wrong."""
    try:
        content = gzip.decompress(path.read_bytes()) if path.name.lower().endswith(".gz") else path.read_bytes()
        if not content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
            return {}
        found = json.loads(content)
    except (OSError, EOFError, ValueError, RecursionError):
        return {}
    return _sound(found) if isinstance(found, dict) else {}


def _sound(document: Any) -> Any:
    """Halves of surrogate pairs replaced, and numbers that JSON does not know by null."""
    text = json.dumps(document, ensure_ascii=False, default=str).encode("utf-8", "replace")
    return json.loads(text, parse_constant=lambda name: None)
