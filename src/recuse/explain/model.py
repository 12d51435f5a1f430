"""Which measured features go with the judge's errors: one logistic model over all of them, clustered by group.

    P(error) = expit(b0 + sum over features of b * d / sd(d)),   d = feature of the wrong answer minus of the right one

"Right" is what most people prefer, an error is the mean over both orders, so that a preference for a place cancels. A
positive b: the judge errs more often where the wrong answer has more of it, the other features being equal. With all
features in one model "longer" and "takes up more of the question" are told apart as far as the answers let them be:
`alone` is the coefficient of a model with that feature only, and what changes between the two is what they share. d is
divided by its standard deviation and not centred, since no difference means none; b0 is the log odds of an error
between answers that differ in nothing measured.

The model says what goes together. An answer is not changed in it, so it proves no cause: that is what injecting is for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from recuse import stats
from recuse.effects.scores import Floats
from recuse.explain.features import BY_ID, FEATURES
from recuse.types import Finding

ERRORS_EACH = 10  # errors, or right verdicts, whichever are fewer, for each coefficient: fewer make Wald tests too bold
SEEN = 10  # pairs whose answers differ in a feature, under which it is left out
LARGEST_VIF = 10.0  # variance inflation beyond which a feature is not told apart from those before it


@dataclass(frozen=True)
class Pull:
    """One feature. Coefficients are log odds of an error for a standard deviation more in the wrong answer."""

    feature: str
    beside: stats.Estimate  # beside the other features
    alone: stats.Estimate
    q: float  # Benjamini-Hochberg over the features of the model
    vif: float
    sd: float  # of the difference, in the feature's unit
    people_more: float  # share of pairs whose preferred answer has more of it, among those that differ in it
    differ: int

    @property
    def found(self) -> bool:
        return self.beside.pvalue is not None and self.q <= 0.05


@dataclass(frozen=True)
class ErrorModel:
    pulls: tuple[Pull, ...]
    level_error: stats.Estimate | None  # b0
    left_out: Mapping[str, str]  # features by id, and why
    n: int
    groups: int
    reason: str | None = None  # why there is no model

    @property
    def findings(self) -> tuple[Finding, ...]:
        if self.reason is not None:
            return (Finding("explain.feature", "Features that go with errors", None, n=self.n, groups=self.groups,
                            reason=self.reason),)  # fmt: skip
        return tuple(_finding(pull) for pull in self.pulls)


def error_model(
    errors: Sequence[float], wrong_minus_right: Mapping[str, Sequence[float]], groups: Sequence[str], *, level: float
) -> ErrorModel:
    """Fit errors (n,) in [0, 1] on the features' differences, each (n,).

    Features enter in the order of `FEATURES`: without those in which under `SEEN` pairs differ, and those that the ones
    before explain (variance inflation over `LARGEST_VIF`), and no more than the errors can bear (`ERRORS_EACH`).
    """
    y, n, clusters = np.asarray(errors, dtype=float), len(errors), len(set(groups))
    names = [feature.id for feature in FEATURES if feature.id in wrong_minus_right]
    columns = {name: np.asarray(wrong_minus_right[name], dtype=float) for name in names}
    room = int(min(y.sum(), n - y.sum()) // ERRORS_EACH) - 1
    if room < 1:
        fewer = "errors" if y.sum() <= n / 2 else "right verdicts"
        return _none(n, clusters, f"too few {fewer} for a model: {min(y.sum(), n - y.sum()):g} in {n:,} pairs")
    kept, left_out = _kept(columns, room)
    if not kept:
        return _none(n, clusters, "the answers differ in no feature", left_out)
    sd = {name: float(columns[name].std()) for name in kept}
    x = np.column_stack([columns[name] / sd[name] for name in kept])
    fit = stats.logistic(y, x, groups=groups, level=level)
    if fit.reason is not None:
        return _none(n, clusters, f"the model has no estimates ({fit.reason})", left_out)
    alone = [stats.logistic(y, x[:, i], groups=groups, level=level).coefficients[1] for i in range(len(kept))]
    q = stats.benjamini_hochberg([1.0 if c.pvalue is None else c.pvalue for c in fit.coefficients[1:]]).tolist()
    pulls = tuple(
        Pull(name, fit.coefficients[i + 1], alone[i], q[i], _vif(x, i), sd[name], *_people(columns[name]))
        for i, name in enumerate(kept)
    )
    return ErrorModel(pulls, fit.coefficients[0], left_out, n, clusters)


def _kept(columns: Mapping[str, Floats], room: int) -> tuple[list[str], dict[str, str]]:
    kept: list[str] = []
    left_out: dict[str, str] = {}
    for name, values in columns.items():
        differ = int(np.count_nonzero(values))
        if differ < SEEN or not values.std():
            left_out[name] = f"the answers differ in it in {differ:,} pairs"
        elif len(kept) >= room:
            left_out[name] = f"more features than the errors can bear ({ERRORS_EACH} for each)"
        elif kept and (vif := _vif(np.column_stack([columns[k] for k in (*kept, name)]), len(kept))) > LARGEST_VIF:
            near = max(kept, key=lambda k: abs(_correlation(columns[k], values)))
            left_out[name] = f"not told apart from {near} (variance inflation {vif:.0f})"
        else:
            kept.append(name)
    return kept, left_out


def _vif(x: Floats, i: int) -> float:
    """Variance inflation: 1 / (1 - R squared) of a column on the others and a constant."""
    others = np.column_stack([np.ones(len(x)), np.delete(x, i, axis=1)])
    centred = x[:, i] - x[:, i].mean()
    rest = x[:, i] - others @ np.linalg.lstsq(others, x[:, i], rcond=None)[0]
    return float((centred @ centred) / max(rest @ rest, 1e-12 * (centred @ centred)))


def _correlation(a: Floats, b: Floats) -> float:
    return float(np.corrcoef(a, b)[0, 1])


def _people(wrong_minus_right: Floats) -> tuple[float, int]:
    differ = wrong_minus_right[wrong_minus_right != 0]
    return float((differ < 0).mean()), int(differ.size)


def _none(n: int, groups: int, reason: str, left_out: Mapping[str, str] | None = None) -> ErrorModel:
    return ErrorModel((), None, left_out or {}, n, groups, reason)


def _finding(pull: Pull) -> Finding:
    said, alone = pull.beside, pull.alone
    return Finding(
        f"explain.feature.{pull.feature}", f"Errors where the wrong answer has more {BY_ID[pull.feature].title}",
        said.estimate, said.interval, said.n, said.groups, said.pvalue, said.method, said.reason,
        details={
            "unit": "log odds of an error for a standard deviation of the difference", "sd": pull.sd, "q": pull.q,
            "found": pull.found, "alone": alone.estimate, "alone_interval": alone.interval,
            "alone_reason": alone.reason, "vif": pull.vif, "people_more": pull.people_more, "differ": pull.differ,
        },
    )  # fmt: skip
