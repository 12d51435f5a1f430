"""`recuse library list|show|check|promote`: the biases that recuse knows, and those that a run found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recuse.errors import InputError

if TYPE_CHECKING:
    from recuse.library import Bias

library = typer.Typer(help="The biases that recuse knows.", no_args_is_help=True)
Id = Annotated[str, typer.Argument(metavar="ID", show_default=False)]
Library = Annotated[
    Path | None,
    typer.Option("--library", metavar="FOLDER", help="A folder of bias files. Default: the one that ships."),
]


@library.command("list")
def list_(library: Library = None) -> None:
    """One line a bias: id, family, status, how it is put in (by a rule, a teacher or both), name."""
    from recuse.library import load_library

    biases = list(load_library(library).values())
    width = max(len(bias.id) for bias in biases)
    for bias in biases:
        typer.echo(f"{bias.id:{width}}  {bias.family:9}  {bias.status:9}  {_ways(bias):14}  {_flat(bias.name)}")


@library.command()
def show(id: Id, library: Library = None) -> None:
    """Everything that is known about one bias."""
    from recuse.library import load_bias

    bias = load_bias(id, library)
    typer.echo(f"{_flat(bias.name)} ({bias.id}, {bias.family}, {bias.status})\n\n{_flat(bias.definition)}")
    _listed("Shows as", bias.manifestations)
    if bias.inject is not None:
        _listed("A teacher is told", [bias.inject])
    if bias.edit is not None:
        _listed("Rule-based edit", [_edit(bias.edit)])
    if bias.changes_length:
        _listed("Length", ["The bias is about length: its rewrites may be longer or shorter."])
    _listed("Measured", [
        f"{e.effect:+.3f} ({e.interval[0]:+.3f} to {e.interval[1]:+.3f}), {e.n} pairs in {e.groups} groups, judge "
        f"{e.judge}{f', teacher {e.teacher}' if e.teacher else ''}, run {e.run}"
        for e in bias.evidence
    ])  # fmt: skip
    _listed("Source", bias.source)


@library.command()
def check(library: Library = None) -> None:
    """Read every file and name what is wrong with it."""
    from recuse.library import check_library, load_library
    from recuse.perturb.edits import EDITS

    problems = check_library(library, edits=EDITS)
    for problem in problems:
        typer.echo(_flat(problem))
    if problems:
        told = f"{len(problems)} problem{'s' * (len(problems) != 1)} in the library"
        raise InputError(told, path=library, hint="Correct the files named above.")
    count = len(load_library(library))
    typer.echo(f"{count} bias{'es' * (count != 1)}, all in order.")


@library.command()
def promote(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a discovery.", show_default=False)],
    id: Id,
    library: Annotated[
        Path | None,
        typer.Option(
            "--library",
            metavar="FOLDER",
            help="Where to keep it; made where there is none. Needed unless recuse runs from a source checkout, whose "
            "bias_library is the default: an installed library would be overwritten by the next installation.",
        ),
    ] = None,
    unconfirmed: Annotated[
        bool, typer.Option("--unconfirmed", help="Take a candidate that the run did not confirm too.")
    ] = False,
) -> None:
    """Keep a bias that a discovery confirmed, with what was measured."""
    from recuse.library import promote as keep

    typer.echo(f"{id} is kept in {keep(run, id, library=library, unconfirmed=unconfirmed)}.")


def _ways(bias: Bias) -> str:
    ways = [name for name, given in (("rule", bias.edit), ("teacher", bias.inject)) if given is not None]
    return ", ".join(ways) or "-"


def _edit(name: str) -> str:
    from recuse.perturb.edits import EDITS

    return f"{name}: {EDITS[name].about}" if name in EDITS else f"{name} (unknown)"


def _listed(title: str, lines: list[str]) -> None:
    if lines:
        typer.echo("\n".join(["", f"{title}:", *(f"- {_flat(line)}" for line in lines)]))


def _flat(text: str) -> str:
    """On one line, and nothing that acts on a terminal: a run's candidates were worded by a model."""
    from recuse.report.text import visible

    return visible(" ".join(text.split()))
