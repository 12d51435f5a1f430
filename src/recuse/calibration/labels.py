"""People's labels of pairs: which answer each person prefers, joined to the pairs that a judge was asked about.

A label says "A" or "B" of the source's answers (also 1/2, first/second, left/right, A>B ...), "chosen" or "rejected",
"tie", or nothing (empty, "abstain", "unsure", "skip"). Joined by a key or by a pair's id, A and B are the answers as
they stand in the source of the pairs; joined by content, they are the answers a and b of the labels file itself, told
by their text, so that answers shuffled for the people need no key. Two ratings (`rating_a`, `rating_b`, or `_chosen`,
`_rejected`) are a preference for the higher one, equal ones a tie. Other words are mapped: {"0": "tie"}.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from recuse.assets import digest
from recuse.calibration.forms import ANNOTATOR, LabelRows, rating_in, read_label_rows
from recuse.errors import InputError, UsageError
from recuse.prompts import transcript
from recuse.recorded.rows import Row, as_text
from recuse.types import Message, Preference

if TYPE_CHECKING:
    from recuse.pairs import PairSet
    from recuse.recorded import Recorded

Place = Literal["A", "B"]
_Word = Literal["A", "B", "chosen", "rejected", "tie", "abstain"]

_WORDS: dict[str, _Word] = {
    **dict.fromkeys(("a", "1", "first", "left", "model_a", "a>b", "a>>b"), "A"),
    **dict.fromkeys(("b", "2", "second", "right", "model_b", "b>a", "b>>a"), "B"),
    **dict.fromkeys(("tie", "c", "a=b", "equal", "same"), "tie"),
    **dict.fromkeys(("", "null", "none", "nan", "n/a", "abstain", "skip", "skipped", "unsure"), "abstain"),
    "chosen": "chosen", "rejected": "rejected",
}  # fmt: skip
MEANINGS: tuple[_Word, ...] = ("A", "B", "chosen", "rejected", "tie", "abstain")
_LABEL_COLUMNS = ("label", "preference", "human", "human_label", "winner", "vote")
_NUMBERED = re.compile(r"(?:annotator|rater|label|human|vote)[ _-]?\d{1,4}", re.IGNORECASE)
_ANNOTATOR_COLUMNS = (
    ANNOTATOR, "annotator_id", "rater", "rater_id", "worker", "worker_id", "user", "user_id", "completed_by",
)  # fmt: skip
_SIDES = (("_a", "_b"), ("_A", "_B"), ("_chosen", "_rejected"))
_PROMPTS = ("prompt", "question", "instruction", "input")
_ANSWERS = (
    ("a", "b"), ("response_a", "response_b"), ("response_A", "response_B"), ("answer_a", "answer_b"),
    ("response1", "response2"), ("output_1", "output_2"), ("text1", "text2"), ("chosen", "rejected"),
)  # fmt: skip
SOLE = "people"  # who said it, where the file names nobody


@dataclass(frozen=True, slots=True)
class Known:
    """A pair to which a label may be joined. `place` says where its chosen answer stood in the source."""

    pair: str
    place: Place | None
    key: str | None = None
    content: tuple[str, str] | None = None  # digests of question and both answers, and of the chosen answer


@dataclass(frozen=True, slots=True)
class Labels:
    """What people said of the pairs. A vote of None is an abstention."""

    votes: Mapping[str, Mapping[str, Preference | None]]  # pair id -> person -> what they prefer
    places: Mapping[str, Place]  # pair id -> where its chosen answer stood in the source, where that is known
    source: str
    hash: str  # of the votes, whatever the form of the file
    notes: tuple[str, ...] = ()

    @property
    def people(self) -> tuple[str, ...]:
        return tuple(sorted({who for votes in self.votes.values() for who in votes}))

    @property
    def whose(self) -> str:
        """What the judges are held against, in words."""
        return "the known better answers" if self.source == "gold" else "people"

    def majority(self, pair: str) -> Preference | None:
        """What more than half of those who did not abstain prefer; None where there is no such label."""
        given = Counter(vote for vote in self.votes.get(pair, {}).values() if vote is not None)
        if not given:
            return None
        label, count = given.most_common(1)[0]
        return label if 2 * count > given.total() else None


def known_pairs(pairs: PairSet, *, key: str | None = None, content: bool = True) -> list[Known]:
    """The pairs as labels see them. Raises UsageError for a key column that the pairs do not have."""
    keys = pairs.of_source(key) if key is not None else [None] * len(pairs)
    return [
        Known(
            pair.id,
            pair.gold,
            None if value is None else as_text(value).strip(),
            _content(pair.prompt, pair.chosen, pair.rejected) if content else None,
        )
        for pair, value in zip(pairs, keys, strict=True)
    ]


def known_recorded(found: Recorded) -> list[Known]:
    """Pairs of recorded verdicts: their names are their keys, their texts are not known."""
    names = dict.fromkeys(j.pair for j in (*found.judgements, *found.without_gold))
    return [Known(name, found.places[name], name) for name in names]


def load_labels(
    path: str | Path,
    known: Sequence[Known],
    *,
    key: str | None = None,
    column: Sequence[str] = (),
    annotator: str | None = None,
    values: Mapping[str, str] | None = None,
) -> Labels:
    """Read people's labels and join them to the `known` pairs.

    key        column of the file that holds what `Known.key` holds; without it the column `pair` with ids, else the
               question and the two answers
    column     where the labels stand: one column; several, one a person; two ratings. Found by its name where it is
               not given. A cell may hold a list, one label a person
    annotator  column that names the person, where a pair has several rows
    values     what words of the file mean, laid over the usual ones: {"0": "tie", "Response 1": "A"}

    Raises InputError for a label outside the menu, a person's two different labels of one pair and a file that matches
    no pair; UsageError where columns must be named.
    """
    found = read_label_rows(path)
    words = {**_WORDS, **_checked(values or {})}
    columns = _label_columns(found, tuple(column), str(path))
    who = _annotator_column(found.rows, annotator, columns, str(path))
    joined = _Join.of(found.rows, known, key, str(path))
    votes: dict[str, dict[str, Preference | None]] = {}
    rows: dict[tuple[str, str], Row] = {}
    strangers, again = 0, 0
    for row in found.rows:
        match = joined.match(row)
        if match is None:
            strangers += 1
            continue
        for person, word in _said(row, columns, who, words):
            vote = match.prefers(row, word)
            mine = votes.setdefault(match.known.pair, {})
            if person in mine:
                again += 1
                _same(row, rows[match.known.pair, person], person, mine[person], vote)
            mine[person], rows[match.known.pair, person] = vote, row
    if not votes:
        raise joined.no_match(found.rows)
    notes = [f"{strangers:,} of {len(found.rows):,} rows of labels are of no pair of this run."] if strangers else []
    if again:
        notes.append(f"{again:,} labels stand twice in the file, alike, and count once.")
    places = {k.pair: k.place for k in known if k.place is not None and k.pair in votes}
    return Labels(votes, places, str(path), votes_hash(votes), tuple(notes))


def votes_hash(votes: Mapping[str, Mapping[str, Preference | None]]) -> str:
    told = {pair: dict(sorted(said.items())) for pair, said in sorted(votes.items())}
    return digest(json.dumps(told).encode())


def _checked(values: Mapping[str, str]) -> dict[str, _Word]:
    menu: dict[str, _Word] = {word.casefold(): word for word in MEANINGS}
    for word, meaning in values.items():
        if meaning.casefold() not in menu:
            raise UsageError(f"The word {word!r} cannot mean {meaning!r}.", hint=f"Use one of: {', '.join(MEANINGS)}.")
    return {word.strip().casefold(): menu[meaning.casefold()] for word, meaning in values.items()}


def _label_columns(found: LabelRows, given: tuple[str, ...], path: str) -> tuple[str, ...]:
    names = {name: None for row in found.rows for name in row.values}
    if missing := [name for name in given if name not in names]:
        raise UsageError(f"{path}: there is no column {missing[0]!r}.", hint=f"The file has: {', '.join(names)}.")
    if given:
        return given
    if len(found.questions) == 1:
        return found.questions
    candidates = found.questions or tuple(names)
    ratings = [
        (name, name.removesuffix(a) + b)
        for a, b in _SIDES
        for name in candidates
        if name.endswith(a) and name.casefold().startswith(("rating", "score"))
    ]
    numbered = tuple(name for name in candidates if _NUMBERED.fullmatch(name))
    single = [name for name in _LABEL_COLUMNS if name in candidates]
    if len(single) == 1:
        return (single[0],)
    if not single and numbered:
        return numbered
    if not single and len(ratings) == 1 and ratings[0][1] in candidates:
        return ratings[0]
    raise UsageError(
        f"{path}: which column holds the labels?",
        hint=f"Name it (--label); the file has: {', '.join(candidates or names)}.",
    )


def _annotator_column(rows: Sequence[Row], given: str | None, columns: Sequence[str], path: str) -> str | None:
    names = {name for row in rows for name in row.values}
    if given is not None and given not in names:
        raise UsageError(f"{path}: there is no column {given!r}.", hint=f"The file has: {', '.join(sorted(names))}.")
    return given or next((name for name in _ANNOTATOR_COLUMNS if name in names and name not in columns), None)


def _said(
    row: Row, columns: tuple[str, ...], annotator: str | None, words: Mapping[str, _Word]
) -> list[tuple[str, _Word]]:
    """Each person of the row and what they said, in the file's own terms."""
    person = SOLE if annotator is None else row.word(annotator)
    if _are_ratings(columns):
        return [(person, _by_rating(row, columns))]
    several, said = len(columns) > 1, list[tuple[str, _Word]]()
    for column in columns:
        name = (column if annotator is None else f"{person} ({column})") if several else person
        value = _listed(row.get(column))
        if isinstance(value, list):
            whose = "person" if name == SOLE else name
            said += [(f"{whose} {i}", _word(row, column, one, words)) for i, one in enumerate(value, start=1)]
        else:
            said.append((name, _word(row, column, value, words)))
    return said


def _listed(value: Any) -> Any:
    """A list as CSV files hold it."""
    if isinstance(value, str) and value.startswith("["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _word(row: Row, column: str, value: Any, words: Mapping[str, _Word]) -> _Word:
    text = "" if value is None or value != value else as_text(value).strip()
    name = text.casefold()
    if name in words:
        return words[name]
    if name.startswith("tie ("):
        return "tie"
    shown = text if len(text) <= 40 else text[:37] + "..."
    raise row.fail(
        f"{shown!r} is no label (A, B, chosen, rejected, tie, abstain)",
        field=column,
        hint="Say what the word means (--means WORD=LABEL).",
    )


def _are_ratings(columns: Sequence[str]) -> bool:
    return len(columns) == 2 and any(
        columns[0].endswith(a) and columns[1] == columns[0].removesuffix(a) + b for a, b in _SIDES
    )


def _by_rating(row: Row, columns: Sequence[str]) -> _Word:
    one, two = (rating_in(row, column, row.get(column)) for column in columns)
    if one is None or two is None:
        return "abstain"
    if one == two:
        return "tie"
    if columns[0].endswith("_chosen"):
        return "chosen" if one > two else "rejected"
    return "A" if one > two else "B"


def _same(row: Row, before: Row, person: str, old: Preference | None, new: Preference | None) -> None:
    if old != new:
        who = "" if person == SOLE else f" by {person!r}"
        hint = "Name the people in a column annotator." if person == SOLE else "Keep one of them."
        raise row.fail(
            f"this pair is labelled {new or 'abstain'}{who}, and {old or 'abstain'} in row {before.number}", hint=hint
        )


@dataclass(frozen=True, slots=True)
class _Match:
    known: Known
    a_is_chosen: bool | None  # told by the texts; None: by the place in the source

    def prefers(self, row: Row, word: _Word) -> Preference | None:
        if word in ("chosen", "rejected", "tie"):
            return word
        if word == "abstain":
            return None
        first = self.a_is_chosen
        if first is None:
            if self.known.place is None:
                raise row.fail(
                    f"the label is {word}, and the source of this pair has no answers A and B",
                    hint="Write chosen or rejected, or give the answers' texts in columns a and b.",
                )
            first = self.known.place == "A"
        return "chosen" if (word == "A") == first else "rejected"


@dataclass(frozen=True, slots=True)
class _Join:
    """How rows find their pairs."""

    path: str
    column: str | None  # None: by content
    by_key: Mapping[str, Known]
    twice: frozenset[str]
    answers: tuple[str, str, str] | None = None  # columns of the question and the two answers

    @classmethod
    def of(cls, rows: Sequence[Row], known: Sequence[Known], key: str | None, path: str) -> _Join:
        names = {name for row in rows for name in row.values}
        if key is not None:
            if key not in names:
                raise UsageError(f"{path}: there is no column {key!r}.", hint=f"It has: {', '.join(sorted(names))}.")
            return cls(path, key, *_unique((k.key, k) for k in known))
        if "pair" in names:
            return cls(path, "pair", *_unique((k.pair, k) for k in known))
        question = next((name for name in _PROMPTS if name in names), None)
        answers = next((two for two in _ANSWERS if names.issuperset(two)), None)
        if question is None or answers is None:
            raise UsageError(
                f"{path}: how do labels find their pairs?",
                hint="Name a column that both files have (--key), or give the question and both answers in columns "
                "prompt, a and b.",
            )
        if all(k.content is None for k in known):
            raise UsageError(
                f"{path}: labels find the pairs of finished runs by pair ids, since runs keep no texts.",
                hint="Name the column of pair ids (--key), or give --human to the audits, which keep the labels.",
            )
        found, twice = _unique((k.content[0] if k.content else None, k) for k in known)
        return cls(path, None, found, twice, (question, *answers))

    def match(self, row: Row) -> _Match | None:
        chosen = None
        if self.answers is None:
            value = as_text(row.get(self.column or "")).strip() if row.get(self.column or "") is not None else ""
            if not value:
                raise row.fail("the key is empty", field=self.column)
        else:
            question, a, b = (row.get(name) for name in self.answers)
            value, chosen = _content(_question(question), as_text(a), as_text(b))
        if value in self.twice:
            shown = f"{self.column} {value!r} names" if self.column else "this question with these answers is"
            raise row.fail(f"{shown} more than one pair", hint="Join by a key that names one pair each.")
        known = self.by_key.get(value)
        if known is None:
            return None
        return _Match(known, None if chosen is None else chosen == (known.content or ("", ""))[1])

    def no_match(self, rows: Sequence[Row]) -> InputError:
        if self.column is None:
            return InputError(
                "no label matches a pair: no question stands there with the same two answers", path=self.path,
                hint="Join by a key that both files have (--key).",
            )  # fmt: skip
        there, here = as_text(rows[0].get(self.column))[:40], next(iter(self.by_key), "none")[:40]
        return InputError(
            f"no label matches a pair (here for instance {there!r}, among the pairs {here!r})", path=self.path,
            field=self.column, hint="Name a column that both files have.",
        )  # fmt: skip


def _unique(items: Iterable[tuple[str | None, Known]]) -> tuple[dict[str, Known], frozenset[str]]:
    found: dict[str, Known] = {}
    twice = set()
    for key, known in items:
        if key is not None and found.setdefault(key, known) is not known:
            twice.add(key)
    return found, frozenset(twice)


def _question(value: Any) -> str | tuple[Message, ...]:
    """A question given as text or as a list of messages."""
    if isinstance(value, list) and all(isinstance(m, Mapping) and {"role", "content"} <= m.keys() for m in value):
        return tuple(Message(as_text(m["role"]), as_text(m["content"])) for m in value)
    return as_text(value)


def _content(prompt: str | tuple[Message, ...], first: str, second: str) -> tuple[str, str]:
    """Digests of the question with both answers in either order, and of the first answer; white space collapsed."""
    if not isinstance(prompt, str) and len(prompt) == 1 and prompt[0].role == "user":
        prompt = prompt[0].content
    one, two = (" ".join(text.split()) for text in (first, second))
    question = " ".join(transcript(prompt).split())
    return digest(json.dumps([question, *sorted((one, two))]).encode()), digest(one.encode())
