"""`recuse harden`: the options, and how its result is shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recuse.cli import options
from recuse.cli.common import carried_out, columns_of, names_of, options_of, people_of, shown, taking, temperature_of
from recuse.errors import UsageError

if TYPE_CHECKING:
    from recuse.harden.config import HardenConfig
    from recuse.harden.run import HardenResult

_COMPARED = "What is compared"
_option = options.option

Like = Annotated[
    Path | None,
    _option(
        "--like",
        group=_COMPARED,
        metavar="RUN",
        help="A `recuse discover` run, or `recuse audit --biases`: its confirmed biases and its rewrites.",
    ),
]
Variants = Annotated[
    Path | None,
    _option(
        "--variants",
        group=_COMPARED,
        metavar="FILE",
        help="TOML of changed judges and of what must be better. Default: warned of the biases, reasons first, both "
        "orders, and reference answers where there are any.",
    ),
]
Bias = Annotated[
    str | None,
    _option(
        "--bias",
        group=_COMPARED,
        metavar="ID,...",
        help="Further ones of the library; unconfirmed ones are marked so.",
    ),
]
Pairs = Annotated[
    str | None,
    _option(
        "--pairs",
        group=_COMPARED,
        help="As in an audit. Default: those of RUN; of a discovery its test part. Pairs that it searched stay out.",
    ),
]


def harden(
    judge: options.Judge = None,
    base_url: options.BaseUrl = None,
    like: Like = None,
    variants: Variants = None,
    pairs: Pairs = None,
    bias: Bias = None,
    library: options.Library = None,
    preset: options.Preset = None,
    column: options.Column = None,
    group: options.Group = None,
    skip_bad: options.SkipBad = False,
    limit: options.Limit = None,
    prompt: options.Prompt = "pairwise/label",
    repeats: options.Repeats = 1,
    temperature: options.Temperature = "0",
    max_tokens: options.MaxTokens = None,
    choice: options.Choice = False,
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
    dry_run: options.DryRun = False,
    names: options.Names = None,
    names_file: options.NamesFile = None,
    signals: options.Signals = None,
    human: options.Human = None,
    key: options.Key = None,
    label: options.Label = None,
    annotator: options.Annotator = None,
    means: options.Means = None,
    out: options.Out = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    run_code: options.RunCode = False,
    trust_remote_code: options.TrustRemoteCode = False,
    allow_pickle: options.AllowPickle = False,
) -> int:
    """Tell whether a changed judge does better: variants and the present judge on the same held-out pairs and rewrites.

    A variant wins only where it is better in what was declared and not worse, by a margin, in everything else. The
    winner lies in DIR/judge, which `recuse audit --judge-config` reads.

    Exit codes: 0 finished, whether or not anything wins; 2 usage, 4 incomplete and resumable, 130 interrupted.
    """
    from recuse.blinding.pairs import Blinds
    from recuse.harden.config import HardenConfig
    from recuse.plan import AuditConfig

    if not judge or like is None:
        raise UsageError("Which judge is to be hardened, and against what?", hint="Give --judge and --like RUN.")
    present = AuditConfig(
        judge=judge, pairs=pairs or "", prompt=prompt, limit=limit, out=out, repeats=repeats,
        temperature=temperature_of(temperature), max_tokens=max_tokens, choice=choice, preset=preset,
        columns=columns_of(column or []), group=group, skip_bad=skip_bad, options=options_of(locals()), prices=prices,
        max_cost=max_cost, run_code=run_code,
        blinds=Blinds.of(names, names_file, signals), people=people_of(human, key, label, annotator, means),
    )  # fmt: skip
    return _run(HardenConfig(present, like, variants, names_of(bias), library), dry_run, as_json, quiet)


def _run(config: HardenConfig, dry_run: bool, as_json: bool, quiet: bool) -> int:
    from recuse.harden.config import plan_harden
    from recuse.harden.run import run_harden

    result = carried_out(
        plan_harden(config), lambda plan, watch, stop: run_harden(plan, watch=watch, stop=stop), told=_told,
        dry_run=dry_run, as_json=as_json, quiet=quiet,
    )  # fmt: skip
    if result is not None:
        shown(lambda: _print(result, as_json, quiet), result.folder)
    return 0


def _told(said: dict[str, Any]) -> str:
    lines = [f"{said['pairs']:,} pairs, each as it is and in {said['arms']:,} rewritten versions."]
    lines += [f"{one['id']}: {one['calls']:,} calls; {taking(one)}" for one in said["rivals"]]
    if "teacher" in said:
        lines.append(f"teacher: {said['teacher']['calls']:,} calls, fewer where the run lends its rewrites; "
                     f"{taking(said['teacher'])}")  # fmt: skip
    return "\n".join([*lines, "Nothing was asked."])


def _print(result: HardenResult, as_json: bool, quiet: bool) -> None:
    from recuse.harden.report import report_of
    from recuse.report.hardened import summary
    from recuse.report.hardened_json import hardened_text

    report = report_of(result)
    if as_json:
        typer.echo(hardened_text(report), nl=False)
        return
    lines = [result.headline]
    if not quiet:
        lines += [f"{id}: {said}." for id, said in summary(report).items()]
        lines.append(f"Report: {result.folder / 'report.html'}")
        if result.judge_folder is not None:
            lines.append(f"Judge: {result.judge_folder}")
    typer.echo("\n".join(lines))
