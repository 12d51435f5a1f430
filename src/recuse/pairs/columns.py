"""Column maps: roles of a pair to the source's own column names.

A map of group, domain and reference alone is laid over the form of the file. Any other map makes a form of its own, in
which a role that is not mapped is the column of its own name; only a group must always be mapped or named.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from recuse.errors import UsageError
from recuse.pairs.presets import Preset, chosen_rejected, detect, named, two
from recuse.pairs.rows import Draft, Row, optional

_ORDERED = ("prompt", "chosen", "rejected")
_PLACED = ("prompt", "a", "b", "label")
_EXTRAS = ("group", "domain", "reference")
_ROLES = tuple(dict.fromkeys((*_ORDERED, *_PLACED, *_EXTRAS)))


def check(columns: Mapping[str, str], *, preset: str | None) -> None:
    """Raises UsageError for an unknown preset or role, and for roles that do not go together."""
    if preset is not None:
        named(preset)
    if unknown := [role for role in columns if role not in _ROLES]:
        raise UsageError(f"The column map knows no {unknown[0]!r}.", hint=f"It takes: {', '.join(_ROLES)}.")
    ordered, placed = ([role for role in kind[1:] if role in columns] for kind in (_ORDERED, _PLACED))
    if ordered and placed:
        raise UsageError(
            f"The column map has {ordered[0]!r} and {placed[0]!r}, which exclude each other.",
            hint="Map prompt, chosen, rejected or prompt, a, b, label.",
        )
    own = [role for role in columns if role not in _EXTRAS]
    if preset is not None and own:
        raise UsageError(
            f"A preset and a column map of {own[0]!r} exclude each other.",
            hint=f"Beside a preset, map only {', '.join(_EXTRAS)}.",
        )


def form_of(found: Collection[str], columns: Mapping[str, str], *, preset: str | None) -> Preset | None:
    """The form to read rows with the columns `found` as; None where they are those of no known form.

    Raises UsageError for a role that is neither mapped nor the name of a column.
    """
    if any(role not in _EXTRAS for role in columns):
        return _mapped(columns, found)
    base = named(preset) if preset is not None else detect(found)
    return _laid_over(base, columns) if base is not None and columns else base


def _laid_over(base: Preset, columns: Mapping[str, str]) -> Preset:
    def read(row: Row) -> Draft:
        draft = base.read(row)
        domain = optional(row, columns["domain"]) if "domain" in columns else draft.domain
        reference = optional(row, columns["reference"]) if "reference" in columns else draft.reference
        return replace(draft, domain=domain, reference=reference)

    return replace(base, forms=tuple((*form, *columns.values()) for form in base.forms), read=read)


def _mapped(columns: Mapping[str, str], found: Collection[str]) -> Preset:
    needed = _PLACED if _has_places(columns, found) else _ORDERED
    free = [role for role in (*needed, "domain", "reference") if role not in columns.values()]
    names = {role: role for role in free} | dict(columns)
    if missing := [role for role in needed if role not in columns and names.get(role) not in found]:
        raise UsageError(
            f"The column map lacks {missing[0]!r}, and no column is left that has this name.",
            hint="Map prompt, chosen, rejected or prompt, a, b, label.",
        )

    def read(row: Row) -> Draft:
        if needed == _PLACED:
            draft = two(row, names["prompt"], names["a"], names["b"], by=names["label"])
        else:
            draft = chosen_rejected(row, names["prompt"], names["chosen"], names["rejected"])
        domain, reference = (optional(row, names[role]) if role in names else None for role in ("domain", "reference"))
        return replace(draft, domain=domain, reference=reference)

    uses = tuple(names[role] for role in ("domain", "reference") if role in names)
    form = (*(names[role] for role in needed), *columns.values())
    return Preset("columns", (tuple(dict.fromkeys(form)),), read, uses=uses)


def _has_places(columns: Mapping[str, str], found: Collection[str]) -> bool:
    """Whether the map, or where it names neither kind of answers the file, has answers at places and a label."""
    if any(role in columns for role in _PLACED[1:]):
        return True
    by_order = any(role in columns for role in _ORDERED[1:]) or all(role in found for role in _ORDERED[1:])
    return not by_order and all(role in found for role in _PLACED[1:])
