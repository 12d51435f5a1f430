"""`recuse calibrate compare|panel|ratings`: finished audits, and scores, held against people."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from recuse.types import Finding

calibrate = typer.Typer(help="Hold finished audits against the same labels.", no_args_is_help=True)
_EXIT = {"pass": 0, "fail": 1, "warn": 3, "withheld": 1, "inconclusive": 3}
_SHOWN = 10  # changed verdicts that are printed
Human = Annotated[
    Path | None,
    typer.Option("--human", metavar="LABELS", help="People's labels. Default: those in the run folders, else gold."),
]
Key = Annotated[
    str | None, typer.Option("--key", metavar="COLUMN", help="Column of LABELS that holds pair ids. Default: pair.")
]
Label = Annotated[
    str | None,
    typer.Option("--label", help="Columns of labels, by commas: one, one a person, or ratings. Default: label ..."),
]
Annotator = Annotated[str | None, typer.Option("--annotator", help="Column that names the person.")]
Means = Annotated[
    list[str] | None,
    typer.Option("--means", metavar="WORD=LABEL", help="What a word of the labels means, such as 0=tie."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@calibrate.command()
def compare(
    old: Annotated[Path, typer.Argument(metavar="RUN_OLD", help="The folder of a finished audit.", show_default=False)],
    new: Annotated[Path, typer.Argument(metavar="RUN_NEW", help="The same pairs, judged now.", show_default=False)],
    human: Human = None,
    key: Key = None,
    label: Label = None,
    annotator: Annotator = None,
    means: Means = None,
    tolerance: Annotated[
        float, typer.Option("--tolerance", min=0.0, max=1.0, help="A fall in agreement that is no matter.")
    ] = 0.05,
    as_json: AsJson = False,
) -> int:
    """Has agreement with people moved, and is the judge still the same instrument?

    Exit codes: 0 agreement held, 1 it fell, 3 it may have, or the judge is another one; 2 usage.
    """
    from recuse.calibration.compare import compare_runs
    from recuse.calibration.runs import frozen_labels, read_run
    from recuse.cli.common import people_of

    people = people_of(human, key, label, annotator, means)
    before, now = read_run(old), read_run(new)
    labels, notes = frozen_labels([before, now], human=people.load if people else None)
    found = compare_runs(before, now, labels, tolerance=tolerance, notes=notes)
    if as_json:
        changed = [asdict(one) for one in found.changed]
        content = {"outcome": found.outcome, "headline": found.headline, "changed": changed, "notes": found.notes}
        _dump(content, found.findings)
        return _EXIT[found.outcome]
    lines = [found.headline, *_lines(found.findings)]
    for one in found.changed[:_SHOWN]:
        lines.append(
            f"  {one.pair} {one.order} repeat {one.repeat}: {one.before or 'none'} before, {one.after or 'none'} now "
            f"({'better' if labels.source == 'gold' else 'people'}: {one.people or 'split or none'})"
        )
    if more := len(found.changed) - _SHOWN:
        lines += [f"  and {more:,} more (--json has them all)"] if more > 0 else []
    typer.echo("\n".join([*lines, *found.notes]))
    return _EXIT[found.outcome]


@calibrate.command()
def panel(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Folders of finished audits.", show_default=False)
    ],
    human: Human = None,
    key: Key = None,
    label: Label = None,
    annotator: Annotator = None,
    means: Means = None,
    as_json: AsJson = False,
) -> int:
    """How several judges agree, what their majority and their weighted vote are worth, and what all get wrong."""
    from recuse.calibration.panel import panel as measure
    from recuse.calibration.runs import frozen_labels, read_run
    from recuse.cli.common import people_of

    people = people_of(human, key, label, annotator, means)
    read = [read_run(folder) for folder in runs]
    labels, notes = frozen_labels(read, human=people.load if people else None)
    found = measure(read, labels, notes=notes)
    if as_json:
        _dump({"judges": found.judges, "weights": dict(found.weights), "notes": found.notes}, found.findings)
        return 0
    weights = ", ".join(f"{name} {weight:.2f}" for name, weight in found.weights.items())
    typer.echo("\n".join([*_lines(found.findings), f"Weights by measured accuracy: {weights}.", *found.notes]))
    return 0


@calibrate.command()
def ratings(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Rows with the judge's score and people's ratings.", show_default=False),
    ],
    score: Annotated[
        str, typer.Option("--score", metavar="COLUMN", help="The judge's score; empty: no verdict.", show_default=False)
    ],
    human: Annotated[
        str,
        typer.Option(
            "--human", metavar="COL[,COL]", help="People's ratings, one column a person, or lists.", show_default=False
        ),
    ],
    key: Annotated[str, typer.Option("--key", metavar="COLUMN", help="Names the rated item.", show_default=False)],
    group: Annotated[
        str | None, typer.Option("--group", metavar="COLUMN", help="Items that belong together: the units.")
    ] = None,
    annotator: Annotated[
        str | None, typer.Option("--annotator", metavar="COLUMN", help="Names the person, where an item has rows.")
    ] = None,
    gate: Annotated[Path | None, typer.Option("--gate", help="TOML with a table [calibration]: the rule.")] = None,
    as_json: AsJson = False,
) -> int:
    """A judge's scores of single answers against people's ratings on one scale: kappa weighted by squared distance.

    Exit codes: 0 the scores may be shown, 1 they are withheld, 3 not settled; 2 usage.
    """
    from recuse.calibration.ratings import calibrate_ratings, groups_of, load_ratings
    from recuse.cli.common import names_of
    from recuse.gate import load_gate

    scores = {item: next(iter(said.values())) for item, said in load_ratings(file, key=key, column=(score,)).items()}
    people = load_ratings(file, key=key, column=names_of(human), annotator=annotator)
    loaded = load_gate(gate)
    groups = groups_of(file, key=key, group=group) if group else None
    measures, decided = calibrate_ratings(scores, people, groups=groups, rule=loaded.calibration, level=loaded.level)
    findings = [measure.finding for measure in measures]
    headline = f"{decided.decision.upper()}: {decided.reason}."
    if as_json:
        _dump({"outcome": decided.decision, "headline": headline, "labels_needed": decided.labels_needed}, findings)
    else:
        typer.echo("\n".join([headline, *_lines(findings)]))
    return _EXIT[decided.decision]


def _dump(content: dict[str, Any], findings: Sequence[Finding]) -> None:
    typer.echo(
        json.dumps({"schema": 1, **content, "findings": [asdict(f) for f in findings]}, indent=2, allow_nan=False)
    )


def _lines(findings: Sequence[Finding]) -> list[str]:
    return [f"{finding.title}: {_value(finding)}" for finding in findings]


def _value(finding: Finding) -> str:
    if finding.estimate is None:
        return f"not measured ({finding.reason})"
    text = f"{finding.estimate:.3f}"
    if finding.interval is not None:
        text += f" [{finding.interval[0]:.3f}, {finding.interval[1]:.3f}]"
    if finding.bounds is not None and finding.bounds != finding.interval:
        text += f", over all missing verdicts [{finding.bounds[0]:.3f}, {finding.bounds[1]:.3f}]"
    if finding.details.get("if_independent") is not None:
        text += f", {finding.details['if_independent']:.3f} if their errors were independent"
    return f"{text} ({finding.reason})" if finding.interval is None and finding.reason else text
