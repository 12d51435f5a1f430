"""`recuse probe framing`: does the answer follow the framing, or who asks?"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recuse.cli import options
from recuse.cli.common import options_of, refuse, shown, stoppable, temperature_of
from recuse.cli.options import option
from recuse.cli.probe.implicit import told
from recuse.errors import UsageError

if TYPE_CHECKING:
    from recuse.probes.product import Reached

_ASKING: dict[str, object] = {
    "out": None, "base_url": None, "draws": 5, "temperature": "1", "max_tokens": None, "seed": 0, "max_cost": None,
    "prices": None, "dry_run": False, "concurrency": None, "noise": None,
}  # fmt: skip


def framing(
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="[PLAN|RECORDS]",
            help="With --model a plan in TOML (default: the one that ships); without it recorded answers (JSONL, CSV, "
            "Parquet, or the folder of a run).",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        str | None, option("--model", group="The model", help="provider/model, e.g. openai/gpt-4o-mini: ask it.")
    ] = None,
    base_url: options.BaseUrl = None,
    draws: Annotated[
        int,
        option("--draws", group="The run", min=1, help="Fresh replies to every text, at least 5.", show_default=True),
    ] = 5,
    noise: Annotated[
        str | None,
        option(
            "--noise",
            group="The run",
            help="What a flip rate is held against: repeats, or meaningless edits. Default: edits at temperature 0.",
        ),
    ] = None,
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
    level: Annotated[
        float, option("--level", group="Output", min=0.5, max=0.999, help="Of the intervals.", show_default=True)
    ] = 0.95,
    out: options.Out = None,
    as_json: Annotated[bool, option("--json", group="Output", help="Print one JSON object and nothing else.")] = False,
    quiet: options.Quiet = False,
) -> int:
    """The same questions neutral, leading for, leading against, and with a stated identity of the asker.

    A frame counts where it moves answers beyond what asking again does; at temperature 0 beyond what meaningless edits
    do.
    """
    if model is None:
        if source is None:
            raise UsageError("Who is to be asked?", hint="Give --model, or recorded answers.")
        if source.suffix == ".toml":
            raise UsageError(f"{source} is a plan.", hint="Add --model to ask one, or give recorded answers.")
        refuse("Recorded answers", _ASKING, locals())
        from recuse.probes.framing_run import framed_result, read_framed

        content = framed_result(*read_framed(source), level=level)
        _show(content, content, as_json, None, quiet=quiet)
        return 0
    from recuse.probes.product import Reached

    reached = Reached(
        model, out, temperature_of(temperature), max_tokens, seed, options_of(locals()), prices, max_cost
    )  # fmt: skip
    return _ask(source, reached, draws, noise, level, dry_run, as_json, quiet)


def _ask(
    plan: Path | None, reached: Reached, draws: int, noise: str | None, level: float, dry_run: bool, as_json: bool,
    quiet: bool,
) -> int:  # fmt: skip
    from recuse.probes.framing_run import FramingRun, run_framing
    from recuse.report.terminal import Phases

    run = FramingRun.prepare(plan, reached, draws=draws, noise=noise)
    try:
        if dry_run:
            return told(reached.model, run.product.estimate([run.ask(one) for one in run.texts()]), as_json)
        with Phases(quiet=quiet or as_json) as phases, stoppable() as stop, redirect_stdout(sys.stderr):
            content, folder = run_framing(run, level=level, watch=phases.update, stop=stop)
    finally:
        run.close()
    _show(content, content["tables"]["framing"], as_json, folder, quiet=quiet)
    return 0


def _show(
    content: Mapping[str, Any], numbers: Mapping[str, Any], as_json: bool, folder: Path | None, *, quiet: bool
) -> None:
    if as_json:
        shown(lambda: typer.echo(json.dumps(content, indent=2, allow_nan=False)), folder)
        return
    lines = [content["headline"]]
    if not quiet:
        again = "asked again" if numbers["draws"] == "repeats" else "meaningless edits"
        lines += ["", f"{numbers['questions']:,} questions; neutral, {again}: {_value(numbers['neutral_noise'])}"]
        for name, one in numbers["frames"].items():
            kind = " (placebo)" if one["placebo"] else ""
            lines.append(
                f"{name}{kind}: differs {_value(one['flip_rate'])}, noise {_value(one['noise_floor'])}, above it "
                f"{_value(one['above'])}"
            )
            if one["p_adjusted"] is not None:
                lines[-1] += f", adjusted {one['p_adjusted']:.3g}"
            if one["sway"]:
                lines.append(f"  towards the answer to which it leads {_value(one['sway'])}")
            lines += [f"  against {key}: above {_value(v['above'])}" for key, v in one["against_placebo"].items()]
            if one["unread"]:
                lines.append(f"  {sum(one['unread'].values()):,} replies could not be read")
        lines += ["", *content["notes"]]
    if folder is not None:
        lines.append(str(folder))
    shown(lambda: typer.echo("\n".join(lines)), folder)


def _value(one: Mapping[str, Any]) -> str:
    if one["estimate"] is None:
        return f"not measured ({one['reason']})"
    interval = one["interval"]
    text = f"{one['estimate']:.3f}" + (f" [{interval[0]:.3f}, {interval[1]:.3f}]" if interval else "")
    return text if one["p"] is None else f"{text}, p {one['p']:.3g}"
