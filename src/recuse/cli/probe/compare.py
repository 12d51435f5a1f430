"""`recuse probe compare`: two sets of records of one plan. Nothing is asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from recuse.cli.probe.analyse import AsJson, Bounds, Groups, LeastNames, Level, Metric, ends, two


def compare(
    old: Annotated[
        Path, typer.Argument(metavar="OLD", help="Records or a run folder: say the bare model.", show_default=False)
    ],
    new: Annotated[
        Path, typer.Argument(metavar="NEW", help="Those of the same plan: say the deployed chain.", show_default=False)
    ],
    metric: Metric,
    groups: Groups,
    bounds: Bounds = None,
    least_names: LeastNames = 4,
    level: Level = 0.95,
    as_json: AsJson = False,
) -> int:
    """Has the gap between two groups moved? Rows are matched by template, group, name and seed."""
    from recuse.probes.compare import compare as measure
    from recuse.probes.compared import comparison_json, lines_of
    from recuse.probes.records import read_records

    found = measure(
        *(read_records(path, metric=metric) for path in (old, new)), metric=metric, groups=two(groups),
        bounds=ends(bounds), least_names=least_names, level=level,
    )  # fmt: skip
    if as_json:
        typer.echo(json.dumps(comparison_json(found), allow_nan=False))
    else:
        typer.echo("\n".join(lines_of(found)))
    return 0
