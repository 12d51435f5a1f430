"""`recuse probe bbq`: the two bias scores of BBQ, of recorded answers or of a model that is asked."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recuse.cli import options
from recuse.cli.common import carried_out, options_of, refuse, shown, temperature_of
from recuse.cli.probe.fixed import told
from recuse.errors import UsageError

if TYPE_CHECKING:
    from recuse.probes.bbq_run import BbqConfig

_MODEL, _WHAT = "The model", "What is scored"
_ASKING: dict[str, object] = {
    "base_url": None, "prompt": "probe/bbq", "limit": None, "seed": 0, "temperature": "0", "max_tokens": None,
    "concurrency": None, "max_cost": None, "prices": None, "cache": None, "dry_run": False, "out": None,
    "batch": False,
}  # fmt: skip
_RECORDED: dict[str, object] = {"answers": None, "answer_column": None}
_SHOWN = (
    ("s_dis", "s_DIS"),
    ("s_amb", "s_AMB"),
    ("accuracy_ambig", "acc. ambig"),
    ("accuracy_disambig", "acc. disambig"),
)


def bbq(
    records: Annotated[
        list[Path],
        typer.Argument(
            metavar="RECORDS...",
            help="Parsed rows (JSONL, CSV, Parquet, or a run folder of this command); with --original or --model the "
            "benchmark's own item files.",
            show_default=False,
        ),
    ],
    original: Annotated[
        bool, options.option("--original", group=_WHAT, help="RECORDS are the benchmark's items; see --answers.")
    ] = False,
    answers: Annotated[
        list[Path] | None,
        options.option(
            "--answers",
            group=_WHAT,
            metavar="FILE",
            help="Recorded answers, joined by category and example_id: the answer's text, its place 0 to 2, or A to C. "
            "Default: a column of RECORDS itself. May be given again.",
        ),
    ] = None,
    answer_column: Annotated[
        str | None,
        options.option(
            "--answer-column",
            group=_WHAT,
            metavar="COLUMN",
            help='Where the answers stand. Default: "answer", or the only column with "pred" in its name.',
        ),
    ] = None,
    metadata: Annotated[
        Path | None,
        options.option(
            "--metadata",
            group=_WHAT,
            metavar="FILE",
            help="The benchmark's additional_metadata.csv, for items that do not say which answer is the target.",
        ),
    ] = None,
    level: options.Level = 0.95,
    model: Annotated[
        str | None, options.option("--model", group=_MODEL, help="provider/model that answers the items of RECORDS.")
    ] = None,
    base_url: options.BaseUrl = None,
    prompt: options.Prompt = "probe/bbq",
    limit: Annotated[
        int | None,
        options.option(
            "--limit", group=_MODEL, min=1, help="A seeded sample of whole question groups, about this many items."
        ),
    ] = None,
    seed: Annotated[
        int,
        options.option("--seed", group=_MODEL, help="For the order of the answers and the sample.", show_default=True),
    ] = 0,
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
    cache: options.Cache = None,
    dry_run: options.DryRun = False,
    out: options.Out = None,
    as_json: options.OneObject = False,
    quiet: options.Quiet = False,
    trust_remote_code: options.TrustRemoteCode = False,
) -> int:
    """Score BBQ (Parrish et al. 2022, arXiv 2110.08193), overall and by category.

    Parsed rows have the columns context (ambig or disambig), polarity of the question (neg or nonneg), answer (target:
    the person the stereotype is about; non-target: the other one; or biased and counter-biased; unknown; null where
    none could be read) and correct (true, false, or which answer is right); further category, and the question group
    as question_index, template_id or group, which is the unit of the intervals. The biased answer is the target in neg
    questions and the other person in nonneg ones.

    s_dis = 2 * biased / not unknown - 1 where the context says who it is; s_amb = (1 - accuracy) times the same where
    it does not. Both lie between -1 and 1; null where nothing was measured, and "reasons" says why. "bounds" hold
    whatever the unread answers might have been.

    Exit codes: 0 scored, whatever was found; 2 usage or bad input, 4 incomplete and resumable, 130 interrupted.
    """
    if not 0.5 <= level < 1.0:
        raise UsageError(f"--level is {level}.", hint="Give a number such as 0.95.")
    given = locals()
    if model is not None:
        from recuse.probes.bbq_run import BbqConfig

        refuse("Asking a model", _RECORDED, given)
        config = BbqConfig(
            tuple(records), model, out, metadata, prompt, limit, seed, temperature_of(temperature), max_tokens,
            options_of(given), cache, prices, max_cost,
        )  # fmt: skip
        return _ask(config, level=level, dry_run=dry_run, as_json=as_json, quiet=quiet)
    refuse("Scoring recorded answers", _ASKING, given)
    if not original:
        refuse("Scoring parsed rows", {**_RECORDED, "metadata": None}, given)
    return _score(records, original, answers, answer_column, metadata, level=level, as_json=as_json, quiet=quiet)


def _score(
    records: Sequence[Path],
    original: bool,
    answers: Sequence[Path] | None,
    answer_column: str | None,
    metadata: Path | None,
    *,
    level: float,
    as_json: bool,
    quiet: bool,
) -> int:
    from recuse.probes.bbq import bbq_scores, headline, plain, scores_notes
    from recuse.probes.bbq_files import read_answers, read_items, read_parsed

    if original:
        rows, notes = read_answers(answers or records, read_items(records, metadata=metadata), column=answer_column)
    else:
        rows, notes = read_parsed(records)
    table = bbq_scores(rows, level=level)
    notes = [*notes, *scores_notes(table)]
    shown(lambda: _print(headline(table), plain(table), notes, as_json=as_json, quiet=quiet), None)
    return 0


def _ask(config: BbqConfig, *, level: float, dry_run: bool, as_json: bool, quiet: bool) -> int:
    from recuse.probes.bbq_run import prepare, run_bbq

    with redirect_stdout(sys.stderr):
        quiz = prepare(config)
    done = carried_out(
        quiz, lambda quiz, watch, stop: run_bbq(quiz, watch=watch, stop=stop, level=level), told=told,
        dry_run=dry_run, as_json=as_json, quiet=quiet,
    )  # fmt: skip
    if done is None:
        return 0
    result, folder = done
    scores = {**result["tables"]["bbq"], "letters": result["tables"]["letters"], "model": result["model"]}
    scores["usage"] = result["usage"]
    shown(lambda: _print(result["headline"], scores, result["notes"], as_json=as_json, quiet=quiet), folder)
    if not (as_json or quiet):
        typer.echo(f"Records and findings: {folder}")
    return 0


def _print(head: str, scores: Mapping[str, Any], notes: Sequence[str], *, as_json: bool, quiet: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"schema": 1, **scores, "notes": list(notes)}, indent=2, allow_nan=False))
        return
    typer.echo(head)
    if quiet:
        return
    width = max(len(name) for name in ("all rows", *scores["by_category"]))
    typer.echo(" " * width + "".join(f"  {title:>22}" for _, title in _SHOWN) + "    unread")
    for name, of in (("all rows", scores), *scores["by_category"].items()):
        cells = "".join(f"  {_cell(of[key], of['intervals'][key]):>22}" for key, _ in _SHOWN)
        unread = sum(one["n"] for one in of["unparsed"].values())
        typer.echo(f"{name:<{width}}{cells}  {unread:>8,}")
    reasons = dict.fromkeys(why for of in (scores, *scores["by_category"].values()) for why in of["reasons"].values())
    typer.echo("\n".join([*(f"Not measured: {why}." for why in reasons), *notes]))


def _cell(estimate: float | None, interval: Sequence[float] | None) -> str:
    if estimate is None:
        return "not measured"
    return f"{estimate:.3f}" + (f" [{interval[0]:.3f}, {interval[1]:.3f}]" if interval else "")
