"""Fleiss' kappa and Krippendorff's alpha: by hand, published figures, other libraries, and coverage."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from recuse import stats

METRICS = ["nominal", "ordinal", "interval"]

# Krippendorff (2011), "Computing Krippendorff's alpha-reliability", example C: four observers, twelve units.
EXAMPLE = [
    [1, 1, None, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2], [1, 2, 3, 4],
    [4, 4, 4, 4], [1, 1, 2, 1], [2, 2, 2, 2], [None, 5, 5, 5], [None, None, 1, 1], [None, None, 3, None],
]  # fmt: skip

# Fleiss (1971): 14 raters in all, ten units, five categories (the table of its well-known worked example).
COUNTS = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip


def test_published_examples() -> None:
    for metric, alpha in (("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)):
        result = stats.krippendorff_alpha(EXAMPLE, metric=metric)
        assert result.estimate == pytest.approx(alpha, abs=5e-4)
        assert (result.n, result.missing) == (11, 1)
    fleiss = stats.fleiss_kappa(COUNTS, counts=True)
    assert fleiss.estimate == pytest.approx(0.210, abs=5e-4)
    assert (fleiss.observed, fleiss.expected) == pytest.approx((0.378, 0.213), abs=5e-4)


def test_two_units_by_hand() -> None:
    # AA and AB: Fleiss observed 1/2, shares 3/4 and 1/4, expected 10/16. Alpha: expected disagreement 6/16 * 4/3.
    assert stats.fleiss_kappa([["A", "A"], ["A", "B"]]).estimate == pytest.approx((0.5 - 0.625) / 0.375)
    alpha = stats.krippendorff_alpha([["A", "A"], ["A", "B"]])
    assert alpha.estimate == pytest.approx(1 - 0.5 / 0.5)
    assert alpha.prevalence == {"A": 0.75, "B": 0.25}


def noisy(rng: np.random.Generator, units: int, raters: int, shares: list[float], share_true: float) -> np.ndarray:
    labels = len(shares)
    truth = rng.choice(labels, units, p=shares)[:, None]
    return np.where(rng.random((units, raters)) < share_true, truth, rng.choice(labels, (units, raters), p=shares))


def test_fleiss_agrees_with_statsmodels() -> None:
    from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

    ratings = noisy(np.random.default_rng(1), 150, 5, [0.5, 0.3, 0.2], 0.6)
    table, _ = aggregate_raters(ratings)
    assert stats.fleiss_kappa(ratings).estimate == pytest.approx(fleiss_kappa(table))
    assert stats.fleiss_kappa(table, counts=True).interval == pytest.approx(stats.fleiss_kappa(ratings).interval)


@pytest.mark.parametrize("metric", METRICS)
def test_alpha_agrees_with_the_krippendorff_package(metric: str) -> None:
    krippendorff = pytest.importorskip("krippendorff")
    rng = np.random.default_rng(2)
    ratings = noisy(rng, 200, 6, [0.1, 0.2, 0.3, 0.25, 0.15], 0.5).astype(float) ** 1.5
    ratings[rng.random(ratings.shape) < 0.4] = np.nan
    expected = krippendorff.alpha(ratings.T, level_of_measurement=metric)
    assert stats.krippendorff_alpha(ratings, metric=metric).estimate == pytest.approx(expected)


def test_interval_agrees_with_the_jackknife_on_large_samples() -> None:
    ratings = noisy(np.random.default_rng(3), 1500, 4, [0.5, 0.3, 0.2], 0.6)
    for statistic in (stats.fleiss_kappa, stats.krippendorff_alpha):
        result = statistic(ratings)
        blocks = np.array([statistic(np.delete(ratings, np.s_[i::100], axis=0)).estimate for i in range(100)])
        error = np.sqrt(99 / 100 * ((blocks - blocks.mean()) ** 2).sum())
        # A hundred blocks know the standard error to some 7 %.
        assert (result.interval[1] - result.interval[0]) / (2 * 1.96 * error) == pytest.approx(1.0, abs=0.25)


@pytest.mark.data
def test_pandalm_people_agree_as_their_pairwise_kappas_say(data_dir: Path) -> None:
    with gzip.open(data_dir / "pandalm" / "testset_999_three_annotators.jsonl.gz", "rt") as file:
        rows = [[row[f"annotator{i}"] for i in (1, 2, 3)] for row in map(json.loads, file)]
    fleiss, alpha = stats.fleiss_kappa(rows), stats.krippendorff_alpha(rows)
    assert fleiss.estimate == pytest.approx((0.852 + 0.879 + 0.862) / 3, abs=0.001)
    # With n ratings alpha is kappa with one part in n more.
    assert 1 - alpha.estimate == pytest.approx((1 - fleiss.estimate) * (1 - 1 / 2997))


@pytest.mark.data
def test_newsroom_ratings_agree_with_the_krippendorff_package(data_dir: Path) -> None:
    krippendorff = pytest.importorskip("krippendorff")
    with gzip.open(data_dir / "judge_bench_multiannotator" / "newsroom.jsonl.gz", "rt") as file:
        rows = [json.loads(line)["annotations"] for line in file]
    for metric in rows[0]:
        ratings = [row[metric]["individual_human_scores"] for row in rows]
        alpha = stats.krippendorff_alpha(ratings, metric="ordinal")
        expected = krippendorff.alpha(np.array(ratings, dtype=float).T, level_of_measurement="ordinal")
        assert alpha.estimate == pytest.approx(expected)
        assert alpha.interval[0] < alpha.estimate < alpha.interval[1]


@pytest.mark.parametrize(
    ("shares", "share_true", "n"), [([0.5, 0.5], 0.5, 50), ([0.9, 0.1], 0.8, 50), ([0.1, 0.1, 0.2, 0.3, 0.3], 0.8, 100)]
)
def test_intervals_cover_95_percent(shares: list[float], share_true: float, n: int) -> None:
    rng, runs = np.random.default_rng(5), 1000
    # Two raters agree on a share-true squared of the units beyond chance: that is kappa, and nominal alpha.
    truth = {"fleiss": share_true**2, "nominal": share_true**2, "interval": share_true**2}
    covered = dict.fromkeys(truth, 0)
    for _ in range(runs):
        ratings = noisy(rng, n, 4, shares, share_true).astype(float)
        with_gaps = np.where(rng.random(ratings.shape) < 0.2, np.nan, ratings)
        results = {
            "fleiss": stats.fleiss_kappa(ratings),
            "nominal": stats.krippendorff_alpha(with_gaps),
            "interval": stats.krippendorff_alpha(with_gaps, metric="interval"),
        }
        for name, result in results.items():
            covered[name] += result.interval is not None and result.interval[0] <= truth[name] <= result.interval[1]
    for count in covered.values():
        assert stats.clopper_pearson(count, runs, level=0.99).interval[1] >= 0.95


def test_groups_are_the_units_of_the_interval() -> None:
    ratings = noisy(np.random.default_rng(6), 100, 3, [0.6, 0.4], 0.7)
    once = stats.krippendorff_alpha(ratings)
    double = stats.fleiss_kappa(np.repeat(ratings, 2, axis=0), groups=np.repeat(np.arange(100), 2))
    assert double.interval == pytest.approx(stats.fleiss_kappa(ratings).interval, abs=1e-12)
    assert (once.groups, double.n, double.groups) == (100, 200, 100)
    assert stats.fleiss_kappa(ratings, groups=["q"] * 100).interval is None


def test_units_of_unlike_numbers_of_ratings() -> None:
    # Agreement of the units 1, 1/3 and 1; shares of A 1, 1/3, 0: observed 7/9, expected (4/9)^2 + (5/9)^2.
    result = stats.fleiss_kappa([["A", "A"], ["A", "B", "B"], ["B", "B"], ["A"], [None, "A"]])
    expected = (16 + 25) / 81
    assert result.estimate == pytest.approx((7 / 9 - expected) / (1 - expected))
    assert (result.n, result.missing) == (3, 2)


@pytest.mark.parametrize("metric", METRICS)
def test_nothing_to_disagree_on_is_none_where_the_references_fail(metric: str) -> None:
    # The krippendorff package raises, statsmodels warns and returns NaN.
    krippendorff = pytest.importorskip("krippendorff")
    with pytest.raises(ValueError, match="more than one value"):
        krippendorff.alpha(np.ones((3, 5)), level_of_measurement=metric)
    for result in (stats.krippendorff_alpha(np.ones((5, 3)), metric=metric), stats.fleiss_kappa(np.ones((5, 3)))):
        assert (result.estimate, result.interval, result.constant) == (None, None, True)
        assert result.reason == "undefined (0/0): every rating is 1.0"
        assert result.observed == 1
    for empty in ([], [[None, 1]], [[1], [2]]):
        result = stats.krippendorff_alpha(empty, metric=metric)
        assert (result.estimate, result.n, result.reason) == (None, 0, "no unit has two ratings")
        assert result.missing == len(empty)


def test_order_of_words_is_asked_for_and_used() -> None:
    words = [["bad", "bad"], ["bad", "fair"], ["good", "good"], ["fair", "good"]]
    numbers = [[0, 0], [0, 1], [2, 2], [1, 2]]
    for metric in ("ordinal", "interval"):
        with pytest.raises(ValueError, match="need their order"):
            stats.krippendorff_alpha(words, metric=metric)
        named = stats.krippendorff_alpha(words, metric=metric, labels=["bad", "fair", "good"])
        assert named.estimate == pytest.approx(stats.krippendorff_alpha(numbers, metric=metric).estimate)
    with pytest.raises(ValueError, match="nominal, ordinal or interval"):
        stats.krippendorff_alpha(numbers, metric="ratio")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="2 columns of counts and 3 labels"):
        stats.fleiss_kappa([[1, 2]], counts=True, labels=["A", "B", "C"])


@pytest.mark.parametrize(
    "counts",
    [
        [[1.5, 2]],
        [[-1, 2]],
        [[1, float("inf")]],
        [[1, float("nan")]],
        [[1e17, 1]],
        [["1", "2"]],
        [[1, 2], [3]],
        [1, 2],
        np.ma.array([[1, 2]], mask=[[True, False]]),
    ],
)
def test_counts_of_labels_must_be_whole_and_there(counts: object) -> None:
    with pytest.raises(ValueError, match="counts must be whole numbers"):
        stats.fleiss_kappa(counts, counts=True)  # type: ignore[arg-type]


def test_masked_ratings_are_missing_and_wrong_ones_refused() -> None:
    masked = np.ma.array([[1, 2], [2, 2], [1, 1]], mask=[[False, True], [False, False], [False, False]])
    for statistic in (stats.fleiss_kappa, stats.krippendorff_alpha):
        result = statistic(masked)
        assert (result.estimate, result.missing) == (statistic([[1, None], [2, 2], [1, 1]]).estimate, 1)
        with pytest.raises(ValueError, match="one a place"):
            statistic([1, 2, 3])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="must be finite"):
        stats.krippendorff_alpha([[1, float("inf")], [2, 2]], metric="interval")
    with pytest.raises(ValueError, match="differ from each other"):
        stats.fleiss_kappa([[1, 2]], counts=True, labels=["A", "A"])
