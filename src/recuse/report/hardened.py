"""What the report of a comparison of judges is made from: one frozen record, and the words that all forms of it share.

Nothing that these functions return is escaped yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from recuse.report import text
from recuse.types import Finding

PRESENT = "present"
AS_IT_IS = "the judge as it is"
Better = Literal["lower", "higher", "neither"]
Rows = list[list[str]]

# Outcomes of a cell, as badges and marks are coloured.
COLOURS = {
    "better": "fit",
    "not worse": "fit",
    "worse": "recuse",
    "turned": "recuse",
    "unclear": "inconclusive",
    "not measured": "inconclusive",
}
READ = (
    "A cell is the variant minus the present judge on the same pairs, its interval, and p, two-sided and adjusted over "
    "the variants (Holm); intervals are not adjusted. Better: proven, in the direction that is good. Not worse: worse "
    "by less than the margin at most, over all completions of missing verdicts. Worse: the whole interval is on the "
    "bad side. Turned: the bias is over-corrected. Unclear: none of these is shown."
)


@dataclass(frozen=True)
class Effort:
    """What one verdict takes. `cost`: US dollars; `estimated`: the replies do not tell their tokens."""

    calls: float
    tokens_in: float
    tokens_out: float
    cost: float | None
    estimated: bool


@dataclass(frozen=True)
class Cell:
    """One variant in one measure. `finding`: the variant minus the present judge, without an outcome of its own."""

    finding: Finding
    measure: str
    measure_title: str
    better: Better
    outcome: str  # better, not worse, worse, unclear, turned, not measured or shown
    margin: float
    p_adjusted: float | None
    p_better: float
    p_not_worse: float
    p_worse: float
    present: float | None
    present_interval: tuple[float, float] | None
    variant: float | None
    variant_interval: tuple[float, float] | None
    groups_needed: int | None


@dataclass(frozen=True)
class Tried:
    """One variant. `p`: of the whole claim, after Holm over the variants; `apply`: the rule, where there is one."""

    id: str
    what: str
    rule: str
    apply: str | None
    judges: tuple[str, ...]
    prompt: str
    prompt_hash: str | None
    wins: bool
    p: float
    why_not: tuple[str, ...]
    effort: Effort
    cost_ratio: float | None
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class HardenReport:
    """A finished comparison. `judge_folder`: of the winner, inside the run folder."""

    headline: str
    judge: str
    pairs: str
    prompt: str
    like: str
    level: float
    alpha: float
    primary: str
    margin: float
    margins: Mapping[str, float]
    most_cost: float | None  # how many times the present judge's cost were allowed
    winner: str | None
    judge_folder: str | None
    present: Effort
    variants: tuple[Tried, ...]
    notes: tuple[str, ...]
    usage: Mapping[str, Any]
    config: Mapping[str, Any] = field(default_factory=dict)
    folder: Path = Path()

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(cell.finding for variant in self.variants for cell in variant.cells)

    def of_measure(self) -> list[tuple[Cell, ...]]:
        """The cells measure by measure, each with one cell a variant."""
        return list(zip(*(variant.cells for variant in self.variants), strict=True))


def facts(report: HardenReport) -> dict[str, str]:
    margins = "".join(f"; {id} {value:g}" for id, value in report.margins.items())
    cap = "reported only" if report.most_cost is None else f"at most {report.most_cost:g} times the present one's"
    told = {
        "Judge": report.judge, "Prompt": report.prompt, "Pairs": report.pairs, "Biases of": report.like,
        "Must be better": report.primary, "Must not be worse by": f"{report.margin:g} in the rest{margins}",
        "Cost": cap, "Correction": f"Holm over {len(report.variants)} variants at {report.alpha:g}",
    }  # fmt: skip
    return told | {f"Usage of the {role}": text.usage_line(used) for role, used in report.usage.items()}


TRIED = ("Judge", "What is different", "Prompt", "Calls a verdict", "Tokens in + out", "US dollars",
         "Cost beside present", "p of the claim", "Wins")  # fmt: skip


def tried_rows(report: HardenReport) -> Rows:
    """Rows of TRIED: the present judge, then the variants."""
    rows = [[PRESENT, AS_IT_IS, report.prompt, *_effort(report.present), "", "", ""]]
    for v in report.variants:
        ratio = "" if v.cost_ratio is None else f"{v.cost_ratio:.2f}"
        rows.append([v.id, v.what, v.prompt, *_effort(v.effort), ratio, text.p_value(v.p), _wins(v, report)])
    return rows


def _effort(effort: Effort) -> list[str]:
    tokens = f"{effort.tokens_in:,.0f} + {effort.tokens_out:,.0f}{' (guessed)' if effort.estimated else ''}"
    return [f"{effort.calls:g}", tokens, f"{effort.cost:.2g}" if effort.cost else ""]


def _wins(variant: Tried, report: HardenReport) -> str:
    if not variant.wins:
        return "no"
    return "yes, named" if variant.id == report.winner else "yes"


def present_value(cells: Sequence[Cell]) -> str:
    """What the present judge has in the measure of these cells."""
    known = next((c for c in cells if c.present is not None), None)
    if known is None or known.present is None:
        return "not measured"
    ends = known.present_interval
    return text.number(known.present) + (f" {text.interval(ends)}" if ends else "")


def difference(cell: Cell) -> str:
    """A cell of the table of all measures, without its p and its outcome."""
    f = cell.finding
    if f.estimate is None:
        return f"not measured ({f.reason or ''})"
    return f"{f.estimate:+.3f}" + (f" {text.interval(f.interval)}" if f.interval else "")


def chance(cell: Cell) -> str:
    """The p of a cell in words; empty without one."""
    measured = cell.finding.estimate is not None and cell.p_adjusted is not None
    return f"p {text.p_value(cell.p_adjusted)}" if measured else ""


def word(cell: Cell) -> str:
    """The outcome, where the cell decides something and was measured."""
    return "" if cell.finding.estimate is None or cell.outcome == "shown" else cell.outcome


def against(report: HardenReport) -> list[tuple[str, str]]:
    """Variants and what stands against each."""
    return [(v.id, f"{'; '.join(v.why_not)}.") for v in report.variants if v.why_not]


def use(report: HardenReport) -> str:
    """How the winner is used; empty without one."""
    winner = next((v for v in report.variants if v.id == report.winner), None)
    if winner is None:
        return ""
    if winner.apply is not None:
        beneath = f"The prompt and the settings of each call lie in {report.judge_folder}/."
        return f"{beneath} It is a rule over several calls: {winner.apply}"
    return f"Its prompt and settings lie in {report.judge_folder}/, which recuse audit --judge-config reads."


def summary(report: HardenReport) -> Mapping[str, str]:
    """What the terminal shows of each variant: its outcome and the reasons against it."""
    return {
        v.id: ("wins" if v.id == report.winner else "would do") if v.wins else "; ".join(v.why_not)
        for v in report.variants
    }
