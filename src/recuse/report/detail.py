"""Tables below the findings: what an audit knows of a measure beyond its estimate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recuse.report import text
from recuse.types import Finding

_MOST = 24  # rows of a table that a report shows


@dataclass(frozen=True)
class Detail:
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]  # not yet escaped
    finding: Finding  # whose it is


def details_of(findings: Sequence[Finding]) -> list[Detail]:
    """The tables of all findings, in their order; none where a finding has nothing further."""
    found: list[Detail | None] = []
    for finding in findings:
        if finding.id.startswith("swap.gap:"):
            found += [_names(finding), _largest(finding)]
        elif finding.id.startswith("swap.blinded_residual:"):
            found.append(_left(finding))
        elif finding.id == "calibration.kappa":
            found += [_confusion(finding), _two_by_two(findings)]
        elif finding.id == "calibration.ece":
            found.append(_curve(finding))
    return [detail for detail in found if detail is not None]


def _of(finding: Finding, title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> Detail | None:
    kept = [tuple(row) for row in rows][:_MOST]
    return Detail(title, tuple(head), tuple(kept), finding) if kept else None


def _value(value: Any) -> str:
    return "none" if value is None else text.number(float(value))


def _names(finding: Finding) -> Detail | None:
    rows = sorted(finding.details.get("names", ()), key=lambda row: (row["group"], -(row["mean"] or 0.0)))
    return _of(
        finding,
        f"{finding.title}: by name",
        ("Name", "Group", "Mean", "n", "Without a verdict"),
        [(row["name"], row["group"], _value(row["mean"]), str(row["n"]), str(row["missing"])) for row in rows],
    )


def _largest(finding: Finding) -> Detail | None:
    rows = finding.details.get("largest", ())
    title = f"{finding.title}: templates with the largest gaps"
    return _of(finding, title, ("Template", "Gap"), [(row["template"], _value(row["gap"])) for row in rows])


def _left(finding: Finding) -> Detail | None:
    rows = finding.details.get("left", ())
    title = f"{finding.title}: templates that still differ"
    return _of(finding, title, ("Template", "Gap"), [(row["template"], _value(row["gap"])) for row in rows])


def _confusion(finding: Finding) -> Detail | None:
    table: Mapping[str, Any] = finding.details.get("confusion", {})
    labels = table.get("labels", ())
    rows = [
        (f"judge: {label}", *(f"{int(count):,}" for count in counts))
        for label, counts in zip(labels, table.get("judge_by_people", ()), strict=True)
    ]
    return _of(
        finding, "Judge and people: verdicts by place shown", ("", *(f"people: {label}" for label in labels)), rows
    )


def _two_by_two(findings: Sequence[Finding]) -> Detail | None:
    alpha = next((f for f in findings if f.id == "calibration.people_alpha"), None)
    if alpha is None:
        return None
    rows = [(names, _value(kappa)) for names, kappa in alpha.details.get("two_by_two", {}).items()]
    return _of(alpha, "People two by two", ("People", "Cohen's kappa"), rows)


def _curve(finding: Finding) -> Detail | None:
    rows = [
        (
            f"{text.number(bin['low'], 2)} to {text.number(bin['high'], 2)}",
            _value(bin["stated"]),
            _value(bin["observed"]),
            f"{bin['n']:,}",
        )
        for bin in finding.details.get("curve", ())
        if bin["n"]
    ]
    head = ("P(first answer)", "Stated, mean", "People, share", "n")
    return _of(finding, "Reliability of the judge's probabilities", head, rows)
