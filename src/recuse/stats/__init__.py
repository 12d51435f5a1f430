"""Estimates, intervals and tests on which every finding rests; knows nothing of judges, prompts or files.

Functions take the data first and the rest by keyword, and return frozen results. Degenerate input gives the estimate
None with a reason, wrong input a ValueError; never NaN.
"""

from recuse.stats.clustered import clustered_mean, test_bound
from recuse.stats.difference import clustered_difference, test_difference_bound
from recuse.stats.location import mean_interval
from recuse.stats.logistic import LogisticFit, logistic
from recuse.stats.multiplicity import benjamini_hochberg, holm
from recuse.stats.power import pairs_needed
from recuse.stats.proportions import clopper_pearson, mcnemar_exact, wilson_interval
from recuse.stats.results import Estimate, TestResult
from recuse.stats.signflip import sign_flip_test

__all__ = [
    "Estimate",
    "LogisticFit",
    "TestResult",
    "benjamini_hochberg",
    "clopper_pearson",
    "clustered_difference",
    "clustered_mean",
    "holm",
    "logistic",
    "mcnemar_exact",
    "mean_interval",
    "pairs_needed",
    "sign_flip_test",
    "test_bound",
    "test_difference_bound",
    "wilson_interval",
]
