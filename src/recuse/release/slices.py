"""The worst-slice rule on the findings `slice.ratio:TAG=VALUE` of a run.

A ratio to the best slice under the floor with p under 1 - level fails. Any other slice of fewer than `smallest` cases
is too small to be judged, and prevents a pass, as does one whose rows lack an outcome more often than others. Where the
run knows which rows belong together, p is the one that has them as its units. Neither the choice of the best slice nor
the number of slices is corrected for: eight slices of 300 without any gap fail in 11 % of runs at a rate of 0.5, and in
51 % at 0.3 (`recuse probe power`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from recuse.release.baseline import doubt_of
from recuse.release.checks import Check, Decision, Value
from recuse.release.tolerances import WorstSlice
from recuse.types import Finding

PREFIX = "slice.ratio:"
_ROUNDING = 1e-9  # a ratio of exactly four fifths is not under it
_NEXT = re.compile(r",(?=[^,=]+=)")  # between the tags of an intersection


def tags_of(one: Finding) -> str:
    """The tags by which a slice is cut: "dialect", or "dialect,age" for an intersection."""
    told = one.details.get("tags")
    if isinstance(told, Mapping):
        return ",".join(map(str, told))
    return ",".join(part.partition("=")[0].strip() for part in _NEXT.split(one.id.removeprefix(PREFIX)))


def slices_of(findings: Iterable[Finding], rule: WorstSlice) -> list[Finding]:
    """Those that the rule judges."""
    return [one for one in findings if one.id.startswith(PREFIX) and (rule.by is None or tags_of(one) in rule.by)]


def worst_slice(slices: Sequence[Finding], rule: WorstSlice) -> Check:
    """Apply `rule` to at least one slice; the check is that of the worst."""
    read = [(*_judge(one, rule, len(slices)), one) for one in slices]
    rank = {"fail": 0, "inconclusive": 1, "pass": 2}
    outcome, why, worst = min(read, key=lambda r: (rank[r[0]], 1.0 if r[2].estimate is None else r[2].estimate))
    others = sum(found == outcome for found, _, _ in read) - 1
    if outcome == "pass":
        why = f"none of {len(read)} slices has a ratio under {rule.floor:g} with p under {1 - rule.level:.6g}"
    elif others:
        why += f"; and {others} more"
    value = Value(worst.estimate, worst.interval, worst.bounds, rule.level, worst.n, worst.reason, method=worst.method)
    title = f"Worst slice, {worst.id.removeprefix(PREFIX)}"
    return Check("worst_slice", "worst_slice", title, value, (rule.floor, None), outcome, why, _p(worst))


def _judge(one: Finding, rule: WorstSlice, slices: int) -> tuple[Decision, str]:
    name, p, alpha = one.id.removeprefix(PREFIX), _p(one), 1.0 - rule.level
    if (doubt := doubt_of(one)) is not None:
        return "inconclusive", f"{name} is in doubt: {doubt}"
    low = one.estimate is not None and one.estimate < rule.floor - _ROUNDING
    if low and p is not None and p < alpha:
        return "fail", f"{name} has a ratio of {one.estimate:.3f}, under {rule.floor:g}, with p {p:.2g}"
    if one.n < rule.smallest:
        return "inconclusive", f"{name} has {one.n:,} cases, and a slice is judged from {rule.smallest:,} on"
    if one.estimate is None:
        return "inconclusive", f"{name} was not measured: {one.reason or 'the run gives no reason'}"
    if low and p is None:
        return "inconclusive", f"{name} has a ratio of {one.estimate:.3f} and no p-value"
    gap = one.details.get("failure_gap")
    failing = gap.get("p") if isinstance(gap, Mapping) else None
    if isinstance(failing, float) and failing * slices < alpha:
        return (
            "inconclusive",
            f"{name} lacks an outcome in another share of its rows than the others, with p {failing:.2g}",
        )
    return "pass", ""


def _p(one: Finding) -> float | None:
    units = one.details.get("clustered")
    p = units.get("p") if isinstance(units, Mapping) else one.p
    return float(p) if isinstance(p, int | float) else None
