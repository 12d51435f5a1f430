"""What every statistic returns: frozen, with a reason instead of NaN where a number cannot be had."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

Alternative = Literal["two-sided", "greater", "less"]
OneSided = Literal["greater", "less"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate with its confidence interval. `estimate` is None where it is undefined, and `reason` says why."""

    estimate: float | None
    interval: tuple[float, float] | None
    n: int  # observations
    groups: int  # independent units
    method: str
    level: float = 0.95
    pvalue: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class TestResult:
    """A p-value with the quantity that it tests."""

    __test__: ClassVar[bool] = False  # pytest shall not take the class for a test case

    estimate: float
    pvalue: float
    n: int  # independent units
    nonzero: int  # units that carry information: non-zero gaps, discordant pairs
    method: str

    @property
    def statistic(self) -> float:
        return self.estimate


def check_level(level: float) -> None:
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1, got {level}.")


def plain(*counts: float) -> tuple[float, ...]:
    """Counts as Python's numbers, since numpy's integers overflow in silence. Raises ValueError unless finite."""
    found = tuple(count.item() if hasattr(count, "item") else count for count in counts)
    if not all(math.isfinite(count) for count in found):
        raise ValueError(f"counts must be finite, got {found}.")
    return found


def check_resamples(resamples: int) -> None:
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1, got {resamples}.")


def check_alternative(alternative: str, allowed: tuple[str, ...] = ("greater", "less")) -> None:
    if alternative not in allowed:
        raise ValueError(f"alternative must be one of {', '.join(allowed)}, got {alternative!r}.")
