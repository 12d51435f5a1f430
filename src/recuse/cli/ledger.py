"""`recuse ledger verify|stats|export|batches`: look at the replies of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recuse.errors import InputError, UsageError

if TYPE_CHECKING:
    from recuse.batches import Noted

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


@ledger.command()
def batches(
    run: Run,
    cancel: Annotated[bool, typer.Option("--cancel", help="Tell the provider to end those that are open.")] = False,
    forget: Annotated[
        str | None, typer.Option("--forget", metavar="ID", help="Give one up: what it holds is asked, and paid, again.")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option("--base-url", help="Where they were sent. Default: the address that was kept.")
    ] = None,
) -> None:
    """The provider batches of a run: list them, end those that are open, or give one up.

    What a batch had answered before it was ended is fetched by the run's own command.
    """
    from recuse.batches import journals

    found = [(journal, noted) for journal in journals(run) for noted in journal.all()]
    if forget is not None:
        chosen = [(journal, noted) for journal, noted in found if forget in (noted.sent.own, noted.sent.id)]
        if not chosen:
            raise UsageError(f"{run} has no batch {forget}.", hint=f"`recuse ledger batches {run}` lists them.")
        for journal, noted in chosen:
            journal.close(noted.sent.own, "forgotten")
            typer.echo(f"{_line(noted)}: given up; the run's own command asks its calls again.")
        return
    for _, noted in found:
        typer.echo(f"{_line(noted)}: {_ended(noted, base_url) if cancel and noted.open else noted.state}")
    if not found:
        typer.echo("No batches.")


def _line(noted: Noted) -> str:
    from datetime import UTC, datetime

    sent = noted.sent
    when = datetime.fromtimestamp(sent.at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"{sent.own}  {noted.judge}  {sent.id or 'no id'}  {_counted(sent.calls, 'call')}  {when}"


def _ended(noted: Noted, base_url: str | None) -> str:
    from recuse.batches import cancel

    if cancel(noted, base_url=base_url):
        return "told to end; the run's own command fetches what it has answered"
    return "has ended, or never arrived; the run's own command takes it up"


def _counted(count: int, one: str, many: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"
