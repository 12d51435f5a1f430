"""How large is the page of 10,000 cases, how long does it take to write, to open and to filter?

    python experiments/bench/report_page.py [--cases 10000] [--out FOLDER]

Needs a Chromium (Debian: apt-get install chromium). The cases are made up: questions of 40 to 400 words, answers of 60
to 900, as in JudgeBench, one in 50 with a word that the search looks for.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from chromium import chromium

from recuse.report.case import Case, Said
from recuse.report.html import html
from recuse.report.result import AuditResult

# From the change of a filter to the list on the screen, in milliseconds: the handler and the layout that it forces.
TIMED = """(() => {
  const node = document.getElementById("case-%s");
  const start = performance.now();
  node.value = "%s";
  node.dispatchEvent(new Event("%s", {bubbles: true}));
  document.getElementById("case-list").getBoundingClientRect();
  return [performance.now() - start, document.getElementById("case-count").textContent];
})()"""


def words(draw: random.Random, low: int, high: int) -> str:
    return " ".join("".join(draw.choices("etaoinshrdlu", k=draw.randint(2, 9))) for _ in range(draw.randint(low, high)))


def cases_of(count: int) -> list[Case]:
    draw, cases = random.Random(7), []
    for i in range(count):
        says = draw.choice((("rejected", "rejected"), ("chosen", "rejected"), *[("chosen", "chosen")] * 4))
        chosen = ("Pomegranate " if i % 50 == 0 else "") + words(draw, 60, 900)
        said = tuple(
            Said(order, what, p=draw.random(), replies=(words(draw, 5, 120) + " [[A]]",))
            for order, what in zip(("AB", "BA"), says, strict=True)
        )
        cases.append(
            Case(f"{i:016x}", domain=f"domain {i % 9}", question=words(draw, 40, 400), chosen=chosen,
                 rejected=words(draw, 60, 900), said=said)
        )  # fmt: skip
    return cases


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    result = AuditResult(
        judge="fake", pairs="made up", prompt="pairwise/label", outcome="fit", headline="Nothing was judged.",
        findings=(), cases=tuple(cases_of(given.cases)),
    )  # fmt: skip
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        page = (given.out or Path(place)) / "report.html"
        started = time.perf_counter()
        page.write_text(html(result), encoding="utf-8")
        taken = time.perf_counter() - started
        print(f"{given.cases:,} cases: {page.stat().st_size / 1e6:.1f} MB, written in {taken:.1f} s")
        with chromium(Path(place)) as tab:
            tab.screen(width=390, height=844)
            started = time.perf_counter()
            tab.open(page)
            print(f"opened in {time.perf_counter() - started:.2f} s; complaints: {tab.complaints()}")
            tab.run("new Promise((done) => setTimeout(done, 1500))")  # a reader looks at the page first
            for name, value, event in (
                ("text", "pomegranate", "input"), ("text", "pomegranate eta", "input"), ("text", "", "input"),
                ("outcome", "flips", "change"), ("domain", "3", "change"), ("outcome", "*", "change"),
            ):  # fmt: skip
                taken, count = tab.run(TIMED % (name, value, event))
                print(f"{name} = {value!r}: {taken:.0f} ms, {count}")


if __name__ == "__main__":
    main()
