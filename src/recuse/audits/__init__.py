"""Judgements in, findings out. Each file measures one thing; `measure_all` is the audit."""

from __future__ import annotations

from recuse.audits.accuracy import accuracy
from recuse.audits.domains import domains
from recuse.audits.length import length
from recuse.audits.measure import Measure
from recuse.audits.position import position
from recuse.audits.reliability import failures, outside, stability, ties
from recuse.audits.table import Table

__all__ = ["Measure", "Table", "measure_all"]


def measure_all(table: Table, *, level: float = 0.95) -> list[Measure]:
    """Every finding of an audit, measured or not, in the order of the report."""
    parts = (accuracy, position, length, stability, failures, ties, outside, domains)
    return [measure for part in parts for measure in part(table, level=level)]
