"""Logistic regression of shares in [0, 1] on a few columns, with errors that hold when groups are correlated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, stdtr, stdtrit

from recuse.stats.inputs import HUGE, Array, Groups, encode, numbers, within
from recuse.stats.results import Estimate, check_level

_STEPS = 50
_METHOD = "logistic regression, cluster-robust (CR1, t)"


@dataclass(frozen=True, slots=True)
class LogisticFit:
    """Coefficients on the log-odds scale, the intercept first where there is one."""

    coefficients: tuple[Estimate, ...]
    n: int
    groups: int
    reason: str | None = None  # why there are no estimates, e.g. "separation"


def logistic(
    y: ArrayLike,
    x: ArrayLike,
    *,
    groups: Groups | None = None,
    level: float = 0.95,
    offset: ArrayLike | None = None,
    intercept: bool = True,
) -> LogisticFit:
    """Fit P(y) = expit(offset + intercept + x @ coefficients) by Newton's method, without a penalty.

    y: (n,) in [0, 1], halves for ties; x: (n,) or (n, k). The variance is the cluster sandwich (Liang & Zeger 1986)
    times G/(G-1) * (n-1)/(n-columns), as statsmodels has it, referred to t with G-1 degrees of freedom. Where the
    outcomes can be separated by a line the estimates are infinite: they are None, with the reason "separation". Other
    reasons are "collinear columns", "too few groups" and "no scatter between groups" (all residuals sum to zero).
    Raises ValueError for y outside [0, 1], numbers that are not finite or beyond floats, or lengths that differ.
    """
    check_level(level)
    shares, columns, shift = _checked(y, x, offset, intercept)
    n, k = columns.shape
    codes = np.arange(n) if groups is None else encode(groups, n)
    total = int(codes.max()) + 1 if n else 0
    if total <= k:
        return _without("too few groups", n, total, k, level)
    scale = np.abs(columns).max(axis=0)
    if not scale.all() or np.linalg.matrix_rank(columns / scale) < k:
        return _without("collinear columns", n, total, k, level)
    z = columns / scale
    beta = _newton(shares, z, shift)
    if beta is None:
        return _without("separation", n, total, k, level)

    fitted = expit(shift + z @ beta)
    bread = np.linalg.inv((z * (fitted * (1 - fitted))[:, None]).T @ z)
    scores = np.stack([np.bincount(codes, column * (shares - fitted)) for column in z.T], axis=1)
    factor = total / (total - 1) * (n - 1) / (n - k)
    errors = np.sqrt(factor * np.diag(bread @ (scores.T @ scores) @ bread)) / scale
    if not (errors * scale > 1e-9).all():
        return _without("no scatter between groups", n, total, k, level)
    beta = beta / scale
    t = float(stdtrit(total - 1, (1 + level) / 2))
    return LogisticFit(
        tuple(
            Estimate(b, (b - t * e, b + t * e), n, total, _METHOD, level, _wald(b, e, total - 1))
            for b, e in zip(beta.tolist(), errors.tolist(), strict=True)
        ),
        n,
        total,
    )


def _newton(y: Array, z: Array, shift: Array) -> Array | None:
    """The maximum-likelihood coefficients, or None where they are infinite.

    Finite ones are reached in some ten steps. Under separation each step moves the log odds by about one for ever,
    until the information in that direction is gone (a linear programme agrees on random data, see the tests).
    """
    beta = np.zeros(z.shape[1])
    loss, length = _loss(y, shift), np.sqrt((z * z).sum(axis=0))
    for _ in range(_STEPS):
        fitted = expit(shift + z @ beta)
        information = (z * (fitted * (1 - fitted))[:, None]).T @ z
        if np.linalg.eigvalsh(information / np.outer(length, length))[0] < 1e-10:
            return None
        step = np.linalg.solve(information, z.T @ (y - fitted))
        new = _loss(y, shift + z @ (beta + step))
        while new > loss + 1e-9 * (1 + abs(loss)):  # Newton's method overshot
            step = step / 2
            new = _loss(y, shift + z @ (beta + step))
        beta, loss = beta + step, new
        if np.abs(step).max() <= 1e-9 * np.abs(beta).max() + 1e-12:
            return beta
    return None


def _loss(y: Array, eta: Array) -> float:
    return float((np.logaddexp(0, eta) - y * eta).sum())


def _wald(estimate: float, error: float, df: int) -> float:
    return 2 * float(stdtr(df, -abs(estimate) / error))


def _without(reason: str, n: int, groups: int, columns: int, level: float) -> LogisticFit:
    nothing = Estimate(None, None, n, groups, _METHOD, level, reason=reason)
    return LogisticFit((nothing,) * columns, n, groups, reason)


def _checked(y: ArrayLike, x: ArrayLike, offset: ArrayLike | None, intercept: bool) -> tuple[Array, Array, Array]:
    shares = numbers(y, "y")
    columns = _columns(x)
    shift = np.zeros(shares.size) if offset is None else numbers(offset, "the offset")
    if not len(columns) == shares.size == shift.size:
        raise ValueError(f"y has shape {shares.shape}, x {columns.shape} and the offset {shift.shape}: not the same n.")
    within(shares, (0.0, 1.0))
    return shares, np.column_stack((np.ones(shares.size), columns)) if intercept else columns, shift


def _columns(x: ArrayLike) -> Array:
    """One column or several, each readable as numbers and, unless it is zero, of a size whose square is a float."""
    if np.ma.is_masked(x):
        raise ValueError("x has a masked entry; leave that row out.")
    raw = np.asarray(x)
    if raw.ndim not in (1, 2):
        raise ValueError(f"x must have one dimension or two, got shape {raw.shape}.")
    columns: Array = np.empty((len(raw), 1 if raw.ndim == 1 else raw.shape[1]))
    for place, column in enumerate([raw] if raw.ndim == 1 else raw.T):
        columns[:, place] = numbers(column, f"column {place} of x")
        if 0 < np.abs(columns[:, place]).max(initial=0.0) < 1 / HUGE:
            raise ValueError(f"column {place} of x is under {1 / HUGE:g} everywhere; give it in other units.")
    return columns
