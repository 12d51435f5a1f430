"""`recuse probe implicit`: decisions about two groups after a word list and profiles."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recuse.cli import options
from recuse.cli.common import names_of, options_of, refuse, shown, stoppable, temperature_of
from recuse.cli.options import option
from recuse.errors import UsageError

if TYPE_CHECKING:
    from recuse.probes.product import Reached

# Options that only one of the two modes knows, with their defaults.
_ASKING: dict[str, object] = {
    "out": None, "base_url": None, "variants": "absolute,relative", "draws": 1, "temperature": "1", "max_tokens": None,
    "seed": 0, "max_cost": None, "prices": None, "dry_run": False, "concurrency": None,
}  # fmt: skip
_RECORDED: dict[str, object] = {"stimuli": None, "unit": None}


def implicit(
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RECORDS|PLAN]",
            help="Recorded answers (JSONL, CSV, Parquet, or the folder of a run), or with --model a plan in TOML. "
            "Default with --model: the plan that ships.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        str | None, option("--model", group="The model", help="provider/model, e.g. openai/gpt-4o-mini: ask it.")
    ] = None,
    base_url: options.BaseUrl = None,
    variants: Annotated[
        str, option("--variants", group="What it is asked", help="absolute, relative or both.", show_default=True)
    ] = "absolute,relative",
    draws: Annotated[
        int, option("--draws", group="The run", min=1, help="Conversations of each form.", show_default=True)
    ] = 1,
    temperature: options.Temperature = "1",
    max_tokens: Annotated[
        int | None, option("--max-tokens", group="The run", min=1, help="Room for every reply, where a model thinks.")
    ] = None,
    seed: options.Seed = 0,
    concurrency: options.Concurrency = None,
    rpm: options.Rpm = None,
    tpm: options.Tpm = None,
    timeout: options.Timeout = 120.0,
    attempts: options.Attempts = 12,
    max_context: options.MaxContext = None,
    device: options.Device = None,
    max_cost: options.MaxCost = None,
    prices: options.Prices = None,
    dry_run: options.DryRun = False,
    stimuli: Annotated[
        list[Path] | None,
        option(
            "--stimuli",
            group="Recorded answers",
            help="CSV with dataset, A, B, C: what every word and label means; word lists are then read. Repeatable.",
        ),
    ] = None,
    unit: Annotated[
        str | None,
        option("--unit", group="Recorded answers", help="Column that says which rows share a prompt. Default: unit."),
    ] = None,
    level: Annotated[
        float, option("--level", group="Output", min=0.5, max=0.999, help="Of the intervals.", show_default=True)
    ] = 0.95,
    out: options.Out = None,
    as_json: Annotated[bool, option("--json", group="Output", help="Print one JSON object and nothing else.")] = False,
    quiet: options.Quiet = False,
) -> int:
    """Implicit decisions (Bai et al. 2024): word lists, short profiles, then yes or no, or who does which task.

    Every number is printed with its direction: a yes share of 1 means always yes.
    """
    if model is None:
        if source is None:
            raise UsageError("What is to be scored?", hint="Give recorded answers, or --model to ask one.")
        if source.suffix == ".toml":
            raise UsageError(f"{source} is a plan.", hint="Add --model to ask one, or give recorded answers.")
        refuse("Recorded answers", _ASKING, locals())
        return _recorded(source, stimuli or [], unit, level, as_json)
    refuse("--model", _RECORDED, locals())
    from recuse.probes.product import Reached

    reached = Reached(
        model, out, temperature_of(temperature), max_tokens, seed, options_of(locals()), prices, max_cost
    )  # fmt: skip
    return _ask(source, reached, variants, draws, level, dry_run, as_json, quiet)


def _recorded(path: Path, stimuli: list[Path], unit: str | None, level: float, as_json: bool) -> int:
    from recuse.probes.implicit import implicit_measures, plain
    from recuse.probes.implicit_files import read_recorded
    from recuse.probes.implicit_run import headline

    recorded = read_recorded(path, stimuli=stimuli, unit=unit)
    found = implicit_measures(recorded.rows, level=level)
    content = {**plain(found, recorded.units), "headline": headline(found), "notes": list(recorded.notes)}
    _show(content, content, as_json, None)
    return 0


def _ask(
    plan: Path | None,
    reached: Reached,
    variants: str,
    draws: int,
    level: float,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
) -> int:  # fmt: skip
    from recuse.probes.implicit_run import VARIANTS, ImplicitRun, run_implicit
    from recuse.report.terminal import Phases

    if unknown := [name for name in names_of(variants) if name not in VARIANTS]:
        raise UsageError(f"There is no variant {unknown[0]!r}.", hint=f"Use: {', '.join(VARIANTS)}.")
    chosen = tuple(name for name in VARIANTS if name in names_of(variants))
    run = ImplicitRun.prepare(plan, reached, variants=chosen, draws=draws)
    try:
        if dry_run:
            return told(reached.model, run.product.estimate(list(run.assumed())), as_json)
        with Phases(quiet=quiet or as_json) as phases, stoppable() as stop, redirect_stdout(sys.stderr):
            content, folder = run_implicit(run, level=level, watch=phases.update, stop=stop)
    finally:
        run.close()
    _show(content, content["tables"]["implicit"], as_json, folder, quiet=quiet)
    return 0


def told(model: str, said: Mapping[str, Any], as_json: bool) -> int:
    """Print what a run may take; nothing was asked."""
    if as_json:
        typer.echo(json.dumps({"schema": 1, "model": model, **said}))
        return 0
    cost = "" if said["cost"] is None else f", at most {said['cost']:.4f}"
    typer.echo(
        f"{model}: {said['calls']:,} calls, at most {said['tokens_in']:,} tokens in and {said['tokens_out']:,} "
        f"out{cost}. Nothing was asked."
    )
    return 0


def _show(
    content: Mapping[str, Any], numbers: Mapping[str, Any], as_json: bool, folder: Path | None, *, quiet: bool = False
) -> None:
    if as_json:
        shown(lambda: typer.echo(json.dumps(content, indent=2, allow_nan=False)), folder)
        return
    lines = [content["headline"]]
    if not quiet:
        for name, direction in numbers["direction"].items():
            if numbers[name] is not None:
                lines += ["", f"{name}: {direction}", f"  {'further pairs':24} {_value(numbers[name])}"]
                lines += [f"  {'these pairs, pooled':24} {_value(numbers[name]['pooled'])}"]
                lines += [f"  {key:24} {_value(one)}" for key, one in numbers[name]["by_category"].items()]
        if profiles := numbers["profiles"]:
            lines += [
                "",
                f"Profiles: {profiles['over']:,} of {profiles['of']:,} are longer than {profiles['limit']} words "
                f"(longest {profiles['longest']:.0f}).",
            ]
        lines += ["", *content["notes"]]
    if folder is not None:
        lines.append(str(folder))
    shown(lambda: typer.echo("\n".join(lines)), folder)


def _value(one: Mapping[str, Any]) -> str:
    if one["estimate"] is None:
        return f"not measured ({one['reason']})"
    interval = one["interval"]
    text = f"{one['estimate']:.3f}" + (f" [{interval[0]:.3f}, {interval[1]:.3f}]" if interval else "")
    unread = sum(one["unread"].values())
    text += f", {one['n']:,} values, {one['units']:,} units"
    if unread:
        bounds = one["bounds"]
        text += f", {unread:,} unread"
        text += f" (bounds {bounds[0]:.3f} to {bounds[1]:.3f})" if bounds else ""
    return text if one["p"] is None else f"{text}, p {one['p']:.3g}"
