"""What the report of a discovery says, as labels and text that every form shows; not yet escaped."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from recuse.report import text
from recuse.report.discovered import FATES, DiscoverResult, Found, Worked
from recuse.report.result import AuditResult
from recuse.types import Finding

_ORDERS = {"AB": "better answer first", "BA": "worse answer first", "-": "each answer alone"}
_PARTS = {"validation": "validation", "screen": "discovery"}

_MORE = {
    "interaction": "Difference between the orders",
    "logit": "Log odds that it adds",
    "score_shift": "Points that it adds to the wrong answer's score",
    "itt": "With failed rewrites as no change",
}

Row = tuple[str, str]


def facts(result: DiscoverResult) -> dict[str, str]:
    counts = [f"{len(result.of(fate))} {fate}" for fate in FATES if result.of(fate)]
    return {
        "Judge": result.judge,
        "Teacher": result.teacher,
        "Pairs": result.pairs,
        "Prompt": result.prompt,
        "Candidates": ", ".join(counts) or "none",
        **{f"Usage of the {role}": text.usage_line(used) for role, used in result.usage.items()},
    }


def part(finding: Finding) -> str:
    """The part of the data on which a candidate's finding was measured."""
    return _PARTS.get(finding.id.rpartition(".")[2], "test")


def of(found: Found, kind: str) -> Finding | None:
    """The finding of a candidate that ends in `kind`: effect, vs_original, both_reworded, score_shift, validation or
    screen."""
    return next((f for f in found.findings if f.id.endswith(f".{kind}")), None)


def card(found: Found, level: float) -> list[Row]:
    """The numbers of one candidate: label and text."""
    effect, original, validation = (of(found, kind) for kind in ("effect", "vs_original", "validation"))
    first = effect or validation
    rows: list[Row] = []
    if effect:
        rows += [(f"Effect on the test part, {text.intervals(level)}", text.estimate(effect))]
    if first:
        d = first.details
        rows += [
            ("Pairs (groups)", text.size(first)),
            ("Error with the bias", _share(d.get("error"))),
            ("Error with the placebo", _share(d.get("base_error"))),
        ]
    if original:
        rows += [("Against the untouched answers", text.estimate(original))]
    if both := of(found, "both_reworded"):
        rows += [("With the right answers reworded too", text.estimate(both))]
    if first:
        rows += [
            *((f"Effect, {_ORDERS.get(order, order)}", _gap(values)) for order, values in orders(first).items()),
            ("Robust flips", str(first.details.get("robust_flips", ""))),
            *((label, _gap(first.details.get(name) or {})) for name, label in _MORE.items() if name in first.details),
            ("With missing verdicts", text.bounds(first)),
            ("Left out", _left_out(first)),
            ("Remark", str(first.details.get("uninformative", ""))),
        ]
    if validation:
        rows += [("On the validation part", text.estimate(validation)), ("There, p and q", _p_q(validation))]
    screen = of(found, "screen")
    if screen:
        rows += [("On the discovery part", text.estimate(screen))]
    rows += [("Named by", "1 case" if found.support == 1 else f"{found.support:,} cases")]
    return [(label, shown) for label, shown in rows if shown]


def orders(finding: Finding) -> Mapping[str, Mapping[str, Any]]:
    found: Mapping[str, Mapping[str, Any]] = finding.details.get("orders") or {}
    return found


def _share(value: float | None) -> str:
    return "" if value is None else text.number(value)


def _gap(values: Mapping[str, Any]) -> str:
    if values.get("estimate") is None:
        return "not measured"
    shown = text.number(values["estimate"])
    shown = f"{shown} {text.interval(values['interval'])}" if values.get("interval") else shown
    return shown if values.get("informative", True) else f"{shown}, little room"


def _left_out(finding: Finding) -> str:
    excluded = finding.details.get("excluded")
    return f"{excluded['pairs']:,} pairs ({100 * excluded['rate']:.1f} %)" if excluded and excluded["pairs"] else ""


def _p_q(finding: Finding) -> str:
    d = finding.details
    told = {
        "by sign flips": d.get("p_flip"),
        "beside the shams": d.get("p_sham"),
        "with missing verdicts against it": d.get("p_completed"),
    }
    said = [f"p {text.p_value(p)} {how}" for how, p in told.items() if p is not None]
    return ", ".join(said + ([f"q {text.p_value(d['q'])}"] if d.get("q") is not None else []))


def wordings(found: Found) -> list[str]:
    """The wordings of the cases that say more than the definition."""
    return [w for w in found.wordings if w not in (found.definition, f"{found.name}: {found.definition}")]


REJECTED = ("Candidate", "Why not", "Effect", "n (groups)", "p by flips", "p by shams", "q", "Named by")


def rejected_row(found: Found) -> list[str]:
    """A row of REJECTED without its first cell: a candidate's numbers where it was last measured, and the reasons."""
    last = of(found, "validation") or of(found, "screen")
    d = last.details if last else {}
    return [
        "; ".join(found.reasons),
        text.estimate(last) if last else "not measured",
        text.size(last) if last else "",
        *(text.p_value(d.get(name)) for name in ("p_flip", "p_sham", "q")),
        f"{found.support:,}",
    ]


def round_rows(rounds: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the table of rounds."""
    head = list(dict.fromkeys(key for row in rounds for key in row))
    return [h[:1].upper() + h[1:] for h in head], [[str(row.get(key, "")) for key in head] for row in rounds]


def arm_rows(findings: Sequence[Finding]) -> list[list[str]]:
    """By arm, as far as they were measured: the effect of a sham, broken truth, kept length, and how its usable
    rewrites compare with the originals in length and in words."""
    columns: list[Mapping[str, float | None]] = [{}, {}, {}, {}, {}]
    for finding in findings:
        if finding.id == "sham.spread":
            columns[0] = finding.details.get("effects", {})
        elif finding.id in ("truth.broken", "length.kept"):
            columns[1 + (finding.id == "length.kept")] = finding.details.get("by_arm", {})
        elif finding.id == "texts.changed":
            by_arm = finding.details.get("by_arm", {})
            columns[3:] = [{arm: shape[name] for arm, shape in by_arm.items()} for name in ("length", "distance")]
    arms = sorted({arm for column in columns for arm in column}, key=_in_kind)
    return [[arm, *(_share(column.get(arm)) for column in columns)] for arm in arms]


def _in_kind(arm: str) -> tuple[bool, list[tuple[int, str]]]:
    """Order of arms: biases last, numbers by their value."""
    return arm.startswith("bias:"), [(int(p) if p.isdecimal() else -1, p) for p in re.split(r"[:.]", arm)]


def sham_range(result: DiscoverResult | AuditResult) -> tuple[float, float] | None:
    """The least and the greatest effect of a sham."""
    spread = next((f for f in result.findings if f.id == "sham.spread"), None)
    effects = list(spread.details.get("effects", {}).values()) if spread else []
    return (round(min(effects), 3), round(max(effects), 3)) if effects else None


ARMS = ("Arm", "Effect", "Truth broken", "Length kept", "Length", "Words changed")


def where(example: Worked) -> str:
    """The pair of an example, its domain, and the part of the data that it is from."""
    domain = f" ({example.domain})" if example.domain else ""
    return f"{example.pair}{domain}, {example.origin}"


def verdicts(example: Worked) -> list[Row]:
    """What the judge preferred, before and after, in each order."""
    return [
        (f"Verdict, {_ORDERS.get(order, order)}", f"{example.before.get(order, '(none)')} → {after}")
        for order, after in example.after.items()
    ]
