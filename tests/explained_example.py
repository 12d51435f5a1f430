"""An explanation in which everything was measured, written by hand."""

from __future__ import annotations

from recuse.report.explained import (
    Crossed,
    Example,
    ExplainReport,
    Features,
    Proven,
    Put,
    Reader,
    Recommended,
    Theme,
    Themes,
)
from recuse.types import Finding

KINDS = {
    "agrees": ("Judge and people agree in both orders", 50),
    "content": ("The judge prefers another answer in both orders", 30),
    "position": ("The verdict goes with the place", 15),
    "tie": ("The judge sees a tie where people do not", 3),
    "unread": ("No verdict in some order", 2),
}


def feature(id: str, estimate: float, *, found: bool, text: str) -> Finding:
    told = {
        "found": found, "alone": estimate / 2, "alone_interval": (0.1, 0.9), "alone_reason": None, "q": 0.004,
        "vif": 1.5, "people_more": 0.25, "differ": 88,
    }  # fmt: skip
    return Finding(f"explain.feature.{id}", text, estimate, (estimate - 0.5, estimate + 0.5), 100, 90, 0.002, text,
                   details=told)  # fmt: skip


def findings(text: str) -> tuple[Finding, ...]:
    kinds = [
        Finding(f"explain.kind.{kind}", title, n / 100, (max(0.0, n / 100 - 0.05), n / 100 + 0.05), 100, 90)
        for kind, (title, n) in KINDS.items()
    ]
    return (
        *kinds,
        Finding("explain.first", "First", 0.55, (0.48, 0.62), 100, 90, 0.2),
        Finding("explain.reader.contradicting", text, 0.1, (0.05, 0.2), 200, 90),
        Finding("explain.position.by_reader", text, -0.02, (-0.05, 0.01), 100, 90),
        feature("length", 0.2, found=False, text=text),
        feature("sources", 1.4, found=True, text=text),
        Finding("explain.turned.authority", "Authority: turned", 0.4, (0.3, 0.5), 60, 60,
                details={"share": 0.45, "placebo": 0.05, "turned": 27}),
        Finding("explain.bias.authority.effect", "Authority: error added", 0.35, (0.25, 0.45), 60, 60, 0.001,
                details={"q": 0.002, "status": "accepted"}),
        Finding("explain.sham.spread", "Shams", 0.01, details={"effects": {"sham:1": -0.03, "sham:2": 0.04}}),
    )  # fmt: skip


def example(text: str = "plain", *, people: str = "chosen") -> ExplainReport:
    """`text` stands wherever a model, data or a user can put text."""
    shown = Example(text, text, people, {"AB": "rejected", "BA": None}, text, text, text, text)
    themes = (
        Theme((text, "study"), 0.6, (0.4, 0.8), 18, 0.9, 0.1, (0.02, 0.3), 0.5, (0.3, 0.7), None, ((text, text),)),
        Theme(("list", "layout"), 0.3, None, 9, 0.7, None, None, None, None, text, ()),
    )
    advice = f"Beware:\n- {' '.join(text.split())}"  # as the paragraph is made, every bias in one line
    return ExplainReport(
        headline=text, judge=text, pairs=text, people=text, level=0.95, counts={k: n for k, (_, n) in KINDS.items()},
        findings=findings(text), reader=Reader(200, 15, 5, text, (("position", "agrees", 8), ("agrees", "agrees", 50))),
        features=Features(None, {"code": text}, 95, {"length": "length", "sources": text, "code": "code"}),
        injected=Put(60, ("authority",)),
        themes=Themes(text, "words", 30, 2, 3, text, None, themes),
        crossed=(Crossed(text, text, text, 0.7, 0.2, 0.5, (0.2, 0.8), None, 18),),
        recommendation=Recommended(advice, (Proven("authority", text, 0.35, (0.25, 0.45), 60, text),), (text,)),
        examples={"content": (shown, shown), "unread": (Example(text, None, "tie", {"-": "chosen"}, *[None] * 4),)},
        limits=(text,), notes=(text,), usage={"calls": 12, "cost": None}, config={"schema": 1, "run": {"judge": text}},
    )  # fmt: skip


EXAMPLE = example()
