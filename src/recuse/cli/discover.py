"""`recuse discover`: the options, and how its result is shown."""

from __future__ import annotations

import math
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recuse.cli import options
from recuse.cli.common import columns_of, names_of, options_of, shown, stoppable, temperature_of
from recuse.errors import UsageError

if TYPE_CHECKING:
    from recuse.discovery.config import DiscoverConfig
    from recuse.discovery.transfer import Transferred
    from recuse.lab.engines import Role
    from recuse.report.discovered import DiscoverResult

_SEARCH, _TEACHER, _COST = "The search", "The teacher", "Cost"
_option = options.option

Rate = Annotated[
    float | None,
    _option(
        "--rate",
        group=_COST,
        min=0.0001,
        help="With --dry-run: replies a second of the judge, as an audit shows them, to tell the hours by.",
    ),
]
TeacherRate = Annotated[
    float | None, _option("--teacher-rate", group=_COST, min=0.0001, help="The same, of the teacher.")
]

discover = typer.Typer(help="Find the biases nobody listed, and prove each one.", invoke_without_command=True)


@discover.callback()
def run(
    context: typer.Context,
    judge: options.Judge = None,
    base_url: options.BaseUrl = None,
    teacher: Annotated[
        str | None, _option("--teacher", group=_TEACHER, help="provider/model that rewrites and names biases.")
    ] = None,
    teacher_base_url: Annotated[
        str | None, _option("--teacher-base-url", group=_TEACHER, help="As --base-url, for the teacher.")
    ] = None,
    teacher_tokens: Annotated[
        int | None, _option("--teacher-tokens", group=_TEACHER, min=16, help="Tokens that one rewrite may take.")
    ] = None,
    verify: Annotated[
        bool,
        _option(
            "--verify/--no-verify",
            group=_TEACHER,
            show_default=True,
            help="Ask the teacher whether an answer is still the same where no code can tell.",
        ),
    ] = True,
    pairs: options.Pairs = None,
    preset: options.Preset = None,
    column: options.Column = None,
    group: options.Group = None,
    skip_bad: options.SkipBad = False,
    limit: options.Limit = None,
    split_column: Annotated[
        str | None,
        _option(
            "--split-column",
            group=_SEARCH,
            help="Column that says discovery, validation or test. Default: groups are dealt by a hash.",
        ),
    ] = None,
    rounds: Annotated[int, _option("--rounds", group=_SEARCH, min=1, help="Rounds of search.", show_default=True)] = 3,
    biases: Annotated[
        str | None,
        _option("--biases", group=_SEARCH, help="Ids with which the search begins, by commas. Default: the library's."),
    ] = None,
    library: Annotated[
        Path | None, _option("--library", group=_SEARCH, help="A folder of bias files. Default: the one that ships.")
    ] = None,
    min_effect: Annotated[
        float, _option("--min-effect", group=_SEARCH, help="Screen on the estimate, in error rate.", show_default=True)
    ] = 0.05,
    fdr: Annotated[
        float, _option("--fdr", group=_SEARCH, help="False discovery rate over all candidates.", show_default=True)
    ] = 0.05,
    shams: Annotated[
        int,
        _option("--shams", group=_SEARCH, help="Meaningless instructions beside them.", show_default=True),
    ] = 10,
    candidates: Annotated[
        int,
        _option("--candidates", group=_SEARCH, min=1, help="New ones of one round at most.", show_default=True),
    ] = 10,
    screen_groups: Annotated[
        int,
        _option("--screen-groups", group=_SEARCH, min=1, help="Groups that screen a new one.", show_default=True),
    ] = 60,
    explain_steps: Annotated[
        int, _option("--explain-steps", group=_SEARCH, min=0, help="Steps of deeper explanation.", show_default=True)
    ] = 2,
    similarity: Annotated[
        str | None,
        _option(
            "--similarity",
            group=_SEARCH,
            metavar="NAME|FOLDER",
            help="Sentence-embedding model that proposes which new ones are the same. Default: words in common.",
        ),
    ] = None,
    online: Annotated[
        bool,
        _option("--online", group=_SEARCH, help="Accept round by round, each round on validation pairs of its own."),
    ] = False,
    racing: Annotated[
        bool, _option("--racing/--no-racing", group=_SEARCH, help="Stop hopeless candidates early.", show_default=True)
    ] = True,
    prompt: options.Prompt = "pairwise/label",
    temperature: options.Temperature = "0",
    max_tokens: options.MaxTokens = None,
    choice: options.Choice = False,
    seed: options.Seed = 0,
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
    rate: Rate = None,
    teacher_rate: TeacherRate = None,
    names: options.Names = None,
    names_file: options.NamesFile = None,
    signals: options.Signals = None,
    resume: Annotated[
        bool,
        _option("--resume", group=_SEARCH, help="Go on with a run that exists; any run resumes by its own command."),
    ] = False,
    out: options.Out = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    run_code: options.RunCode = False,
    trust_remote_code: options.TrustRemoteCode = False,
) -> int:
    """Find the biases nobody listed, and prove each one on pairs that the search has not seen.

    Exit codes: 0 finished, whatever was found; 2 usage, 4 incomplete and resumable, 130 interrupted.
    """
    if context.invoked_subcommand is not None:
        return 0
    from recuse.blinding.pairs import Blinds
    from recuse.discovery.config import DiscoverConfig
    from recuse.plan import AuditConfig

    if not judge or not teacher or not pairs:
        raise UsageError("What is to be searched?", hint="Give --judge, --teacher and --pairs.")
    rates = _rates(rate, teacher_rate, dry_run=dry_run)
    reached = options_of(locals())
    config = DiscoverConfig(
        judge=AuditConfig(
            judge=judge, pairs=pairs, prompt=prompt, limit=limit, seed=seed, out=out,
            temperature=temperature_of(temperature), max_tokens=max_tokens, choice=choice, preset=preset,
            columns=columns_of(column or []), group=group, skip_bad=skip_bad, prices=prices, max_cost=max_cost,
            options=reached, run_code=run_code, blinds=Blinds.of(names, names_file, signals),
        ),
        teacher=teacher, teacher_options=replace(reached, base_url=teacher_base_url), teacher_tokens=teacher_tokens,
        rounds=rounds, biases=names_of(biases), library=library,
        min_effect=min_effect, fdr=fdr, shams=shams, split_column=split_column, explain_steps=explain_steps,
        most_candidates=candidates, screen_groups=screen_groups, racing=racing, online=online, verify=verify,
        similarity=similarity,
    )  # fmt: skip
    return _run(config, dry_run, as_json, quiet, resume=resume, rates=rates)


@discover.command()
def transfer(
    folder: Annotated[Path, typer.Argument(metavar="RUN", show_default=False, help="A finished discovery.")],
    judge: options.Judge = None,
    base_url: options.BaseUrl = None,
    unconfirmed: Annotated[
        bool, _option("--unconfirmed", group=_SEARCH, help="Test what the run did not confirm, too.")
    ] = False,
    prompt: options.Prompt = "pairwise/label",
    temperature: options.Temperature = "0",
    max_tokens: options.MaxTokens = None,
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
    rate: Rate = None,
    teacher_rate: TeacherRate = None,
    out: options.Out = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    run_code: options.RunCode = False,
    trust_remote_code: options.TrustRemoteCode = False,
) -> int:
    """Test the confirmed biases of RUN on another judge: same pairs, same rewrites, new verdicts.

    Exit codes as for `recuse discover`.
    """
    from recuse.discovery.transfer import load_run, transfer_config
    from recuse.plan import AuditConfig

    if not judge:
        raise UsageError("Which judge is to be tested?", hint="Give --judge.")
    rates = _rates(rate, teacher_rate, dry_run=dry_run)
    given = load_run(folder, unconfirmed=unconfirmed)
    audit = AuditConfig(
        judge=judge, pairs="", prompt=prompt, out=out, temperature=temperature_of(temperature), max_tokens=max_tokens,
        prices=prices, max_cost=max_cost, run_code=run_code,
        options=options_of(locals()),
    )  # fmt: skip
    return _run(transfer_config(folder, audit), dry_run, as_json, quiet, given, rates=rates)


def _rates(judge: float | None, teacher: float | None, *, dry_run: bool) -> dict[Role, float]:
    """The rates that are given. Raises UsageError without a dry run, and for what is no number."""
    given: dict[Role, float | None] = {"judge": judge, "teacher": teacher}
    rates = {role: rate for role, rate in given.items() if rate is not None}
    for role, rate in rates.items():
        name = "--rate" if role == "judge" else "--teacher-rate"
        if not math.isfinite(rate):
            raise UsageError(f"{name} is {rate}.", hint="Give replies a second, such as 12.5.")
        if not dry_run:
            raise UsageError(f"{name} goes with --dry-run alone: a run measures its own pace.")
    return rates


def _run(
    config: DiscoverConfig,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
    given: Transferred | None = None,
    *,
    resume: bool = False,
    rates: dict[Role, float],
) -> int:
    from recuse.discovery.config import plan_discovery
    from recuse.discovery.estimate import estimate, told, too_few_groups
    from recuse.discovery.run import run_discovery
    from recuse.report.terminal import Phases
    from recuse.run import default_folder

    plan, number = plan_discovery(config), len(given.candidates) if given else None
    try:
        folder = config.judge.out or default_folder("discover", config.judge.judge, plan.run_table())
        if resume and not (folder / "run.toml").is_file():
            raise UsageError(f"There is no run at {folder} to resume.", hint="Leave --resume out to begin one.")
        if dry_run:
            import json

            said = estimate(plan, given=number, rates=rates)
            typer.echo(json.dumps({"schema": 1, **said}) if as_json else told(said))
            return 0
        if not (quiet or as_json) and (few := too_few_groups(plan, given=number)):
            typer.echo(few, err=True)
        with Phases(quiet=quiet or as_json) as phases, stoppable() as stop, redirect_stdout(sys.stderr):
            result = run_discovery(plan, given=given, watch=phases.update, stop=stop)
    finally:
        plan.close()
    shown(lambda: _print(result, as_json, quiet), result.folder)
    return 0


def _print(result: DiscoverResult, as_json: bool, quiet: bool) -> None:
    if as_json:
        from recuse.report.jsonable import discovered_text

        typer.echo(discovered_text(result).rstrip("\n"))
    elif quiet:
        typer.echo(result.headline)
    else:
        from rich.console import Console

        from recuse.report.terminal import print_discovered

        print_discovered(result, Console())
        typer.echo(f"Report: {result.folder / 'report.html'}")
