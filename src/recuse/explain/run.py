"""`recuse explain`: where judge and people part, what of it is a fault of reading or of place, and what the rest is."""

from __future__ import annotations

import platform
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version

from recuse.explain.cases import KINDS, Kind, Seen
from recuse.explain.crossed import cross
from recuse.explain.faults import FIRST, ReaderFault, first_finding, reader_fault
from recuse.explain.features import BY_ID, content_words, differences
from recuse.explain.further import Asked, ask_further
from recuse.explain.material import Material
from recuse.explain.model import ErrorModel, error_model
from recuse.explain.plan import ExplainPlan
from recuse.explain.reasons import Reasons
from recuse.explain.recommend import (
    FILE,
    Confirmed,
    from_injection,
    from_position,
    from_run,
    merged,
    paragraph,
    recommendation,
)
from recuse.explain.result import APART, LIMITS, OVERLAP, Example, ExplainResult
from recuse.explain.shares import share_finding
from recuse.explain.themes import Themes, find_themes
from recuse.lab.engines import Watch
from recuse.prompts import transcript
from recuse.run import RunFolder, default_folder

_EXAMPLES = 6  # of each kind


def run_explain(
    plan: ExplainPlan,
    *,
    watch: Watch = lambda phase, done, total, cost: None,
    stop: threading.Event | None = None,
) -> ExplainResult:
    """Ask what is asked further, explain, and write the run folder.

    Raises Incomplete where further asks stopped early; the folder then holds every reply that came, and the same
    configuration resumes it.
    """
    config, given = plan.config, plan.given
    settings = plan.run_table()
    with RunFolder(config.out or default_folder("explain", given.judge, settings), settings) as folder:
        asked = None
        if config.asking and plan.judge is not None:
            asked = ask_further(
                config.asking, plan.judge, folder, right=plan.of_kind("agrees"), wrong=plan.of_kind("content"),
                run=given.run, level=config.level, watch=watch, stop=stop,
            )  # fmt: skip
        return _write(folder, _result(plan, asked))


def _result(plan: ExplainPlan, asked: Asked | None) -> ExplainResult:
    given, seen, library, level = plan.given, plan.seen, plan.library, plan.config.level
    groups = [s.group for s in seen]
    counts: dict[Kind, int] = {kind: sum(s.kind == kind for s in seen) for kind in KINDS}
    kinds = [
        share_finding(f"explain.kind.{kind}", title, [float(s.kind == kind) for s in seen], groups, level=level,
                      count=counts[kind])
        for kind, title in KINDS.items()
    ]  # fmt: skip
    first = first_finding("explain.first", FIRST, seen, level=level)
    reader = reader_fault(*given.other, given.labels, level=level) if given.other else None
    model = _model(plan) if given.texts else None
    reasons = _named(asked.reasons, given) if asked else given.reasons
    explained = [s for s in seen if s.kind == "content" and s.errors is not None and s.pair in reasons.words]
    themes = _themes(plan, explained, reasons)
    confirmed = merged(
        from_injection(asked.injected if asked else None, library), from_run(given.run, library), plan.discovered,
        from_position(first, library),
    )  # fmt: skip
    crossed = cross(
        themes.themes, confirmed, documents=[reasons.words[s.pair] for s in explained],
        groups=[s.group for s in explained], wrong_minus_right=_differences(plan, explained), level=level,
    )  # fmt: skip
    findings = (*kinds, first, *(reader.findings if reader else ()), *(model.findings if model else ()),
                *(asked.injected.findings if asked else ()))  # fmt: skip
    return ExplainResult(
        headline=_headline(seen, counts, reader, model, confirmed), judge=given.judge, pairs=given.pairs,
        people=given.labels.source, level=level, counts=counts, findings=findings, reader=reader, model=model,
        injected=asked.injected if asked else None, themes=themes, theme_names=[s.pair for s in explained],
        reasons=reasons.source, crossed=tuple(crossed), confirmed=confirmed, paragraph=paragraph(confirmed),
        unproven=_unproven(model, confirmed), examples=_examples(plan, reasons),
        notes=(*plan.notes, *given.notes, *reasons.notes, *(asked.injected.notes if asked else ()), *_said(seen)),
        usage=asked.usage if asked else {"calls": 0}, limits=(*LIMITS, OVERLAP if themes.by == "words" else APART),
    )  # fmt: skip


def _model(plan: ExplainPlan) -> ErrorModel:
    usable = [s for s in plan.seen if plan.clear(s)]
    return error_model(
        [s.errors or 0.0 for s in usable], _differences(plan, usable),
        [plan.given.texts[s.pair].group for s in usable], level=plan.config.level,
    )  # fmt: skip


def _differences(plan: ExplainPlan, seen: Sequence[Seen]) -> dict[str, list[float]]:
    """Features of the answer that people reject minus those of the one they prefer; empty where a text is not known."""
    if not all(map(plan.clear, seen)):
        return {}
    return {id: [-d for d in of] for id, of in differences([plan.pair(s) for s in seen]).items()}


def _named(reasons: Reasons, given: Material) -> Reasons:
    """By the names that the judgements give the pairs."""
    names = {pair.id: name for name, pair in given.texts.items()}
    return replace(reasons, words={names[id]: words for id, words in reasons.words.items()})


def _themes(plan: ExplainPlan, explained: Sequence[Seen], reasons: Reasons) -> Themes:
    given = plan.given
    right = [s for s in plan.seen if s.kind == "agrees" and s.errors is not None and s.pair in reasons.words]
    return find_themes(
        [reasons.words[s.pair] for s in explained], [s.group for s in explained],
        beside=[reasons.words[s.pair] for s in right], beside_groups=[s.group for s in right],
        subjects=[_subject(given, s) for s in explained], beside_subjects=[_subject(given, s) for s in right],
        level=plan.config.level, embed=plan.similarity, seed=plan.config.seed,
    )  # fmt: skip


def _subject(given: Material, seen: Seen) -> frozenset[str]:
    pair = given.texts.get(seen.pair)
    return content_words(transcript(pair.prompt)) if pair else frozenset()


def _headline(
    seen: Sequence[Seen], counts: Mapping[Kind, int], reader: ReaderFault | None, model: ErrorModel | None,
    confirmed: Sequence[Confirmed],
) -> str:  # fmt: skip
    parted = len(seen) - counts["agrees"]
    words: dict[Kind, str] = {
        "content": "on content",
        "position": "by the place of the answers",
        "tie": "by a tie",
        "unread": "unread",
    }
    parts = ", ".join(f"{counts[kind]:,} {said}" for kind, said in words.items() if counts[kind])
    lines = [f"Judge and people part on {parted:,} of {len(seen):,} pairs" + (f": {parts}." if parts else ".")]
    if reader is not None and reader.faults:
        lines.append(
            f"{reader.faults:,} of {reader.verdicts:,} recorded decisions are not what their text says: the reader's "
            "fault, taken out of these numbers."
        )
    if model is not None and (found := [p.feature for p in model.pulls if p.found]):
        lines.append(f"Errors go with: {', '.join(found)}.")
    lines.append(f"Confirmed: {', '.join(c.bias.name for c in confirmed)}." if confirmed else "No bias is confirmed.")
    return " ".join(lines)


def _said(seen: Sequence[Seen]) -> list[str]:
    notes = []
    reasons = Counter(reason for s in seen for reason in s.reasons)
    if reasons:
        told = ", ".join(f"{reason} ({n:,} pairs)" for reason, n in reasons.most_common())
        notes.append(f"Pairs without a verdict in some order: {told}. They are in no model and no theme.")
    if ties := sum(s.people == "tie" for s in seen):
        notes.append(f"{ties:,} pairs are a tie to most people: they are counted by kind and are in no model.")
    if unsteady := sum(s.unsteady for s in seen):
        notes.append(f"In {unsteady:,} pairs repeats of one order differ: their majority counts.")
    return notes


def _examples(plan: ExplainPlan, reasons: Reasons) -> dict[Kind, list[Example]]:
    found: dict[Kind, list[Example]] = {}
    for s in plan.seen:
        if s.kind != "agrees" and len(of := found.setdefault(s.kind, [])) < _EXAMPLES:
            pair = plan.pair(s) if s.pair in plan.given.texts else None
            of.append(Example(s, pair, plan.given.domains.get(s.pair), reasons.words.get(s.pair)))
    return found


def _unproven(model: ErrorModel | None, confirmed: Sequence[Confirmed]) -> tuple[str, ...]:
    """Features that go with errors and whose bias is not among the confirmed ones."""
    proven = {c.bias.id for c in confirmed}
    return tuple(
        f"{'More' if (p.beside.estimate or 0) > 0 else 'Less'} {BY_ID[p.feature].title} in the wrong answer"
        for p in (model.pulls if model else ())
        if p.found and not proven & set(BY_ID[p.feature].biases)
    )


def _write(folder: RunFolder, result: ExplainResult) -> ExplainResult:
    from recuse.explain.report import report_of
    from recuse.report.explained_html import explained_html
    from recuse.report.explained_json import explained_text
    from recuse.report.explained_markdown import explained_markdown

    config = folder.record(
        versions={"python": platform.python_version(),
                  **{p: version(p) for p in ("recuse", "numpy", "scipy", "scikit-learn")}},
    )  # fmt: skip
    result = replace(result, config=config, folder=folder.path)
    if result.paragraph is None:
        (folder.path / FILE).unlink(missing_ok=True)
    else:
        folder.write(FILE, recommendation(result.paragraph, judge=result.judge))
    report = report_of(result)
    folder.write("report.md", explained_markdown(report))
    folder.write("report.html", explained_html(report))
    folder.write("findings.json", explained_text(report))  # last: its existence means that the folder is complete
    return result
