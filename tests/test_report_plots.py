"""Plots beside the forests: marks stand where the numbers say, and words say what they show."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from recuse.report.html_plots import bias_plot, position_plot
from recuse.report.svg_bars import Bar, bars
from recuse.report.svg_between import Between, between
from recuse.report.svg_curve import reliability
from recuse.report.svg_dots import Strip, strips
from recuse.report.svg_matrix import matrix
from recuse.types import Finding


def percent(element: ET.Element, name: str) -> float:
    return float(element.attrib[name].rstrip("%"))


def words(plot: str) -> str:
    return next(e.text or "" for e in ET.fromstring(plot).iter("desc"))


def test_a_line_leads_from_the_placebo_to_the_bias() -> None:
    plot = between([Between("Authority", 0.25, 0.5)], name="p", title="T", first="placebo", second="bias")
    hollow, filled = ET.fromstring(plot).iter("circle")
    assert (hollow.attrib["class"], percent(hollow, "cx")) == ("hollow", 25)
    assert (filled.attrib["class"], percent(filled, "cx")) == ("dot", 50)
    assert words(plot) == "Authority: placebo 0.250, bias 0.500."


def test_parts_of_a_bar_fill_it_by_their_share() -> None:
    plot = bars([Bar("All", (30, 60, 10)), Bar("None", (0, 0, 0))], ("a", "b", "c"), name="p", title="T")
    parts = list(ET.fromstring(plot).iter("rect"))
    assert [(percent(e, "x"), percent(e, "width")) for e in parts] == [(0, 30), (30, 60), (90, 10)]
    assert words(plot) == "All: a 30 % (30), b 60 % (60), c 10 % (10)."


def test_the_area_of_a_square_is_its_count_and_the_diagonal_is_filled() -> None:
    plot = matrix([[100, 25], [0, 4]], ["A", "B"], name="p", title="T", rows="judge", columns="people")
    squares = [(e.attrib["class"], float(e.attrib["width"])) for e in ET.fromstring(plot).iter("rect")]
    assert [kind for kind, _ in squares] == ["agree", "differ", "differ", "agree"]
    largest = squares[0][1]
    assert [round((side / largest) ** 2, 2) for _, side in squares] == [1, 0.25, 0, 0.04]
    assert "judge A, people B: 25" in words(plot)


def test_a_calibrated_judge_lies_on_the_diagonal() -> None:
    bins = [{"stated": v, "observed": v, "n": 10} for v in (0.1, 0.5, 0.9)]
    bins.append({"stated": None, "observed": None, "n": 0})
    root = ET.fromstring(reliability(bins, name="p", title="T"))
    diagonal = next(e for e in root.iter("line") if e.attrib["class"] == "zero")
    bottom, top = float(diagonal.attrib["y1"]), float(diagonal.attrib["y2"])
    marks = [(percent(e, "cx") / 100, (bottom - float(e.attrib["cy"])) / (bottom - top)) for e in root.iter("circle")]
    assert len(marks) == 3
    for across, up in marks:
        assert across == pytest.approx(up, abs=0.002)


def test_a_mark_of_more_verdicts_is_larger_by_area() -> None:
    bins = [{"stated": 0.2, "observed": 0.2, "n": 25}, {"stated": 0.8, "observed": 0.9, "n": 100}]
    small, large = (float(e.attrib["r"]) for e in ET.fromstring(reliability(bins, name="p", title="T")).iter("circle"))
    assert small / large == pytest.approx(0.5)


def test_dots_stand_at_their_values_apart_from_each_other_and_outliers_are_squares() -> None:
    strip = Strip("women", (("Ida", 0.5), ("Lena", 0.5), ("Klara", 0.25)), frozenset({"Klara"}))
    plot = strips([strip], name="p", title="T", zero=False)
    root = ET.fromstring(plot)
    circles = [(percent(e, "cx"), float(e.attrib["cy"])) for e in root.iter("circle")]
    assert [x for x, _ in circles] == [50, 50]
    assert circles[0][1] != circles[1][1]
    assert [e.attrib["class"] for e in root.iter("rect")] == ["recuse"]
    mean = next(e for e in root.iter("line") if e.attrib["class"] == "bar")
    assert percent(mean, "x1") == pytest.approx(100 * 1.25 / 3, abs=0.01)
    assert words(plot) == "women: mean 0.42; Klara 0.25, Ida 0.50, Lena 0.50."


def test_gaps_have_an_axis_around_zero() -> None:
    root = ET.fromstring(strips([Strip("t", (("a", -0.3), ("b", 0.1)))], name="p", title="T", zero=True))
    assert [percent(e, "x1") for e in root.iter("line") if e.attrib["class"] == "zero"] == [50]
    left, right = (percent(e, "cx") for e in root.iter("circle"))
    assert left < 50 < right


def test_the_position_plot_counts_pairs_by_what_decided_them() -> None:
    rate = Finding("position.first_rate", "F", 0.6, n=100, details={"always_first": 30, "always_second": 10})
    thirds = [{"third": "close", "pairs": 20, "by_place": 0.5, "first_rate": 0.65}]
    hard = Finding("position.by_difficulty", "D", 0.1, details={"thirds": thirds})
    said = position_plot([rate, hard], name="p")
    assert "always the first answer 30 % (30), neither place 60 % (60), always the second answer 10 % (10)" in said
    # Half of 20 go with the place; first minus second is 2 * 0.65 - 1 = 0.3 of 20: 8 first, 2 second.
    assert "always the first answer 40 % (8), neither place 50 % (10), always the second answer 10 % (2)" in said
    assert position_plot([Finding("position.first_rate", "F", None, reason="none")], name="p") == ""


def test_biases_without_numbers_have_no_row() -> None:
    measured = Finding("bias.x.effect", "X", 0.2, details={"base_error": 0.3, "error": 0.5})
    said = bias_plot([measured, Finding("bias.y.effect", "Y", None, reason="r")], name="p")
    assert "X: with the meaningless version 0.300, with the bias 0.500." in said
    assert ">Y" not in said
    assert bias_plot([], name="p") == ""
