"""A sound call of every public function of `recuse.stats`, and what its arguments are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from recuse import stats

X = [0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0]
Y = [1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
HALVES = [0.5, -0.5, 1.0, 0.0, 0.5, 1.0, -1.0, 0.5]
SIDE = [True, True, False, False, True, False, True, False]
GROUPS = ["b", "a", "b", "c", "d", "a", "c", "d"]  # unsorted
AB = ["x", "y", "x", "y", "x", "y", "x", "y"]
PAIRS = ["p", "p", "q", "q", "r", "r", "s", "s"]


POOR_NUMBERS = (0, 1, -1, 0.5, 1e-320, 1e-9, 1 - 1e-16, np.float32(0.25), np.int8(5), 10**15, 1e300)


@dataclass(frozen=True)
class Entry:
    """A sound call, and the names of its arguments by what they are."""

    call: dict[str, Any]
    columns: tuple[str, ...] = ()  # numbers by row
    marks: tuple[str, ...] = ()  # true or false by row
    labels: tuple[str, ...] = ()  # by row
    numbers: tuple[str, ...] = ()
    may_miss: tuple[str, ...] = ()  # columns and labels in which None and masked entries are missing values
    any_scale: bool = True  # columns may be of any size
    optional: tuple[str, ...] = ()  # numbers that may be None
    poor_numbers: tuple[Any, ...] = POOR_NUMBERS


def clustered(**more: Any) -> dict[str, Any]:
    return {"values": X, "groups": GROUPS, **more}


ENTRIES = {
    "benjamini_hochberg": Entry({"pvalues": [0.1, 0.02, 0.9]}, ("pvalues",), any_scale=False),
    "benjamini_yekutieli": Entry({"pvalues": [0.1, 0.02, 0.9]}, ("pvalues",), any_scale=False),
    "holm": Entry({"pvalues": [0.1, 0.02, 0.9]}, ("pvalues",), any_scale=False),
    "planned_adjustment": Entry(
        {"pvalues": [0.1, 0.02, 0.9], "primary": [True, False, False]}, ("pvalues",), ("primary",), any_scale=False
    ),
    "bootstrap_mean": Entry(clustered(), ("values",), (), ("groups",)),
    "clustered_mean": Entry(clustered(), ("values",), (), ("groups",), any_scale=False),
    "clustered_difference": Entry(clustered(stratum=SIDE), ("values",), ("stratum",), ("groups",), any_scale=False),
    "test_bound": Entry(clustered(bound=0.4), ("values",), (), ("groups",), ("bound",), any_scale=False),
    "test_difference_bound": Entry(
        clustered(stratum=SIDE, bound=0.1), ("values",), ("stratum",), ("groups",), ("bound",), any_scale=False
    ),
    "mean_interval": Entry(clustered(), ("values",), (), ("groups",)),
    "missing_bounds": Entry(
        clustered(bounds=(0, 1), missing=SIDE), ("values",), ("missing",), ("groups",),
        may_miss=("values",), any_scale=False,
    ),
    "failure_gap": Entry(
        {"missing": SIDE, "group": AB, "a": "x", "b": "y", "cluster": PAIRS}, (), ("missing",), ("group", "cluster")
    ),
    "completion_bounds": Entry(
        {
            "values": X,
            "statistic": lambda filled, rows: stats.clustered_mean(filled),
            "bounds": (0, 1),
            "missing": SIDE,
        },
        ("values",), ("missing",), may_miss=("values",), any_scale=False,
    ),
    "paired_gap": Entry(
        {
            "values": X, "template": PAIRS, "group": AB, "a": "x", "b": "y", "name": GROUPS,
            "weight": [1.0, 2.0] * 4, "stratum": PAIRS[::-1], "missing": [False] * 8, "resamples": 200,
        },
        ("values", "weight"), ("missing",), ("template", "group", "name", "stratum"), may_miss=("values",),
    ),
    "paired_gaps": Entry(
        {"values": X, "template": PAIRS, "group": AB, "name": GROUPS, "resamples": 200},
        ("values",), (), ("template", "group", "name"), may_miss=("values",),
    ),
    "sign_flip_test": Entry({"gaps": HALVES}, ("gaps",)),
    "studentised_flip_test": Entry({"gaps": HALVES, "sizes": [1, 2, 1, 2, 1, 2, 1, 2]}, ("gaps", "sizes")),
    "minimum_effect_test": Entry(clustered(minimum=0.1), ("values",), (), ("groups",), ("minimum",)),
    "stratified_difference": Entry(
        clustered(exposed=SIDE, strata=[1, 1, 1, 1, 2, 2, 2, 2]),
        ("values",), ("exposed",), ("groups", "strata"), any_scale=False,
    ),
    "test_stratified_bound": Entry(
        clustered(exposed=SIDE, strata=[1, 1, 1, 1, 2, 2, 2, 2], bound=0.1),
        ("values",), ("exposed",), ("groups", "strata"), ("bound",), any_scale=False,
    ),
    "risk_difference": Entry(clustered(exposed=SIDE), ("values",), ("exposed",), ("groups",), any_scale=False),
    "logistic": Entry(
        {"y": Y, "x": [0.1, 0.7, 0.3, 0.9, 0.2, 0.8, 0.4, 0.6], "groups": GROUPS}, ("y", "x"), (), ("groups",)
    ),
    "cohen_kappa": Entry(
        {"first": AB, "second": ["x", "y", "y", "y", "x", "y", "x", "x"], "groups": GROUPS},
        (), (), ("first", "second", "groups"), may_miss=("first", "second"),
    ),
    "gwet_ac1": Entry(
        {"first": AB, "second": ["x", "y", "y", "y", "x", "y", "x", "x"], "groups": GROUPS},
        (), (), ("first", "second", "groups"), may_miss=("first", "second"),
    ),
    "confusion_table": Entry({"first": AB, "second": PAIRS}, (), (), ("first", "second"), may_miss=("first", "second")),
    "fleiss_kappa": Entry(
        {"ratings": [["x", "y"], ["x", "x"], ["y", "y"]], "groups": ["b", "a", "b"]}, (), (), ("groups",)
    ),
    "krippendorff_alpha": Entry(
        {"ratings": [["x", "y"], ["x", "x"], ["y", None]], "groups": ["b", "a", "b"]}, (), (), ("groups",)
    ),
    "confidence_sequence": Entry(
        clustered(largest_group=2),
        ("values",), (), ("groups",), ("largest_group",), any_scale=False, optional=("largest_group",),
    ),
    "e_value": Entry(
        clustered(largest_group=2, null_mean=0.3),
        ("values",), (), ("groups",), ("largest_group", "null_mean"), any_scale=False, optional=("largest_group",),
    ),
    "clustered_impact_ratio": Entry(clustered(exposed=SIDE), ("values",), ("exposed",), ("groups",), any_scale=False),
    "impact_ratio_bounds": Entry(
        clustered(exposed=SIDE, missing=[False] * 8), ("values",), ("exposed", "missing"), ("groups",),
        may_miss=("values",), any_scale=False,
    ),
    "kappa_bounds": Entry(
        {"first": AB, "second": ["x", "y", "y", "y", "x", "y", "x", None], "groups": GROUPS},
        (), (), ("first", "second", "groups"), may_miss=("first", "second"),
    ),
    "kappa_change": Entry(
        {"before": AB, "after": ["x", "y", "y", "y", "x", "y", "x", "x"], "reference": PAIRS[::-1], "groups": GROUPS,
         "labels": ["x", "y", "p", "q", "r", "s"]},
        (), (), ("before", "after", "reference", "groups"), may_miss=("before", "after", "reference"),
    ),
    "reliability_curve": Entry(
        {"probabilities": [0.1, 0.7, 0.3, 0.9, 0.2, 0.8, 0.4, 0.6], "outcomes": Y}, ("probabilities", "outcomes"),
        any_scale=False,
    ),
    "expected_calibration_error": Entry(
        {"probabilities": [0.1, 0.7, 0.3, 0.9, 0.2, 0.8, 0.4, 0.6], "outcomes": Y, "groups": GROUPS, "resamples": 200},
        ("probabilities", "outcomes"), (), ("groups",), any_scale=False,
    ),
    "alarm_table": Entry(
        {"sizes": [50, 100], "slices": [2, 3], "rate": 0.5},
        numbers=("rate", "true_ratio", "ratio"), optional=("true_ratio",),
    ),
    "e_benjamini_hochberg": Entry({"e_values": [40.0, 1.0, 0.5]}, ("e_values",)),
    "e_lond": Entry({"e_values": [40.0, 1.0, 0.5]}, ("e_values",)),
    "predictive_pvalue": Entry(
        {"effect": 0.2, "se": 0.1, "sham_effects": [0.1, 0.0, 0.2], "sham_ses": [0.1, 0.2, 0.1]},
        ("sham_effects", "sham_ses"), numbers=("effect", "se"),
    ),
    "equivalence": Entry(
        {"interval": (0.1, 0.2), "low": -0.3, "high": 0.3}, numbers=("low", "high"), optional=("low", "high")
    ),
    "wilson_interval": Entry({"k": 3, "n": 10}, numbers=("k", "n")),
    "clopper_pearson": Entry({"k": 3, "n": 10}, numbers=("k", "n")),
    "mcnemar_exact": Entry({"b": 3, "c": 10}, numbers=("b", "c")),
    "two_proportion_test": Entry({"k1": 3, "n1": 10, "k2": 5, "n2": 12}, numbers=("k1", "n1", "k2", "n2")),
    "newcombe_difference": Entry({"k1": 3, "n1": 10, "k2": 5, "n2": 12}, numbers=("k1", "n1", "k2", "n2")),
    "newcombe_paired": Entry(
        {"both": 3, "only_first": 2, "only_second": 5, "neither": 12},
        numbers=("both", "only_first", "only_second", "neither"),
    ),
    "impact_ratio": Entry({"k": 3, "n": 10, "k_ref": 5, "n_ref": 12}, numbers=("k", "n", "k_ref", "n_ref")),
    "slice_table": Entry({"counts": {"a": (30, 100), "b": (50, 120)}}, numbers=("floor", "smallest")),
    "worst_slice_rule": Entry(
        {"k": [30.0, 50.0], "n": [100.0, 120.0]},
        ("k", "n"), numbers=("floor", "alpha", "smallest"), any_scale=False,
    ),
    "worst_slice_blocking": Entry(
        {"n": 100, "slices": 3, "rate": 0.5},
        numbers=("n", "slices", "rate", "true_ratio", "ratio"), optional=("true_ratio",),
    ),
    "four_fifths_false_alarms": Entry(
        {"n": 100, "slices": 3, "rate": 0.5},
        numbers=("n", "slices", "rate", "true_ratio", "ratio"), optional=("true_ratio",),
    ),
    "design_for_gap": Entry(
        {"gap": 0.1, "sd_template": 0.3},
        numbers=("gap", "sd_template", "sd_name", "sd_shared", "sd_seed", "templates", "names", "seeds", "cost_call",
                 "cost_template", "power"),
        optional=("templates", "names", "seeds"),
    ),
    "detectable_gap": Entry(
        {"templates": 40, "sd_template": 0.3},
        numbers=("templates", "sd_template", "sd_name", "sd_shared", "sd_seed", "names", "seeds", "power"),
    ),
    "labels_for_kappa": Entry(
        {"kappa": 0.6, "prevalence": 0.5, "half_width": 0.1},
        numbers=("kappa", "prevalence", "half_width", "power"), poor_numbers=(0, -1, 1, 1e300),
    ),
    "pairs_for_rate": Entry({"rate": 0.2, "half_width": 0.05}, numbers=("rate", "half_width", "power")),
    "pairs_needed": Entry(
        {"estimate": 0.2, "interval": (0.1, 0.3), "n": 100, "low": None, "high": 0.25},
        numbers=("estimate", "n", "low", "high", "max_factor"), optional=("low", "high"),
    ),
    "power_paired_gap": Entry(
        {"rate_a": 0.5, "rate_b": 0.3, "templates": 10, "runs": 5},
        numbers=("rate_a", "rate_b", "templates", "names", "seeds", "sd_template", "sd_gap", "sd_name", "runs"),
        poor_numbers=(0, -1, 0.5, 1e-320, np.float32(0.25), np.int8(5), 1e300),
    ),
}  # fmt: skip
