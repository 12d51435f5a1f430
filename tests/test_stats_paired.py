"""The paired gap by template: by hand, against regression, published data, and the level and coverage it promises."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest

from recuse import stats

ROWS = {
    "values": [1, 0, 1, 1, 0, None, 1, 0.5, 0.2],
    "template": list("ppqqrrssp"),
    "group": list("ababababx"),
}


def test_gap_table_and_missing_values_by_hand() -> None:
    found = stats.paired_gap(**ROWS, a="a", b="b", name=list("ABABABABX"), bounds=(0, 1))
    # p: 1 - 0, q: 1 - 1, s: 1 - 0.5; r has no value in b.
    assert found.estimate == 0.5
    assert (found.n, found.groups, found.excluded) == (6, 3, ("r",))
    assert found.templates[0] == stats.TemplateGap("p", None, 1, 1, 1.0, 0.0, 1.0)
    assert found.templates[2] == stats.TemplateGap("r", None, 1, 0, 0.0, None, None)
    # Gaps 1, 0, 1/2: of the four sign patterns of the others two reach 3/2 on either side.
    assert found.pvalue == 0.5
    assert "exact for exchangeable arms; tests symmetry" in found.test
    # The missing value of r at 1: (1 + 0 - 1 + 0.5) / 4; at 0: (1 + 0 + 0 + 0.5) / 4.
    assert found.worst == (0.125, 0.375)
    assert found.worst_interval[0] < 0.125
    assert found.worst_interval[1] > 0.375
    assert (found.missing_a, found.missing_b) == (0, 1)
    assert (found.failures.rate_a, found.failures.rate_b, found.failures.estimate) == (0.0, 0.25, -0.25)
    assert found.names == (stats.NameMean("A", "a", 4, 0, 0.75), stats.NameMean("B", "b", 3, 1, 0.5))


def test_missing_values_may_be_masked_and_weights_enter_the_means() -> None:
    masked = np.ma.masked_array([1, 0, 1, 1, 0, 9, 1, 0.5, 0.2], mask=[0, 0, 0, 0, 0, 1, 0, 0, 0])
    same = {**ROWS, "values": masked}
    plain = stats.paired_gap(**ROWS, a="a", b="b", bounds=(0, 1))
    assert stats.paired_gap(**same, a="a", b="b", bounds=(0, 1)) == plain
    flag = {**ROWS, "values": [0 if v is None else v for v in ROWS["values"]]}
    missing = [v is None for v in ROWS["values"]]
    assert stats.paired_gap(**flag, a="a", b="b", bounds=(0, 1), missing=missing) == plain
    # Two rows of a: (3 * 1 + 1 * 0) / 4 - 0 = 3/4; the second template 0.
    found = stats.paired_gap(
        [1, 0, 0, 1, 1], template=[1, 1, 1, 2, 2], group=list("aabab"), a="a", b="b", weight=[3, 1, 1, 1, 1]
    )
    assert found.estimate == pytest.approx(3 / 8)


def test_resampled_gaps_are_kept_on_request() -> None:
    rng = np.random.default_rng(6)
    rows = {"template": np.repeat(np.arange(40), 2), "group": [0, 1] * 40, "a": 0, "b": 1, "resamples": 800}
    x = rng.normal(size=80)
    found = stats.paired_gap(x, **rows, keep=True)
    assert found.distribution.shape == (800,)
    assert found.distribution.mean() == pytest.approx(found.estimate, abs=0.05)
    assert found.distribution.std() == pytest.approx((x[::2] - x[1::2]).std() / math.sqrt(40), rel=0.1)
    assert stats.paired_gap(x, **rows).distribution is None


def test_strata_are_weighted_by_their_rows_by_hand() -> None:
    # Stratum H: gaps 1 (p) and 0 (q), mean 1/2, 4 rows; stratum L: gap -1 (p), 3 rows. (4 * 1/2 - 3 * 1) / 7.
    found = stats.paired_gap(
        [1, 0, 1, 1, 0, 1, 1], template=list("ppqqppp"), group=list("abababb"), stratum=list("HHHHLLL"), a="a", b="b"
    )
    assert found.estimate == pytest.approx((4 * 0.5 - 3 * 1) / 7)
    assert [(row.template, row.stratum, row.gap) for row in found.templates] == [
        ("p", "H", 1.0), ("q", "H", 0.0), ("p", "L", -1.0),
    ]  # fmt: skip
    assert found.groups == 2


def test_a_control_feature_removes_the_gap_that_it_explains() -> None:
    # Group a gets the strong CVs more often; within strength there is no gap.
    rng = np.random.default_rng(0)
    template, group = np.repeat(np.arange(150), 16), np.tile([0, 1], 1200)
    strong = rng.random(2400) < np.where(group == 0, 0.7, 0.3)
    x = (rng.random(2400) < 0.3 + 0.4 * strong).astype(float)
    naive = stats.paired_gap(x, template=template, group=group, a=0, b=1, bounds=(0, 1))
    held = stats.paired_gap(x, template=template, group=group, a=0, b=1, bounds=(0, 1), stratum=strong)
    assert naive.interval[0] > 0.05
    assert naive.pvalue < 1e-4
    assert held.interval[0] < 0 < held.interval[1]


def test_a_balanced_design_agrees_with_fixed_effects_regression_clustered_by_template() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(1)
    template, group = np.repeat(np.arange(100), 6), np.tile([1, 1, 1, 0, 0, 0], 100)
    x = rng.normal(size=100)[template] + (0.2 + 0.3 * rng.normal(size=100)[template]) * group + rng.normal(size=600)
    design = np.column_stack((group, template[:, None] == np.arange(100)))
    fit = sm.OLS(x, design.astype(float)).fit(cov_type="cluster", cov_kwds={"groups": template})
    found = stats.paired_gap(x, template=template, group=group, a=1, b=0)
    assert found.estimate == pytest.approx(fit.params[0], abs=1e-9)
    # The regression counts the templates' means as parameters (CR1): its errors are larger by sqrt(599 / 499).
    half = (fit.conf_int()[0, 1] - fit.conf_int()[0, 0]) / 2 / np.sqrt(599 / 499)
    assert (found.interval[1] - found.interval[0]) / 2 == pytest.approx(half, rel=0.06)
    gaps = [row.gap for row in found.templates]
    assert found.pvalue == stats.sign_flip_test(np.sort(gaps)).pvalue
    assert found.pvalue_bound == pytest.approx(found.pvalue, abs=0.01)


def test_row_order_and_kind_of_labels_change_nothing() -> None:
    rng = np.random.default_rng(2)
    template, group = rng.integers(0, 60, 500), rng.integers(0, 2, 500)
    x = rng.integers(0, 5, 500) / 4
    first = stats.paired_gap(x, template=template, group=group, a=0, b=1, bounds=(0, 1))
    order = rng.permutation(500)
    second = stats.paired_gap(
        x[order], template=[f"t{t}" for t in template[order]], group=["ab"[g] for g in group[order]], a="a", b="b",
        bounds=(0, 1),
    )  # fmt: skip
    for field in ("estimate", "interval", "pvalue", "pvalue_bound", "worst"):
        assert getattr(second, field) == pytest.approx(getattr(first, field), abs=1e-9)
    swapped = stats.paired_gap(x, template=template, group=group, a=1, b=0, bounds=(0, 1))
    assert swapped.estimate == pytest.approx(-first.estimate)
    assert swapped.pvalue == pytest.approx(first.pvalue, abs=0.01)  # sampled


def test_level_is_held_with_correlated_answers_where_the_pooled_test_fails() -> None:
    # Group effects vary by template around zero; repeats of one (template, group) are nearly one answer.
    from scipy.special import ndtr

    rng, runs, exact, bound, pooled = np.random.default_rng(3), 1000, 0, 0, 0
    template, group = np.repeat(np.arange(40), 10), np.tile([0, 1] * 5, 40)
    cell = 2 * template + group
    for run in range(runs):
        x = (rng.normal(size=80)[cell] + 0.5 * rng.normal(size=400) > 0).astype(float)
        found = stats.paired_gap(x, template=template, group=group, a=0, b=1, resamples=500, seed=run)
        exact += found.pvalue <= 0.05
        bound += found.pvalue_bound <= 0.05
        z = (x[group == 0].mean() - x[group == 1].mean()) / np.sqrt(x.var() / 100)
        pooled += 2 * ndtr(-abs(z)) <= 0.05
    assert stats.clopper_pearson(exact, runs, level=0.99).interval[0] <= 0.05
    assert stats.clopper_pearson(bound, runs, level=0.99).interval[0] <= 0.05
    assert pooled / runs > 0.2


def test_coverage_of_a_real_gap_is_95_percent() -> None:
    rng, runs, hits = np.random.default_rng(4), 1000, 0
    template, group = np.repeat(np.arange(60), 6), np.tile([0, 1] * 3, 60)
    for run in range(runs):
        rate = np.clip(0.5 + 0.3 * rng.uniform(-1, 1, size=60), 0, 1)[template] + 0.1 * (group == 0)
        x = (rng.random(360) < rate).astype(float)
        found = stats.paired_gap(x, template=template, group=group, a=0, b=1, bounds=(0, 1), resamples=500, seed=run)
        hits += found.interval[0] <= 0.1 <= found.interval[1]
    assert stats.clopper_pearson(hits, runs, level=0.99).interval[1] >= 0.95
    assert 0.93 <= hits / runs <= 0.97


def test_more_than_two_groups_are_compared_in_pairs_or_against_the_rest() -> None:
    rng = np.random.default_rng(5)
    template, group = np.repeat(np.arange(80), 9), np.tile(["w", "u", "v"], 240)
    x = (rng.random(720) < 0.4 + 0.2 * (group == "v")).astype(float)
    pairs = stats.paired_gaps(x, template=template, group=group, bounds=(0, 1))
    assert [(g.a, g.b) for g in pairs] == [("u", "v"), ("u", "w"), ("v", "w")]
    for gap in pairs:
        alone = stats.paired_gap(x, template=template, group=group, a=gap.a, b=gap.b, bounds=(0, 1))
        assert (gap.estimate, gap.interval, gap.pvalue) == (alone.estimate, alone.interval, alone.pvalue)
    assert [g.pvalue_adjusted for g in pairs] == stats.holm([g.pvalue for g in pairs]).tolist()
    rest = stats.paired_gaps(x, template=template, group=group, against="rest", bounds=(0, 1))
    assert [(g.a, g.b) for g in rest] == [("u", "rest"), ("v", "rest"), ("w", "rest")]
    # Balanced: v minus the rest is the mean of v - u and v - w.
    assert rest[1].estimate == pytest.approx((pairs[2].estimate - pairs[0].estimate) / 2)
    assert rest[1].pvalue_adjusted < 0.01
    # Two groups have one gap; tested twice it would count twice.
    two = stats.paired_gaps(x[group != "w"], template=template[group != "w"], group=group[group != "w"], against="rest")
    assert [(g.a, g.b, g.pvalue_adjusted == g.pvalue) for g in two] == [("u", "v", True)]
    mixed = stats.paired_gaps([1, 0, 1], template=[1, 1, 1], group=["a", 3, "z"], bounds=(0, 1))
    assert len(mixed) == 3


@pytest.mark.data
def test_bertrand_and_mullainathan_by_name(data_dir: Path) -> None:
    import statsmodels.api as sm

    with (data_dir / "bertrand_mullainathan" / "resume.csv").open() as file:
        rows = list(csv.DictReader(file))
    call, race, name = ([row[key] for row in rows] for key in ("call", "race", "firstname"))
    x = np.array(call, dtype=float)
    # Names are not crossed with race, so sex is the template here: white minus black within each sex.
    found = stats.paired_gap(
        x, template=[row["sex"] for row in rows], group=race, a="white", b="black", name=name, bounds=(0, 1)
    )
    counts = {g: (sum(m.n * m.mean for m in found.names if m.group == g), 2435) for g in ("white", "black")}
    assert counts["white"][0] == pytest.approx(235)
    assert counts["black"][0] == pytest.approx(157)
    assert sum(m.n for m in found.names if m.group == "white") == 2435
    assert len(found.names) == 36
    assert found.groups == 2
    # Two templates cannot say anything: the interval says so.
    assert found.interval[0] < 0 < found.interval[1]
    # With names as units, 18 in each group: the published gap is 3.2 points. Cluster-robust regression has t intervals.
    rates = {}
    for label, k in (("white", 235), ("black", 157)):
        rows = np.flatnonzero(np.array(race) == label)
        names = [name[row] for row in rows]
        rates[label] = stats.bootstrap_mean(x[rows], groups=names)
        fit = sm.OLS(x[rows], np.ones(2435)).fit(
            cov_type="cluster", cov_kwds={"groups": np.unique(names, return_inverse=True)[1]}, use_t=True
        )
        assert rates[label].estimate == pytest.approx(k / 2435)
        assert rates[label].groups == 18
        low, high = fit.conf_int()[0]
        # Fewer than 15 names differ effectively: the interval holds the regression's and is less than twice as wide.
        assert rates[label].interval[0] <= low + 1e-4
        assert rates[label].interval[1] >= high - 1e-4
        assert rates[label].interval[1] - rates[label].interval[0] <= 2 * (high - low)
    assert rates["white"].estimate - rates["black"].estimate == pytest.approx(0.032, abs=0.0005)


def test_degenerate_input_has_its_stated_answer() -> None:
    empty = stats.paired_gap([1, 0], template=["p", "p"], group=["a", "a"], a="a", b="b", bounds=(0, 1))
    assert (empty.estimate, empty.reason) == (None, "no rows in group 'b'")
    assert empty.failures.reason == "no rows in group 'b'"
    apart = stats.paired_gap([1, 0], template=["p", "q"], group=["a", "b"], a="a", b="b")
    assert (apart.reason, apart.excluded) == ("no template has values in both groups", ("p", "q"))
    nothing = stats.paired_gap([], template=[], group=[], a="a", b="b")
    assert nothing.estimate is None
    lost = stats.paired_gap([None, None], template=["p", "p"], group=["a", "b"], a="a", b="b", bounds=(0, 1))
    assert (lost.estimate, lost.worst) == (None, (-1.0, 1.0))
    zero = stats.paired_gap(
        [1, 1] * 40, template=np.repeat(np.arange(40), 2), group=[0, 1] * 40, a=0, b=1, bounds=(0, 1)
    )
    assert (zero.estimate, zero.pvalue) == (0.0, 1.0)
    assert zero.interval == pytest.approx((-(1 - 0.025 ** (1 / 40)), 1 - 0.025 ** (1 / 40)), abs=1e-8)
    one = stats.paired_gap([1, 0], template=["p", "p"], group=["a", "b"], a="a", b="b", bounds=(0, 1))
    assert (one.estimate, one.interval, one.pvalue) == (1.0, (-1.0, 1.0), 1.0)
    thirds = stats.paired_gap([0.1] * 6 + [0.0], template=[1] * 7, group=[0] * 6 + [1], a=0, b=1, bounds=(0, 0.1))
    assert thirds.estimate == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": [1.0, float("nan")]}, "None for a missing"),
        ({"values": [1.0, 2.0], "bounds": (0, 1)}, "not between"),
        ({"template": ["p"]}, "2 values and 1 templates"),
        ({"group": ["a"]}, "2 values and 1 groups"),
        ({"b": "a"}, "different groups"),
        ({"weight": [1, 0]}, "weight"),
        ({"weight": [1, 1e-200]}, "weight"),
        ({"bounds": (0, float("inf"))}, "bound must be a finite"),
        ({"values": [1.0, 1e200]}, "at most"),
        ({"values": ["1", "0"]}, "must be numbers"),
        ({"template": ["p", None]}, "templates has None at place 1"),
        ({"group": ["a", float("nan")]}, "groups has NaN at place 1"),
        ({"stratum": np.ma.masked_array([1, 2], mask=[0, 1])}, "strata has masked"),
        ({"missing": [True]}, "marks in missing"),
    ],
)
def test_wrong_input_is_refused(change: dict, message: str) -> None:
    fine = {"values": [1.0, 0.0], "template": ["p", "p"], "group": ["a", "b"], "a": "a", "b": "b"}
    assert stats.paired_gap(**fine).estimate == 1.0
    with pytest.raises(ValueError, match=message):
        stats.paired_gap(**{**fine, **change})
