"""The report of a probe: every number stands where a reader looks for it, and no text of a model is obeyed."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from html_page import ATTRIBUTES, OURS, Page, shape
from json_schema import check
from markdown_it import MarkdownIt
from report_example import HOSTILE

from recuse import assets
from recuse.report.jsonable import probed_json, probed_text
from recuse.report.probed import ProbeResult
from recuse.report.probed_html import probed_html
from recuse.report.probed_markdown import probed_markdown
from recuse.types import Finding

UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069\ufeff]")
METHOD = "paired gap by template; t over templates"
GAP = Finding(
    "probe.gap:approve:women/men", "approve: women minus men", -0.1234, (-0.2011, -0.0457), 480, 40, 0.0021, METHOD,
    bounds=(-0.2511, 0.0021),
    details={"mean_a": 0.4321, "mean_b": 0.5555, "p_adjusted": 0.0042, "p_without_symmetry": 0.031,
             "further_names": {"interval": [-0.2611, 0.0143], "p": 0.071, "method": "two-way"},
             "pooled": {"interval": [-0.151, -0.096], "p": 1e-9, "method": "Welch"}},
)  # fmt: skip
EXAMPLE = ProbeResult(
    model="openai/some-model",
    plan={"path": "lending.toml", "hash": "0123456789abcdef", "asked_hash": "fedcba9876543210", "templates": 40,
          "batches": ["spring"], "names_matched": None},
    headline="A gap in approve: women minus men: -0.123 [-0.201, -0.046] over 40 templates.",
    found=True,
    findings=(
        GAP,
        Finding("probe.failure_gap:approve:women/men", "approve: women minus men, replies without a value", 0.0412,
                (0.0101, 0.0801), 500, 40, 0.012, "MOVER"),
        Finding("probe.cut:approve:women/men:income=irregular", "approve: women minus men, income irregular", -0.2815,
                (-0.39, -0.18), 240, 20, 0.001, METHOD),
        Finding("probe.flip_rate:approve", "approve: women and men decided differently", 0.31, (0.25, 0.37), 40, 40),
        Finding("probe.noise:approve", "approve: one text decided differently", None, reason="the floor is unknown"),
        Finding("probe.names:approve:Ida Sorge", "approve: Ida Sorge minus the other names of women", -0.0777, None, 40,
                0, 0.2),
        Finding("probe.names:approve:Emil Sorge", "approve: Emil Sorge minus the other names of men", 0.1888, None, 40,
                0, 0.0004),
    ),
    tables={
        "per_template": [
            {"metric": "approve", "a": "women", "b": "men", "template_id": "courier3", "gap": -0.6667, "mean_a": 0.1667,
             "mean_b": 0.8333, "n_a": 6, "n_b": 6, "missing_a": 0, "missing_b": 1,
             "labels": {"stratum": "borderline", "batch": None, "income": "irregular"}},
            {"metric": "approve", "a": "women", "b": "men", "template_id": "nurse1", "gap": None, "mean_a": None,
             "mean_b": 1.0, "n_a": 0, "n_b": 6, "missing_a": 6, "missing_b": 0, "labels": {}},
        ],
        "per_name": [
            {"metric": "approve", "name": "Emil Sorge", "group": "men", "n": 40, "missing": 2, "mean": 0.7444,
             "apart": 0.1888, "p": 0.0004, "p_adjusted": 0.0048, "outlying": True},
        ],
        "reasons": [{"metric": "approve", "group": "women", "reason": "refused", "replies": 11, "of": 240}],
        "words": [
            {"a": "women", "b": "men", "tested": 87, "word": "childcare", "more_in": "women", "rate_a": 0.2123,
             "rate_b": 0.0321, "gap": 0.1802, "replies_a": 51, "replies_b": 8, "templates": 22, "p": 0.00002,
             "p_adjusted": 0.0019, "found": True},
            {"a": "women", "b": "men", "tested": 87, "word": "harbour", "more_in": "men", "rate_a": 0.1, "rate_b": 0.12,
             "gap": -0.02, "replies_a": 24, "replies_b": 29, "templates": 20, "p": 0.4, "p_adjusted": 0.8,
             "found": False},
        ],
        "examples": [{"template": "courier3", "prompt": "Ida Sorge is a courier.", "replies": [
            {"group": "women", "name": "Ida Sorge", "reply": "No, her income varies."},
            {"group": "men", "name": "Emil Sorge", "reply": "Yes, go ahead."}]}],
        "names": [{"group": "women", "name": "Ida Sorge", "count": 900.0, "year": 1983.0}],
    },
    notes=("This model takes no temperature.",),
    config={"model": "openai/some-model", "temperature": 0.0, "templates": {"courier3": "aa"}},
    usage={"calls": 480, "from_ledger": 20, "tokens_in": 9000, "tokens_out": 480, "cost": None, "seconds": 12.0},
)  # fmt: skip


def hostile(text: str) -> ProbeResult:
    """The example with `text` wherever a model, a plan or a user can put text."""
    name = {**EXAMPLE.tables["per_name"][0], "name": text, "group": text, "metric": text}
    template = {**EXAMPLE.tables["per_template"][0], "template_id": text, "a": text, "labels": {text: text}}
    example = {"template": text, "prompt": text, "replies": [{"group": text, "name": text, "reply": text}] * 2}
    tables = {
        "per_template": [template], "per_name": [name], "examples": [example],
        "reasons": [{"metric": text, "group": text, "reason": text, "replies": 1, "of": 2}],
        "words": [{**EXAMPLE.tables["words"][0], "a": text, "word": text, "more_in": text}],
        "names": [{"group": text, "name": text, "count": None, "year": None}],
    }  # fmt: skip
    findings = [replace(f, title=text, method=text) for f in EXAMPLE.findings]
    findings.append(Finding(f"probe.names:{text[:50]}:{text[:50]}", text, None, reason=text))
    return replace(
        EXAMPLE, model=text, headline=text, findings=tuple(findings), tables=tables, notes=(text,), config={"x": text},
        plan={**EXAMPLE.plan, "path": text, "batches": [text]},
    )  # fmt: skip


def forms(result: ProbeResult) -> dict[str, str]:
    plain = re.sub(r"\\(?=\W)", "", probed_markdown(result))
    return {"markdown": plain, "html": Page(probed_html(result)).text()}


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_every_number_stands_in_the_report(form: str) -> None:
    shown = forms(EXAMPLE)[form]
    for said in (
        EXAMPLE.headline, "-0.12 [-0.20, -0.05]", "480 (40)", "0.002", "0.432", "0.555", "0.004", "0.031",
        "[-0.26, 0.01], p 0.071", "[-0.151, -0.096], p below 0.001", "0.041 [0.010, 0.080]", "-0.28 [-0.39, -0.18]",
        "not measured (the floor is unknown)", "courier3", "stratum borderline, income irregular", "-0.667",
        "Emil Sorge", "0.189", "0.005", "outlying", "refused", "11 of 240", "No, her income varies.", "Yes, go ahead.",
        "This model takes no temperature.", "lending.toml", "fedcba9876543210", "spring", "480 calls", "1983",
        "wrong", "87 words tested", "childcare", "0.212",
    ):  # fmt: skip
        assert said in shown, said


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_the_gap_comes_first_and_names_from_the_most_unlikely_on(form: str) -> None:
    shown = forms(EXAMPLE)[form]
    places = [shown.index(said) for said in ("A gap in approve", "probe.gap:", "probe.failure_gap:", "probe.cut:")]
    assert places == sorted(places)
    assert shown.index("approve: Emil Sorge minus") < shown.index("approve: Ida Sorge minus")
    assert shown.index("courier3") < shown.index("nurse1")


def test_words_that_are_chance_are_not_shown() -> None:
    assert not any("harbour" in shown for shown in forms(EXAMPLE).values())


def test_the_json_holds_to_its_schema_and_every_id_stands_once() -> None:
    content = probed_json(EXAMPLE)
    check(content, json.loads(assets.data("probe.schema.json").read_text("utf-8")))
    assert content["kind"] == "probe"
    assert content["findings"][0]["details"]["further_names"]["interval"] == [-0.2611, 0.0143]
    ids = [one["id"] for one in content["findings"]]
    assert len(ids) == len(set(ids))
    assert json.loads(probed_text(EXAMPLE)) == content


def test_a_number_that_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match=r"result\.findings\[0\]\.estimate is nan"):
        probed_json(replace(EXAMPLE, findings=(replace(GAP, estimate=float("nan")),)))


@pytest.mark.parametrize("name", ["example", *HOSTILE])
def test_no_text_adds_an_element_an_attribute_or_a_reference(name: str) -> None:
    page = Page(probed_html(EXAMPLE if name == "example" else hostile(HOSTILE[name])))
    assert {tag for tag, _ in page.elements} <= OURS | {"details", "summary"}
    for _, attributes in page.elements:
        assert set(attributes) <= ATTRIBUTES | {"open"}
        for key, value in attributes.items():
            if key not in ("aria-label", "content"):
                assert "http" not in (value or "")
                assert "javascript" not in (value or "")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_leaves_the_elements_as_harmless_text_does(name: str) -> None:
    found, expected = (shape(Page(probed_html(hostile(text)))) for text in (HOSTILE[name], "harmless"))
    assert found == expected


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_unseen_reaches_any_form(name: str) -> None:
    result = hostile(HOSTILE[name])
    for report in (probed_html(result), probed_markdown(result)):
        assert not UNSEEN.search(report)
        report.encode("utf-8")


@pytest.mark.parametrize("name", sorted(set(HOSTILE) - {"long"}))
def test_hostile_text_is_only_text_to_a_markdown_parser(name: str) -> None:
    def parsed(report: str) -> list[str]:
        parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
        nodes = [node for block in parser.parse(report) for node in (block, *(block.children or ()))]
        return [node.type for node in nodes if node.type not in {"text", "text_special", "inline", "code_inline"}]

    assert parsed(probed_markdown(hostile(HOSTILE[name]))) == parsed(probed_markdown(hostile("harmless")))


def test_shares_of_decisions_have_an_axis_from_0_to_1_and_gaps_one_around_0() -> None:
    page = probed_html(replace(EXAMPLE, tables={name: [] for name in EXAMPLE.tables}))
    plots = dict(re.findall(r"<h2[^>]*>([^<]+)</h2>.*?(<svg.*?</svg>)", page, re.DOTALL))
    shares, gaps = plots["Decisions that change with the group, and noise"], plots["Gaps"]
    assert ">0.25<" in shares
    assert 'class="zero"' not in shares
    assert 'class="zero"' in gaps
