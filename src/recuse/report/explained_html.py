"""The report of an explanation as one self-contained HTML page: where judge and people part, and what that rests on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from recuse import assets
from recuse.report import explained_words as words
from recuse.report import svg, text
from recuse.report.case import Case, Said
from recuse.report.explained import Example, ExplainReport
from recuse.report.explained_words import Section
from recuse.report.html_cases import case_html
from recuse.report.html_parts import bullets, copyable, figure, folded, head, page, safe, section, table
from recuse.report.marks import LONGEST
from recuse.types import Finding


def explained_html(report: ExplainReport) -> str:
    """The whole page. Text from a model or from data is escaped; the page's policy forbids all loading and all scripts
    but its own."""
    confirmed = report.recommendation.confirmed
    paragraph = copyable(words.paragraph(report), "the paragraph")
    sections = [
        head("Why judge and people disagree", "recuse" if confirmed else "inconclusive", report.headline,
             words.facts(report)),
        _section(words.recommended(report), paragraph),
        *(_section(one, _PLOTS[one.name](report)) for one in words.sections(report)),
        section("Examples", "examples", _examples(report)),
        section("Limits", "limits", bullets(report.limits)),
        section("Notes", "notes", bullets(report.notes)),
        section("Configuration", "config", copyable(text.toml(report.config), "configuration")),
    ]  # fmt: skip
    style = "".join(assets.data(name).read_text("utf-8") for name in ("report.css", "discovered.css"))
    script = assets.data("report.js").read_text("utf-8")
    return page(f"Disagreements of {report.judge}", "\n".join(s for s in sections if s), style=style, script=script)


def _section(one: Section, extra: str) -> str:
    """Sentences, then `extra` (a plot, or the paragraph), then tables."""
    parts = [*(f"<p>{safe(line, 2000)}</p>" for line in one.lead), extra]
    for head_of, rows in one.tables:
        if rows:
            cells = [[safe(cell) for cell in row] for row in rows]
            parts.append(table(one.heading, [safe(h) for h in head_of], cells, stacked=True))
    return section(one.heading, one.name, "\n".join(part for part in (*parts, bullets(one.tail)) if part))


def _kinds(report: ExplainReport) -> str:
    title = "Pairs by kind of disagreement"
    plot = svg.forest(report.of("explain.kind."), name="kinds-plot", title=title)
    return figure(plot, f"{title}: share, and {text.intervals(report.level)}.")


def _reader(report: ExplainReport) -> str:
    findings = [f for f in words.reader_findings(report) if f.estimate is not None]
    if not findings:
        return ""
    title = "What was recorded and what the texts say"
    return figure(svg.forest(findings, name="reader-plot", title=title), f"Bar: {text.intervals(report.level)}.")


def _features(report: ExplainReport) -> str:
    rows = [replace(f, title=words.feature_title(f, report)) for f in report.of("explain.feature.")]
    return _effects(
        rows, report, name="features-plot", title="Log odds of an error for more of a feature in the wrong answer",
        said={f.id: "found" for f in rows if f.details["found"]},
        legend="Right of zero: the judge errs more where the wrong answer has more of it. Square: found, after the "
        "correction over all features.",
    )  # fmt: skip


def _injected(report: ExplainReport) -> str:
    effects = [f for f in report.of("explain.bias.") if f.id.endswith(".effect") and f.estimate is not None]
    said = {f.id: str(f.details["status"]) for f in effects if f.details.get("status") == "accepted"}
    shams = [e for f in report.of("explain.sham.spread") for e in f.details.get("effects", {}).values()]
    band = (round(min(shams), 3), round(max(shams), 3)) if shams else None
    rows = [replace(f, tolerance=band) for f in effects]
    return _effects(
        rows, report, name="injected-plot", title="Error that each bias adds, against its placebo", said=said,
        legend="Square: proven, after the correction." + (" Band: where meaningless edits fell." if band else ""),
    )  # fmt: skip


def _effects(
    rows: Sequence[Finding], report: ExplainReport, *, name: str, title: str, said: Mapping[str, str], legend: str
) -> str:
    """A forest around zero; what is `said` of a finding makes its mark a square."""
    if not rows:
        return ""
    marked = [replace(f, outcome="recuse" if f.id in said else None) for f in rows]
    plot = svg.forest(
        marked, name=name, title=title, scale=svg.effect_scale(marked), band="where meaningless edits fell:", said=said
    )
    return figure(plot, f"{title}. Bar: {text.intervals(report.level)}. {legend}")


def _themes(report: ExplainReport) -> str:
    themes = report.themes.themes
    if not themes:
        return ""
    rows = [
        Finding(f"theme{i}", ", ".join(t.words[:4]), t.share, t.interval, t.count) for i, t in enumerate(themes)
    ]  # fmt: skip
    title = "Share of the explanations that carry each theme"
    return figure(svg.forest(rows, name="themes-plot", title=title), f"{title}. Bar: {text.intervals(report.level)}.")


_PLOTS: Mapping[str, Callable[[ExplainReport], str]] = {
    "kinds": _kinds,
    "reader": _reader,
    "features": _features,
    "injected": _injected,
    "themes": _themes,
}


def _examples(report: ExplainReport) -> str:
    parts = ["<p>Better is what most people prefer.</p>"] if any(report.examples.values()) else []
    for kind, examples in report.examples.items():
        parts.append(f"<h3>{safe(words.kind_title(report, kind))}</h3>")
        parts += [_example(e) for e in examples]
    return "\n".join(parts)


def _example(example: Example) -> str:
    said = tuple(Said(order, verdict or "none") for order, verdict in example.verdicts.items())
    case = Case(
        example.pair, domain=example.domain, question=example.question, chosen=example.preferred,
        rejected=example.other, said=said, gold=example.people != "tie",
    )  # fmt: skip
    spoken = f'<p class="text" dir="auto">{safe(example.words, LONGEST)}</p>' if example.words else ""
    return case_html(case, more=folded("The judge's words", spoken) if spoken else "")
