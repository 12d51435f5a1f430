"""The report of a probe that has findings and no templates, names or groups of its own: BBQ, implicit, framing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from recuse.report.probed import ProbeResult
from recuse.run import RunFolder
from recuse.types import Finding

_NO_TABLES: Mapping[str, Sequence[Mapping[str, Any]]] = dict.fromkeys(
    ("per_template", "per_name", "words", "names", "reasons", "examples"), ()
)


def write_pages(run: RunFolder, content: Mapping[str, Any], findings: Sequence[Finding], *, level: float) -> None:
    """Write report.md and report.html from the content of findings.json."""
    from recuse.report.probed_html import probed_html
    from recuse.report.probed_markdown import probed_markdown

    plan = content["plan"]
    result = ProbeResult(
        content["model"], dict(plan) if isinstance(plan, Mapping) else {"path": plan}, content["headline"], False,
        tuple(findings), _NO_TABLES, tuple(content["notes"]), content["config"], content["usage"], level, run.path,
    )  # fmt: skip
    run.write("report.md", probed_markdown(result))
    run.write("report.html", probed_html(result))
