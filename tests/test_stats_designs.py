"""Designs for a gap: the cheapest by brute force, the power that runs of that size have, and the edges."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from recuse import stats


def error(parts: dict[str, float], templates: int, names: int, seeds: int) -> float:
    """The standard error of the mean gap, written out."""
    t, n, s, shared = (parts.get(f"sd_{what}", 0.0) for what in ("template", "name", "seed", "shared"))
    within = t**2 + 2 * n**2 / names + 2 * s**2 / (names * seeds)
    return math.sqrt(within / templates + 2 * shared**2 / names)


@pytest.mark.parametrize(
    ("parts", "cost_template"),
    [
        ({"sd_template": 0.3, "sd_seed": 0.5}, 20.0),
        ({"sd_template": 0.2, "sd_name": 0.3, "sd_seed": 0.2}, 12.0),
        ({"sd_template": 0.2, "sd_shared": 0.1, "sd_seed": 0.4}, 0.0),
    ],
)
def test_the_cheapest_of_all_designs_is_found(parts: dict[str, float], cost_template: float) -> None:
    from scipy.stats import nct, t

    def power(templates: int, names: int, seeds: int) -> float:
        df = min(templates - 1, 2 * names - 2) if "sd_shared" in parts else templates - 1
        cut, shift = t.ppf(0.975, df), 0.25 / error(parts, templates, names, seeds)
        return float(nct.sf(cut, df, shift) + nct.cdf(-cut, df, shift))

    costs = {}
    for names, seeds in itertools.product(range(2 if "sd_shared" in parts else 1, 14), range(1, 8)):
        low, high = 1, 200
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if power(middle, names, seeds) >= 0.8 else (middle, high)
        costs[high * (2 * names * seeds + cost_template), names, seeds] = high
    cheapest = min(costs)
    found = stats.design_for_gap(0.25, **parts, names=None, seeds=None, cost_template=cost_template)
    assert (found.cost, found.names, found.seeds) == cheapest
    assert found.templates == costs[cheapest]
    assert found.calls == 2 * found.templates * found.names * found.seeds
    assert found.power == pytest.approx(power(found.templates, found.names, found.seeds), abs=1e-6)


@pytest.mark.parametrize("what", ["templates", "names", "seeds"])
def test_any_of_the_three_is_solved_for(what: str) -> None:
    parts = {"sd_template": 0.1, "sd_name": 0.2, "sd_seed": 0.5}
    counts = {"templates": 60, "names": 3, "seeds": 2}
    found = stats.design_for_gap(0.12, **parts, **{**counts, what: None})
    solved = {name: getattr(found, name) for name in counts}
    assert {**solved, what: None} == {**counts, what: None}
    assert found.power >= 0.8
    fewer = stats.detectable_gap(**{**solved, what: solved[what] - 1}, **parts)
    assert fewer.gap > 0.12 >= stats.detectable_gap(**solved, **parts).gap


def test_templates_do_not_take_away_what_they_share_of_a_name() -> None:
    parts = {"sd_template": 0.2, "sd_shared": 0.1}
    # 10 names leave 0.1 sqrt(2 / 10) = 0.045 whatever the templates: a gap of 0.1 is out of reach.
    hidden = stats.design_for_gap(0.1, **parts, names=10)
    assert (hidden.templates, hidden.names) == (None, 10)
    assert "more names are needed" in hidden.reason
    assert stats.design_for_gap(0.1, **parts, names=None).names > 16  # 2 (0.1 * 2.8 / 0.1)^2
    assert stats.design_for_gap(0.1, sd_template=0.2, names=10).templates < 40


def test_crossed_probes_find_the_gap_as_often_as_promised() -> None:
    plan = stats.design_for_gap(0.5, sd_template=0.6, sd_shared=0.35, sd_seed=0.8, names=10)
    rng, runs, found = np.random.default_rng(0), 150, 0
    template, group, name = (place.ravel() for place in np.indices((plan.templates, 2, 10)))
    for _ in range(runs):
        gaps, shared = 0.5 + 0.6 * rng.normal(size=plan.templates), 0.35 * rng.normal(size=(2, 10))
        x = gaps[template] * (group == 0) + shared[group, name] + 0.8 * rng.normal(size=template.size)
        result = stats.paired_gap(x, template=template, group=group, name=name, a=0, b=1, resamples=200)
        found += result.across_names.pvalue <= 0.05
    low, high = stats.clopper_pearson(found, runs, level=0.99).interval
    assert low <= plan.power <= high


def test_designs_up_to_ten_million_templates_are_found() -> None:
    sd = 0.00095 / 2.801585  # the normal shift for power 0.8: 1.959964 + 0.841621
    found = stats.design_for_gap(0.00095, sd_template=sd * math.sqrt(9_000_000))
    assert found.templates == pytest.approx(9_000_000, rel=1e-5)
    assert stats.design_for_gap(0.00095, sd_template=sd * math.sqrt(11_000_000)).reason is not None
    assert stats.design_for_gap(1e-100, sd_template=1e150).templates is None
    assert stats.design_for_gap(1e100, sd_template=1e-150).templates == 2
    assert stats.design_for_gap(0.1, sd_template=1.0, power=0.01).templates == 2
    assert "too few templates" in stats.design_for_gap(0.05, sd_template=0.2, templates=100, seeds=None).reason


def test_what_cannot_be_is_refused() -> None:
    fine = {"sd_template": 0.2}
    for refused, match in (
        (lambda: stats.design_for_gap(0.1, **fine, templates=5), "leave one None"),
        (lambda: stats.design_for_gap(0.1, **fine, names=1.5), "whole number"),
        (lambda: stats.design_for_gap(0.1, **fine, names=float("inf")), "whole number"),
        (lambda: stats.design_for_gap(0.1, sd_template=1e200), "finite"),
        (lambda: stats.design_for_gap(0.1, sd_template=float("nan")), "finite"),
        (lambda: stats.design_for_gap(0.1, **fine, sd_shared=0.1), "one name"),
        (lambda: stats.design_for_gap(0.1, **fine, templates=1, seeds=None), "one template"),
        (lambda: stats.design_for_gap(0.1, **fine, cost_call=0.0), "costs"),
        (lambda: stats.detectable_gap(10, **fine, sd_shared=0.1), "name"),
        (lambda: stats.detectable_gap(10.5, **fine), "whole number"),
        (lambda: stats.power_paired_gap(0.5, 0.6, templates=10, names=1.5), "whole number"),
        (lambda: stats.power_paired_gap(0.5, 0.6, templates=10, sd_gap=float("inf")), "finite"),
    ):
        with pytest.raises(ValueError, match=match):
            refused()
