"""P-values adjusted for testing several hypotheses."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray


def holm(pvalues: ArrayLike) -> NDArray[np.float64]:
    """Holm's (1979) step-down adjustment, in the order given: rejecting those at most a keeps the family error at a.

    Valid under any dependence. Raises ValueError for a value outside [0, 1] or NaN.
    """
    p = _checked(pvalues)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    return _back(stepped, order)


def benjamini_hochberg(pvalues: ArrayLike) -> NDArray[np.float64]:
    """Benjamini & Hochberg's (1995) step-up adjustment, in the order given: bounds the false discovery rate.

    Valid under independence or positive dependence, such as one-sided comparisons with a shared placebo arm. Raises
    ValueError for a value outside [0, 1] or NaN.
    """
    p = _checked(pvalues)
    order = np.argsort(p, kind="stable")
    scaled = p[order] * p.size / np.arange(1, p.size + 1)
    stepped = np.minimum.accumulate(scaled[::-1])[::-1]
    return _back(stepped, order)


def benjamini_yekutieli(pvalues: ArrayLike) -> NDArray[np.float64]:
    """Benjamini & Yekutieli's (2001) adjustment: the false discovery rate under any dependence, at a factor of
    1 + 1/2 + ... + 1/m over `benjamini_hochberg`. Raises ValueError for a value outside [0, 1] or NaN.
    """
    p = _checked(pvalues)
    order = np.argsort(p, kind="stable")
    scaled = p[order] * p.size * np.sum(1 / np.arange(1, p.size + 1)) / np.arange(1, p.size + 1)
    stepped = np.minimum.accumulate(scaled[::-1])[::-1]
    return _back(stepped, order)


def planned_adjustment(
    pvalues: ArrayLike, primary: ArrayLike, *, method: Literal["bh", "by", "holm"] = "bh"
) -> NDArray[np.float64]:
    """Adjust what was explored and leave what was declared: where `primary` is true, in advance and in the plan, the
    p-value stays as it is; the others are adjusted among themselves.

    pvalues and primary: (m,). Several primaries whose claims are joined by "or" need `holm` over them besides. Raises
    ValueError for unequal lengths, a value outside [0, 1] or NaN, or an unknown method.
    """
    p, marks = _checked(pvalues), np.asarray(primary).reshape(-1)
    if marks.dtype != bool and not (marks.size == 0 or (marks.dtype.kind in "iu" and np.isin(marks, (0, 1)).all())):
        raise ValueError("primary must hold true or false for each p-value.")
    declared = marks.astype(bool)
    if p.size != declared.size:
        raise ValueError(f"there are {p.size} p-values and {declared.size} marks; each p-value needs one.")
    adjusters = {"bh": benjamini_hochberg, "by": benjamini_yekutieli, "holm": holm}
    if method not in adjusters:
        raise ValueError(f"method must be one of {', '.join(adjusters)}, got {method!r}.")
    adjusted = p.copy()
    adjusted[~declared] = adjusters[method](p[~declared])
    return adjusted


def _checked(pvalues: ArrayLike) -> NDArray[np.float64]:
    p = np.asarray(pvalues, dtype=np.float64).reshape(-1)
    if not np.all((p >= 0) & (p <= 1)):
        raise ValueError("every p-value must be a number between 0 and 1.")
    return p


def _back(stepped: NDArray[np.float64], order: NDArray[np.intp]) -> NDArray[np.float64]:
    adjusted = np.empty_like(stepped)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted
