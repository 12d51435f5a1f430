"""`recuse report`: a finished run's report again, in any form, without a call."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from recuse.errors import UsageError

_FORMS = ("html", "md", "json", "junit")


def report(
    run: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="The folder of a finished run of any kind.", show_default=False),
    ],
    format: Annotated[str, typer.Option("--format", metavar="FORM", help="html, md, json or junit.")] = "html",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Where to. Default: report.html, report.md, report.json or report.xml in RUN; - for standard output.",
        ),
    ] = None,
) -> int:
    """Write the report of a finished run again, from its folder and its ledger; nothing is asked.

    Numbers are those that the run found. What cannot be had back are the cases of a run that kept no cases.parquet.
    """
    from recuse.release.files import write_whole
    from recuse.report.forms import FILES, written
    from recuse.report.read import read_result

    if format not in _FORMS:
        raise UsageError(f"--format is {format!r}.", hint=f"Use one of: {', '.join(_FORMS)}.")
    content = written(read_result(run), format)
    if out == Path("-"):
        sys.stdout.buffer.write(content.encode("utf-8", "backslashreplace"))
        return 0
    path = out or run / FILES[format]
    write_whole(path, content)
    typer.echo(f"Report: {path}")
    return 0
