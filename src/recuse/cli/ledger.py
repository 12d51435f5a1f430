"""`recuse ledger verify|stats|export`: look at the replies of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recuse.errors import InputError, UsageError

ledger = typer.Typer(help="Look at the replies that a run has paid for.", no_args_is_help=True)
Run = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, or a ledger.sqlite file.", show_default=False)]


@ledger.command()
def verify(run: Run) -> None:
    """Check the file, every key against its stored request and every reply against its checksum."""
    from recuse.ledger import Ledger

    found = Ledger.existing(run)
    problems, count = found.verify(), len(found)
    for problem in problems[:20]:
        typer.echo(f"{problem.key or 'file'}: {problem.what}")
    if problems:
        told = f"{_counted(len(problems), 'problem')} in {_counted(count, 'reply', 'replies')}"
        raise InputError(told, path=found.path, hint="Restore it from a copy.")
    typer.echo(f"{_counted(count, 'reply', 'replies')}, all intact.")


@ledger.command()
def stats(run: Run, as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> None:
    """Counts, tokens, failures and seconds."""
    import json

    from recuse.ledger import Ledger

    totals = Ledger.existing(run).totals()
    if as_json:
        typer.echo(json.dumps({"schema": 1, **totals}))
        return
    for name, value in totals.items():
        typer.echo(f"{name.replace('_', ' ')}: {value}")


@ledger.command()
def export(
    run: Run, out: Annotated[Path, typer.Option("--out", help="The Parquet file to write.", show_default=False)]
) -> None:
    """Write every request and reply to a Parquet file."""
    from recuse.ledger import Ledger

    if out.exists():
        raise UsageError(f"{out} exists.", hint="Give --out a new file.")
    typer.echo(f"{_counted(Ledger.existing(run).export(out), 'reply', 'replies')} in {out}")


def _counted(count: int, one: str, many: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"
