"""Recorded verdicts of others, read without any call: a file becomes judgements that the audits take as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from recuse.assets import digest
from recuse.errors import UsageError
from recuse.recorded.entry import Entry, Preset, judgement, shown
from recuse.recorded.ordering import check, renumber
from recuse.recorded.plain import default_spec, plain
from recuse.recorded.presets import PRESETS
from recuse.recorded.results import read_verdicts
from recuse.recorded.rows import Row
from recuse.recorded.select import only, parse_where, select
from recuse.types import Judgement, Verdict
from recuse.verdict.spec import Spec

FORMATS = (*PRESETS, "plain")
Reading = Literal["reread", "recorded"]
_EXAMPLES = 5
_TAIL = 300  # characters of a reply that an example shows; verdicts stand at the end


@dataclass(frozen=True, slots=True)
class Differing:
    """A row whose recorded decision is not what its text says."""

    row: int
    pair: str
    recorded: str | None  # outcome by place as shown
    reread: str | None
    why: str  # the reader's rule, or the reason for no verdict
    tail: str  # of the reply


@dataclass(frozen=True, slots=True)
class ThreeWay:
    """Whether a verdict is the gold, which may be a tie."""

    group: str
    right: bool
    missing: bool


@dataclass(frozen=True, slots=True)
class Recorded:
    """Judgements of one judge in one setting. Where `gold` is false, "chosen" stands for the source's answer A."""

    judgements: list[Judgement]  # of pairs with a better answer; of all pairs where `gold` is false
    other: list[Judgement] | None  # the same rows in the other reading; None where no row has both
    without_gold: list[Judgement]  # beside judged pairs: pairs without a better answer ("chosen" is answer A)
    gold: bool
    reading: Reading
    preset: str
    judge: str | None
    settings: Mapping[str, str]  # the value of each column that names a setting of the judge
    rows: int  # selected, of the file's `rows_in_file`
    rows_in_file: int
    hash: str  # of the file's bytes
    differ: int  # rows whose two readings name different outcomes or of which only one names any
    contradict: int  # those where both name one
    examples: list[Differing]
    domains: Mapping[str, str]
    lengths: Mapping[str, tuple[int, int]]  # characters of the chosen and the rejected answer, where known
    notes: list[str]
    three_way: list[ThreeWay]  # agreement row by row where the gold has ties, else empty
    places: Mapping[str, Literal["A", "B"]]  # where "chosen" stands among the source's answers
    words: Mapping[tuple[str, str, int], str]  # what the judge wrote, by pair, order and repeat, where the file has it


def load_recorded(
    path: str | Path,
    *,
    format: str | None = None,
    where: Mapping[str, str] | Sequence[str] = (),
    reading: Reading = "reread",
    text_format: str | Spec = "bracket",
) -> Recorded:
    """Read the verdicts of one judge from a file. Nothing is asked of any model.

    `format` names a preset (see `FORMATS`; None: by the columns), `where` selects rows, `reading` says whether the
    text is read again or the decision in the file is taken; a row that has only one of them keeps that one, which
    `notes` counts. `text_format` reads the text of the plain form.

    Raises InputError for a file or row that cannot be used and UsageError for a choice that selects none or too much.
    """
    found, content, told = read_verdicts(path)
    spec = default_spec(text_format) if isinstance(text_format, str) else text_format
    presets = {**PRESETS, "plain": plain(spec)}
    name = format or _recognise(found, presets)
    if name not in presets:
        raise UsageError(f"There is no form {name!r} of recorded verdicts.", hint=f"Use one of: {', '.join(presets)}.")
    preset = presets[name]
    _check_columns(found, name, preset)
    derived = [row for one in found for row in preset.derive(one)]
    if not derived:
        raise UsageError(f"{path}: no row is a verdict on a pair in the form {name!r}.", hint="Check --format.")
    chosen = select(derived, parse_where(where), judge=preset.judge)
    judge = only(chosen, preset.judge)
    settings = {column: value for column in preset.settings if (value := only(chosen, column)) is not None}

    entries = [preset.entry(row) for row in chosen]
    check(entries)
    entries, renumbered = renumber(entries)
    notes = [*preset.notes, *told, *renumbered]
    if left_out := len({row.number for row in found} - {row.number for row in derived}):
        notes.append(f"{left_out} rows of the file are no verdicts on pairs.")
    picked = [_pick(entry, reading) for entry in entries]
    notes += _fallbacks(entries, reading, name)
    if name == "plain":
        notes += _without_lengths(entries)
    both = [entry for entry in entries if entry.recorded is not None and entry.reread is not None]
    judged = [judgement(entry, verdict) for entry, verdict in zip(entries, picked, strict=True)]
    has_gold = [entry.gold in ("A", "B") for entry in entries]
    gold = any(has_gold)
    if not gold:
        notes.append("No row says which answer is better: nothing is said about errors.")
    elif not all(has_gold):
        notes.append(f"{has_gold.count(False)} rows have no better answer and are not in the error rates.")
    other = None
    if both:
        unread: Reading = "recorded" if reading == "reread" else "reread"
        other = [judgement(entry, _pick(entry, unread)) for entry in _with_gold(entries, gold)]
    differing = [entry for entry in both if _outcomes(entry)[0] != _outcomes(entry)[1]]
    return Recorded(
        judgements=[j for j, known in zip(judged, has_gold, strict=True) if known or not gold],
        other=other,
        without_gold=[j for j, known in zip(judged, has_gold, strict=True) if gold and not known],
        gold=gold,
        reading=reading,
        preset=name,
        judge=judge,
        settings=settings,
        rows=len(entries),
        rows_in_file=len(found),
        hash=digest(content),
        differ=len(differing),
        contradict=sum(None not in _outcomes(entry) for entry in differing),
        examples=[_example(entry) for entry in differing[:_EXAMPLES]],
        domains={entry.pair: entry.domain for entry in entries if entry.domain is not None},
        lengths=_lengths(entries),
        notes=notes,
        three_way=_three_way(entries, picked),
        places={entry.pair: "B" if entry.gold == "B" else "A" for entry in entries},
        words={(j.pair, j.order, j.repeat): e.reply for j, e in zip(judged, entries, strict=True) if e.reply},
    )


def _recognise(rows: Sequence[Row], presets: Mapping[str, Preset]) -> str:
    columns = {column for row in rows for column in row.values}
    for name, preset in presets.items():
        if preset.columns <= columns:
            return name
    raise UsageError(
        f"{rows[0].path}: the columns ({', '.join(sorted(columns))}) are those of no known form.",
        hint="Rename them to pair, order, verdict or text, and gold, or name the form with --format.",
    )


def _check_columns(rows: Sequence[Row], name: str, preset: Preset) -> None:
    columns = {column for row in rows for column in row.values}
    if absent := preset.columns - columns:
        raise UsageError(
            f"{rows[0].path}: the form {name!r} needs the column {min(absent)!r}.",
            hint=f"The file has: {', '.join(sorted(columns))}.",
        )


def _pick(entry: Entry, reading: Reading) -> Verdict:
    wanted, spare = (entry.reread, entry.recorded) if reading == "reread" else (entry.recorded, entry.reread)
    return wanted or spare or Verdict(reason="missing")


def _fallbacks(entries: Sequence[Entry], reading: Reading, name: str) -> list[str]:
    if reading == "reread":
        lacking = sum(entry.reread is None for entry in entries)
        what = "text of their own to read again: the recorded decision is taken"
    else:
        lacking = sum(entry.recorded is None for entry in entries)
        what = "recorded decision: their text is read"
    return [f"{lacking} of {len(entries)} rows ({name}) have no {what}."] if lacking else []


def _without_lengths(entries: Sequence[Entry]) -> list[str]:
    if lacking := sum(entry.chars is None for entry in entries):
        have = "has" if lacking == 1 else "have"
        return [
            f"{lacking} of {len(entries)} rows {have} no chars_a and chars_b: with these columns, the characters of "
            "answers A and B, an effect of length can be measured."
        ]
    return []


def _with_gold(entries: Sequence[Entry], gold: bool) -> list[Entry]:
    return [entry for entry in entries if not gold or entry.gold in ("A", "B")]


def _outcomes(entry: Entry) -> tuple[str | None, str | None]:
    """Of an entry with both readings."""
    return _pick(entry, "recorded").outcome, _pick(entry, "reread").outcome


def _example(entry: Entry) -> Differing:
    recorded, reread = _outcomes(entry)
    read = _pick(entry, "reread")
    return Differing(
        entry.row.number, entry.pair, recorded, reread, read.why or read.reason or "", entry.reply[-_TAIL:]
    )


def _lengths(entries: Sequence[Entry]) -> dict[str, tuple[int, int]]:
    known = [(entry.pair, entry.chars, entry.gold) for entry in entries if entry.chars is not None]
    return {pair: (chars[1], chars[0]) if gold == "B" else chars for pair, chars, gold in known}


def _three_way(entries: Sequence[Entry], picked: Sequence[Verdict]) -> list[ThreeWay]:
    """Every row with a gold, where some gold is a tie; empty where none is."""
    if not any(entry.gold == "tie" for entry in entries):
        return []
    return [
        ThreeWay(entry.group, shown(verdict.outcome, entry.swapped) == entry.gold, verdict.outcome is None)
        for entry, verdict in zip(entries, picked, strict=True)
        if entry.gold
    ]
