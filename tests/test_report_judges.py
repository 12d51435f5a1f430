"""Reports of `recuse explain` and `recuse harden`: what stands in them, in every form, and that no text is obeyed."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import explained_example
import hardened_example
import pytest
from html_page import ATTRIBUTES, OURS, Page, shape
from json_schema import check
from markdown_it import MarkdownIt
from report_example import HOSTILE

from recuse import assets
from recuse.cli import run
from recuse.report.explained_html import explained_html
from recuse.report.explained_json import explained_text
from recuse.report.explained_markdown import explained_markdown
from recuse.report.hardened_html import hardened_html
from recuse.report.hardened_json import hardened_text
from recuse.report.hardened_markdown import hardened_markdown
from recuse.report.read import read_result

KINDS: dict[str, tuple[Callable[[str], Any], Callable[[Any], str], Callable[[Any], str], Callable[[Any], str]]] = {
    "explain": (explained_example.example, explained_html, explained_markdown, explained_text),
    "harden": (hardened_example.example, hardened_html, hardened_markdown, hardened_text),
}
UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069\ufeff]")
both = pytest.mark.parametrize("kind", KINDS)


@both
@pytest.mark.parametrize("name", ["plain", *HOSTILE])
def test_no_text_adds_an_element_an_attribute_or_a_reference(kind: str, name: str) -> None:
    example, html, _, _ = KINDS[kind]
    page = Page(html(example(HOSTILE.get(name, "plain"))))
    for _, attributes in page.elements:
        assert set(attributes) <= ATTRIBUTES
        for key, value in attributes.items():
            if key not in ("aria-label", "content", "data-label"):
                assert "http" not in (value or "")
                assert "javascript" not in (value or "")
    assert {tag for tag, _ in page.elements} <= OURS
    assert shape(page) == shape(Page(html(example("harmless"))))


@both
@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_unseen_reaches_any_form_and_another_parser_sees_the_same_document(kind: str, name: str) -> None:
    example, html, markdown, text = KINDS[kind]
    report = example(HOSTILE[name])
    for shown in (html(report), markdown(report)):
        assert not UNSEEN.search(shown)
        shown.encode("utf-8")
    assert text(report).isascii()
    nodes = [parsed(markdown(one)) for one in (report, example("harmless text"))]
    assert nodes[0] == nodes[1]
    assert not {"link_open", "image", "html_block", "html_inline", "s_open", "em_open"} & set(nodes[0])


def parsed(report: str) -> list[str]:
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    nodes = [node for block in parser.parse(report) for node in (block, *(block.children or ()))]
    return [node.type for node in nodes if node.type not in ("text", "text_special", "inline")]


@both
def test_the_json_is_what_its_schema_says(kind: str) -> None:
    example, _, _, text = KINDS[kind]
    schema = json.loads(assets.data(f"{kind}.schema.json").read_text("utf-8"))
    content = json.loads(text(example("plain")))
    check(content, schema)
    for key in schema["required"]:
        with pytest.raises(AssertionError):
            check({name: value for name, value in content.items() if name != key}, schema)


@both
@pytest.mark.parametrize("words", ["plain", HOSTILE["bidi"], HOSTILE["markdown"]])
def test_a_report_is_read_back_whole(kind: str, words: str, tmp_path: Path) -> None:
    example, html, markdown, text = KINDS[kind]
    report = replace(example(words), folder=tmp_path)
    (tmp_path / "findings.json").write_text(text(report))
    assert html(read_result(tmp_path)) == html(report)
    assert markdown(read_result(tmp_path)) == markdown(report)
    assert text(read_result(tmp_path)) == text(report)


@both
@pytest.mark.parametrize("part", ["findings", "variants", "themes", "recommendation", "present", "config"])
def test_a_damaged_file_is_one_sentence(
    kind: str, part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    example, _, _, text = KINDS[kind]
    content = json.loads(text(example("plain")))
    if part not in content:
        return
    content[part] = [{}] if isinstance(content[part], list) else {"x": 1} if part != "config" else None
    (tmp_path / "findings.json").write_text(json.dumps(content))
    code = run(["report", str(tmp_path)])
    if part == "config":  # nothing is made of it but a block to copy
        return
    assert code == 2
    told = capsys.readouterr().err
    assert "not the findings of a run" in told
    assert told.count("\n") == 1


@both
def test_junit_has_a_case_for_every_finding_and_no_failure(kind: str, tmp_path: Path) -> None:
    example, _, _, text = KINDS[kind]
    (tmp_path / "findings.json").write_text(text(example("plain")))
    assert run(["report", str(tmp_path), "--format", "junit"]) == 0
    root = ET.fromstring((tmp_path / "report.xml").read_text())
    assert (root.attrib["failures"], root.attrib["errors"]) == ("0", "0")
    assert len(list(root.iter("testcase"))) == len(example("plain").findings)


def test_every_variant_stands_in_every_measure_with_its_margin() -> None:
    page = hardened_html(hardened_example.EXAMPLE)
    words = Page(page).text()
    for said in (
        "-0.100 [-0.140, -0.060]",
        "+0.010 [-0.010, 0.030]",
        "not measured (plain)",
        "better",
        "turned",
        "unclear",
    ):
        assert said in words
    plots = re.findall(r"<desc[^>]*>(.*?)</desc>", page)
    assert len(plots) == len(hardened_example.MEASURES)
    assert plots[0].startswith("mended: -0.100 [-0.140, -0.060], where it would be better: at most 0, better. traded: ")
    assert "mended: 0.010 [-0.010, 0.030], within the margin: at most 0.05, not worse" in plots[1]
    assert "within the margin: at least -0.05, unclear" in plots[2]
    assert "margin" not in plots[3]  # decides nothing
    # Better in what must be: a circle. Worse, turned: squares. No worse where better was asked: not shown as enough.
    marks = re.findall(r'class="(fit|recuse|inconclusive)" (?:cx|x)=', page)
    assert marks == ["fit", "recuse", "fit", "recuse", "inconclusive"]


def test_no_worse_is_not_enough_in_what_must_be_better() -> None:
    report = hardened_example.EXAMPLE
    first = report.variants[0]
    same = replace(first.cells[0], outcome="not worse")
    page = hardened_html(replace(report, variants=(replace(first, cells=(same, *first.cells[1:])), report.variants[1])))
    assert re.findall(r'class="(fit|recuse|inconclusive)" (?:cx|x)=', page)[0] == "inconclusive"


def test_the_page_of_an_explanation_shows_what_was_found_and_by_what() -> None:
    page = explained_html(explained_example.EXAMPLE)
    plots = re.findall(r"<desc[^>]*>(.*?)</desc>", page)
    assert len(plots) == 5  # kinds, reader, features, what was put in, themes
    assert "The verdict goes with the place: 0.15 [0.10, 0.20]" in plots[0]
    assert plots[2] == "length: 0.20 [-0.30, 0.70]. plain: 1.40 [0.90, 1.90], found."
    assert plots[3] == (
        "Authority: error added: 0.35 [0.25, 0.45], where meaningless edits fell: -0.03 to 0.04, accepted."
    )
    words = Page(page).text()
    assert "0.60 [0.40, 0.80], 18 cases" in words
    assert "Left out: code: plain." in words
    assert page.index('id="recommendation"') < page.index('id="kinds"')
