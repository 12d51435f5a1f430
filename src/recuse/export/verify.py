"""`recuse export verify`: people's labels of the sample come back, and say whether the set may be released."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recuse import stats
from recuse.calibration.forms import ANNOTATOR as OF_TOOL
from recuse.calibration.forms import read_label_rows
from recuse.errors import InputError, UsageError
from recuse.export.card import card
from recuse.export.rows import VERIFIED, Row, jsonl, parquet, row_digest
from recuse.export.sheet import ANNOTATOR, COLUMNS, LABEL, LABELS, cells, plain
from recuse.recorded.rows import Row as SheetRow
from recuse.recorded.rows import as_text
from recuse.run import RunFolder

TARGET = 0.9  # share of rows whose truth people must find kept
FILES = {"record": "export.json", "rows": "benchmark.jsonl", "table": "benchmark.parquet", "card": "README.md"}
Votes = dict[str, dict[str, str]]  # by row and person


@dataclass(frozen=True)
class Verified:
    """`record` is the content of export.json; `ready` whether the set may be released, and `why` it may or not."""

    folder: Path
    record: Mapping[str, Any]
    ready: bool
    why: str


def verify(folder: Path, sheets: Sequence[Path]) -> Verified:
    """Read the sheets, state agreement and the share of kept truths, and write both into the set's folder.

    Each sheet is a filled copy of verification.csv (one person's, or several with their names in the column
    `annotator`) or Label Studio's JSON export; the file's name stands for a person who is not named. Nothing is written
    where a row is missing, altered, without a label or with one outside the menu: InputError names it. Raises
    UsageError for a folder that is no benchmark.
    """
    record, rows = _read(folder)
    wanted = {row["id"]: row for row in rows if row["id"] in set(record["sample"])}
    votes: Votes = {id: {} for id in wanted}
    for sheet in sheets:
        _collect(sheet, wanted, votes)
    people = sorted({person for given in votes.values() for person in given})
    told = {id: _majority(list(given.values())) for id, given in votes.items()}
    for row in rows:
        row[VERIFIED] = told.get(row["id"])
    groups = [wanted[id]["source_group"] for id in votes]
    found = _found(votes, told, groups, people)
    ready, why = _release(found, people)
    record = {**record, "verification": {**found, "sheets": len(sheets)}, "release": {"ready": ready, "why": why}}
    record["funnel"] = [s for s in record["funnel"] if s["step"] != "verified"] + [
        {"step": "verified", "n": found["kept"]["labels"]["kept"],
         "what": f"of {len(votes):,} sampled rows are found kept by most of those who labelled them"}
    ]  # fmt: skip
    shown = card(record).encode("utf-8", "backslashreplace")
    files = {"rows": jsonl(rows), "table": parquet(rows), "card": shown, "record": record_bytes(record)}
    place = RunFolder(folder, {})
    for name, content in files.items():  # the record last: it decides, and the same sheets mend what was cut short
        place.replace(FILES[name], content)
    return Verified(folder, record, ready, why)


def record_bytes(record: Mapping[str, Any]) -> bytes:
    """export.json."""
    return (json.dumps(record, indent=1) + "\n").encode()


def _read(folder: Path) -> tuple[dict[str, Any], list[Row]]:
    file = folder / FILES["record"]
    if not file.is_file():
        raise UsageError(f"{folder} holds no benchmark.", hint="Give the folder of `recuse export --kind benchmark`.")
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
        if record.get("kind") != "benchmark":
            raise UsageError(f"{folder} holds an export of another kind.", hint="Only a benchmark is verified.")
        rows = [json.loads(line) for line in (folder / FILES["rows"]).read_text(encoding="utf-8").split("\n") if line]
        changed = [
            id for id, row in zip(record["digests"], rows, strict=True) if record["digests"][id] != row_digest(row)
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"not as it was exported ({error})", path=folder, hint="Export it again.") from None
    if changed:
        raise InputError(
            f"the row {changed[0]} is not as it was exported", path=folder / FILES["rows"], hint="Export it again."
        )
    return record, rows


def _collect(sheet: Path, wanted: Mapping[str, Row], votes: Votes) -> None:
    seen: set[str] = set()
    for line in read_label_rows(sheet).rows:
        id = plain(as_text(line.get(COLUMNS[0]) or ""))
        if id not in wanted:
            raise line.fail(
                f"{id[:40]!r} is no row of the sample", field=COLUMNS[0], hint="Use the sheet as it was sent."
            )
        for name, cell in cells(wanted[id]).items():
            if plain(as_text(line.get(name) or "")) != plain(cell):
                raise line.fail(
                    "the text is not as it was sent", field=name, hint="Copy the labels into a fresh sheet."
                )
        person = _person(line, sheet)
        label = as_text(line.get(LABEL) or "").strip().casefold()
        if label not in LABELS:
            said = f"{label[:40]!r} is no label" if label else "there is no label"
            raise line.fail(f"{said} ({', '.join(LABELS)})", field=LABEL, hint="Write one of them.")
        if votes[id].setdefault(person, label) != label:
            raise line.fail(f"{person!r} has labelled this row {votes[id][person]} before", hint="Keep one of them.")
        seen.add(id)
    if missing := [id for id in wanted if id not in seen]:
        more = f" and {len(missing) - 1:,} others" if len(missing) > 1 else ""
        raise InputError(f"the row {missing[0]}{more} is missing", path=sheet, hint="Label every row of the sample.")


def _person(line: SheetRow, sheet: Path) -> str:
    given = as_text(line.get(ANNOTATOR) or line.get(OF_TOOL) or "").strip()
    return given or sheet.stem


def _majority(given: Sequence[str]) -> str:
    """What most of those who could tell say; "disputed" where as many say one as the other, or nobody could tell."""
    counts = Counter(label for label in given if label != "unsure")
    if counts["kept"] == counts["broken"]:
        return "disputed"
    return "kept" if counts["kept"] > counts["broken"] else "broken"


def _found(votes: Votes, told: Mapping[str, str], groups: Sequence[str], people: Sequence[str]) -> dict[str, Any]:
    ratings = [[given.get(person) for person in people] for given in votes.values()]
    kappa = stats.fleiss_kappa(ratings, labels=list(LABELS), groups=groups)
    kept = stats.clustered_mean([float(told[id] == "kept") for id in votes], groups=groups)
    several = [list(given.values()) for given in votes.values() if len(given) > 1]
    alike = [sum(a == b for a in of for b in of) - len(of) for of in several]
    agreed = sum(a / (len(of) * (len(of) - 1)) for a, of in zip(alike, several, strict=True))
    return {
        "people": len(people),
        "rows": len(votes),
        "agreement": {
            "fleiss_kappa": kappa.estimate, "interval": kappa.interval, "reason": kappa.reason, "method": kappa.method,
            "alike": agreed / len(several) if several else None,
        },
        "kept": {
            "share": kept.estimate, "interval": kept.interval, "groups": kept.groups, "method": kept.method,
            "labels": {name: sum(label == name for label in told.values()) for name in ("kept", "broken", "disputed")},
        },
        "not_kept": sorted(id for id, label in told.items() if label != "kept"),
    }  # fmt: skip


def _release(found: Mapping[str, Any], people: Sequence[str]) -> tuple[bool, str]:
    share, (low, high) = found["kept"]["share"], found["kept"]["interval"]
    said = f"people find the truth kept in {share:.1%} of the sample [{low:.1%}, {high:.1%}]"
    if share < TARGET:
        return False, f"{said}, under the target of {TARGET:.0%}"
    if len(people) < 2:
        return False, f"{said}, but only one person has looked: nobody knows whether another would agree"
    return True, said if low >= TARGET else f"{said}; the interval reaches below the target of {TARGET:.0%}"
