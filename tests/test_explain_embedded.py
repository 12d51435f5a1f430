"""Themes by sentence embeddings: the same in other words is one theme, and what has nothing in common is none."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import pytest

from recuse.explain.embedded import Placed, by_embeddings, clusters
from recuse.explain.themes import find_themes


def embed(texts: Sequence[str]) -> np.ndarray:
    """A word's direction is drawn from its first four letters, so that "study17" and "study3" mean the same; a text is
    the mean of its words, with a direction that all texts share."""

    def word(w: str) -> np.ndarray:
        seed = int.from_bytes(hashlib.sha256(w[:4].encode()).digest()[:4], "big")
        return np.random.default_rng(seed).standard_normal(48)

    rows = np.array([np.mean([word(w) for w in text.split()], axis=0) + 0.5 for text in texts])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def letters(i: int) -> str:
    return "".join("abcdefghij"[int(d)] for d in str(i))


def reworded(n: int, topics: Sequence[str], *, seed: int = 0) -> list[str]:
    """Texts that share no word: each word ends in letters of its own text."""
    rng = np.random.default_rng(seed)
    filler = ["good", "clear", "shown", "whole", "point", "matter", "seems", "found"]
    return [
        " ".join(f"{w}{letters(i)}" for w in [*rng.choice(filler, 4), *[topics[i % len(topics)]] * 4])
        for i in range(n)
    ]  # fmt: skip


GROUPS = [str(i) for i in range(90)]


def test_other_words_for_the_same_are_one_theme_where_words_alone_find_none() -> None:
    texts = reworded(90, ("study", "layout", "length"))
    assert find_themes(texts, GROUPS).themes == ()
    found = find_themes(texts, GROUPS, embed=embed)
    assert found.by == "embeddings"
    assert sorted(sorted(t.members) for t in found.themes) == [list(range(i, 90, 3)) for i in range(3)]
    assert (found.none, found.several) == (0, 0)
    for theme in found.themes:
        assert theme.share.estimate == pytest.approx(1 / 3)
        assert theme.words[0].startswith(("study", "layout", "length"))
    assert "coordinates" in found.criterion


def test_words_that_come_together_by_chance_make_no_theme() -> None:
    rng = np.random.default_rng(3)
    words = [f"{a}{b}{c}e" for a in "bdfgk" for b in "aeiou" for c in "lmnrs"]
    texts = [" ".join(map(str, rng.choice(words, 12))) for _ in range(90)]
    found = find_themes(texts, GROUPS, embed=embed)
    assert found.themes == ()
    assert found.reason == "the explanations fall into no themes that come back in halves"


def test_other_explanations_are_held_against_the_same_themes() -> None:
    texts = reworded(60, ("study", "layout"))
    right = reworded(60, ("layout", "layout", "layout", "study"), seed=5)
    found = find_themes(texts, GROUPS[:60], embed=embed, beside=right, beside_groups=[f"r{i}" for i in range(60)])
    study = next(t for t in found.themes if t.words[0].startswith("study"))
    assert study.beside is not None
    assert study.difference is not None
    assert study.beside.estimate == pytest.approx(0.25)
    assert study.difference.estimate == pytest.approx(0.25)


def test_clusters_are_those_of_the_nearest_directions_by_hand() -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = ["red apple", "red cherry", "blue sky", "blue sea"]
    vectors = np.array([[1.0, 0.1], [1.0, -0.1], [-1.0, 0.1], [-1.0, -0.1]])
    placed = Placed.of(texts, lambda asked: vectors[[texts.index(t) for t in asked]])
    np.testing.assert_allclose(placed.mean, [0.0, 0.0])
    _, centres = clusters(placed.directions, 2)
    np.testing.assert_allclose(np.abs(centres), [[1, 0], [1, 0]], atol=1e-9)
    tfidf = TfidfVectorizer().fit(texts)
    _, naming, own, besides = by_embeddings(placed, 2, tfidf.transform(texts), ["blue sea"])
    assert besides is not None
    names = tfidf.get_feature_names_out()
    for i in range(2):
        colour = "red" if own[0, i] else "blue"
        assert own[:, i].tolist() == [colour in t for t in texts]
        assert names[naming[i].argmax()] == colour
        assert besides[0, i] == (colour == "blue")
