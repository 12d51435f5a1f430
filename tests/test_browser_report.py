"""Pages in a real Chromium: nothing complains, nothing leaves, and all of it works by hand, key, ear and on paper."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import chromium
import explained_example
import hardened_example
import pytest
from discovered_example import EXAMPLE as DISCOVERED
from report_example import EXAMPLE, FINDINGS, HOSTILE, hostile
from test_report_probed import EXAMPLE as PROBED

from recuse.report.case import Case, Said
from recuse.report.discovered_html import discovered_html
from recuse.report.explained_html import explained_html
from recuse.report.hardened_html import hardened_html
from recuse.report.html import html
from recuse.report.probed_html import probed_html
from recuse.report.result import AuditResult
from recuse.types import Finding

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium.program() is None, reason="no Chromium: apt-get install chromium"),
]
PLOTTED = (
    Finding("position.first_rate", "First", 0.6, (0.5, 0.7), 60, 60, tolerance=(0.4, 0.6), outcome="inconclusive",
            details={"always_first": 20, "always_second": 8}),
    Finding("bias.authority.effect", "Authority", 0.2, (0.1, 0.3), 60, 60,
            details={"base_error": 0.3, "error": 0.5}),
    Finding("sham.spread", "Shams", 0.01, details={"effects": {"sham:1": -0.02, "sham:2": 0.03}}),
    Finding("placebo.second", "Second placebo", 0.01, (-0.1, 0.1), 60, 60),
    Finding("calibration.kappa", "Kappa", 0.5, (0.3, 0.7), 60, 60, tolerance=(0.6, None), outcome="inconclusive",
            details={"confusion": {"labels": ["A", "B"], "judge_by_people": [[20, 5], [8, 27]]}}),
    Finding("calibration.ece", "Calibration error", 0.1, (0.05, 0.2), 60, 60,
            details={"curve": [{"low": 0.0, "high": 0.5, "stated": 0.3, "observed": 0.4, "n": 30},
                               {"low": 0.5, "high": 1.0, "stated": 0.8, "observed": 0.7, "n": 30}]}),
    Finding("swap.gap:pairwise:m/w", "Men minus women", -0.2, (-0.3, -0.1), 60, 12, tolerance=(-0.02, 0.02),
            outcome="recuse",
            details={"names": [{"name": n, "group": g, "mean": m, "n": 6, "missing": 0}
                               for n, g, m in (("Ida", "w", 0.6), ("Emil", "m", 0.4), ("Paul", "m", 0.42))],
                     "largest": [{"template": "t1", "gap": -0.4}], "by_template": {"t1": -0.4, "t2": 0.0}}),
)  # fmt: skip
SAYS = (("rejected", "rejected"), ("chosen", "rejected"), ("chosen", "chosen"), ("chosen", "none (refused)"))


def cases() -> tuple[Case, ...]:
    """200: fifty of each outcome, in two arms and three domains, one in ten about rivers."""
    made = []
    for i in range(200):
        says = SAYS[i // 50]
        arm = "bias:authority" if i % 4 == 3 else "original"
        said = tuple(
            Said(order, what, p=0.25, replies=(f"Verdict {i} in {order}: {what}",))
            for order, what in zip(("AB", "BA"), says, strict=True)
        )
        better = f"The answer to {i} is long and right" + (", by the River." if i % 10 == 0 else ".")
        worse = f"The answer to {i} is long and wrong."
        changed = {"untouched": "The answer is wrong.", "before": {"AB": "chosen", "BA": "chosen"}}
        made.append(
            Case(f"pair{i:03}", arm, ("law", "code", None)[i % 3], f"Question {i}?\nIn two lines.", better, worse,
                 said=said, **(changed if arm != "original" else {}))
        )  # fmt: skip
    return tuple(made)


CASES = cases()
JUDGES = (explained_html(explained_example.EXAMPLE), hardened_html(hardened_example.EXAMPLE))
RESULT = replace(EXAMPLE, cases=CASES, findings=(*PLOTTED, *(f for f in FINDINGS if f.id != "position.first_rate")))


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Tab]:
    with chromium.chromium(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture
def show(tab: chromium.Tab, tmp_path: Path) -> Callable[..., chromium.Tab]:
    """Open a page as it is written; `how` as in `Tab.screen`."""

    def shown(page: str, **how: Any) -> chromium.Tab:
        path = tmp_path / "page.html"
        path.write_text(page, encoding="utf-8")
        tab.screen(**{"width": 1200, **how})
        tab.open(path)
        return tab

    return shown


Show = Callable[..., chromium.Tab]


def quiet(tab: chromium.Tab) -> None:
    assert tab.complaints() == []
    (own,) = tab.requests()
    assert own.startswith("file://")


def count(tab: chromium.Tab) -> str:
    said: str = tab.run("document.getElementById('case-count').textContent")
    return said


def pick(tab: chromium.Tab, name: str, starts: str) -> None:
    """Choose the option of a menu whose words start so."""
    tab.run(f"""(() => {{
      const menu = document.getElementById("case-{name}");
      menu.value = [...menu.options].find((o) => o.text.startsWith({starts!r})).value;
      menu.dispatchEvent(new Event("change", {{bubbles: true}}));
    }})()""")


@pytest.mark.parametrize(
    "page",
    [html(RESULT), html(replace(RESULT, cases=())), discovered_html(DISCOVERED), probed_html(PROBED), *JUDGES],
    ids=["audit", "audit without cases", "discovery", "probe", "explain", "harden"],
)
def test_a_page_loads_nothing_and_complains_of_nothing(page: str, show: Show) -> None:
    tab = show(page)
    quiet(tab)
    assert tab.run("document.querySelector('.copy').hidden") is False  # its script ran


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_seen_as_text_and_does_nothing(name: str, show: Show) -> None:
    bad = HOSTILE[name]
    more = Case("p", arm=bad, domain=bad, question=f"{bad}</script><script>alert(1)</script>", chosen=f"one {bad}",
                rejected=f"two {bad}", untouched=f"three {bad}", said=(Said("AB", bad, replies=(bad,)),))  # fmt: skip
    tab = show(html(replace(hostile(bad), cases=(*hostile(bad).cases, more))))
    tab.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    quiet(tab)
    assert not [e for e in tab.events if e["method"] == "Page.javascriptDialogOpening"]
    assert tab.run("document.querySelectorAll('script').length") == 2
    assert tab.run("document.querySelectorAll('img, iframe, a, object, form, link, b, svg [onload]').length") == 0
    text = tab.run("document.querySelectorAll('details.case .text')[0].textContent")
    assert text.startswith(re.sub(r"[^\x20-\x7e]+.*", "", bad, flags=re.DOTALL))
    whole = tab.run("document.body.innerText")
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", whole)
    if name == "bidi":
        assert "⟨U+202E⟩" in text
    if name == "long":
        assert "(1,200,000 characters)" in text


def test_the_policy_stops_a_script_and_a_request_that_slip_in(show: Show) -> None:
    tab = show(html(RESULT))
    tab.run("""(() => {
      const bad = document.createElement("script");
      bad.textContent = "window.slipped = true";
      document.body.append(bad);
      document.body.insertAdjacentHTML("beforeend", "<img src='https://a.test/x.png' onerror='window.slipped=1'>");
    })()""")
    said = " ".join(tab.complaints())
    assert tab.run("window.slipped") is None
    assert "Content Security Policy" in said
    stopped = [e["params"].get("blockedReason") for e in tab.events if e.get("method") == "Network.loadingFailed"]
    assert stopped == ["csp"]


def test_filters_show_what_they_say(show: Show) -> None:
    tab = show(html(RESULT))
    assert count(tab) == "Showing 1 to 25 of 200 cases, worst first."
    pick(tab, "outcome", "Flips")
    assert count(tab) == "Showing 1 to 25 of 50 matching cases (200 in all)."
    pick(tab, "domain", "law")
    law = [c for c in CASES if c.outcome == "flips" and c.domain == "law"]
    assert count(tab) == f"Showing 1 to {len(law)} of {len(law)} matching cases (200 in all)."
    assert tab.run("[...document.querySelectorAll('.case .about')].map((e) => e.textContent.slice(0, 7))") == [
        c.pair for c in law
    ]
    tab.run("document.getElementById('case-reset').click()")
    pick(tab, "arm", "bias:authority")
    assert "of 50 matching" in count(tab)
    pick(tab, "outcome", "Right untouched, wrong")
    turned = sum(c.turned for c in CASES)
    assert turned == 12
    assert f"of {turned} matching" in count(tab)
    tab.run("document.getElementById('case-reset').click()")
    assert count(tab) == "Showing 1 to 25 of 200 cases, worst first."


@pytest.mark.parametrize(
    ("typed", "found"),
    [("river", 20), ("RIVER answer", 20), ("pair123", 1), ("'Verdict 7 in'", 0), ("verdict 77", 2), ("zebra", 0)],
)
def test_the_search_looks_into_every_text_for_every_word(typed: str, found: int, show: Show) -> None:
    tab = show(html(RESULT))
    tab.run("document.getElementById('case-text').focus()")
    tab.type(typed)
    shown = f"Showing 1 to {found} of " if found else ""
    if typed == "verdict 77":  # pair077 and pair177
        assert [c.pair for c in CASES if "77" in c.pair] == ["pair077", "pair177"]
    assert count(tab) == f"{shown}{found} matching cases (200 in all)."


def test_a_case_says_the_same_with_the_script_and_without(show: Show) -> None:
    read = """[...document.querySelectorAll("details.case")].slice(0, 12).map((d) => {
      d.open = true;
      return [...d.querySelectorAll("h3, .text, .note, td, th, h4, summary, caption")].map((e) => e.textContent);
    })"""
    path_of = html(RESULT)
    tab = show(path_of)
    tab.run("document.querySelectorAll('details.case').forEach((d) => { d.open = true; })")
    tab.run("new Promise((done) => setTimeout(done, 50))")
    scripted = tab.run(read)
    marks = "[...document.querySelectorAll('details.case mark')].map((m) => m.textContent.trim()).slice(0, 12)"
    marked = tab.run(marks)
    static = path_of.replace("<script>", '<script type="text/plain">')  # the same page whose script never runs
    tab = show(static)
    assert tab.run("document.getElementById('case-filters').hidden") is True
    assert tab.run(read) == scripted
    assert tab.run(marks) == marked
    assert len(marked) == 12


def test_words_that_differ_are_marked_and_nothing_is_lost(show: Show) -> None:
    tab = show(html(replace(RESULT, cases=(Case("p", question="q", chosen="a  b c\nd e", rejected="a b x\nd"),))))
    tab.run("document.querySelector('details.case').open = true")
    tab.run("new Promise((done) => setTimeout(done, 50))")
    left, right = tab.run("[...document.querySelectorAll('.beside .text')].map((e) => e.innerHTML)")
    assert left == "a  b <mark>c</mark>\nd<mark> e</mark>" or left == "a  b <mark>c</mark>\nd <mark>e</mark>"
    assert right == "a b <mark>x</mark>\nd"


def test_pages_turn_and_the_keyboard_stays_at_the_first_case(show: Show) -> None:
    tab = show(html(RESULT))
    back, forth = (f"document.querySelectorAll('#case-pages button')[{i}]" for i in (0, 1))
    assert tab.run(f"[{back}.disabled, {forth}.disabled]") == [True, False]
    tab.run(f"{forth}.click()")
    assert count(tab) == "Showing 26 to 50 of 200 cases, worst first."
    assert tab.run("document.activeElement.querySelector('.about').textContent").startswith("pair025")
    for _ in range(6):
        tab.run(f"{forth}.click()")
    assert count(tab) == "Showing 176 to 200 of 200 cases, worst first."
    assert tab.run(f"[{back}.disabled, {forth}.disabled]") == [False, True]


def test_everything_is_reached_and_opened_by_keyboard(show: Show) -> None:
    tab = show(html(RESULT))
    reached: list[str] = []
    for _ in range(120):
        tab.press("Tab")
        here = tab.run("document.activeElement.id || document.activeElement.tagName")
        reached.append(here)
        if here == "SUMMARY":
            break
    assert reached[-5:] == ["case-arm", "case-domain", "case-text", "case-reset", "SUMMARY"]
    assert reached[-6] == "case-outcome"
    outline = tab.run("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    tab.press("Enter")
    assert tab.run("document.activeElement.parentElement.open") is True
    tab.run("new Promise((done) => setTimeout(done, 50))")
    assert "Question 0?" in tab.run("document.activeElement.parentElement.innerText")
    tab.press("Tab")
    tab.press("Tab")
    assert tab.run("document.activeElement.textContent") == "Raw replies"
    tab.press(" ")
    assert "Verdict 0 in AB: rejected" in tab.run("document.activeElement.parentElement.innerText")


def test_a_screen_reader_hears_plots_labels_and_the_count(show: Show) -> None:
    tab = show(html(RESULT))
    nodes = tab.tree()
    plots = [n for n in nodes if n["role"] in ("image", "img")]
    assert len(plots) == tab.run("document.querySelectorAll('svg[role=img]').length") == 11
    for plot in plots:
        assert plot["name"]
        assert re.search(r"\d", plot["description"]), plot["name"]
    for role, names in (
        ("combobox", ["Outcome", "Answers", "Domain"]),
        ("searchbox", ["Text"]),
        ("search", ["Filter the cases"]),
    ):
        assert [n["name"] for n in nodes if n["role"] == role] == names
    assert [n for n in nodes if n["role"] == "status"]
    assert all(
        n["name"] for n in nodes if n["role"] in ("button", "region", "navigation", "heading", "DisclosureTriangle")
    )
    assert [n["role"] for n in nodes].count("main") == 1


# Contrast by WCAG 2.1 of every text that is shown, with the colours that stand under it.
CONTRAST = """(() => {
  const parse = (c) => (c.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const under = (e) => {
    for (; e; e = e.parentElement) {
      const found = parse(getComputedStyle(e).backgroundColor);
      if (found.length === 3 || found[3] > 0) return found;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const e of document.querySelectorAll("main *:not(svg *)")) {
    const said = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!said || !e.offsetParent || e.disabled) continue;
    const [a, b] = [light(parse(getComputedStyle(e).color)), light(under(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push([e.tagName, e.className, e.textContent.slice(0, 30), ratio]);
  }
  return poor;
})()"""


@pytest.mark.parametrize("page", [html(RESULT), *JUDGES], ids=["audit", "explain", "harden"])
@pytest.mark.parametrize("dark", [False, True])
def test_text_stands_out_in_light_and_dark(dark: bool, page: str, show: Show) -> None:
    tab = show(page, dark=dark)
    tab.run("document.querySelectorAll('details.case').forEach((d) => { d.open = true; })")
    tab.run("new Promise((done) => setTimeout(done, 50))")
    tab.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert tab.run(CONTRAST) == []
    ground = tab.run("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", ground))) < 150) is dark


@pytest.mark.parametrize("page", [html(RESULT), html(hostile(HOSTILE["long"])), probed_html(PROBED), *JUDGES])
def test_a_phone_never_scrolls_sideways_and_fingers_find_their_place(page: str, show: Show) -> None:
    tab = show(page, width=390, height=844)
    tab.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    tab.run("new Promise((done) => setTimeout(done, 50))")
    assert tab.run("[document.documentElement.scrollWidth, innerWidth]") == [390, 390]
    small = """[...document.querySelectorAll("button, select, input, details.case > summary")]
      .filter((e) => e.offsetParent && e.getBoundingClientRect().height < 40).map((e) => e.outerHTML)"""
    assert tab.run(small) == []


@pytest.mark.parametrize(
    "page", [html(RESULT), probed_html(PROBED), discovered_html(DISCOVERED), *JUDGES],
    ids=["audit", "probe", "discovery", "explain", "harden"],
)  # fmt: skip
def test_a_phone_shows_every_cell_of_a_table_with_the_name_of_its_column(page: str, show: Show) -> None:
    tab = show(page, width=390, height=844)
    tab.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    tab.run("new Promise((done) => setTimeout(done, 50))")
    wide = """[...document.querySelectorAll(".scroll")].filter((e) => e.scrollWidth > e.clientWidth)
      .map((e) => [e.getAttribute("aria-label"), e.scrollWidth])"""
    assert tab.run(wide) == []
    nameless = """[...document.querySelectorAll(".stacked tbody tr")].flatMap((row) => {
      const names = [...row.closest("table").querySelectorAll("thead th")].map((th) => th.textContent);
      return [...row.cells].filter((cell, i) => i && cell.textContent
        && getComputedStyle(cell, "::before").content !== JSON.stringify(names[i]));
    }).length"""
    assert tab.run(nameless) == 0
    assert tab.run("document.querySelectorAll('.stacked').length") > 0


def test_paper_shows_the_list_unfolded_and_no_filters(show: Show) -> None:
    tab = show(html(RESULT), media="print")
    assert tab.run("getComputedStyle(document.getElementById('case-filters')).display") == "none"
    assert tab.run("getComputedStyle(document.querySelector('.copy')).display") == "none"
    tab.run("dispatchEvent(new Event('beforeprint'))")
    assert tab.run("[...document.querySelectorAll('details')].every((d) => d.open)") is True
    assert tab.run("document.body.innerText").count("Verdict ") == 2 * 25
    tab.run("dispatchEvent(new Event('afterprint'))")
    assert tab.run("document.querySelectorAll('details.case[open]').length") == 0


def test_paper_shows_folded_cases_without_a_script_too(show: Show) -> None:
    tab = show(html(RESULT).replace("<script>", '<script type="text/plain">'), media="print")
    heights = tab.run("[...document.querySelectorAll('details.case .beside')].map((e) => e.offsetHeight)")
    assert len(heights) == 12
    assert all(heights)


def test_the_configuration_is_copied_or_selected(show: Show) -> None:
    tab = show(html(RESULT))
    tab.run("Object.defineProperty(navigator, 'clipboard', {value: {writeText: async (t) => { window.copied = t; }}})")
    button = "document.querySelector('.copy button')"
    code = tab.run("document.querySelector('#config ~ pre code').textContent")
    assert "prompt]" in code
    tab.run(f"{button}.click()")
    assert tab.run("window.copied") == code
    assert tab.run("document.querySelector('.copy [role=status]').textContent") == "Copied."
    tab.run("navigator.clipboard.writeText = async () => { throw new Error('no'); }")
    tab.run(f"{button}.click()")
    tab.run("new Promise((done) => setTimeout(done, 50))")
    assert tab.run("getSelection().toString()").strip() == code.strip()
    assert tab.run("getComputedStyle(document.querySelector('pre code')).userSelect") == "all"


def test_ten_thousand_cases_stay_small_and_quick(show: Show) -> None:
    text = "Whether the river runs to the sea or from it, nobody in the village could say for certain. "
    many = tuple(
        replace(CASES[i % 200], pair=f"{i:05}", question=f"{i} {text * 6}", chosen=f"{i} {text * 20}",
                rejected=f"{i} wrong {text * 20}")
        for i in range(10_000)
    )  # fmt: skip
    result: AuditResult = replace(RESULT, cases=many)
    page = html(result)
    assert len(page.encode()) < 15_000_000
    tab = show(page, width=390)
    tab.run("new Promise((done) => setTimeout(done, 1500))")
    for name, value, event in (("outcome", "flips", "change"), ("text", "village 77", "input"), ("text", "", "input")):
        times = [
            tab.run(f"""(() => {{
              const node = document.getElementById("case-{name}"), start = performance.now();
              node.value = {value!r};
              node.dispatchEvent(new Event({event!r}, {{bubbles: true}}));
              document.getElementById("case-list").getBoundingClientRect();
              return performance.now() - start;
            }})()""")
            for _ in range(3)
        ]
        assert sorted(times)[1] < 200
    quiet(tab)
