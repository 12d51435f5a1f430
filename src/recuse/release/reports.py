"""The gate's result for a build: JSON, a Markdown summary, JUnit XML, and lines for a terminal.

JSON, schema 1, numbers finite and not rounded:

    {"schema": 1, "outcome": "pass" | "fail" | "inconclusive", "headline": str,
     "run": {"folder": str, "kind": "audit" | "discovery" | "probe", "model": str, "versions": [str, ...],
             "part": str,                                 which part of a plan was asked, in words; empty: all of it
             "level": number},
     "baseline": null | {as "run", and "void": [str, ...],    void: what keeps the two from being compared
                         "changes": {id: {"estimate", "interval", "bounds", "n", "method", "reason"}}},   without a band
     "checks": [{"id": str, "rule": "band" | "change" | "worst_slice", "title": str, "outcome": as above, "why": str,
                 "estimate": number | null, "interval": [low, high] | null, "bounds": [low, high] | null,
                 "band": [low | null, high | null], "n": int, "p": number | null, "method": str}, ...],
     "tolerances": {"file": str, "hash": str, "content": {...}}, "notes": [str, ...]}
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as xml
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recuse import assets
from recuse.release.checks import Check, Value, said_band
from recuse.release.decide import Release
from recuse.release.read import RunRead
from recuse.release.tolerances import Tolerances
from recuse.report import text
from recuse.report.markdown_parts import bullets, code, escape, table

_NO_XML = re.compile("[\ufffe\uffff]")  # no character of XML 1.0; control characters are shown by `visible`
_SIGN = {"pass": "✅", "fail": "❌", "inconclusive": "⚠️"}


def gate_json(release: Release, tolerances: Tolerances, path: Path) -> dict[str, Any]:
    baseline = release.baseline and {
        **_run(release.baseline),
        "void": list(release.void),
        "changes": {id: {**_numbers(value), "reason": value.doubt or value.reason}
                    for id, value in release.changes.items()},
    }  # fmt: skip
    return {
        "schema": 1,
        "outcome": release.outcome,
        "headline": release.headline,
        "run": _run(release.run),
        "baseline": baseline,
        "checks": [_check(check) for check in release.checks],
        "tolerances": {"file": str(path), "hash": _hash(path), "content": tolerances.plain()},
        "notes": list(release.notes),
    }


def _run(run: RunRead) -> dict[str, Any]:
    return {
        "folder": str(run.folder), "kind": run.kind, "model": run.model, "versions": list(run.versions),
        "part": run.part, "level": run.level,
    }  # fmt: skip


def _check(check: Check) -> dict[str, Any]:
    return {
        "id": check.id, "rule": check.rule, "title": check.title, "outcome": check.outcome, "why": check.why,
        **_numbers(check.value), "band": list(check.band), "p": check.p,
    }  # fmt: skip


def _numbers(value: Value) -> dict[str, Any]:
    return {
        "estimate": value.estimate, "interval": value.interval and list(value.interval),
        "bounds": value.bounds and list(value.bounds), "n": value.n, "method": value.method,
    }  # fmt: skip


def _hash(path: Path) -> str:
    return assets.digest(path.read_bytes())


def markdown(release: Release, path: Path) -> str:
    """For $GITHUB_STEP_SUMMARY: what models and data wrote stands in it as literal text."""
    head = ["Outcome", "Metric", f"Value, {text.intervals(release.run.level)}", "Band", "With missing replies", "n",
            "p outside", "Why"]  # fmt: skip
    parts = [
        f"## {_SIGN[release.outcome]} recuse gate: {release.outcome}",
        escape(release.headline, limit=2000),
        table(head, [_cells(check) for check in release.checks]),
    ]
    if release.baseline is not None:
        said = f"Baseline: {code(str(release.baseline.folder))}, {escape(release.baseline.model)}."
        if release.void:
            said += f" **Void**, since this changed: {escape('; '.join(release.void), limit=2000)}."
        parts.append(said)
    parts.append(bullets([*_changed(release), *release.notes]))
    run = release.run
    parts.append(f"Run: {code(str(run.folder))} ({run.kind}), {escape(run.model)}. "
                 f"Tolerances: {code(str(path))}, {code(_hash(path))}.")  # fmt: skip
    return "\n\n".join(part for part in parts if part) + "\n"


def _cells(check: Check) -> list[str]:
    value = check.value
    name = f"{escape(check.title)} {code(check.id)}"
    return [
        f"{_SIGN[check.outcome]} **{check.outcome}**", name, escape(_shown(value)), said_band(check.band),
        escape(_completed(value)), f"{value.n:,}", text.p_value(check.p), escape(check.why),
    ]  # fmt: skip


def _shown(value: Value) -> str:
    if value.estimate is None:
        return "not measured"
    shown = text.number(value.estimate)
    return shown if value.interval is None else f"{shown} {text.interval(value.interval)}"


def _completed(value: Value) -> str:
    return "" if value.reach is None or value.reach == value.interval else text.interval(value.reach)


def junit(release: Release) -> str:
    """One testcase a check: a failure where it fails, an error where it could not be decided."""
    cases = [(_name(check), check.outcome, check.why, check) for check in release.checks]
    counts = {kind: sum(outcome == kind for _, outcome, _, _ in cases) for kind in ("fail", "inconclusive")}
    void = bool(release.void)
    totals = {
        "tests": str(len(cases) + (release.baseline is not None)), "failures": str(counts["fail"]),
        "errors": str(counts["inconclusive"] + void), "skipped": "0", "time": "0",
    }  # fmt: skip
    root = xml.Element("testsuites", {"name": "recuse gate", **totals})
    suite = xml.SubElement(root, "testsuite", {"name": _plain(f"{release.run.kind} {release.run.model}"), **totals})
    where = f"recuse.{release.run.kind}"
    for name, outcome, why, check in cases:
        case = xml.SubElement(suite, "testcase", {"classname": where, "name": _plain(name), "time": "0"})
        if outcome != "pass":
            tag = "failure" if outcome == "fail" else "error"
            xml.SubElement(case, tag, {"message": _plain(why), "type": outcome}).text = _plain(line(check))
        else:
            xml.SubElement(case, "system-out").text = _plain(line(check))
    if release.baseline is not None:
        case = xml.SubElement(suite, "testcase", {"classname": where, "name": "baseline", "time": "0"})
        if void:
            said = f"void, since this changed: {'; '.join(release.void)}"
            xml.SubElement(case, "error", {"message": _plain(said), "type": "inconclusive"})
    xml.indent(root)
    return xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _name(check: Check) -> str:
    return f"{check.id} (change)" if check.rule == "change" else check.id


def _plain(content: str) -> str:
    return _NO_XML.sub("�", text.visible(content, limit=2000, newline=" "))


def line(check: Check) -> str:
    """One check in one line."""
    value = check.value
    shown = f"{_shown(value)}, band {said_band(check.band)}"
    completed = _completed(value)
    with_missing = f", {completed} with missing replies" if completed else ""
    return text.visible(f"{check.outcome}: {_name(check)} {shown}{with_missing}: {check.why}", limit=2000, newline=" ")


def lines(release: Release) -> Sequence[str]:
    """For a terminal."""
    said = [text.visible(release.headline, limit=2000, newline=" "), *(f"  {line(check)}" for check in release.checks)]
    if release.void:
        said.append(text.visible(f"Baseline void, since this changed: {'; '.join(release.void)}.", limit=2000))
    return [*said, *(text.visible(note, newline=" ") for note in (*_changed(release), *release.notes))]


def _changed(release: Release) -> list[str]:
    """Changes that nothing was decided on."""
    return [
        f"Change of {id} against the baseline: {_shown(value)}"
        + (f" ({value.method})." if value.interval else f" ({value.doubt or value.reason}).")
        for id, value in release.changes.items()
    ]
