"""`recuse compare`: two finished runs side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from recuse.report.compared import Compared
    from recuse.types import Finding


def compare(
    first: Annotated[Path, typer.Argument(metavar="RUN_A", help="The folder of a finished run.", show_default=False)],
    second: Annotated[Path, typer.Argument(metavar="RUN_B", help="Another of the same kind.", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Put two runs side by side, with paired differences (B minus A) where both judged the same pairs.

    It decides nothing: the exit code is 0. `recuse calibrate compare` and `recuse gate` do.
    """
    from recuse.report.compared import compare as compare_runs

    found = compare_runs(first, second)
    if as_json:
        import json

        typer.echo(json.dumps(_plain(found), indent=2, allow_nan=False))
    else:
        _print(found)
    return 0


def _plain(found: Compared) -> dict[str, Any]:
    rows = [
        {"id": row.id, "title": row.title, "a": _numbers(row.first), "b": _numbers(row.second),
         "change": _numbers(row.change)}
        for row in found.rows
    ]  # fmt: skip
    return {
        "schema": 1,
        "a": str(found.first.folder),
        "b": str(found.second.folder),
        "headlines": [found.first.headline, found.second.headline],
        "shared_pairs": found.shared,
        "differs": [{"key": key, "a": a, "b": b} for key, a, b in found.differs],
        "findings": rows,
        "notes": list(found.notes),
    }


def _numbers(finding: Finding | None) -> dict[str, Any] | None:
    if finding is None:
        return None
    return {
        "estimate": finding.estimate, "interval": finding.interval, "n": finding.n, "groups": finding.groups,
        "p": finding.p, "outcome": finding.outcome, "reason": finding.reason, "method": finding.method,
    }  # fmt: skip


def _known(finding: Finding | None) -> bool:
    """Whether a run measured it, even where its value is withheld."""
    return finding is not None and (finding.estimate is not None or "withheld" in finding.details)


def _print(found: Compared) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from recuse.report import text

    def shown(content: object) -> Text:
        return Text(text.visible(content, limit=300, newline=" "))

    console = Console()
    for letter, result in (("A", found.first), ("B", found.second)):
        console.print(shown(f"{letter}: {result.folder}: {result.headline}"))
    for key, a, b in found.differs:
        console.print(shown(f"  {key}: {'unset' if a is None else a} in A, {'unset' if b is None else b} in B"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("Measure", "A", "B", "B minus A, paired", "p"):
        table.add_column(column, overflow="fold")
    shown_rows = [row for row in found.rows if _known(row.first) or _known(row.second)]
    for row in shown_rows:
        cells = ["" if f is None else text.estimate(f) for f in (row.first, row.second, row.change)]
        table.add_row(*map(shown, (row.title, *cells, text.p_value(row.change.p) if row.change else "")))
    console.print(table)
    if left := len(found.rows) - len(shown_rows):
        console.print(f"Not shown: {left:,} that neither run measured (--json has them).")
    for note in found.notes:
        console.print(shown(note))
