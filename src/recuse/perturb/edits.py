"""Rule-based edits that carry a bias or an attack: free, deterministic, and the answer stays as it is inside them.

An edit puts something before, after or into the rejected answer and takes nothing away, so that the same wrong final
answer stands where a reader or a rule finds it. `filler.meaningless` makes the edit of the same size that says nothing.
Edits of code (see `code_edits`) also rename and reword, and bring a meaningless twin of their own.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, Literal

from recuse import assets
from recuse.errors import UsageError
from recuse.perturb.code_edits import CODE_EDITS, CodeEdit
from recuse.perturb.filler import meaningless
from recuse.perturb.layout import WITHIN, Insert
from recuse.perturb.places import Insertion, foot, insert, is_bare_code, unclosed
from recuse.types import Pair

__all__ = ["EDITS", "Edit", "apply_edit", "apply_twin", "meaningless"]

_LEAST, _GROWTH, _MOST_GROWN = 150, 0.5, 1200  # characters that an edit of length adds; share of the answer's


@dataclass(frozen=True, slots=True)
class Edit:
    """One kind of edit. `attack`: it aims at the judge's reading rather than at its taste."""

    name: str
    about: str
    place: Literal["before", "after", "within"]
    changes_length: bool  # its size is what it is about
    attack: bool
    phrases: tuple[str, ...]  # () for an edit within the answer
    apply: Callable[[Pair, Random], str]
    code: CodeEdit | None = None  # for an edit of code: it changes no other answer, and has a twin of its own


def apply_edit(name: str, pair: Pair, *, seed: int) -> str:
    """The rejected answer of `pair` with the edit `name`; unchanged where the edit cannot apply to it.

    The same arguments give the same text. Raises UsageError for a name that is not in `EDITS`.
    """
    if name not in EDITS:
        raise UsageError(f"There is no edit {name!r}.", hint=f"Choose one of: {', '.join(EDITS)}.")
    return EDITS[name].apply(pair, _rng(name, pair, seed))


def apply_twin(name: str, pair: Pair, like: str, *, seed: int, draw: int) -> str:
    """The meaningless twin of `like`, which is what `apply_edit` made of `pair` with the same name and seed.

    draw  0, 1, 2, ...: another wording each
    """
    code = EDITS[name].code
    if code is None:
        return meaningless(pair, like, seed=seed, draw=draw)
    return code.meaningless(pair, _rng(name, pair, seed), seed=seed, draw=draw)


def _rng(name: str, pair: Pair, seed: int) -> Random:
    return Random(f"edit {seed} {name} {pair.id}")


def _inserted(pair: Pair, rng: Random, *, how: Insert) -> str:
    return insert(pair.rejected, how(pair, rng))


def _before(pair: Pair, rng: Random, *, phrases: Sequence[str]) -> list[Insertion]:
    return _framed(pair, [Insertion(0, rng.choice(phrases) + _gap(pair.rejected))])


def _after(pair: Pair, rng: Random, *, phrases: Sequence[str]) -> list[Insertion]:
    return _at_foot(pair, rng.choice(phrases))


def _constant(pair: Pair, rng: Random, *, phrases: Sequence[str]) -> list[Insertion]:
    return _at_foot(pair, phrases[0])


def _longer(pair: Pair, rng: Random, *, phrases: Sequence[str], place: str) -> list[Insertion]:
    wanted = min(max(_LEAST, _GROWTH * len(pair.rejected)), _MOST_GROWN)
    text, left = "", rng.sample(phrases, len(phrases))
    while len(text) < wanted and left:
        text = f"{text} {left.pop()}".lstrip()
    if place == "after":
        return _at_foot(pair, text)
    return _framed(pair, [Insertion(0, text + _gap(pair.rejected))])


def _at_foot(pair: Pair, phrase: str) -> list[Insertion]:
    text, at = pair.rejected, foot(pair)
    if at < len(text):
        return [Insertion(at, f"{phrase}\n\n")]
    if unclosed(text):
        phrase = f"```\n\n{phrase}"
    gap = "\n" * max(0, 2 - (len(text) - len(text.rstrip("\n"))))
    return _framed(pair, [Insertion(at, gap + phrase)])


def _framed(pair: Pair, found: list[Insertion]) -> list[Insertion]:
    """Code that was the whole answer gets a fence, so that it stays the code of the answer."""
    if not is_bare_code(pair.rejected):
        return found
    text = pair.rejected
    closing = "```" if text.endswith("\n") else "\n```"
    [one] = found
    if one.at == 0:
        return [Insertion(0, f"{one.text.rstrip()}\n\n```\n"), Insertion(len(text), closing)]
    return [Insertion(0, "```\n"), Insertion(len(text), f"{closing}\n\n{one.text.lstrip()}")]


def _gap(text: str) -> str:
    """Running text goes on in the line; all else (a letter, a list, a formula, code, several lines) gets its own."""
    flows = "\n" not in text.strip() and text[:1].isupper() and len(text.split()) > 3 and text[1:2] not in ".):"
    return " " if flows else "\n\n"


def _read() -> dict[str, Edit]:
    tables: dict[str, dict[str, Any]] = tomllib.loads(assets.data("edits.toml").read_text(encoding="utf-8"))
    del tables["filler"]
    found = {}
    for name, table in tables.items():
        phrases, place = tuple(table["phrases"]), table["place"]
        grows = table.get("grows", False)
        how: Insert = partial(_before if place == "before" else _after, phrases=phrases)
        if table.get("constant"):
            how = partial(_constant, phrases=phrases)
        if grows:
            how = partial(_longer, phrases=phrases, place=place)
        found[name] = Edit(
            name, table["about"], place, grows, table.get("family") == "attack", phrases, partial(_inserted, how=how)
        )
    for name, within in WITHIN.items():
        apply = partial(_inserted, how=within)
        found[name] = Edit(name, (within.__doc__ or "").strip(), "within", False, False, (), apply)
    for name, code in CODE_EDITS.items():
        about = " ".join((code.changes.__doc__ or "").split())
        found[name] = Edit(name, about, "within", False, False, (), code.apply, code)
    return found


EDITS: Mapping[str, Edit] = _read()
