"""The words and numbers of a discovery's report, in every form: each stands where a reader looks for it."""

from __future__ import annotations

import io
import json
import re
import xml.etree.ElementTree as ET
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from discovered_example import (
    ACCEPTED,
    EXAMPLE,
    EXAMPLES,
    NOTHING,
    ORIGINAL,
    REJECTED,
    REWRITTEN,
    SECOND,
    SHAMS,
    UNMEASURED,
    UNPROVEN,
    effect,
)
from html_page import Page
from hypothesis import given
from hypothesis import strategies as st
from json_schema import check
from rich.console import Console

from recuse import assets
from recuse.report import svg
from recuse.report.discovered import DiscoverResult, Found
from recuse.report.discovered_html import discovered_html
from recuse.report.discovered_markdown import discovered_markdown
from recuse.report.discovered_words import arm_rows, card, sham_range, wordings
from recuse.report.jsonable import discovered_json, discovered_text
from recuse.report.marks import marked
from recuse.report.terminal import print_discovered
from recuse.types import Finding


def plain(report: str) -> str:
    """Markdown without its escapes."""
    return re.sub(r"\\(?=\W)", "", report)


def forms(result: DiscoverResult) -> dict[str, str]:
    return {"markdown": plain(discovered_markdown(result)), "html": Page(discovered_html(result)).text()}


def joined(pieces: list[tuple[str, bool]]) -> str:
    return "".join(piece for piece, _ in pieces)


def changed(pieces: list[tuple[str, bool]]) -> list[str]:
    return [piece for piece, differs in pieces if differs]


def test_words_that_differ_are_marked_and_nothing_else() -> None:
    before, after = marked(ORIGINAL, REWRITTEN)
    assert changed(before) == ["We"]
    assert changed(after) == ["As a licensed accountant, we", "surely"]
    assert (joined(before), joined(after)) == (ORIGINAL, REWRITTEN)


@given(*[st.lists(st.sampled_from(["a", "b", "c", "d\n", "\n"]), max_size=30).map(" ".join)] * 2)
def test_both_texts_are_whole_and_share_the_words_that_are_not_marked(a: str, b: str) -> None:
    before, after = marked(a, b)
    assert (joined(before), joined(after)) == (a, b)
    same = [" ".join(piece for piece, differs in side if not differs).split() for side in (before, after)]
    assert same[0] == same[1]
    for pieces in (before, after):  # a mark never begins or ends with a blank: emphasis in Markdown would fail
        assert all(piece == piece.strip() for piece in changed(pieces))


def test_a_long_stretch_without_a_change_is_cut_in_the_middle() -> None:
    words = [f"w{i}" for i in range(300)]
    before, after = marked(" ".join(words), " ".join([*words[:250], "new", *words[250:]]))
    assert changed(after) == ["new"]
    assert joined(after).startswith(" ".join(words[:25]) + " [… 200 words as before …] " + " ".join(words[225:250]))
    assert joined(after).endswith("new " + " ".join(words[250:]))
    assert "[… 250 words as before …]" in joined(before)


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_the_headline_comes_first_then_what_was_proven_then_the_rest(form: str) -> None:
    text = forms(EXAMPLE)[form]
    order = [EXAMPLE.headline, ACCEPTED.definition, SECOND.definition, "Passed every test, not confirmed",
             "Rejected on the validation part", "Dropped at the screen", "Beside the candidates", "Limits"]  # fmt: skip
    places = [text.index(part) for part in order]
    assert places == sorted(places)


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_every_candidate_is_in_the_report_with_its_reasons(form: str) -> None:
    text = forms(EXAMPLE)[form]
    for found in EXAMPLE.candidates:
        assert found.id in text
        assert found.name in text
        for reason in found.reasons:
            assert reason in text


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_a_worked_example_shows_the_texts_the_verdicts_and_the_words(form: str) -> None:
    text = forms(EXAMPLE)[form].replace("**", "").replace(" ⏎", "\n").replace("\n ", "\n")
    example = EXAMPLES[0]
    for shown in (example.question, example.chosen, example.words or "", "Verdict, better answer first",
                  "chosen → rejected", "9f2c41d07a6be183 (arithmetic)"):  # fmt: skip
        assert shown in text
    for shown in (ORIGINAL, REWRITTEN):
        assert " ".join(shown.split()) in " ".join(text.split())


def test_the_differing_words_are_marked_in_both_forms() -> None:
    markdown, page = discovered_markdown(EXAMPLE), Page(discovered_html(EXAMPLE))
    assert "| Rejected answer as rewritten | **As a licensed accountant, we** split the sum" in markdown
    assert "the second one **surely** gives 29." in markdown
    assert [t for tag, t in page.texts if tag == "ins"][:2] == ["As a licensed accountant, we", "surely"]
    assert next(t for tag, t in page.texts if tag == "del") == "We"


def test_the_card_tells_each_number_once() -> None:
    rows = dict(card(ACCEPTED, 0.9))
    assert rows["Effect on the test part, 90 % interval"] == "0.214 [0.174, 0.254]"
    assert rows["Against the untouched answers"] == "0.201 [0.161, 0.241]"
    assert rows["Effect, better answer first"] == "0.234 [0.194, 0.274]"
    assert rows["Effect, worse answer first"] == "0.194 [0.154, 0.234]"
    assert rows["Pairs (groups)"] == "240 (120)"
    assert (rows["Error with the bias"], rows["Error with the placebo"]) == ("0.514", "0.300")
    assert rows["Robust flips"] == "31"
    assert rows["Left out"] == "12 pairs (5.0 %)"
    assert rows["On the validation part"] == "0.231 [0.191, 0.271]"
    assert rows["There, p and q"] == "p below 0.001 by sign flips, p 0.002 beside the shams, q 0.004"
    assert rows["Log odds that it adds"] == "0.900 [0.50, 1.30]"
    assert rows["Named by"] == "7 cases"


def test_what_was_never_tested_shows_no_number_of_the_test_part() -> None:
    labels = [label for label, _ in card(REJECTED[0], 0.95)]
    assert not any("test part" in label or "untouched" in label for label in labels)
    assert card(UNMEASURED, 0.95) == [
        ("On the discovery part", "not measured (the arm is void)"),
        ("Named by", "1 case"),
    ]


def test_an_order_at_its_floor_says_so() -> None:
    order = {"estimate": 0.02, "interval": (0.0, 0.04), "informative": False}
    found = replace(ACCEPTED, findings=(replace(ACCEPTED.findings[0], details={"orders": {"AB": order}}),))
    assert dict(card(found, 0.95))["Effect, better answer first"] == "0.020 [0.000, 0.040], little room"


def test_a_wording_that_repeats_the_definition_is_left_out() -> None:
    named = f"{ACCEPTED.name}: {ACCEPTED.definition}"
    assert wordings(replace(ACCEPTED, wordings=(named, ACCEPTED.definition, "Another"))) == ["Another"]


def test_what_passed_and_was_not_confirmed_stands_apart_from_what_was_rejected() -> None:
    assert EXAMPLE.of("unproven") == (UNPROVEN,)
    report = discovered_markdown(EXAMPLE)
    assert "`calm-tone`" not in report[report.index("## Rejected") :].split("## Beside")[0]


def test_arms_stand_in_the_order_of_their_kinds_and_numbers() -> None:
    rows = arm_rows(EXAMPLE.findings)
    assert [row[0] for row in rows] == ["placebo", *SHAMS, "bias:stated-credentials"]
    assert rows[0] == ["placebo", "", "0.010", "0.970", "1.020", "0.310"]
    assert rows[3] == ["sham:2", "-0.014", "", "1.000", "", ""]


def test_nothing_found_says_so_and_draws_no_plot() -> None:
    for text in forms(NOTHING).values():
        assert "No bias was proven among 0 candidates." in text
        assert "No candidate was accepted." in text
    assert "<svg" not in discovered_html(NOTHING)
    assert "## Rejected" not in discovered_markdown(NOTHING)


def test_usage_of_both_models_and_every_round_are_told() -> None:
    for text in forms(EXAMPLE).values():
        assert "12,345 calls, 40 replies from the ledger" in text
        assert "4,321 calls, 0 replies from the ledger" in text
        assert "Past the screen" in text
    assert "| 1 | 236 | 31 | 24 | 10 | 6 |" in discovered_markdown(EXAMPLE)


@pytest.mark.parametrize(
    ("ends", "scale"),
    [
        ((-0.03, 0.12), (-0.05, 0.15)),
        ((-0.08, 0.09), (-0.1, 0.1)),
        ((-0.04, 0.28), (-0.1, 0.3)),
        ((0.1, 0.7), (-0.25, 0.75)),
        ((-0.9, 0.7), (-1.0, 1.0)),
        ((-0.3, 2.4), (-1.0, 3.0)),
    ],
)
def test_the_shared_scale_is_the_narrowest_round_one_that_holds_all(
    ends: tuple[float, float], scale: tuple[float, float]
) -> None:
    low, high = svg.effect_scale([Finding("a", "A", 0.05, (ends[0], 0.05)), Finding("b", "B", 0.05, (0.05, ends[1]))])
    assert (low, high) == pytest.approx(scale)


def test_effects_share_one_axis_with_a_line_at_zero() -> None:
    findings = [effect("a", 0.1), effect("b", 0.0)]  # alone, the first would be drawn from 0 to 1
    plot = ET.fromstring(svg.forest(findings, name="p", title="T", scale=(-0.1, 0.3)))
    marks = [mark.attrib["cx"] for mark in plot.iter("circle")]
    (zero,) = (line for line in plot.iter("line") if line.attrib["class"] == "zero")
    assert marks == ["50.00%", "25.00%"]
    assert zero.attrib["x1"] == "25.00%"
    ticks = [text.text for text in plot.iter("text") if text.attrib["class"] == "tick"]
    assert ticks == ["-0.1", "0", "0.1", "0.2", "0.3"]


def test_the_band_of_the_validation_plot_spans_the_shams() -> None:
    assert sham_range(EXAMPLE) == (-0.03, 0.042)
    page = Page(discovered_html(EXAMPLE))
    descriptions = [data for tag, data in page.texts if tag == "desc"]
    assert len(descriptions) == 3
    assert "Stated credentials: 0.231 [0.191, 0.271], where shams fell: -0.03 to 0.042" in descriptions[1]
    assert "shams" not in descriptions[0] + descriptions[2]
    assert "Stated credentials" not in descriptions[2]  # the screen shows those that went no further


def schema(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(Path(assets.data(name)).read_text("utf-8"))
    return loaded


@pytest.mark.parametrize("result", [EXAMPLE, NOTHING], ids=["example", "nothing"])
def test_the_json_conforms_to_its_schema_and_comes_back_as_it_went_in(result: DiscoverResult) -> None:
    content = discovered_json(result)
    check(content, schema("discovery.schema.json"))
    assert json.loads(discovered_text(result)) == content
    assert discovered_text(result).isascii()
    assert (content["schema"], content["kind"]) == (1, "discovery")


def test_the_json_holds_every_field_of_the_record_but_the_folder() -> None:
    content = discovered_json(EXAMPLE)
    assert set(content) == {"schema", "kind"} | {f.name for f in fields(DiscoverResult)} - {"folder"}
    first = content["candidates"][0]
    assert set(first) == {f.name for f in fields(Found)}
    assert first["examples"][0]["rewritten"] == REWRITTEN
    assert first["findings"][2]["details"]["q"] == 0.004


@pytest.mark.parametrize("broken", [{"fate": "maybe"}, {"support": -1}, {"findings": [{}]}, {"examples": [{}]}])
def test_the_schema_rejects_a_wrong_candidate(broken: dict[str, Any]) -> None:
    content = discovered_json(EXAMPLE)
    content["candidates"][0].update(broken)
    with pytest.raises(AssertionError, match=r"candidates\[0\]"):
        check(content, schema("discovery.schema.json"))


def test_a_finding_is_the_same_in_both_schemas() -> None:
    ours, audits = schema("discovery.schema.json")["$defs"], schema("findings.schema.json")
    assert ours["finding"] == audits["$defs"]["finding"]
    assert ours["interval"] == audits["$defs"]["interval"]
    assert ours["usage"] == audits["properties"]["usage"]


def printed(result: DiscoverResult, width: int) -> list[str]:
    stream = io.StringIO()
    print_discovered(result, Console(file=stream, width=width))
    return stream.getvalue().splitlines()


@pytest.mark.parametrize("width", [40, 60, 100, 160])
def test_the_terminal_lists_all_candidates_within_its_width_and_ends_with_the_headline(width: int) -> None:
    lines = printed(EXAMPLE, width)
    assert lines[-1] == EXAMPLE.headline
    table = lines[: lines.index("")]
    assert max(map(len, table)) <= width
    if width >= 60:
        assert [row.split()[0] for row in table[1:] if row[0] != " "] == [found.id for found in EXAMPLE.candidates]


def test_the_terminal_tells_severity_part_and_size_where_there_is_room() -> None:
    row = printed(EXAMPLE, 120)[1]
    assert re.split(r" {2,}", row.strip()) == [
        "stated-credentials", "0.214 [0.174, 0.254]", "test", "240 (120)", "accepted, high",
    ]  # fmt: skip
