"""`recuse probe run PLAN --model MODEL`: the options, and how its result is shown."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recuse.cli import options
from recuse.cli.common import already, options_of, shown, stoppable
from recuse.errors import UsageError

if TYPE_CHECKING:
    from recuse.probes.asking import Probing
    from recuse.report.probed import ProbeResult

_MODEL, _WHAT = "The model", "What it is asked"
Plan = Annotated[Path, typer.Argument(metavar="PLAN", help="A plan in TOML.", show_default=False)]
Model = Annotated[
    str | None,
    options.option(
        "--model",
        group=_MODEL,
        help="provider/model, e.g. openai/gpt-4o-mini, llamacpp/FILE.gguf, or a product as python/pkg.module:function.",
    ),
]
Subset = Annotated[
    int | None,
    options.option(
        "--subset", group=_WHAT, min=1, help="Only so many templates: by stratum, and the same ones next time."
    ),
]
PerCommit = Annotated[
    bool, options.option("--per-commit", group=_WHAT, help="The subset that the plan names, for a run at each commit.")
]


def run(
    plan: Plan,
    model: Model = None,
    base_url: options.BaseUrl = None,
    subset: Subset = None,
    per_commit: PerCommit = False,
    concurrency: options.Concurrency = None,
    rpm: options.Rpm = None,
    tpm: options.Tpm = None,
    timeout: options.Timeout = 120.0,
    attempts: options.Attempts = 12,
    max_context: options.MaxContext = None,
    device: options.Device = None,
    tensor_parallel: options.TensorParallel = None,
    memory_share: options.MemoryShare = None,
    max_cost: options.MaxCost = None,
    batch: options.Batch = False,
    prices: options.Prices = None,
    cache: options.Cache = None,
    dry_run: options.DryRun = False,
    out: options.Out = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    trust_remote_code: options.TrustRemoteCode = False,
    allow_pickle: options.AllowPickle = False,
) -> int:
    """Ask a model about every template for every name of every group, and say what differs.

    The same command resumes a run that stopped, asks about added templates alone, and reads the replies that are there
    anew where the plan says so. Exit codes: 0 done; 2 usage, 4 incomplete and resumable, 130 interrupted.
    """
    from recuse.probes.asking import ProbeConfig, prepare

    if not model:
        raise UsageError("Which model is to be probed?", hint="Give --model.")
    if subset is not None and per_commit:
        raise UsageError("--subset and --per-commit both say how many templates.", hint="Leave one of them out.")
    config = ProbeConfig(
        plan, model, out=out, subset=subset, per_commit=per_commit, options=options_of(locals()), cache=cache,
        prices=prices, max_cost=max_cost,
    )  # fmt: skip
    probing = prepare(config)
    try:
        if dry_run:
            return _dry_run(probing, as_json)
        return _run(probing, as_json, quiet)
    finally:
        probing.close()


def _run(probing: Probing, as_json: bool, quiet: bool) -> int:
    from recuse.probes.run import run_probe
    from recuse.report.terminal import Phases

    # What the user's own function prints is not our output.
    with Phases(quiet=quiet or as_json) as phases, stoppable() as stop, redirect_stdout(sys.stderr):
        result = run_probe(probing, watch=phases.update, stop=stop)
    shown(lambda: _print(result, as_json, quiet), result.folder)
    return 0


def _dry_run(probing: Probing, as_json: bool) -> int:
    import json

    from recuse.probes.run import folder_of, held_of

    said, folder = probing.estimate(), probing.config.out or folder_of(probing)
    if known := held_of(probing, folder):
        said["held"] = known
    if as_json:
        typer.echo(json.dumps({"schema": 1, "model": probing.config.model, **said}))
        return 0
    dated = f" by prices of {said['prices_dated']}" if said["prices_dated"] else ""
    cost = "no price known: give one with --prices"
    if said["cost"] is not None:
        cost = f"at most about {said['cost']:.4f} US dollars{dated}"
    typer.echo(
        f"{probing.config.model}: {said['calls']:,} calls{already(said, folder)} for {said['texts']:,} texts of "
        f"{said['templates']:,} templates, at most about {said['tokens_in']:,} tokens in and "
        f"{said['tokens_out']:,} out; {cost}. Nothing was asked."
    )
    return 0


def _print(result: ProbeResult, as_json: bool, quiet: bool) -> None:
    from recuse.report import text

    if as_json:
        from recuse.report.jsonable import probed_text

        typer.echo(probed_text(result).rstrip("\n"))
        return
    if not quiet:
        for finding in result.findings:
            if not finding.id.startswith("probe.names:") or finding.details.get("outlying"):
                typer.echo(text.visible(f"{finding.title}: {text.estimate(finding)}", newline=" "))
        for note in result.notes:
            typer.echo(text.visible(f"- {note}", newline=" "))
    typer.echo(text.visible(result.headline, newline=" "))
    if not quiet:
        typer.echo(f"Report: {result.folder / 'report.html'}")
