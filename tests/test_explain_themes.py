"""Themes are those that were put into the explanations, as many as there are, and none where there are none."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from recuse.explain.themes import excerpt, find_themes

FILLER = """
overall judge looked written found convincing because seems clear helpful useful relevant whole part case point view
matter detail task user request fact claim passage wording
""".split()  # noqa: SIM905
TOPICS = [
    ["cites", "study", "harvard", "researchers", "source", "reference"],
    ["longer", "length", "detailed", "thorough", "extensive", "elaborate"],
    ["bullet", "list", "formatted", "headings", "structure", "layout"],
    ["confident", "certainty", "tone", "assured", "firmly", "decisive"],
]


def written(rng: np.random.Generator, topics: list[int]) -> str:
    words = [*rng.choice(FILLER, 25), *(w for t in topics for w in rng.choice(TOPICS[t], 4))]
    return " ".join(map(str, rng.permutation(words)))


def corpus(seed: int, n: int, k: int, *, both: float = 0.0) -> tuple[list[str], list[list[int]]]:
    rng = np.random.default_rng(seed)
    topics = [[i % k] + ([(i + 1) % k] if rng.random() < both else []) for i in range(n)]
    return [written(rng, of) for of in topics], topics


@pytest.mark.parametrize("k", [2, 3, 4])
def test_as_many_themes_as_were_put_in_and_the_right_ones(k: int) -> None:
    texts, topics = corpus(k, 90, k)
    found = find_themes(texts, [str(i) for i in range(90)])
    assert len(found.themes) == k
    truth = [{i for i, of in enumerate(topics) if t in of} for t in range(k)]
    members = [set(theme.members) for theme in found.themes]
    best = max(sum(len(a & b) for a, b in zip(truth, order, strict=True)) for order in permutations(members))
    assert best / 90 > 0.9
    for theme in found.themes:
        topical = [t for word in theme.words for t in range(4) if word in TOPICS[t]]
        assert len(set(topical)) == 1
        assert len(topical) >= 5


def test_shares_overlap_where_texts_carry_two_themes() -> None:
    texts, topics = corpus(9, 120, 3, both=0.5)
    found = find_themes(texts, [str(i) for i in range(120)])
    true_sum = sum(len(of) for of in topics) / 120
    assert len(found.themes) == 3
    assert sum(t.share.estimate or 0.0 for t in found.themes) == pytest.approx(true_sum, abs=0.15)
    assert found.several == pytest.approx(sum(len(of) > 1 for of in topics), abs=20)


def test_words_that_do_not_go_together_make_no_theme() -> None:
    rng = np.random.default_rng(5)
    words = FILLER + [w for topic in TOPICS for w in topic]
    texts = [" ".join(map(str, rng.choice(words, 30))) for _ in range(60)]
    found = find_themes(texts, [str(i) for i in range(60)])
    assert found.themes == ()
    assert found.reason == "the explanations fall into no themes that come back in halves"


def test_a_theme_of_errors_is_held_against_right_verdicts() -> None:
    """Half of the errors speak of sources and half of length; of the right verdicts one in ten speaks of sources."""
    texts, _ = corpus(11, 100, 2)
    rng = np.random.default_rng(12)
    right = [written(rng, [0] if i % 10 == 0 else [1]) for i in range(100)]
    found = find_themes(texts, [f"e{i}" for i in range(100)], beside=right, beside_groups=[f"r{i}" for i in range(100)])
    sources = next(t for t in found.themes if t.words[0] in TOPICS[0])
    assert sources.beside is not None
    assert sources.difference is not None
    assert sources.beside.estimate == pytest.approx(0.1, abs=0.08)
    assert sources.difference.interval[0] > 0.2  # type: ignore[index]


def test_the_subject_of_the_questions_is_no_theme() -> None:
    """Two subjects, named again and again, would part the texts; without them nothing does."""
    rng = np.random.default_rng(6)
    subjects = [frozenset({"volcano", "lava", "crater"}), frozenset({"sonnet", "rhyme", "verse"})]
    own = [subjects[i % 2] for i in range(100)]
    texts = [" ".join(map(str, rng.permutation([*rng.choice(FILLER, 25), *rng.choice(sorted(of), 4)]))) for of in own]
    groups = [str(i) for i in range(100)]
    assert len(find_themes(texts, groups).themes) == 2
    assert find_themes(texts, groups, subjects=own).themes == ()


def test_too_few_or_empty_explanations_give_a_reason() -> None:
    assert find_themes(["one two three"] * 5, list("abcde")).reason == "5 explanations are too few for themes"
    assert find_themes(["the and of"] * 20, [str(i) for i in range(20)]).reason is not None


def test_an_excerpt_is_the_sentence_with_most_of_the_words() -> None:
    said = "Output (a) is fine. It cites a study of Harvard! Nothing else."
    assert excerpt(said, ["study", "harvard"]) == "It cites a study of Harvard!"
