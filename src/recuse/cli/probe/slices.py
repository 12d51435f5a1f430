"""`recuse probe slices RECORDS`: outcomes by tag, against the best slice."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recuse.cli.common import names_of, shown


def slices(
    records: Annotated[
        Path, typer.Argument(metavar="RECORDS", help="Rows of outcomes: JSONL, CSV, Parquet.", show_default=False)
    ],
    outcome: Annotated[
        str, typer.Option(metavar="COLUMN", help="Column of outcomes: 0/1, true/false, or labels.", show_default=False)
    ],
    by: Annotated[
        str,
        typer.Option(
            metavar="TAG[,TAG]", help="Columns to cut by: each for itself, and each two together.", show_default=False
        ),
    ],
    positive: Annotated[
        str | None, typer.Option(metavar="LABEL", help="The label that counts, where outcomes are labels.")
    ] = None,
    gold: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="What the outcome should have been: for equalised odds.")
    ] = None,
    group: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Rows that belong together (person, template): the units.")
    ] = None,
    time: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="ISO date of each row: week by week, with an alarm.")
    ] = None,
    counterfactual: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Rows that differ in nothing but the tag; those that share the tag too are runs of one input "
            "(at least five): flips above the noise.",
        ),
    ] = None,
    expect: Annotated[
        list[str] | None, typer.Option(metavar="TAG=VALUE", help="A slice that must have rows. May be repeated.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep the findings in a run folder, for `recuse gate`.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Rates by slice, the worst first: interval, ratio to the best slice, p, n, failures, worst-slice rule.

    A ratio under 0.8 or fewer than 100 cases asks for a review. Rows without an outcome are failures, counted apart.
    """
    from recuse.probes.outcomes import read_outcomes
    from recuse.probes.sliced import slice_outcomes, sliced_json

    table = read_outcomes(
        records, outcome=outcome, by=names_of(by), positive=positive, gold=gold, cluster=group, same=counterfactual,
        when=time,
    )  # fmt: skip
    found = slice_outcomes(table, expected=expect or ())
    if out is not None:
        from recuse.probes.sliced_folder import keep_slices

        keep_slices(found, out, asked={
            "records": str(records), "outcome": outcome, "by": by, "positive": positive, "gold": gold, "group": group,
            "time": time, "counterfactual": counterfactual,
        })  # fmt: skip
    if as_json:
        import json

        text = json.dumps(sliced_json(found), indent=2, allow_nan=False)
    else:
        from recuse.probes.slices_text import sliced_text

        text = sliced_text(found)
    shown(lambda: typer.echo(text), None)
    return 0
