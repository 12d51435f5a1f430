"""Agreement corrected for chance: 1 - D/E, with D the disagreement observed and E the disagreement expected by chance.

Kappa, Fleiss' kappa, Krippendorff's alpha and AC1 are all of this form; they differ in what disagreement weighs and in
how E follows from the shares of the labels. `limits` is the one interval for all of them.

The interval: D/E is linearised in the units (Fleiss, Cohen & Everitt 1969 for kappa; summed by group, so that a group
counts as one observation). That normal interval covers badly where D or a label is rare: 0.48 to 0.86 instead of 0.95
at 50 pairs with a label at 0.9, and it has no width at full agreement. So, as Agresti & Coull (1998) do for a rate,
imagined units are added first, one critical value squared of them, spread evenly over all pairs of labels (two raters
that guess). They pull high agreement among many labels down too far, so a second interval adds half as many, and the
limits are the outer ones of the two, with Student's t over the groups. Measured coverage of both:
experiments/coverage/agreement.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from recuse.stats.inputs import HUGE, Groups, encode
from recuse.stats.results import Estimate

Array = NDArray[np.float64]
Codes = NDArray[np.intp]
Metric = Literal["linear", "quadratic"] | None

_MOST_LABELS = 1000  # tables of label pairs are held whole


class Shares(dict[Hashable, float]):
    """The share of each label, unchangeable. A dict, as `dataclasses.asdict`, json and pickle refuse mappingproxy."""

    __slots__ = ()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("the shares of a result cannot be changed.")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[type[Shares], tuple[dict[Hashable, float]]]:
        return Shares, (dict(self),)


@dataclass(frozen=True, slots=True)
class Agreement(Estimate):
    """An agreement corrected for chance. `n` counts the units used, `missing` those left out for want of ratings."""

    observed: float | None = None  # agreement as it is, weighted where the weights say so
    expected: float | None = None  # agreement expected by chance
    prevalence: Shares = field(default_factory=Shares)  # of each label among the ratings used
    missing: int = 0
    constant: bool = False  # a rater gave only one label; `reason` names it


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Disagreement of units and what chance makes of it.

    `first` and `second` are how often each label was given, in any unit of weight: with whole numbers E is exact, and
    so the estimate is the float next to the true one. With their shares, E = first @ chance @ second, times
    `correction`. `scores(rows, columns)` gives each unit's mean of rows[its first label] + columns[its second label].
    """

    units: Array  # disagreement within each unit
    sizes: Array  # weight of each unit
    first: Array  # (labels,)
    second: Array
    weights: Array  # disagreement between each two labels
    chance: Array
    scores: Callable[[Array, Array], Array]
    correction: float = 1.0

    @property
    def observed(self) -> float:
        return _dot(self.units, self.sizes) / float(self.sizes.sum())

    @property
    def shares(self) -> tuple[Array, Array]:
        return self.first / self.first.sum(), self.second / self.second.sum()

    @property
    def expected(self) -> float:
        raw = float(self.first @ self.chance @ self.second)
        return raw / float(self.first.sum() * self.second.sum()) * self.correction

    @property
    def estimate(self) -> float:
        raw = float(self.first @ self.chance @ self.second) * self.correction * float(self.sizes.sum())
        return 1 - _dot(self.units, self.sizes) * float(self.first.sum() * self.second.sum()) / raw

    def limits(self, groups: Codes | None, level: float) -> tuple[float, float] | None:
        """Confidence limits for 1 - D/E; None with fewer than two groups (without groups: units)."""
        if (self.units.size if groups is None else int(groups.max()) + 1) < 2:
            return None
        z = float(ndtri((1 + level) / 2))
        pairs = [self._adjusted(groups, level, share * z * z) for share in (0.5, 1.0)]
        estimate = self.estimate
        low, high = min(estimate, *(pair[0] for pair in pairs)), max(estimate, *(pair[1] for pair in pairs))
        return max(-1.0, low), min(1.0, high)

    def _adjusted(self, groups: Codes | None, level: float, imagined: float) -> tuple[float, float]:
        """The linearised interval after adding `imagined` groups of the usual size that spread over all label pairs."""
        sizes = _summed(self.sizes, groups)
        real = float(sizes.sum())
        size = _dot(sizes, sizes) / real
        added, labels = imagined * size, self.first.size
        total = real + added
        first, second = ((real * share + added / labels) / total for share in self.shares)
        rows, columns = self.chance @ second, first @ self.chance
        expected = float(first @ rows)
        ratio = (real * self.observed + added * float(self.weights.mean())) / total / expected
        # What a unit adds to D - ratio * E beyond the mean.
        shift = ratio * expected
        change = _summed(self.sizes * (self.units - ratio * self.scores(rows, columns) + shift), groups)
        spread = size * (self.weights - ratio * np.add.outer(rows, columns) + shift)
        squares = _dot(change, change) * change.size / (change.size - 1) + imagined * float((spread * spread).mean())
        error = math.sqrt(squares) / (total * expected)
        reach = float(stdtrit(change.size - 1, (1 + level) / 2)) * error
        return 1 - (ratio + reach) / self.correction, 1 - (ratio - reach) / self.correction


def _summed(values: Array, groups: Codes | None) -> Array:
    return values if groups is None else np.bincount(groups, weights=values).astype(np.float64)


def _dot(a: Array, b: Array) -> float:
    """Without BLAS, whose threads made 60 ms of these 3 ms at 20,000 pairs while other work held the cores."""
    return float((a * b).sum())


def corrected(
    units: Disagreement | None,
    groups: Codes | None,
    method: str,
    level: float,
    *,
    labels: Sequence[Hashable],
    missing: int,
    constant: str | None = None,
    undefined: str = "no unit has two ratings",
) -> Agreement:
    """The result for these units: None with the reason `undefined` where there are none or where E is 0 (then D is)."""
    if units is None:
        return Agreement(None, None, 0, 0, method, level, reason=undefined, missing=missing)
    count = units.units.size if groups is None else int(groups.max()) + 1
    first, second = units.shares
    known: dict[str, Any] = {
        "observed": 1 - units.observed,
        "expected": 1 - units.expected,
        "prevalence": Shares(zip(labels, ((first + second) / 2).tolist(), strict=True)),
        "missing": missing,
    }
    if units.expected <= 0:
        reason = f"undefined (0/0): {undefined}"
        return Agreement(None, None, units.units.size, count, method, level, reason=reason, constant=True, **known)
    limits = units.limits(groups, level)
    reasons = [reason for reason in (constant, None if limits else "one group gives no interval") if reason]
    return Agreement(
        units.estimate,
        limits,
        units.units.size,
        count,
        method,
        level,
        reason="; ".join(reasons) or None,
        constant=constant is not None,
        **known,
    )


def renumbered(groups: Groups | None, kept: NDArray[np.bool_]) -> Codes | None:
    """Codes 0, 1, ... for the groups of the units that are kept. Raises ValueError unless each unit has a group."""
    if groups is None:
        return None
    return np.unique(encode(groups, kept.size)[kept], return_inverse=True)[1].reshape(-1)


def place_labels(raters: list[list[Hashable]], labels: Sequence[Hashable] | None) -> tuple[list[Hashable], list[Codes]]:
    """The labels in order and, for each rater's list, the place of each rating among them, -1 where it is missing.

    None, NaN and their like (NaT, pandas.NA) are missing. Without `labels` those that occur, sorted where they can be.
    Raises ValueError for a rating that is not among the labels or cannot be one, labels that repeat or are missing,
    and more than 1,000 of them.
    """
    try:
        seen = set().union(*(set(rater) for rater in raters)) if raters else set()
    except TypeError:
        raise ValueError("ratings must be labels such as text or numbers, one a place.") from None
    occurring = [label for label in seen if not _is_missing(label)]
    order = _sorted(occurring) if labels is None else checked_labels(labels)
    if stray := set(occurring) - set(order):
        raise ValueError(f"rating {min(stray, key=repr)!r} is not among the labels {order!r}.")
    if len(order) > _MOST_LABELS:
        raise ValueError(f"{len(order)} different labels; agreement takes at most {_MOST_LABELS}: round them first.")
    places = {label: -1 for label in seen if _is_missing(label)}
    places.update((label, place) for place, label in enumerate(order))
    codes = [np.fromiter(map(places.__getitem__, rater), np.intp, len(rater)) for rater in raters]
    return [_pythons(label) for label in order], codes


def checked_labels(labels: Sequence[Hashable]) -> list[Hashable]:
    """The labels as a list; raises ValueError if any repeats, is missing or cannot be a label."""
    order = as_list(labels)
    try:
        distinct = set(order)
    except TypeError:
        raise ValueError("labels must be text, numbers or the like.") from None
    if any(_is_missing(label) for label in order):
        raise ValueError(f"labels must not hold a missing value, got {order!r}.")
    if len(distinct) != len(order):
        raise ValueError("labels must differ from each other.")
    return order


def distances(labels: Sequence[Hashable], metric: Metric, *, ordered: bool) -> Array:
    """Disagreement between each two labels, at most 1: 0 or 1 without a metric, else their distance or its square.

    Distances are those of the labels' values where all are numbers, else of their places, which mean something only if
    `ordered`. Raises ValueError where they do not, and for infinite labels.
    """
    if metric is None:
        return 1 - np.eye(len(labels))
    numeric: list[Any] = [label for label in labels if isinstance(label, Real)]
    if len(numeric) != len(labels):
        if not ordered:
            raise ValueError("labels that are not numbers need their order here: pass labels=[lowest, ..., highest].")
        return scaled_distances(np.arange(len(labels), dtype=np.float64), metric)
    if large := [label for label in numeric if not abs(label) <= HUGE]:
        raise ValueError(f"label {large[0]!r} has no distance from the others; labels must be finite here.")
    return scaled_distances(np.array([float(label) for label in numeric]), metric)


def scaled_distances(values: Array, metric: Metric) -> Array:
    gaps: Array = np.abs(np.subtract.outer(values, values))
    gaps = gaps / gaps.max() if gaps.any() else gaps
    return gaps * gaps if metric == "quadratic" else gaps


def _sorted(labels: list[Hashable]) -> list[Hashable]:
    try:
        return sorted(labels)  # type: ignore[type-var]
    except TypeError:
        return sorted(labels, key=repr)


def as_list(ratings: Sequence[Hashable] | NDArray[Any]) -> list[Hashable]:
    """One rating a place, a masked one as None; raises ValueError for a table or a single value."""
    if np.ndim(ratings) != 1 if isinstance(ratings, np.ndarray) else not hasattr(ratings, "__iter__"):
        raise ValueError(f"ratings must come in a list, one a place, got {type(ratings).__name__}.")
    return ratings.tolist() if hasattr(ratings, "tolist") else list(ratings)


def _pythons(label: Hashable) -> Hashable:
    """Not numpy's own numbers and text, which neither print nor are written as the labels that the user knows."""
    return label.item() if isinstance(label, (np.number, np.bool_, np.str_)) else label


def _is_missing(rating: Hashable) -> bool:
    try:
        return rating is None or bool(rating != rating)
    except TypeError:  # pandas.NA, whose comparison is neither true nor false
        return True
