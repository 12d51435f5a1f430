"""`recuse explain`: the options, and how its result is shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recuse.cli import options
from recuse.cli.common import assignments, carried_out, columns_of, names_of, options_of, refuse, shown, taking
from recuse.errors import UsageError

if TYPE_CHECKING:
    from recuse.controls import People
    from recuse.explain.plan import ExplainConfig
    from recuse.explain.result import ExplainResult

_WHAT, _PEOPLE, _FURTHER = "What is explained", "People", "Further asks"
_option = options.option

# What only means something where the judge is asked, and where verdicts are recorded.
_WITH_JUDGE: dict[str, object] = {
    "prompt": None, "base_url": None, "biases": None, "shams": 10, "steps": 2, "most": 200, "max_cost": None,
    "prices": None, "cache": None, "concurrency": None, "run_code": False, "batch": False,
}  # fmt: skip
_WITH_VERDICTS: dict[str, object] = {"format": None, "where": None, "text_format": "bracket", "pair_key": None}


def explain(
    pairs: Annotated[
        str | None,
        typer.Argument(metavar="PAIRS", help="The pairs that were judged, as for an audit.", show_default=False),
    ] = None,
    judge_run: Annotated[
        Path | None, _option("--judge-run", group=_WHAT, metavar="RUN", help="The folder of a finished audit.")
    ] = None,
    verdicts: Annotated[
        Path | None, _option("--verdicts", group=_WHAT, help="Recorded verdicts instead of a run; see recuse audit.")
    ] = None,
    format: options.Form = None,
    where: options.Where = None,
    text_format: options.TextFormat = "bracket",
    pair_key: Annotated[
        str | None,
        _option("--pair-key", group=_WHAT, metavar="COLUMN",
                help="Column of PAIRS with the names in recorded verdicts. Default: id, pair, item ..."),
    ] = None,
    preset: options.Preset = None,
    column: options.Column = None,
    group: options.Group = None,
    skip_bad: options.SkipBad = False,
    human: Annotated[
        str | None,
        _option("--human", group=_PEOPLE, metavar="COLUMN",
                help="Column of PAIRS with people's labels. Default: labels of the run, else gold."),
    ] = None,
    human_file: Annotated[
        Path | None, _option("--human-file", group=_PEOPLE, metavar="LABELS", help="A file of people's labels.")
    ] = None,
    key: Annotated[
        str | None, _option("--key", group=_PEOPLE, metavar="COLUMN", help="Column that LABELS and pairs share.")
    ] = None,
    label: Annotated[
        str | None, _option("--label", group=_PEOPLE, help="Columns of labels in LABELS, by commas.")
    ] = None,
    annotator: Annotated[
        str | None, _option("--annotator", group=_PEOPLE, help="Column of LABELS that names the person.")
    ] = None,
    means: Annotated[
        list[str] | None,
        _option("--means", group=_PEOPLE, metavar="WORD=LABEL", help="What a word of the labels means, as 0=tie."),
    ] = None,
    discovery: Annotated[
        Path | None,
        _option("--discovery", group=_WHAT, metavar="RUN", help="A discovery on this judge: what it confirmed counts."),
    ] = None,
    library: options.Library = None,
    similarity: Annotated[
        str | None,
        _option("--similarity", group=_WHAT, metavar="MODEL",
                help="Find themes by sentence embeddings (a folder, or a name on the hub) instead of by words."),
    ] = None,
    judge: Annotated[
        str | None,
        _option("--judge", group=_FURTHER, metavar="MODEL",
                help="Ask the judge: biases put into pairs that it had right, and its reasons where it was wrong."),
    ] = None,
    base_url: options.BaseUrl = None,
    prompt: Annotated[
        str | None, _option("--prompt", group=_FURTHER, help="The judge's prompt. Default: that of the run.")
    ] = None,
    biases: Annotated[
        str | None, _option("--biases", group=_FURTHER, help="What is put in: ids by commas. Default: all.")
    ] = None,
    shams: options.Shams = 10,
    steps: Annotated[
        int, _option("--steps", group=_FURTHER, min=0, help="Steps of deeper explanation.", show_default=True)
    ] = 2,
    most: Annotated[
        int,
        _option("--most", group=_FURTHER, min=1, show_default=True,
                help="Pairs that are injected into, and disagreements explained, at most each."),
    ] = 200,
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
    cache: options.Cache = None,
    dry_run: options.DryRun = False,
    run_code: options.RunCode = False,
    trust_remote_code: options.TrustRemoteCode = False,
    out: options.Out = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> int:  # fmt: skip
    """Tell why a judge and people disagree: faults of reading, of place, and what the rest has in common.

    Exit codes: 0 explained, whatever was found; 2 usage, 4 incomplete and resumable, 130 interrupted.
    """
    from recuse.explain.further import Asking
    from recuse.explain.material import Source
    from recuse.explain.plan import ExplainConfig
    from recuse.plan import AuditConfig

    if judge is None:
        refuse("An explanation without --judge", _WITH_JUDGE, locals())
    if judge is not None and pairs is None:
        raise UsageError("--judge asks about texts.", hint="Give the PAIRS too.")
    if verdicts is None:
        refuse("An explanation without --verdicts", _WITH_VERDICTS, locals())
    words = assignments("--means", means or [], form="WORD=LABEL", example="0=tie")
    source = Source(
        pairs=pairs, run=judge_run, verdicts=verdicts, format=format, where=tuple(where or ()), text_format=text_format,
        human=human, labelled=_labelled(human_file, key, label, annotator, words), means=words if human else {},
        pair_key=pair_key, preset=preset, columns=columns_of(column or []), group=group, skip_bad=skip_bad,
    )  # fmt: skip
    asking = None
    if judge is not None:
        asking = Asking(
            AuditConfig(
                judge=judge, pairs=pairs or "", seed=seed, options=options_of(locals()), prices=prices,
                max_cost=max_cost, cache=cache, biases=names_of(biases) or ("all",), library=library, shams=shams,
                run_code=run_code,
            ),
            prompt=prompt, steps=steps, most=most,
        )  # fmt: skip
    config = ExplainConfig(source, asking, library, discovery, similarity, out, seed=seed)
    return _run(config, dry_run, as_json, quiet)


def _labelled(
    file: Path | None, key: str | None, label: str | None, annotator: str | None, words: dict[str, str]
) -> People | None:
    from recuse.controls import People

    if file is None:
        if key or label or annotator:
            raise UsageError("--key, --label and --annotator go with --human-file.", hint="Name the file of labels.")
        return None
    return People(file, key, names_of(label), annotator, words)


def _run(config: ExplainConfig, dry_run: bool, as_json: bool, quiet: bool) -> int:
    from recuse.explain.plan import plan_explain
    from recuse.explain.run import run_explain

    result = carried_out(
        plan_explain(config), lambda plan, watch, stop: run_explain(plan, watch=watch, stop=stop), told=_told,
        dry_run=dry_run, as_json=as_json, quiet=quiet,
    )  # fmt: skip
    if result is not None:
        shown(lambda: _print(result, as_json, quiet), result.folder)
    return 0


def _told(said: dict[str, Any]) -> str:
    lines = [f"{said['pairs']:,} pairs: {said['right']:,} right and {said['wrong']:,} wrong in both orders."]
    for name, what in (("injecting", "Biases put in"), ("explaining", "Explanations")):
        if (part := said[name]) is not None:
            lines.append(f"{what}: at most {part['calls']:,} calls; {taking(part)}")
    return "\n".join([*lines, "Nothing was asked."])


def _print(result: ExplainResult, as_json: bool, quiet: bool) -> None:
    if as_json:
        from recuse.explain.report import report_of
        from recuse.report.explained_json import explained_text

        typer.echo(explained_text(report_of(result)), nl=False)
        return
    typer.echo(result.headline)
    if not quiet:
        if result.paragraph:
            typer.echo(f"\nFor the judge's prompt:\n{result.paragraph}\n")
        typer.echo(f"Report: {result.folder / 'report.html'}")
