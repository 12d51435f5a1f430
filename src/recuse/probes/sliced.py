"""All figures of a table of outcomes by slice, and their one form for JSON (`recuse probe slices --json`):

    {"schema": 1, "records": str, "outcome": {"column", "positive", "rows", "failures", "as_written": {text: rows}},
     "slices": {"TAG=VALUE": {"rate", "n", "interval", "ratio", "p", "flag", ...}},          worst first
     "cuts": {"TAG": {"best", "worst_slice": {"blocks", ...}, "by_chance", "demographic_parity", "equalised_odds",
                      "counterfactual_flips", "weeks": [...], "alarms": [...]}},
     "notes": [str, ...]}

n counts the rows with an outcome, of which rate is the share of positive ones. What could not be had is null.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from recuse.probes.fairness import Odds, Spread, demographic_parity, equalised_odds
from recuse.probes.outcomes import Outcomes
from recuse.probes.redraws import Flips, flips
from recuse.probes.slices import ALPHA, FLOOR, SMALLEST, Cut, Slice, cut_all
from recuse.probes.weeks import Alarm, Week, weekly
from recuse.stats import Estimate
from recuse.stats.clustered import FEW
from recuse.types import Finding

ALARM = (
    f"A ratio under {FLOOR:g} (four fifths) is an alarm, not law: the rule of thumb stands in 29 CFR 1607.4(D), whose "
    "rescission was planned for November 2026."
)
SCREEN = "The best slice is found by looking, and p is of one comparison with it; p_corrected allows for every pair."
ROWS = "p takes every row for independent; where rows share a person or a template, name its column with --group."

FEW_CLUSTERS = (
    "Where few clusters differ, figures with clusters as units allow for whatever clusters not seen could be like, and "
    "are wide: more clusters narrow them, not more rows."
)


@dataclass(frozen=True, slots=True)
class CutFound:
    cut: Cut
    parity: Spread
    odds: Odds | None
    flips: Flips | None  # for a single tag
    weeks: tuple[Week, ...]  # for a single tag
    alarms: tuple[Alarm, ...]


@dataclass(frozen=True, slots=True)
class Sliced:
    table: Outcomes
    cuts: tuple[CutFound, ...]
    notes: tuple[str, ...]

    @property
    def slices(self) -> list[Slice]:
        """Of all cuts, the lowest ratio first and what has none last."""
        every = [one for found in self.cuts for one in found.cut.slices]
        return sorted(every, key=lambda one: (one.rates.ratio is None, one.rates.ratio or 0.0))


def slice_outcomes(table: Outcomes, *, expected: Sequence[str] = (), level: float = 0.95) -> Sliced:
    """Everything that `table` has columns for. Raises as `cut_all` does."""
    found = []
    for cut in cut_all(table, expected=expected, level=level):
        single = len(cut.by) == 1
        weeks, alarms = weekly(table, cut.by, level=level) if single else ((), ())
        found.append(
            CutFound(
                cut, demographic_parity(table, cut.by, level=level), equalised_odds(table, cut.by, level=level),
                flips(table, cut.by[0], level=level) if single else None, weeks, alarms,
            )
        )  # fmt: skip
    notes = [ALARM, SCREEN, *([ROWS] if table.cluster is None else []), *_failures(table), *table.notes]
    if any(FEW in one.clustered.method for cut in found for one in cut.cut.slices if one.clustered):
        notes.append(FEW_CLUSTERS)
    return Sliced(table, tuple(found), tuple(notes))


def _failures(table: Outcomes) -> list[str]:
    missing = sum(value is None for value in table.values)
    if not missing:
        return []
    rows = "row has" if missing == 1 else "rows have"
    return [f"{missing:,} of {len(table):,} {rows} no outcome: a failure counts in no rate, and by slice for itself."]


def slice_findings(found: Sliced) -> tuple[Finding, ...]:
    """`slice.ratio:NAME` of every slice, as the release gate reads them; that of a cut's best slice is 1."""
    return tuple(
        Finding(
            f"slice.ratio:{one.name}", f"Rate of {one.name} over that of {cut.cut.best or 'the best slice'}",
            one.rates.ratio, one.rates.ratio_interval, one.rates.n,
            one.clustered.clusters if one.clustered else one.rates.n, one.rates.pvalue,
            "score interval of the ratio (Koopman), pooled two-proportion z-test",
            None if one.rates.ratio is not None else "; ".join(one.reasons), one.ratio_bounds,
            details=_slice(one),
        )
        for cut in found.cuts
        for one in cut.cut.slices
    )  # fmt: skip


def sliced_json(found: Sliced) -> dict[str, Any]:
    """Plain values for JSON; see the module's docstring."""
    table = found.table
    return {
        "schema": 1,
        "records": table.path,
        "outcome": {
            "column": table.outcome,
            "positive": table.positive,
            "rows": len(table),
            "failures": sum(value is None for value in table.values),
            "as_written": dict(table.labels),
        },
        "slices": {one.name: _slice(one) for one in found.slices},
        "cuts": {",".join(one.cut.by): _cut(one) for one in found.cuts},
        "notes": list(found.notes),
    }


def _slice(one: Slice) -> dict[str, Any]:
    rates, gap = one.rates, one.failure_gap
    return {
        "tags": dict(one.tags),
        "rate": rates.rate,
        "n": rates.n,
        "positive": rates.k,
        "interval": rates.interval,
        "ratio": rates.ratio,
        "ratio_interval": rates.ratio_interval,
        "ratio_bounds": one.ratio_bounds,
        "p": rates.pvalue,
        "p_corrected": one.p_corrected,
        "flag": one.flag,
        "reasons": list(one.reasons),
        "rows": one.rows,
        "failures": one.failures,
        "failure_rate": gap.rate_a,
        "failure_gap": {"estimate": gap.estimate, "interval": gap.interval, "p": gap.pvalue, "n": gap.n},
        "clustered": None if one.clustered is None else asdict(one.clustered),
    }


def _cut(found: CutFound) -> dict[str, Any]:
    cut = found.cut
    return {
        "best": cut.best,
        "worst_slice": {
            "blocks": cut.blocks,
            "slices": list(cut.blocking),
            "slices_clustered": None if cut.blocking_clustered is None else list(cut.blocking_clustered),
            "floor": FLOOR,
            "alpha": ALPHA,
            "smallest": SMALLEST,
        },
        "by_chance": None if cut.chance is None else asdict(cut.chance),
        "demographic_parity": _spread(found.parity),
        "equalised_odds": found.odds and {
            "difference": found.odds.difference,
            "true_positive": _spread(found.odds.true_positive),
            "false_positive": _spread(found.odds.false_positive),
            "without_gold": found.odds.without_gold,
            "reason": found.odds.reason,
        },
        "counterfactual_flips": found.flips and {
            "flip_rate": _estimate(found.flips.flip_rate),
            "noise": _estimate(found.flips.noise),
            "above": _estimate(found.flips.above),
            "sets": found.flips.sets,
            "left_out": found.flips.left_out,
            "reason": found.flips.reason,
        },
        "weeks": [_week(week) for week in found.weeks],
        "alarms": [asdict(alarm) for alarm in found.alarms],
    }  # fmt: skip


def _spread(spread: Spread) -> dict[str, Any]:
    return {
        **{name: getattr(spread, name) for name in ("difference", "interval", "p", "highest", "lowest", "reason")},
        "slices": {
            name: {"rate": one.estimate, "n": one.n, "interval": one.interval, "failures": spread.failures[name]}
            for name, one in spread.slices.items()
        },
    }


def _week(week: Week) -> dict[str, Any]:
    return {
        "week": week.week,
        "monday": week.monday,
        "slices": {
            name: {"rate": one.estimate, "n": one.n, "interval": one.interval, "failures": week.failures[name]}
            for name, one in week.slices.items()
        },
    }


def _estimate(found: Estimate | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {"estimate": found.estimate, "interval": found.interval, "p": found.pvalue, "n": found.n}
