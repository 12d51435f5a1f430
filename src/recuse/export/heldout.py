"""What a run has held out: the parts of a discovery on which biases were decided and measured, or an audit's pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from recuse.blinding.pairs import Blinds
from recuse.discovery.split import Splits, from_column, split
from recuse.discovery.transfer import read_run
from recuse.errors import InputError, RecuseError, UsageError
from recuse.export.apart import Apart, question_key
from recuse.pairs import PairSet, load_pairs
from recuse.prompts import transcript
from recuse.types import Pair

JUDGEMENTS = "judgements.parquet"


def is_discovery(run: Path) -> bool:
    return "splits" in read_run(run)


def held_out(run: Path) -> Apart:
    """Of a discovery its validation and test parts, dealt again from the pairs that it names; of an audit, which has no
    parts, every pair that was judged, by its id and, where groups are those of questions, by its question.

    Raises UsageError for a folder that holds neither, InputError where a discovery's pairs cannot be read again or are
    not those of the run any more.
    """
    table, name = read_run(run), run.resolve().name
    if "splits" in table:
        parts = _parts(run, table)
        return _apart(name, "validation and test parts of a discovery", [*parts.validation, *parts.test])
    if (run / JUDGEMENTS).is_file():
        ids, groups = _judged(run / JUDGEMENTS)
        return Apart(name, "all pairs of an audit", (), groups, ids)
    raise UsageError(
        f"{run} holds no finished audit or discovery.",
        hint="Give --not-from the folder of `recuse audit` or `discover`.",
    )


def parts_of(run: Path) -> Splits:
    """The parts of a finished discovery, dealt again from the pairs that it names. Raises InputError as `held_out`."""
    return _parts(run, read_run(run))


def _apart(name: str, what: str, pairs: Iterable[Pair]) -> Apart:
    held = list(pairs)
    questions = tuple(transcript(pair.prompt) for pair in held)
    return Apart(name, what, questions, frozenset(map(question_key, questions)), frozenset(p.id for p in held))


def _parts(run: Path, table: Mapping[str, Any]) -> Splits:
    """The parts of a discovery as its configuration deals them."""
    try:
        pairs = load_pairs(
            table["pairs"], preset=table.get("preset") if table.get("preset") != "columns" else None,
            columns=table.get("columns", {}), group=table.get("group"), limit=table.get("limit"), seed=table["seed"],
            on_bad="skip" if table.get("skip_bad") else "error",
        )  # fmt: skip
        found = _hash(pairs, table)
        column = table.get("split_column")
        every = list(pairs)
        parts = from_column(every, column) if column else split(every, seed=table["seed"], fractions=table["fractions"])
    except KeyError as error:
        raise InputError(
            f"no {error.args[0]!r} in the table [run]", path=run / "run.toml", hint="Give a run of this version."
        ) from None
    except RecuseError as error:
        raise InputError(
            f"which pairs the run {run} holds out cannot be told, since its pairs cannot be read again: {error}",
            hint="Run the command where that file lies.",
        ) from None
    if found != table["pairs_hash"]:
        raise InputError(
            f"which pairs the run {run} holds out cannot be told: the content of {table['pairs']} has changed",
            hint="Restore the file as it was.",
        )
    return parts


def _hash(pairs: PairSet, table: Mapping[str, Any]) -> str:
    """As the run has it: of the texts that its judge saw. Groups and ids stay those of the source."""
    blinds = Blinds.from_table(table.get("blinded", {}))
    return pairs.hash if blinds is None else blinds.blinded(pairs)[0].hash


def _judged(path: Path) -> tuple[frozenset[str], frozenset[str]]:
    """Ids and groups of the pairs that an audit judged."""
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path, columns=["pair", "group"])
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read ({error})", path=path, hint="Give a run of this version.") from None
    return frozenset(table["pair"].to_pylist()), frozenset(table["group"].to_pylist())
