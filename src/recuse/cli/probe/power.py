"""`recuse probe power`: how often a rule on slices rings, and what a design can find, before anything is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from recuse.cli.common import refuse
from recuse.errors import UsageError

if TYPE_CHECKING:
    from recuse.stats import AlarmRate, Design

# What a rule has no use for, with the value of an option that was not given.
_OF_SLICES = dict.fromkeys(("slices", "n", "true_ratio"))
_OF_GAP = dict.fromkeys(
    ("gap", "templates", "names", "seeds", "sd_template", "sd_name", "sd_shared", "sd_seed", "power")
)
_OF_TESTS = {**_OF_GAP, "level": None}


def power(
    rule: Annotated[
        Literal["worst-slice", "four-fifths", "gap"],
        typer.Option(help="worst-slice: ratio and z-test; four-fifths: ratio alone; gap: a design of templates."),
    ] = "worst-slice",
    slices: Annotated[int | None, typer.Option(help="Slices that are compared.", show_default=False)] = None,
    n: Annotated[int | None, typer.Option(help="Cases of each slice.", show_default=False)] = None,
    rate: Annotated[
        float | None, typer.Option(help="True rate of positive outcomes in every slice.", show_default=False)
    ] = None,
    true_ratio: Annotated[
        float | None,
        typer.Option(help="One slice has this times the rate. Default: no gap, and every alarm is false."),
    ] = None,
    gap: Annotated[float | None, typer.Option(help="gap: the mean gap to be found.", show_default=False)] = None,
    templates: Annotated[
        int | None, typer.Option(help="gap: number of templates; left out, it is solved for.", show_default=False)
    ] = None,
    names: Annotated[int | None, typer.Option(help="gap: names of each group. Default: 4.")] = None,
    seeds: Annotated[int | None, typer.Option(help="gap: runs of each prompt. Default: 1.")] = None,
    sd_template: Annotated[
        float | None, typer.Option(help="gap: standard deviation of the gap between templates.", show_default=False)
    ] = None,
    sd_name: Annotated[
        float | None, typer.Option(help="gap: standard deviation of a name's own effect in a template. Default: 0.")
    ] = None,
    sd_shared: Annotated[
        float | None, typer.Option(help="gap: the same of its effect in all templates. Default: 0.")
    ] = None,
    sd_seed: Annotated[
        float | None,
        typer.Option(help="gap: standard deviation between runs. Default: that of yes or no at --rate, else 0."),
    ] = None,
    power: Annotated[float | None, typer.Option(help="gap: probability to find it. Default: 0.8.")] = None,
    level: Annotated[
        float | None, typer.Option(help="Of the z-test, or of the two-sided interval of a gap. Default: 0.95.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """How often a release is blocked by slices, with and without a gap; or how many templates a gap needs."""
    given = dict(locals())
    refuse(f"--rule {rule}", {"worst-slice": _OF_GAP, "four-fifths": _OF_TESTS, "gap": _OF_SLICES}[rule], given)
    given["level"] = 0.95 if level is None else level
    try:
        content, text = _gap(given) if rule == "gap" else _alarm(given)
    except ValueError as error:
        raise UsageError(f"The question cannot be answered: {error}", hint="See recuse probe power --help.") from None
    if as_json:
        import json

        text = json.dumps({"schema": 1, "rule": rule, **content}, indent=2, allow_nan=False)
    typer.echo(text)
    return 0


def _alarm(given: dict[str, Any]) -> tuple[dict[str, Any], str]:
    from recuse import stats

    for option in ("slices", "n", "rate"):
        if given[option] is None:
            raise UsageError(
                f"--rule {given['rule']} needs --{option}.", hint="For example --slices 8 --n 300 --rate 0.5."
            )
    asked = {name: given[name] for name in ("slices", "rate", "true_ratio")}
    if given["rule"] == "worst-slice":
        found = stats.worst_slice_blocking(given["n"], level=given["level"], **asked)
    else:
        found = stats.four_fifths_false_alarms(given["n"], **asked)
    content = {
        "blocking_rate": found.estimate,
        "missed_rate": None if found.true_ratio is None else 1 - found.estimate,
        **{name: getattr(found, name) for name in ("slices", "n", "rate", "true_ratio", "ratio", "level", "method")},
    }
    return content, _alarm_text(found)


def _alarm_text(found: AlarmRate) -> str:
    rule = f"a ratio under {found.ratio:g} to the best slice"
    if found.level is not None:
        rule += f" with a z-test's p under {1 - found.level:.6g}"
    of = f"{found.slices} slices of {found.n:,} cases at a true rate of {found.rate:g}"
    if found.true_ratio is None:
        return f"{of}, without any gap: {rule} blocks {found.estimate:.1%} of releases, every one of them falsely."
    return (
        f"{of}, one of them at {found.true_ratio:g} times that: {rule} blocks {found.estimate:.1%} of releases and "
        f"misses {1 - found.estimate:.1%}."
    )


def _gap(given: dict[str, Any]) -> tuple[dict[str, Any], str]:
    from dataclasses import asdict

    from recuse import stats

    if given["sd_template"] is None:
        raise UsageError(
            "--rule gap needs --sd-template, how much the gap differs between templates.",
            hint="Take it from a pilot run, or try several.",
        )
    if (given["gap"] is None) == (given["templates"] is None):
        raise UsageError(
            "--rule gap needs --gap, for the templates that find it, or --templates, for the gap that they find.",
            hint="Give one of the two.",
        )
    rate = given["rate"]
    if rate is not None and not 0 <= rate <= 1:
        raise ValueError(f"the rate must lie between 0 and 1, got {rate}.")
    usual = {"sd_name": 0.0, "sd_shared": 0.0, "sd_seed": 0.0 if rate is None else (rate * (1 - rate)) ** 0.5}
    parts = {"sd_template": given["sd_template"]}
    parts |= {name: value if given[name] is None else given[name] for name, value in usual.items()}
    both: dict[str, Any] = {**parts, "level": given["level"]}
    for name, value in {"names": 4, "seeds": 1, "power": 0.8}.items():
        both[name] = value if given[name] is None else given[name]
    if given["templates"] is None:
        found = stats.design_for_gap(given["gap"], **both)
    else:
        found = stats.detectable_gap(given["templates"], **both)
    return {**asdict(found), **parts}, _gap_text(found)


def _gap_text(found: Design) -> str:
    if found.templates is None:
        return f"A gap of {found.gap:g} cannot be found so: {found.reason}."
    return (
        f"{found.templates:,} templates with {found.names} names of each group, {found.seeds} times each "
        f"({found.calls:,} calls), find a gap of {found.gap:.3g} in {found.power or 0.0:.1%} of runs ({found.method})."
    )
