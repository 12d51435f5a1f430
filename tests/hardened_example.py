"""A comparison of judges with every kind of outcome, written by hand."""

from __future__ import annotations

from recuse.report.hardened import Better, Cell, Effort, HardenReport, Tried
from recuse.types import Finding

MEASURES: tuple[tuple[str, str, Better], ...] = (
    ("accuracy.error_rate", "Error rate", "lower"),
    ("bias.authority.effect", "Authority: error that it adds", "lower"),
    ("position.consistency", "Same outcome in both orders", "higher"),
    ("ties.rate", "Ties among the verdicts", "neither"),
)
MEND = ("better", "not worse", "unclear", "shown")
TRADE = ("worse", "turned", "not measured", "shown")
# The present judge, the variant, and the half width of the interval of their difference.
VALUES = ((0.30, 0.20, 0.04), (0.20, 0.21, 0.02), (0.80, 0.78, 0.06), (0.01, 0.02, 0.01))


def cells(id: str, outcomes: tuple[str, ...], text: str) -> tuple[Cell, ...]:
    made = []
    for (measure, title, better), outcome, (old, new, half) in zip(MEASURES, outcomes, VALUES, strict=True):
        there = outcome != "not measured"
        gap = new - old
        finding = Finding(
            f"{id}:{measure}", f"{title}, {id} minus present", gap if there else None,
            (gap - half, gap + half) if there else None, 90, 80, 0.01 if there else None, text,
            None if there else text, (gap - 2 * half, gap + 2 * half) if there else None,
        )  # fmt: skip
        made.append(
            Cell(finding, measure, text if text != "plain" else title, better, outcome, 0.05, 0.02 if there else None,
                 0.01, 0.02, 1.0, old, (old - 0.1, old + 0.1), new if there else None, None,
                 400 if outcome == "unclear" else None)
        )  # fmt: skip
    return tuple(made)


def example(text: str = "plain") -> HardenReport:
    """`text` stands wherever a model, a file or a user can put text."""
    effort = Effort(1.0, 310.4, 4.0, 0.00012, estimated=False)
    mended = Tried("mended", text, "alone", None, (text,), text, "a" * 64, True, 0.012, (), effort, 1.25,
                   cells("mended", MEND, text))  # fmt: skip
    traded = Tried("traded", text, "both orders", "Ask twice.", (text,), text, None, False, 1.0, (text, "it is worse"),
                   Effort(2.0, 620.8, 8.0, None, estimated=True), None, cells("traded", TRADE, text))  # fmt: skip
    return HardenReport(
        headline=text, judge=text, pairs=text, prompt=text, like=text, level=0.95, alpha=0.05,
        primary="accuracy.error_rate", margin=0.05, margins={"ties.rate": 0.02}, most_cost=3.0, winner="mended",
        judge_folder="judge", present=effort, variants=(mended, traded), notes=(text,),
        usage={"judge": {"calls": 3, "from_ledger": 4, "tokens_in": 5, "tokens_out": 6, "cost": 0.5, "seconds": 2.0}},
        config={"schema": 1, "run": {"judge": text}},
    )  # fmt: skip


EXAMPLE = example()
