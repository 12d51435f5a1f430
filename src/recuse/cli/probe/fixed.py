"""What the probes of fixed prompts share: how a model is reached, what a dry run says, how a result is printed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from recuse.cli.common import options_of, shown, temperature_of
from recuse.errors import UsageError

if TYPE_CHECKING:
    from recuse.probes.product import Reached


def recorded_of(source: Path | None, *, lacking: str) -> Path:
    """The file of recorded answers, where no model is named. Raises UsageError for none, with `lacking`, and a plan."""
    if source is None:
        raise UsageError(lacking, hint="Give --model to ask one, or recorded answers.")
    if source.suffix == ".toml":
        raise UsageError(f"{source} is a plan.", hint="Add --model to ask one, or give recorded answers.")
    return source


def reached_of(given: Mapping[str, Any]) -> Reached:
    """How the model is reached, from the parameters of a command."""
    from recuse.probes.product import Reached

    return Reached(
        given["model"], given["out"], temperature_of(given["temperature"]), given["max_tokens"], given["seed"],
        options_of(given), given["prices"], given["max_cost"],
    )  # fmt: skip


def told(said: Mapping[str, Any]) -> str:
    """What a run may take."""
    cost = "" if said["cost"] is None else f", at most {said['cost']:.4f} US dollars"
    return (
        f"{said['model']}: {said['calls']:,} calls, at most {said['tokens_in']:,} tokens in and {said['tokens_out']:,} "
        f"out{cost}. Nothing was asked."
    )


def print_found(
    content: Mapping[str, Any], body: Callable[[], list[str]], folder: Path | None, *, as_json: bool, quiet: bool
) -> None:
    """The headline, `body` and the notes, then where it all lies; or the content of findings.json."""
    if as_json:
        shown(lambda: typer.echo(json.dumps(content, indent=2, allow_nan=False)), folder)
        return
    lines = [content["headline"], *([] if quiet else [*body(), "", *content["notes"]])]
    if folder is not None:
        lines.append(str(folder))
    shown(lambda: typer.echo("\n".join(lines)), folder)
