"""What every statistic returns: frozen, with a reason instead of NaN where a number cannot be had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import ClassVar, Literal

import numpy as np

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
    """A p-value with the quantity that it tests; without data the estimate is None, `reason` says why, and p is 1.

    `interval` is there where the test has one of its own, at `level`; otherwise it is None.
    """

    __test__: ClassVar[bool] = False  # pytest shall not take the class for a test case

    estimate: float | None
    pvalue: float
    n: int  # independent units
    nonzero: int  # units that carry information: non-zero gaps, discordant pairs
    method: str
    interval: tuple[float, float] | None = None
    level: float = 0.95
    reason: str | None = None

    @property
    def statistic(self) -> float | None:
        return self.estimate

    @property
    def groups(self) -> int:
        """The independent units; `n` counts the same, since a test gets one number for each."""
        return self.n


class Arrays:
    """For results that hold arrays: these are read-only, and results are equal when all their entries are."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            if isinstance(value := getattr(self, field.name), np.ndarray):
                value.flags.writeable = False

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)


def check_level(level: float) -> None:
    if not (isinstance(level, Real) and level > 0.0 and (1.0 + level) / 2.0 < 1.0):  # the next float to 1 is no level
        raise ValueError(f"level must lie between 0 and 1, got {level!r}.")


def check_resampling(resamples: int, seed: int) -> None:
    if not (isinstance(resamples, Integral) and not isinstance(resamples, bool) and resamples >= 1):
        raise ValueError(f"resamples must be a whole number of at least 1, got {resamples!r:.40}.")
    check_seed(seed)


def check_seed(seed: int) -> None:
    if not (isinstance(seed, Integral) and seed >= 0):
        raise ValueError(f"the seed must be a whole number of at least 0, got {seed!r:.40}.")


def check_alternative(alternative: str, allowed: Sequence[str] = ("greater", "less")) -> None:
    if alternative not in allowed:
        raise ValueError(f"alternative must be one of {', '.join(allowed)}, got {alternative!r}.")
