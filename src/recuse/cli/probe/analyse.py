"""`recuse probe analyse`: the gap between two groups in recorded replies. Nothing is asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from recuse.cli.common import names_of
from recuse.errors import UsageError

Metric = Annotated[str, typer.Option("--metric", metavar="M", help="The column of numbers.", show_default=False)]
Groups = Annotated[
    str, typer.Option("--groups", metavar="A,B", help="Two values of the column group: A minus B.", show_default=False)
]
Bounds = Annotated[
    str | None,
    typer.Option(
        "--bounds", metavar="LOW,HIGH", help="Between which values the metric lies. Known for decisions: 0,1."
    ),
]
LeastNames = Annotated[
    int,
    typer.Option("--least-names", min=0, help="Refuse groups with fewer names, where there are names."),
]
Level = Annotated[float, typer.Option("--level", min=0.5, max=0.9999, help="Of the intervals.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def analyse(
    records: Annotated[
        Path,
        typer.Argument(
            metavar="RECORDS",
            help="JSONL, CSV, TSV or Parquet with template_id, group, name, seed and the metric; or a run folder.",
            show_default=False,
        ),
    ],
    metric: Metric,
    groups: Groups,
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="COLUMN,...", help="Take the gap apart by these too, beside stratum and batch."),
    ] = None,
    bounds: Bounds = None,
    least_names: LeastNames = 4,
    level: Level = 0.95,
    as_json: AsJson = False,
) -> int:
    """The gap of a metric between two groups, with the template as the unit, and what else could explain it."""
    from recuse.probes.analyse import analyse as measure
    from recuse.probes.analysed import analysis_json, lines_of
    from recuse.probes.records import read_records

    found = measure(
        read_records(records, metric=metric), metric=metric, groups=two(groups), by=names_of(by),
        bounds=ends(bounds), least_names=least_names, level=level,
    )  # fmt: skip
    if as_json:
        typer.echo(json.dumps(analysis_json(found), allow_nan=False))
    else:
        typer.echo("\n".join(lines_of(found)))
    return 0


def two(groups: str) -> tuple[str, str]:
    """The two groups of --groups. Raises UsageError for another number."""
    found = names_of(groups)
    if len(found) != 2:
        raise UsageError(
            f"--groups is {groups!r}.", hint="Name two groups by a comma: --groups A,B; one with a comma in quotes."
        )
    return found[0], found[1]


def ends(bounds: str | None) -> tuple[float, float] | None:
    """The two numbers of --bounds. Raises UsageError for anything else."""
    if bounds is None:
        return None
    try:
        low, high = (float(part) for part in bounds.split(","))
    except ValueError:
        raise UsageError(f"--bounds is {bounds!r}.", hint="Give two numbers by a comma, such as 1,5.") from None
    return low, high
