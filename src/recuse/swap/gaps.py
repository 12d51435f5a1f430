"""Values by template and side become a gap with everything that the decision asks of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from recuse import stats
from recuse.audits.measure import Side
from recuse.audits.table import Floats

FIT_POWER = 0.9  # with which a judge without any gap shall be found fit


@dataclass
class Rows:
    """One value a row, None where there is no verdict."""

    template: list[str] = field(default_factory=list)
    side: list[str] = field(default_factory=list)
    name: list[str] = field(default_factory=list)
    value: list[float | None] = field(default_factory=list)

    def add(self, template: str, side: str, name: str, value: float | None) -> None:
        self.template.append(template)
        self.side.append(side)
        self.name.append(name)
        self.value.append(value)


@dataclass(frozen=True)
class Gap:
    """Side a minus side b, mean over templates.

    `found` trusts the scatter that it sees: its interval and its sign-flip p decide on "recuse". `careful` knows the
    bounds of the values as well: it reckons with rare values that did not show and with every completion of missing
    verdicts, and decides on "fit".
    """

    found: stats.PairedGap
    careful: stats.PairedGap
    low: Floats  # by template, missing verdicts completed so that the gap is least
    high: Floats
    width: float  # of the values' range

    @classmethod
    def of(
        cls,
        rows: Rows,
        a: str,
        b: str,
        *,
        bounds: tuple[float, float],
        level: float,
        seed: int,
        resamples: int = 10_000,
    ) -> Gap:
        kept = [i for i, side in enumerate(rows.side) if side in (a, b)]
        values = [rows.value[i] for i in kept]
        gone = np.array([value is None for value in values], dtype=bool)
        filled = np.array([bounds[0] if value is None else value for value in values], dtype=float)
        template, side, name = ([column[i] for i in kept] for column in (rows.template, rows.side, rows.name))
        several = min(len({n for n, s in zip(name, side, strict=True) if s == one}) for one in (a, b)) > 1

        def gap(bounds: tuple[float, float] | None) -> stats.PairedGap:
            return stats.paired_gap(
                filled, template=template, group=side, a=a, b=b, name=name if several else None, bounds=bounds,
                missing=gone, level=level, seed=seed, resamples=resamples,
            )  # fmt: skip

        first = np.array([one == a for one in side], dtype=bool)
        low, high = (_completed(values, first, template, *ends) for ends in (bounds, (bounds[1], bounds[0])))
        return cls(gap(None), gap(bounds), low, high, bounds[1] - bounds[0])

    @property
    def estimate(self) -> float | None:
        return self.found.estimate

    @cached_property
    def by_template(self) -> dict[str, float]:
        return {str(t.template): t.gap for t in self.found.templates if t.gap is not None}

    @property
    def sd(self) -> float:
        """Of the gap between templates."""
        gaps = list(self.by_template.values())
        return float(np.std(gaps, ddof=1)) if len(gaps) > 1 else 0.0

    def beyond(self, bound: float, side: Side) -> float:
        """One-sided p for a gap beyond `bound`, missing verdicts completed in the judge's favour."""
        return above(self.low if side == "greater" else self.high, bound, side=side, width=self.width)

    def outside(self, tolerance: float) -> float:
        """Two-sided p for a gap outside [-tolerance, tolerance]."""
        return min(1.0, 2.0 * min(self.beyond(tolerance, "greater"), self.beyond(-tolerance, "less")))

    def inside(self, tolerance: float) -> bool:
        """Whether the whole interval of the careful reading lies within the tolerance."""
        return stats.equivalence(self.careful.worst_interval, low=-tolerance, high=tolerance) == "pass"

    def needed(self, tolerance: float, *, level: float) -> int | None:
        """Templates with which a judge without a gap is found fit with `FIT_POWER`, given this scatter.

        A gap of the tolerance is found with power 1 - beta where no gap is proven within it with power 1 - 2 beta:
        both ask for the same number of standard errors.
        """
        unseen = math.ceil(math.log((1 - level) / 2) / math.log1p(-min(tolerance / self.width, 0.999)))
        if not self.sd:
            return unseen
        power = 1 - (1 - FIT_POWER) / 2
        n = stats.design_for_gap(tolerance, sd_template=self.sd, level=level, power=power).templates
        return None if n is None else max(n, unseen)


def above(values: Floats, bound: float, *, side: Side = "greater", width: float) -> float:
    """One-sided p that the mean lies beyond `bound`: studentised bootstrap, or the exact bound where nothing
    scatters."""
    if not len(values):
        return 1.0
    found = stats.minimum_effect_test(values, minimum=bound, alternative=side)
    if found.pvalue is None and len(values) > 1:
        found = stats.minimum_effect_test(values, minimum=bound, alternative=side, bounds=(-width, width))
    return 1.0 if found.pvalue is None else found.pvalue


def excess(gap: Gap, floors: Sequence[Gap]) -> float:
    """p that the gap is larger than what each meaningless change does, in its direction or against it.

    By template: gap minus floor and gap plus floor both have to be positive, for every floor; twice the largest of the
    one-sided p-values, since the sign of the gap is read off the data.
    """
    sign = math.copysign(1.0, gap.estimate or 0.0)
    found = []
    for floor in floors:
        both = sorted(gap.by_template.keys() & floor.by_template.keys())
        swap = sign * np.array([gap.by_template[t] for t in both])
        change = np.array([floor.by_template[t] for t in both])
        found += [above(swap - change, 0.0, width=2 * gap.width), above(swap + change, 0.0, width=2 * gap.width)]
    return min(1.0, 2.0 * max(found, default=0.0))


@dataclass(frozen=True)
class Ruled:
    """A gap after the rule: `p_outside` and `p_flip` are Holm's over all gaps that were ruled on together."""

    gap: Gap
    tolerance: float
    outcome: str | None  # "fit", "recuse", "inconclusive"; None: not measured
    p_outside: float | None = None
    p_flip: float | None = None
    p_floor: float | None = None  # that it exceeds what meaningless edits do; None: none was measured
    beyond: bool = False  # outside the tolerance and not the play of chance
    exceeds: bool = True  # and no meaningless edit does as much


def rule(gaps: Sequence[tuple[Gap, float]], floors: Sequence[Sequence[Gap]], *, level: float) -> list[Ruled]:
    """Fit: the careful interval lies within the tolerance. Recuse: the gap lies outside of it, is not the play of
    chance by sign flips, both after Holm over these gaps, and exceeds the floor. Else inconclusive.

    It exceeds the floor where it is larger than what each meaningless edit does, and proven to be larger than each
    edit that is itself proven to do something. An edit that is not leaves nothing to exceed but noise, which the tests
    of the gap reckon with already.

    gaps    each with its tolerance
    floors  for each gap, the gaps of meaningless edits in the same mode
    """
    measured = [i for i, (gap, _) in enumerate(gaps) if gap.estimate is not None]
    outside = dict(zip(measured, _holm(gaps[i][0].outside(gaps[i][1]) for i in measured), strict=True))
    flips = dict(zip(measured, _holm(gaps[i][0].found.pvalue for i in measured), strict=True))
    ruled = []
    for i, (gap, tolerance) in enumerate(gaps):
        if i not in outside:
            ruled.append(Ruled(gap, tolerance, None))
            continue
        present = [floor for floor in floors[i] if floor.estimate is not None]
        beyond = max(outside[i], flips[i]) <= 1 - level
        exceeds = _exceeds(gap, present, level=level)
        outcome = "fit" if gap.inside(tolerance) else "recuse" if beyond and exceeds else "inconclusive"
        p_floor = excess(gap, present) if present else None
        ruled.append(Ruled(gap, tolerance, outcome, outside[i], flips[i], p_floor, beyond, exceeds))
    return ruled


def _exceeds(gap: Gap, floors: Sequence[Gap], *, level: float) -> bool:
    if any(abs(floor.estimate or 0.0) >= abs(gap.estimate or 0.0) for floor in floors):
        return False
    proven = [floor for floor in floors if floor.found.pvalue is not None and floor.found.pvalue <= 1 - level]
    return excess(gap, proven) <= 1 - level


def size(rows: Rows, a: str, b: str) -> float | None:
    """Mean absolute difference between the first row of side a and the first of side b in a template, and so on."""
    sides: dict[str, tuple[list[float | None], list[float | None]]] = {}
    for template, side, value in zip(rows.template, rows.side, rows.value, strict=True):
        if side in (a, b):
            sides.setdefault(template, ([], []))[side == b].append(value)
    found = [
        abs(one - two)
        for first, second in sides.values()
        for one, two in zip(first, second, strict=False)
        if one is not None and two is not None
    ]
    return sum(found) / len(found) if found else None


def _completed(
    values: Sequence[float | None], first: np.ndarray, template: Sequence[str], for_a: float, for_b: float
) -> Floats:
    """Gaps by template with each missing value put to the end of its side; templates without one of the sides are
    left out."""
    x = np.array([(for_a if a else for_b) if v is None else v for v, a in zip(values, first, strict=True)], dtype=float)
    codes = np.unique(np.array(template), return_inverse=True)[1]
    sums = [np.bincount(codes, weights=x * side, minlength=codes.max(initial=-1) + 1) for side in (first, ~first)]
    counts = [np.bincount(codes, weights=side, minlength=codes.max(initial=-1) + 1) for side in (first, ~first)]
    both = (counts[0] > 0) & (counts[1] > 0)
    gaps: Floats = sums[0][both] / counts[0][both] - sums[1][both] / counts[1][both]
    return gaps


def _holm(pvalues: Iterable[float | None]) -> list[float]:
    return stats.holm([1.0 if p is None else p for p in pvalues]).tolist()
