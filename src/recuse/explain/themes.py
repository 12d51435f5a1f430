"""Themes: what the reasons for the judge's disagreements have in common.

TF-IDF over words, factorised by NMF (Lee & Seung 1999), so that one explanation may carry several themes. The number of
themes is the one whose themes come back best beyond chance: the explanations are parted at random into two halves, each
is factorised alone, themes are matched, and the cosine of the worst theme between both halves (mean over `SPLITS`) is
held against that of explanations whose words are dealt out anew, in which there is nothing to find. It must reach
`COMES_BACK` and lie `ABOVE` that; where no number does there are no themes. Silhouettes and errors of reconstruction
rank numbers of themes on noise too; a mean over themes, as in Greene, O'Callaghan & Cunningham (2014, ECML PKDD), hides
one that is noise.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from recuse import stats
from recuse.effects.scores import Bools, Floats
from recuse.explain.embedded import Embed, Placed, by_embeddings, clusters, dealt_anew, unit

COMES_BACK = 0.6  # cosine
ABOVE = 0.15  # cosine
MOST = 8  # themes
EACH = 6  # documents for each theme at least
SPLITS = 10
CARRIES = 0.25  # share of a document's weight from which it carries a theme
WORDS = 8  # by which a theme is known
_EXAMPLES = 3
_EXCERPT = 300  # characters

# Words of the task, which every explanation uses.
_OF_THE_TASK = """
answer answers output outputs response responses assistant model better best worse good verdict choice choose chose
chosen choosing prefer preferred question instruction compare comparison reason reasons led therefore final option text
provided provides given gives does"""
_LABEL = re.compile(
    r"\b(?:answer|output|response|assistant|option)s?\s*\(?[ab12]\)?(?!\w)|\[\[[^\]]{1,9}\]\]", re.IGNORECASE
)

_WORD = re.compile(r"[^\W_]+")

By = Literal["words", "embeddings"]
Fit = Callable[[Any, int], tuple[Floats, Floats]]  # documents by themes, and themes as directions


@dataclass(frozen=True)
class Theme:
    """`words` by falling weight; `members` are the places of the documents that carry it."""

    words: tuple[str, ...]
    share: stats.Estimate
    members: tuple[int, ...]
    examples: tuple[tuple[int, str], ...]  # place of a document, and an excerpt
    stability: float  # mean cosine with itself in the halves
    beside: stats.Estimate | None = None  # share among other documents, where there are any
    difference: stats.Estimate | None = None

    @property
    def name(self) -> str:
        return ", ".join(self.words[:4])


@dataclass(frozen=True)
class Themes:
    themes: tuple[Theme, ...]
    n: int
    none: int  # documents that carry no theme
    several: int  # documents that carry more than one
    tried: Mapping[int, float]  # number of themes -> mean cosine of the worst one
    reason: str | None = None  # why there are no themes
    by: By = "words"

    @property
    def criterion(self) -> str:
        tried = ", ".join(f"{k}: {worst:.2f}" for k, worst in self.tried.items())
        dealt = "words" if self.by == "words" else "coordinates (of their sentence embeddings)"
        return (
            "The number of themes whose worst theme comes back best in random halves of the explanations, beyond "
            f"explanations whose {dealt} are dealt out anew: mean cosine at least {COMES_BACK:g}, and {ABOVE:g} above "
            f"theirs (by number of themes: {tried or 'none tried'})."
        )


def find_themes(
    documents: Sequence[str],
    groups: Sequence[str],
    *,
    beside: Sequence[str] = (),
    beside_groups: Sequence[str] = (),
    subjects: Sequence[frozenset[str]] = (),
    beside_subjects: Sequence[frozenset[str]] = (),
    level: float = 0.95,
    embed: Embed | None = None,
    seed: int = 0,
) -> Themes:
    """Themes of `documents`, each with its share among them; `beside` are documents that are held against the same
    themes, such as the reasons for verdicts that were right. Shares overlap, since a document may carry several.

    subjects  words that a document shares with its question (`features.content_words`), left out so that themes are
              not what the questions are about; one set a document, or none
    """
    if len(documents) != len(groups) or len(beside) != len(beside_groups):
        raise ValueError("every document needs its group.")
    if len(documents) < 2 * EACH:
        return Themes((), len(documents), 0, 0, {}, f"{len(documents)} explanations are too few for themes")
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    by: By = "words" if embed is None else "embeddings"
    plain, others = _stripped(documents, subjects), _stripped(beside, beside_subjects)
    vectors = _vectorizer(2 if embed is None else 1)
    try:
        x = vectors.fit_transform(plain)
    except ValueError:  # nothing but stop words, or no word twice
        return Themes((), len(documents), 0, 0, {}, "the explanations have no words in common", by)
    placed = Placed.of(plain, embed) if embed else None
    rng = np.random.default_rng(seed)
    halves = [np.array_split(rng.permutation(x.shape[0]), 2) for _ in range(SPLITS)]
    with threadpool_limits(1):  # many small factorisations: threads only get in each other's way
        space, fit = (x, _factors) if placed is None else (placed.directions, clusters)
        dealt = _dealt_anew(x, rng) if placed is None else dealt_anew(placed.directions, rng)
        k, tried, stability = _number(space, halves, fit, dealt)
        if k < 2:
            why = "the explanations fall into no themes that come back in halves"
            return Themes((), len(documents), 0, 0, tried, why, by)
        weights, words, carried, besides = (
            _by_words(x, k, vectors, others) if placed is None else by_embeddings(placed, k, x, others)
        )
    names = vectors.get_feature_names_out()
    themes = [
        _theme(i, documents, groups, weights, words, names, carried, besides, beside_groups, stability[i], level)
        for i in range(k)
    ]
    themes.sort(key=lambda theme: (-len(theme.members), theme.words))
    counts = carried.sum(axis=1)
    return Themes(tuple(themes), len(documents), int((counts == 0).sum()), int((counts > 1).sum()), tried, by=by)


def _vectorizer(least: int) -> Any:
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfVectorizer

    return TfidfVectorizer(
        lowercase=True, strip_accents="unicode", sublinear_tf=True, min_df=least, max_df=0.95,
        stop_words=sorted({*ENGLISH_STOP_WORDS, *_OF_THE_TASK.split()}), token_pattern=r"(?u)\b[^\W\d_]{3,}\b",
    )  # fmt: skip


def _stripped(texts: Sequence[str], subjects: Sequence[frozenset[str]]) -> list[str]:
    """Without the labels of the answers, so that themes are not the places, and without the words of the subjects."""
    plain = [_LABEL.sub(" ", text) for text in texts]
    if not subjects:
        return plain
    return [
        _WORD.sub(lambda m, own=own: " " if m[0].casefold().removesuffix("s") in own else m[0], text)  # type: ignore[misc]
        for text, own in zip(plain, subjects, strict=True)
    ]


def _number(x: Any, halves: Sequence[Any], fit: Fit, dealt: Floats) -> tuple[int, dict[int, float], Floats]:
    """The number of themes (1: none come back), the worst cosine by number, and the cosines of the number taken."""
    tried: dict[int, float] = {}
    best, found, most = 1, np.ones(1), ABOVE
    for k in range(2, min(MOST, x.shape[0] // EACH, x.shape[1] - 1) + 1):
        cosines = _stability(x, k, halves, fit)
        tried[k] = float(cosines.min())
        if tried[k] < COMES_BACK:
            continue
        beyond = tried[k] - float(_stability(dealt, k, halves, fit).min())
        if beyond >= most:
            best, found, most = k, cosines, beyond
    return best, tried, found


def _dealt_anew(x: Any, rng: np.random.Generator) -> Floats:
    """As many documents, each word in as many of them, but words no longer go together."""
    return unit(rng.permuted(x.toarray(), axis=0))


def _stability(x: Any, k: int, halves: Sequence[Any], fit: Fit) -> Floats:
    """(k,): mean cosine of each theme of one half of the documents with the one matched to it in the other half, the
    themes being those of all documents, which tell which is which."""
    from scipy.optimize import linear_sum_assignment

    whole = unit(fit(x, k)[1])
    total = np.zeros(k)
    for two in halves:
        matched = []
        for half in two:
            found = unit(fit(x[half], k)[1])
            matched.append(found[linear_sum_assignment(-whole @ found.T)[1]])
        total += (matched[0] * matched[1]).sum(axis=1)
    return total / len(halves)


def _factors(x: Any, k: int) -> tuple[Floats, Floats]:
    """Documents by themes, and themes by words, each theme's words of unit length."""
    from sklearn.decomposition import NMF
    from sklearn.exceptions import ConvergenceWarning

    model = NMF(k, init="nndsvd", random_state=0, max_iter=400, tol=1e-3)
    # The last digits of a factorisation matter to no theme, and one that is exact leaves an error just below zero.
    with warnings.catch_warnings(), np.errstate(invalid="ignore"):
        warnings.simplefilter("ignore", ConvergenceWarning)
        weights = model.fit_transform(x)
    scale = np.linalg.norm(model.components_, axis=1)
    scale[scale == 0] = 1.0
    return weights * scale, model.components_ / scale[:, None]


def _by_words(x: Any, k: int, vectors: Any, others: Sequence[str]) -> tuple[Floats, Floats, Bools, Bools | None]:
    """Weights of documents on themes, themes by words, which document carries which, and which other text does."""
    weights, words = _factors(x, k)
    besides = _carried(_placed(vectors.transform(others), words)) if others else None
    return weights, words, _carried(weights), besides


def _placed(x: Any, words: Floats) -> Floats:
    """Weights of other documents on themes that are given: non-negative least squares, a document at a time."""
    from scipy.optimize import nnls

    return np.array([nnls(words.T, row)[0] for row in x.toarray()])


def _carried(weights: Floats) -> Bools:
    total = weights.sum(axis=1, keepdims=True)
    carried: Bools = np.divide(weights, total, out=np.zeros_like(weights), where=total > 1e-9) >= CARRIES
    return carried


def _theme(
    i: int, documents: Sequence[str], groups: Sequence[str], weights: Floats, words: Floats, names: Any, carried: Bools,
    others: Bools | None, beside_groups: Sequence[str], stability: float, level: float,
) -> Theme:  # fmt: skip
    top = [str(names[j]) for j in np.argsort(-words[i], kind="stable")[:WORDS] if words[i, j] > 0]
    members = np.flatnonzero(carried[:, i])
    share = stats.clustered_mean(carried[:, i].astype(float), groups=groups, level=level)
    order = sorted(members.tolist(), key=lambda d: (-weights[d, i], d))[:_EXAMPLES]
    besides = difference = None
    if others is not None:
        besides = stats.clustered_mean(others[:, i].astype(float), groups=beside_groups, level=level)
        both = np.concatenate([carried[:, i], others[:, i]]).astype(float)
        stratum = np.arange(both.size) < len(documents)
        difference = stats.clustered_difference(both, stratum, groups=[*groups, *beside_groups], level=level)
    return Theme(
        tuple(top), share, tuple(members.tolist()), tuple((d, excerpt(documents[d], top)) for d in order),
        float(stability), besides, difference,
    )  # fmt: skip


def excerpt(text: str, words: Sequence[str]) -> str:
    """The sentence of a text that has most of the words, cut to a few lines."""
    sentences = [s.strip() for s in re.split(r"(?<=[.!?])\s+|\n+", text) if s.strip()]
    if not sentences:
        return ""
    best = max(sentences, key=lambda s: sum(word in s.casefold() for word in words))
    return best if len(best) <= _EXCERPT else best[:_EXCERPT] + "…"
