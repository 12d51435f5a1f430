"""Shares and means over pairs as findings, clustered by group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from recuse import stats
from recuse.types import Finding


def share_finding(
    id: str, title: str, flags: ArrayLike, groups: Sequence[str], *, level: float, **details: Any
) -> Finding:
    """The mean of values in [0, 1]."""
    return _finding(id, title, stats.clustered_mean(flags, groups=groups, level=level), details)


def mean_finding(
    id: str, title: str, values: ArrayLike, groups: Sequence[str], *, level: float, **details: Any
) -> Finding:
    """The mean of values in [-1, 1], such as differences between two shares of the same pairs."""
    found = stats.clustered_mean(values, groups=groups, bounds=(-1.0, 1.0), level=level, null=0.0)
    return _finding(id, title, found, details)


def _finding(id: str, title: str, found: stats.Estimate, details: dict[str, Any]) -> Finding:
    return Finding(
        id, title, found.estimate, found.interval, found.n, found.groups, found.pvalue, found.method, found.reason,
        details=details,
    )  # fmt: skip
