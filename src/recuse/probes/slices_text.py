"""The figures of `sliced` for a terminal: one table a cut, what it comes to in sentences, and the notes."""

from __future__ import annotations

from collections.abc import Sequence

from recuse.probes.fairness import Spread
from recuse.probes.redraws import Flips
from recuse.probes.sliced import CutFound, Sliced
from recuse.probes.slices import FLOOR, Cut, Slice
from recuse.probes.weeks import KINDS, Alarm, Week
from recuse.report.text import interval, number, visible
from recuse.stats import Estimate

_HEAD = ("Slice", "Rate", "95 %", "n", "Failed", "Ratio", "p", "Flag")
_SHOWN = 60  # characters of a slice's name


def sliced_text(found: Sliced) -> str:
    """Everything, with n beside every ratio and p."""
    table = found.table
    counted = f"{table.outcome} = {table.positive}" if table.positive else f"{table.outcome} = 1"
    blocks = [f"{visible(table.path)}: share of rows with {visible(counted)}, {len(table):,} rows"]
    blocks += ["\n".join(_cut(one, table.cluster is not None)) for one in found.cuts]
    blocks += ["\n".join(found.notes)]
    return "\n\n".join(blocks)


def _cut(found: CutFound, clustered: bool) -> list[str]:
    cut = found.cut
    head = [*_HEAD, *(("p (clusters)", "Clusters") if clustered else ())]
    lines = [f"By {visible(' and '.join(cut.by))}", *_table(head, [_row(one, cut.best) for one in cut.slices])]
    lines += [_blocking(cut), *_chance(cut), _spread("Demographic parity", found.parity)]
    if found.odds is not None:
        odds = found.odds
        total = f"{odds.difference:.3f}" if odds.difference is not None else f"not measured ({odds.reason})"
        left = f"; {odds.without_gold:,} rows without gold" if odds.without_gold else ""
        lines.append(f"Equalised odds: {total}{left}")
        lines.append(_spread("  positive outcomes among gold positives", odds.true_positive))
        lines.append(_spread("  positive outcomes among gold negatives", odds.false_positive))
    lines += [] if found.flips is None else [_flips(found.flips)]
    return [*lines, *_weeks(found.weeks), *_alarms(found.alarms)]


def _row(one: Slice, best: str | None) -> list[str]:
    rates = one.rates
    cells = [
        _name(one.name), _number(rates.rate), _interval(rates.interval), f"{rates.n:,}", f"{one.failures:,}",
        _number(rates.ratio, 2), "best" if one.name == best else _p(rates.pvalue),
        f"{one.flag} ({'; '.join(one.reasons)})" if one.reasons else one.flag,
    ]  # fmt: skip
    return cells if one.clustered is None else [*cells, _p(one.clustered.p), f"{one.clustered.clusters:,}"]


def _blocking(cut: Cut) -> str:
    if not cut.blocks:
        return f"Worst-slice rule (ratio under {FLOOR:g} and p under 0.05): does not block."
    text = f"Worst-slice rule: blocks, for {_names(cut.blocking)}."
    if cut.blocking_clustered is None:
        return text
    return f"{text} With clusters as the units: {_names(cut.blocking_clustered) or 'none'}."


def _chance(cut: Cut) -> list[str]:
    if cut.chance is None:
        return []
    chance = cut.chance
    return [
        f"Without any gap, at a rate of {chance.rate:.2f} and {chance.n:,} cases a slice, the rule would block "
        f"{chance.worst_slice:.1%} of the time, and the four-fifths alarm ring {chance.four_fifths:.1%}."
    ]


def _spread(what: str, spread: Spread) -> str:
    if spread.difference is None:
        return f"{what}: not measured ({spread.reason})"
    high, low = (spread.slices[str(name)] for name in (spread.highest, spread.lowest))
    return (
        f"{what}: difference {spread.difference:.3f} {_interval(spread.interval)}, p {_p(spread.p)}, between "
        f"{_name(str(spread.highest))} (n {high.n:,}) and {_name(str(spread.lowest))} (n {low.n:,})"
    )


def _flips(found: Flips) -> str:
    if found.above is None or found.above.estimate is None:
        return f"Counterfactual flips: not measured ({found.reason})"
    left = f"; {found.left_out:,} left out for failures" if found.left_out else ""
    return (
        f"Counterfactual flips: {_estimate(found.flip_rate)} of pairs, noise {_estimate(found.noise)}, above the noise "
        f"{_estimate(found.above)}, p {_p(found.above.pvalue)}, {found.sets:,} sets{left}"
    )


def _weeks(weeks: Sequence[Week]) -> list[str]:
    rows = [
        [
            week.week,
            _name(name),
            _number(one.estimate),
            _interval(one.interval),
            f"{one.n:,}",
            f"{failed:,}",
        ]
        for week in weeks
        for (name, one), failed in zip(week.slices.items(), week.failures.values(), strict=True)
    ]
    return ["", *_table(["Week", *_HEAD[:5]], rows)] if rows else []


def _alarms(alarms: Sequence[Alarm]) -> list[str]:
    if not alarms:
        return []
    raised = [one for one in alarms if one.since is not None]
    lines = [
        f"Alarm since {one.since}: {_name(one.slice)}: {KINDS[one.kind]} (e-value {one.e:.3g} from {one.matches:,} "
        f"matched cases, p {_p(one.p)} however often one looks)."
        for one in raised
    ]
    return lines or [
        f"No alarm that holds however often one looks (largest e-value {max(one.e for one in alarms):.3g}, corrected "
        f"for {len(alarms)} questions)."
    ]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    every = [head, *rows]
    widths = [max(len(row[i]) for row in every) for i in range(len(head))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in every]


def _name(name: str) -> str:
    return visible(name, limit=_SHOWN, newline=" ")


def _names(names: Sequence[str]) -> str:
    return ", ".join(_name(name) for name in names)


def _number(value: float | None, decimals: int = 3) -> str:
    return "none" if value is None else number(value, decimals)


def _interval(ends: tuple[float, float] | None) -> str:
    return "" if ends is None else interval(ends)


def _estimate(found: Estimate | None) -> str:
    return "none" if found is None else f"{_number(found.estimate)} {_interval(found.interval)}"


def _p(p: float | None) -> str:
    return "none" if p is None else f"{p:.2g}" if p < 0.001 else f"{p:.3f}"
