"""Every form of a result, by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from recuse.report.discovered import DiscoverResult
from recuse.report.discovered_html import discovered_html
from recuse.report.discovered_markdown import discovered_markdown
from recuse.report.explained import ExplainReport
from recuse.report.explained_html import explained_html
from recuse.report.explained_json import explained_text
from recuse.report.explained_markdown import explained_markdown
from recuse.report.hardened import HardenReport
from recuse.report.hardened_html import hardened_html
from recuse.report.hardened_json import hardened_text
from recuse.report.hardened_markdown import hardened_markdown
from recuse.report.html import html
from recuse.report.jsonable import discovered_text, findings_text, probed_text
from recuse.report.junit import junit
from recuse.report.markdown import markdown
from recuse.report.probed import ProbeResult
from recuse.report.probed_html import probed_html
from recuse.report.probed_markdown import probed_markdown
from recuse.report.read import Result

FILES: Mapping[str, str] = {"html": "report.html", "md": "report.md", "json": "report.json", "junit": "report.xml"}


def written(result: Result, form: str) -> str:
    """The report in one of the forms that `FILES` names."""
    if form == "junit":
        return junit(result)
    if isinstance(result, DiscoverResult):
        of_discovery: dict[str, Callable[[DiscoverResult], str]] = {
            "html": discovered_html, "md": discovered_markdown, "json": discovered_text,
        }  # fmt: skip
        return of_discovery[form](result)
    if isinstance(result, ProbeResult):
        of_probe: dict[str, Callable[[ProbeResult], str]] = {
            "html": probed_html, "md": probed_markdown, "json": probed_text,
        }  # fmt: skip
        return of_probe[form](result)
    if isinstance(result, HardenReport):
        of_harden: dict[str, Callable[[HardenReport], str]] = {
            "html": hardened_html, "md": hardened_markdown, "json": hardened_text,
        }  # fmt: skip
        return of_harden[form](result)
    if isinstance(result, ExplainReport):
        of_explanation: dict[str, Callable[[ExplainReport], str]] = {
            "html": explained_html, "md": explained_markdown, "json": explained_text,
        }  # fmt: skip
        return of_explanation[form](result)
    return {"html": html, "md": markdown, "json": findings_text}[form](result)
