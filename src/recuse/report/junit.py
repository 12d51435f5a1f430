"""A run's findings as JUnit XML: what decided, with each outcome as build servers know it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as xml
from collections.abc import Mapping, Sequence

from recuse.report import text
from recuse.report.discovered import DiscoverResult
from recuse.report.explained import ExplainReport
from recuse.report.hardened import HardenReport
from recuse.report.probed import ProbeResult
from recuse.report.read import Result
from recuse.report.result import AuditResult
from recuse.types import Finding

_NO_XML = re.compile("[\ufffe\uffff]")  # no character of XML 1.0; control characters are shown by `visible`
_KINDS: Mapping[type, str] = {
    AuditResult: "audit",
    DiscoverResult: "discovery",
    ProbeResult: "probe",
    HardenReport: "comparison",
    ExplainReport: "explanation",
}
_TAGS: Mapping[str, str] = {"recuse": "failure", "inconclusive": "error"}


def junit(result: Result) -> str:
    """One testcase a primary of an audit: a failure where it says recuse, an error where it is inconclusive. Findings
    that decide nothing, all those of other kinds of run, are testcases that pass and say their numbers."""
    kind = _KINDS[type(result)]
    findings = result.primaries if isinstance(result, AuditResult) else _every(result)
    outcomes = [f.outcome or "" for f in findings]
    totals = {
        "tests": str(len(findings)), "failures": str(outcomes.count("recuse")),
        "errors": str(outcomes.count("inconclusive")), "skipped": "0", "time": "0",
    }  # fmt: skip
    root = xml.Element("testsuites", {"name": f"recuse {kind}", **totals})
    name = result.model if isinstance(result, ProbeResult) else result.judge
    suite = xml.SubElement(root, "testsuite", {"name": _plain(f"{kind} {name}"), **totals})
    for finding in findings:
        names = {"classname": f"recuse.{kind}", "name": _plain(f"{finding.title} [{finding.id}]"), "time": "0"}
        case = xml.SubElement(suite, "testcase", names)
        if tag := _TAGS.get(finding.outcome or ""):
            xml.SubElement(case, tag, {"message": _plain(_line(finding)), "type": finding.outcome or ""})
        else:
            xml.SubElement(case, "system-out").text = _plain(_line(finding))
    xml.SubElement(suite, "system-out").text = _plain(result.headline)
    xml.indent(root)
    return xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _every(result: Result) -> Sequence[Finding]:
    if not isinstance(result, DiscoverResult):
        return result.findings
    return [*(f for found in result.candidates for f in found.findings), *result.findings]


def _line(finding: Finding) -> str:
    allowed = text.tolerance(finding)
    said = f"{text.estimate(finding)}, n {text.size(finding)}"
    return f"{said}, tolerance {allowed}" if allowed else said


def _plain(content: str) -> str:
    return _NO_XML.sub("�", text.visible(content, newline=" "))
