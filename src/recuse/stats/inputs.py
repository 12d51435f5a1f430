"""Data as users have them, read into arrays; what cannot be read is refused in one sentence."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from numbers import Real
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Codes = NDArray[np.intp]
Groups = Sequence[Hashable] | NDArray[np.generic]
Bounds = tuple[float, float]

HUGE = 1e150  # larger numbers have squares that leave the range of floats
MOST = 2**53  # whole numbers beyond it are not all floats


def numbers(values: ArrayLike, what: str = "values", *, largest: float = HUGE) -> Array:
    """One-dimensional finite floats.

    Raises ValueError for masked entries, None, NaN, infinity, text, complex numbers, other shapes, and for numbers
    beyond `largest`. Functions that allow missing values read them with `missing.split_missing` first.
    """
    if np.ma.is_masked(values):
        place = int(np.ma.getmaskarray(np.ma.asanyarray(values)).ravel().argmax())
        raise ValueError(f"{what} has a masked entry at place {place}; leave it out or use a function with `missing`.")
    if isinstance(values, (list, tuple)) and any(value is np.ma.masked for value in values):
        raise ValueError(f"{what} has a masked entry; leave it out or use a function with `missing`.")
    try:
        raw = np.asarray(values)
    except ValueError:
        raise ValueError(f"{what} must be one-dimensional, got lists of unequal length.") from None
    if raw.dtype.kind == "O":
        raw = _of_objects(raw, what)
    if raw.dtype.kind not in "biuf":
        raise ValueError(f"{what} must be numbers, got {raw.dtype.name}.")
    if raw.ndim != 1:
        raise ValueError(f"{what} must be one-dimensional, got shape {raw.shape}.")
    x = raw.astype(np.float64)
    wrong = ~(np.abs(x) <= largest)
    if wrong.any():
        place = int(wrong.argmax())
        raise ValueError(f"{what} must be finite and at most {largest:g} in size, got {x[place]} at place {place}.")
    return x


def _of_objects(raw: NDArray[np.object_], what: str) -> Array:
    """Numbers of several kinds, as pandas hands them out."""
    for place, value in enumerate(raw.ravel().tolist()):
        if isinstance(value, (str, bytes, complex)) or not hasattr(value, "__float__"):
            raise ValueError(f"{what} must be numbers, got {value!r} at place {place}.")
    try:
        return raw.astype(np.float64)
    except (TypeError, ValueError, OverflowError):  # pandas.NA, lists, whole numbers beyond the range of floats
        raise ValueError(f"{what} must be numbers within the range of floats.") from None


def marks(flags: ArrayLike, n: int | None, what: str) -> NDArray[np.bool_]:
    """True or false, or 1 and 0, for each of n values, or of any number for None.

    Raises ValueError for anything else, missing entries too.
    """
    if np.ma.is_masked(flags):
        raise ValueError(f"{what} has masked entries; leave those rows out.")
    try:
        mask = np.asarray(flags)
    except ValueError:
        mask = np.empty((0, 0))  # lists of unequal length
    known = mask.dtype.kind == "b" or not mask.size or (mask.dtype.kind in "iuf" and np.isin(mask, (0, 1)).all())
    if mask.ndim != 1 or not known:
        raise ValueError(f"{what} must be one-dimensional and true or false for each value.")
    if n is not None and mask.size != n:
        raise ValueError(f"there are {n} values and {mask.size} marks in {what}; each value needs one.")
    return mask.astype(np.bool_)


def number(value: object, what: str, *, most: float = HUGE) -> float:
    """One number as Python's own, since numpy's integers overflow in silence and its small floats lose digits.

    Raises ValueError for text, None, masked entries, NaN, infinity and what is larger than `most`.
    """
    found = value.item() if isinstance(value, (np.generic, np.ndarray)) and value.size == 1 else value
    try:
        read = float(found) if isinstance(found, Real) and value is not np.ma.masked else math.nan
    except OverflowError:
        read = math.inf
    if not abs(read) <= most:
        raise ValueError(f"{what} must be a finite number of at most {most:g} in size, got {value!r:.40}.")
    return read


def finite(value: object, what: str) -> float:
    """One number as Python's own, whole ones as int; raises ValueError as `number` does, from 2 ** 53 on."""
    read = number(value, what, most=MOST)
    return int(read) if read.is_integer() else read


def whole(value: object, what: str, *, least: int = 0) -> int:
    """A whole number from `least` on, as Python's own; raises ValueError for anything else, as `finite` does."""
    found = finite(value, what)
    if not isinstance(found, int) or found < least:
        raise ValueError(f"{what} must be a whole number of at least {least}, got {value!r}.")
    return found


def checked_bounds(bounds: Bounds) -> Bounds:
    """The bounds as floats; raises ValueError unless they are two finite numbers in order."""
    try:
        low, high = bounds
    except (TypeError, ValueError):
        raise ValueError(f"bounds must be two numbers, got {bounds!r:.80}.") from None
    low, high = number(low, "the lower bound"), number(high, "the upper bound")
    if not low < high:
        raise ValueError(f"the lower bound must be under the upper one, got {bounds}.")
    return low, high


def checked_interval(interval: Bounds) -> Bounds:
    """The limits as floats; raises ValueError unless they are two numbers, or infinite, and not in the wrong order."""
    try:
        low, high = interval
    except (TypeError, ValueError):
        raise ValueError(f"the interval must be two numbers, got {interval!r:.80}.") from None
    low, high = number(low, "the lower limit", most=math.inf), number(high, "the upper limit", most=math.inf)
    if not low <= high:
        raise ValueError(f"the interval must run from low to high, got {interval}.")
    return low, high


def within(x: Array, bounds: Bounds) -> Array:
    """The values, if all lie between the bounds; raises ValueError with the first that does not."""
    outside = (x < bounds[0]) | (x > bounds[1])
    if outside.any():
        place = int(outside.argmax())
        raise ValueError(f"value {x[place]} at place {place} is not between {bounds[0]} and {bounds[1]}.")
    return x


def checked(values: ArrayLike, groups: Groups | None, bounds: Bounds) -> tuple[Array, Codes | None]:
    """Values rescaled to [0, 1], and a code 0, 1, ... for each one's group."""
    low, high = checked_bounds(bounds)
    x = within(numbers(values), (low, high))
    return np.clip((x - low) / (high - low), 0.0, 1.0), None if groups is None else encode(groups, x.size)


def encode(groups: Groups, n: int, what: str = "groups") -> Codes:
    """A code 0, 1, ... for each distinct label; raises ValueError unless there are n, none of them missing."""
    labels = labelled(groups, n, what)
    if isinstance(labels, np.ndarray):
        codes: Codes = np.unique(labels, return_inverse=True)[1].reshape(-1).astype(np.intp)
        return codes
    seen: dict[Hashable, int] = {}  # for strings some ten times as fast as sorting them
    return np.fromiter((seen.setdefault(label, len(seen)) for label in labels), dtype=np.intp, count=n)


def labelled(labels: Groups, n: int, what: str) -> list[Hashable] | NDArray[np.generic]:
    """The labels by position, numbers as an array; raises ValueError for a wrong number, or labels without a value."""
    if np.ma.is_masked(labels):
        raise ValueError(f"{what} has masked entries; leave those rows out.")
    if isinstance(labels, np.ndarray) and labels.ndim != 1:
        raise ValueError(f"{what} must be one-dimensional, got shape {labels.shape}.")
    if not hasattr(labels, "__len__"):
        raise ValueError(f"{what} must be one label for each value, got {labels!r:.40}.")
    if len(labels) != n:
        raise ValueError(f"there are {n} values and {len(labels)} {what}; each value needs one.")
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "biu":
        return labels
    if isinstance(labels, np.ndarray) and labels.dtype.kind == "f":
        if np.isnan(labels).any():
            raise ValueError(f"{what} has NaN at place {int(np.isnan(labels).argmax())}; leave that row out.")
        return labels
    listed = cast("list[Hashable]", labels.tolist() if hasattr(labels, "tolist") else list(labels))
    for place, label in enumerate(listed):
        if isinstance(label, float) and math.isnan(label):
            raise ValueError(f"{what} has NaN at place {place}; leave that row out.")
    try:
        for label in set(listed):
            if label is None:
                raise ValueError(f"{what} has None at place {listed.index(None)}; leave that row out.")
            if label != label:  # NaT and their like
                raise ValueError(f"{what} has an entry without a value ({label!r}); leave that row out.")
    except TypeError:  # unhashable, or pandas.NA, whose comparison is neither true nor false
        raise ValueError(f"{what} must be labels such as text or numbers.") from None
    return listed
