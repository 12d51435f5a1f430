"""`recuse library list|show`: the biases that ship with recuse."""

from __future__ import annotations

from typing import Annotated

import typer

library = typer.Typer(help="The biases that recuse knows.", no_args_is_help=True)


@library.command("list")
def list_() -> None:
    """One line a bias: id, status, name."""
    from recuse.library import load_library

    for bias in load_library().values():
        typer.echo(f"{bias.id}\t{bias.status}\t{bias.name}")


@library.command()
def show(id: Annotated[str, typer.Argument(metavar="ID", show_default=False)]) -> None:
    """Everything that is known about one bias."""
    from recuse.library import load_bias

    for name, value in load_bias(id).model_dump(exclude_none=True).items():
        typer.echo(f"{name}: {', '.join(value) if isinstance(value, list) else value}")
