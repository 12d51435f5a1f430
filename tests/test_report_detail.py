"""Tables below the findings: what they hold, and that foreign text in them stays text."""

from __future__ import annotations

from typing import Any

from recuse.report.detail import details_of
from recuse.report.html import html
from recuse.report.markdown import markdown
from recuse.report.result import AuditResult
from recuse.types import Finding


def finding(id: str, **details: Any) -> Finding:
    return Finding(id, "title of " + id, 0.1, (0.0, 0.2), 10, 5, method="m", details=details)


CURVE = [
    {"low": 0.0, "high": 0.5, "n": 0, "stated": None, "observed": None},
    {"low": 0.5, "high": 1.0, "n": 1200, "stated": 0.75, "observed": 0.5},
]
NAMES = [
    {"group": "b", "name": "<i>Bo</i>|x", "mean": 0.5, "n": 3, "missing": 1},
    {"group": "a", "name": "Ann", "mean": None, "n": 0, "missing": 2},
    {"group": "b", "name": "Cy", "mean": 0.75, "n": 3, "missing": 0},
]


def test_a_finding_without_anything_further_has_no_table() -> None:
    bare = [finding(id) for id in ("swap.gap:x", "swap.blinded_residual:x", "calibration.kappa", "calibration.ece")]
    assert details_of([*bare, finding("accuracy.error_rate", names=NAMES)]) == []


def test_empty_bins_are_left_out_of_the_reliability_curve() -> None:
    (table,) = details_of([finding("calibration.ece", curve=CURVE)])
    assert table.rows == (("0.50 to 1.00", "0.750", "0.500", "1,200"),)


def test_names_stand_by_group_the_best_liked_first() -> None:
    (table,) = details_of([finding("swap.gap:pairwise:a/b", names=NAMES)])
    assert [row[0] for row in table.rows] == ["Ann", "Cy", "<i>Bo</i>|x"]
    assert table.rows[0] == ("Ann", "a", "none", "0", "2")


def test_kappa_brings_its_confusion_and_what_people_say_of_one_another() -> None:
    kappa = finding("calibration.kappa", confusion={"labels": ["A", "B"], "judge_by_people": [[5, 1], [2, 4000]]})
    people = finding("calibration.people_alpha", two_by_two={"ann / bob": 0.25, "ann / cy": None})
    confusion, others = details_of([kappa, people])
    assert confusion.head == ("", "people: A", "people: B")
    assert confusion.rows == (("judge: A", "5", "1"), ("judge: B", "2", "4,000"))
    assert others.rows == (("ann / bob", "0.250"), ("ann / cy", "none"))


def test_foreign_names_open_no_markup() -> None:
    found = (finding("swap.gap:pairwise:a/b", names=NAMES),)
    result = AuditResult("judge", "pairs", "prompt", "fit", "FIT: all.", found)
    assert "<i>" not in html(result)
    assert "&lt;i&gt;Bo&lt;/i&gt;|x" in html(result)
    assert "&lt;i&gt;Bo&lt;/i&gt;&#124;x" in markdown(result)
