"""`recuse audit`: the options, and how its result is shown."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recuse.errors import UsageError

if TYPE_CHECKING:
    from recuse.audit import AuditConfig, Plan
    from recuse.report.result import AuditResult

_EXIT = {"fit": 0, "recuse": 1, "inconclusive": 3}
_JUDGE, _WHAT, _RUN, _COST, _OUT, _RECORDED, _TRUST = (
    "The judge", "What it is asked", "The run", "Cost", "Output", "Recorded verdicts", "Trust",
)  # fmt: skip


def _option(*names: str, group: str, help: str, **more: Any) -> Any:
    return typer.Option(*names, rich_help_panel=group, help=help, show_default=more.pop("show_default", False), **more)


def audit(
    judge: Annotated[str | None, _option("--judge", group=_JUDGE, help="provider/model, e.g. openai/gpt-4o-mini, vllm/ORG/NAME, llamacpp/FILE.gguf, python/pkg.module:function.")] = None,
    base_url: Annotated[str | None, _option("--base-url", group=_JUDGE, help="An OpenAI- or Anthropic-compatible server (vLLM, llama.cpp, Ollama, LM Studio).")] = None,
    pairs: Annotated[str | None, _option("--pairs", group=_WHAT, help="JSONL, CSV or Parquet file, hf:org/name[:config][:split], or demo.")] = None,
    preset: Annotated[str | None, _option("--preset", group=_WHAT, help="The form of the pairs; found from the columns when not given.")] = None,
    column: Annotated[list[str] | None, _option("--column", group=_WHAT, help="ROLE=COLUMN, repeatable: prompt, chosen, rejected, or a, b, label; group, domain, reference.")] = None,
    group: Annotated[str | None, _option("--group", group=_WHAT, help="Column that names pairs of one source question. Default: the normalised question.")] = None,
    skip_bad: Annotated[bool, _option("--skip-bad", group=_WHAT, help="Leave out unusable rows and count them, instead of stopping.")] = False,
    limit: Annotated[int | None, _option("--limit", group=_WHAT, min=1, help="A seeded sample of whole groups, about this many pairs.")] = None,
    prompt: Annotated[str, _option("--prompt", group=_WHAT, help="A prompt that ships with recuse, or a file.", show_default=True)] = "pairwise/label",
    repeats: Annotated[int, _option("--repeats", group=_RUN, min=1, help="Fresh calls for each pair and order.", show_default=True)] = 1,
    temperature: Annotated[str, _option("--temperature", group=_RUN, help="A number, or 'default' for the provider's own.", show_default=True)] = "0",
    max_tokens: Annotated[int | None, _option("--max-tokens", group=_RUN, min=1, help="Default: as the prompt says.")] = None,
    choice: Annotated[bool, _option("--choice", group=_RUN, help="Restrict replies to the labels, where the engine can.")] = False,
    seed: Annotated[int, _option("--seed", group=_RUN, help="For the sample of pairs and for sampling.", show_default=True)] = 0,
    concurrency: Annotated[int | None, _option("--concurrency", group=_RUN, min=1, help="Calls in flight at most.")] = None,
    rpm: Annotated[float | None, _option("--rpm", group=_RUN, min=0.001, help="Requests a minute at most.")] = None,
    tpm: Annotated[float | None, _option("--tpm", group=_RUN, min=1, help="Tokens a minute at most.")] = None,
    timeout: Annotated[float, _option("--timeout", group=_RUN, min=0.01, help="Seconds for one call.", show_default=True)] = 120.0,
    attempts: Annotated[int, _option("--attempts", group=_RUN, min=1, help="Tries of one ask.", show_default=True)] = 8,
    max_context: Annotated[int | None, _option("--max-context", group=_RUN, min=64, help="Tokens of context for a local engine.")] = None,
    device: Annotated[str | None, _option("--device", group=_RUN, help="Device of the hf backends, e.g. cuda:0.")] = None,
    max_cost: Annotated[float | None, _option("--max-cost", group=_COST, min=0.0, help="Stop cleanly before the run costs more; it can be resumed.")] = None,
    prices: Annotated[Path | None, _option("--prices", group=_COST, help="A TOML file of prices that go before the shipped ones.")] = None,
    cache: Annotated[Path | None, _option("--cache", group=_COST, help="A ledger file that several runs share.")] = None,
    dry_run: Annotated[bool, _option("--dry-run", group=_COST, help="Say calls, tokens and money, and ask nothing.")] = False,
    verdicts: Annotated[Path | None, _option("--verdicts", group=_RECORDED, help="Audit recorded verdicts instead of a judge; nothing is asked.")] = None,
    format: Annotated[str | None, _option("--format", group=_RECORDED, help="Form of the file: judgebench-outputs, judgebench-scores, llmbar, amel, pandalm, alpaca-eval, mt-bench, plain.")] = None,
    where: Annotated[list[str] | None, _option("--where", group=_RECORDED, help="KEY=VALUE, repeatable: only these rows.")] = None,
    recorded: Annotated[bool, _option("--recorded/--reread", group=_RECORDED, help="Take the recorded decision, or read the text again.", show_default=True)] = False,
    text_format: Annotated[str, _option("--text-format", group=_RECORDED, help="Verdict format of the text in plain files.", show_default=True)] = "bracket",
    gate: Annotated[Path | None, _option("--gate", group=_OUT, help="Tolerances, a gate.toml. Default: the one that ships.")] = None,
    out: Annotated[Path | None, _option("--out", group=_OUT, help="Run folder. Default: one under recuse-runs/ that the same command finds again.")] = None,
    as_json: Annotated[bool, _option("--json", group=_OUT, help="Print findings.json on standard output and nothing else.")] = False,
    quiet: Annotated[bool, _option("--quiet", "-q", group=_OUT, help="Print the outcome line only.")] = False,
    trust_remote_code: Annotated[bool, _option("--trust-remote-code", group=_TRUST, help="Let a downloaded model run its own Python code.")] = False,
    allow_pickle: Annotated[bool, _option("--allow-pickle", group=_TRUST, help="Load pickled weights, which can run code.")] = False,
) -> int:  # fmt: skip
    """Tell whether a judge is fit: error rate, position, length, stability and failures, with intervals.

    Exit codes: 0 fit, 1 recuse, 3 inconclusive; 2 usage, 4 incomplete and resumable, 130 interrupted.
    """
    from recuse.audit import AuditConfig, RecordedConfig, audit_recorded
    from recuse.backends import Options

    if verdicts is not None:
        if judge or pairs:
            raise UsageError("--verdicts goes without --judge and --pairs.", hint="Recorded verdicts are not asked again.")
        reading = RecordedConfig(verdicts, format, tuple(where or ()), "recorded" if recorded else "reread", text_format, gate, out)
        return _show(audit_recorded(reading), as_json, quiet)
    if not judge or not pairs:
        raise UsageError("What is to be audited?", hint="Give --judge and --pairs, or --verdicts.")
    config = AuditConfig(
        judge, pairs, prompt, repeats, limit, seed, gate, out, _temperature(temperature), max_tokens, choice, preset,
        _columns(column or []), group, skip_bad,
        Options(base_url, concurrency, rpm, tpm, timeout, attempts, trust_remote_code, allow_pickle, device, max_context),
        cache, prices, max_cost,
    )  # fmt: skip
    return _run(config, dry_run, as_json, quiet)


def _run(config: AuditConfig, dry_run: bool, as_json: bool, quiet: bool) -> int:
    from recuse.audit import plan_audit, run_audit
    from recuse.report.terminal import Progress

    plan = plan_audit(config)
    try:
        if dry_run:
            return _dry_run(plan, as_json)
        with Progress(quiet=quiet or as_json) as progress, _stoppable() as stop:
            result = run_audit(
                plan,
                watch=lambda spend, total: progress.update(
                    spend.done, total, spend.failures, spend.cost if plan.price else None, spend.reused + spend.cached
                ),
                stop=stop,
            )
    finally:
        plan.backend.close()
    return _show(result, as_json, quiet)


def _dry_run(plan: Plan, as_json: bool) -> int:
    import json

    said = plan.estimate()
    if as_json:
        typer.echo(json.dumps({"schema": 1, "judge": plan.config.judge, **said}))
        return 0
    cost = "no price known: give one with --prices" if said["cost"] is None else f"at most about {said['cost']:.4f} US dollars"
    typer.echo(
        f"{plan.config.judge}: {said['calls']:,} calls, at most about {said['tokens_in']:,} tokens in and "
        f"{said['tokens_out']:,} out; {cost}. Nothing was asked."
    )
    return 0


def _show(result: AuditResult, as_json: bool, quiet: bool) -> int:
    if as_json:
        from recuse.report.jsonable import findings_text

        typer.echo(findings_text(result).rstrip("\n"))
    elif quiet:
        typer.echo(result.headline)
    else:
        from rich.console import Console

        from recuse.report.terminal import print_result

        print_result(result, Console())
        typer.echo(f"Report: {result.folder / 'report.html'}")
    return _EXIT[result.outcome]


def _temperature(text: str) -> float | None:
    if text == "default":
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 10.0:
        raise UsageError(f"--temperature is {text!r}.", hint="Give a number from 0, or 'default'.")
    return value


def _columns(given: list[str]) -> dict[str, str]:
    columns: dict[str, str] = {}
    for item in given:
        role, equals, name = item.partition("=")
        if not (role and equals and name):
            raise UsageError(f"--column {item!r} is not ROLE=COLUMN.", hint="For example --column prompt=question.")
        columns[role] = name
    return columns


@contextmanager
def _stoppable() -> Iterator[threading.Event]:
    """The first Ctrl-C (or SIGTERM) ends the run after the calls in flight, since they are paid for; the second at once."""
    stop = threading.Event()

    def handle(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        typer.echo("Waiting for the calls in flight; press Ctrl-C again to stop at once.", err=True)

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
