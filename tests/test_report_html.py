"""The page: only our own elements, nothing loaded or run, every number readable without the plots."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace

import pytest
from html_page import ATTRIBUTES, OURS, Page, shape
from report_example import EXAMPLE, FINDINGS, HOSTILE, hostile

from recuse.report.html import html
from recuse.report.text import LONGEST


@pytest.mark.parametrize("name", ["example", *HOSTILE])
def test_no_text_adds_an_element_an_attribute_or_a_reference(name: str) -> None:
    page = Page(html(EXAMPLE if name == "example" else hostile(HOSTILE[name])))
    assert {tag for tag, _ in page.elements} <= OURS
    for tag, attributes in page.elements:
        assert set(attributes) <= ATTRIBUTES
        for key, value in attributes.items():
            assert not key.startswith("on")
            if key not in ("aria-label", "content"):  # words for people, and our own policy
                assert value is not None or key == "hidden"
                assert "http" not in (value or "")
                assert "javascript" not in (value or "")
        assert tag != "meta" or "refresh" not in attributes.values()


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_leaves_the_elements_as_harmless_text_does(name: str) -> None:
    assert shape(Page(html(hostile(HOSTILE[name])))) == shape(Page(html(hostile("harmless"))))


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_unseen_reaches_the_page(name: str) -> None:
    page = html(hostile(HOSTILE[name]))
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069\ufeff]", page)
    page.encode("utf-8")  # no lone surrogate


def test_a_megabyte_of_answer_is_cut_and_its_length_told() -> None:
    page = html(hostile(HOSTILE["long"]))
    assert len(page) < 160_000
    assert f"({len(HOSTILE['long']):,} characters)" in page
    assert HOSTILE["long"][:LONGEST] in Page(page).text()


def test_the_policy_forbids_everything_but_the_style_sheet_and_the_script_of_this_page() -> None:
    page = Page(html(EXAMPLE))
    policy = next(a["content"] for t, a in page.elements if t == "meta" and "http-equiv" in a)
    style = "".join(data for tag, data in page.texts if tag == "style")
    cases, script = (data for tag, data in page.texts if tag == "script")
    scripts = [a for t, a in page.elements if t == "script"]
    assert scripts == [{"type": "application/json", "id": "case-data"}, {}]
    assert "<" not in cases
    digest, run = (base64.b64encode(hashlib.sha256(of.encode()).digest()).decode() for of in (style, script))
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; script-src 'sha256-{run}'; base-uri 'none'; "
        "form-action 'none'"
    )
    for reach in ("fetch", "XMLHttpRequest", "import(", "innerHTML", "eval", "http"):
        assert reach not in script
    assert "url(" not in style
    assert "@import" not in style


def test_every_finding_is_in_the_page_with_its_interval() -> None:
    text = Page(html(EXAMPLE)).text()
    for finding in FINDINGS:
        assert finding.id in text
    assert "0.42 [0.36, 0.47]" in text
    assert "0.930 [0.887, 0.958]" in text
    assert "not measured (deterministic: greedy decoding repeats itself, so a repeat says nothing)" in text
    assert "5 of 236" in text
    assert "recorded: 0.17 [0.11, 0.25]" in text


def test_the_outcome_comes_before_everything_else() -> None:
    text = Page(html(EXAMPLE)).text()
    assert text.index("it prefers the answer shown first") < text.index("SmolLM2-135M-Instruct", text.index("Audit of"))


def test_each_plot_is_told_in_words_and_ids_are_unique() -> None:
    page = Page(html(EXAMPLE))
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    plots = [a for t, a in page.elements if t == "svg" and a.get("role") == "img"]
    assert len(plots) == 3
    for plot in plots:
        assert set(str(plot["aria-labelledby"]).split()) <= set(ids)
    words = [data for tag, data in page.texts if tag == "desc"]
    assert "Share preferring the answer shown first: 0.930 [0.887, 0.958], tolerance 0.4 to 0.6, recuse" in words[0]


def test_tables_have_captions_and_scoped_headers() -> None:
    page = Page(html(EXAMPLE))
    assert shape(page).count("table") == shape(page).count("caption") == 7
    assert all(a.get("scope") in ("col", "row") for t, a in page.elements if t == "th")


def test_the_page_names_the_level_of_the_gate_and_no_p_of_what_was_not_measured() -> None:
    gone = replace(FINDINGS[0], estimate=None, interval=None, bounds=None, reason="why", p=0.0777)
    page = Page(html(replace(EXAMPLE, findings=(gone, *FINDINGS[1:]), gate={"level": 0.9})))
    words = " ".join(content for _, content in page.texts)
    assert words.count("Estimate, 90 % interval") == 4
    assert "Bar: 90 % interval." in words
    assert "95 %" not in words
    assert "0.078" not in words
    assert "0.078" in html(replace(EXAMPLE, findings=(replace(gone, estimate=0.5),)))
    estimates = [attributes for tag, attributes in page.elements if tag == "td" and attributes["class"] == "estimate"]
    assert len(estimates) == len(FINDINGS)
