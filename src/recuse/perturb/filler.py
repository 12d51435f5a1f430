"""Meaningless edits: as long as another edit and in the same places, but saying nothing. The placebo of a rule."""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from random import Random
from typing import Any

from recuse import assets
from recuse.perturb.places import Insertion, insert, insertions_of
from recuse.types import Pair

_SENTENCE = 17  # characters of the shortest sentence that can be put together
_TWO = 60  # from here on two of them
_FEW = 8  # up to here there are few words to draw from
_LONG = 110  # from here on one of the ready sentences comes first
_FENCE = re.compile(r"```\w*\n?|\n```")


def meaningless(pair: Pair, like: str, *, seed: int, draw: int) -> str:
    """The rejected answer of `pair` with empty words and marks in the places, and of the lengths, of those in `like`.

    like  the same answer with an edit (see `edits.apply_edit`), or a text that holds the answer with more put in
    draw  0, 1, 2, ...: another wording each, of the same length

    Raises ValueError where `like` is not the answer with something put in.
    """
    start = f"meaningless {seed} {pair.id}"  # the same for all places: one kind of mark a text
    end = len(pair.rejected)
    return insert(
        pair.rejected,
        [
            Insertion(one.at, _empty(one.text, Random(start), draw, closing=0 < end == one.at))
            for one in insertions_of(pair.rejected, like)
        ],
    )


def _empty(chunk: str, rng: Random, draw: int, *, closing: bool) -> str:
    """As many characters as `chunk`, with its white space around, its lines and its fences of code."""
    pieces, done = [], 0
    for kept in [*_FENCE.finditer(chunk), None]:
        part = chunk[done : kept.start() if kept else len(chunk)]
        pieces.append("".join(_line(line, rng, draw, closing=closing) for line in re.split(r"(\n+)", part)))
        if kept:
            pieces.append(kept[0])
            done = kept.end()
    return "".join(pieces)


def _line(line: str, rng: Random, draw: int, *, closing: bool) -> str:
    core = line.strip()
    if not core:
        return line
    left, _, right = line.partition(core)
    if sum(map(str.isalpha, core)) < 2:  # marks and numbers, as of a list, emphasis or emoji
        return left + _drawn(_words()["marks"], rng, draw) * len(core) + right
    words = _exactly(len(core), rng, draw, closing=closing)
    return left + words[0].upper() + words[1:] + right


def empty_words(n: int, rng: Random, draw: int) -> str:
    """`n` characters that say nothing, 1 or more; the draws of one state of `rng` differ."""
    if n < _FEW:
        return _drawn([*_shorter()[n], *(mark * n for mark in _words()["marks"])], rng, draw)
    words = _exactly(n, rng, draw, closing=False)
    return words[0].upper() + words[1:]


def _exactly(n: int, rng: Random, draw: int, *, closing: bool) -> str:
    """Empty sentences, or fewer words than a sentence, of exactly `n` characters."""
    sentences = []
    order = rng.sample(_words()["sentences"], len(_words()["sentences"]))
    turn = draw
    while n >= _LONG:
        sentences.append(order[turn % len(order)])
        n -= len(sentences[-1]) + 1
        turn += 1
    if n < _SENTENCE:
        return _drawn(_shorter()[n], rng, draw)
    known = _sentences("after" if closing else "before")
    made = []
    if n >= _TWO:
        first = rng.randint(n // 3, n // 2)
        made, n = [_drawn(known[first], rng, draw)], n - first - 1
    made.append(_drawn(known[n], rng, draw))
    return " ".join([*sentences, *made] if closing else [*made, *sentences])


def _drawn(options: list[str], rng: Random, draw: int) -> str:
    """One of the options in an order that `rng` sets, so that draws differ as long as there are others."""
    return rng.sample(options, len(options))[draw % len(options)]


@cache
def _words() -> Mapping[str, Any]:
    filler: Mapping[str, Any] = tomllib.loads(assets.data("edits.toml").read_text(encoding="utf-8"))["filler"]
    return filler


@cache
def _sentences(place: str) -> Mapping[int, list[str]]:
    """Sentences put together of parts, by their length."""
    found: dict[int, list[str]] = {}
    for parts in itertools.product(*_words()[place]):
        sentence = "".join(parts) + "."
        found.setdefault(len(sentence), []).append(sentence)
    return found


@cache
def _shorter() -> Mapping[int, list[str]]:
    """Small words and pairs of them, by length."""
    words: list[str] = _words()["short"]
    found: dict[int, list[str]] = {1: list(_words()["marks"])}
    for text in [*words, *(f"{a}, {b}" for a, b in itertools.permutations(words, 2))]:
        if len(text) < _SENTENCE:
            found.setdefault(len(text), []).append(text)
    return found
