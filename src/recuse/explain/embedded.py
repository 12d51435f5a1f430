"""Clusters of explanations by sentence embeddings: what says the same in other words lies together.

Vectors are taken from their mean and brought to length one, since the direction that all sentences of a language share
tells nothing; k-means on them parts explanations by direction, each into the one nearest theme. Where they differ by
degrees, such as in length, two themes may be the two ends. Words only name a theme here: those that weigh more in it
than outside.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from recuse.effects.scores import Bools, Floats

Embed = Callable[[Sequence[str]], Floats]  # unit vectors, (texts, dimensions)
_STARTS = 4  # of k-means, from different seeds


@dataclass(frozen=True, eq=False)
class Placed:
    """Texts as directions from a common mean."""

    directions: Floats  # (texts, dimensions)
    mean: Floats
    embed: Embed

    @classmethod
    def of(cls, texts: Sequence[str], embed: Embed) -> Placed:
        vectors = embed(texts)
        mean = vectors.mean(axis=0)
        return cls(unit(vectors - mean), mean, embed)

    def others(self, texts: Sequence[str]) -> Floats:
        """Other texts, from the same mean."""
        return unit(self.embed(texts) - self.mean)


def clusters(x: Floats, k: int) -> tuple[Floats, Floats]:
    """Cosines of texts with themes (texts, k), and themes as directions (k, dimensions)."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():  # fewer different texts than clusters: some of them are one
        warnings.simplefilter("ignore", ConvergenceWarning)
        centres = unit(KMeans(k, n_init=_STARTS, random_state=0).fit(x).cluster_centers_)
    return x @ centres.T, centres


def dealt_anew(x: Floats, rng: np.random.Generator) -> Floats:
    """As many texts, spread as widely, in which nothing lies together: turned at random, so that no direction is a
    coordinate, and each coordinate dealt out anew."""
    turned = x @ np.linalg.qr(rng.standard_normal((x.shape[1], x.shape[1])))[0]
    return unit(rng.permuted(turned, axis=0))


def by_embeddings(
    placed: Placed, k: int, words: Any, others: Sequence[str]
) -> tuple[Floats, Floats, Bools, Bools | None]:
    """Cosines of texts with k themes; how much more each word weighs in a theme than outside it, from the TF-IDF
    weights `words` (texts, vocabulary); which text is in which theme, and which of the others is."""
    cosines, centres = clusters(placed.directions, k)
    own = _nearest(cosines)
    dense = words.toarray()
    naming = np.array([dense[inside].mean(axis=0) - _mean(dense[~inside]) for inside in own.T])
    return cosines, naming, own, _nearest(placed.others(others) @ centres.T) if others else None


def _nearest(cosines: Floats) -> Bools:
    found: Bools = np.arange(cosines.shape[1]) == cosines.argmax(axis=1)[:, None]
    return found


def _mean(rows: Floats) -> Floats:
    return rows.mean(axis=0) if len(rows) else np.zeros(rows.shape[1])


def unit(rows: Floats) -> Floats:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: Floats = rows / np.where(norms == 0, 1.0, norms)
    return scaled
