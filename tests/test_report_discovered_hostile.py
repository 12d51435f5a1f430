"""Whatever text a model or data puts into a discovery, no form of its report obeys it."""

from __future__ import annotations

import io
import re

import pytest
from discovered_example import EXAMPLE, hostile
from html_page import ATTRIBUTES, OURS, Page, shape
from markdown_it import MarkdownIt
from report_example import HOSTILE
from rich.console import Console

from recuse.report.discovered_html import discovered_html
from recuse.report.discovered_markdown import discovered_markdown
from recuse.report.jsonable import discovered_text
from recuse.report.terminal import print_discovered

UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069\ufeff]")
MARKS = {"ins", "del"}  # how many there are hangs on the words
EMPHASIS = {"strong_open", "strong_close"}


@pytest.mark.parametrize("name", ["example", *HOSTILE])
def test_no_text_adds_an_element_an_attribute_or_a_reference(name: str) -> None:
    page = Page(discovered_html(EXAMPLE if name == "example" else hostile(HOSTILE[name])))
    assert {tag for tag, _ in page.elements} <= OURS | MARKS | {"h4", "details", "summary"}
    for _, attributes in page.elements:
        assert set(attributes) <= ATTRIBUTES | {"open"}
        for key, value in attributes.items():
            if key not in ("aria-label", "content"):
                assert "http" not in (value or "")
                assert "javascript" not in (value or "")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_leaves_the_elements_as_harmless_text_does(name: str) -> None:
    pages = [Page(discovered_html(hostile(text))) for text in (HOSTILE[name], "harmless")]
    found, expected = ([tag for tag in shape(page) if tag not in MARKS] for page in pages)
    assert found == expected


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_unseen_reaches_any_form(name: str) -> None:
    result = hostile(HOSTILE[name])
    for report in (discovered_html(result), discovered_markdown(result)):
        assert not UNSEEN.search(report)
        report.encode("utf-8")
        assert len(report) < 250_000
    stream = io.StringIO()
    print_discovered(result, Console(file=stream, width=100))
    assert not UNSEEN.search(stream.getvalue())


def parsed(report: str) -> list[str]:
    """Kinds of nodes that an independent CommonMark parser sees, text and the marks of differing words left out."""
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    nodes = [node for block in parser.parse(report) for node in (block, *(block.children or ()))]
    return [node.type for node in nodes if node.type not in EMPHASIS | {"text", "text_special", "inline"}]


@pytest.mark.parametrize("name", HOSTILE)
def test_another_parser_sees_the_same_document_whatever_the_text(name: str) -> None:
    kinds = parsed(discovered_markdown(hostile(HOSTILE[name])))
    assert kinds == parsed(discovered_markdown(hostile("harmless text")))
    assert not {"link_open", "image", "html_block", "html_inline", "s_open", "em_open"} & set(kinds)


@pytest.mark.parametrize("name", ["example", *HOSTILE])
def test_every_mark_of_a_differing_word_takes_effect(name: str) -> None:
    report = discovered_markdown(EXAMPLE if name == "example" else hostile(HOSTILE[name]))
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    nodes = [node for block in parser.parse(report) for node in block.children or ()]
    ours = len(re.findall(r"(?<!\\)\*\*", re.sub(r"^(`{3,})toml\n.*?\n\1$", "", report, flags=re.M | re.S)))
    assert sum(node.type in EMPHASIS for node in nodes) == ours > 0


@pytest.mark.parametrize("name", HOSTILE)
def test_json_is_ascii_and_whole(name: str) -> None:
    text = discovered_text(hostile(HOSTILE[name]))
    assert text.isascii()
    assert "\x1b" not in text
