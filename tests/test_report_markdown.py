"""Markdown: the outcome first, tables that hold, and hostile text that stays text."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt
from report_example import EXAMPLE, FINDINGS, HOSTILE, hostile

from recuse.report.markdown import markdown
from recuse.report.markdown_parts import escape
from recuse.types import Finding

UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069\ufeff]")


def outside_blocks(report: str) -> str:
    return re.sub(r"^(`{3,})toml\n.*?\n\1$", "", report, flags=re.MULTILINE | re.DOTALL)


def cells(line: str) -> int:
    return len(re.findall(r"(?<!\\)\|", line)) - 1


def test_the_first_paragraph_is_the_outcome_in_one_bold_line() -> None:
    lines = markdown(EXAMPLE).splitlines()
    assert lines[2] == (
        "**Recuse: it prefers the answer shown first in 0.93 [0.89, 0.96] of all asks; the gate allows 0.4 to 0.6.**"
    )


def test_a_primary_has_estimate_interval_tolerance_size_outcome_and_method_in_its_row() -> None:
    row = next(line for line in markdown(EXAMPLE).splitlines() if "`accuracy.error_rate`" in line)
    assert row == (
        "| Error rate, both orders averaged `accuracy.error_rate` | 0.42 [0.36, 0.47] | at most 0.25 | 118 (60) "
        "| below 0.001 | **recuse** | [0.35, 0.49] over all completions "
        "| mean over pairs, variance by group, logit t interval |"
    )


def test_a_finding_that_was_not_measured_shows_no_p() -> None:
    gone = Finding("a", "A", None, reason="why", p=0.0312, outcome="inconclusive", details={"p_against_others": 0.0213})
    there = replace(gone, id="b", estimate=0.5)
    report = markdown(replace(EXAMPLE, findings=(gone, there)))
    rows = {id: next(line for line in report.splitlines() if f"`{id}`" in line) for id in "ab"}
    assert "| 0.031 | 0.021 |" in rows["b"]
    assert "0.031" not in rows["a"]
    assert "0.021" not in rows["a"]


@pytest.mark.parametrize(("level", "named"), [(0.95, "95 %"), (0.9, "90 %"), (0.999, "99.9 %"), (None, "95 %")])
def test_intervals_are_named_by_the_level_of_the_gate(level: float | None, named: str) -> None:
    result = replace(EXAMPLE, gate={} if level is None else {"level": level})
    titles = re.findall(r"^\| Measure \| (.*?) \|", markdown(result), re.MULTILINE)
    assert len(titles) == 4
    assert set(titles) == {f"Estimate, {named} interval"}


def test_every_finding_is_named_and_a_null_tells_its_reason() -> None:
    report = markdown(EXAMPLE)
    for finding in FINDINGS:
        assert f"`{finding.id}`" in report
    assert "not measured (deterministic: greedy decoding repeats itself, so a repeat says nothing)" in report


def test_another_reading_of_the_same_verdicts_stands_beside() -> None:
    row = next(line for line in markdown(EXAMPLE).splitlines() if "`accuracy.pooled`" in line)
    assert "| 0.15 [0.10, 0.22] |" in row
    assert "| recorded: 0.17 [0.11, 0.25] |" in row


def test_a_case_shows_what_was_asked_and_nothing_else() -> None:
    both, alone = markdown(EXAMPLE).split("| Case |")[1:]
    assert "| Judge, better answer first | A |\n| Judge, worse answer first | A |" in both
    assert "each answer alone" not in both
    assert "| Judge, each answer alone | none (refused) |" in alone
    assert "answer first" not in alone


def test_configuration_and_gate_are_printed_as_toml_that_reads_back() -> None:
    blocks = re.findall(r"^```toml\n(.*?)\n```$", markdown(EXAMPLE), flags=re.MULTILINE | re.DOTALL)
    assert [tomllib.loads(block) for block in blocks] == [EXAMPLE.config, EXAMPLE.gate]


@pytest.mark.parametrize("name", ["example", *HOSTILE])
def test_every_row_has_as_many_cells_as_its_table(name: str) -> None:
    report = outside_blocks(markdown(EXAMPLE if name == "example" else hostile(HOSTILE[name])))
    tables = [block.splitlines() for block in report.split("\n\n") if block.lstrip("\n").startswith("|")]
    assert tables
    for table in tables:
        lines = [line for line in table if line]
        assert len({cells(line) for line in lines}) == 1
        assert set(lines[1]) == set("| -")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_opens_neither_html_nor_markup_nor_links(name: str) -> None:
    report = outside_blocks(markdown(hostile(HOSTILE[name])))
    assert "<" not in report
    assert not UNSEEN.search(report)
    assert not re.search(r"(?<!\\)\]\(", report)
    assert "http://" not in report
    spans = re.findall(r"`[^`]*`", report)
    assert all(re.fullmatch(r"`[\w.:/-]+`", span) for span in spans)
    assert "`" not in re.sub(r"`[^`]*`", "", report)
    report.encode("utf-8")


def parsed(report: str) -> list[str]:
    """Kinds of nodes that an independent CommonMark parser with tables and raw HTML sees, text left out."""
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    nodes = [node for block in parser.parse(report) for node in (block, *(block.children or ()))]
    return [node.type for node in nodes if node.type not in ("text", "text_special", "inline")]


@pytest.mark.parametrize("name", HOSTILE)
def test_another_parser_sees_the_same_document_whatever_the_text(name: str) -> None:
    kinds = parsed(markdown(hostile(HOSTILE[name])))
    expected = parsed(markdown(hostile("harmless text")))
    assert kinds == expected
    assert not {"link_open", "image", "html_block", "html_inline", "s_open", "em_open"} & set(kinds)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_starts_no_line(name: str) -> None:
    def starts(report: str) -> list[str]:
        return [line[:2] for line in outside_blocks(report).splitlines()]

    assert starts(markdown(hostile(HOSTILE[name]))) == starts(markdown(hostile("harmless text")))


def test_a_block_cannot_be_closed_from_inside() -> None:
    report = markdown(replace(EXAMPLE, config={"judge": "a\n````\n<script>"}))
    fences = re.findall(r"^(`{3,})toml$", report, flags=re.MULTILINE)
    assert fences == ["`````", "```"]
    (block,) = re.findall(rf"^{fences[0]}toml\n(.*?)\n{fences[0]}$", report, flags=re.MULTILINE | re.DOTALL)
    assert tomllib.loads(block) == {"judge": "a\n````\n<script>"}


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("a|b", "a&#124;b"),
        ("<b>&amp;", "&lt;b&gt;&amp;amp;"),
        ("two\nlines", "two ⏎ lines"),
        ("\x1b[31m", "⟨U+001B⟩\\[31m"),
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("![x](y)", "!\\[x\\](y)"),
        ("1. item", "1\\. item"),
        ("0.5 and 3.2", "0.5 and 3.2"),
        ("# head", "\\# head"),
        ("in [0.1, 0.2].", "in [0.1, 0.2]."),
        ("[0.1, 0.2](x)", "\\[0.1, 0.2\\](x)"),
        ("Zoë, 日本, 🙂", "Zoë, 日本, 🙂"),
    ],
)
def test_text_is_shown_as_it_is(given: str, shown: str) -> None:
    assert escape(given) == shown


def test_long_text_is_cut_and_its_length_told() -> None:
    assert escape("x" * 1_000_000) == "x" * 600 + "… (1,000,000 characters)"
    assert len(markdown(hostile(HOSTILE["long"]))) < 150_000
