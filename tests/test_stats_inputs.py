"""Input in the forms that users have: numpy's small integers, pandas-like labels, marks that are none."""

from __future__ import annotations

import numpy as np
import pytest

from recuse import stats


def test_numpys_small_integers_count_as_whole_numbers_do() -> None:
    cases = [
        (stats.newcombe_paired, np.int64, (60000, 20000, 15000, 40000)),
        (stats.mcnemar_exact, np.uint8, (5, 15)),
        (stats.impact_ratio, np.uint8, (200, 255, 100, 250)),
        (stats.two_proportion_test, np.uint8, (200, 250, 100, 250)),
        (stats.wilson_interval, np.uint8, (200, 250)),
        (stats.clopper_pearson, np.uint8, (200, 255)),
    ]
    for function, kind, counts in cases:
        assert function(*map(kind, counts)) == function(*counts)  # type: ignore[operator]
    assert stats.mcnemar_exact(np.uint8(5), np.uint8(15)).estimate == -0.5


class Indexed(list[object]):
    """Like a pandas Series whose index runs backwards: `[i]` is by label, iteration by position."""

    def __getitem__(self, i):  # type: ignore[no-untyped-def]
        return list(self)[len(self) - 1 - i]

    def tolist(self) -> list[object]:
        return list(self)


def test_labels_are_read_by_position() -> None:
    values, templates, groups = [1.0, 0.0, 0.0, 0.0], ["one", "one", "two", "two"], ["x", "y", "x", "y"]
    plain = stats.paired_gap(values, template=templates, group=groups, a="x", b="y")
    indexed = stats.paired_gap(values, template=Indexed(templates), group=groups, a="x", b="y")
    assert [(t.template, t.gap) for t in plain.templates] == [("one", 1.0), ("two", 0.0)]
    assert [(t.template, t.gap) for t in indexed.templates] == [(t.template, t.gap) for t in plain.templates]


@pytest.mark.parametrize("marks", [["False", "True", "True"], [float("nan"), 0.0, 2.0], [0, 1, 2], [None, 1, 0]])
def test_marks_must_be_true_or_false(marks: list[object]) -> None:
    with pytest.raises(ValueError, match="true or false"):
        stats.planned_adjustment([0.01, 0.02, 0.03], marks)
    with pytest.raises(ValueError, match="true or false"):
        stats.stratified_difference([0.0, 1.0, 1.0], marks, strata=[1, 1, 1])


@pytest.mark.parametrize("resamples", [0, -5])
def test_a_number_of_resamples_must_be_positive(resamples: int) -> None:
    x = np.random.default_rng(1).normal(size=30)
    for call in (
        lambda: stats.sign_flip_test(x, resamples=resamples),
        lambda: stats.studentised_flip_test(x, sizes=np.arange(1, 31), resamples=resamples),
        lambda: stats.minimum_effect_test(x, minimum=0.1, resamples=resamples),
    ):
        with pytest.raises(ValueError, match="resamples"):
            call()


@pytest.mark.parametrize(
    "call", [lambda: stats.wilson_interval(1, float("inf")), lambda: stats.mcnemar_exact(float("inf"), 1)]
)  # type: ignore[arg-type]
def test_counts_must_be_finite(call) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match="finite"):
        call()


def test_no_tolerance_is_no_equivalence() -> None:
    with pytest.raises(ValueError, match="at least one end"):
        stats.equivalence((0.0, 1.0), low=None, high=None)


def test_a_masked_entry_of_a_list_is_missing_as_none_is() -> None:
    for values in ([0.5, np.ma.masked, 1.0], (0.5, np.ma.masked, 1.0), np.ma.array([0.5, 9, 1], mask=[0, 1, 0])):
        assert stats.missing_bounds(values, bounds=(0, 1)) == stats.missing_bounds([0.5, None, 1.0], bounds=(0, 1))
    with pytest.raises(ValueError, match="unequal length"):
        stats.missing_bounds([[0.5, 1.0], [0.5]], bounds=(0, 1))


def test_shapes_that_do_not_fit_together_are_named() -> None:
    with pytest.raises(ValueError, match=r"same slices, got shapes \(3,\) and \(2,\)"):
        stats.worst_slice_rule([1, 2, 3], [10, 10])
    with pytest.raises(ValueError, match="two numbers, got None"):
        stats.pairs_needed(0.1, None, 10, 0, 1)  # type: ignore[arg-type]


def test_the_same_seed_draws_the_same_and_none_is_no_seed() -> None:
    x = np.random.default_rng(0).normal(size=40)
    assert stats.sign_flip_test(x, seed=np.int64(3)) == stats.sign_flip_test(x, seed=3)
    with pytest.raises(ValueError, match="seed must be a whole number"):
        stats.bootstrap_mean(x, seed=None)  # type: ignore[arg-type]
