"""`recuse probe sheet FILE`: language variants for native speakers to read, and what they wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recuse.cli.common import shown
from recuse.errors import UsageError

if TYPE_CHECKING:
    from recuse.probes.sheet import VariantFacts


def sheet(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Variants with the columns template_id, language, base, text; or a sheet that came back.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="SHEET.csv", help="Write a sheet for native speakers. Without: read one.")
    ] = None,
    item: Annotated[
        list[str] | None,
        typer.Option(metavar="WORD|WORD", help="Something that every variant must say, in all languages' words."),
    ] = None,
    per_language: Annotated[int, typer.Option(min=1, help="Samples of a language; faulty variants all go in.")] = 20,
    seed: Annotated[int, typer.Option(help="Of the sample.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Variants in other languages cannot be byte-identical: what they must share is checked by rule, then by people.

    Numbers, dates and amounts of the base text and the items must stand in every variant. Exit 1 where one lost or
    added a fact, else 0.
    """
    from recuse.probes.sheet import check_variants, read_sheet, read_variants, sample, sheet_bytes
    from recuse.release.files import write_whole

    if out is None:
        if item:
            raise UsageError("--item goes with --out.", hint="Give the file of the sheet that is to be written.")
        content: dict[str, Any] = {
            one.language: {"same_meaning": one.same.estimate, "interval": one.same.interval, "n": one.same.n,
                           "natural": one.natural, "unread": one.unread} for one in read_sheet(file)
        }  # fmt: skip
        lines = [f"{language}: {_said(told)}" for language, told in content.items()]
        shown(lambda: typer.echo(_text({"languages": content}, lines, as_json)), None)
        return 0
    checked = check_variants(read_variants(file), checklist=[words.split("|") for words in item or []])
    kept = sample(checked, per_language=per_language, seed=seed)
    write_whole(out, sheet_bytes(kept))
    faulty = [one for one in checked if not one.sound]
    lines = [f"{len(checked):,} variants, {len(faulty):,} with a fact lost or added; {len(kept):,} are in {out}."]
    lines += [f"{one.variant.template_id}, {one.variant.language}: {_faults(one)}" for one in faulty]
    told = {
        "variants": len(checked),
        "faulty": [
            {"template_id": one.variant.template_id, "language": one.variant.language, "faults": _faults(one)}
            for one in faulty
        ],
        "sampled": len(kept),
        "sheet": str(out),
    }
    shown(lambda: typer.echo(_text(told, lines, as_json)), None)
    return 1 if faulty else 0


def _faults(one: VariantFacts) -> str:
    lost = [f"lost {fact}" for fact in (*one.facts.lost, *one.items.lost)]
    return ", ".join([*lost, *(f"added {fact}" for fact in one.added)])


def _said(told: dict[str, Any]) -> str:
    if told["same_meaning"] is None:
        return f"no answers, {told['unread']:,} unread"
    low, high = told["interval"]
    natural = "" if told["natural"] is None else f", natural {told['natural']:.1f} of 5"
    return (
        f"same meaning in {told['same_meaning']:.3f} [{low:.2f}, {high:.2f}] of {told['n']:,}{natural}, "
        f"{told['unread']:,} unread"
    )


def _text(told: dict[str, Any], lines: list[str], as_json: bool) -> str:
    return json.dumps({"schema": 1, **told}, indent=2, allow_nan=False) if as_json else "\n".join(lines)
