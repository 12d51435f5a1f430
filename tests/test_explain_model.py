"""The model of errors finds the feature that a judge goes by, tells it from what merely goes with it, and finds none in
a judge that errs at random."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from recuse.explain.features import differences, measured
from recuse.explain.model import error_model
from recuse.types import Pair


def pair(chosen: str, rejected: str, question: str = "Why is the sky blue?", reference: str | None = None) -> Pair:
    return Pair("p", question, chosen, rejected, "g", reference=reference)


LISTED = "1. Light scatters.\n2. Blue scatters most.\n- **So** it is blue."
SOURCED = "According to a study by Hall et al. (2019), see https://example.org [3]."
CODED = "Run this:\n```python\nprint('# blue')\n- 1\n```\n"


def test_features_by_hand() -> None:
    listed, sourced = measured(pair(LISTED, SOURCED))
    assert np.expm1([listed["lists"], listed["markup"], listed["sources"]]) == pytest.approx([3, 1, 0])
    assert np.expm1([sourced["lists"], sourced["markup"]]) == pytest.approx([0, 0])
    assert np.expm1(sourced["sources"]) == pytest.approx(6)  # according to, study by, et al, (2019), the address, [3]
    assert listed["length"] == pytest.approx(np.log(len(LISTED)))
    assert listed["coverage"] == pytest.approx(1 / 1)  # "blue" is the question's one word of more than three letters
    assert sourced["coverage"] == 0.0


def test_code_is_a_share_of_characters_and_no_list() -> None:
    coded, plain = measured(pair(CODED, "I cannot help with that."))
    assert 0.6 < coded["code"] < 0.9
    assert coded["lists"] == coded["markup"] == 0.0
    assert plain["declines"] == 1.0
    assert coded["declines"] == 0.0
    assert plain["first_person"] == pytest.approx(100 * 1 / 50)  # one of five words, over the least of fifty


def test_the_reference_counts_only_where_every_pair_has_one() -> None:
    with_one = pair("Light scatters.", "Water shines.", reference="Light scatters in air.")
    assert differences([with_one])["reference"] == [pytest.approx(1.0)]
    assert "reference" not in differences([with_one, pair("a", "b")])


def world(rng: np.random.Generator, n: int) -> tuple[dict[str, np.ndarray], list[str]]:
    """Features in groups of two, length and coverage correlated at 0.7."""
    length = rng.standard_normal(n)
    found = {
        "length": length,
        "coverage": 0.7 * length + np.sqrt(1 - 0.49) * rng.standard_normal(n),
        "lists": rng.standard_normal(n) * (rng.random(n) < 0.3),
        "sources": rng.standard_normal(n),
        "hedges": rng.standard_t(4, n),
    }
    return found, [f"g{i // 2}" for i in range(n)]


def errors(rng: np.random.Generator, z: np.ndarray) -> list[float]:
    """The mean of two orders, which share what is hard about a group."""
    hard = np.repeat(rng.standard_normal(len(z) // 2), 2)
    return list((rng.random((2, len(z))) < expit(z + 0.5 * hard)).mean(axis=0))


def test_longer_is_told_from_more_complete() -> None:
    rng = np.random.default_rng(1)
    features, groups = world(rng, 800)
    model = error_model(errors(rng, -0.5 + 0.9 * features["length"]), features, groups, level=0.95)
    pulls = {p.feature: p for p in model.pulls}
    assert [p.feature for p in model.pulls if p.found] == ["length"]
    assert pulls["coverage"].alone.interval[0] > 0.2  # type: ignore[index]  # alone it looks like a cause
    low, high = pulls["length"].beside.interval or (0.0, 0.0)
    assert low < 0.9 * features["length"].std() < high + 0.15  # the group's difficulty shrinks it a little
    assert pulls["length"].vif == pytest.approx(1 / (1 - 0.49), rel=0.2)
    assert pulls["coverage"].people_more == pytest.approx(0.5, abs=0.1)


def test_a_judge_that_errs_at_random_finds_none_more_often_than_the_level() -> None:
    """Independent features, so that Benjamini-Hochberg at 0.05 gives any finding in one of twenty runs."""
    rng, runs, alarms = np.random.default_rng(7), 300, 0
    for _ in range(runs):
        features, groups = world(rng, 240)
        model = error_model(errors(rng, np.full(240, -0.6)), features, groups, level=0.95)
        alarms += any(p.found for p in model.pulls)
    assert binom.cdf(alarms - 1, runs, 0.05) < 0.995  # not proven above the level


def test_features_that_cannot_be_told_apart_are_left_out_by_name() -> None:
    rng = np.random.default_rng(3)
    features, groups = world(rng, 400)
    features["reference"] = features["coverage"] + 0.05 * rng.standard_normal(400)
    features["code"] = np.r_[np.ones(4), np.zeros(396)]
    model = error_model(errors(rng, features["length"] - 0.5), features, groups, level=0.95)
    assert model.left_out["reference"].startswith("not told apart from coverage")
    assert model.left_out["code"] == "the answers differ in it in 4 pairs"


def test_few_errors_bear_few_features_and_none_at_all_gives_a_reason() -> None:
    rng = np.random.default_rng(4)
    features, groups = world(rng, 200)
    few = [float(i < 35) for i in range(200)]
    model = error_model(list(rng.permutation(few)), features, groups, level=0.95)
    assert [p.feature for p in model.pulls] == ["length", "coverage"]
    assert "more features than the errors can bear" in model.left_out["lists"]
    none = error_model([0.0] * 200, features, groups, level=0.95)
    assert none.reason == "too few errors for a model: 0 in 200 pairs"
    assert none.findings[0].estimate is None
