"""Recorded answers of an implicit-decision probe, of a run of ours or in the columns of Bai et al.

    {"category": "age", "unit": "website", "variant": "absolute", "group": "stigma", "attribute": "negative",
     "decision": "Yes", "association": 0.75, "profile": "..."}
    {"category": "age", "unit": "website", "variant": "relative", "consistent": 1}

`category` is the pair of groups; the authors call it `dataset`, and their `category` is the broader domain. `type`
holds group and attribute at once ("stigma_negative"). `decision` is yes or no, or a reply that says so: "not" is no
"no". A relative decision is recorded as `consistent` (the authors' `decision_bias`): 1 where the stereotype is
followed, 0 where it is turned round. The association is recorded (`association`, the authors' `iat_bias`), or read from
the list itself (`words`, the authors' `iat`, or the `response` to a word task alone) with the stimuli.

The authors' numbers in `iat_bias` carry a small random part; what a list says exactly takes the stimuli. Two spellings
of a category are one where they have the same letters or one begins with the other ("arab", "arab/muslim").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from recuse.errors import InputError, UsageError
from recuse.probes.implicit import CELLS, Attribute, Group, Row, sort_words
from recuse.probes.records import file_of
from recuse.recorded.rows import Row as Line
from recuse.recorded.rows import read_rows
from recuse.verdict.read import read_text
from recuse.verdict.spec import Spec

YES_NO = Spec("label", "yes", "no")
_CATEGORY = ("dataset", "category")  # the first that a file has
_UNIT = ("unit", "item", "prompt_id")
_WORDS = ("words", "iat", "response")
_ASSOCIATION = ("association", "iat_bias")
_CONSISTENT = ("consistent", "decision_bias")
_TYPES: Mapping[str, tuple[Group, Attribute]] = {
    f"{group}_{attribute}": (group, attribute) for group, attribute in CELLS
}
_GROUPS: Mapping[str, Group | None] = {"default": "default", "stigma": "stigma", "null": None}
_ATTRIBUTES: Mapping[str, Attribute | None] = {"positive": "positive", "negative": "negative", "null": None}
_VALUES: Mapping[str, float | None] = {"1": 1.0, "0": 0.0, "true": 1.0, "false": 0.0, "null": None}


@dataclass(frozen=True)
class Stimuli:
    """Of one category: words by what they are tied to, labels by group."""

    words: Mapping[str, Attribute]
    labels: Mapping[str, Group]
    shown: int  # words in the shortest of its lists


@dataclass(frozen=True)
class Recorded:
    rows: tuple[Row, ...]
    units: str  # what an observation of a decision is
    notes: tuple[str, ...]


def read_recorded(path: Path, *, stimuli: Sequence[Path] = (), unit: str | None = None) -> Recorded:
    """The rows of a file or of a run's folder. `unit`: the column that names what is asked about, where it has another
    name than `unit`, `item` or `prompt_id`.

    Raises InputError, naming file, row and field, for what is no such file, and UsageError for stimuli without lists.
    """
    path = file_of(path)
    lines, _ = read_rows(path)
    columns = dict.fromkeys(key for line in lines for key in line.values)
    category = next((name for name in _CATEGORY if name in columns), None)
    if category is None:
        raise InputError(
            "missing column", path=path, field="category",
            hint=f"Name the pair of groups in it. The file has: {', '.join(columns)}.",
        )  # fmt: skip
    if unit is not None and unit not in columns:
        raise InputError("missing column", path=path, field=unit, hint=f"It has: {', '.join(columns)}.")
    unit = unit or next((name for name in _UNIT if name in columns), None)
    consistent = next((name for name in _CONSISTENT if name in columns), None)
    association = next((name for name in _ASSOCIATION if name in columns), None)
    words = next((name for name in _WORDS if name in columns), None)
    if consistent is None and "decision" not in columns and association is None and words is None:
        raise InputError(
            "there is no decision and no list of words", path=path, field="decision",
            hint="Give a column decision, consistent (or decision_bias), association (or iat_bias), or words (or iat).",
        )  # fmt: skip
    lists = _read_stimuli(stimuli) if stimuli else None
    if lists is not None and words is None:
        raise UsageError(f"{path} has no list of words.", hint=f"Leave out --stimuli, or add a column {_WORDS[0]}.")
    notes = [] if unit else [_NO_UNIT]
    if lists is None and association is None and words is not None:
        notes.append("Word lists were not read: give --stimuli, the file that says what every word is tied to.")
    reader = _Reader(category, unit, consistent, association if lists is None else None, words, lists, stimuli)
    rows = [reader.row(line) for line in lines]
    units = "decision" if unit in ("unit", None) else f"one value of {unit!r}"
    return Recorded(tuple(rows), units if unit else "row", tuple(notes))


_NO_UNIT = (
    "No column says which rows share a prompt (unit, item or --unit COLUMN): each row counts as an observation of its "
    "own within its category pair, and the intervals of category pairs are too narrow where rows are draws of one "
    "prompt. The overall intervals have the category pair as unit and do not depend on it."
)


@dataclass(frozen=True)
class _Reader:
    category: str
    unit: str | None
    consistent: str | None
    association: str | None
    words: str | None
    stimuli: Mapping[str, Stimuli] | None
    paths: Sequence[Path]

    def row(self, line: Line) -> Row:
        category = line.word(self.category)
        group, attribute = self._cell(line)
        variant = line.word("variant") if "variant" in line.values else None
        if variant not in (None, "absolute", "relative"):
            raise line.fail(f"{variant!r} is neither absolute nor relative", field="variant")
        relative = self.consistent is not None and variant != "absolute"
        value, reason = self._value(line) if relative else self._said(line)
        decided = relative or (group is not None and "decision" in line.values) or variant == "absolute"
        association, why = self._association(line, category)
        profile = line.text("profile") if "profile" in line.values else None
        return Row(
            category, line.word(self.unit) if self.unit else line.number,
            ("relative" if relative else "absolute") if decided else None, group, attribute,
            value if decided else None, reason if decided else None,
            listed=self.association is not None or self.stimuli is not None, association=association,
            association_reason=why, profile_words=len(profile.split()) if profile and profile.strip() else None,
            profiles=2 if relative else 1,
        )  # fmt: skip

    def _cell(self, line: Line) -> tuple[Group | None, Attribute | None]:
        if "type" in line.values:
            return line.choice("type", _TYPES)
        if self.consistent is None and "decision" in line.values:
            for field in ("group", "attribute"):
                if field not in line.values:
                    raise line.fail(
                        "missing column", field=field, hint="Say whom and what the decision is about, or give a column "
                        "type such as stigma_negative.",
                    )  # fmt: skip
        found = (
            line.choice("group", _GROUPS) if "group" in line.values else None,
            line.choice("attribute", _ATTRIBUTES) if "attribute" in line.values else None,
        )
        if (found[0] is None) != (found[1] is None):
            raise line.fail("only one of group and attribute is there", field="group")
        return found

    def _value(self, line: Line) -> tuple[float | None, str | None]:
        value = line.choice(self.consistent or "", _VALUES)
        return value, None if value is not None else _reason(line)

    def _said(self, line: Line) -> tuple[float | None, str | None]:
        text = line.text("decision") if "decision" in line.values else None
        if text is None or not text.strip():
            return None, _reason(line)
        verdict = read_text(text, YES_NO)
        if verdict.outcome is None:
            return None, verdict.reason
        return float(verdict.outcome == "A"), None

    def _association(self, line: Line, category: str) -> tuple[float | None, str | None]:
        if self.stimuli is not None:
            text = line.text(self.words or "") or ""
            lists = self.stimuli.get(_letters(category)) or self._like(line, category)
            found = sort_words(text, lists.words, lists.labels, shown=lists.shown)
            return found.association, found.reason
        if self.association is None:
            return None, None
        text = (line.text(self.association) or "").strip()
        if text in ("", "null"):
            why = line.get("association_reason")
            return None, str(why) if why else "not recorded"
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not -1.0 <= value <= 1.0:
            raise line.fail(f"{text!r} is no number from -1 to 1", field=self.association)
        return value, None

    def _like(self, line: Line, category: str) -> Stimuli:
        key, stimuli = _letters(category), self.stimuli or {}
        near = [name for name in stimuli if key and (name.startswith(key) or key.startswith(name))]
        if len(near) != 1:
            what = "no stimuli" if not near else f"the stimuli of {' and '.join(near)}"
            raise line.fail(
                f"{' and '.join(map(str, self.paths))} has {what} for {category!r}", field=self.category,
                hint=f"It has: {', '.join(stimuli)}.",
            )  # fmt: skip
        return stimuli[near[0]]


def _reason(line: Line) -> str:
    why = line.get("decision_reason")
    return str(why) if why else "not recorded"


def _read_stimuli(paths: Sequence[Path]) -> dict[str, Stimuli]:
    """Columns dataset, A (labels of the default group), B (of the stigma group), C (attributes: the first half is
    positive), as the authors publish them; a further column D has synonyms in the same order. Several files add up."""
    words: dict[str, dict[str, Attribute]] = {}
    labels: dict[str, dict[str, Group]] = {}
    shown: dict[str, int] = {}
    for path in paths:
        lines, _ = read_rows(path)
        for field in ("dataset", "A", "B", "C"):
            if field not in lines[0].values:
                raise InputError(
                    "missing column", path=path, field=field, hint="Give stimuli with dataset, A, B and C."
                )
        parts: dict[str, list[Line]] = {}
        for line in lines:
            parts.setdefault(_letters(line.word("dataset")), []).append(line)
        for name, own in parts.items():
            tied, of = words.setdefault(name, {}), labels.setdefault(name, {})
            for column in ("C", "D"):
                listed = list(_entries(own, column))
                if listed:
                    shown[name] = min(len(listed), shown.get(name, len(listed)))
                for i, word in enumerate(listed):
                    tied.setdefault(word, "positive" if 2 * i < len(listed) else "negative")
            for label in _entries(own, "A"):
                of.setdefault(label, "default")
            for label in _entries(own, "B"):
                of.setdefault(label, "stigma")
            if len(set(of.values())) < 2 or len(set(tied.values())) < 2:
                raise InputError(
                    f"{name!r} lacks words of a group or of an attribute", path=path, field="dataset",
                    hint="Give each dataset words in A, B and C.",
                )  # fmt: skip
    return {name: Stimuli(words[name], labels[name], shown[name]) for name in words}


def _entries(lines: Iterable[Line], column: str) -> Iterable[str]:
    for line in lines:
        text = (line.text(column) or "").strip()
        if text:
            yield text.casefold()


def _letters(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.casefold())
