"""What a run has held out: the parts of a discovery on which biases were decided and measured, or an audit's pairs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from recuse.blinding.pairs import Blinds
from recuse.discovery.split import Splits, from_column, split
from recuse.discovery.transfer import read_run
from recuse.errors import InputError, RecuseError, UsageError
from recuse.export.apart import Apart, apart_of
from recuse.pairs import PairSet, load_pairs
from recuse.report.casefile import CASES
from recuse.types import Pair

JUDGEMENTS = "judgements.parquet"


def is_discovery(run: Path) -> bool:
    return "splits" in read_run(run)


def held_out(run: Path) -> Apart:
    """Of a discovery its validation and test parts, dealt again from the pairs that it names; of an audit, which has no
    parts, every pair that was judged, by its id and, where groups are those of questions, by its question; by what is
    nearly the same, where its texts can be read again or were kept for its page.

    Raises UsageError for a folder that holds neither, InputError where a discovery's pairs cannot be read again or are
    not those of the run any more.
    """
    table, name = read_run(run), run.resolve().name
    if "splits" in table:
        parts = _parts(run, table)
        return apart_of(name, "validation and test parts of a discovery", [*parts.validation, *parts.test])
    if (run / JUDGEMENTS).is_file():
        ids, groups = _judged(run / JUDGEMENTS)
        read = [pair for pair in _again(table) or _kept(run) if pair.id in ids]
        found = apart_of(name, "all pairs of an audit", read, ids=ids, keys=groups)
        return replace(found, unread=len(ids) - len({pair.id for pair in read}))
    raise UsageError(
        f"{run} holds no finished audit or discovery.",
        hint="Give --not-from the folder of `recuse audit` or `discover`.",
    )


def parts_of(run: Path) -> Splits:
    """The parts of a finished discovery, dealt again from the pairs that it names. Raises InputError as `held_out`."""
    return _parts(run, read_run(run))


def _parts(run: Path, table: Mapping[str, Any]) -> Splits:
    """The parts of a discovery as its configuration deals them."""
    try:
        pairs = _load(table, skip_bad=table.get("skip_bad", False))
        seen = _as_seen(pairs, table)
        column = table.get("split_column")
        every = [replace(pair, group=group) for pair, group in zip(pairs, seen.column("group"), strict=True)]
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
    if seen.hash != table["pairs_hash"]:
        raise InputError(
            f"which pairs the run {run} holds out cannot be told: the content of {table['pairs']} has changed",
            hint="Restore the file as it was.",
        )
    return parts


def _again(table: Mapping[str, Any]) -> list[Pair]:
    """The pairs of an audit, read again; none where they cannot be, or are not what was judged. The columns that a user
    named, and whether bad rows were skipped, are not in its configuration: the hash decides."""
    try:
        with closing(_load(table, skip_bad=True)) as pairs:
            return list(pairs) if _as_seen(pairs, table).hash == table["pairs_hash"] else []
    except (KeyError, RecuseError):
        return []


def _kept(run: Path) -> list[Pair]:
    """The pairs whose texts an audit kept for its page: all of a small one."""
    import pyarrow.parquet as pq

    if not (run / CASES).is_file():
        return []
    rows = pq.read_table(run / CASES).to_pylist()
    return [
        Pair(row["pair"], row["question"], row["chosen"], row["untouched"] or row["rejected"], group="")
        for row in rows
        if None not in (row["question"], row["chosen"], row["rejected"])
    ]


def _load(table: Mapping[str, Any], *, skip_bad: bool) -> PairSet:
    return load_pairs(
        table["pairs"], preset=table.get("preset") if table.get("preset") != "columns" else None,
        columns=table.get("columns", {}), group=table.get("group"), limit=table.get("limit"), seed=table["seed"],
        on_bad="skip" if skip_bad else "error",
    )  # fmt: skip


def _as_seen(pairs: PairSet, table: Mapping[str, Any]) -> PairSet:
    """The pairs with the texts that the run's judge saw, and with the groups that it had."""
    blinds = Blinds.from_table(table.get("blinded", {}))
    return pairs if blinds is None else blinds.blinded(pairs)[0]


def _judged(path: Path) -> tuple[frozenset[str], frozenset[str]]:
    """Ids and groups of the pairs that an audit judged."""
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path, columns=["pair", "group"])
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read ({error})", path=path, hint="Give a run of this version.") from None
    return frozenset(table["pair"].to_pylist()), frozenset(table["group"].to_pylist())
