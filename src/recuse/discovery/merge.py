"""Proposals become candidates: the same property in several wordings is counted once, whatever the order.

Wordings that are equal once normalised are one. Among the rest a similarity (TF-IDF over words, or sentence embeddings)
proposes what may be the same, and a model decides on these alone, in one call a wording, against the library and the
other wordings. What is the same as a bias of the library is that bias, not a new one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from recuse.effects.scores import Floats
from recuse.library import Bias, slug
from recuse.verdict.objects import last_object

LIKE = 0.15  # cosine at which a pair is proposed: low, since the model decides and what is not proposed never merges
MOST_LISTED = 12  # properties that one call compares with, the most similar ones
_MARKS = re.compile(r"[^\w]+")

# Of a wording, and of what it may be the same as: the place of the one that it is, or None.
Decide = Callable[[Sequence[tuple[str, Sequence[str]]]], Sequence[int | None]]
Embed = Callable[[Sequence[str]], Floats]  # unit vectors, one a text


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a teacher named for one case."""

    name: str
    definition: str
    manifestation: str
    instruction: str
    case: str  # arm and pair
    changes_length: bool = False  # it is about how long a text is


@dataclass(frozen=True, slots=True)
class Candidate:
    """A property that is to be tested. `support` counts the cases that named it, in any wording."""

    bias: Bias
    support: int
    wordings: tuple[str, ...]
    cases: tuple[str, ...]


@dataclass(frozen=True)
class Merged:
    """Candidates by falling support, and what named each bias that was known already, by its id."""

    candidates: tuple[Candidate, ...]
    again: Mapping[str, tuple[Proposal, ...]]

    @property
    def known(self) -> dict[str, int]:
        """How many cases named each bias that was known already."""
        return {id: len({p.case for p in named}) for id, named in self.again.items()}


@dataclass(frozen=True)
class _Wording:
    """Proposals that are equal once normalised."""

    key: tuple[str, str]
    proposals: tuple[Proposal, ...]

    @property
    def text(self) -> str:
        """The first by alphabet, so that case and punctuation of one of them stand for all."""
        return min(f"{p.name}: {p.definition}" for p in self.proposals)


def merge(
    proposals: Sequence[Proposal],
    library: Mapping[str, Bias],
    *,
    decide: Decide | None = None,
    embed: Embed | None = None,
    source: str,
) -> Merged:
    """The candidates that `proposals` come to beside a library. `source` says where they come from, for the new biases.

    Without `decide` only wordings that are equal once normalised are merged. Neither the order of the proposals nor
    that of the library changes the result.
    """
    wordings = _equal(proposals)
    biases = [library[id] for id in sorted(library)]
    names = {normalised(b.name): i for i, b in enumerate(biases)} | {normalised(b.id): i for i, b in enumerate(biases)}
    same: list[tuple[int, int]] = []  # places: wordings first, then the library
    n = len(wordings)
    same += [(i, n + names[w.key[0]]) for i, w in enumerate(wordings) if w.key[0] in names]
    if decide is not None and wordings:
        texts = [w.text for w in wordings] + [f"{b.name}: {b.definition}" for b in biases]
        settled = {i for i, _ in same}
        listed = {i: like for i, like in enumerate(proposed(texts, n, embed=embed)) if like and i not in settled}
        asked = [(texts[i], [texts[j] for j in like]) for i, like in listed.items()]
        for (i, like), place in zip(listed.items(), decide(asked), strict=True):
            if place is not None:
                same.append((i, like[place]))
    again: dict[str, tuple[Proposal, ...]] = {}
    found: list[Candidate] = []
    taken = set(library)
    for members in _components(n + len(biases), same):
        mine = [wordings[i] for i in members if i < n]
        if not mine:
            continue
        if old := [biases[i - n] for i in members if i >= n]:
            again[old[0].id] = tuple(p for w in mine for p in w.proposals)
            continue
        found.append(_candidate(mine, taken, source))
        taken.add(found[-1].bias.id)
    return Merged(by_support(found), again)


def proposed(texts: Sequence[str], first: int, *, embed: Embed | None = None) -> list[list[int]]:
    """For each of the `first` texts: the places of the others that may say the same, most similar first.

    By words: those from `LIKE` on. By embeddings: the nearest ones, however near, since the cosine of two sentences
    that have nothing in common is about 0 by one model and 0.7 by another.
    """
    if embed is None:
        likeness, least = _by_words(texts, first), LIKE
    else:
        vectors = embed(texts)
        likeness, least = (vectors[:first] @ vectors.T).round(6), -1.0
    listed = []
    for i, row in enumerate(likeness):
        order = sorted((j for j in range(len(texts)) if j != i), key=lambda j: (-row[j], texts[j]))
        listed.append([j for j in order if row[j] >= least][:MOST_LISTED])
    return listed


def _by_words(texts: Sequence[str], first: int) -> Floats:
    """Cosines of the `first` texts with all, over TF-IDF of words and pairs of words; 0 where all are stop words."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectors = TfidfVectorizer(
        lowercase=True, strip_accents="unicode", stop_words="english", sublinear_tf=True, ngram_range=(1, 2),
        token_pattern=r"(?u)\b\w+\b",
    )  # fmt: skip
    try:
        matrix = vectors.fit_transform(texts)
    except ValueError:  # nothing but stop words
        return np.zeros((first, len(texts)))
    likeness: Floats = (matrix[:first] @ matrix.T).toarray().round(9)
    return likeness


def normalised(text: str) -> str:
    """Folded case, plain letters, words apart by one blank, without a closing "bias"."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    words = _MARKS.sub(" ", "".join(c for c in plain if not unicodedata.combining(c))).split()
    return " ".join(words[:-1] if len(words) > 1 and words[-1] in ("bias", "effect") else words)


def _equal(proposals: Sequence[Proposal]) -> list[_Wording]:
    """Proposals by equal name or equal definition, in an order of their own."""
    ordered = sorted(
        set(proposals), key=lambda p: (normalised(p.name), normalised(p.definition), p.case, p.instruction)
    )
    keys = [(normalised(p.name), normalised(p.definition)) for p in ordered]
    firsts: dict[str, int] = {}
    same = []
    for i, key in enumerate(keys):
        for part in (f"name {key[0]}", f"definition {key[1]}"):
            same.append((i, firsts.setdefault(part, i)))
    return [
        _Wording(keys[members[0]], tuple(ordered[i] for i in members)) for members in _components(len(ordered), same)
    ]


def _components(n: int, edges: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Connected components of 0..n-1, each in increasing order, by their first member."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if not n:
        return []
    rows, columns = ([edge[i] for edge in edges] for i in (0, 1))
    _, labels = connected_components(coo_array(([1] * len(edges), (rows, columns)), shape=(n, n)), directed=False)
    found: dict[int, list[int]] = {}
    for place, label in enumerate(labels.tolist()):
        found.setdefault(label, []).append(place)
    return list(found.values())


def _candidate(wordings: Sequence[_Wording], taken: set[str], source: str) -> Candidate:
    """The wording that most cases used speaks for all; the first by alphabet among equals."""
    best = min(wordings, key=lambda w: (-len(w.proposals), w.text))
    spoken = min(best.proposals, key=lambda p: (p.name, p.definition, p.instruction))
    every = [p for w in wordings for p in w.proposals]
    manifestations = sorted({p.manifestation for p in best.proposals})[:5]
    bias = Bias(
        id=slug(spoken.name, taken),
        name=spoken.name,
        definition=spoken.definition,
        manifestations=manifestations,
        inject=spoken.instruction,
        changes_length=2 * sum(p.changes_length for p in every) > len(every),
        family="cognitive",
        source=[source],
        status="candidate",
    )
    return strengthened(Candidate(bias, 0, (), ()), every)


def strengthened(candidate: Candidate, again: Sequence[Proposal]) -> Candidate:
    """The candidate with the cases and wordings that named it once more; what is tested stays as it is."""
    wordings = sorted({*candidate.wordings, *(f"{p.name}: {p.definition}" for p in again)})
    cases = sorted({*candidate.cases, *(p.case for p in again)})
    return Candidate(candidate.bias, len(cases), tuple(wordings), tuple(cases))


def by_support(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """The most often named first, by id among equals."""
    return tuple(sorted(candidates, key=lambda c: (-c.support, c.bias.id)))


def numbered(texts: Sequence[str]) -> str:
    """A list as a merge prompt shows it: each property on one line, from 1 on."""
    return "\n".join(f"{i}. {' '.join(text.split())}" for i, text in enumerate(texts, start=1))


def read_same(text: str, listed: int) -> int | None:
    """The place, from 0, that a merge reply names. Anything but a number of the list is "none of them"."""
    value = (last_object(text, "same_as") or {}).get("same_as")
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value - 1 if 1 <= value <= listed else None
