"""Finished run folders as what is compared: the judge's verdicts, its version, and people's labels."""

from __future__ import annotations

import io
import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recuse.audits.measure import NO_GOLD
from recuse.calibration.labels import Known, Labels, Place, votes_hash
from recuse.errors import InputError, UsageError
from recuse.types import Judgement, Preference

LABELS = "labels.parquet"  # people's labels in a run folder
_HINT = "Give the folder of a finished audit."


@dataclass(frozen=True)
class Run:
    folder: Path
    judge: str
    settings: Mapping[str, Any]  # the table [run] of run.toml, flat
    models: tuple[str, ...]  # versions that the provider reported
    judgements: Sequence[Judgement]  # on the untouched answers
    domains: Mapping[str, str | None]
    findings: Mapping[str, Mapping[str, Any]]
    labels: Labels | None
    ungraded: frozenset[str] = frozenset()  # pairs of which it is not known which answer is better

    @property
    def gold(self) -> bool:
        """Whether "chosen" is known to be the better answer, of some pairs at least."""
        return bool(self.findings.get("accuracy.error_rate", {}).get("reason") != NO_GOLD)


def read_run(folder: Path) -> Run:
    """Raises UsageError for a folder that holds no finished audit and InputError for one that is damaged."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    needed = ("run.toml", "judgements.parquet", "findings.json")
    if missing := [name for name in needed if not (folder / name).is_file()]:
        raise UsageError(f"{folder} holds no finished audit: there is no {missing[0]}.", hint=_HINT)
    try:
        content = tomllib.loads((folder / "run.toml").read_text(encoding="utf-8"))
        findings = json.loads((folder / "findings.json").read_text(encoding="utf-8"))
        rows = pq.read_table(folder / "judgements.parquet").to_pylist()
        judgements = [_judgement(row) for row in rows if row["arm"] == "original"]
        found = {finding["id"]: finding for finding in findings["findings"]}
        judge = str(findings["judge"])
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"the run folder is damaged ({reason})", path=folder, hint=_HINT) from None
    domains = {row["pair"]: row["domain"] for row in rows}
    models = content.get("provider", {}).get("models", {})
    labels = _labels(folder / LABELS) if (folder / LABELS).is_file() else None
    ungraded = frozenset(row["pair"] for row in rows if row.get("gold") is False)
    settings = _flat(content.get("run", {}))
    return Run(folder, judge, settings, tuple(sorted(models)), judgements, domains, found, labels, ungraded)


def _judgement(row: Mapping[str, Any]) -> Judgement:
    names = ("pair", "group", "order", "prefers", "arm", "repeat", "reason", "logit", "outside", "fresh")
    chosen, rejected = row.get("score_chosen"), row.get("score_rejected")
    scores = None if chosen is None or rejected is None else (chosen, rejected)
    return Judgement(**{name: row[name] for name in names}, bounded=bool(row.get("bounded")), scores=scores)


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table.items():
        flat.update(_flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {prefix + key: value})
    return flat


def labels_bytes(labels: Labels) -> bytes:
    """People's labels as a run folder keeps them: one row a vote, with the place of the chosen answer."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [
        {"pair": pair, "person": who, "label": vote, "place": labels.places.get(pair)}
        for pair, votes in labels.votes.items()
        for who, vote in votes.items()
    ]
    schema = pa.schema([pa.field(name, pa.string()) for name in ("pair", "person", "label", "place")])
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), sink)
    return sink.getvalue()


def _labels(path: Path) -> Labels:
    import pyarrow as pa
    import pyarrow.parquet as pq

    votes: dict[str, dict[str, Preference | None]] = {}
    places: dict[str, Place] = {}
    try:
        for row in pq.read_table(path).to_pylist():
            votes.setdefault(row["pair"], {})[row["person"]] = row["label"]
            if row["place"] is not None:
                places[row["pair"]] = row["place"]
    except (OSError, KeyError, pa.ArrowException) as error:
        raise InputError(f"the labels are damaged ({str(error).splitlines()[0]})", path=path, hint=_HINT) from None
    return Labels(votes, places, str(path), votes_hash(votes))


def frozen_labels(
    runs: Sequence[Run], *, human: Callable[[Sequence[Known]], Labels] | None = None
) -> tuple[Labels, tuple[str, ...]]:
    """The labels on which all runs are held against people, and notes on them.

    Those that `human` reads, given the pairs by their ids; else those that the run folders hold; else the better answer
    that the pairs came with. Raises UsageError where two folders hold different labels, and
    where there is nothing to hold the judges against.
    """
    if human is not None:
        known = {j.pair: Known(j.pair, _place(runs, j.pair), j.pair) for run in runs for j in run.judgements}
        labels = human(list(known.values()))
        return labels, labels.notes
    held = [run for run in runs if run.labels is not None]
    for run in held[1:]:
        _check_same(held[0], run)
    if held and held[0].labels is not None:
        return held[0].labels, ()
    if unknown := [run for run in runs if not run.gold]:
        raise UsageError(
            f"{unknown[0].folder} holds no labels, and its pairs came without a better answer.",
            hint="Give people's labels with --human.",
        )
    votes: dict[str, dict[str, Preference | None]] = {
        j.pair: {"gold": "chosen"} for run in runs for j in run.judgements if j.pair not in run.ungraded
    }
    note = "No labels of people: the judges are held against the better answer that the pairs came with."
    return Labels(votes, {}, "gold", votes_hash(votes)), (note,)


def _place(runs: Sequence[Run], pair: str) -> Place | None:
    return next((run.labels.places[pair] for run in runs if run.labels and pair in run.labels.places), None)


def _check_same(one: Run, other: Run) -> None:
    assert one.labels is not None
    assert other.labels is not None
    if one.labels.hash == other.labels.hash:
        return
    pairs = sorted(set(one.labels.votes) | set(other.labels.votes))
    differ = [pair for pair in pairs if one.labels.votes.get(pair) != other.labels.votes.get(pair)]
    raise UsageError(
        f"{one.folder} and {other.folder} hold different labels ({len(differ):,} pairs, first: {differ[0]}).",
        hint="Compare runs on one frozen labelled set, or give it with --human.",
    )
