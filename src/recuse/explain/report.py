"""The record from which every form of an explanation's report is made; see `recuse.report.explained`."""

from __future__ import annotations

from collections.abc import Sequence

from recuse import stats
from recuse.explain.features import BY_ID
from recuse.explain.result import Example, ExplainResult
from recuse.explain.themes import Theme, Themes
from recuse.prompts import transcript
from recuse.report import explained
from recuse.report.explained import Crossed, ExplainReport, Features, Proven, Put, Reader, Recommended


def report_of(result: ExplainResult) -> ExplainReport:
    reader, model, injected = result.reader, result.model, result.injected
    themes = result.themes
    proven = [Proven(c.bias.id, c.bias.name, c.effect, c.interval, c.n, c.how) for c in result.confirmed]
    return ExplainReport(
        headline=result.headline, judge=result.judge, pairs=result.pairs, people=result.people, level=result.level,
        counts={str(kind): n for kind, n in result.counts.items()}, findings=result.findings,
        reader=Reader(reader.verdicts, reader.contradicting, reader.one_sided, reader.line, reader.table)
        if reader else None,
        features=Features(model.reason, model.left_out, model.n, {id: f.title for id, f in BY_ID.items()})
        if model else None,
        injected=Put(injected.pairs, tuple(injected.confirmed)) if injected else None,
        themes=_themes(themes, result.reasons, result.theme_names),
        crossed=tuple(
            Crossed(c.theme, c.bias, c.by, c.share, c.others, c.difference.estimate, c.difference.interval,
                    c.difference.reason, c.n)
            for c in result.crossed
        ),
        recommendation=Recommended(result.paragraph, tuple(proven), result.unproven),
        examples={kind: tuple(map(_example, of)) for kind, of in result.examples.items()},
        limits=result.limits, notes=result.notes, usage=result.usage, config=result.config, folder=result.folder,
    )  # fmt: skip


def _themes(themes: Themes, source: str, names: Sequence[str]) -> explained.Themes:
    return explained.Themes(
        source, themes.by, themes.n, themes.none, themes.several, themes.criterion, themes.reason,
        tuple(_theme(theme, names) for theme in themes.themes),
    )  # fmt: skip


def _theme(theme: Theme, names: Sequence[str]) -> explained.Theme:
    nothing = stats.Estimate(None, None, 0, 0, "", 0.95)
    right, change = theme.beside or nothing, theme.difference or nothing
    return explained.Theme(
        theme.words, theme.share.estimate or 0.0, theme.share.interval, len(theme.members), theme.stability,
        right.estimate, right.interval, change.estimate, change.interval, change.reason,
        tuple((names[place], words) for place, words in theme.examples),
    )  # fmt: skip


def _example(example: Example) -> explained.Example:
    pair, seen = example.pair, example.seen
    return explained.Example(
        seen.pair, example.domain, seen.people, dict(seen.verdicts), transcript(pair.prompt) if pair else None,
        pair.chosen if pair else None, pair.rejected if pair else None, example.words,
    )  # fmt: skip
