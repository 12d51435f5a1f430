"""The gap between two groups in recorded replies: `recuse probe analyse`.

The template is the unit. Its names, draws and repeats say how exactly its own gap is known; how far the gap holds for
further templates is seen from the scatter between templates alone. (After the design of paired audit studies, as
Bertrand & Mullainathan 2004, AER 94:991; Miller 2024, arXiv 2411.00640, asks for the same clustering in evaluations.)
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtr, stdtrit

from recuse import stats
from recuse.counterfactual.plan import LEAST_NAMES
from recuse.errors import InputError, UsageError
from recuse.probes.noise import Flips, flips
from recuse.probes.outliers import NameRow, audit_names
from recuse.probes.records import Records, label
from recuse.stats.missing import in_groups

Bounds = tuple[float, float]
WHOLE = ("stratum", "batch")  # columns of a template, by which gaps are always taken apart
NONE = "(none)"  # the rows whose cell of such a column is empty


@dataclass(frozen=True, slots=True)
class Gap:
    """`found` trusts the scatter that it sees. `careful` knows the metric's bounds: it reckons with values that did not
    show and with every completion of the missing ones; None without bounds."""

    found: stats.PairedGap
    careful: stats.PairedGap | None

    @property
    def shown(self) -> stats.PairedGap:
        """The one whose interval is told: where no template differs from another, only bounds give one."""
        return self.careful if self.found.interval is None and self.careful is not None else self.found


@dataclass(frozen=True, slots=True)
class Cut:
    """The gap within the rows of one value of a column; `p_adjusted` is Holm's over the values of that column."""

    value: str
    gap: Gap
    p_adjusted: float | None


@dataclass(frozen=True, slots=True)
class TemplateRow:
    """`labels`: what the columns by which gaps were cut say of it."""

    template_id: str
    labels: dict[str, str | None]
    gap: float | None
    mean_a: float | None
    mean_b: float | None
    n_a: int  # rows with a value
    n_b: int
    missing_a: int
    missing_b: int


@dataclass(frozen=True, slots=True)
class Analysis:
    """a minus b. `pooled` takes every reply for an independent one, which is wrong and stands here for comparison."""

    metric: str
    a: str
    b: str
    rows: int
    bounds: Bounds | None
    gap: Gap
    pooled: stats.Estimate
    per_name: tuple[NameRow, ...]
    per_template: tuple[TemplateRow, ...]  # those that drive the gap first, those without one last
    cuts: dict[str, tuple[Cut, ...]]
    flips: Flips | None  # None where values are no decisions
    notes: tuple[str, ...] = ()


def analyse(
    records: Records,
    *,
    metric: str,
    groups: tuple[str, str],
    by: Sequence[str] = (),
    bounds: Bounds | None = None,
    least_names: int = LEAST_NAMES,
    level: float = 0.95,
    seed: int = 0,
) -> Analysis:
    """The gap of a metric between two groups, the first minus the second, and all that could explain it away.

    by           further columns by which the gap is taken apart, beside stratum and batch
    bounds       of the metric; 0 and 1 where all its values are such
    least_names  refuse fewer names a group, for then what one name does poses as what its group does; records without
                 any name are taken as they are

    Raises InputError for a group without rows, too few names, values outside the bounds, and as `Records.values` does;
    UsageError for groups that are not two.
    """
    a, b = groups
    values = _values(records, metric, a, b, bounds)
    if bounds is None and all(value in (0.0, 1.0, None) for value in values):
        bounds = (0.0, 1.0)
    names = _names(records, (a, b), least_names)
    rows = _Rows(records, values, a, b, bounds, level, seed, whole=names == "all")
    gap = rows.gap()
    columns = [*(key for key in WHOLE if key in records.columns), *dict.fromkeys(by)]
    cuts = {column: rows.cuts(column) for column in dict.fromkeys(columns)}
    per_name: tuple[NameRow, ...] = ()
    if names != "none":
        per_name = audit_names(
            rows.values, template=rows.template, group=rows.group, name=rows.name, level=level
        )  # fmt: skip
    decided = bounds == (0.0, 1.0) and all(value in (0.0, 1.0, None) for value in rows.values)
    found = Analysis(
        metric, a, b, len(rows.values), bounds, gap, rows.pooled(), per_name, rows.per_template(gap.found, list(cuts)),
        cuts, rows.flips() if decided else None,
    )  # fmt: skip
    return replace(found, notes=notes_of(found, names))


class _Rows:
    """The rows of two groups as columns."""

    def __init__(
        self, records: Records, values: Sequence[float | None], a: str, b: str, bounds: Bounds | None, level: float,
        seed: int, *, whole: bool,
    ) -> None:  # fmt: skip
        keys = list(zip(records.template_id, records.group, records.name, records.seed, strict=True))
        # Sorted, so that the order of the rows changes nothing.
        self.kept = sorted((i for i, group in enumerate(records.group) if group in (a, b)), key=lambda i: keys[i])
        self.values = [values[i] for i in self.kept]
        self.template, self.group, self.name, self.draw = (
            [column[i] for i in self.kept]
            for column in (records.template_id, records.group, records.name, records.seed)
        )
        self.records, self.a, self.b = records, a, b
        self.bounds, self.level, self.seed = bounds, level, seed
        self.whole = whole  # whether every row has a name

    def gap(self, places: Sequence[int] | None = None) -> Gap:
        """Of all rows, or of some."""
        at = range(len(self.values)) if places is None else places

        def found(bounds: Bounds | None) -> stats.PairedGap:
            return stats.paired_gap(
                np.array([self.values[i] for i in at], dtype=object),
                template=[self.template[i] for i in at],
                group=[self.group[i] for i in at],
                a=self.a,
                b=self.b,
                name=[self.name[i] for i in at] if self.whole else None,
                bounds=bounds,
                level=self.level,
                seed=self.seed,
            )

        return Gap(found(None), found(self.bounds) if self.bounds else None)

    def cuts(self, column: str) -> tuple[Cut, ...]:
        cells = self.records.column(column)
        places: dict[str, list[int]] = {}
        for i, row in enumerate(self.kept):
            places.setdefault(label(cells[row]) or NONE, []).append(i)
        gaps = {value: self.gap(places[value]) for value in sorted(places)}
        adjusted = iter(stats.holm([g.found.pvalue for g in gaps.values() if g.found.pvalue is not None]).tolist())
        return tuple(
            Cut(value, gap, None if gap.found.pvalue is None else next(adjusted)) for value, gap in gaps.items()
        )

    def pooled(self) -> stats.Estimate:
        """Welch's t over single replies."""
        first, second = in_groups(self.group, len(self.group), self.a, self.b)
        sides = [
            np.array(
                [value for value, own in zip(self.values, mask.tolist(), strict=True) if own and value is not None]
            )
            for mask in (first, second)
        ]
        method = "Welch's t over single replies, as if each were independent: wrong, for comparison only"
        n = sum(side.size for side in sides)
        if min(side.size for side in sides) < 2:
            return stats.Estimate(None, None, n, n, method, self.level, reason="fewer than two replies in a group")
        gap = float(sides[0].mean() - sides[1].mean())
        shares = [float(side.var(ddof=1)) / side.size for side in sides]
        error = math.sqrt(sum(shares))
        if error == 0:
            return stats.Estimate(gap, None, n, n, method, self.level, reason="no reply differs within its group")
        df = 1 / sum((s / sum(shares)) ** 2 / (side.size - 1) for s, side in zip(shares, sides, strict=True))
        reach = float(stdtrit(df, (1 + self.level) / 2)) * error
        return stats.Estimate(
            gap, (gap - reach, gap + reach), n, n, method, self.level, 2 * float(stdtr(df, -abs(gap) / error))
        )

    def per_template(self, gap: stats.PairedGap, columns: Sequence[str]) -> tuple[TemplateRow, ...]:
        said = {column: self.records.of_template(column) for column in columns}
        gone: dict[tuple[Hashable, str], int] = {}
        for template, group, value in zip(self.template, self.group, self.values, strict=True):
            gone[template, group] = gone.get((template, group), 0) + (value is None)
        rows = [
            TemplateRow(
                str(t.template), {column: of[str(t.template)] for column, of in said.items()}, t.gap, t.mean_a,
                t.mean_b, t.n_a, t.n_b, gone.get((t.template, self.a), 0), gone.get((t.template, self.b), 0),
            )
            for t in gap.templates
        ]  # fmt: skip
        sign = -1.0 if (gap.estimate or 0.0) >= 0 else 1.0
        return tuple(sorted(rows, key=lambda row: (row.gap is None, sign * (row.gap or 0.0), row.template_id)))

    def flips(self) -> Flips:
        columns = self.records.columns
        sent, fresh = ([columns[key][i] for i in self.kept] if key in columns else None for key in ("prompt", "fresh"))
        return flips(
            self.values, template=self.template, group=self.group, name=self.name, seed=self.draw, a=self.a, b=self.b,
            text=sent, fresh=fresh, level=self.level,
        )  # fmt: skip


def _values(records: Records, metric: str, a: str, b: str, bounds: Bounds | None) -> list[float | None]:
    """The metric's values, once groups and bounds are known to be sound."""
    values = records.values(metric)
    if a == b:
        raise UsageError(f"{a!r} is compared with itself.", hint="Name two groups.")
    for group in (a, b):
        if group not in records.group:
            known = ", ".join(dict.fromkeys(records.group))
            raise InputError(
                f"no rows in the group {group!r}", path=records.path, field="group", hint=f"It has: {known}."
            )
    if bounds is not None:
        if not (math.isfinite(bounds[0]) and math.isfinite(bounds[1]) and bounds[0] < bounds[1]):
            raise UsageError(f"The bounds are {bounds[0]:g} and {bounds[1]:g}.", hint="Give the lower one first.")
        for number, group, value in zip(records.number, records.group, values, strict=True):
            if group in (a, b) and value is not None and not bounds[0] <= value <= bounds[1]:
                raise InputError(
                    f"{value:g} lies outside {bounds[0]:g} to {bounds[1]:g}", path=records.path, row=number,
                    field=metric, hint="Correct the row or the bounds.",
                )  # fmt: skip
    return values


def _names(records: Records, groups: tuple[str, str], least: int) -> str:
    """Whether "all" rows of these groups have a name, "some" or "none". Raises InputError for too few names."""
    own = {group: [n for g, n in zip(records.group, records.name, strict=True) if g == group] for group in groups}
    if not any(any(names) for names in own.values()):
        return "none"
    for group, names in own.items():
        distinct = len({name for name in names if name})
        if distinct < least:
            raise InputError(
                f"the group {group!r} has {distinct} name{'s' * (distinct != 1)}", path=records.path, field="name",
                hint=f"At least {least} a group are needed: with fewer, what one name does poses as what its group "
                "does. For records that cannot have more, say --least-names.",
            )  # fmt: skip
    return "all" if all(all(names) for names in own.values()) else "some"


def notes_of(found: Analysis, names: str) -> tuple[str, ...]:
    """What a reader has to know beside the numbers, each in one sentence."""
    gap, a, b = found.gap.found, found.a, found.b
    alpha = 1 - gap.level
    notes = []
    if gap.estimate is None:
        notes.append(f"The gap was not measured: {gap.reason}.")
    elif gap.groups == 1:
        notes.append("All values are of one template, which says nothing about further ones.")
    elif found.gap.shown.interval is None:
        notes.append("No template differs from another, so that only bounds give an interval: give --bounds.")
    failures = gap.failures
    if failures is not None and (gap.missing_a or gap.missing_b):
        rates = f"{a} {failures.rate_a:.3f}, {b} {failures.rate_b:.3f}"
        if failures.pvalue is not None and failures.pvalue <= alpha:
            notes.append(
                f"Values are missing more often for one group ({rates}, p {failures.pvalue:.3g}): a gap of its own, "
                "which the gap in the answers does not show."
            )
        else:
            notes.append(f"Values are missing ({rates}); the gap is of the replies that have one.")
        if found.bounds is None:
            notes.append("What the missing values could hide is unknown without the metric's bounds: give --bounds.")
    if gap.excluded:
        notes.append(
            f"{len(gap.excluded)} templates have values in one of the groups only, or in none: {_some(gap.excluded)}."
        )
    pooled = found.pooled
    if pooled.pvalue is not None and gap.pvalue is not None and pooled.pvalue <= alpha < gap.pvalue:
        notes.append(
            f"Taken for {pooled.n:,} independent replies the gap would have p {pooled.pvalue:.3g}. Replies to one "
            f"template are not independent: over {gap.groups} templates p is {gap.pvalue:.3g}."
        )
    if names == "none":
        notes.append("The records have no names: what a name does cannot be told from what its group does.")
    if names == "some":
        notes.append("Some rows have no name: nothing is said about further names.")
    if odd := [row for row in found.per_name if row.outlying]:
        listed = ", ".join(f"{row.name} ({row.group}, {row.apart:+.3f})" for row in odd)
        notes.append(f"Names that differ from the others of their group: {listed}. The gap may be about them.")
    if found.flips is not None and found.flips.noise.estimate is None:
        notes.append(f"Whether flips are more than noise cannot be told: {found.flips.noise.reason}.")
    return tuple(notes)


def _some(items: Sequence[object]) -> str:
    return ", ".join(str(item) for item in items[:6]) + (" …" if len(items) > 6 else "")
