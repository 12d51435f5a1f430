"""Estimates, intervals and tests on which every finding rests; knows nothing of judges, prompts or files.

Functions take the data first and the rest by keyword, and return frozen results. Degenerate input gives the estimate
None with a reason, wrong input a ValueError; never NaN.
"""

from recuse.stats.agreement import ConfusionTable, cohen_kappa, confusion_table, gwet_ac1
from recuse.stats.alarms import AlarmRate, AlarmTable, alarm_table, four_fifths_false_alarms, worst_slice_blocking
from recuse.stats.bootstrap import BootstrapEstimate, bootstrap_mean
from recuse.stats.cells import NameMean, TemplateGap
from recuse.stats.chance import Agreement, Shares
from recuse.stats.clustered import clustered_mean, test_bound
from recuse.stats.completions import impact_ratio_bounds, kappa_bounds
from recuse.stats.designs import Design, design_for_gap, detectable_gap
from recuse.stats.difference import clustered_difference, test_difference_bound
from recuse.stats.equivalence import Outcome, equivalence
from recuse.stats.kappa_change import kappa_change
from recuse.stats.labels import labels_for_kappa
from recuse.stats.location import mean_interval
from recuse.stats.logistic import LogisticFit, logistic
from recuse.stats.missing import FailureGap, MissingBounds, completion_bounds, failure_gap, missing_bounds
from recuse.stats.multiplicity import (
    Adjusted,
    Rejections,
    benjamini_hochberg,
    benjamini_yekutieli,
    holm,
    planned_adjustment,
)
from recuse.stats.paired import PairedGap, paired_gap, paired_gaps
from recuse.stats.planning import Plan, pairs_for_rate, power_paired_gap
from recuse.stats.power import pairs_needed
from recuse.stats.proportions import (
    clopper_pearson,
    mcnemar_exact,
    newcombe_difference,
    newcombe_paired,
    two_proportion_test,
    wilson_interval,
)
from recuse.stats.raters import fleiss_kappa, krippendorff_alpha
from recuse.stats.rates import clustered_impact_ratio, impact_ratio, risk_difference
from recuse.stats.reliability import ReliabilityBin, expected_calibration_error, reliability_curve
from recuse.stats.results import Estimate, TestResult
from recuse.stats.sequential import (
    ConfidenceSequence,
    EValue,
    confidence_sequence,
    e_benjamini_hochberg,
    e_lond,
    e_value,
)
from recuse.stats.shams import Prediction, predictive_pvalue
from recuse.stats.signflip import sign_flip_test
from recuse.stats.slices import SliceRate, slice_table, worst_slice_rule
from recuse.stats.stratified import stratified_difference, test_stratified_bound
from recuse.stats.studentised import minimum_effect_test, studentised_flip_test

__all__ = [
    "Adjusted",
    "Agreement",
    "AlarmRate",
    "AlarmTable",
    "BootstrapEstimate",
    "ConfidenceSequence",
    "ConfusionTable",
    "Design",
    "EValue",
    "Estimate",
    "FailureGap",
    "LogisticFit",
    "MissingBounds",
    "NameMean",
    "Outcome",
    "PairedGap",
    "Plan",
    "Prediction",
    "Rejections",
    "ReliabilityBin",
    "Shares",
    "SliceRate",
    "TemplateGap",
    "TestResult",
    "alarm_table",
    "benjamini_hochberg",
    "benjamini_yekutieli",
    "bootstrap_mean",
    "clopper_pearson",
    "clustered_difference",
    "clustered_impact_ratio",
    "clustered_mean",
    "cohen_kappa",
    "completion_bounds",
    "confidence_sequence",
    "confusion_table",
    "design_for_gap",
    "detectable_gap",
    "e_benjamini_hochberg",
    "e_lond",
    "e_value",
    "equivalence",
    "expected_calibration_error",
    "failure_gap",
    "fleiss_kappa",
    "four_fifths_false_alarms",
    "gwet_ac1",
    "holm",
    "impact_ratio",
    "impact_ratio_bounds",
    "kappa_bounds",
    "kappa_change",
    "krippendorff_alpha",
    "labels_for_kappa",
    "logistic",
    "mcnemar_exact",
    "mean_interval",
    "minimum_effect_test",
    "missing_bounds",
    "newcombe_difference",
    "newcombe_paired",
    "paired_gap",
    "paired_gaps",
    "pairs_for_rate",
    "pairs_needed",
    "planned_adjustment",
    "power_paired_gap",
    "predictive_pvalue",
    "reliability_curve",
    "risk_difference",
    "sign_flip_test",
    "slice_table",
    "stratified_difference",
    "studentised_flip_test",
    "test_bound",
    "test_difference_bound",
    "test_stratified_bound",
    "two_proportion_test",
    "wilson_interval",
    "worst_slice_blocking",
    "worst_slice_rule",
]
