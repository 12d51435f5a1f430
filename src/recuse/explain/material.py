"""What is explained: a judge's verdicts, people's labels, the texts, and what it said: from a run or a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from recuse.calibration import Labels, known_pairs, known_recorded
from recuse.calibration.runs import Run, read_run
from recuse.controls import People
from recuse.errors import UsageError
from recuse.explain import people
from recuse.explain.reasons import Reasons, from_ledger, from_record
from recuse.pairs import PairSet, load_pairs
from recuse.recorded import Recorded, load_recorded
from recuse.types import Judgement, Pair


@dataclass(frozen=True)
class Source:
    """Where all of it is. Either `run` or `verdicts`; `pairs` may be left out with the latter.

    human     column of the pairs that holds people's labels
    labelled  a file of them instead
    pair_key  column of the pairs with the names that recorded verdicts give them
    """

    pairs: str | None = None
    run: Path | None = None
    verdicts: Path | None = None
    format: str | None = None
    where: tuple[str, ...] = ()
    text_format: str = "bracket"
    human: str | None = None
    labelled: People | None = None
    means: Mapping[str, str] = field(default_factory=dict)
    pair_key: str | None = None
    preset: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    group: str | None = None
    skip_bad: bool = False

    def load(self) -> PairSet | None:
        if self.pairs is None:
            return None
        return load_pairs(self.pairs, preset=self.preset, columns=self.columns or None, group=self.group,
                          on_bad="skip" if self.skip_bad else "error")  # fmt: skip


@dataclass(frozen=True)
class Material:
    judge: str
    pairs: str
    judgements: Sequence[Judgement]
    other: tuple[Sequence[Judgement], Sequence[Judgement]] | None  # the same rows as their text says and as recorded
    labels: Labels
    texts: Mapping[str, Pair]  # by the name that the judgements give a pair
    domains: Mapping[str, str | None]
    reasons: Reasons
    run: Run | None
    hash: str
    notes: tuple[str, ...]


def gather(source: Source) -> Material:
    """Raises UsageError and InputError for whatever does not fit together."""
    if (source.run is None) == (source.verdicts is None):
        raise UsageError(
            "Whose verdicts are to be explained?", hint="Give either --judge-run RUN or --verdicts FILE, not both."
        )
    if source.human is not None and source.labelled is not None:
        raise UsageError("--human and --human-file both name people's labels.", hint="Leave one of them out.")
    if source.human is not None and source.pairs is None:
        raise UsageError(
            "--human names a column of PAIRS, and no PAIRS are given.", hint="Give them, or labels by --human-file."
        )
    found = _of_run(source) if source.run is not None else _of_record(source)
    labelled = {pair for pair in found.labels.votes if found.labels.majority(pair) is not None}
    if not labelled & {j.pair for j in found.judgements}:
        raise UsageError(
            f"None of the judged pairs has a label of most people ({found.labels.source}).",
            hint="Label pairs that were judged.",
        )
    return found


def _of_run(source: Source) -> Material:
    assert source.run is not None
    run = read_run(source.run)
    pairs = source.load()
    if pairs is None:
        raise UsageError("A run holds no texts.", hint="Give the PAIRS that it judged.")
    ids, judged = [str(id) for id in pairs.column("id")], {j.pair for j in run.judgements}
    if not judged & set(ids):
        raise UsageError(
            f"No pair of {source.pairs} was judged in {source.run}.",
            hint=f"Give the pairs of that run ({run.settings.get('pairs')}), read in the same form.",
        )
    notes = list(pairs.notes)
    if missing := len(judged - set(ids)):
        notes.append(f"{missing:,} judged pairs are not among those given: their texts are not known.")
    if any(key.startswith("blinded") for key in run.settings):
        notes.append("The judge saw blinded texts; features are of the texts as they were.")
    labels = _labels_of_run(source, run, pairs, ids)
    texts = {id: pair for id, pair in zip(ids, pairs, strict=True) if id in judged}
    return Material(
        run.judge, f"{source.pairs} ({len(judged & set(ids)):,} judged pairs)", run.judgements, None, labels, texts,
        run.domains, from_ledger(source.run), run, pairs.hash, (*notes, *labels.notes),
    )  # fmt: skip


def _labels_of_run(source: Source, run: Run, pairs: PairSet, ids: Sequence[str]) -> Labels:
    if source.human is not None:
        return people.column_labels(pairs, known_pairs(pairs, content=False), source.human, ids=ids,
                                    values=source.means)  # fmt: skip
    if (labelled := source.labelled) is not None:
        return labelled.load(known_pairs(pairs, key=labelled.key, content=labelled.key is None))
    if run.labels is not None:
        return run.labels
    if not run.gold:
        raise UsageError(
            f"{run.folder} holds no labels, and its pairs came without a better answer.",
            hint="Give people's labels with --human COLUMN or --human-file LABELS.",
        )
    graded = dict.fromkeys(j.pair for j in run.judgements if j.pair not in run.ungraded)
    return people.gold_labels(list(graded), source=str(source.run))


def _of_record(source: Source) -> Material:
    assert source.verdicts is not None
    found = load_recorded(source.verdicts, format=source.format, where=source.where, text_format=source.text_format)
    pairs, texts, names = source.load(), dict[str, Pair](), list[str]()
    if pairs is not None:
        names = people.names_of_recorded(pairs, found, column=source.pair_key)
        texts = people.texts_of_recorded(pairs, found, names)
    labels = _labels_of_record(source, found, pairs, names)
    notes = [*found.notes, *labels.notes]
    judged = [*found.judgements, *found.without_gold]
    if pairs is None:
        notes.append("No PAIRS were given: nothing is measured of the answers.")
    elif missing := len({j.pair for j in judged} - set(texts)):
        notes.append(f"{missing:,} judged pairs are not among those given: their texts are not known.")
    return Material(
        found.judge or "recorded verdicts", f"{source.verdicts} ({len({j.pair for j in judged}):,} pairs)", judged,
        None if found.other is None else (found.judgements, found.other), labels, texts, found.domains,
        from_record(found), None, found.hash, tuple(notes),
    )  # fmt: skip


def _labels_of_record(source: Source, found: Recorded, pairs: PairSet | None, names: Sequence[str]) -> Labels:
    known = known_recorded(found)
    if source.human is not None and pairs is not None:
        return people.column_labels(pairs, known, source.human, ids=names, values=source.means)
    if source.labelled is not None:
        return source.labelled.load(known)
    if not found.gold:
        raise UsageError(
            f"{source.verdicts} does not say which answer is better.",
            hint="Give people's labels with --human COLUMN or --human-file LABELS.",
        )
    return people.gold_labels(list(dict.fromkeys(j.pair for j in found.judgements)), source=str(source.verdicts))
