"""`recuse export`: what an audit found becomes a set to test or to train with."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recuse.cli import options
from recuse.cli.common import carried_out, columns_of, names_of, options_of, refuse, shown, taking, temperature_of
from recuse.errors import UsageError

if TYPE_CHECKING:
    from recuse.export.benchmark import Exported
    from recuse.export.config import ExportConfig
    from recuse.export.preference_plan import PreferenceConfig
    from recuse.export.preferences import Preferred
    from recuse.export.verify import Verified

_WHAT, _BIASES, _FILTER, _OUT = "The set", "The biases", "The filter", "Output"
_PREFERENCES = "Preferences"
_MAKE = "make"
_option = options.option

# What only the other kind knows, with the value that stands for "not given".
_ALIEN: dict[str, dict[str, object]] = {
    "benchmark": {"not_from": None, "not_in": None, "mix": 0.5, "test": 0.1, "per_pair": 1},
    "preferences": {
        "judge": None, "base_url": None, "least": None, "unfiltered": None, "variants": 5, "prompt": "pairwise/label",
        "temperature": "0",
        "max_tokens": None, "choice": False,
    },
}  # fmt: skip


class _Default(typer.core.TyperGroup):
    """Without the name of a subcommand the arguments are those of the export itself."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        named = bool(args) and args[0] in self.commands
        return super().parse_args(ctx, args if named else [_MAKE, *args])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        return ("" if name == _MAKE else name), command, rest


export = typer.Typer(cls=_Default, help="Make a set to test or to train with out of what an audit found.")

Kind = Annotated[
    str, _option("--kind", group=_WHAT, help="benchmark: an adversarial set of pairs. preferences: for training.")
]
Run = Annotated[
    Path | None,
    _option(
        "--run",
        group=_BIASES,
        metavar="RUN",
        help="Take the confirmed biases of a `recuse discover` run or of `recuse audit --biases`.",
    ),
]
Bias = Annotated[
    str | None,
    _option("--bias", group=_BIASES, metavar="ID,...", help="Any of the library; unconfirmed ones are marked so."),
]
Judges = Annotated[
    list[str] | None,
    _option("--judge", group=_FILTER, help="provider/model that the set is to mislead. May be given again."),
]
Least = Annotated[
    int | None,
    _option("--least", group=_FILTER, min=1, help="Judges that a row must have misled. Default: all of them."),
]
Unfiltered = Annotated[
    int | None,
    _option(
        "--unfiltered",
        group=_FILTER,
        min=1,
        help="Pairs, drawn by the seed, that are rewritten whatever the judges say of them, to show what the biases "
        "do; of the others only those that enough judges get right. Default: all pairs.",
    ),
]
Variants = Annotated[
    int, _option("--variants", group=_BIASES, min=1, help="Rewritten answers of a pair, 1 to 10.", show_default=True)
]
NotFrom = Annotated[
    str | None,
    _option(
        "--not-from",
        group=_PREFERENCES,
        metavar="RUN,...",
        help="Runs whose held-out pairs stay out: a discovery's validation and test parts, all pairs of an audit. The "
        "held-out parts of --run always do.",
    ),
]
NotIn = Annotated[
    str | None,
    _option("--not-in", group=_PREFERENCES, metavar="FILE,...", help="Benchmarks whose questions stay out."),
]
Mix = Annotated[
    float, _option("--mix", group=_PREFERENCES, help="Share of rows with untouched answers.", show_default=True)
]
Test = Annotated[
    float, _option("--test", group=_PREFERENCES, help="Share of groups in the test part.", show_default=True)
]
PerPair = Annotated[
    int, _option("--per-pair", group=_PREFERENCES, min=1, help="Rewritten rows of one pair.", show_default=True)
]
Out = Annotated[Path | None, _option("--out", group=_OUT, help="The set's folder: new or empty.")]
Work = Annotated[
    Path | None,
    _option(
        "--work",
        group=_OUT,
        help="Run folder with the ledgers. Default: one under recuse-runs/ that the same command finds again.",
    ),
]
Json = Annotated[bool, _option("--json", group=_OUT, help="Print export.json on standard output and nothing else.")]


@export.command(_MAKE, hidden=True)
def make(
    pairs: Annotated[
        str | None,
        typer.Argument(metavar="PAIRS", help="JSONL, CSV or Parquet file, hf:org/name[:config][:split], or demo."),
    ] = None,
    kind: Kind = "benchmark",
    run: Run = None,
    bias: Bias = None,
    library: Annotated[
        Path | None, _option("--library", group=_BIASES, help="A folder of bias files. Default: the one that ships.")
    ] = None,
    variants: Variants = 5,
    teacher: Annotated[
        str | None,
        _option("--teacher", group=_BIASES, help="provider/model that rewrites. Without one biases go in by rule."),
    ] = None,
    teacher_base_url: Annotated[
        str | None, _option("--teacher-base-url", group=_BIASES, help="As --base-url, for the teacher.")
    ] = None,
    judge: Judges = None,
    base_url: options.BaseUrl = None,
    least: Least = None,
    unfiltered: Unfiltered = None,
    not_from: NotFrom = None,
    not_in: NotIn = None,
    mix: Mix = 0.5,
    test: Test = 0.1,
    per_pair: PerPair = 1,
    preset: options.Preset = None,
    column: options.Column = None,
    group: options.Group = None,
    skip_bad: options.SkipBad = False,
    limit: options.Limit = None,
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
    out: Out = None,
    work: Work = None,
    as_json: Json = False,
    quiet: options.Quiet = False,
    run_code: options.RunCode = False,
    trust_remote_code: options.TrustRemoteCode = False,
    allow_pickle: options.AllowPickle = False,
) -> int:
    """Make a set out of PAIRS and the biases that an audit found.

    benchmark: wrong answers that carry a bias, kept where the judges took the right answer before and the wrong one
    after, in both orders. A sample waits for people; `recuse export verify DIR SHEET...` reads what they say.

    preferences: prompt, chosen and rejected for DPO, where biases were put into rejected answers; no judge is asked.

    Exit codes: 0 written; 2 usage, also where no row is left; 4 incomplete and resumable, 130 interrupted.
    """
    from recuse.export.config import ExportConfig
    from recuse.export.preference_plan import PreferenceConfig
    from recuse.plan import AuditConfig

    if kind not in _ALIEN:
        raise UsageError(f"--kind is {kind!r}.", hint=f"It is {' or '.join(_ALIEN)}.")
    refuse(f"--kind {kind}", _ALIEN[kind], locals())
    reached = options_of(locals())
    if kind == "preferences":
        if pairs is None or out is None:
            raise UsageError("What is to be exported, and where?", hint="Give PAIRS and --out.")
        runs, files = (tuple(map(Path, names_of(given))) for given in (not_from, not_in))
        return _preferences(
            PreferenceConfig(
                pairs, out, run=run, biases=names_of(bias), library=library, not_from=runs, not_in=files, mix=mix,
                test=test, per_pair=per_pair, seed=seed, preset=preset, columns=columns_of(column or []), group=group,
                limit=limit, skip_bad=skip_bad, teacher=teacher, max_cost=max_cost, prices=prices, run_code=run_code,
                teacher_options=replace(reached, base_url=teacher_base_url), work=work,
            ),
            dry_run, as_json, quiet,
        )  # fmt: skip
    if pairs is None or out is None or not judge:
        raise UsageError("What is to be exported, and where?", hint="Give PAIRS, --judge and --out.")
    of_all = AuditConfig(
        judge="", pairs=pairs, prompt=prompt, limit=limit, seed=seed, temperature=temperature_of(temperature),
        max_tokens=max_tokens, choice=choice, preset=preset, columns=columns_of(column or []), group=group,
        skip_bad=skip_bad, options=reached, prices=prices, max_cost=max_cost, teacher=teacher,
        teacher_options=replace(reached, base_url=teacher_base_url), run_code=run_code,
    )  # fmt: skip
    config = ExportConfig(
        tuple(replace(of_all, judge=name) for name in judge), out, run=run, biases=names_of(bias), library=library,
        variants=variants, least=least, unfiltered=unfiltered, work=work,
    )  # fmt: skip
    return _benchmark(config, dry_run, as_json, quiet)


def _benchmark(config: ExportConfig, dry_run: bool, as_json: bool, quiet: bool) -> int:
    from recuse.export.benchmark import export_benchmark
    from recuse.export.config import plan_export

    done = carried_out(
        plan_export(config), lambda plan, watch, stop: export_benchmark(plan, watch=watch, stop=stop), told=_told,
        dry_run=dry_run, as_json=as_json, quiet=quiet,
    )  # fmt: skip
    if done is not None:
        shown(lambda: _print(done, as_json, quiet), done.folder)
    return 0


def _preferences(config: PreferenceConfig, dry_run: bool, as_json: bool, quiet: bool) -> int:
    from recuse.export.preference_plan import plan_preferences
    from recuse.export.preferences import export_preferences

    done = carried_out(
        plan_preferences(config), lambda plan, watch, stop: export_preferences(plan, watch=watch, stop=stop),
        told=_told_preferences, dry_run=dry_run, as_json=as_json, quiet=quiet,
    )  # fmt: skip
    if done is not None:
        shown(lambda: _print_preferences(done, as_json, quiet), done.folder)
    return 0


def _told_preferences(said: dict[str, Any]) -> str:
    lines = [f"{said['used']:,} of {said['pairs']:,} pairs, {said['test']:,} of them for the test part."]
    if "teacher" in said:
        teacher = said["teacher"]
        lines.append(f"{teacher['teacher']} (teacher): {teacher['calls']:,} calls; {taking(teacher)}")
    return "\n".join([*lines, "Nothing was asked."])


def _print_preferences(done: Preferred, as_json: bool, quiet: bool) -> None:
    if as_json:
        typer.echo(json.dumps(done.record, indent=1))
        return
    lines = [] if quiet else list(done.record["notes"])
    typer.echo("\n".join([*lines, done.headline, *([] if quiet else [f"Card: {done.folder / 'README.md'}"])]))


def _told(said: dict[str, Any]) -> str:
    lines = [f"{said['pairs']:,} pairs, up to {said['variants']:,} rewritten answers."]
    for of_judge in said["judges"]:
        more = f", and {of_judge['calls_a_row']} for each row of the set" if of_judge["calls_a_row"] else ""
        lines.append(f"{of_judge['judge']}: {of_judge['calls']:,} calls{more}; {taking(of_judge)}")
    if "teacher" in said:
        lines.append(
            f"{said['teacher']['teacher']} (teacher): {said['teacher']['calls']:,} calls; {taking(said['teacher'])}"
        )
    return "\n".join([*lines, "Nothing was asked."])


def _print(done: Exported, as_json: bool, quiet: bool) -> None:
    if as_json:
        typer.echo(json.dumps(done.record, indent=1))
        return
    lines = [] if quiet else [f"{step['step']}: {step['n']:,} ({step['what']})" for step in done.record["funnel"]]
    lines.append(done.headline)
    if not quiet:
        lines.append(f"Card: {done.folder / 'README.md'}")
    typer.echo("\n".join(lines))


@export.command()
def verify(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The set's folder.", show_default=False)],
    sheets: Annotated[
        list[Path],
        typer.Argument(
            metavar="SHEET...", help="Filled copies of verification.csv, or Label Studio's JSON.", show_default=False
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON and nothing else.")] = False,
) -> int:
    """Read people's labels of the sample: agreement, the share of kept truths, and whether the set may be released.

    Exit codes: 0 ready for release, 1 blocked; 2 usage, or a sheet that is not as it was sent.
    """
    from recuse.export.verify import verify as read

    done = read(folder, sheets)
    shown(lambda: _print_verified(done, as_json), folder)
    return 0 if done.ready else 1


def _print_verified(done: Verified, as_json: bool) -> None:
    found = done.record["verification"]
    if as_json:
        typer.echo(json.dumps({"schema": 1, "release": done.record["release"], **found}, indent=1))
        return
    kappa = found["agreement"]
    said = f"undefined ({kappa['reason']})" if kappa["fleiss_kappa"] is None else f"{kappa['fleiss_kappa']:.3f}"
    if kappa["fleiss_kappa"] is not None and kappa["interval"] is not None:
        said += f" [{kappa['interval'][0]:.3f}, {kappa['interval'][1]:.3f}]"
    ready = "Ready for release" if done.ready else "Release blocked"
    typer.echo(f"{found['people']} people, {found['rows']:,} rows. Fleiss' kappa: {said}.\n{ready}: {done.why}.")


@export.command()
def push(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The set's folder.", show_default=False)],
    to: Annotated[
        str,
        typer.Argument(metavar="REPO", help="ORG/NAME on the hub, or a new folder (./..., /...).", show_default=False),
    ],
    public: Annotated[bool, typer.Option("--public", help="Make a new repository public. Default: private.")] = False,
    message: Annotated[str | None, typer.Option("--message", help="Of the commit.", show_default=False)] = None,
) -> int:
    """Send a finished set to a data set repository. A benchmark that is not ready for release goes to a folder only.

    Exit codes: 0 sent; 2 usage, or a set that `datasets` cannot read; 4 the hub cannot be reached: try again.
    """
    from recuse.export.push import push as send

    typer.echo(send(folder, to, private=not public, message=message))
    return 0
