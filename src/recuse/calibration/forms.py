"""Files of people's labels as flat rows, one a person's say on a pair or one a pair with several people's.

Two annotation tools nest what people said; their exports are laid flat here, so that all else reads columns:

    Label Studio (JSON export)  {"id": 7, "data": {COLUMNS}, "annotations": [{"completed_by": 3, "was_cancelled": false,
                                 "result": [{"from_name": NAME, "type": "choices", "value": {"choices": ["A"]}}]}]}
    Argilla (records.to_json)   {"id": "7", "fields": {COLUMNS}, "metadata": {COLUMNS},
                                 "responses": {NAME: [{"value": "A", "user_id": "u1", "status": "submitted"}]}}
    Argilla (flat: a data set)  {"id": "7", COLUMNS, "NAME.responses": ["A"], "NAME.responses.users": ["u1"],
                                 "NAME.responses.status": ["submitted"]}

NAME is that of the question. A task that was skipped, or a response that was discarded, is an abstention; drafts are
left out. What a model suggested (predictions, suggestions) is never read. Label Studio's JSON-MIN and CSV exports are
flat already.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from recuse.assets import digest
from recuse.errors import InputError
from recuse.pairs.readers import read_file
from recuse.pairs.rows import BadRow
from recuse.recorded.rows import Row, as_text

ANNOTATOR = "annotator"
_SIDES = {"left": "A", "right": "B"}
_RESPONSES, _USERS, _STATUS = ".responses", ".responses.users", ".responses.status"


@dataclass(frozen=True, slots=True)
class LabelRows:
    rows: list[Row]
    questions: tuple[str, ...]  # of an annotation tool's export, the names of its questions; else empty
    hash: str  # of the file's bytes


def read_label_rows(path: str | Path) -> LabelRows:
    """The rows of a JSONL, JSON, CSV, TSV (each also .gz) or Parquet file, exports of annotation tools laid flat.

    Raises InputError for a file that cannot be read, naming the row where there is one.
    """
    path = Path(path)
    if not path.exists():
        raise InputError("no such file", path=path, hint="Give a file of people's labels.")
    rows = []
    for number, values in read_file(path, preset=None):
        if isinstance(values, BadRow):
            raise InputError(str(values), path=path, row=number, field=values.field, hint="Correct the row.")
        rows.append(Row(str(path), number, values))
    if not rows:
        raise InputError("no rows", path=path, hint="Give a file with at least one label.")
    first = rows[0].values
    flat, questions = rows, list[str]()
    if isinstance(first.get("data"), Mapping) and ("annotations" in first or "completions" in first):
        flat, questions = _laid_flat(rows, _label_studio)
    elif isinstance(first.get("fields"), Mapping) and isinstance(first.get("responses"), Mapping):
        flat, questions = _laid_flat(rows, _argilla)
    elif any(name.endswith(_RESPONSES) for name in first):
        flat, questions = _laid_flat(rows, _argilla_flat)
    if not flat:
        raise InputError("nobody has answered yet", path=path, hint="Export again when there are annotations.")
    return LabelRows(flat, tuple(dict.fromkeys(questions)), digest(path.read_bytes()))


_Answers = list[tuple[str, dict[str, Any]]]  # who, and what they answered to each question


def _laid_flat(rows: list[Row], read: Any) -> tuple[list[Row], list[str]]:
    flat, questions = [], []
    for row in rows:
        columns, answers = read(row)
        for who, said in answers:
            questions += said
            flat.append(replace(row, values={**columns, **said, ANNOTATOR: who}))
    return flat, questions


def _label_studio(row: Row) -> tuple[dict[str, Any], _Answers]:
    data = row.get("data")
    annotations = row.get("annotations") or row.get("completions") or []
    if not isinstance(data, Mapping) or not isinstance(annotations, list):
        raise row.fail("this is no Label Studio task", hint="Every task has data and a list of annotations.")
    answers: _Answers = []
    for place, annotation in enumerate(annotations, start=1):
        if not isinstance(annotation, Mapping):
            raise row.fail(f"annotation {place} is no object", field="annotations", hint="Export it again as JSON.")
        who = annotation.get("completed_by")
        if isinstance(who, Mapping):
            who = who.get("email") or who.get("id")
        results = [] if annotation.get("was_cancelled") else annotation.get("result") or []
        said = {}
        for result in results:
            name = result.get("from_name") if isinstance(result, Mapping) else None
            if isinstance(name, str) and isinstance(result.get("value"), Mapping):
                value = _chosen(row, name, result["value"])
                if value is not None:
                    said[name] = value
        answers.append((f"annotation {place}" if who is None else as_text(who), said))
    return {"id": row.get("id"), **data}, answers


def _chosen(row: Row, name: str, value: Mapping[str, Any]) -> Any:
    """What a control of the labelling interface holds; None for one that says nothing of the whole task."""
    if "choices" in value:
        choices = value["choices"]
        if not isinstance(choices, list) or len(choices) > 1:
            raise row.fail("more than one choice", field=name, hint="A label is one choice.")
        return choices[0] if choices else None
    if "selected" in value:  # the control Pairwise
        return _SIDES.get(value["selected"], value["selected"])
    return value.get("rating", value.get("number"))


def _argilla(row: Row) -> tuple[dict[str, Any], _Answers]:
    fields, responses = row.get("fields"), row.get("responses") or {}
    if not isinstance(fields, Mapping) or not isinstance(responses, Mapping):
        raise row.fail("this is no Argilla record", hint="Every record has fields and responses.")
    answers: dict[str, dict[str, Any]] = {}
    for name, given in responses.items():
        for place, response in enumerate(given or [], start=1):
            if not isinstance(response, Mapping):
                raise row.fail("a response is no object", field=name, hint="Export it again with records.to_json.")
            _add(answers, name, response.get("value"), response.get("user_id"), response.get("status"), place)
    return {"id": row.get("id"), **(row.get("metadata") or {}), **fields}, list(answers.items())


def _argilla_flat(row: Row) -> tuple[dict[str, Any], _Answers]:
    answers: dict[str, dict[str, Any]] = {}
    for column, given in row.values.items():
        if not column.endswith(_RESPONSES) or given is None:
            continue
        name = column.removesuffix(_RESPONSES)
        users, states = row.get(name + _USERS), row.get(name + _STATUS)
        if not isinstance(given, list) or any(x is not None and len(x) != len(given) for x in (users, states)):
            raise row.fail("responses, users and status differ in number", field=column, hint="Export it again.")
        for place, value in enumerate(given, start=1):
            who, state = (x[place - 1] if x is not None else None for x in (users, states))
            _add(answers, name, value, who, state, place)
    columns = {name: value for name, value in row.values.items() if _RESPONSES not in name}
    return columns, list(answers.items())


def _add(answers: dict[str, dict[str, Any]], name: str, value: Any, user: Any, status: Any, place: int) -> None:
    state = None if status is None else as_text(status).rpartition(".")[2].casefold()
    if state in ("draft", "pending"):
        return
    who = f"response {place}" if user in (None, "None", "") else as_text(user)
    answers.setdefault(who, {})[name] = None if state == "discarded" else value


def rating_in(row: Row, column: str, value: object) -> float | None:
    """The number in a cell of ratings, None where it is empty. Raises InputError for what is no finite number."""
    if value is None or value == "" or value != value:
        return None
    try:
        number = math.nan if isinstance(value, bool) else float(str(value))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise row.fail(f"{as_text(value)[:40]!r} is no rating", field=column, hint="Give a number, or leave it empty.")
    return number
