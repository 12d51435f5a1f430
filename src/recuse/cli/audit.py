"""`recuse audit`: the options, and how its result is shown."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from recuse.cli import options
from recuse.cli.common import (
    already,
    columns_of,
    names_of,
    options_of,
    people_of,
    refuse,
    shown,
    stoppable,
    temperature_of,
)
from recuse.errors import UsageError

if TYPE_CHECKING:
    from recuse.plan import AuditConfig, Plan
    from recuse.report.result import AuditResult

# Options that only one of the two modes knows, with their defaults.
_GIVEN_WITH_JUDGE: dict[str, object] = {
    "judge": None, "judge_config": None, "pairs": None, "base_url": None, "preset": None, "column": None, "group": None,
    "skip_bad": False, "limit": None, "prompt": "pairwise/label", "repeats": 1, "temperature": "0",
    "max_tokens": None, "choice": False, "concurrency": None, "max_cost": None, "prices": None, "cache": None,
    "dry_run": False, "biases": None, "library": None, "teacher": None, "teacher_base_url": None, "shams": 10,
    "run_code": False, "batch": False, "names": None, "names_file": None, "signals": None, "swap": None,
}  # fmt: skip
_GIVEN_IN_CONFIG: dict[str, object] = {
    "judge": None, "prompt": "pairwise/label", "temperature": "0", "max_tokens": None, "choice": False, "names": None,
    "names_file": None, "signals": None,
}  # fmt: skip
_GIVEN_WITH_VERDICTS: dict[str, object] = {"where": None, "format": None, "recorded": False, "text_format": "bracket"}
_EXIT = {"fit": 0, "recuse": 1, "inconclusive": 3}


def audit(
    judge: options.Judge = None,
    judge_config: options.JudgeConfig = None,
    base_url: options.BaseUrl = None,
    pairs: options.Pairs = None,
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
    cache: options.Cache = None,
    dry_run: options.DryRun = False,
    names: options.Names = None,
    names_file: options.NamesFile = None,
    signals: options.Signals = None,
    swap: options.Swap = None,
    human: options.Human = None,
    key: options.Key = None,
    label: options.Label = None,
    annotator: options.Annotator = None,
    means: options.Means = None,
    biases: options.Biases = None,
    library: options.Library = None,
    teacher: options.Teacher = None,
    teacher_base_url: options.TeacherBaseUrl = None,
    shams: options.Shams = 10,
    run_code: options.RunCode = False,
    verdicts: options.Verdicts = None,
    format: options.Form = None,
    where: options.Where = None,
    recorded: options.Recorded = False,
    text_format: options.TextFormat = "bracket",
    gate: options.Gate = None,
    out: options.Out = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    trust_remote_code: options.TrustRemoteCode = False,
    allow_pickle: options.AllowPickle = False,
) -> int:
    """Tell whether a judge is fit: error rate, position, length, stability and failures, with intervals.

    Exit codes: 0 fit, 1 recuse, 3 inconclusive; 2 usage, 4 incomplete and resumable, 130 interrupted.
    """
    from recuse.blinding.pairs import Blinds
    from recuse.plan import AuditConfig
    from recuse.reexamine import RecordedConfig, audit_recorded

    people = people_of(human, key, label, annotator, means)
    if verdicts is not None:
        refuse("--verdicts", _GIVEN_WITH_JUDGE, locals())
        reading = RecordedConfig(
            verdicts, format=format, where=tuple(where or ()), reading="recorded" if recorded else "reread",
            text_format=text_format, gate=gate, out=out, people=people,
        )  # fmt: skip
        return _show(audit_recorded(reading), as_json, quiet)
    if not (judge or judge_config) or not pairs:
        raise UsageError("What is to be audited?", hint="Give --judge and --pairs, or --verdicts.")
    if judge_config is not None:
        refuse("--judge-config", _GIVEN_IN_CONFIG, locals())
    refuse("--judge", _GIVEN_WITH_VERDICTS, locals())
    if biases is None and (teacher or library or run_code):
        raise UsageError("--teacher, --library and --run-code go with --biases.", hint="Say which, or --biases all.")
    reached = options_of(locals())
    config = AuditConfig(
        judge=judge or "", pairs=pairs, prompt=prompt, repeats=repeats, limit=limit, seed=seed, gate=gate, out=out,
        temperature=temperature_of(temperature), max_tokens=max_tokens, choice=choice, preset=preset,
        columns=columns_of(column or []), group=group, skip_bad=skip_bad, cache=cache, prices=prices, max_cost=max_cost,
        options=reached, biases=names_of(biases), library=library, teacher=teacher,
        teacher_options=replace(reached, base_url=teacher_base_url), shams=shams, run_code=run_code,
        blinds=Blinds.of(names, names_file, signals), swap=swap, people=people,
    )  # fmt: skip
    if judge_config is not None:
        from recuse.harden.folder import judge_of

        config = judge_of(judge_config, config)
    return _run(config, dry_run, as_json, quiet)


def _run(config: AuditConfig, dry_run: bool, as_json: bool, quiet: bool) -> int:
    from recuse.backends import progress_of
    from recuse.examine import run_audit
    from recuse.plan import plan_audit
    from recuse.report.terminal import Progress

    plan = plan_audit(config)
    try:
        if dry_run:
            return _dry_run(plan, as_json)
        # What the user's own function prints is not our output.
        with Progress(quiet=quiet or as_json) as progress, stoppable() as stop, redirect_stdout(sys.stderr):
            result = run_audit(
                plan,
                watch=lambda spend, total: progress.update(
                    spend.done,
                    total,
                    spend.failures,
                    spend.cost if plan.price else None,
                    spend.reused + spend.cached,
                    progress_of(plan.backend),
                ),
                stop=stop,
            )
    finally:
        plan.close()
    return _show(result, as_json, quiet)


def _dry_run(plan: Plan, as_json: bool) -> int:
    import json

    from recuse.run import default_folder, held

    said, settings = plan.estimate(), plan.run_table()
    folder = plan.config.out or default_folder("audit", plan.config.judge, settings)
    for ledger, of in (("ledger.sqlite", said), ("teacher.sqlite", said.get("teacher"))):
        if of and (known := held(folder, settings, ledger=ledger)):
            of["held"] = known
    if as_json:
        typer.echo(json.dumps({"schema": 1, "judge": plan.config.judge, **said}))
        return 0
    dated = f" by prices of {said['prices_dated']}" if said["prices_dated"] else ""
    dated += ", halved for batches" if plan.price and plan.price.batched else ""
    lines = [_taking(plan.config.judge, said, dated, folder)]
    if "teacher" in said:
        lines.append(_taking(f"{plan.config.teacher} (teacher)", said["teacher"], dated, folder))
    typer.echo("\n".join(lines) + " Nothing was asked.")
    return 0


def _taking(model: str, said: Mapping[str, Any], dated: str, folder: Path) -> str:
    cost = "no price known: give one with --prices"
    if said["cost"] is not None:
        cost = f"at most about {said['cost']:.4f} US dollars{dated}"
    return (
        f"{model}: {said['calls']:,} calls{already(said, folder)}, at most about {said['tokens_in']:,} tokens in and "
        f"{said['tokens_out']:,} out; {cost}."
    )


def _show(result: AuditResult, as_json: bool, quiet: bool) -> int:
    shown(lambda: _print(result, as_json, quiet), result.folder)
    return _EXIT[result.outcome]


def _print(result: AuditResult, as_json: bool, quiet: bool) -> None:
    if as_json:
        from recuse.report.jsonable import findings_text

        typer.echo(findings_text(result).rstrip("\n"))
    elif quiet:
        typer.echo(result.headline)
    else:
        from rich.console import Console

        from recuse.report.terminal import print_result

        print_result(result, Console())
        typer.echo(f"Report: {(result.folder or Path()) / 'report.html'}")
