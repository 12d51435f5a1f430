"""Judgements in, findings out. Each file measures one thing; `measure_all` is the audit."""

from __future__ import annotations

from recuse.audits.accuracy import accuracy
from recuse.audits.domains import domains
from recuse.audits.judged import judged
from recuse.audits.length import length
from recuse.audits.measure import Measure
from recuse.audits.position import position
from recuse.audits.reliability import failures, outside, stability, ties
from recuse.audits.table import Table

__all__ = ["GATEABLE", "Measure", "Table", "judged", "measure_all"]

# What a gate may name: findings with a test of a bound and with bounds over all completions of missing verdicts.
GATEABLE = frozenset({
    "accuracy.error_rate", "accuracy.error_rate:AB", "accuracy.error_rate:BA", "accuracy.average", "accuracy.pooled",
    "accuracy.consistent", "accuracy.three_way", "position.first_rate", "position.consistency", "length.effect",
    "stability.flip_rate", "failures.rate", "ties.rate", "labels.outside_mass",
})  # fmt: skip


def measure_all(table: Table, *, level: float = 0.95) -> list[Measure]:
    """Every finding of an audit, measured or not, in the order of the report."""
    parts = (accuracy, position, length, stability, failures, ties, outside, domains)
    return [measure for part in parts for measure in part(table, level=level)]
