"""Load labelled pairs from files, data sets and the built-in demo.

Memory stays flat: rows are normalised as they stream into an Arrow file in the temporary folder, which is mapped.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from recuse import assets
from recuse.errors import InputError, UsageError
from recuse.pairs.columns import check, form_of
from recuse.pairs.hub import read_hub
from recuse.pairs.loading import Load, OnBad, majority
from recuse.pairs.pairset import PairSet
from recuse.pairs.presets import PRESETS
from recuse.pairs.readers import read_file

__all__ = ["PRESETS", "PairSet", "load_pairs"]


def load_pairs(
    source: str | Path,
    *,
    preset: str | None = None,
    columns: Mapping[str, str] | None = None,
    group: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    on_bad: OnBad = "error",
) -> PairSet:
    """The pairs in `source`, in its order.

    source   a file (.jsonl, .json, .csv, .tsv, each also with .gz; .parquet), "hf:org/name[:config][:split]" (a local
             folder or file may stand for org/name), or "demo"
    preset   name of a published form; found from the columns when it is not given
    columns  a column map from roles to the source's names. "group", "domain" and "reference" alone are laid over the
             preset. With any of "prompt", "chosen", "rejected" or "prompt", "a", "b", "label" the map is a form of its
             own, and roles that are not mapped, but for the group, are the columns of the same name
    group    column that names the group; otherwise pairs with one question, after NFKC, casefolding and collapsing of
             white space, form a group
    limit    a sample of whole groups, drawn by `seed` from the whole source: `limit` pairs at most, unless the first
             group drawn is larger; never the head of the file, which is often sorted by topic
    on_bad   "error": the first faulty row raises InputError; "skip": faulty rows are left out and counted in `notes`

    Faulty are: a missing field, empty text, equal answers, a label outside the menu, a pair that was there before,
    broken UTF-8, torn JSON, a value of the wrong type. Ties are no faults: they are left out and counted. Ids are the
    first 20 hex digits of SHA-256 over the canonical JSON of prompt, chosen, rejected and reference. Raises InputError
    naming the file, the row (see `readers`) and the field, and UsageError for wrong options.
    """
    columns = columns or {}
    check(columns, preset=preset)
    if limit is not None and limit < 1:
        raise UsageError(f"The limit {limit} leaves no pair.", hint="Give 1 or more.")
    if on_bad not in ("error", "skip"):
        raise UsageError(f"on_bad cannot be {on_bad!r}.", hint="Use 'error' or 'skip'.")
    name = str(source)
    if name.startswith("hf:"):
        rows = read_hub(name)
    else:
        path = assets.data("demo_pairs.jsonl") if name == "demo" else Path(source)
        rows = read_file(path, preset=preset)
    load = Load(name, on_bad)
    found, rows = load.columns_of(rows)
    form = form_of(found, columns, preset=preset)
    if form is None:
        raise _unknown_form(name, found)
    by = _group_column(group, columns)
    if wanting := form.missing(found) or (by if by and by not in found else None):
        if wanting == group:
            hint = "Name another group column."
        else:
            hint = "Correct the column map." if wanting in columns.values() else f"The form {form.name!r} needs it."
        raise InputError(f"there is no such column (found: {_listed(found)})", path=name, field=wanting, hint=hint)
    items = load.items(rows, form, by)
    return load.collect(majority(items, load) if form.votes else items, form, limit=limit, seed=seed)


def _group_column(group: str | None, columns: Mapping[str, str]) -> str | None:
    from_map = columns.get("group")
    if group and from_map and group != from_map:
        raise UsageError(f"The group is {group!r} by option and {from_map!r} by column map.", hint="Name it once.")
    return group or from_map


def _unknown_form(name: str, found: list[str]) -> InputError:
    return InputError(
        f"the columns ({_listed(found)}) are those of no known form",
        path=name,
        hint="Map them: --column prompt=NAME, and likewise chosen and rejected, or a, b and label.",
    )


def _listed(found: list[str]) -> str:
    names = ", ".join(found)
    return names if len(names) <= 90 else f"{names[:87]}..."
