"""What must stay out of a set for training: pairs whose question stands in a held-out part or in a benchmark.

A question is the same where its text is, after NFKC, casefolding and collapsing of white space, and nearly the same by
TF-IDF over words. Pairs go in families: those that share a group or a question, directly or through others, so that no
half of a family stays behind.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recuse.errors import InputError
from recuse.pairs.presets import Preset, detect
from recuse.pairs.readers import read_file
from recuse.pairs.rows import BadRow, Unusable, prompt
from recuse.prompts import transcript
from recuse.types import Pair

NEAR = 0.9  # cosine from which two questions count as nearly the same
_BLOCK = 500  # questions compared at once with all others
_ASKED = ("question", "prompt", "instruction", "input", "Question")


@dataclass(frozen=True)
class Apart:
    """Pairs of which nothing may go into a set. `questions` are those whose texts are known, by which near ones are
    found; `keys` those of all (see `question_key`); `ids` the pairs themselves."""

    name: str  # for the card: a run folder's or a file's name, without its path
    what: str  # "validation and test parts", "all pairs of an audit", "benchmark"
    questions: tuple[str, ...]
    keys: frozenset[str]
    ids: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Left:
    """Pairs left out for one `Apart`, their families included; a pair counts for the first that it meets."""

    name: str
    what: str
    same: int  # the same pair or question
    near: int  # nearly the same question


def question_key(question: str) -> str:
    """20 hex digits of SHA-256 over the normalised text: the group that `load_pairs` gives such a question."""
    text = " ".join(unicodedata.normalize("NFKC", question).casefold().split())
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def families(pairs: Sequence[Pair]) -> dict[str, str]:
    """The family of each pair, by id, named after the first of its groups and questions by alphabet."""
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while (above := parent.setdefault(name, name)) != name:
            parent[name] = parent[above]
            name = above
        return name

    for pair in pairs:
        first, second = sorted((root(f"group {pair.group}"), root(f"question {question_key(transcript(pair.prompt))}")))
        parent[second] = first
    return {pair.id: root(f"group {pair.group}") for pair in pairs}


def left_out(pairs: Sequence[Pair], apart: Sequence[Apart]) -> tuple[list[Pair], list[Left]]:
    """The pairs that may go in, in their order, and how many may not, for each of `apart`."""
    home = families(pairs)
    asked = {pair.id: transcript(pair.prompt) for pair in pairs}
    keys = {pair.id: question_key(asked[pair.id]) for pair in pairs}
    kept, told = list(pairs), []
    for one in apart:
        same = {home[pair.id] for pair in kept if pair.id in one.ids or keys[pair.id] in one.keys}
        open_ = [pair for pair in kept if home[pair.id] not in same]
        nearly = near({asked[pair.id] for pair in open_}, one.questions)
        similar = {home[pair.id] for pair in open_ if asked[pair.id] in nearly}
        left = [pair for pair in open_ if home[pair.id] not in similar]
        told.append(Left(one.name, one.what, len(kept) - len(open_), len(open_) - len(left)))
        kept = left
    return kept, told


def near(questions: Collection[str], others: Collection[str], *, least: float = NEAR) -> set[str]:
    """Those of `questions` whose TF-IDF vector (words and pairs of words) has a cosine of `least` with one of
    `others`."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    mine, theirs = sorted(questions), sorted(set(others))
    if not mine or not theirs:
        return set()
    vectors = TfidfVectorizer(
        lowercase=True, strip_accents="unicode", sublinear_tf=True, ngram_range=(1, 2), token_pattern=r"(?u)\b\w+\b"
    )
    try:
        matrix = vectors.fit_transform([*mine, *theirs])
    except ValueError:  # no words anywhere
        return set()
    ours, rest = matrix[: len(mine)], matrix[len(mine) :].T.tocsr()
    found: set[str] = set()
    for start in range(0, len(mine), _BLOCK):
        block = mine[start : start + _BLOCK]
        best = (ours[start : start + _BLOCK] @ rest).max(axis=1).toarray().ravel()
        found |= {text for text, value in zip(block, best, strict=True) if value >= least - 1e-9}
    return found


def benchmark(path: Path) -> Apart:
    """The questions of a benchmark: JSONL, JSON, CSV or Parquet in any form that `load_pairs` knows, or with a column
    question, prompt, instruction or input. Ties and rows without a label count too.

    Raises InputError for a file that cannot be read, and for a row that has no question.
    """
    questions: list[str] = []
    form: Preset | None = None
    for number, row in read_file(path, preset=None):
        if isinstance(row, BadRow):
            raise InputError(str(row), path=path, row=number, field=row.field, hint="Correct the row.")
        if not questions:
            form = detect(row)
        questions.append(_question(row, form, path, number))
    if not questions:
        raise InputError("there are no rows", path=path, hint="Give the file of a benchmark.")
    return Apart(path.name, "benchmark", tuple(questions), frozenset(map(question_key, questions)))


def _question(row: Mapping[str, Any], form: Preset | None, path: Path, number: int) -> str:
    if form is not None:
        try:
            return transcript(form.read(row).prompt)
        except (BadRow, Unusable, KeyError):
            pass  # no pair follows from it, and yet it asks something
    for name in _ASKED:
        if row.get(name):
            try:
                return transcript(prompt(row, name))
            except BadRow as bad:
                raise InputError(str(bad), path=path, row=number, field=name, hint="Correct the row.") from None
    raise InputError(
        f"no question (columns: {', '.join(row)})", path=path, row=number, hint=f"Name one {_ASKED[0]!r} or 'prompt'."
    )
