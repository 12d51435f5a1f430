"""P-values adjusted for testing several hypotheses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from recuse.stats.inputs import marks, numbers
from recuse.stats.results import Arrays, check_level

Array = NDArray[np.float64]
Marks = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Rejections(Arrays):
    """Which hypotheses are rejected, in the order given, at an error rate of `level`."""

    rejected: Marks
    method: str
    level: float

    @property
    def n(self) -> int:
        """Hypotheses."""
        return self.rejected.size


@dataclass(frozen=True, slots=True, eq=False)
class Adjusted(Rejections):
    """Adjusted p-values besides, in the order given: each is the smallest level at which its hypothesis is rejected."""

    pvalues: Array

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[np.generic]:
        return np.array(self.pvalues, dtype=dtype, copy=copy)

    def tolist(self) -> list[float]:
        """The adjusted p-values as Python's floats."""
        listed: list[float] = self.pvalues.tolist()
        return listed


def holm(pvalues: ArrayLike, *, level: float = 0.05) -> Adjusted:
    """Holm's step-down adjustment (1979, Scand. J. Stat. 6:65): the chance of any false rejection is at most `level`.

    pvalues: (m,). Valid under any dependence. Raises ValueError for a value outside [0, 1], masked, missing or no
    number, and a level outside (0, 1).
    """
    p = _checked(pvalues)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    return _adjusted(_back(stepped, order), "Holm", level)


def benjamini_hochberg(pvalues: ArrayLike, *, level: float = 0.05) -> Adjusted:
    """Step-up adjustment of Benjamini & Hochberg (1995, JRSS B 57:289): the false discovery rate is at most `level`.

    pvalues: (m,). Valid under independence or positive dependence, such as one-sided comparisons with a shared placebo
    arm. Raises ValueError as `holm` does.
    """
    return _adjusted(_stepped_up(_checked(pvalues), by=False), "Benjamini-Hochberg", level)


def benjamini_yekutieli(pvalues: ArrayLike, *, level: float = 0.05) -> Adjusted:
    """Benjamini & Yekutieli (2001, Ann. Stat. 29:1165): `benjamini_hochberg` under any dependence, at a factor of
    1 + 1/2 + ... + 1/m. pvalues: (m,). Raises ValueError as `holm` does.
    """
    return _adjusted(_stepped_up(_checked(pvalues), by=True), "Benjamini-Yekutieli", level)


def planned_adjustment(
    pvalues: ArrayLike, primary: ArrayLike, *, method: Literal["bh", "by", "holm"] = "bh", level: float = 0.05
) -> Adjusted:
    """Adjust what was explored and leave what was declared: where `primary` is true, in advance and in the plan, the
    p-value stays as it is; the others are adjusted among themselves.

    pvalues and primary: (m,). Several primaries whose claims are joined by "or" need `holm` over them besides. Raises
    ValueError as `holm` does, for unequal lengths, marks that are not true or false, or an unknown method.
    """
    p = _checked(pvalues)
    declared = marks(primary, p.size, "primary")
    adjusters = {"bh": benjamini_hochberg, "by": benjamini_yekutieli, "holm": holm}
    if method not in tuple(adjusters):
        raise ValueError(f"method must be one of {', '.join(adjusters)}, got {method!r}.")
    explored = adjusters[method](p[~declared], level=level)
    adjusted = p.copy()
    adjusted[~declared] = explored.pvalues
    return _adjusted(adjusted, f"primaries as declared, the others {explored.method}", level)


def _checked(pvalues: ArrayLike) -> Array:
    p = numbers(pvalues, "p-values")
    outside = (p < 0) | (p > 1)
    if outside.any():
        place = int(outside.argmax())
        raise ValueError(f"every p-value must lie between 0 and 1, got {p[place]} at place {place}.")
    return p


def _stepped_up(p: Array, *, by: bool) -> Array:
    order, rank = np.argsort(p, kind="stable"), np.arange(1, p.size + 1)
    scaled = p[order] * p.size * (np.sum(1 / rank) if by else 1.0) / rank
    return _back(np.minimum.accumulate(scaled[::-1])[::-1], order)


def _back(stepped: Array, order: NDArray[np.intp]) -> Array:
    adjusted = np.empty_like(stepped)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def _adjusted(pvalues: Array, method: str, level: float) -> Adjusted:
    check_level(level)
    return Adjusted(pvalues <= level, method, level, pvalues)
