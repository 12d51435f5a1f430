"""Names that do something which the other names of their group do not: then the gap may be about that name."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from recuse import stats

LEAST = 3  # of two names that differ, neither is known to be the odd one
_FLIPS = 20_000


@dataclass(frozen=True, slots=True)
class NameRow:
    """One name of one group.

    apart     its mean minus the mean of the other names of its group, within templates and averaged over these; names
              that were found outlying before it are not among the others
    p         that the sign of that difference is random by template; p_adjusted is Holm's over all names
    """

    name: str
    group: str
    n: int  # rows with a value
    missing: int
    mean: float | None
    apart: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    outlying: bool = False


@dataclass
class _Group:
    means: np.ndarray  # (templates, names), NaN where a name has no value in a template
    kept: list[int]  # names that are not outlying

    def against(self, k: int) -> tuple[float | None, float | None]:
        """How far a name is from the rest, and p."""
        rest = [j for j in self.kept if j != k]
        if not rest:
            return None, None
        there = ~np.isnan(self.means[:, rest])
        both = ~np.isnan(self.means[:, k]) & there.any(axis=1)
        if not both.any():
            return None, None
        others = np.where(there, self.means[:, rest], 0.0).sum(axis=1)[both] / there.sum(axis=1)[both]
        found = stats.sign_flip_test(np.sort(self.means[both, k] - others), resamples=_FLIPS)
        return found.estimate, found.pvalue


def audit_names(
    values: Sequence[float | None],
    *,
    template: Sequence[str],
    group: Sequence[str],
    name: Sequence[str],
    level: float = 0.95,
) -> tuple[NameRow, ...]:
    """A row for each name in each group; rows of the data without a name are left out.

    Each name is held against the rest of its group. While one is proven to differ, after Holm over the names of all
    groups, the farthest such name is outlying and leaves the rest, so that it does not make the others look odd.
    Groups with fewer than `LEAST` names left have no outlying one.
    """
    plain = _plain(values, group, name)
    groups: dict[str, _Group] = {}
    of: list[tuple[_Group, int]] = []
    for row in plain:
        if row.group not in groups:
            names = [one.name for one in plain if one.group == row.group]
            means = _means(values, template, [g == row.group and n for g, n in zip(group, name, strict=True)], names)
            groups[row.group] = _Group(means, list(range(len(names))))
        own = groups[row.group]
        of.append((own, sum(1 for one, _ in of if one is own)))
    found = [_held(row, own, k) for row, (own, k) in zip(plain, of, strict=True)]
    while True:
        found = _adjusted(found)
        odd = [
            i
            for i, (row, (own, _)) in enumerate(zip(found, of, strict=True))
            if not row.outlying and _proven(row, level) and len(own.kept) >= LEAST
        ]
        if not odd:
            return tuple(found)
        i = max(odd, key=lambda i: abs(found[i].apart or 0.0))
        own, k = of[i]
        found[i] = replace(found[i], outlying=True)
        own.kept.remove(k)
        for j, (other, place) in enumerate(of):
            if other is own and place in own.kept:
                found[j] = _held(found[j], own, place)


def _held(row: NameRow, own: _Group, k: int) -> NameRow:
    apart, p = own.against(k)
    return replace(row, apart=apart, p=p)


def _proven(row: NameRow, level: float) -> bool:
    return row.p_adjusted is not None and row.p_adjusted <= 1 - level


def _adjusted(rows: Sequence[NameRow]) -> list[NameRow]:
    adjusted = iter(stats.holm([row.p for row in rows if row.p is not None]).tolist())
    return [row if row.p is None else replace(row, p_adjusted=next(adjusted)) for row in rows]


def _plain(values: Sequence[float | None], group: Sequence[str], name: Sequence[str]) -> list[NameRow]:
    own: dict[tuple[str, str], list[float | None]] = {}
    for value, side, who in zip(values, group, name, strict=True):
        if who:
            own.setdefault((side, who), []).append(value)
    rows = []
    for (side, who), column in own.items():
        there = [value for value in column if value is not None]
        mean = math.fsum(there) / len(there) if there else None
        rows.append(NameRow(who, side, len(there), len(column) - len(there), mean))
    return sorted(rows, key=lambda row: row.group)


def _means(
    values: Sequence[float | None], template: Sequence[str], name: Iterable[str | bool], names: Sequence[str]
) -> np.ndarray:
    """Mean by template and name; `name` is False in rows of other groups."""
    row_of, place = {t: i for i, t in enumerate(dict.fromkeys(template))}, {n: i for i, n in enumerate(names)}
    total, count = np.zeros((len(row_of), len(names))), np.zeros((len(row_of), len(names)))
    for value, one, who in zip(values, template, name, strict=True):
        if who and value is not None:
            at = row_of[one], place[str(who)]
            total[at] += value
            count[at] += 1
    means: np.ndarray = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    return means
