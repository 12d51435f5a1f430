"""What must stay out of a set for training: pairs whose question or answer stands in a held-out part or a benchmark.

A text is the same where it is after NFKC, casefolding and collapsing of white space, and nearly the same as `alike` has
it. Pairs go in families: those that share a group, or whose questions or answers are the same or nearly so, directly or
through others, so that no half of a family stays behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recuse.errors import InputError
from recuse.export.alike import alike, near
from recuse.pairs.families import Families, question_key
from recuse.pairs.presets import Preset, detect
from recuse.pairs.readers import read_file
from recuse.pairs.rows import BadRow, Unusable, prompt
from recuse.prompts import transcript
from recuse.types import Pair

# Words from which an answer tells where it comes from. Without a limit "Yes." and the like make one family of 181 pairs
# of RewardBench; with it the largest has 27, whose answers share a refusal.
_TELLING = 10
_ASKED = ("question", "prompt", "instruction", "input", "Question")


@dataclass(frozen=True)
class Apart:
    """Pairs of which nothing may go into a set. `questions` and `answers` are those whose texts are known, by which
    near ones are found; `keys` those of all questions (`question_key`); `ids` the pairs themselves."""

    name: str  # for the card: a run folder's or a file's name, without its path
    what: str  # "validation and test parts", "all pairs of an audit", "benchmark"
    questions: tuple[str, ...]
    keys: frozenset[str]
    ids: frozenset[str] = frozenset()
    answers: tuple[str, ...] = ()
    unread: int = 0  # pairs whose texts are not known


@dataclass(frozen=True)
class Left:
    """Pairs left out for one `Apart`, their families included; a pair counts for the first that it meets."""

    name: str
    what: str
    same: int  # the same pair or question
    near: int  # nearly the same question or answer
    unread: int = 0  # pairs of the `Apart` whose texts are not known, so that nothing near them was found


def families(pairs: Sequence[Pair]) -> dict[str, str]:
    """The family of each pair, by id, named after the first of its groups by alphabet."""
    home = Families()
    questions = {pair.id: transcript(pair.prompt) for pair in pairs}
    for pair in pairs:
        home.join(f"group {pair.group}", f"question {question_key(questions[pair.id])}")
        for answer in telling(pair.chosen, pair.rejected):
            home.join(f"group {pair.group}", f"text {question_key(answer)}")
    for kind, texts in (
        ("question", set(questions.values())),
        ("text", {answer for pair in pairs for answer in telling(pair.chosen, pair.rejected)}),
    ):
        every = sorted(texts)
        for i, j in alike(every):
            home.join(f"{kind} {question_key(every[i])}", f"{kind} {question_key(every[j])}")
    return {pair.id: home.of(f"group {pair.group}") for pair in pairs}


def telling(*answers: str) -> Iterator[str]:
    """Those answers that are long enough to tell where they come from."""
    return (answer for answer in answers if len(answer.split()) >= _TELLING)


def left_out(
    pairs: Sequence[Pair], apart: Sequence[Apart], *, home: Mapping[str, str] | None = None
) -> tuple[list[Pair], list[Left]]:
    """The pairs that may go in, in their order, and how many may not, for each of `apart`. `home`: their families, if
    they are known already."""
    home = families(pairs) if home is None else home
    asked = {pair.id: transcript(pair.prompt) for pair in pairs}
    keys = {pair.id: question_key(asked[pair.id]) for pair in pairs}
    kept, told = list(pairs), []
    for one in apart:
        same = {home[pair.id] for pair in kept if pair.id in one.ids or keys[pair.id] in one.keys}
        open_ = [pair for pair in kept if home[pair.id] not in same]
        nearly = near({asked[pair.id] for pair in open_}, one.questions)
        copied = near({a for pair in open_ for a in telling(pair.chosen, pair.rejected)}, one.answers)
        similar = {home[pair.id] for pair in open_ if asked[pair.id] in nearly or {pair.chosen, pair.rejected} & copied}
        left = [pair for pair in open_ if home[pair.id] not in similar]
        told.append(Left(one.name, one.what, len(kept) - len(open_), len(open_) - len(left), one.unread))
        kept = left
    return kept, told


def apart_of(
    name: str,
    what: str,
    pairs: Iterable[Pair],
    *,
    ids: frozenset[str] = frozenset(),
    keys: frozenset[str] = frozenset(),
) -> Apart:
    """These pairs with their texts, and what else is to stay out by its id or its question's key."""
    held = list(pairs)
    questions = tuple(transcript(pair.prompt) for pair in held)
    return Apart(
        name, what, questions, keys | set(map(question_key, questions)), ids | {pair.id for pair in held},
        tuple(answer for pair in held for answer in telling(pair.chosen, pair.rejected)),
    )  # fmt: skip


def benchmark(path: Path) -> Apart:
    """The questions and answers of a benchmark: JSONL, JSON, CSV or Parquet in any form that `load_pairs` knows, or the
    questions of one with a column question, prompt, instruction or input. Ties and rows without a label count too.

    Raises InputError for a file that cannot be read, and for a row that has no question.
    """
    questions: list[str] = []
    answers: list[str] = []
    form: Preset | None = None
    for number, row in read_file(path, preset=None):
        if isinstance(row, BadRow):
            raise InputError(str(row), path=path, row=number, field=row.field, hint="Correct the row.")
        if not questions:
            form = detect(row)
        question, of_row = _texts(row, form, path, number)
        questions.append(question)
        answers += telling(*of_row)
    if not questions:
        raise InputError("there are no rows", path=path, hint="Give the file of a benchmark.")
    return Apart(
        path.name, "benchmark", tuple(questions), frozenset(map(question_key, questions)), answers=tuple(answers)
    )


def _texts(row: Mapping[str, Any], form: Preset | None, path: Path, number: int) -> tuple[str, tuple[str, ...]]:
    if form is not None:
        try:
            pair = form.read(row)
            return transcript(pair.prompt), (pair.chosen, pair.rejected)
        except (BadRow, Unusable, KeyError):
            pass  # no pair follows from it, and yet it asks something
    for name in _ASKED:
        if row.get(name):
            try:
                return transcript(prompt(row, name)), ()
            except BadRow as bad:
                raise InputError(str(bad), path=path, row=number, field=name, hint="Correct the row.") from None
    raise InputError(
        f"no question (columns: {', '.join(row)})", path=path, row=number, hint=f"Name one {_ASKED[0]!r} or 'prompt'."
    )
