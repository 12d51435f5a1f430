"""The gap as a claim about further names: by hand, against regression clustered by name, and its level."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest

from recuse import stats


def probe(rng: np.random.Generator, templates: int, names: int, seeds: int, sd_name: float, sd_gap: float = 0.3):
    """Yes or no for templates crossed with names; on the log-odds scale names have effects, groups none."""
    template = np.repeat(np.arange(templates), 2 * names * seeds)
    name = np.tile(np.repeat(np.arange(2 * names), seeds), templates)
    group = name // names
    eta = rng.normal(size=templates)[template] + sd_gap * rng.normal(size=templates)[template] * (group - 0.5)
    eta = (
        eta + sd_name * rng.normal(size=2 * names)[name] + 0.2 * rng.normal(size=(templates, 2 * names))[template, name]
    )
    values = (rng.random(template.size) < 1 / (1 + np.exp(-eta))).astype(float)
    return values, {"template": template, "group": group, "name": name, "a": 0, "b": 1}


def hull(found: stats.PairedGap, low: float, high: float):
    """No narrower than the interval over templates."""
    return pytest.approx((min(low, found.interval[0]), max(high, found.interval[1])))


def test_two_way_variance_by_hand() -> None:
    # a: names A, B in templates 1, 2; b: C, D.   A 4 3, B 0 1, C 1 2, D 1 0: gaps 2 - 1 = 1 and 2 - 1 = 1.
    values = [4, 0, 1, 1, 3, 1, 2, 0]
    found = stats.paired_gap(
        values, template=[1] * 4 + [2] * 4, group=list("aabbaabb"), name=list("ABCDABCD"), a="a", b="b"
    ).across_names
    # Names' means 3.5, 0.5 and 1.5, 0.5: variances over names (4.5 + 0.5) / 2. Templates: 0. The intersection: of 4, 0
    # half 8, of 3, 1 half 2, of 1, 1 none, of 2, 0 half 2, over 2 * 2 templates: 12 / 2 / 4.
    error = math.sqrt(max(2.5, 2.5 - 12 / 2 / 4))
    assert (found.estimate, found.n, found.groups) == (1.0, 8, 4)
    assert "t, 1 degrees" in found.method
    reach = math.tan(math.pi * 0.475) * error  # t with one degree of freedom
    assert found.interval == pytest.approx((1 - reach, 1 + reach))
    assert found.pvalue == pytest.approx(1 - 2 / math.pi * math.atan(1 / error))


def test_two_way_variance_agrees_with_means_of_a_full_table() -> None:
    rng = np.random.default_rng(7)
    for names in (2, 5):
        table = rng.normal(size=(12, 2, names)) + 0.4 * rng.normal(size=(1, 2, names))
        template, group, name = (place.ravel() for place in np.indices(table.shape))
        found = stats.paired_gap(table.ravel(), template=template, group=group, name=name, a=0, b=1, resamples=50)
        gaps, own = table.mean(axis=2) @ [1, -1], table.mean(axis=0).var(axis=1, ddof=1)
        templates, by_name = gaps.var(ddof=1) / 12, own.sum() / names
        both = table.var(axis=2, ddof=1).sum() / names / 12**2
        error = math.sqrt(max(templates, by_name, templates + by_name - both))
        from scipy.stats import t

        reach = t.ppf(0.975, min(11, 2 * names - 2)) * error
        assert found.across_names.interval == hull(found, gaps.mean() - reach, gaps.mean() + reach)


def test_it_is_no_surer_than_the_claim_about_these_names() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        values, design = probe(rng, 25, 3, 1, 0.3)
        found = stats.paired_gap(values, **design, bounds=(0, 1), resamples=300)
        assert found.across_names.interval[0] <= found.interval[0]
        assert found.across_names.interval[1] >= found.interval[1]
        assert found.across_names.pvalue >= found.pvalue


def test_one_template_agrees_with_regression_clustered_by_name() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(1)
    name = np.repeat(np.arange(40), 25)
    group = name // 20
    x = 0.3 * rng.normal(size=40)[name] + rng.normal(size=1000) + 0.2 * (group == 1)
    found = stats.paired_gap(x, template=[0] * 1000, group=group, name=name, a=1, b=0).across_names
    fit = sm.OLS(x, sm.add_constant(group.astype(float))).fit(cov_type="cluster", cov_kwds={"groups": name})
    # They multiply by 40 / 39 * 999 / 998, we by 20 / 19 in each group.
    error = fit.bse[1] / math.sqrt(40 / 39 * 999 / 998) * math.sqrt(20 / 19)
    from scipy.stats import t

    reach = t.ppf(0.975, 38) * error
    assert found.interval == pytest.approx((fit.params[1] - reach, fit.params[1] + reach))
    assert found.pvalue == pytest.approx(2 * t.sf(abs(fit.params[1]) / error, 38))


def test_without_effects_of_names_or_their_scatter_it_is_the_interval_over_templates() -> None:
    # Each name answers as the others of its group do.
    rng = np.random.default_rng(2)
    cell = rng.normal(size=(30, 2))
    template, group, name = np.repeat(np.arange(30), 8), np.tile(np.repeat([0, 1], 4), 30), np.tile(np.arange(8), 30)
    found = stats.paired_gap(cell[template, group], template=template, group=group, name=name, a=0, b=1)
    gaps = cell[:, 0] - cell[:, 1]
    from scipy.stats import t

    reach = t.ppf(0.975, 6) * gaps.std(ddof=1) / math.sqrt(30)
    assert found.across_names.interval == hull(found, gaps.mean() - reach, gaps.mean() + reach)


@pytest.mark.parametrize(("templates", "names", "seeds"), [(40, 2, 2), (30, 8, 1)])
def test_level_holds_where_two_names_stand_for_a_group(templates: int, names: int, seeds: int) -> None:
    rng, runs, fixed, further = np.random.default_rng(3), 300, 0, 0
    for run in range(runs):
        values, design = probe(rng, templates, names, seeds, 0.5)
        found = stats.paired_gap(values, **design, bounds=(0, 1), resamples=200, seed=run)
        fixed += found.pvalue <= 0.05
        further += found.across_names.pvalue <= 0.05
    assert fixed / runs > 0.12
    assert stats.clopper_pearson(further, runs, level=0.99).interval[0] <= 0.05


def test_level_and_coverage_where_names_are_the_units() -> None:
    rng, runs, hits = np.random.default_rng(4), 1000, 0
    name = np.repeat(np.arange(24), 20)
    for _ in range(runs):
        eta = 0.5 * rng.normal(size=24)[name]
        x = (rng.random(480) < 1 / (1 + np.exp(-eta))).astype(float)
        found = stats.paired_gap(
            x, template=[0] * 480, group=name // 12, name=name, a=0, b=1, bounds=(0, 1), resamples=1
        ).across_names
        hits += found.interval[0] <= 0 <= found.interval[1]
    low, high = stats.clopper_pearson(hits, runs, level=0.99).interval
    assert low <= 0.95 <= high


def test_a_gap_is_found_with_enough_names() -> None:
    rng, found = np.random.default_rng(5), 0
    for _ in range(40):
        values, design = probe(rng, 40, 15, 1, 0.3)
        shifted = np.where((design["group"] == 0) & (rng.random(values.size) < 0.3), 1.0, values)
        found += stats.paired_gap(shifted, **design, bounds=(0, 1), resamples=200).across_names.pvalue <= 0.05
    assert found >= 34


@pytest.mark.data
def test_bertrand_and_mullainathan_with_names_as_units(data_dir: Path) -> None:
    import statsmodels.api as sm

    with (data_dir / "bertrand_mullainathan" / "resume.csv").open() as file:
        rows = list(csv.DictReader(file))
    x = np.array([float(row["call"]) for row in rows])
    race, name = ([row[key] for row in rows] for key in ("race", "firstname"))
    found = stats.paired_gap(
        x, template=["all"] * x.size, group=race, name=name, a="white", b="black", bounds=(0, 1)
    ).across_names
    white = np.array(race) == "white"
    fit = sm.OLS(x, sm.add_constant(white.astype(float))).fit(
        cov_type="cluster", cov_kwds={"groups": np.unique(name, return_inverse=True)[1]}, use_t=True
    )
    assert found.estimate == pytest.approx((235 - 157) / 2435)
    assert found.groups == 36
    # 18 / 17 in each group for their 36 / 35, and 34 degrees of freedom for their 35.
    assert found.interval == pytest.approx(fit.conf_int()[1], abs=3e-4)
    assert found.pvalue == pytest.approx(fit.pvalues[1], rel=0.25)
    assert found.pvalue < 0.001


def test_degenerate_names_have_their_stated_answer() -> None:
    values, template, group = [1, 0, 1, 1, 0, 0, 1, 0], [1] * 4 + [2] * 4, list("aabbaabb")

    def further(**change: object) -> stats.Estimate | None:
        rows = {"values": values, "template": template, "group": group, "name": list("ABCDABCD"), **change}
        return stats.paired_gap(rows.pop("values"), **rows, a="a", b="b", bounds=(0, 1)).across_names

    one = further(name=list("AACDAACD"))
    assert (one.interval, one.pvalue, one.reason) == (None, None, "one name in a group says nothing about other names")
    assert one.estimate == -0.5
    equal = further(values=[1] * 8)
    assert (equal.estimate, equal.interval, equal.reason) == (0.0, None, "no scatter between names or templates")
    assert further(name=None) is None
    assert further(values=[1, 0, None, None, 0, 0, None, None]) is None  # no gap at all
    for scale in (1e-140, 1e140):
        rows = {"template": template, "group": group, "name": list("ABCDABCD"), "a": "a", "b": "b"}
        plain = stats.paired_gap(values, **rows).across_names
        scaled = stats.paired_gap(np.array(values) * scale, **rows).across_names
        assert scaled.interval == pytest.approx((plain.interval[0] * scale, plain.interval[1] * scale))
    with pytest.raises(ValueError, match="names has None at place 2"):
        further(name=["A", "B", None, "D"] * 2)
