"""What people prefer, from a column of the pairs, a file, a run folder, or the better answer that the pairs came with;
and pairs turned so that their chosen answer is the one that people prefer."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from recuse.calibration import Known, Labels, load_labels
from recuse.errors import InputError, UsageError
from recuse.pairs import PairSet
from recuse.recorded import Recorded
from recuse.types import Pair, Preference


def column_labels(
    pairs: PairSet, known: Sequence[Known], column: str, *, ids: Sequence[str], values: Mapping[str, str]
) -> Labels:
    """Labels in a column of the pairs; A and B are the answers as they stand there. `ids`: as `known` has them.

    Raises UsageError for a column that is not there, and InputError naming the row for a word that is no label.
    """
    said, rows = pairs.of_source(column).tolist(), pairs.column("row").tolist()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "labels.jsonl"
        lines = [json.dumps({"pair": id, "label": word}, default=str) for id, word in zip(ids, said, strict=True)]
        file.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        try:
            found = load_labels(file, known, column=("label",), values=values)
        except InputError as error:
            if error.row is None:
                raise
            what = str(Exception.__str__(error)).partition(": ")[2]
            row = rows[min(error.row, len(rows)) - 1]
            raise InputError(what, path=pairs.source, row=row, field=column, hint=error.hint) from None
    return replace(found, source=f"column {column!r} of {pairs.source}", notes=())


def gold_labels(ids: Sequence[str], *, source: str) -> Labels:
    """The better answer that the pairs came with, as if one person had said it."""
    votes: dict[str, dict[str, Preference | None]] = {id: {"gold": "chosen"} for id in ids}
    note = "No labels of people: the judge is held against the better answer that the pairs came with."
    return Labels(votes, {}, f"gold of {source}", "gold", (note,))


def turned(pair: Pair, people: Preference) -> Pair:
    """The pair with the answer that people prefer as its chosen one."""
    return replace(pair, chosen=pair.rejected, rejected=pair.chosen) if people == "rejected" else pair


def names_of_recorded(pairs: PairSet, found: Recorded, *, column: str | None) -> list[str]:
    """What recorded verdicts call each pair of a file: its value in `column`, else in the first usual column in which a
    recorded name is found. Raises UsageError where none is."""
    names = {j.pair for j in (*found.judgements, *found.without_gold)}
    for candidate in (column,) if column else ("id", "pair", "pair_id", "item", "item_id"):
        try:
            values = [str(value) for value in pairs.of_source(candidate).tolist()]
        except UsageError:
            if column:
                raise
            continue
        if names & set(values):
            return values
    said = f"The column {column!r}" if column else "No usual column"
    raise UsageError(
        f"{said} of {pairs.source} holds names of recorded pairs (such as {min(names)!r}).",
        hint="Name the column of the pairs that does with --pair-key.",
    )


def texts_of_recorded(pairs: PairSet, found: Recorded, names: Sequence[str]) -> dict[str, Pair]:
    """The pairs by the names that recorded verdicts give them, turned as "chosen" and "rejected" stand there.

    Raises UsageError for two pairs of one name, and InputError where the two files say that different answers are the
    better one.
    """
    graded = {j.pair for j in found.judgements} if found.gold else set()
    texts: dict[str, Pair] = {}
    for name, pair in zip(names, pairs, strict=True):
        if name not in found.places:
            continue
        if name in texts:
            raise UsageError(f"{pairs.source} has two pairs named {name!r}.", hint="Name another column by --pair-key.")
        texts[name] = _aligned(pair, found, name, pairs.source, graded=name in graded)
    return texts


def _aligned(pair: Pair, found: Recorded, name: str, source: str, *, graded: bool) -> Pair:
    """The pair whose chosen answer is what "chosen" means in the verdicts."""
    if pair.gold is None or pair.gold == found.places[name]:
        return pair
    if graded:
        raise InputError(
            f"the better answer is {pair.gold} here and {found.places[name]} in the recorded verdicts of {name!r}",
            path=source, hint="Give the pairs that were judged.",
        )  # fmt: skip
    return replace(pair, chosen=pair.rejected, rejected=pair.chosen)
