"""Plots: marks stand where the numbers say."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from report_example import FINDINGS

from recuse.report.svg import forest
from recuse.types import Finding


def draw(*findings: Finding) -> ET.Element:
    return ET.fromstring(forest(findings, name="plot", title="Title"))  # also proves that it is well-formed


def percent(element: ET.Element, name: str) -> float:
    return float(element.attrib[name].rstrip("%"))


def test_estimate_interval_and_tolerance_stand_at_their_values() -> None:
    plot = draw(Finding("a", "A", 0.25, (0.125, 0.5), tolerance=(0.4, 0.6), outcome="fit"))
    (mark,) = plot.iter("circle")
    (band,) = plot.iter("rect")
    bar = next(e for e in plot.iter("line") if e.attrib["class"] == "bar" and e.attrib["x1"] != e.attrib["x2"])
    assert percent(mark, "cx") == 25
    assert (percent(bar, "x1"), percent(bar, "x2")) == (12.5, 50)
    assert (percent(band, "x"), percent(band, "width")) == (40, 20)


def test_a_one_sided_tolerance_reaches_to_the_end_of_the_axis() -> None:
    (low,) = draw(Finding("a", "A", 0.9, (0.8, 0.95), tolerance=(0.75, None), outcome="fit")).iter("rect")
    (high,) = draw(Finding("a", "A", 0.1, (0.05, 0.2), tolerance=(None, 0.25), outcome="fit")).iter("rect")
    assert (percent(low, "x"), percent(low, "width")) == (75, 25)
    assert (percent(high, "x"), percent(high, "width")) == (0, 25)


def test_the_axis_holds_both_ends_of_the_band_and_open_ends_do_not_stretch_it() -> None:
    (band,) = draw(Finding("a", "A", 0.1, (0.05, 0.2), tolerance=(-0.2, 0.2), outcome="fit")).iter("rect")
    assert (percent(band, "x"), percent(band, "width")) == (40, 20)  # of -1 to 1
    plot = draw(Finding("a", "A", 0.1, (0.05, 0.2), tolerance=(float("-inf"), 4.0), outcome="fit"))
    assert [t.text for t in plot.iter("text") if t.attrib["class"] == "tick"] == ["0", "1", "2", "3", "4"]
    (band,) = plot.iter("rect")
    assert (percent(band, "x"), percent(band, "width")) == (0, 100)


def test_the_whisker_spans_all_completions() -> None:
    plot = draw(Finding("a", "A", 0.25, (0.2, 0.3), bounds=(0.1, 0.5)))
    whisker = next(e for e in plot.iter("line") if e.attrib["class"] == "whisker" and e.attrib["x1"] != e.attrib["x2"])
    assert (percent(whisker, "x1"), percent(whisker, "x2")) == (10, 50)


def test_differences_and_logits_have_axes_that_hold_them() -> None:
    difference = draw(Finding("a", "A", 0.0, (-0.5, 0.5)))
    logit = draw(Finding("b", "B", -12.0, (-14.0, 3.0)))
    assert [t.text for t in difference.iter("text") if t.attrib["class"] == "tick"] == ["-1", "-0.5", "0", "0.5", "1"]
    assert [t.text for t in logit.iter("text") if t.attrib["class"] == "tick"] == ["-20", "-12.5", "-5", "2.5", "10"]
    (mark,) = logit.iter("circle")
    assert percent(mark, "cx") == pytest.approx(100 * (-12 + 20) / 30, abs=0.01)


def test_outcomes_differ_in_shape() -> None:
    marks = {}
    for outcome in ("fit", "recuse", "inconclusive", None):
        plot = draw(Finding("a", "A", 0.5, (0.4, 0.6), outcome=outcome))
        marks[outcome] = [(e.tag, e.attrib["class"]) for e in plot.iter() if e.tag in ("circle", "rect")]
    assert marks == {
        "fit": [("circle", "fit")],
        "recuse": [("rect", "recuse")],
        "inconclusive": [("circle", "inconclusive")],
        None: [("circle", "dot")],
    }


def test_what_was_not_measured_is_said_and_has_no_mark() -> None:
    plot = draw(Finding("a", "A", None, reason="no repeats"))
    assert not list(plot.iter("circle"))
    assert "A: not measured (no repeats)." in [e.text for e in plot.iter("desc")]
    assert "not measured" in [e.text for e in plot.iter("text")]


def test_no_mark_leaves_the_plot() -> None:
    plot = draw(*FINDINGS)
    numbers = [percent(e, key) for e in plot.iter() for key in ("x", "x1", "x2", "cx") if "%" in e.attrib.get(key, "")]
    assert numbers
    assert all(0 <= number <= 100 for number in numbers)
