"""`recuse blind`: take names and the signs of a group out of a file's texts, and prove that none is left.

Exit codes: 0 clean, 1 a leak, 2 usage or bad input.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from recuse.cli.common import refuse
from recuse.errors import UsageError

if TYPE_CHECKING:
    from recuse.blinding.files import BlindedFile, Checked
    from recuse.blinding.residual import Left
    from recuse.blinding.settings import BlindSettings, Signal

_MAKES: dict[str, object] = {
    "source": None, "out": None, "names": None, "detect": None, "group": None, "unit": None, "warn_above": 0.6,
}  # fmt: skip
_SETS: dict[str, object] = {"ordinary_words": "position", "masculine_generics": "keep", "pronoun": None}
_LISTS: dict[str, object] = {"text": None, "names_file": None, "signals": None}


def blind(
    source: Annotated[Path | None, typer.Argument(metavar="IN", help="JSONL, CSV, TSV or Parquet.")] = None,
    text: Annotated[
        list[str] | None, typer.Option("--text", metavar="COLUMN", help="A column of texts. May be given again.")
    ] = None,
    names: Annotated[
        str | None,
        typer.Option("--names", metavar="COLUMN", help="The column with a list of the row's names. It is not in OUT."),
    ] = None,
    names_file: Annotated[
        Path | None, typer.Option("--names-file", metavar="FILE", help="Names for all rows, one a line.")
    ] = None,
    detect: Annotated[
        str | None,
        typer.Option(
            "--detect",
            metavar="MODEL",
            help="Find names by a token-classification model of transformers: a folder, or owner/model on the hub. It "
            "misses some, and what it misses no check can know.",
        ),
    ] = None,
    signals: Annotated[
        Path | None,
        typer.Option("--signals", metavar="FILE", help="TOML: further words that give a group away (schools, clubs)."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="OUT", help="Written in the form of IN, its map beside it as OUT.map.jsonl."),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option("--group", metavar="COLUMN", help="Also try to predict this column from the blinded texts."),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option("--unit", metavar="COLUMN", help="For --group: rows that belong together, such as one template."),
    ] = None,
    warn_above: Annotated[
        float, typer.Option("--warn-above", metavar="AUC", help="For --group: the level of the warning.")
    ] = 0.6,
    ordinary_words: Annotated[
        str,
        typer.Option(
            "--ordinary-words",
            metavar="position|redact",
            help="A name that is a word too (May, Will) stays where its position says so, or never.",
        ),
    ] = "position",
    masculine_generics: Annotated[
        str, typer.Option("--masculine-generics", metavar="keep|redact", help="Hero, actor, guys and their like.")
    ] = "keep",
    pronoun: Annotated[
        list[str] | None, typer.Option("--pronoun", metavar="FORM", help="One more pronoun. May be given again.")
    ] = None,
    verify: Annotated[
        Path | None, typer.Option("--verify", metavar="FILE", help="Only check a file that is blinded already.")
    ] = None,
    unblind: Annotated[
        Path | None, typer.Option("--unblind", metavar="FILE", help="Only print the original texts of one row of FILE.")
    ] = None,
    map: Annotated[
        Path | None, typer.Option("--map", metavar="FILE", help="For --verify and --unblind: the map of the file.")
    ] = None,
    row: Annotated[int | None, typer.Option("--row", metavar="N", help="For --unblind: which row.")] = None,
) -> int:
    """Blind the texts of IN, check the result by other means, and keep the way back in a map apart."""
    given = dict(locals())
    if unblind is not None:
        refuse("--unblind", {**_MAKES, **_SETS, **_LISTS, "verify": None}, given)
        return _unblind(unblind, map, row)
    if verify is not None:
        refuse("--verify", {**_MAKES, "row": None, **(_SETS if map else {})}, given)
        return _verify(verify, given)
    refuse("recuse blind IN", {"map": None, "row": None}, given)
    if source is None or out is None:
        raise UsageError("A file to blind and --out are needed.", hint="Or check a blinded file with --verify FILE.")
    if not (text and (names or names_file or detect)):
        raise UsageError(
            "The columns of texts and the names are needed.",
            hint="Add --text COLUMN, and --names COLUMN, --names-file FILE or --detect MODEL.",
        )
    if group is None:
        refuse("recuse blind without --group", {"unit": None, "warn_above": 0.6}, given)
    if not 0.5 <= warn_above < 1:
        raise UsageError(f"--warn-above is {warn_above}.", hint="Give an AUC from 0.5 to below 1.")
    return _blind(source, out, given)


def _blind(source: Path, out: Path, given: Mapping[str, Any]) -> int:
    from recuse.blinding.detect import load_detector
    from recuse.blinding.files import blind_file

    settings, listed, signals = _known(given)
    detector = load_detector(given["detect"]) if given["detect"] else None
    done = blind_file(
        source, out, text=given["text"], names_column=given["names"], names=listed, detector=detector,
        settings=settings, signals=signals,
    )  # fmt: skip
    _say_done(done)
    if _say_leaks(out, done.checked):
        if given["group"]:
            typer.echo("What is left of the group is measured once there is no leak.")
        return 1
    if given["group"]:
        from recuse.blinding.residual import residual_of_file

        for left in residual_of_file(
            out, text=given["text"], group=given["group"], unit=given["unit"], warn_above=given["warn_above"]
        ):
            _say_left(left)
    return 0


def _verify(blinded: Path, given: Mapping[str, Any]) -> int:
    from recuse.blinding.files import verify_file

    if not (given["map"] or given["names_file"]):
        raise UsageError("--verify needs to know what must not be there.", hint="Add --map FILE or --names-file FILE.")
    settings, listed, signals = _known(given)
    checked = verify_file(
        blinded, text=given["text"] or (), map=given["map"], names=listed, settings=settings, signals=signals
    )
    if checked.changed:
        typer.echo(
            f"{checked.changed:,} rows are not as they were blinded; the names of their numbers were looked for."
        )
    return int(_say_leaks(blinded, checked))


def _unblind(blinded: Path, map: Path | None, row: int | None) -> int:
    from recuse.blinding.mapfile import unblind_row

    if map is None or row is None:
        raise UsageError("--unblind needs the map and the row.", hint="Add --map FILE --row N.")
    typer.echo(json.dumps(unblind_row(blinded, map, row=row), ensure_ascii=False, indent=1))
    return 0


def _known(given: Mapping[str, Any]) -> tuple[BlindSettings, tuple[str, ...], tuple[Signal, ...]]:
    """Settings, the list of names, and the signals."""
    from recuse.blinding.files import read_names
    from recuse.blinding.settings import BlindSettings, load_signals

    settings = BlindSettings(
        cast(Literal["position", "redact"], given["ordinary_words"]),
        cast(Literal["keep", "redact"], given["masculine_generics"]),
        tuple(given["pronoun"] or ()),
    )
    listed = read_names(given["names_file"], settings=settings) if given["names_file"] else ()
    return settings, listed, load_signals(given["signals"]) if given["signals"] else ()


def _say_done(done: BlindedFile) -> None:
    from recuse.report.text import visible

    typer.echo(f"{done.rows:,} rows blinded: {_counts(done.replaced) or 'nothing to replace'}.")
    if done.nameless:
        typer.echo(f"For {done.nameless:,} rows no name was known: names in them stay.")
    if done.kept:
        typer.echo(f"Ambiguous words that stayed: {visible(_counts(done.kept))}.")
    typer.echo(f"{done.out}\n{done.map} (the way back; keep it apart)")


def _say_leaks(path: Path, checked: Checked) -> bool:
    total = sum(checked.leaks.values())
    if not total:
        typer.echo(f"Checked {checked.rows:,} rows: no known name and no listed word is left.")
        return False
    lines = [f"recuse: {path} is not safe to use: {total:,} leak{'s' * (total != 1)} ({_counts(checked.leaks)})."]
    lines += [f"  row {at.row}, field {at.field!r}, character {at.offset}: {at.kind}" for at in checked.first]
    if total > len(checked.first):
        lines.append(f"  and {total - len(checked.first):,} more")
    sys.stderr.write("\n".join(lines) + "\n")
    return True


def _say_left(left: Left) -> None:
    from recuse.report.text import visible

    who, area = visible(f"{left.group!r} against {left.against!r}"), left.auc
    if area.estimate is None or area.interval is None:
        typer.echo(f"What is left: {who} cannot be measured: {visible(str(area.reason))}.")
        return
    interval = f"{area.level:.0%} interval {area.interval[0]:.3f} to {area.interval[1]:.3f}"
    typer.echo(
        f"What is left: {who}, AUC {area.estimate:.3f} ({interval}; {area.n:,} texts, {area.groups:,} units): "
        f"{_OUTCOMES[left.outcome].format(level=left.warn_above)}."
    )
    if left.outcome != "clear" and left.words:
        words = ", ".join(f"{word.word} ({word.towards}, {word.share:.0%})" for word in left.words)
        typer.echo(f"Words that carried it: {visible(words)}")
    if left.outcome == "warn":
        sys.stderr.write(f"recuse: warning: the blinded texts still tell {who}: AUC {area.estimate:.3f}.\n")


_OUTCOMES = {
    "warn": "above the level {level:g}, a proxy carries the group",
    "clear": "the whole interval is at or below {level:g}",
    "undecided": "too few texts to tell whether it is above {level:g}",
}


def _counts(found: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {n:,}" for name, n in sorted(found.items(), key=lambda item: (-item[1], item[0]))[:12])
