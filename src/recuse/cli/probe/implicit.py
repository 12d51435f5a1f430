"""`recuse probe implicit`: decisions about two groups after a word list and profiles."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recuse.cli import options
from recuse.cli.common import carried_out, names_of, refuse
from recuse.cli.options import option
from recuse.cli.probe.fixed import print_found, reached_of, recorded_of, told
from recuse.errors import UsageError

if TYPE_CHECKING:
    from recuse.probes.implicit_run import Variant

# Options that only one of the two modes knows, with their defaults.
_ASKING: dict[str, object] = {
    "out": None, "base_url": None, "variants": "absolute,relative", "draws": 1, "temperature": "1", "max_tokens": None,
    "seed": 0, "max_cost": None, "prices": None, "dry_run": False, "concurrency": None, "batch": False,
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
    model: options.Probed = None,
    base_url: options.BaseUrl = None,
    variants: Annotated[
        str, option("--variants", group="What it is asked", help="absolute, relative or both.", show_default=True)
    ] = "absolute,relative",
    draws: Annotated[
        int, option("--draws", group="The run", min=1, help="Conversations of each form.", show_default=True)
    ] = 1,
    temperature: options.Temperature = "1",
    max_tokens: options.RoomToReply = None,
    seed: options.Seed = 0,
    concurrency: options.Concurrency = None,
    rpm: options.Rpm = None,
    tpm: options.Tpm = None,
    timeout: options.Timeout = 120.0,
    attempts: options.Attempts = 12,
    max_context: options.MaxContext = None,
    device: options.Device = None,
    max_cost: options.MaxCost = None,
    batch: options.Batch = False,
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
    level: options.Level = 0.95,
    out: options.Out = None,
    as_json: options.OneObject = False,
    quiet: options.Quiet = False,
) -> int:
    """Implicit decisions (Bai et al. 2024): word lists, short profiles, then yes or no, or who does which task.

    Every number is printed with its direction: a yes share of 1 means always yes.
    """
    if model is None:
        recorded = recorded_of(source, lacking="What is to be scored?")
        refuse("Recorded answers", _ASKING, locals())
        return _recorded(recorded, stimuli or [], unit, level, as_json=as_json, quiet=quiet)
    refuse("--model", _RECORDED, locals())
    from recuse.probes.implicit_run import ImplicitRun, run_implicit

    done = carried_out(
        ImplicitRun.prepare(source, reached_of(locals()), variants=_chosen(variants), draws=draws),
        lambda run, watch, stop: run_implicit(run, level=level, watch=watch, stop=stop),
        told=told, dry_run=dry_run, as_json=as_json, quiet=quiet,
    )  # fmt: skip
    if done is not None:
        found, folder = done
        print_found(found, lambda: _lines(found["tables"]["implicit"]), folder, as_json=as_json, quiet=quiet)
    return 0


def _chosen(variants: str) -> tuple[Variant, ...]:
    from recuse.probes.implicit_run import VARIANTS

    named = names_of(variants)
    if unknown := [name for name in named if name not in VARIANTS]:
        raise UsageError(f"There is no variant {unknown[0]!r}.", hint=f"Use: {', '.join(VARIANTS)}.")
    return tuple(name for name in VARIANTS if name in named)


def _recorded(path: Path, stimuli: list[Path], unit: str | None, level: float, *, as_json: bool, quiet: bool) -> int:
    from recuse.probes.implicit import implicit_measures, plain
    from recuse.probes.implicit_files import read_recorded
    from recuse.probes.implicit_run import headline

    recorded = read_recorded(path, stimuli=stimuli, unit=unit)
    found = implicit_measures(recorded.rows, level=level)
    content = {**plain(found, recorded.units), "headline": headline(found), "notes": list(recorded.notes)}
    print_found(content, lambda: _lines(content), None, as_json=as_json, quiet=quiet)
    return 0


def _lines(numbers: Mapping[str, Any]) -> list[str]:
    lines: list[str] = []
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
    return lines


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
