"""`recuse probe framing`: does the answer follow the framing, or who asks?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from recuse.cli import options
from recuse.cli.common import carried_out, refuse
from recuse.cli.options import option
from recuse.cli.probe.fixed import print_found, reached_of, recorded_of, told

_ASKING: dict[str, object] = {
    "out": None, "base_url": None, "draws": 5, "temperature": "1", "max_tokens": None, "seed": 0, "max_cost": None,
    "prices": None, "dry_run": False, "concurrency": None, "noise": None, "batch": False,
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
    model: options.Probed = None,
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
    level: options.Level = 0.95,
    out: options.Out = None,
    as_json: options.OneObject = False,
    quiet: options.Quiet = False,
) -> int:
    """The same questions neutral, leading for, leading against, and with a stated identity of the asker.

    A frame counts where it moves answers beyond what asking again does; at temperature 0 beyond what meaningless edits
    do.
    """
    if model is None:
        recorded = recorded_of(source, lacking="Who is to be asked?")
        refuse("Recorded answers", _ASKING, locals())
        from recuse.probes.framing_run import framed_result, read_framed

        content = framed_result(*read_framed(recorded), level=level)
        print_found(content, lambda: _lines(content), None, as_json=as_json, quiet=quiet)
        return 0
    from recuse.probes.framing_run import FramingRun, run_framing

    done = carried_out(
        FramingRun.prepare(source, reached_of(locals()), draws=draws, noise=noise),
        lambda run, watch, stop: run_framing(run, level=level, watch=watch, stop=stop),
        told=told, dry_run=dry_run, as_json=as_json, quiet=quiet,
    )  # fmt: skip
    if done is not None:
        found, folder = done
        print_found(found, lambda: _lines(found["tables"]["framing"]), folder, as_json=as_json, quiet=quiet)
    return 0


def _lines(numbers: Mapping[str, Any]) -> list[str]:
    again = "asked again" if numbers["draws"] == "repeats" else "meaningless edits"
    lines = ["", f"{numbers['questions']:,} questions; neutral, {again}: {_value(numbers['neutral_noise'])}"]
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
    return lines


def _value(one: Mapping[str, Any]) -> str:
    if one["estimate"] is None:
        return f"not measured ({one['reason']})"
    interval = one["interval"]
    text = f"{one['estimate']:.3f}" + (f" [{interval[0]:.3f}, {interval[1]:.3f}]" if interval else "")
    return text if one["p"] is None else f"{text}, p {one['p']:.3g}"
