"""The paired gap by template: what a change of group does to the answer, everything else equal.

A template (one question, one CV, one prompt) is filled with names of group a and of group b, perhaps several times. Per
template: mean over its rows of group a minus mean over those of group b. The estimate is the mean over templates; the
template is the unit of the interval and of the tests. They speak about further templates with these very names, unless
asked about further names too (see `PairedGap.across_names`).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from recuse.stats.bootstrap import sample_interval
from recuse.stats.cells import Cells, NameMean, Rows, TemplateGap, listed, name_means
from recuse.stats.inputs import Array, Bounds, encode
from recuse.stats.missing import FailureGap, Labels, Mask, failure_gap_of, in_groups
from recuse.stats.multiplicity import holm
from recuse.stats.names import across_names
from recuse.stats.results import Estimate, check_level, check_resampling
from recuse.stats.signflip import sign_flip_test
from recuse.stats.studentised import sample_pvalues

METHOD = "paired gap by template"


@dataclass(frozen=True, slots=True)
class PairedGap(Estimate):
    """Mean of a minus mean of b. `n` counts the rows in the gap, `groups` its templates.

    Names are fixed: `interval`, `pvalue` and `pvalue_bound` say how far the gap of these names holds for further
    templates. An effect of a name that all templates share is part of that gap. `across_names` is the claim about
    groups, for further names as well; it is there where names were given, and its interval holds `interval`.

    `pvalue` is the sign-flip test over templates, `test` its kind and what it assumes; `pvalue_bound` is two-sided and
    assumes no symmetry (`minimum_effect_test` at 0). The studentised flip is the same test as the plain one here, since
    every template is one gap. Interval and p-values are three methods that may differ at the edge; say in advance which
    decides. In simulated probes of 30 to 60 templates the interval left 0 out while neither p was under 0.05 in up to
    4 % of them (with bounds, where `pvalue_bound` is the most careful of the three), and in 1 % without bounds.

    `worst` is the gap of all templates that have rows in both groups, over all values that the missing ones could have.
    `estimate` knows only templates where both groups have values; these may be fewer, and it may lie outside `worst`.
    """

    a: Hashable = None
    b: Hashable = None
    test: str = ""
    pvalue_bound: float | None = None
    pvalue_adjusted: float | None = None  # Holm, among the gaps of one `paired_gaps`
    templates: tuple[TemplateGap, ...] = ()
    names: tuple[NameMean, ...] = ()
    excluded: tuple[Hashable, ...] = ()  # templates with values in only one of the groups, or in none
    failures: FailureGap | None = None  # how often values are missing, a minus b
    missing_a: int = 0
    missing_b: int = 0
    worst: tuple[float, float] | None = None  # the gap over all completions of missing values; needs `bounds`
    worst_interval: tuple[float, float] | None = None
    across_names: Estimate | None = None  # templates and names as crossed samples; needs `name`
    distribution: Array | None = field(default=None, compare=False, repr=False)  # resampled gaps, with `keep`


def paired_gap(
    values: ArrayLike,
    *,
    template: Labels,
    group: Labels,
    a: Hashable,
    b: Hashable,
    name: Labels | None = None,
    weight: ArrayLike | None = None,
    stratum: Labels | None = None,
    missing: ArrayLike | None = None,
    bounds: Bounds | None = None,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    keep: bool = False,
) -> PairedGap:
    """The gap between groups a and b within templates, one row per answer; rows of other groups are left out.

    values: numbers, None or masked where missing (or where `missing` is true). `bounds`: between which values lie;
    gives worst-case bounds under missing values, and exact limits where few templates differ. `weight`: a positive
    number per row, for the means within a template. `stratum`: a control feature; the gap is taken within template and
    stratum, averaged over a stratum's templates, and strata are weighted by their rows. `keep` keeps the resampled gaps
    where the interval is a bootstrap one.

    Names are taken as given. `name` adds a mean per name, and with at least two names a group the interval and p-value
    that hold for further names, in `across_names`. Where names are not crossed with templates (each CV has one name,
    drawn by chance, as in Bertrand & Mullainathan 2004), give all rows one template and read `across_names`: the unit
    is then the name. `risk_difference(values, group == a, groups=name)` needs no normal theory where few names differ,
    and is much wider there (for their data -0.19 to 0.24 against 0.015 to 0.049).

    Templates without values in both groups are listed in `excluded` and not in the gap. Without any other template
    the estimate is None, with the reason. Raises ValueError for lengths that differ, values outside the bounds, NaN.
    """
    check_level(level)
    check_resampling(resamples, seed)
    rows = Rows.of(values, template, name, weight, stratum, missing, bounds)
    settings = _Settings(level, resamples, seed, keep)
    first, second = in_groups(group, rows.x.size, a, b)
    return _gap(rows, first, second, a, b, settings)


def paired_gaps(
    values: ArrayLike,
    *,
    template: Labels,
    group: Labels,
    against: Literal["all pairs", "rest"] = "all pairs",
    name: Labels | None = None,
    weight: ArrayLike | None = None,
    stratum: Labels | None = None,
    missing: ArrayLike | None = None,
    bounds: Bounds | None = None,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    keep: bool = False,
) -> tuple[PairedGap, ...]:
    """`paired_gap` for every pair of groups, in sorted order, or for each group against the rows of all others.

    Two groups have one gap either way. `pvalue_adjusted` is Holm's over these gaps; intervals are not adjusted. Raises
    ValueError as `paired_gap` does, and for fewer than two groups.
    """
    if against not in ("all pairs", "rest"):
        raise ValueError(f"against must be 'all pairs' or 'rest', got {against!r}.")
    check_level(level)
    check_resampling(resamples, seed)
    rows = Rows.of(values, template, name, weight, stratum, missing, bounds)
    settings = _Settings(level, resamples, seed, keep)
    groups = listed(group, rows.x.size, "groups")
    codes = encode(groups, rows.x.size)
    labels = dict(zip(codes.tolist(), groups, strict=True))
    try:
        order = sorted(labels, key=lambda code: labels[code])
    except TypeError:  # labels of several types
        order = sorted(labels, key=lambda code: str(labels[code]))
    if len(order) < 2:
        raise ValueError(f"gaps need at least two groups, got {len(order)}.")
    gaps = []
    for place, code in enumerate(order):
        first = codes == code
        if against == "rest" and len(order) > 2:
            gaps.append(_gap(rows, first, ~first, labels[code], "rest", settings))
            continue
        for other in order[place + 1 :]:
            gaps.append(_gap(rows, first, codes == other, labels[code], labels[other], settings))
    tested = [gap.pvalue for gap in gaps if gap.pvalue is not None]
    adjusted = iter(holm(tested).tolist())
    return tuple(gap if gap.pvalue is None else replace(gap, pvalue_adjusted=next(adjusted)) for gap in gaps)


@dataclass(frozen=True, slots=True)
class _Settings:
    level: float
    resamples: int
    seed: int
    keep: bool


def _gap(rows: Rows, first: Mask, second: Mask, a: Hashable, b: Hashable, settings: _Settings) -> PairedGap:
    kept = np.flatnonzero(first | second)
    cells, x, gone = Cells.of(rows, kept, first[kept]), rows.x[kept], rows.gone[kept]
    gaps, usable = cells.gaps(x, ~gone)
    templates = encode(rows.template, rows.x.size)
    worst, worst_interval = _completed(rows, cells, x, gone, settings) if gone.any() else (None, None)
    found = PairedGap(
        None, None, 0, 0, METHOD, settings.level,
        a=a,
        b=b,
        templates=cells.table(x, ~gone),
        names=name_means(rows, ((a, first), (b, second))),
        excluded=cells.templates_without(usable),
        failures=failure_gap_of(rows.gone, first, second, templates, a=a, b=b, level=settings.level),
        missing_a=int(rows.gone[first].sum()),
        missing_b=int(rows.gone[second].sum()),
        worst=worst,
        worst_interval=worst_interval,
    )  # fmt: skip
    if not usable.any():
        empty = [label for label, side in ((a, first), (b, second)) if not side.any()]
        reason = f"no rows in group {empty[0]!r}" if empty else "no template has values in both groups"
        return replace(found, reason=reason)

    data = cells.sample(gaps, usable, rows.bounds)
    interval = sample_interval(
        data, level=settings.level, resamples=settings.resamples, seed=settings.seed, keep=settings.keep
    )
    # Sorted, so that the order of the rows changes nothing.
    flips = sign_flip_test(np.sort(cells.template_sums(gaps, usable)), seed=settings.seed)
    sides = sample_pvalues(data, 0.0, resamples=settings.resamples, seed=settings.seed)
    found = replace(
        found,
        estimate=interval.estimate,
        interval=interval.interval,
        n=int(usable[cells.cell[~gone]].sum()),
        groups=data.groups,
        method=f"{METHOD}; {interval.method}",
        pvalue=flips.pvalue,
        reason=interval.reason,
        test=flips.method,
        pvalue_bound=min(1.0, 2 * min(sides.values())) if sides else None,
        distribution=interval.distribution,
    )
    if rows.name is not None:
        further = across_names(
            cells, x, ~gone, [rows.name[row] for row in kept.tolist()],
            error=data.width * data.error if data.groups > 1 else None,
            level=settings.level,
            span=rows.bounds and rows.bounds[1] - rows.bounds[0],
        )  # fmt: skip
        found = replace(found, across_names=further if data.groups == 1 else _no_surer(further, found))
    return found if gone.any() else replace(found, worst=(data.estimate,) * 2, worst_interval=interval.interval)


def _no_surer(further: Estimate, found: PairedGap) -> Estimate:
    """What holds for further names too cannot be surer than what holds for these."""
    if further.pvalue is None or found.pvalue is None or further.interval is None:
        return further
    low, high = further.interval
    if found.interval is not None:
        low, high = min(low, found.interval[0]), max(high, found.interval[1])
    return replace(further, interval=(low, high), pvalue=max(further.pvalue, found.pvalue))


def _completed(
    rows: Rows, cells: Cells, x: Array, gone: Mask, settings: _Settings
) -> tuple[tuple[float, float] | None, tuple[float, float] | None]:
    """The gap and its limits with every missing value where it makes the gap least, and where it makes it greatest."""
    if rows.bounds is None:
        return None, None
    low, high = rows.bounds
    ends = []
    for for_a, for_b in ((low, high), (high, low)):
        gaps, usable = cells.gaps(np.where(gone, np.where(cells.side, for_a, for_b), x), np.ones_like(gone))
        if not usable.any():
            return None, None
        data = cells.sample(gaps, usable, rows.bounds)
        found = sample_interval(data, level=settings.level, resamples=settings.resamples, seed=settings.seed)
        ends.append((data.estimate, found.interval or rows.bounds))
    (least, below), (most, above) = ends
    return (least, most), (below[0], above[1])
