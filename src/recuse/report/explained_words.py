"""What the report of an explanation says, as sections of sentences and tables that every form shows; not escaped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recuse.report import text
from recuse.report.explained import Example, ExplainReport, Interval, Theme
from recuse.types import Finding

_FEATURES = ("Feature: more ... in the wrong answer", "Beside the others", "Alone", "q", "VIF", "People prefer more",
             "Pairs that differ")  # fmt: skip
_THEMES = ("Theme", "Share of the explanations", "Among right verdicts", "Difference", "Comes back", "Example")
_CROSSED = ("Theme", "Bias", "By", "Share in the theme", "Among the others", "Difference")
_INJECTED = ("Bias", "Turned into the error", "By its placebo", "Difference", "Effect on errors", "q", "Status")
_READER = ("As recorded", "As the text says", "Pairs")
_PROVEN = ("Bias", "Effect", "Pairs", "How it was proven")
_READER_IDS = ("explain.reader", "explain.position.", "explain.consistency.", "explain.disagreement.",
               "explain.first.")  # fmt: skip

Rows = list[list[str]]


@dataclass(frozen=True)
class Section:
    """`name` tells the pages which plot belongs to it. `tables`: head and rows."""

    name: str
    heading: str
    lead: tuple[str, ...] = ()
    tables: tuple[tuple[Sequence[str], Rows], ...] = ()
    tail: tuple[str, ...] = ()


def facts(report: ExplainReport) -> dict[str, str]:
    return {
        "Judge": report.judge, "Pairs": report.pairs, "People": report.people,
        "Usage": text.usage_line(report.usage) or "no calls",
    }  # fmt: skip


def sections(report: ExplainReport) -> list[Section]:
    """All but the examples and what stands at the end."""
    made = [_kinds(report)]
    made += [_reader(report)] if report.reader else []
    made += [_features(report)] if report.features else []
    made += [_injected(report)] if report.injected else []
    return [*made, _themes(report)]


def kind_title(report: ExplainReport, kind: str) -> str:
    return next((f.title for f in report.findings if f.id == f"explain.kind.{kind}"), kind)


def _kinds(report: ExplainReport) -> Section:
    by = {f.id: f for f in report.findings}
    rows = [
        [by[f"explain.kind.{kind}"].title, f"{count:,}", text.estimate(by[f"explain.kind.{kind}"])]
        for kind, count in report.counts.items()
    ]
    first = by["explain.first"]
    line = f"Share preferring the answer shown first: {text.estimate(first)}, p {text.p_value(first.p)}."
    if first.estimate is None:
        line = f"The place of an answer cannot be told apart: {first.reason}."
    return Section("kinds", "Where they part", (line,), ((("Kind", "Pairs", "Share"), rows),))


def reader_findings(report: ExplainReport) -> list[Finding]:
    return [f for f in report.findings if f.id.startswith(_READER_IDS)]


def _reader(report: ExplainReport) -> Section:
    assert report.reader is not None
    rows = [
        [kind_title(report, old), kind_title(report, new), f"{n:,}"] for old, new, n in report.reader.table
    ]  # fmt: skip
    told = tuple(f"{f.title}: {text.estimate(f)}" for f in reader_findings(report))
    heading = "The reader's fault, apart from the judge's"
    return Section("reader", heading, (report.reader.line,), ((_READER, rows),), told)


def _features(report: ExplainReport) -> Section:
    given = report.features
    assert given is not None
    lines = [
        "Log odds of an error for one standard deviation more of a feature in the wrong answer than in the right one; "
        "beside all others in one model, and alone. q: Benjamini-Hochberg over the features. VIF: how much of its "
        "variance it owes to the others; far above 1, the two are hard to tell apart. No cause is claimed."
    ]
    if given.reason:
        lines.append(f"No model: {given.reason}.")
    rows = [_feature_row(f, report) for f in report.of("explain.feature.")]
    left = tuple(f"Left out: {given.titles[id]}: {why}." for id, why in given.left_out.items())
    return Section("features", "What goes with errors", tuple(lines), ((_FEATURES, rows),), left)


def feature_title(finding: Finding, report: ExplainReport) -> str:
    assert report.features is not None
    return report.features.titles[finding.id.removeprefix("explain.feature.")]


def _feature_row(finding: Finding, report: ExplainReport) -> list[str]:
    d = finding.details
    title = feature_title(finding, report) + (" (found)" if d["found"] else "")
    alone = value(d["alone"], d["alone_interval"], d["alone_reason"])
    return [title, text.estimate(finding), alone, text.p_value(d["q"]), f"{d['vif']:.1f}", f"{d['people_more']:.2f}",
            f"{d['differ']:,}"]  # fmt: skip


def _injected(report: ExplainReport) -> Section:
    assert report.injected is not None
    by = {f.id: f for f in report.findings}
    rows = []
    for f in report.of("explain.turned."):
        effect = by[f"explain.bias.{f.id.removeprefix('explain.turned.')}.effect"]
        rows.append([
            f.title.partition(":")[0], _share(f, "share"), _share(f, "placebo"), text.estimate(f),
            text.estimate(effect), text.p_value(effect.details.get("q")), str(effect.details.get("status") or ""),
        ])  # fmt: skip
    lines = (
        f"Put by rule into the wrong answers of {report.injected.pairs:,} pairs that the judge had right in both "
        "orders. Turned: wrong in both orders with it. What counts is the difference to a meaningless edit of the same "
        "size on the same pairs.",
    )
    return Section("injected", "Biases put in where the judge was right", lines, ((_INJECTED, rows),))


def _share(finding: Finding, name: str) -> str:
    found = finding.details.get(name)
    return "" if found is None else f"{found:.3f}"


def _themes(report: ExplainReport) -> Section:
    themes = report.themes
    lines = [f"From {themes.source}, over {themes.n:,} disagreements about content."]
    if themes.reason:
        return Section("themes", "Themes", (*lines, f"No themes: {themes.reason}."))
    overlap = f"Shares overlap: {themes.several:,} explanations carry more than one theme, {themes.none:,} none."
    lines += [themes.criterion, overlap if themes.by == "words" else "Each explanation is in the theme nearest to it."]
    crossed = [
        [c.theme, c.bias, c.by, f"{c.share:.2f} of {c.n:,}", "" if c.others is None else f"{c.others:.2f}",
         value(c.change, c.interval, c.reason)]
        for c in report.crossed
    ]  # fmt: skip
    if not crossed:
        lines.append("No bias of what answers say is confirmed, so there is nothing to hold the themes against.")
    tables = ((_THEMES, [_theme_row(t) for t in themes.themes]), (_CROSSED, crossed))
    return Section("themes", "Themes", tuple(lines), tables)


def _theme_row(theme: Theme) -> list[str]:
    example = "{}: {}".format(*theme.examples[0]) if theme.examples else ""
    right = "" if theme.right is None else value(theme.right, theme.right_interval, None)
    compared = theme.change is not None or theme.reason is not None
    change = value(theme.change, theme.difference, theme.reason) if compared else ""
    share = f"{value(theme.share, theme.interval, None)}, {theme.count:,} cases"
    return [", ".join(theme.words), share, right, change, f"{theme.stability:.2f}", example]


def recommended(report: ExplainReport) -> Section:
    """What was proven; the paragraph stands apart."""
    given, lines = report.recommendation, []
    if report.reader is not None and report.reader.faults:
        lines.append(
            "First read the verdicts anew: no words to the judge mend a fault of the reader. What is recommended rests "
            "on the verdicts as their texts say."
        )
    if given.paragraph is None:
        lines.append("Nothing was confirmed on this judge, so nothing is recommended for its prompt.")
    else:
        lines.append(
            "The paragraph below is in recommendation.md. Whether it helps was not measured; recuse harden does."
        )
    rows = [[c.name, value(c.effect, c.interval, None), f"{c.n:,}", c.how] for c in given.confirmed]
    unproven = tuple(
        f"Not in the paragraph, since it goes with errors and no cause is proven: {u}." for u in given.unproven
    )
    return Section("recommendation", "Recommendation", tuple(lines), ((_PROVEN, rows),), unproven)


def paragraph(report: ExplainReport) -> str:
    """For the judge's prompt, as it may be shown; empty where nothing is recommended."""
    return text.visible(report.recommendation.paragraph or "", limit=20_000)


def example_row(example: Example) -> list[str]:
    """The pair, what was said of it, and the texts."""
    said = ", ".join(f"{order}: {v or 'none'}" for order, v in example.verdicts.items())
    name = f"{example.pair} ({example.domain})" if example.domain else example.pair
    texts = (example.question, example.preferred, example.other, example.words)
    return [name, f"{said}; people: {example.people}", *(t or "" for t in texts)]


def value(estimate: float | None, interval: Interval, reason: str | None) -> str:
    """An estimate as a finding shows it."""
    return text.estimate(Finding("", "", estimate, interval, reason=reason))
