"""Which variant wins: better in what was declared primary, not worse in the rest, corrected over the variants.

A variant's claim is all of that together, so its p is the largest of its parts (an intersection-union test, Berger
1982), and Holm's correction over the variants holds for the whole claim: the chance to name any variant that is not
better, or is worse by the margin somewhere, is at most `ALPHA`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from scipy.special import ndtri

from recuse import stats
from recuse.harden.measures import Compared
from recuse.harden.variants import Variants
from recuse.stats.clustered import EQUAL, FEW, RANGE

ALPHA = 0.05
_POWER = 0.8
# better, not worse, worse: shown at 95 %; turned: the variant now leans the other way; shown: decides nothing
Outcome = Literal["better", "not worse", "worse", "unclear", "turned", "not measured", "shown"]


@dataclass(frozen=True)
class Cell:
    """One variant in one measure. `p_adjusted`: the finding's p after Holm over the variants; `groups_needed`: about
    how many would show that it is not worse, if the difference is as measured."""

    compared: Compared
    outcome: Outcome
    p_adjusted: float | None = None
    groups_needed: int | None = None

    @property
    def id(self) -> str:
        return self.compared.measure.id


@dataclass(frozen=True)
class Verdict:
    """What is decided of one variant. `why`: what stands against it, one sentence each."""

    id: str
    cells: tuple[Cell, ...]
    wins: bool
    p: float  # of the whole claim, after Holm over the variants
    why: tuple[str, ...]
    cost_ratio: float | None = None

    def cell(self, measure: str) -> Cell:
        return next(cell for cell in self.cells if cell.id == measure)


@dataclass(frozen=True)
class Decided:
    verdicts: tuple[Verdict, ...]
    winner: str | None
    headline: str


def decide(
    compared: Mapping[str, Sequence[Compared]], rule: Variants, *, ratios: Mapping[str, float | None]
) -> Decided:
    """`compared` holds the same measures, in the same order, of every variant; `ratios` what each costs beside the
    present judge."""
    table = _adjusted(compared, rule.primary)
    claims = {id: max(_claim(c, rule.primary) for c in cells) for id, cells in compared.items()}
    adjusted = dict(zip(claims, stats.holm(list(claims.values())).tolist(), strict=True))
    verdicts = []
    for id, cells in table.items():
        why = [*_against(cells, rule), *_too_dear(ratios.get(id), rule.cost_ratio)]
        if not why and adjusted[id] >= ALPHA:
            why.append(f"all this holds for it alone, but not after the correction over {len(table)} variants")
        verdicts.append(Verdict(id, cells, not why, adjusted[id], tuple(why), ratios.get(id)))
    winners = [v for v in verdicts if v.wins]
    best = min(winners, key=lambda v: (_loss(v.cell(rule.primary).compared), v.id)) if winners else None
    return Decided(tuple(verdicts), best.id if best else None, _headline(verdicts, best, rule))


def _claim(c: Compared, primary: str) -> float:
    """The p of this measure's part in the claim to win; a measure that decides nothing has none."""
    if c.measure.better == "neither":
        return 0.0
    return c.p_better if c.measure.id == primary else c.p_not_worse


def _adjusted(compared: Mapping[str, Sequence[Compared]], primary: str) -> dict[str, tuple[Cell, ...]]:
    """Every cell with its outcome, Holm over the variants within each measure."""
    rows: dict[str, list[Cell]] = {id: [] for id in compared}
    for of_measure in zip(*compared.values(), strict=True):
        seen = stats.holm([1.0 if c.finding.p is None else c.finding.p for c in of_measure]).tolist()
        better = stats.holm([c.p_better for c in of_measure]).tolist()
        for id, c, p, q in zip(compared, of_measure, seen, better, strict=True):
            outcome = _outcome(c, q)
            rows[id].append(Cell(c, outcome, None if c.finding.p is None else p, _needed(c, outcome)))
    return {id: tuple(cells) for id, cells in rows.items()}


def _outcome(c: Compared, p_better: float) -> Outcome:
    if c.finding.estimate is None:
        return "not measured"
    if c.measure.better == "neither":
        return "shown"
    if _turned(c):
        return "turned"
    if p_better < ALPHA:
        return "better"
    if c.p_not_worse < ALPHA:
        return "not worse"
    return "worse" if c.p_worse < ALPHA else "unclear"


def _turned(c: Compared) -> bool:
    """A bias that is over-corrected: the variant punishes, beyond the margin, what the present judge rewards."""
    if c.measure.arms is None or c.own.interval is None or c.base.estimate is None or c.own.estimate is None:
        return False
    return c.own.interval[1] < -c.margin and c.own.estimate < c.base.estimate


def _loss(c: Compared) -> float:
    """The difference as a loss: positive is worse."""
    value = c.finding.estimate or 0.0
    return -value if c.measure.better == "higher" else value


def _needed(c: Compared, outcome: Outcome) -> int | None:
    if outcome != "unclear" or c.finding.interval is None or _loss(c) >= c.margin:
        return None
    half, room = (c.finding.interval[1] - c.finding.interval[0]) / 2, c.margin - _loss(c)
    if c.finding.method.startswith((EQUAL, FEW, RANGE)):  # such a bound narrows with the number, not with its root
        return max(c.finding.groups + 1, round(c.finding.groups * half / room))
    z = float(ndtri(0.975))
    reach = (z + float(ndtri(_POWER))) / z * half / room
    return max(c.finding.groups + 1, round(c.finding.groups * reach * reach))


def _against(cells: Sequence[Cell], rule: Variants) -> list[str]:
    said = []
    for cell in cells:
        id, c = cell.id, cell.compared
        if c.measure.better == "neither":
            continue
        if cell.outcome == "not measured":
            said.append(f"{id} was not measured ({c.finding.reason})")
        elif cell.outcome == "turned":
            said.append(f"{id} is {c.own.estimate:.3f} now: it punishes what the present judge rewards")
        elif id == rule.primary and cell.outcome != "better":
            said.append(f"{id} is not proven to be better ({_difference(c)})")
        elif id != rule.primary and cell.outcome == "worse":
            said.append(f"{id} is worse ({_difference(c)})")
        elif id != rule.primary and cell.outcome == "unclear":
            more = f"; about {cell.groups_needed:,} groups would show it" if cell.groups_needed else ""
            said.append(f"{id} may be worse by {c.margin:g} or more ({_difference(c)}){more}")
    return said


def _difference(c: Compared) -> str:
    interval = f" [{c.finding.interval[0]:+.3f}, {c.finding.interval[1]:+.3f}]" if c.finding.interval else ""
    return f"difference {c.finding.estimate:+.3f}{interval}"


def _too_dear(ratio: float | None, most: float | None) -> list[str]:
    if most is None:
        return []
    if ratio is None:
        return ["what it costs beside the present judge is not known"]
    return (
        [f"a verdict takes {ratio:.2f} times what it does now, over the {most:g} that were allowed"]
        if ratio > most
        else []
    )


def _headline(verdicts: Sequence[Verdict], best: Verdict | None, rule: Variants) -> str:
    if best is not None:
        cell = best.cell(rule.primary)
        c, others = cell.compared, sum(v.wins for v in verdicts) - 1
        rest = sum(x.compared.measure.better != "neither" for x in best.cells) - 1
        more = f" {others} more would do as well; which of them is best was not tested." if others else ""
        return (
            f"{best.id} wins: {rule.primary} {c.own.estimate:.3f} instead of {c.base.estimate:.3f} "
            f"({_difference(c)}), and it is not worse in {rest} other measures.{more}"
        )
    better = [v.id for v in verdicts if v.cell(rule.primary).outcome == "better"]
    tried = f"{len(verdicts)} variant{'s' * (len(verdicts) != 1)}"
    if better:
        return (
            f"Nothing wins among {tried}: better in {rule.primary}, but worse or not proven to be no worse in "
            f"something else: {', '.join(better)}."
        )
    return f"Nothing wins among {tried}: none is proven to be better than the present judge in {rule.primary}."
