"""The reader's fault: recorded decisions that are not what their text says, told apart from what the judge itself did.

A reader that takes the wrong words of a reply for its verdict makes a judge look inconsistent, and where it errs
towards one place, partial to it. So every pair is classed twice, as recorded and as its text says; what differs between
the two is the reader's, and what remains in the text is the judge's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recuse import stats
from recuse.calibration import Labels
from recuse.explain.cases import KINDS, Kind, Seen, compare
from recuse.explain.shares import mean_finding, share_finding
from recuse.types import Finding, Judgement

FIRST = "Share preferring the answer shown first"


@dataclass(frozen=True)
class ReaderFault:
    """`table` counts pairs by kind as recorded and kind as the text says; `moved` those of them in which a recorded
    decision contradicts its text."""

    findings: tuple[Finding, ...]
    table: tuple[tuple[Kind, Kind, int], ...]
    verdicts: int
    contradicting: int
    one_sided: int  # verdicts of which one reading names an outcome and the other none
    pairs: int
    moved: frozenset[str]  # pairs with a contradicting verdict

    @property
    def faults(self) -> int:
        return self.contradicting + self.one_sided

    @property
    def line(self) -> str:
        """What the fault comes to, in one sentence or two."""
        if not self.faults:
            return f"All {self.verdicts:,} recorded decisions that can be checked say what their text says."
        by = {f.id: f.estimate or 0.0 for f in self.findings}
        counts = {(old, new): n for old, new, n in self.table}
        kept = counts.get(("position", "position"), 0)
        recorded = sum(n for (old, _), n in counts.items() if old == "position")
        hidden = sum(n for (_, new), n in counts.items() if new == "position") - kept
        alone = f", and in {self.one_sided:,} more only one of the two names any" if self.one_sided else ""
        return (
            f"{self.contradicting:,} of {self.verdicts:,} recorded decisions contradict their text{alone}: a fault of "
            f"the reader, not of the judge. As recorded the verdict goes with the place in {recorded:,} of "
            f"{self.pairs:,} pairs: {recorded - kept:,} of these are the reader's doing, {kept:,} the judge's, and in "
            f"{hidden:,} more the reader hid it. The same outcome in both orders: "
            f"{by['explain.consistency.recorded']:.3f} as recorded, {by['explain.consistency.read']:.3f} as the texts "
            "say."
        )


def reader_fault(
    read: Sequence[Judgement], recorded: Sequence[Judgement], labels: Labels, *, level: float
) -> ReaderFault:
    """Compare two readings of the same rows, given in the same order."""
    labelled = {pair for pair in labels.votes if labels.majority(pair) is not None}
    rows = [(new, old) for new, old in zip(read, recorded, strict=True) if new.pair in labelled]
    differ = [None not in (new.prefers, old.prefers) and new.prefers != old.prefers for new, old in rows]
    one_sided = sum((new.prefers is None) != (old.prefers is None) for new, old in rows)
    moved = frozenset(new.pair for (new, _), does in zip(rows, differ, strict=True) if does)
    as_read, as_recorded = compare(read, labels), compare(recorded, labels)
    findings = [
        share_finding("explain.reader.contradicting", "Recorded decisions that contradict their text", differ,
                      [new.group for new, _ in rows], level=level, unit="verdicts"),
        *_position(as_recorded, as_read, level),
        *_disagreement(as_recorded, as_read, level),
        first_finding("explain.first.recorded", f"{FIRST}, as recorded", as_recorded, level=level),
        first_finding("explain.first.read", f"{FIRST}, as the text says", as_read, level=level),
    ]  # fmt: skip
    crossed = Counter((old.kind, new.kind) for old, new in zip(as_recorded, as_read, strict=True))
    table = tuple((old, new, crossed[old, new]) for old in KINDS for new in KINDS if crossed[old, new])
    return ReaderFault(
        tuple(findings), table, len(rows), sum(differ), one_sided, len(as_read), moved
    )  # fmt: skip


def _position(recorded: Sequence[Seen], read: Sequence[Seen], level: float) -> list[Finding]:
    """Pairs whose verdict goes with the place, in both readings and the change; and, as audits have it, consistency."""
    groups = [seen.group for seen in read]
    before, after = ([float(seen.kind == "position") for seen in of] for of in (recorded, read))
    same_before, same_after = ([float(_consistent(seen)) for seen in of] for of in (recorded, read))
    return [
        share_finding("explain.position.recorded", "Verdict goes with the place, as recorded", before, groups,
                      level=level),
        share_finding("explain.position.read", "Verdict goes with the place, as the text says", after, groups,
                      level=level),
        mean_finding("explain.position.by_reader", "Of it the reader's fault: as recorded minus as the text says",
                     np.subtract(before, after), groups, level=level),
        share_finding("explain.consistency.recorded", "Same outcome in both orders, as recorded", same_before, groups,
                      level=level),
        share_finding("explain.consistency.read", "Same outcome in both orders, as the text says", same_after, groups,
                      level=level),
    ]  # fmt: skip


def _consistent(seen: Seen) -> bool:
    """The same in both orders, where both orders have no verdict too, as published figures of consistency count it."""
    return len(set(seen.verdicts.values())) == 1


def _disagreement(recorded: Sequence[Seen], read: Sequence[Seen], level: float) -> list[Finding]:
    groups = [seen.group for seen in read]
    before, after = ([float(seen.kind != "agrees") for seen in of] for of in (recorded, read))
    return [
        share_finding("explain.disagreement.recorded", "Pairs on which judge and people part, as recorded", before,
                      groups, level=level),
        share_finding("explain.disagreement.read", "Pairs on which judge and people part, as the text says", after,
                      groups, level=level),
        mean_finding("explain.disagreement.by_reader", "Of them the reader's fault: as recorded minus as the text says",
                     np.subtract(before, after), groups, level=level),
    ]  # fmt: skip


def first_finding(id: str, title: str, seen: Sequence[Seen], *, level: float) -> Finding:
    """Share preferring the answer shown first, with the sign-flip test of no preference (on group sums)."""
    known = [(one.first, one.group) for one in seen if one.first is not None]
    if not known:
        return Finding(id, title, None, reason="no pair has a verdict in both orders")
    values, groups = (list(of) for of in zip(*known, strict=True))
    codes = np.unique(groups, return_inverse=True)[1]
    test = stats.sign_flip_test(np.bincount(codes, weights=2 * np.array(values) - 1))
    finding = share_finding(id, title, values, groups, level=level)
    return Finding(
        id, title, finding.estimate, finding.interval, finding.n, finding.groups, test.pvalue, finding.method,
        details={"always_first": values.count(1.0), "always_second": values.count(0.0), "test": test.method},
    )  # fmt: skip
