"""`recuse gate`: a finished run against bands that were fixed before it, for a build server."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

_EXIT = {"pass": 0, "fail": 1, "inconclusive": 3}


def gate(
    run: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="The folder of a finished audit, discovery or probe.", show_default=False),
    ],
    tolerances: Annotated[
        Path, typer.Option("--tolerances", metavar="FILE", help="The bands: a gate.toml file.", show_default=False)
    ],
    baseline: Annotated[
        Path | None,
        typer.Option("--baseline", metavar="RUN", help="An earlier run of the same configuration, to compare with."),
    ] = None,
    junit: Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML.")] = None,
    markdown: Annotated[
        Path | None, typer.Option("--markdown", metavar="FILE", help="Write a Markdown summary.")
    ] = None,
    summary: Annotated[
        bool, typer.Option("--summary", help="Append the summary to the file that $GITHUB_STEP_SUMMARY names.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """May this go out? Every metric that the tolerances name against its band.

    Exit codes: 0 pass, 1 fail, 3 inconclusive; 2 usage.
    """
    from recuse.cli.common import shown
    from recuse.release import gate_run, load_tolerances, read_run, reports
    from recuse.release.files import append_summary, write_whole

    bands, read = load_tolerances(tolerances), read_run(run)
    before = read_run(baseline) if baseline is not None else None
    release = gate_run(read, bands, baseline=before, path=tolerances)
    if junit is not None:
        write_whole(junit, reports.junit(release))
    if markdown is not None:
        write_whole(markdown, reports.markdown(release, tolerances))
    if summary and not append_summary(reports.markdown(release, tolerances)):
        sys.stderr.write("recuse: $GITHUB_STEP_SUMMARY is not set, so that there is no summary page to append to.\n")
    if as_json:
        content = reports.gate_json(release, bands, tolerances)
        shown(lambda: typer.echo(json.dumps(content, indent=2, allow_nan=False)), run)
    else:
        shown(lambda: typer.echo("\n".join(reports.lines(release))), run)
    return _EXIT[release.outcome]
