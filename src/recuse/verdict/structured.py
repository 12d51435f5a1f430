"""Formats that are data: json_verdict, json_score, json_scores, ranking. Read with `json` or `ast.literal_eval`, never
evaluated.

An object may stand alone, inside a fence, or among text; the last one that has a verdict counts.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

from recuse.types import Outcome, Verdict
from recuse.verdict.menu import Menu, none
from recuse.verdict.scores import NUMBER, as_pair, as_score
from recuse.verdict.text import visible

_VERDICT = ("verdict", "winner", "choice", "answer", "preferred", "preference", "decision", "judgement", "judgment")
_ANSWER = ("answer", "response", "output", "assistant", "option")
VERDICT_KEYS = frozenset(
    [*_VERDICT, "better", "best", "selected", "selection", "label"]
    + [f"final_{key}" for key in _VERDICT]
    + [f"{kind}_{answer}" for kind in ("better", "best", "preferred", "selected") for answer in _ANSWER]
)
SCORE_KEYS = frozenset(
    [f"{kind}{key}" for kind in ("", "final_", "overall_", "total_") for key in ("score", "rating", "grade", "mark")]
    + ["overall"]
)
_MAX_DEPTH = 4


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as the list of its pairs, so that a repeated key is seen."""


def _not_a_number(text: str) -> float:
    raise ValueError(f"{text} is not JSON")


# Not strict: models write line breaks into strings.
_DECODER = json.JSONDecoder(object_pairs_hook=_Pairs, parse_constant=_not_a_number, strict=False)
_DATA = re.compile(r"[\[\s]{0,9}\{\s*(?:[\"'\u201c]|$)")  # how data begins, unlike a bracket in prose


def read_json_verdict(text: str, menu: Menu) -> Verdict:
    """{"verdict": "A"}; the key is one of VERDICT_KEYS. Keys that name different outcomes are conflicting."""
    named, cut = _last_with(text, VERDICT_KEYS)
    if not named:
        return _absent(cut, "verdict")
    read = {key: _outcome(value, menu) for key, value in named}
    shown = _shown(named)
    outcomes = {_outcome(value, menu) for _, value in named}
    if len(outcomes - {None}) > 1:
        return none("conflicting", f"keys that name different outcomes: {shown}")
    outcome = next(iter(outcomes - {None}), None)
    if outcome is None or None in read.values():
        return none("no_verdict", f"not on the menu: {shown}")
    return Verdict(outcome=outcome, why=f"the JSON has {shown}")


def _outcome(value: object, menu: Menu) -> Outcome | None:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    match = menu.whole.fullmatch(visible(str(value)).strip(" *`[]"))
    return menu.find(match["label"]) if match else None


def read_json_score(text: str, menu: Menu) -> Verdict:
    """{"score": 7}; the key is one of SCORE_KEYS, the value a number or a text that is one."""
    named, cut = _last_with(text, SCORE_KEYS)
    return _score(named, menu) if named else _absent(cut, "score")


def read_json_scores(text: str, menu: Menu) -> Verdict:
    """{"A": 7, "B": 5}, both answers by their labels, also as "score_a"; the higher one is preferred."""
    sides = [frozenset({_key(label), f"score_{_key(label)}"}) for label in (menu.spec.first, menu.spec.second)]
    named, cut = _last_with(text, sides[0] | sides[1])
    of = [[(key, value) for key, value in named if _key(key) in side] for side in sides]
    if not all(of):
        return _absent(cut, "score of both answers")
    found = [_score(side, menu) for side in of]
    for verdict in found:
        if verdict.score is None:
            return verdict
    return as_pair(str(found[0].score), str(found[1].score), None, f"the JSON has {_shown(named)}")


def _score(named: list[tuple[str, Any]], menu: Menu) -> Verdict:
    """The score that all of these pairs give."""
    shown = _shown(named)
    digits: list[str] = []
    for _, value in named:
        number = NUMBER.fullmatch(visible(str(value)).strip()) if isinstance(value, str | int | float) else None
        if number is None or isinstance(value, bool):
            return none("no_verdict", f"not a number: {shown}")
        digits.append(number["value"])
    if len({float(digit) for digit in digits}) > 1:
        return none("conflicting", f"keys with different scores: {shown}")
    return as_score(digits[-1], menu.spec.scale, f"the JSON has {shown}")


def _shown(named: list[tuple[str, Any]]) -> str:
    return ", ".join(f'"{key}": {value!r}' for key, value in named)


def _key(text: str) -> str:
    return re.sub(r"[\s-]+", "_", text.strip().lower())


def read_ranking(text: str, menu: Menu) -> Verdict:
    """A list of {"model": label, "rank": 1}, bare or inside an object, in JSON or as a Python literal. Both labels must
    be ranked once, from rank 1; equal ranks tie."""
    cut = False
    last: Verdict | None = None
    for value, whole in _values(text, "[{"):
        cut = cut or not whole
        for ranking in _rankings(value, 0):
            last = _ranked(ranking, menu)
    return last or _absent(cut, "ranking")


def _ranked(ranking: list[dict[str, Any]], menu: Menu) -> Verdict:
    ranks: dict[Outcome, int] = {}
    for entry in ranking:
        outcome, rank = menu.find(str(entry["model"])), str(entry["rank"]).strip()
        if outcome is None or outcome == "tie" or outcome in ranks or rank not in ("1", "2"):
            return none("no_verdict", f"the ranking does not rank the two answers once each: {entry!r}")
        ranks[outcome] = int(rank)
    if set(ranks) != {"A", "B"} or 1 not in ranks.values():
        return none("no_verdict", "the ranking does not rank the two answers once each from 1")
    if ranks["A"] == ranks["B"]:
        return Verdict(outcome="tie", why="the ranking gives both the same rank")
    first = min(ranks, key=lambda outcome: ranks[outcome])
    return Verdict(outcome=first, why=f"the ranking has {menu.spec.first if first == 'A' else menu.spec.second} first")


def _rankings(value: Any, depth: int) -> Iterator[list[dict[str, Any]]]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, _Pairs):
        for _, inner in value:
            yield from _rankings(inner, depth + 1)
    elif isinstance(value, list):
        entries = [dict(entry) for entry in value if isinstance(entry, _Pairs)]
        if entries and len(entries) == len(value) and all({"model", "rank"} <= set(entry) for entry in entries):
            yield entries
        else:
            for inner in value:
                yield from _rankings(inner, depth + 1)


def _absent(cut: bool, what: str) -> Verdict:
    if cut:
        return none("truncated", f"the JSON ends before it is closed, without a {what}")
    return none("no_verdict", f"no JSON with a {what}")


def _last_with(text: str, keys: frozenset[str]) -> tuple[list[tuple[str, Any]], bool]:
    """The pairs of the last object that has one of `keys`, and whether a later object was cut off."""
    named: list[tuple[str, Any]] = []
    cut = False
    for value, whole in _values(text, "{"):
        cut = not whole
        if whole:
            named = _named(value, keys, 0) or named
        else:
            named = []
    return named, cut


def _named(value: Any, keys: frozenset[str], depth: int) -> list[tuple[str, Any]]:
    """The pairs with one of `keys` at the outermost level that has any."""
    if depth > _MAX_DEPTH or not isinstance(value, _Pairs):
        return []
    here = [(key, inner) for key, inner in value if _key(key) in keys]
    here = [(key, inner) for key, inner in here if not isinstance(inner, list)]
    if here:
        return here
    for _, inner in value:
        if found := _named(inner, keys, depth + 1):
            return found
    return []


def _values(text: str, openers: str) -> Iterator[tuple[Any, bool]]:
    """Every outermost JSON value or Python literal that begins with one of `openers`; (None, False) for one cut off.

    What lies inside a value that is broken or cut off is not looked at: it may be a part that says something else.
    """
    text = visible(text) if not any(opener in text for opener in openers) else text
    start = re.compile(r"\[\s*\{|\{" if "[" in openers else r"\{")
    at = 0
    while match := start.search(text, at):
        at = match.start()
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            if not _DATA.match(text, at):
                at += 1  # a bracket of the prose
                continue
            end = _closing(text, at)
            if end is None:
                yield None, False
                return
            value, at = _literal(text[at:end]), end
        if value is not None:
            yield value, True


def _literal(text: str) -> Any:
    try:
        return _paired(ast.literal_eval(text))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None


def _closing(text: str, at: int) -> int | None:
    """The end of the bracketed text that begins at `at`, minding brackets inside quoted strings."""
    depth, quote, skip = 0, "", False
    for i in range(at, len(text)):
        character = text[i]
        if skip:
            skip = False
        elif quote:
            skip = character == "\\"
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "[{(":
            depth += 1
        elif character in ")}]":
            depth -= 1
            if depth == 0:
                return i + 1
    return None


def _paired(value: Any) -> Any:
    if isinstance(value, dict):
        return _Pairs((str(key), _paired(inner)) for key, inner in value.items())
    if isinstance(value, list | tuple):
        return [_paired(inner) for inner in value]
    return value
